"""``harness emit`` and ``harness explain``: what the compiler makes of a graph, and why."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.arguments import GraphName, Suite, TargetName
from harness.cli.command import FAILED, FINE, Answer, command
from harness.codegen.source import EmittedModule
from harness.decisions import UNDECIDED
from harness.errors import HarnessError, unknown
from harness.files import holds, write_atomically
from harness.report import output
from harness.report.kernels import left_to_torch
from harness.report.output import Report
from harness.runtime.compile.binary import SUFFIX
from harness.runtime.compile.static import CompileJob, CompilePool, compiled_binary, untuned
from harness.runtime.module import load
from harness.session.entries import FileEntry, GraphFile, UserEntry, find_graphs, is_user_file, read
from harness.table import Block, Column, Table, Text, plural
from harness.target import Target, find_target

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.schedule.group import Schedule


@command
def emit(
    answer: Answer,
    graph: GraphName,
    folder: Annotated[Path, "The folder to write to.", typer.Option("--output", "-o")],
    suite: Suite = "default",
    target: TargetName = None,
    small: Annotated[bool, "The small capture, for the interpreter."] = False,
    binaries: Annotated[bool, "Also each kernel compiled, with what launches it."] = False,
) -> int:
    """Write the kernels of a graph, one file each, identical ones once.

    A file needs only torch and triton. As a script it checks and times itself:
    `python FILE --check`, `--all-configs`, `--json`.

    \b
    harness emit llama_block_forward -o kernels/
    python kernels/triton_poi_fused_add_6.py --check
    """
    chosen = find_target(target or answer.options.target)
    modules: dict[str, EmittedModule] = {}
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    if is_user_file(graph):
        stem = Path(graph).stem
        found, failed = UserEntry(Path(graph)).modules(small)
        made: Iterator[tuple[str, EmittedModule, int]] = ((stem, one, 1) for one in found)
        failures += [{"graph": stem, "reason": f"{one.name}: {one.reason}"} for one in failed]
    else:
        files = find_graphs(answer.options, suite, [graph])
        made = _compiled(answer, files, chosen, small, failures)
    for origin, module, launches in made:
        name = _free_name(folder, modules, module)
        modules[name] = module
        row = {"graph": origin, "kernel": module.name, "bytes": module.bytes_moved}
        rows.append({**row, "launches": launches, "file": str(folder / f"{name}.py")})
    texts = {name: module.text for name, module in modules.items()}
    for name, text in texts.items():
        write_atomically(folder / f"{name}.py", text.encode(), own=False)
    if binaries:
        failures += _write_binaries(answer, folder, texts, chosen)
    names = [name for name in texts if name not in {one.get("kernel") for one in failures}]
    paths = [*dict.fromkeys(row["file"] for row in rows)]
    paths += [str(folder / f"{name}{SUFFIX}") for name in names if binaries]
    lines = [*paths, f"{plural(len(paths), 'file')}, {plural(len(rows), 'kernel')}"]
    document = {"kernels": rows, "failures": failures}
    answer.tell(Report(lambda: [Text(line) for line in lines], lambda: document))
    output.note(*(f"not generated: {failure['reason']}" for failure in failures))
    return FAILED if failures else FINE


def _compiled(
    answer: Answer,
    files: Sequence[GraphFile],
    target: Target,
    small: bool,
    failures: list[dict[str, str]],
) -> Iterator[tuple[str, EmittedModule, int]]:
    """The distinct kernels of graphs: the graph's name, a module, how often it is launched."""
    with answer.progress("compiling") as bar:
        for position, file in enumerate(files):
            bar.update(f"compiling {file.name}", position, len(files))
            entry = FileEntry(file, target)
            if (compiled := entry.small() if small else entry.full()) is None:
                raise HarnessError(
                    "the graph has no small capture",
                    where=str(file.path),
                    remedy="leave --small out, or capture the graph at small sizes beside it",
                )
            yield from ((file.name, module, launches) for module, launches in compiled.distinct())
            failures += [{"graph": file.name, "reason": str(f.error)} for f in compiled.failures]


def _free_name(folder: Path, taken: dict[str, EmittedModule], module: EmittedModule) -> str:
    """A file name for ``module``: its own, numbered if another text has it already, here or in a
    file in ``folder``, which is said."""
    numbered = (f"{module.name}_{number}" for number in itertools.count(2))
    there = False
    for name in itertools.chain((module.name,), numbered):
        path = folder / f"{name}.py"
        if name in taken:
            free = taken[name].text == module.text
        else:
            free = not path.exists() or holds(path, module.text.encode())
            there = there or not free
        if free:
            if there:
                output.note(f"{module.name}.py is there with another text: written as {name}.py")
            return name
    raise AssertionError("itertools.count ended")


def _write_binaries(
    answer: Answer, folder: Path, texts: Mapping[str, str], target: Target
) -> Iterator[dict[str, str]]:
    """Write ``NAME.kernel`` for every module text: its untuned choice compiled for ``target``, with
    what is needed to launch it. What does not compile is answered with its reason. Raises
    ``RecordError`` when the folder cannot be written."""
    names = list(texts)
    jobs = [CompileJob(texts[name], target) for name in names]
    with (
        answer.cache() as place,
        CompilePool(min(answer.options.jobs, max(1, len(jobs))), place) as pool,
        answer.progress("compiling") as bar,
    ):
        for done, (index, figures) in enumerate(pool.metrics_each(jobs)):
            bar.update(f"compiling {names[index]}", done, len(jobs))
            if isinstance(figures, HarnessError):
                yield {"kernel": names[index], "reason": str(figures)}
                continue
            loaded = load(texts[names[index]], place)
            config = untuned(loaded.text, target, place) or loaded.configs[0]
            found = compiled_binary(loaded, target, config, cache=place)
            write_atomically(folder / f"{names[index]}{SUFFIX}", found.to_bytes(), own=False)


@command
def explain(
    answer: Answer,
    graph: GraphName,
    suite: Suite = "default",
    target: TargetName = None,
    nodes: Annotated[
        list[str] | None,
        "Only kernels with this node, and what is kept apart from them; may be repeated.",
        typer.Option("--node"),
    ] = None,
    stages: Annotated[
        Path | None, "A folder for what every stage of the compiler made, as text."
    ] = None,
) -> None:
    """Say which operations share a kernel, and why the others were kept apart.

    \b
    harness explain llama_block_forward
    harness explain llama_block_forward --node mul_3
    harness explain llama_block_forward --stages stages/
    """
    chosen = find_target(target or answer.options.target)
    files = find_graphs(answer.options, suite, [graph])
    documents, known = [], dict[str, None]()
    with answer.progress("compiling") as bar:
        for position, file in enumerate(files):
            bar.update(f"compiling {file.name}", position, len(files))
            folder = None if stages is None else stages / file.name if len(files) > 1 else stages
            documents.append(_explained(found := read(file.path), chosen, nodes or (), folder))
            known |= dict.fromkeys(node.name for node in found.nodes)
    for wrong in (node for node in nodes or () if node not in known):
        raise unknown("there is no such node", wrong, known, graph, "see all: leave --node out")
    document = {"graphs": documents}
    answer.tell(Report(lambda: [*itertools.chain(*map(_blocks, documents))], lambda: document))


def _explained(
    graph: Graph, target: Target, nodes: Sequence[str], folder: Path | None
) -> dict[str, Any]:
    from harness.hooks import StageFiles, StageTimes
    from harness.pipeline import compile_graph

    times = StageTimes()
    hooks = (times,) if folder is None else (times, StageFiles(folder))
    found = compile_graph(graph, target, UNDECIDED, hooks)
    regions = (_region(r.region.name, r.schedule, nodes) for r in found.regions if r.schedule)
    return {
        "name": graph.name,
        "stages": [
            {"name": stage, "runs": times.runs[stage], "seconds": times.seconds[stage]}
            for stage in times.runs
        ],
        "folder": None if folder is None else str(folder),
        "regions": [region for region in regions if region["kernels"]],
        "library_calls": [
            {"operator": operator, "count": count, "reason": reason}
            for operator, count, reason in (() if nodes else found.report().library_calls)
        ],
        "failures": [str(failure.error) for failure in found.failures],
    }


def _region(name: str, schedule: Schedule, nodes: Sequence[str]) -> dict[str, Any]:
    from harness.schedule.explain import rejections

    groups = [g for g in schedule.groups if not nodes or set(nodes) & set(g.origins)]
    wanted, apart = {group.name for group in groups}, rejections(schedule)
    return {
        "name": name,
        "kernels": [
            {"name": group.name, "numel": str(group.numel), "rnumel": str(group.rnumel)}
            | {"origins": list(group.origins)}
            for group in groups
        ],
        "rejections": [
            r for r in apart if not nodes or {r["first_group"], r["second_group"]} & wanted
        ],
    }


_STAGES = (
    Column("stage", lambda row: row["name"], least=12),
    Column("runs", lambda row: str(row["runs"]), right=True, least=6),
    Column("seconds", lambda row: f"{row['seconds']:.3f}", right=True, least=10),
)


def _blocks(document: dict[str, Any]) -> Iterator[Block]:
    lines = [document["name"], *([] if document["regions"] else ["no kernel"])]
    for region in document["regions"]:
        lines += ["", f"{region['name']}: {plural(len(region['kernels']), 'kernel')}"]
        for kernel in region["kernels"]:
            size = kernel["numel"] + ("" if kernel["rnumel"] == "1" else f" × {kernel['rnumel']}")
            lines.append(f"  {kernel['name']}  [{size}]  {', '.join(kernel['origins'])}")
        if region["rejections"]:
            lines.append("  kept apart:")
        row = "    {first_group} ({first}) | {second_group} ({second}): {condition}: {reason}"
        lines += [row.format(**rejection) for rejection in region["rejections"]]
    lines += ["", *left_to_torch(document["library_calls"])] if document["library_calls"] else []
    lines += [f"not generated: {failure}" for failure in document["failures"]]
    yield from map(Text, lines)
    if document["folder"] is not None:
        made = Text(f"what they made: {document['folder']}")
        yield from (Text(), Table(_STAGES, document["stages"]), made)
