"""Time from graph to kernel source: ours against Inductor's, same graphs, same machine.

    python scripts/codegen_time.py [--target sm_90] [--repeat 3] [--json FILE] [GRAPH …]

Each region of each graph (what lies between library calls) goes through both. Ours is
split, lower, schedule, plan, render and emit. Inductor's is from its own graph, after
AOTAutograd, decompositions and graph passes, to the finished wrapper text, which leaves
out work of its that ours has no need of; ``total`` has it in. Triton compiles nothing in
either, and the fastest of the repeats counts for both. Works without a GPU: Inductor then
sees a device that is described but not there.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.errors import HarnessError  # noqa: E402
from harness.graph.model import Graph  # noqa: E402
from harness.graph.partition.regions import partition  # noqa: E402
from harness.graph.text import load  # noqa: E402
from harness.measure.peers.codegen_time import inductor_codegen  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.target import TARGETS, Target  # noqa: E402


@dataclass
class Row:
    """Seconds of code generation of one graph's regions."""

    graph: str
    regions: int
    ours: float
    inductor: float
    total: float
    skipped: int = 0


def time_graph(graph: Graph, target: Target, repeat: int) -> Row:
    """All regions of ``graph``, each the fastest of ``repeat``."""
    row = Row(graph.name, 0, 0.0, 0.0, 0.0)
    for region in partition(graph).regions:
        try:
            theirs = [inductor_codegen(region.graph, target) for _ in range(repeat)]
        except Exception as error:  # noqa: BLE001 - a region one side cannot do counts for neither
            row.skipped += 1
            print(f"  {region.name}: left out: {type(error).__name__}: {error}"[:200], flush=True)
            continue
        if compile_graph(region.graph, target).failures:
            row.skipped += 1
            print(f"  {region.name}: left out: ours does not compile it", flush=True)
            continue
        row.regions += 1
        row.ours += min(time_ours(region.graph, target) for _ in range(repeat))
        row.inductor += min(t.seconds for t in theirs)
        row.total += min(t.total_seconds for t in theirs)
    return row


def time_ours(graph: Graph, target: Target) -> float:
    """Seconds from a region's graph to emitted modules."""
    began = time.perf_counter()
    compile_graph(graph, target)
    return time.perf_counter() - began


def show(rows: list[Row]) -> None:
    """A table, sums and the ratio last."""
    print(
        f"{'graph':32} {'regions':>7} {'ours s':>8} {'inductor s':>10} {'total s':>8} {'ratio':>6}"
    )
    for row in rows:
        ratio = row.ours / row.inductor if row.inductor else math.nan
        print(
            f"{row.graph[:32]:32} {row.regions:7} {row.ours:8.3f} {row.inductor:10.3f} "
            f"{row.total:8.3f} {ratio:6.2f}"
        )
    ours, theirs = sum(r.ours for r in rows), sum(r.inductor for r in rows)
    if theirs:
        print(
            f"ours {ours:.2f} s, Inductor {theirs:.2f} s, ratio {ours / theirs:.3f} (want <= 0.5)"
        )


def main() -> int:
    """Run; 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="graph files (default: the suite)")
    parser.add_argument("--target", default="sm_90", choices=sorted(TARGETS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    files = given.graphs or sorted((ROOT / "suites" / "graphs").glob("*.py"))
    rows: list[Row] = []
    if files:
        # What is imported and built once per process is not what is compared.
        time_graph(load(files[0]), TARGETS[given.target], 1)
    for file in files:
        try:
            rows.append(time_graph(load(file), TARGETS[given.target], given.repeat))
        except HarnessError as error:
            print(f"{file.name}: {error}", flush=True)
    show(rows)
    if given.json:
        given.json.write_text(json.dumps([vars(row) for row in rows], indent=1))
    return 0 if sum(r.ours for r in rows) <= 0.5 * sum(r.inductor for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
