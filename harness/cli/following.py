"""What ``harness run`` does with a session's events: keep, count, print."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Protocol

from harness.cli.detecting import detecting
from harness.report import output
from harness.report.tables import graph_lines
from harness.session.model import (
    Event,
    GraphCompiled,
    GraphDone,
    GraphStarted,
    KernelDone,
    ProcessStarted,
    RegionDone,
    TimedAgain,
)

if TYPE_CHECKING:
    from pathlib import Path

    from harness.options import Options
    from harness.records.run import GraphRecord, KernelRecord, RegionRecord, Run
    from harness.session.plan import Plan


class Keeper(Protocol):
    """What becomes of records: ``track.journal.Journal``, or memory alone."""

    path: Path | None
    refused: bool

    @property
    def run(self) -> Run:
        """The run as known so far."""

    def add_kernel(self, graph: str, kernel: KernelRecord) -> None:
        """Keep a kernel of a graph in progress."""

    def add_regions(self, graph: str, rows: tuple[RegionRecord, ...]) -> None:
        """Keep a region of a graph in progress, one row per compiler."""

    def add_graph(self, graph: GraphRecord) -> None:
        """Keep a finished graph."""

    def update(self, run: Run) -> None:
        """Replace what is known of the run as a whole."""

    def finish(self) -> None:
        """Mark the run complete."""


def follow(plan: Plan, keeper: Keeper, options: Options, *, quiet: bool) -> None:
    """Keep and print what the session's events bring. A graph that will be timed in further
    processes is printed once its figures are final, or when there will be no better ones."""
    events = detecting(plan.session.events(), options.results, plan.run)
    final = not plan.timed or plan.session.processes == 1
    unprinted: dict[str, GraphRecord] = {}
    with output.progress("starting", options, quiet=quiet) as bar, contextlib.closing(events):
        count = _Count(bar)
        try:
            for event in events:
                match event:
                    case KernelDone():
                        keeper.add_kernel(event.graph, event.kernel)
                    case RegionDone():
                        keeper.add_regions(event.graph, event.rows)
                    case GraphDone():
                        keeper.add_graph(event.record)
                        unprinted[event.record.name] = event.record
                    case ProcessStarted():
                        final = event.process == event.total - 1
                    case GraphStarted() | GraphCompiled() | TimedAgain():
                        pass
                count.show(event)
                if final and not quiet and isinstance(event, GraphDone):
                    bar.print(graph_lines(unprinted.pop(event.record.name), timed=plan.timed))
        finally:
            for graph in () if quiet else unprinted.values():
                bar.print(graph_lines(graph, timed=plan.timed))


@dataclasses.dataclass(slots=True)
class _Count:
    """What the progress bar says."""

    bar: Any
    done: int = 0
    total: int = 0
    process: str = ""

    def show(self, event: Event) -> None:
        """Say what ``event`` brings."""
        match event:
            case GraphStarted():
                self._update(f"compiling {event.name}")
            case GraphCompiled():
                self.total += event.kernels
                self._update(f"examining {event.name}")
            case KernelDone():
                self.done += 1
                self._update(f"examining {event.graph}")
            case RegionDone():
                self.bar.update(f"comparing {event.graph}", event.position, event.total)
            case ProcessStarted():
                self.done, self.total = 0, event.kernels
                self.process = f"process {event.process + 1} of {event.total}"
                self._update(self.process)
            case TimedAgain():
                self.done += 1
                self._update(f"{self.process}: {event.graph}")
                if event.reason:
                    output.note(f"{event.graph}, {event.kernel}, {self.process}: {event.reason}")
            case GraphDone():
                pass

    def _update(self, text: str) -> None:
        self.bar.update(text, self.done, max(self.total, 1))
