"""Several runs of one commit as one side of a comparison.

Processes of the same run share its temperature and clocks, so they are not as good as processes of
different ones: a pooled side says which of its processes are which run's, and the verdicts count
what moves between runs once for each run (``bench.verdicts``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.records.run import Check, GraphRecord, KernelRecord, Run
from harness.verdicts.causes import settings


@dataclass(frozen=True, slots=True)
class Pool:
    """Which runs a side is made of, newest first, and the number of each one's first process.
    ``left_out``: runs of the commit that are not in it, and why."""

    runs: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()

    def run_of(self, process: int) -> int:
        """The position in ``runs`` of the run that ``process`` belongs to."""
        return max(0, bisect_right(self.starts, process) - 1)


def pool(newest: Run, older: Sequence[Run]) -> tuple[Run, Pool]:
    """``newest`` with the samples of those ``older`` runs of its commit that can be pooled: clean,
    same machine, driver, method and versions; of a kernel, where code and configuration are the
    same. Processes are numbered on. Nothing else of the older runs is used.
    """
    runs, starts, left_out = [newest.id], [0], []
    merged = newest
    for run in older:
        why = _unlike(newest, run)
        if why:
            left_out.append(f"{run.id} ({why})")
            continue
        start = 1 + max((s.process for k in _kernels(merged) for s in k.sets), default=-1)
        merged = _merge(merged, run, start)
        runs.append(run.id)
        starts.append(start)
    if len(runs) > 1:
        merged = replace(
            merged, processes=len({s.process for k in _kernels(merged) for s in k.sets})
        )
    return merged, Pool(tuple(runs), tuple(starts), tuple(left_out))


def _unlike(newest: Run, run: Run) -> str:
    """Why ``run`` cannot be pooled with ``newest``; empty if it can."""
    one, other = newest.machine, run.machine
    differs = (
        ("made from a changed tree", newest.dirty or run.dirty, False),
        ("another machine", one.key, other.key),
        ("another GPU", one.gpu_uuid, other.gpu_uuid),
        ("another driver", one.driver, other.driver),
        ("another method of measuring", newest.method, run.method),
        ("another version of Triton", one.triton, other.triton),
        ("another version of torch", one.torch, other.torch),
        ("another target", newest.target, run.target),
    )
    found = [why for why, ours, theirs in differs if ours != theirs]
    timed = any(kernel.sets for kernel in _kernels(run))
    return ", ".join(found) if found or timed else "without times"


def _kernels(run: Run) -> list[KernelRecord]:
    return [kernel for graph in run.graphs for kernel in graph.kernels]


def _merge(newest: Run, run: Run, start: int) -> Run:
    graphs = {graph.name: graph for graph in run.graphs}
    return replace(
        newest,
        graphs=tuple(
            _merge_graph(graph, graphs[graph.name], start) if graph.name in graphs else graph
            for graph in newest.graphs
        ),
    )


def _merge_graph(graph: GraphRecord, older: GraphRecord, start: int) -> GraphRecord:
    known = {(kernel.name, kernel.region): kernel for kernel in older.kernels}
    return replace(
        graph,
        kernels=tuple(
            _merge_kernel(kernel, known.get((kernel.name, kernel.region)), start)
            for kernel in graph.kernels
        ),
    )


def _merge_kernel(kernel: KernelRecord, older: KernelRecord | None, start: int) -> KernelRecord:
    if older is None or older.reason or older.check is Check.FAILED:
        return kernel
    if older.module != kernel.module or settings(older) != settings(kernel):
        return kernel
    more = tuple(replace(s, process=start + s.process) for s in older.sets)
    return replace(kernel, sets=(*kernel.sets, *more))
