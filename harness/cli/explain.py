"""``harness explain``: what shares a kernel, why the rest does not, and what every stage made."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.arguments import GraphName, Suite, TargetName
from harness.cli.command import Answer, command
from harness.report.output import Report
from harness.table import Block, Column, Table, Text

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.schedule.group import Schedule
    from harness.target import Target


@command
def explain(
    answer: Answer,
    graph: GraphName,
    suite: Suite = "default",
    target: TargetName = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option("--node", help="Only rejections that touch this node; may be repeated."),
    ] = None,
    stages: Annotated[
        Path | None,
        typer.Option(help="A folder for what every stage of the compiler made, as text."),
    ] = None,
) -> None:
    """Say which operations share a kernel, and why the others were kept apart.

    \b
    harness explain llama_block_forward
    harness explain llama_block_forward --node mul_3
    harness explain llama_block_forward --stages stages/
    """
    from harness.session.entries import find_graphs
    from harness.target import find_target

    options = answer.options
    chosen = find_target(target or options.target)
    files = find_graphs(options, suite, [graph])
    documents = []
    with answer.progress("compiling") as bar:
        for position, file in enumerate(files):
            bar.update(f"compiling {file.name}", position, len(files))
            folder = None if stages is None else stages / file.name if len(files) > 1 else stages
            documents.append(_document(file.load(), chosen, tuple(nodes or ()), folder))
    answer.tell(
        Report(
            lambda: [block for document in documents for block in _blocks(document)],
            lambda: {"graphs": documents},
        )
    )


def _document(
    graph: Graph, target: Target, nodes: tuple[str, ...], folder: Path | None
) -> dict[str, Any]:
    from harness.decisions import UNDECIDED
    from harness.hooks import StageFiles, StageTimes
    from harness.pipeline import STAGES, compile_graph

    times = StageTimes()
    hooks = (times,) if folder is None else (times, StageFiles(folder))
    found = compile_graph(graph, target, UNDECIDED, hooks)
    return {
        "name": graph.name,
        "stages": [
            {"name": s.name, "runs": times.runs[s.name], "seconds": times.seconds[s.name]}
            for s in STAGES
            if s.name in times.runs
        ],
        "folder": None if folder is None else str(folder),
        "regions": [
            _region(region.region.name, region.schedule, nodes)
            for region in found.regions
            if region.schedule is not None
        ],
        "failures": [str(failure.error) for failure in found.failures],
    }


def _region(name: str, schedule: Schedule, nodes: tuple[str, ...]) -> dict[str, Any]:
    from harness.schedule.explain import explain as explained

    found = explained(schedule)
    kernels = [row for row in found.groups if not nodes or set(nodes) & set(row.origins)]
    wanted = {row.name for row in kernels}
    return {
        "name": name,
        "kernels": [
            {
                "name": row.name,
                "numel": row.numel,
                "rnumel": row.rnumel,
                "origins": list(row.origins),
            }
            for row in kernels
        ],
        "rejections": [
            dataclasses.asdict(row)
            for row in found.rejections
            if not nodes or {row.first_group, row.second_group} & wanted
        ],
    }


_STAGES = (
    Column("stage", lambda row: row["name"], least=12),
    Column("runs", lambda row: str(row["runs"]), right=True, least=6),
    Column("seconds", lambda row: f"{row['seconds']:.3f}", right=True, least=10),
)


def _blocks(document: dict[str, Any]) -> list[Block]:
    lines = [document["name"]]
    for region in document["regions"]:
        lines += ["", f"{region['name']}: {len(region['kernels'])} kernels"]
        for kernel in region["kernels"]:
            size = (
                kernel["numel"]
                if kernel["rnumel"] == "1"
                else "{numel} × {rnumel}".format(**kernel)
            )
            lines.append(f"  {kernel['name']}  [{size}]  {', '.join(kernel['origins'])}")
        if region["rejections"]:
            lines.append("  kept apart:")
        row = "    {first_group} ({first}) | {second_group} ({second}): {condition}: {reason}"
        lines += [row.format(**rejection) for rejection in region["rejections"]]
    lines += [f"not generated: {failure}" for failure in document["failures"]]
    blocks: list[Block] = [Text(line) for line in lines]
    if document["folder"] is not None:
        made = Text(f"what they made: {document['folder']}")
        blocks += [Text(), Table(_STAGES, document["stages"]), made]
    return blocks
