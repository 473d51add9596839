"""The comparison with Inductor and eager as a Markdown page.

    python scripts/suite_table.py results/<machine>/<run>.parquet > PAGE.md

Reads a run made with ``harness run --against inductor,eager`` (or the ``.regions.json.gz`` that
came beside runs of the first format). One table per graph's total over its distinct
regions, one of every region.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.history import store  # noqa: E402
from harness.measure.peers.ratios import by_region  # noqa: E402
from harness.records.run import Check, to_json  # noqa: E402

Row = dict[str, Any]


def geometric_mean(values: Sequence[float]) -> float:
    """Exp of the mean logarithm; NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def timed(rows: Iterable[Row]) -> list[Row]:
    """Rows that both compilers have a time for."""
    return [r for r in rows if r["ours_ms"] and r["inductor_ms"]]


def ratios(rows: Iterable[Row]) -> list[float]:
    """Inductor's time divided by ours, per region."""
    return [r["inductor_ms"] / r["ours_ms"] for r in timed(rows)]


def heading(data: dict[str, Any], path: Path) -> list[str]:
    """What was measured, where, and how."""
    machine, rows = data["machine"], data["regions"]
    below = sum(ratio < 0.95 for ratio in ratios(rows))
    over_eager = [r["eager_ms"] / r["ours_ms"] for r in timed(rows) if r["eager_ms"]]
    return [
        f"# The default suite against Inductor and eager: {machine['gpu']}",
        "",
        f"Machine: {machine['gpu']}, driver {machine['driver']}, SM clock under load "
        f"{machine['sm_clock_mhz']} MHz, copy bandwidth {data['copy_gbps']:.0f} GB/s. "
        f"Python {machine['python']}, torch {machine['torch']}, triton {machine['triton']}. "
        f"Method `{data['method']}`.",
        "",
        f"Data: [`{path.as_posix()}`](../../{path.as_posix()}) (every region's and every "
        "candidate's samples). Command: `harness run --against inductor,eager --commit SHA`.",
        "",
        "A region is a largest fusible piece of a graph. All three run in one process on the same "
        "random inputs, each replayed as a CUDA graph, interleaved, with a cold L2 cache; results "
        "are compared with torch in float64. Ours: the fastest of the heuristics' candidates per "
        "kernel. Inductor: `torch._inductor.compile` with its defaults. Regions of a graph that "
        "launch the same kernels are timed once (`n` of them).",
        "",
        f"**{len(rows)} distinct regions, {sum(r['passed'] for r in rows)} right; speed against "
        f"Inductor, geometric mean over regions: {geometric_mean(ratios(rows)):.3f}** "
        f"(regions below 0.95: {below}). "
        f"Against eager: {geometric_mean(over_eager):.2f}.",
        "",
    ]


def graph_table(rows: Sequence[Row]) -> list[str]:
    """Totals per graph: every region times how often it occurs."""
    lines = [
        "| graph | regions | ours µs | Inductor µs | eager µs | total ratio | geometric mean |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for graph in dict.fromkeys(r["graph"] for r in rows):
        mine = timed(r for r in rows if r["graph"] == graph)
        sums = [
            sum(r[key] * r["count"] for r in mine if r[key]) * 1000
            for key in ("ours_ms", "inductor_ms", "eager_ms")
        ]
        lines.append(
            f"| {graph} | {sum(r['count'] for r in mine)} | {sums[0]:.0f} | {sums[1]:.0f} | "
            f"{sums[2]:.0f} | {sums[1] / sums[0]:.2f} | {geometric_mean(ratios(mine)):.2f} |"
        )
    return lines


def region_table(rows: Sequence[Row]) -> list[str]:
    """Every region, slowest against Inductor first."""
    lines = [
        "| region | n | kernels | MB | ours µs | Inductor µs | eager µs | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(timed(rows), key=lambda r: (r["inductor_ms"] / r["ours_ms"], r["region"])):
        eager = "–" if row["eager_ms"] is None else f"{row['eager_ms'] * 1000:.1f}"
        lines.append(
            f"| {row['region']} | {row['count']} | {row['kernels']} | {row['nbytes'] / 1e6:.1f} | "
            f"{row['ours_ms'] * 1000:.1f} | {row['inductor_ms'] * 1000:.1f} | {eager} | "
            f"{row['inductor_ms'] / row['ours_ms']:.2f} |"
        )
    return lines


def of_run(path: Path) -> dict[str, Any]:
    """A run file in the form of the JSON."""
    run = store.load(path)
    rows: list[Row] = []
    for graph in run.graphs:
        for group in by_region(graph.regions):
            times = {one.compiler: one.ms for one in group}
            rows.append(
                {
                    "graph": graph.name,
                    "region": group[0].region,
                    "count": group[0].count,
                    "kernels": group[0].kernels,
                    "nbytes": sum(k.bytes for k in graph.kernels if k.region == group[0].region),
                    "passed": group[0].check is Check.PASSED,
                    **{f"{n}_ms": times.get(m) for n, m in NAMES},
                }
            )
    return {
        "machine": to_json(run.machine),
        "copy_gbps": run.copy_gbps,
        "method": run.method,
        "regions": rows,
    }


NAMES = (("ours", "harness"), ("inductor", "inductor"), ("eager", "eager"))


def main(path: Path) -> None:
    """Print the page."""
    old = path.suffix == ".gz"
    data = json.loads(gzip.decompress(path.read_bytes())) if old else of_run(path)
    if not data["regions"]:
        sys.exit(f"{path}: no regions; make such a run with: harness run --against inductor,eager")
    lines = heading(data, path)
    lines += ["## By graph", "", *graph_table(data["regions"]), ""]
    lines += ["## By region, slowest against Inductor first", "", *region_table(data["regions"])]
    print("\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, metavar="RUN", help="a run file, or a .regions.json.gz")
    main(parser.parse_args().run)
