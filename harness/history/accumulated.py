"""What runs of other commits still say of a corpus, which is measured bit by bit: graphs whose
kernels this compiler generates as it did then, on the same kind of machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeAlias

from harness.history import index, store
from harness.options import Options
from harness.records import modules
from harness.records.run import GraphRecord, KernelRecord, Run, fields
from harness.session.ahead import recorded
from harness.session.entries import find_entries
from harness.target import Target

_SOFTWARE = "torch triton"
"""What compiles kernels of a machine with the same driver."""

Measured: TypeAlias = dict[str, list[tuple[GraphRecord, str]]]
"""Graphs by name, each with its records, the newest first, and the run that it is from."""
Found: TypeAlias = dict[str, tuple[GraphRecord, str]]
"""Graphs by name, each with the run that it is from."""


def measured(
    results: Path, like: Run, compilers: Collection[str] = (), processes: int = 1
) -> Measured:
    """The graphs of all runs on such a machine, measured like ``like``, in so many ``processes`` at
    least: their kernels have times. Each of ``compilers`` has a row, be it of a failure."""
    found = defaultdict[str, list[tuple[GraphRecord, str]]](list)
    for one in reversed(index.refresh(results).readable):
        if (one.machine, one.method) != (like.machine.key, like.method):
            continue
        run = store.load(results / one.file)
        same = fields(run.machine, _SOFTWARE) == fields(like.machine, _SOFTWARE)
        for graph in run.graphs if same else ():
            others = {row.compiler for row in graph.regions}
            # Of a run that was cut short not all processes.
            timed = [k.ms and max(len(k.sets), 1) >= processes for k in graph.kernels]
            if timed and all(timed) and others.issuperset(compilers):
                found[graph.name].append((graph, run.id))
    return found


def unchanged(
    known: Measured, names: Sequence[str], options: Options, suite: str, target: Target
) -> tuple[Found, Found]:
    """Of each pattern among ``names`` that is ``known`` the newest record whose kernels are
    generated for ``target`` as they were; apart from them, where none is, the newest."""
    same, changed, names = Found(), Found(), [name for name in names if name in known]
    entries = find_entries(options, suite.partition(":")[0], names, target) if names else ()
    for entry, now, _ in recorded(entries, options.jobs, options.kept_cache, suite):
        every = known[entry.name]
        newest = next((one for one in every if _same(one[0], now)), None)
        (changed if newest is None else same)[entry.name] = newest or every[0]
    return same, changed


def _same(before: GraphRecord, now: GraphRecord) -> bool:
    """Whether the same kernels are launched as often, torch is called as often, and the tuner may
    still choose what it chose: other configurations may have come or gone."""
    alike = before.calls == now.calls and len(before.kernels) == len(now.kernels)
    return alike and all(
        a.launches == b.launches and _as_fast(a, b)
        for a, b in zip(before.kernels, now.kernels, strict=True)
    )


def _as_fast(a: KernelRecord, b: KernelRecord) -> bool:
    if a.module == b.module:  # most are, and need not be read: that takes milliseconds each
        return bool(a.module)
    offered = a.config not in modules.offered(a.module) or a.config in modules.offered(b.module)
    return a.executes_as(b) and offered
