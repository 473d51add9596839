"""``harness run``: compile, check and, with a GPU, time graphs; keep what was learnt."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import typer

from harness.cli.arguments import (
    Commit,
    Graphs,
    Jobs,
    KernelSeconds,
    Processes,
    Suite,
    TargetName,
    Timing,
)
from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.errors import NoDevice, UnknownName
from harness.report import output

if TYPE_CHECKING:
    from harness.records.run import GraphRecord, KernelRecord, RegionRecord, Run
    from harness.session.model import Event
    from harness.session.plan import Plan


Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="COMPILERS",
        help="Compare with other compilers on the same regions and inputs, commas between them: "
        "eager, inductor, inductor-tuned, or a backend of torch.compile. Needs a GPU.",
        show_default=False,
    ),
]


@command(table=True, only=True)
def run(
    answer: Answer,
    graphs: Graphs = None,
    suite: Suite = "default",
    target: TargetName = None,
    jobs: Jobs = None,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Keep the run below the results folder.")
    ] = True,
    timing: Timing = None,
    commit: Commit = None,
    against: Against = None,
    processes: Processes = 3,
    kernel_seconds: KernelSeconds = 180.0,
) -> int:
    """Compile, check and, with a GPU, time the kernels of graphs.

    Without a GPU kernels are checked in Triton's interpreter at small sizes and compiled for
    the target; columns for time say so. Exit status 1 if a kernel failed, something could not
    be recorded or --timing finds no GPU. Ctrl-C keeps what was measured so far. With -k only
    the graphs like that run; where none is, only the kernels, and then nothing is recorded.

    \b
    harness run
    harness run llama_block_forward bert_layer_forward
    harness run 'llama*' my_graphs/ --target sm_80 --no-record
    harness run llama_block_forward -k mul
    harness run --json > run.json
    harness run --timing
    harness run --commit 3f2a91c
    harness run --against inductor,eager
    harness run --processes 5 --kernel-seconds 60
    """
    from harness.measure.peers.names import parse
    from harness.session.plan import Request, prepare

    options = answer.options
    if commit is not None:
        options = dataclasses.replace(options, commit=commit)
    others = () if against is None else parse(against)
    names = tuple(graphs or ())
    request = Request(
        suite, names, target, jobs, timing, others, processes, kernel_seconds, answer.only
    )
    if record:
        answer.recover()
    with prepare(options, request) as plan:
        return _measure(plan, answer, options.results if record and plan.whole else None)


def _measure(plan: Plan, answer: Answer, results: Path | None) -> int:
    """Keep what the session brings below ``results``, if anywhere, and print it."""
    for note in plan.notes:
        output.note(note)
    with _sink(results, plan.run) as sink:
        cause: KeyboardInterrupt | NoDevice | None = None
        try:
            _follow(plan, sink, answer)
            sink.finish()
        except (KeyboardInterrupt, NoDevice) as error:
            cause = error
        finally:
            sink.update(dataclasses.replace(sink.run, state=plan.state()))
    if not plan.whole and not any(graph.kernels for graph in sink.run.graphs) and not cause:
        raise UnknownName(
            "there is no such graph or kernel",
            where="-k",
            got=" ".join(answer.only),
            expected="a part of a name, or a pattern with * and ?",
            remedy="graphs: harness list; kernels: harness show",
        )
    return _conclude(sink, cause, answer)


class Sink(Protocol):
    """What becomes of records: ``history.journal.Journal``, or memory alone."""

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


@contextlib.contextmanager
def _sink(results: Path | None, run: Run) -> Iterator[Sink]:
    from harness.history.journal import Journal, Memory

    if results is None:
        yield Memory(run)
    else:
        with Journal(results, run, warn=output.note) as journal:
            yield journal


def _follow(plan: Plan, sink: Sink, answer: Answer) -> None:
    """Keep and print what the session's events bring. A graph that will be timed in further
    processes is printed once its figures are final, or when there will be no better ones."""
    from harness.report.kernels import graph_blocks
    from harness.session.model import GraphDone, KernelDone, ProcessStarted, RegionDone

    def tell(graph: GraphRecord) -> None:
        if not answer.quiet and (plan.whole or graph.kernels):
            with bar.aside():
                blocks = graph_blocks([graph], timed=plan.timed)
                output.print_blocks(blocks, answer.options, whole=answer.whole)

    events = detecting(plan.session.events(), answer.options.results, plan.run)
    final = not plan.timed or plan.session.processes == 1
    unprinted: dict[str, GraphRecord] = {}
    with answer.progress("starting") as bar, contextlib.closing(events):
        count = _Count(bar)
        try:
            for event in events:
                match event:
                    case KernelDone():
                        sink.add_kernel(event.graph, event.kernel)
                    case RegionDone():
                        sink.add_regions(event.graph, event.rows)
                    case GraphDone():
                        sink.add_graph(event.record)
                        unprinted[event.record.name] = event.record
                    case ProcessStarted():
                        final = event.process == event.total - 1
                    case _:
                        pass
                count.show(event)
                if final and isinstance(event, GraphDone):
                    tell(unprinted.pop(event.record.name))
        finally:
            for graph in unprinted.values():
                tell(graph)


@dataclasses.dataclass(slots=True)
class _Count:
    """What the progress bar says."""

    bar: Any
    done: int = 0
    total: int = 0
    process: str = ""

    def show(self, event: Event) -> None:
        """Say what ``event`` brings."""
        from harness.session.model import (
            GraphCompiled,
            GraphDone,
            GraphStarted,
            KernelDone,
            ProcessStarted,
            RegionDone,
            TimedAgain,
        )

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


def detecting(
    events: Generator[Event, None, None], results: Path, run: Run
) -> Generator[Event, None, None]:
    """``events``, kernels with their smallest detectable change, by the newest calibration below
    ``results`` that fits the run's machine and method; without one as they are."""
    from harness.calibration import store as calibrations

    with contextlib.closing(events):
        found = calibrations.newest(results, run.machine.key, run.method)
        if found is None:
            yield from events
            return
        from harness.calibration.lookup import Detector
        from harness.session.model import GraphDone, KernelDone

        detector = Detector(found)
        for event in events:
            if isinstance(event, KernelDone):
                event = dataclasses.replace(event, kernel=detector.kernel(event.kernel))
            elif isinstance(event, GraphDone):
                event = dataclasses.replace(event, record=detector.graph(event.record))
            yield event


def _conclude(sink: Sink, cause: KeyboardInterrupt | NoDevice | None, answer: Answer) -> int:
    """Print the run; its exit status. ``cause`` is what ended it early."""
    from harness.records.run import one_line
    from harness.report.kernels import run_report, summary_report

    run = sink.run
    file = None if sink.path is None else str(sink.path)
    answer.tell(run_report(run, file) if answer.quiet else summary_report(run, file))
    if cause is not None:
        why = "interrupted" if isinstance(cause, KeyboardInterrupt) else one_line(cause)
        kept = f"kept in {sink.path}" if sink.path else "not recorded"
        output.note(
            f"{why}; what had been measured is {kept}"
            if run.graphs
            else f"{why}; nothing had been measured yet"
        )
        return INTERRUPTED if isinstance(cause, KeyboardInterrupt) else FAILED
    return FAILED if run.failed or sink.refused else FINE
