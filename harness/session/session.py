"""A session: graphs in, records out, as much at the same time as the cores allow.

Each graph is compiled in this process; its kernels then go to two queues, one
that reads static metrics and one that checks results, or, on a machine with a
GPU, to the device. A kernel's record is handed out as soon as its last part has
arrived. Nothing here prints or stores: the caller does, event by event.
"""

from __future__ import annotations

import math
import queue
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from harness.devices.job import tried
from harness.devices.queue import Answer, Inbox, Queue
from harness.errors import HarnessError, NoDevice, OutOfMemory
from harness.heuristics.facts import Config
from harness.measure.jobs import Limit, Timing
from harness.measure.noise.processes import combined
from harness.measure.peers.pool import PeerPool
from harness.records import metrics, modules
from harness.records.metrics import StaticMetrics
from harness.records.run import Check, GraphRecord, KernelRecord, one_line
from harness.records.timing import Samples
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.runtime.module import config_dict, config_from_dict
from harness.session import model
from harness.session.ahead import Block, Made, compiled_ahead, done, generated
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry
from harness.session.model import Compiled, CompiledKernel, Event, GraphDone
from harness.target import Target

NO_SMALL = "too large to interpret, and no small capture beside it (capture --small)"
NO_ASSEMBLY = "inline assembly: Triton's interpreter has none"
INTERPRETED = "interpreter, small sizes"
ON_DEVICE = "GPU, full size"
_LATER = 2
"""Blocks that are timed and wait for other compilers, which start later, beside the next one."""


@dataclass(eq=False, slots=True)
class _Progress:
    """A graph in flight. ``missing`` counts, by kernel, the parts not yet known; the record's own
    kernels are those that could not be generated; ``comparing`` says that other compilers are still
    being timed. For a part of the work of ``unchecked`` there was no memory."""

    record: GraphRecord
    kernels: list[KernelRecord]
    missing: list[int]
    comparing: bool = False
    unchecked: set[int] = field(default_factory=set)


StaticQueue = Queue[CompileJob, CompilePool]
"""Answers are ``StaticMetrics``."""
CheckQueue = Queue[CheckJob, InterpreterPool]
"""Answers are ``CheckResult``."""


@dataclass(eq=False, slots=True)
class Session:
    """One run over ``entries`` for ``target``. ``check`` interprets small kernels and is unused
    when there is a ``device``; ``peers`` are used only with one. Iterate over ``events`` once;
    leaving the iteration early stops both queues without waiting for them. With a device, all
    kernels are timed in ``processes`` fresh processes one after the other; after the moment
    ``until`` of ``time.monotonic`` no graph is begun, and what was not timed is left out."""

    entries: Sequence[Entry]
    target: Target
    inbox: Inbox
    static: StaticQueue
    check: CheckQueue
    device: CudaDevice | None = None
    peers: PeerPool | None = None
    processes: int = 1
    until: float = math.inf
    _flight: dict[str, _Progress] = field(default_factory=dict)
    _known: dict[object, Timing] = field(default_factory=dict)

    def events(self) -> Generator[Event, None, None]:
        """Compile, examine, and hand out what becomes known, in the order it does. A graph is
        done once for each process."""
        graphs: list[GraphRecord] = []
        for event in self._examined():
            if isinstance(event, GraphDone):
                graphs.append(event.record)
                event = replace(event, again=self.device is not None and self.processes > 1)
            yield event
        if self.device is not None:
            yield from _repeated(self.device, graphs, self.processes)

    def _examined(self) -> Generator[Event, None, None]:
        try:
            timed = deque[Block]()
            for block, comparable in (
                compiled_ahead(self.entries, self.device, self.peers, self.until)
                if self.device is not None
                else (([generated(entry)], Future[None]()) for entry in self.entries)
            ):
                for entry, compiled in block:
                    if time.monotonic() > self.until:
                        break
                    yield model.GraphStarted(entry.name)
                    yield from self._start(entry, compiled)
                    yield from self._arrived(wait=False)
                if self.device is not None:
                    self.device.spare(self.processes - 1)
                    yield from self._on_device(self.device, block, timed)
                    timed.append((block, comparable))
                    yield from self._compared(timed, _LATER)
            yield from self._compared(timed, 0)
            while self._flight:
                yield from self._arrived(wait=True)
        except NoDevice:
            while any(max(one.missing) == 1 for one in self._flight.values()):
                yield from self._arrived(wait=True)  # metrics of what has been timed
            raise
        finally:
            self.static.stop()
            self.check.stop()

    def _start(self, entry: Entry, compiled: Compiled | HarnessError) -> Iterator[Event]:
        if isinstance(compiled, HarnessError):
            reason = f"{type(compiled).__name__}: {compiled}"
            yield GraphDone(GraphRecord(entry.name, reason=reason))
            return
        kernels = [model.blank(kernel) for kernel in compiled.kernels]
        record = GraphRecord(
            entry.name, compiled.library_calls, codegen_seconds=round(compiled.seconds, 6)
        )
        record = replace(record, kernels=compiled.failures, choices=compiled.choices)
        progress = _Progress(record, kernels, [2] * len(kernels))
        yield model.GraphCompiled(entry.name, len(kernels) + len(compiled.failures))
        yield from (model.KernelDone(entry.name, failure) for failure in compiled.failures)
        if not kernels:
            yield GraphDone(record)
            return
        self._flight[entry.name] = progress
        if self.device is None:
            self._examine_without_device(entry, compiled, progress)
        else:
            progress.comparing = self.peers is not None
            for number, kernel in enumerate(compiled.kernels):
                found = tried(self.device.check, kernel.module)
                noted = replace(kernels[number], check_note=ON_DEVICE)
                kernels[number] = _with_answer(noted, found, is_check=True)
                yield from self._arrived(wait=False)
        yield from self._landed(entry.name)

    def _examine_without_device(
        self, entry: Entry, compiled: Compiled, progress: _Progress
    ) -> None:
        for number, kernel in enumerate(compiled.kernels):
            self.static.put((entry.name, number), CompileJob(kernel.module.text, self.target))
        small, missing = tried(entry.compile_small), NO_SMALL
        stand_ins: Sequence[tuple[int, ...]] = [()] * len(compiled.kernels)
        if isinstance(small, HarnessError):
            missing = f"at small sizes: {one_line(small)}"
        elif small is not None:
            missing = "no kernel at small sizes does the same work"
            full, part = ([k.launches for k in one.kernels] for one in (compiled, small))
            stand_ins = match_small(full, part, compiled.nodes)
        for number, (kernel, positions) in enumerate(zip(compiled.kernels, stand_ins, strict=True)):
            note = INTERPRETED if positions else missing
            assembly = "inline_asm_elementwise" in kernel.module.text
            if assembly and kernel.module.category not in ("for", "mix"):  # which do without
                positions, note = (), NO_ASSEMBLY
            note += f", as {len(positions)} kernels" if len(positions) > 1 else ""
            progress.kernels[number] = replace(progress.kernels[number], check_note=note)
            progress.missing[number] += len(positions) - 1
            for position in positions:
                assert isinstance(small, Compiled)
                self.check.put((entry.name, number), CheckJob(small.kernels[position].module.text))

    def _on_device(
        self, device: CudaDevice, block: Sequence[Made], timed: deque[Block]
    ) -> Iterator[Event]:
        """Time each graph of a block. All its kernels have been checked: a check does not mind a
        device that is still disturbed by those who compiled on it. Blocks that were ``timed`` are
        compared as soon as they can be: what is cut short then has few that are not."""
        for entry, compiled in block:
            progress, late = self._flight.get(entry.name), time.monotonic() > self.until
            if progress is None or isinstance(compiled, HarnessError) or late:
                self._flight.pop(entry.name, None)
                continue
            for number, kernel in enumerate(compiled.kernels):
                record, config = self._timed(device, kernel, progress.kernels[number])
                progress.kernels[number] = record
                progress.missing[number] -= 1
                # The metrics recorded are those of the configuration that was timed.
                job = CompileJob(kernel.module.text, self.target, config)
                self.static.put((entry.name, number), job)
                yield from self._arrived(wait=False)
            yield from self._landed(entry.name)
            yield from self._compared(timed, _LATER)

    def _timed(
        self, device: CudaDevice, kernel: CompiledKernel, record: KernelRecord
    ) -> tuple[KernelRecord, Config | None]:
        """With its times, which kernels that execute the same share where there is one process: of
        a corpus a quarter. The noise between several is learnt from kernels timed one by one."""
        module, given = kernel.module, kernel.config
        if record.check is Check.FAILED and record.max_error is None:
            return record, None  # it could not be run
        key = _same_launch(kernel) if self.processes == 1 and not given else None
        timing: Timing | HarnessError | None = self._known.get(key)
        if given:
            timing = tried(device.again, module.text, given)
        elif timing is None:
            timing = tried(device.time, module, *kernel.earlier)
        if isinstance(timing, OutOfMemory) and record.check is Check.SKIPPED:
            return record, None  # the note on its check says so
        if isinstance(timing, HarnessError):
            return replace(record, reason=one_line(timing)), None
        if key and not timing.samples.disturbed:
            self._known[key] = timing
        record = replace(record, config=config_dict(timing.config), trials=timing.trials)
        return _with_samples(record, timing.samples, timing.limit), timing.config

    def _compared(self, timed: deque[Block], later: int) -> Iterator[Event]:
        """Compare the graphs of blocks that other compilers are done with: a graph that takes them
        a minute holds up its own block alone. Of so many ``later`` ones none is waited for."""
        while len(timed) > later or any(comparable.done() for _, comparable in timed):
            number = next((n for n, one in enumerate(timed) if one[1].done()), 0)
            block, comparable = timed[number]
            del timed[number]
            ready = done(comparable, self.until)
            for name, compiled in ((entry.name, made) for entry, made in block):
                progress = self._flight.get(name)
                if progress is None or isinstance(compiled, HarnessError):
                    continue
                if self.peers is not None and ready and time.monotonic() <= self.until:
                    yield from self._compare(self.peers, compiled, progress)
                progress.comparing = False
                yield from self._landed(name)

    def _compare(self, peers: PeerPool, compiled: Compiled, progress: _Progress) -> Iterator[Event]:
        name, total = progress.record.name, len(compiled.regions)
        configs = {k.module: config_from_dict(k.config) for k in progress.kernels if k.config}
        for position, one in enumerate(compiled.regions, start=1):
            rows = peers.compare(one, configs)
            progress.record = replace(progress.record, regions=(*progress.record.regions, *rows))
            yield model.RegionDone(name, rows, position, total)
            yield from self._arrived(wait=False)

    def _arrived(self, wait: bool) -> Iterator[Event]:
        """Take the answers that are there; with ``wait``, at least one."""
        try:
            while True:
                yield from self._take(self.inbox.get(block=wait))
                wait = False
        except queue.Empty:
            return

    def _take(self, answer: Answer) -> Iterator[Event]:
        name, number = answer.key
        progress = self._flight[name]
        record, value = progress.kernels[number], answer.value
        if isinstance(value, OutOfMemory):
            progress.unchecked.add(number)
        passed = isinstance(value, CheckResult) and value.passed
        if not (passed and number in progress.unchecked):
            record = _with_answer(record, value, answer.queue == self.check.name)
        progress.kernels[number] = record
        progress.missing[number] -= 1
        if progress.missing[number] == 0:
            yield model.KernelDone(name, record)
        yield from self._landed(name)

    def _landed(self, name: str) -> Iterator[Event]:
        progress = self._flight.get(name)
        if progress and not progress.comparing and not any(progress.missing):
            del self._flight[name]
            kernels = (*progress.kernels, *progress.record.kernels)
            yield GraphDone(replace(progress.record, kernels=kernels))


def with_metrics(record: KernelRecord, found: StaticMetrics | HarnessError) -> KernelRecord:
    """``record`` with what its compiled binary says, and the configuration if that was chosen
    because the first candidate spills; or with the reason why there is no binary."""
    if isinstance(found, HarnessError):
        return replace(record, reason=one_line(found))
    config = dict(found.chosen) if found.chosen else record.config
    return replace(record, config=config, metrics=metrics.read_static(found), mix=dict(found.mix))


def _with_check(record: KernelRecord, outcome: CheckResult) -> KernelRecord:
    """``record`` with one more outcome: the worst of those seen so far stays."""
    failed = record.check is Check.FAILED or not outcome.passed
    return replace(
        record,
        check=Check.FAILED if failed else Check.PASSED,
        max_error=max(record.max_error or 0.0, outcome.max_error),
        allowed=outcome.allowed if outcome.allowed is not None else record.allowed,
        check_note="; ".join(filter(None, (record.check_note, outcome.message))),
    )


def _with_answer(record: KernelRecord, value: object, is_check: bool) -> KernelRecord:
    match value:
        case CheckResult():
            return _with_check(record, value)
        case OutOfMemory() if is_check:
            if record.check is Check.FAILED:
                return record
            unknown = replace(record, check=Check.SKIPPED, max_error=None, allowed=None)
            return replace(unknown, check_note=one_line(value))
        case HarnessError() if is_check:
            return replace(record, check=Check.FAILED, check_note=one_line(value))
        case StaticMetrics() | HarnessError():
            return with_metrics(record, value)
        case _:
            raise TypeError(f"an answer of type {type(value).__name__}")


def _same_launch(kernel: CompiledKernel) -> tuple[object, ...]:
    """Equal for kernels whose launches, candidates, traffic and operations are the same."""
    text = kernel.module.text
    same = modules.facts(text).launch_hash if modules.facts(text).arguments else text
    work = (modules.stated(text, name) for name in ("BYTES", "FLOPS", "TENSOR"))
    return same, modules.candidates(text), kernel.earlier, *work


def _repeated(device: CudaDevice, graphs: Sequence[GraphRecord], processes: int) -> Iterator[Event]:
    """Time the kernels of ``graphs`` in ``processes - 1`` further processes, under the
    configurations that the first one found: what differs then is the process. Every graph comes
    out as it is known after each. Kernels of the same text are timed once in a process.

    A kernel that fails here keeps what it has. Raises ``NoDevice``."""
    current = list(graphs)
    timed = sum(_is_timed(k) for g in current for k in g.kernels)
    for process in range(1, processes if timed else 0):
        device.restart()
        device.spare(processes - process - 1)
        yield model.ProcessStarted(process, processes, timed)
        known: dict[tuple[str, str], tuple[Samples, Limit | None] | HarnessError] = {}
        for position, graph in enumerate(current):
            kernels = []
            for kernel in graph.kernels:
                if _is_timed(kernel):
                    key = (kernel.module, str(kernel.config))
                    if key not in known:
                        known[key] = tried(_again, device, kernel, process)
                    found, why = known[key], ""
                    if isinstance(found, HarnessError):
                        why = found.what
                    else:
                        kernel = _with_samples(kernel, *found)
                    yield model.TimedAgain(graph.name, kernel.name, why)
                kernels.append(kernel)
            current[position] = replace(graph, kernels=tuple(kernels))
            yield GraphDone(current[position], process < processes - 1)


def _with_samples(record: KernelRecord, measured: Samples, limit: Limit | None) -> KernelRecord:
    """``record`` with one process's samples more, and what follows from all of them. The
    fraction is the mean over processes."""
    sets = (*record.sets, measured)
    ms, low, high = combined(sets)
    fraction = record.fraction
    if limit is not None:
        before = 0.0 if fraction is None else fraction * (len(sets) - 1)
        fraction = (before + limit.fraction) / len(sets)
    return replace(
        record,
        ms=ms,
        low=low,
        high=high,
        sets=sets,
        gbps=record.bytes / ms / 1e6 if ms else None,
        fraction=fraction,
        roof=record.roof if limit is None else limit.roof,
    )


def _is_timed(kernel: KernelRecord) -> bool:
    return bool(kernel.sets) and kernel.config is not None and bool(kernel.module)


def _again(device: CudaDevice, kernel: KernelRecord, process: int) -> tuple[Samples, Limit | None]:
    config = config_from_dict(kernel.config or {})
    found = device.again(kernel.module, config, kernel.sets[0].launches)
    return replace(found.samples, process=process), found.limit


Origins = tuple[str, ...]
"""The graph nodes that one launch computes."""


def match_small(
    full: Sequence[Sequence[Origins]],
    small: Sequence[Sequence[Origins]],
    captured: AbstractSet[str],
) -> tuple[tuple[int, ...], ...]:
    """For each kernel of ``full`` the positions in ``small`` that cover its work: which kernels of
    a small capture do the same.

    Both graphs have the same structure and the same node names, so a launch is known by the nodes
    it computes. Sizes can change what is fused; then the kernels that together compute those nodes
    stand in for it. Nodes that the compiler made itself (views around split reductions) may
    exist at one size alone.

    A kernel is given by the origins of its launches; ``captured`` are the nodes of the
    graph as it was captured. One position where a small kernel is launched for exactly
    the same nodes; as few as possible where the work is divided otherwise; none where
    some captured node is computed by no small kernel."""
    pieces = [(position, frozenset(o)) for position, launches in enumerate(small) for o in launches]
    computed = frozenset(node for _, nodes in pieces for node in nodes)
    # All launches run the same text, so any one of them tells what to check.
    every = ((_cover(o, pieces, computed, captured) for o in launches) for launches in full)
    return tuple(min(filter(None, found), key=len, default=()) for found in every)


def _cover(
    origins: Origins,
    pieces: Sequence[tuple[int, frozenset[str]]],
    computed: AbstractSet[str],
    captured: AbstractSet[str],
) -> tuple[int, ...]:
    """Positions that together compute ``origins``, found greedily: most new nodes first, then the
    fewest others."""
    left = {node for node in origins if node in computed or node in captured}
    if not left <= computed:
        return ()
    chosen: list[int] = []
    while left:
        position, nodes = max(
            pieces, key=lambda piece: (len(left & piece[1]), -len(piece[1]), -piece[0])
        )
        chosen.append(position)
        left -= nodes
    return tuple(sorted(set(chosen)))
