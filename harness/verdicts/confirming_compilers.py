"""Timing two compilers' regions against each other, today, in fresh processes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from harness.errors import HarnessError, UsageError
from harness.heuristics.facts import Config
from harness.measure.jobs import DeviceFacts, Effort
from harness.measure.noise.judge import Rules
from harness.measure.peers.names import OURS
from harness.measure.peers.regions import Comparable, comparables
from harness.pipeline import compile_graph
from harness.records.run import GraphRecord, RegionRecord, Run
from harness.runtime.module import config_from_dict
from harness.session.entries import GraphFile
from harness.session.model import Peers
from harness.verdicts.comparing import Comparison, assemble, recorded_times
from harness.verdicts.confirming import Workplace, as_of_today
from harness.verdicts.pairing import pair
from harness.verdicts.sides import compiler_side

Open = Callable[[Sequence[str]], AbstractContextManager[Peers]]
"""Opens a fresh process that compares ours with the compilers named."""


@dataclass(eq=False, slots=True)
class _Rows:
    """What is known of a region by compiler: its last row, and the sets of all processes."""

    graph: str
    work: Comparable
    rows: dict[str, RegionRecord] = field(default_factory=dict)

    def add(self, process: int, found: Sequence[RegionRecord]) -> None:
        for row in found:
            before = self.rows.get(row.compiler)
            sets = tuple(replace(s, process=process) for s in row.sets)
            kept = () if before is None else before.sets
            reason = row.reason or ("" if before is None else before.reason)
            self.rows[row.compiler] = replace(row, sets=(*kept, *sets), reason=reason)

    def failed(self) -> bool:
        return any(row.reason for row in self.rows.values())


def confirm_compilers(
    run: Run,
    names: tuple[str, str],
    files: Sequence[GraphFile],
    rules: Rules,
    effort: Effort,
    place: Workplace,
    device: DeviceFacts,
    open_peers: Open,
) -> Comparison:
    """Time the regions of ``files`` as the two compilers called ``names`` make them, in turns.

    Our kernels run in the configurations that ``run`` recorded for the same text, else with their
    best guess. A region that a compiler cannot run is a row with the reason and is not tried again.
    """
    work = [
        _Rows(file.name, one)
        for file in files
        for one in comparables(compile_graph(file.load(), device.target).regions)
    ]
    if not work:
        raise UsageError(
            "there is nothing to time",
            got=f"{len(files)} graphs",
            expected="a graph with regions",
            remedy="name other graphs: harness list",
        )
    configs = {
        kernel.module: config_from_dict(kernel.config)
        for graph in run.graphs
        for kernel in graph.kernels
        if kernel.module and kernel.config
    }
    others = [name for name in names if name != OURS]
    interrupted = not _measure(work, others, configs, effort, place, open_peers)
    found = replace(run, graphs=_graphs(work, names))
    sides = [as_of_today(compiler_side(found, name), device, effort.processes) for name in names]
    notes = [
        f"timed in turns on {device.machine.gpu or device.machine.key}, "
        f"{effort.processes} fresh processes, every region as a CUDA graph"
    ]
    if interrupted:
        notes.append("interrupted: what had been measured is compared")
    pairing = pair(sides[0].run.graphs, sides[1].run.graphs)
    measured = [recorded_times(match, together=True) for match in pairing.matches]
    return assemble(sides[0], sides[1], pairing, measured, rules, paired=True, notes=notes)


def _measure(
    work: Sequence[_Rows],
    others: Sequence[str],
    configs: Mapping[str, Config],
    effort: Effort,
    place: Workplace,
    open_peers: Open,
) -> bool:
    """Every region in every process, in a random order; false if the user ended it early."""
    total = effort.processes * len(work)
    with contextlib.suppress(KeyboardInterrupt):
        for process in range(effort.processes):
            order = [rows for rows in work if not rows.failed()]
            random.Random(f"{effort.seed} {process}").shuffle(order)
            with open_peers(others) as peers:
                if process == 0:
                    peers.prepare([rows.work for rows in work])
                for done, rows in enumerate(order):
                    place.follow(process * len(work) + done, total)
                    rows.add(process, peers.compare(rows.work, configs))
        place.follow(total, total)
        return True
    return False


def _graphs(work: Sequence[_Rows], names: Sequence[str]) -> tuple[GraphRecord, ...]:
    found: dict[str, list[RegionRecord]] = {}
    for rows in work:
        missing = [name for name in names if name not in rows.rows]
        if missing:
            why = "not timed before the interruption"
            found.setdefault(rows.graph, []).extend(
                RegionRecord(rows.work.name, name, reason=why) for name in missing
            )
        found.setdefault(rows.graph, []).extend(
            row for name, row in rows.rows.items() if name in names
        )
    if not found:
        raise HarnessError("no region was compared")
    return tuple(GraphRecord(name, regions=tuple(rows)) for name, rows in found.items())
