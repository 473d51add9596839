"""``harness emit``: one self-contained file per distinct kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness import options as settings
from harness.cli import output
from harness.cli.arguments import AsJson, Debug, GraphName, Suite, TargetName
from harness.cli.guard import guarded
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.codegen.source import EmittedModule


@guarded
def emit(
    graph: GraphName,
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to write to.", show_default=False)
    ],
    suite: Suite = "default",
    target: TargetName = None,
    small: Annotated[
        bool, typer.Option("--small", help="The small capture, for the interpreter.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write the kernels of a graph, one file each, identical ones once.

    A file needs only torch and triton. As a script it checks and times itself:
    `python FILE --check`, `--all-configs`, `--json`.

    \b
    harness emit llama_block_forward -o kernels/
    python kernels/triton_per_fused_mul_0.py --check
    """
    from harness.bench.entries import compile_timed, find_graphs
    from harness.bench.plan import find_target

    options = settings.current()
    chosen = find_target(target or options.target)
    modules: dict[str, EmittedModule] = {}
    rows: list[dict[str, Any]] = []
    for file in find_graphs(options, suite, [graph]):
        loaded = file.load_small() if small else file.load()
        if loaded is None:
            raise HarnessError(
                "the graph has no small capture",
                where=str(file.path),
                remedy="leave --small out, or capture the graph at small sizes beside it",
            )
        for kernel in compile_timed(loaded, chosen).kernels:
            name = _free_name(modules, kernel.module)
            modules[name] = kernel.module
            rows.append(
                {
                    "graph": file.name,
                    "kernel": kernel.module.name,
                    "bytes": kernel.module.bytes_moved,
                    "launches": kernel.launches,
                    "file": str(folder / f"{name}.py"),
                }
            )
    _write(folder, {name: module.text for name, module in modules.items()})
    if as_json:
        output.emit_json({"kernels": rows})
        return
    for row in rows:
        output.emit(row["file"])
    output.emit(f"{len(modules)} files, {len(rows)} kernels")


def _free_name(taken: dict[str, EmittedModule], module: EmittedModule) -> str:
    """A file name for ``module``: its own, numbered if another text has it already."""
    name, number = module.name, 1
    while name in taken and taken[name].text != module.text:
        number += 1
        name = f"{module.name}_{number}"
    return name


def _write(folder: Path, texts: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
    except OSError as error:
        raise HarnessError(
            "the kernels could not be written",
            where=str(folder),
            got=error.strerror or str(error),
            expected="a folder that may be written, on a disk with space left",
            remedy="name another folder with -o",
        ) from error
