"""``harness run``: compile, check and, with a GPU, time graphs; keep what was learnt."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from harness.calibration import record as calibrations
from harness.cli import arguments
from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.corpus import selecting
from harness.corpus.model import Pattern
from harness.corpus.store import load as load_corpus
from harness.errors import NoDevice, UnknownName, UsageError
from harness.history import accumulated, index
from harness.history.journal import Journal, Memory
from harness.measure.peers.jobs import parse
from harness.options import Options
from harness.records.run import GraphRecord, Run, one_line
from harness.report import output
from harness.report.kernels import graph_blocks, run_report, summary
from harness.session import model
from harness.session.entries import corpus_folder
from harness.session.model import Event, TimedAgain
from harness.session.plan import Plan, Request, all_seen, new_run, prepare

_Against: TypeAlias = Annotated[
    str | None,
    "Compare with other compilers on the same regions and inputs, commas between "
    "them: eager, inductor, inductor-tuned, or a backend of torch.compile. Needs a GPU.",
    typer.Option(metavar="COMPILERS"),
]

_Decide: TypeAlias = Annotated[
    bool,
    "Time what the compiler is unsure of both ways first, and take the faster one: "
    "reductions in a block or a loop, fused kernels or their halves. Needs a GPU.",
]

_Quick: TypeAlias = Annotated[
    bool, "Few samples, for sums of many: medians to 2 %, not 0.5, beside other compilers 4, not 1."
]

_PROCESSES = (3, 1)
"""By default, and with ``--resume``: a sum of a corpus is unsure of the patterns that it lacks. The
ratios of 972 to Inductor differ by a third on H200s, processes of one kernel by up to 1 %."""


@command(table=True, only=True, cases=True)
def run(
    answer: Answer,
    graphs: arguments.Graphs = None,
    suite: arguments.Suite = "default",
    where: arguments.Where = None,
    sample: arguments.Sample = None,
    seed: arguments.Seed = 0,
    minutes: arguments.Minutes = None,
    resume: arguments.Resume = False,
    target: arguments.TargetName = None,
    jobs: arguments.Jobs = None,
    record: Annotated[
        bool, "Keep the run below the results folder.", typer.Option("--record/--no-record")
    ] = True,
    timing: arguments.Timing = None,
    commit: arguments.Commit = None,
    against: _Against = None,
    processes: arguments.Processes = None,
    kernel_seconds: arguments.KernelSeconds = 180.0,
    devices: arguments.Devices = "",
    workers: arguments.Workers = "",
    decide: _Decide = False,
    quick: _Quick = False,
) -> int:
    """Compile, check and, with a GPU, time the kernels of graphs.

    Without a GPU kernels are checked in Triton's interpreter at small sizes and compiled for
    the target; columns for time say so. Exit status 1 if a kernel failed, something could not
    be recorded or --timing finds no GPU. Ctrl-C keeps what was measured so far. With -k only
    matching graphs run; if none match, only matching kernels, and then nothing is recorded.

    \b
    harness run
    harness run llama_block_forward bert_layer_forward
    harness run 'llama*' my_graphs/ --target sm_80 --no-record
    harness run llama_block_forward -k mul
    harness run --json > run.json
    harness run --against inductor,eager
    harness run --processes 5 --kernel-seconds 60
    harness run --suite corpus --where 'kind=reduction bytes>1MB' --sample 200
    harness run --suite corpus --minutes 20 --against inductor,eager --resume --quick
    harness run --devices all
    harness run llama_block_forward --decide
    harness run --workers tcp://farm:8786
    """
    options = dataclasses.replace(answer.options, commit=commit or answer.options.commit)
    others = () if against is None else parse(against)
    names, processes = tuple(graphs or ()), processes or _PROCESSES[resume]
    suite = arguments.queried(suite, where, sample, seed, names if resume or minutes else ())
    asked = (suite, names, target, jobs, timing, others, processes, kernel_seconds)
    if record:
        answer.recover()
    with contextlib.ExitStack() as stack:
        with answer.progress("starting, and taking GPUs"):
            request = Request(*asked, answer.only, devices, workers, decide=decide, quick=quick)
            part = _part(options, request, resume, minutes)
            plan = stack.enter_context(prepare(options, part))
        return _measure(plan, answer, options.results if record and plan.whole else None)


def _part(options: Options, request: Request, resume: bool, minutes: float | None) -> Request:
    """``request`` for a part of its patterns of a corpus: those that are left, or fit a budget."""
    if not resume and minutes is None:
        return request
    if (folder := corpus_folder(options, request.suite)) is None:
        raise UsageError(
            "only a corpus is run in parts",
            where=f"--minutes or --resume with suite {request.suite}",
            expected="--suite corpus",
        )
    if resume and request.decide:
        raise UsageError(
            "what is decided by timing cannot be compared with what was measured",
            where="--resume with --decide",
            expected="one of them",
        )
    query = request.suite.partition(":")[2]
    found: Sequence[Pattern] = selecting.select(load_corpus(folder), query)
    if resume:
        found = _left(options, request, found)
    if minutes is not None:
        found = _within(options, request, found, minutes)
    return dataclasses.replace(request, names=tuple(pattern.name for pattern in found))


def _left(options: Options, request: Request, found: Sequence[Pattern]) -> Sequence[Pattern]:
    """Those of ``found`` that no earlier run has as they are generated now; the others are said."""
    here = all_seen(options, request)[0]
    like = new_run(options, request, here.target, here)
    known = accumulated.measured(options.results, like, request.against, request.processes)
    names = [pattern.name for pattern in found]
    options = dataclasses.replace(options, jobs=request.jobs or options.jobs)
    same, changed = accumulated.unchanged(known, names, options, request.suite, here.target)
    left = [pattern for pattern in found if pattern.name not in same]
    output.note(
        f"{len(same)} of {len(found)} patterns were measured before, with the kernels that are "
        f"generated now; of {len(changed)} they have changed since"
    )
    if not left:
        remedy = "sum them up: harness show --by all --unchanged; or name others"
        raise UsageError("nothing is left to measure", where="--resume", remedy=remedy)
    return left


def _within(
    options: Options, request: Request, found: Sequence[Pattern], minutes: float
) -> Sequence[Pattern]:
    """Those of ``found`` that tell most in that time; what is left out is said. With other
    compilers, which take as long again, a pattern counts as measured once one of them was."""
    against = request.against
    known, now = index.refresh(options.results), dt.datetime.now(dt.UTC)
    ages = {place: run.days(now) for place, run in enumerate(known.runs)}
    rows = (known.regions if against else known.rows).select(["graph", "run", "ms", "compiler"])
    timed = rows.to_pandas().dropna(subset=["ms"])
    timed = timed[timed["compiler"].isin(against)] if against else timed
    days: dict[str, float] = (
        timed["run"].map(ages).groupby(timed["graph"].astype(str)).min().to_dict()
    )
    boards = len(all_seen(options, request)) if request.devices or request.workers else 1
    seconds = 60 * minutes * boards * (1 + request.quick) / (1 + bool(against))
    chosen = selecting.most_telling(found, days, seconds, request.processes)
    weight = sum(pattern.weight for pattern in chosen) / sum(p.weight for p in found)
    left = {pattern.name for pattern in found}.difference(pattern.name for pattern in chosen)
    output.note(
        f"{len(chosen)} of {len(found)} patterns fit into {minutes:g} minutes, with {weight:.1%} "
        f"of their weight; {len(left)} are left out, {len(left & days.keys())} measured before"
    )
    return chosen


def _measure(plan: Plan, answer: Answer, results: Path | None) -> int:
    """Keep what the session brings below ``results``, if anywhere, and print it."""
    answer.note(*plan.notes)
    kept: contextlib.AbstractContextManager[Memory] = contextlib.nullcontext(Memory(plan.run))
    if results is not None:
        kept = Journal(results, plan.run, warn=output.note)
    with kept as sink:
        cause: KeyboardInterrupt | NoDevice | None = None
        try:
            with answer.progress("starting") as bar:
                events = detecting(plan.session.events(), answer.options.results, plan.run)
                _Follower(plan, sink, answer, bar).follow(events)
            sink.finish()
        except (KeyboardInterrupt, NoDevice) as error:
            cause = error
        finally:
            sink.update(plan.ended(sink.run))
    if not plan.whole and not any(graph.kernels for graph in sink.run.graphs) and not cause:
        raise UnknownName(
            "there is no such graph or kernel",
            where="-k",
            got=" ".join(answer.only),
            expected="a part of a name, or a pattern with * and ?",
            remedy="graphs: harness list; kernels: harness show",
        )
    return _conclude(sink, cause, answer)


@dataclasses.dataclass(slots=True)
class _Follower:
    """Keeps, counts and prints what the session's events bring. A graph is printed once, when no
    further process is going to time it; what is left when the session ends is printed then."""

    plan: Plan
    sink: Memory
    answer: Answer
    bar: output.Progress
    done: int = 0
    total: int = 0
    process: str = ""
    unprinted: dict[str, GraphRecord] = dataclasses.field(default_factory=dict)

    def follow(self, events: Generator[Event, None, None]) -> None:
        """Take ``events`` to their end."""
        with contextlib.closing(events):
            try:
                for event in events:
                    self._take(event)
                    if self.done == 1:  # the GPU has been taken; a killed run has no end
                        self.sink.update(self.plan.ended(self.sink.run))
            finally:
                for name in tuple(self.unprinted):
                    self._print(name)

    def _take(self, event: Event) -> None:
        match event:
            case model.GraphStarted():
                self._say(f"compiling {event.name}")
            case model.GraphCompiled():
                self.total += event.kernels
                self._say(f"examining {event.name}")
            case model.KernelDone():
                self.sink.add_kernel(event.graph, event.kernel)
                self.done += 1
                self._say(f"examining {event.graph}")
            case model.RegionDone():
                self.sink.add_regions(event.graph, event.rows)
                self.bar.update(f"comparing {event.graph}", event.position, event.total)
            case model.ProcessStarted():
                self.done, self.total = 0, event.kernels
                self.process = f"process {event.process + 1} of {event.total}"
                self._say(self.process)
            case model.TimedAgain():
                self._retimed(event)
            case model.BoardLost():
                output.note(str(event))
            case model.GraphDone():
                self.sink.add_graph(event.record)
                self.unprinted[event.record.name] = event.record
                if not event.again:
                    self._print(event.record.name)

    def _retimed(self, event: TimedAgain) -> None:
        self.done += bool(self.process)  # it is announced once all boards are in it
        process = self.process or "once more"
        self._say(f"{process}: {event.graph}")
        if event.reason:
            output.note(f"{event.graph}, {event.kernel}, {process}: {event.reason}")

    def _say(self, text: str) -> None:
        self.bar.update(text, self.done, max(self.total, 1))

    def _print(self, name: str) -> None:
        graph = self.unprinted.pop(name)
        if not self.answer.quiet and (self.plan.whole or graph.kernels):
            with self.bar.aside():
                blocks = graph_blocks([graph], timed=self.plan.timed)
                output.print_blocks(blocks, self.answer.options, whole=self.answer.whole)


def detecting(
    events: Generator[Event, None, None], results: Path, run: Run
) -> Generator[Event, None, None]:
    """``events``, kernels with their smallest detectable change, by the newest calibration below
    ``results`` that fits the run's machine and method, and by its runs of other days and boards;
    without a calibration as they are."""
    with contextlib.closing(events):
        if (found := calibrations.newest(results, run.machine.key, run.method)) is None:
            yield from events
            return
        from harness.calibration.judging import Detector
        from harness.history.between import learn

        days = learn(results, run)
        detector = Detector(found, days.specific if days else None)
        for event in events:
            if isinstance(event, model.KernelDone):
                event = dataclasses.replace(event, kernel=detector.kernel(event.kernel))
            elif isinstance(event, model.GraphDone):
                event = dataclasses.replace(event, record=detector.graph(event.record))
            yield event


def _conclude(sink: Memory, cause: KeyboardInterrupt | NoDevice | None, answer: Answer) -> int:
    """Print the run; its exit status. ``cause`` is what ended it early; raised without a kernel."""
    run = sink.run
    if isinstance(cause, NoDevice) and not run.graphs:
        raise cause
    file = None if sink.path is None else str(sink.path)
    whole = run_report(run, file)
    if not answer.quiet:  # graphs have been printed one by one
        whole = dataclasses.replace(whole, blocks=lambda: summary(run, file))
    answer.tell(whole)
    if cause is not None:
        why = "interrupted" if isinstance(cause, KeyboardInterrupt) else one_line(cause)
        kept = f"kept in {sink.path}" if sink.path else "not recorded"
        known = f"what had been measured is {kept}"
        output.note(f"{why}; {known if run.graphs else 'nothing had been measured yet'}")
        return INTERRUPTED if isinstance(cause, KeyboardInterrupt) else FAILED
    return FAILED if run.failed or sink.refused else FINE
