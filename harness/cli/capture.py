"""``harness capture``: a model becomes graph files."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.command import Answer, command
from harness.dtypes import DType, from_torch_name
from harness.errors import UsageError, unknown
from harness.graph.suite import Entry, capture_entry
from harness.report.output import Report
from harness.table import Text

if TYPE_CHECKING:  # these import torch or sympy
    from harness.graph.capture.capture import Mode
    from harness.graph.model import Graph


@command
def capture(
    answer: Answer,
    target: Annotated[
        str,
        "package.module:callable, or PROVIDER:MODEL?OPTION=VALUE&… "
        "(transformers, diffusers, timm, torchvision).",
        typer.Argument(metavar="TARGET"),
    ],
    file: Annotated[
        Path, "File to write; a folder for several graphs.", typer.Option("--output", "-o")
    ],
    training: Annotated[bool, "Forward and backward graphs."] = False,
    optimizer: Annotated[bool, "An AdamW step over the model's parameters."] = False,
    dtype: Annotated[str, "Type of parameters and floating inputs (bf16, f16, …)."] = "f32",
    size: Annotated[
        list[str] | None,
        "An option of the model or its inputs; may be repeated.",
        typer.Option("--size", "-s", metavar="NAME=VALUE"),
    ] = None,
    small: Annotated[
        list[str] | None,
        "Capture again at this size into small/ beside the file, for checks without "
        "a GPU; may be repeated.",
        typer.Option(metavar="NAME=VALUE"),
    ] = None,
    name: Annotated[str, "What the graphs are called."] = "",
    force: Annotated[bool, "Replace a file even if it is not a graph."] = False,
) -> None:
    """Capture a model's graphs, without loading or allocating a weight.

    \b
    harness capture 'transformers:LlamaForCausalLM?num_hidden_layers=1' --dtype bf16 -o llama.py
    harness capture mymodels.blocks:example --training -s batch=64 --small batch=2 -o graphs/

    `mymodels.blocks:example` is a function of yours, found from the working directory, that
    returns (module or function, args); its parameters are what --size sets.
    """
    if training and optimizer:
        raise UsageError(
            "a capture has one mode", got="--training --optimizer", remedy="leave one out"
        )
    if not force:
        _require_graphs([file])
    mode: Mode = "training" if training else "optimizer" if optimizer else "inference"
    sizes, small_sizes = _sizes(size, "--size"), _sizes(small, "--small")
    with answer.progress(f"capturing {target}") as bar:
        how = (mode, _dtype(dtype), name, sizes)
        graphs, small_graphs = _capture(target, how, small_sizes, bar.update)
    placed = _placed(graphs, file)
    beside = [path.parent / "small" / path.name for _, path in placed]
    placed += zip(small_graphs, beside, strict=False)
    if not force:
        _require_graphs(path for _, path in placed)
    rows = [_save(graph, path) for graph, path in placed]
    lines = [f"{row['file']}  {row['nodes']} nodes, {row['inputs']} inputs" for row in rows]
    answer.tell(Report(lambda: [Text(line) for line in lines], lambda: {"graphs": rows}))


def _dtype(text: str) -> DType:
    for find in (DType, from_torch_name):
        try:
            return find(text)
        except (KeyError, ValueError):
            continue
    known = [member.short for member in DType if member.is_float]
    remedy = "name one of these, or leave the option out (f32)"
    raise unknown("there is no such element type", text, known, "--dtype", remedy, most=None)


def _sizes(texts: list[str] | None, option: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(
                "a size is not NAME=VALUE",
                where=option,
                got=text,
                expected="batch=8, for example",
                remedy="name a parameter of the model or its inputs, and give it a value",
            )
        found[name] = value
        with contextlib.suppress(ValueError, SyntaxError):
            found[name] = ast.literal_eval(value)
    return found


def _capture(
    target: str, how: tuple[Mode, DType, str, dict[str, Any]], small: dict[str, Any], say: Any
) -> tuple[list[Graph], list[Graph]]:
    """The graphs, and those of the same structure at ``small`` sizes; ``say`` hears each step."""
    from harness.graph.capture.capture import CaptureOptions
    from harness.graph.capture.capture import capture as capture_graphs

    if not small:
        return capture_graphs(target, CaptureOptions(*how, follow=say)), []
    mode, dtype, name, sizes = how
    entry = Entry(name, target, target, target, mode, dtype, sizes, {**sizes, **small})
    return capture_entry(entry, say)


def _placed(graphs: list[Graph], file: Path) -> list[tuple[Graph, Path]]:
    """Each graph and its file: ``file`` itself for one, else a file each in that folder."""
    if file.suffix != ".py":
        return [(graph, file / f"{graph.name}.py") for graph in graphs]
    if len(graphs) == 1:
        return [(graphs[0], file)]
    ends = [graph.name.rpartition("_")[2] for graph in graphs]  # forward, backward
    return [
        (g, file.with_name(f"{file.stem}_{end}.py")) for g, end in zip(graphs, ends, strict=True)
    ]


def _require_graphs(paths: Iterable[Path]) -> None:
    """Raises ``UsageError`` for a file that is there and is not a graph: it may be a model."""
    from harness.graph.text import is_graph

    for path in paths:
        if path.is_file() and not is_graph(path):
            raise UsageError(
                "a file that is not a graph would be replaced",
                where="--output",
                got=str(path),
                expected="a new file, or one that harness capture wrote",
                remedy="name another file, or replace it with --force",
            )


def _save(graph: Graph, path: Path) -> dict[str, Any]:
    from harness.graph.text import save

    save(graph, path)
    counts = {name: len(getattr(graph, name)) for name in ("nodes", "inputs", "outputs")}
    return {"name": graph.name, "file": str(path), **counts}
