"""A session: graphs in, records out, as much at the same time as the cores allow.

Each graph is compiled in this process; its kernels then go to two queues, one
that reads static metrics and one that checks results, or, on a machine with a
GPU, to the device. A kernel's record is handed out as soon as its last part has
arrived. Nothing here prints or stores: the caller does, event by event.
"""

from __future__ import annotations

import queue
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from harness.codegen.source import EmittedModule
from harness.devices.queue import Answer, Inbox, Queue
from harness.errors import HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.measure.roofline import Limit
from harness.records import metrics
from harness.records.metrics import StaticMetrics
from harness.records.run import (
    Check,
    GraphRecord,
    KernelRecord,
    LibraryCall,
    RegionRecord,
    TrialRecord,
    one_line,
)
from harness.records.timing import Samples
from harness.runtime.compile.compiling import CompileJob, CompilePool
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.runtime.module import config_dict, config_from_dict
from harness.session.matching import match_small
from harness.session.passes import ProcessStarted, TimedAgain, repeated, with_samples
from harness.target import Target

if TYPE_CHECKING:
    from harness.measure.peers.regions import Comparable

NO_SMALL = "too large to interpret, and no small capture beside it (capture --small)"
INTERPRETED = "interpreter, small sizes"
ON_DEVICE = "GPU, full size"


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A distinct kernel of a graph, and for each of its launches the nodes computed;
    ``region`` is the region of its first launch."""

    module: EmittedModule
    launches: tuple[tuple[str, ...], ...]
    region: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph after code generation; ``seconds`` is wall clock, Triton not included.
    ``failures`` stand for kernels that could not be generated; ``nodes`` are those of the
    graph as captured, ``regions`` what other compilers can be compared on.
    """

    kernels: tuple[CompiledKernel, ...]
    library_calls: tuple[LibraryCall, ...]
    seconds: float
    failures: tuple[KernelRecord, ...] = ()
    nodes: frozenset[str] = frozenset()
    regions: tuple[Comparable, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing:
    """What the device says of a kernel: its fastest configuration, that one's samples, what holds
    the kernel back, and what the tuning tried."""

    config: Config
    samples: Samples
    limit: Limit | None = None
    trials: tuple[TrialRecord, ...] = ()

    @property
    def ms(self) -> float:
        """Median in milliseconds."""
        return self.samples.median


class Entry(Protocol):
    """A graph that can be compiled at full size, and small for the interpreter."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def compile(self) -> Compiled:
        """At full size. Raises ``HarnessError``."""

    def compile_small(self) -> Compiled | None:
        """At the small sizes declared beside it; None if there are none."""


class Device(Protocol):
    """A GPU. ``check`` and ``time`` raise ``HarnessError`` for a kernel that cannot run, and
    ``NoDevice`` when no kernel can any more."""

    @property
    def copy_gbps(self) -> float:
        """Copy bandwidth, measured in this process by the same method."""

    def prepare(self, modules: Sequence[EmittedModule]) -> None:
        """Compile what ``time`` will need, in parallel where possible."""

    def check(self, module: EmittedModule) -> CheckResult:
        """Run with poisoned outputs and compare with plain torch."""

    def time(self, module: EmittedModule) -> Timing:
        """Time every candidate and keep the fastest."""

    def again(
        self, module_text: str, name: str, config: Config, launches: int | None = None
    ) -> Timing:
        """Time a kernel under a configuration that is known, ``launches`` to a sample (the
        timer finds how many if None)."""

    def restart(self) -> None:
        """Go on in a fresh process."""


class Peers(Protocol):
    """Other compilers. ``compare`` raises ``NoDevice`` when nothing can be timed any more."""

    def prepare(self, work: Sequence[Comparable]) -> None:
        """Compile ahead, in parallel where possible."""

    def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[RegionRecord, ...]:
        """One row per compiler, ours first; ``configs`` are tuned ones by module text."""


@dataclass(frozen=True, slots=True)
class GraphStarted:
    """A graph's turn has come; ``position`` counts from 1 to ``total``."""

    name: str
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphCompiled:
    """A graph has become kernels, which are being examined."""

    name: str
    kernels: int


@dataclass(frozen=True, slots=True)
class KernelDone:
    """Everything about a kernel is known."""

    graph: str
    kernel: KernelRecord


@dataclass(frozen=True, slots=True)
class RegionDone:
    """A region is known for every compiler; ``position`` counts from 1 to ``total``."""

    graph: str
    rows: tuple[RegionRecord, ...]
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphDone:
    """Everything about a graph is known; its kernels are in launch order."""

    record: GraphRecord


Event = (
    GraphStarted | GraphCompiled | KernelDone | RegionDone | GraphDone | ProcessStarted | TimedAgain
)


@dataclass(eq=False, slots=True)
class _Progress:
    """A graph in flight. ``missing`` counts, by kernel, the parts not yet known; the
    record's own kernels are those that could not be generated; ``comparing`` says that other
    compilers are still being timed.
    """

    record: GraphRecord
    kernels: list[KernelRecord]
    missing: list[int]
    comparing: bool = False

    def done(self) -> bool:
        return not self.comparing and not any(self.missing)


StaticQueue = Queue[CompileJob, CompilePool]
"""Answers are ``StaticMetrics``."""
CheckQueue = Queue[CheckJob, InterpreterPool]
"""Answers are ``CheckResult``."""


@dataclass(eq=False, slots=True)
class Session:
    """One run over ``entries`` for ``target``. ``check`` interprets small kernels and is unused
    when there is a ``device``; ``peers`` are used only with one. Iterate over ``events`` once;
    leaving the iteration early stops both queues without waiting for them. With a device, all
    kernels are timed in ``processes`` fresh processes one after the other."""

    entries: Sequence[Entry]
    target: Target
    inbox: Inbox
    static: StaticQueue
    check: CheckQueue
    device: Device | None = None
    peers: Peers | None = None
    processes: int = 1
    _flight: dict[str, _Progress] = field(default_factory=dict)

    def events(self) -> Generator[Event, None, None]:
        """Compile, examine, and hand out what becomes known, in the order it does. A graph is
        done once for each process."""
        graphs: list[GraphRecord] = []
        for event in self._examined():
            if isinstance(event, GraphDone):
                graphs.append(event.record)
            yield event
        if self.device is not None:
            for again in repeated(self.device, graphs, self.processes):
                yield GraphDone(again) if isinstance(again, GraphRecord) else again

    def _examined(self) -> Generator[Event, None, None]:
        try:
            for position, entry in enumerate(self.entries, start=1):
                yield GraphStarted(entry.name, position, len(self.entries))
                yield from self._start(entry)
                yield from self._arrived(wait=False)
            while self._flight:
                yield from self._arrived(wait=True)
        finally:
            self.static.stop()
            self.check.stop()

    def _start(self, entry: Entry) -> Iterator[Event]:
        try:
            compiled = entry.compile()
        except HarnessError as error:
            yield GraphDone(GraphRecord(entry.name, reason=f"{type(error).__name__}: {error}"))
            return
        kernels = [_blank(kernel) for kernel in compiled.kernels]
        record = GraphRecord(
            entry.name, compiled.library_calls, codegen_seconds=round(compiled.seconds, 6)
        )
        record = replace(record, kernels=compiled.failures)
        progress = _Progress(record, kernels, [2] * len(kernels))
        yield GraphCompiled(entry.name, len(kernels) + len(compiled.failures))
        for failure in compiled.failures:
            yield KernelDone(entry.name, failure)
        if not kernels:
            yield GraphDone(record)
            return
        self._flight[entry.name] = progress
        if self.device is None:
            self._examine_without_device(entry, compiled, progress)
        else:
            yield from self._examine_on_device(self.device, compiled, progress)
        yield from self._landed(entry.name)

    def _examine_without_device(
        self, entry: Entry, compiled: Compiled, progress: _Progress
    ) -> None:
        for number, kernel in enumerate(compiled.kernels):
            self.static.put((entry.name, number), CompileJob(kernel.module.text, self.target))
        try:
            small = entry.compile_small()
        except HarnessError as error:
            self._skip_checks(progress, f"the small capture: {one_line(error)}")
            return
        if small is None:
            self._skip_checks(progress, NO_SMALL)
            return
        found = match_small(_origins(compiled), _origins(small), compiled.nodes)
        for number, positions in enumerate(found):
            modules = [small.kernels[p].module for p in positions]
            self._submit_check(entry.name, number, modules, progress)

    def _submit_check(
        self, graph: str, number: int, modules: list[EmittedModule], progress: _Progress
    ) -> None:
        if not modules:
            note = "no kernel of the small capture does the same work"
            progress.kernels[number] = replace(progress.kernels[number], check_note=note)
            progress.missing[number] -= 1
            return
        note = INTERPRETED if len(modules) == 1 else f"{INTERPRETED}, as {len(modules)} kernels"
        progress.missing[number] += len(modules) - 1
        progress.kernels[number] = replace(progress.kernels[number], check_note=note)
        for module in modules:
            self.check.put((graph, number), CheckJob(module.text))

    def _skip_checks(self, progress: _Progress, note: str) -> None:
        for number, kernel in enumerate(progress.kernels):
            progress.kernels[number] = replace(kernel, check_note=note)
            progress.missing[number] -= 1

    def _examine_on_device(
        self, device: Device, compiled: Compiled, progress: _Progress
    ) -> Iterator[Event]:
        name = progress.record.name
        progress.comparing = self.peers is not None
        device.prepare([kernel.module for kernel in compiled.kernels])
        if self.peers is not None:
            self.peers.prepare(compiled.regions)
        for number, kernel in enumerate(compiled.kernels):
            record = progress.kernels[number]
            record, config = _on_device(device, kernel.module, record)
            progress.kernels[number] = record
            progress.missing[number] -= 1
            # The metrics recorded are those of the configuration that was timed.
            self.static.put((name, number), CompileJob(kernel.module.text, self.target, config))
            yield from self._arrived(wait=False)
        if self.peers is not None:
            yield from self._compare(self.peers, compiled, progress)

    def _compare(self, peers: Peers, compiled: Compiled, progress: _Progress) -> Iterator[Event]:
        name, total = progress.record.name, len(compiled.regions)
        configs = {k.module: config_from_dict(k.config) for k in progress.kernels if k.config}
        for position, one in enumerate(compiled.regions, start=1):
            rows = peers.compare(one, configs)
            regions = (*progress.record.regions, *rows)
            progress.record = replace(progress.record, regions=regions)
            yield RegionDone(name, rows, position, total)
            yield from self._arrived(wait=False)
        progress.comparing = False

    def _arrived(self, wait: bool) -> Iterator[Event]:
        """Take the answers that are there; with ``wait``, at least one."""
        try:
            while True:
                answer = self.inbox.get(block=wait)
                wait = False
                yield from self._take(answer)
        except queue.Empty:
            return

    def _take(self, answer: Answer) -> Iterator[Event]:
        name, number = answer.key
        progress = self._flight[name]
        record = _with_answer(
            progress.kernels[number], answer.value, answer.queue == self.check.name
        )
        progress.kernels[number] = record
        yield from self._part_known(progress, number)
        yield from self._landed(name)

    def _part_known(self, progress: _Progress, number: int) -> Iterator[Event]:
        progress.missing[number] -= 1
        if progress.missing[number] == 0:
            yield KernelDone(progress.record.name, progress.kernels[number])

    def _landed(self, name: str) -> Iterator[Event]:
        progress = self._flight.get(name)
        if progress is not None and progress.done():
            del self._flight[name]
            kernels = (*progress.kernels, *progress.record.kernels)
            yield GraphDone(replace(progress.record, kernels=kernels))


def _origins(compiled: Compiled) -> list[tuple[tuple[str, ...], ...]]:
    return [kernel.launches for kernel in compiled.kernels]


def _blank(kernel: CompiledKernel) -> KernelRecord:
    module = kernel.module
    return KernelRecord(
        name=module.name,
        kind=module.category,
        bytes=module.bytes_moved,
        launches=len(kernel.launches),
        origins=module.origins,
        module=module.text,
        region=kernel.region,
    )


def with_metrics(record: KernelRecord, found: StaticMetrics) -> KernelRecord:
    """``record`` with what its compiled binary says."""
    return replace(record, metrics=metrics.read_static(found), mix=dict(found.mix))


def _with_check(record: KernelRecord, outcome: CheckResult) -> KernelRecord:
    """``record`` with one more outcome: the worst of those seen so far stays."""
    failed = record.check is Check.FAILED or not outcome.passed
    worst = max(record.max_error or 0.0, outcome.max_error)
    return replace(
        record,
        check=Check.FAILED if failed else Check.PASSED,
        max_error=worst,
        allowed=outcome.allowed if outcome.allowed is not None else record.allowed,
        check_note="; ".join(filter(None, (record.check_note, outcome.message))),
    )


def _with_answer(record: KernelRecord, value: object, is_check: bool) -> KernelRecord:
    match value:
        case StaticMetrics():
            return with_metrics(record, value)
        case CheckResult():
            return _with_check(record, value)
        case HarnessError() if is_check:
            return replace(record, check=Check.FAILED, check_note=one_line(value))
        case HarnessError():
            return replace(record, reason=one_line(value))
        case _:
            raise TypeError(f"an answer of type {type(value).__name__}")


def _on_device(
    device: Device, module: EmittedModule, record: KernelRecord
) -> tuple[KernelRecord, Config | None]:
    try:
        record = _with_check(replace(record, check_note=ON_DEVICE), device.check(module))
    except NoDevice:
        raise
    except HarnessError as error:
        return replace(record, check=Check.FAILED, check_note=one_line(error)), None
    try:
        timing = device.time(module)
    except NoDevice:
        raise
    except HarnessError as error:
        return replace(record, reason=one_line(error)), None
    gbps = record.bytes / timing.ms / 1e6
    limit = timing.limit or Limit("copy", gbps / (timing.samples.copy_gbps or device.copy_gbps))
    record = replace(record, config=config_dict(timing.config), trials=timing.trials)
    return with_samples(record, timing.samples, limit), timing.config
