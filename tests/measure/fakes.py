"""Stand-ins for the compiler and the pools, so that a session can be watched alone."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.codegen.source import EmittedModule
from harness.devices.queue import Inbox, Queue
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.heuristics.facts import Config, Facts, Family
from harness.measure.jobs import Limit, Timing
from harness.measure.peers.jobs import Comparable
from harness.records.metrics import StaticMetrics
from harness.records.modules import facts
from harness.records.run import Check, LibraryCall, RegionRecord
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from harness.session.model import Compiled, CompiledKernel
from harness.session.session import Session
from harness.target import H100

METRICS = StaticMetrics(32, 0, 8, 1024, 300, 16, 8, (("fma", 7),))


def module(name: str, *origins: str, text: str = "") -> EmittedModule:
    return EmittedModule(
        name=name,
        text=text or f"# {name}\n",
        bytes_moved=4_000_000,
        facts=Facts(Family.POINTWISE, (("x", 1024),)),
        category="poi",
        origins=origins,
        region="",
        code_hash=facts(text or f"# {name}\n").code_hash,
        signature=(),
    )


def compiled(*modules: EmittedModule, launches: int = 1) -> Compiled:
    kernels = tuple(CompiledKernel(m, (m.origins,) * launches) for m in modules)
    nodes = frozenset(node for m in modules for node in m.origins)
    return Compiled(kernels, (LibraryCall("aten.mm.default", 2),), 0.5, nodes=nodes)


@dataclass
class FakeEntry:
    name: str
    full: Compiled | HarnessError
    small: Compiled | HarnessError | None = None

    def compile(self) -> Compiled:
        if isinstance(self.full, HarnessError):
            raise self.full
        return self.full

    def compile_small(self) -> Compiled | None:
        if isinstance(self.small, HarnessError):
            raise self.small
        return self.small


@dataclass
class FakeDevice:
    copy_gbps: float = 3000.0
    wrong: tuple[str, ...] = ()
    unlaunchable: tuple[str, ...] = ()
    prepared: list[str] = field(default_factory=list)

    def missing(self, modules: Sequence[EmittedModule], _: Mapping[str, Config]) -> list[str]:
        return [m.name for m in modules]

    def compile(self, jobs: Sequence[str]) -> None:
        self.prepared.extend(jobs)

    def spare(self, restarts: int) -> None:
        pass

    def check(self, module: EmittedModule) -> CheckResult:
        return CheckResult(module.name not in self.wrong, 0.25, 0.5)

    def time(self, module: EmittedModule) -> Timing:
        if module.name in self.unlaunchable:
            raise CompileFailed("out of resources")
        limit = Limit("copy", module.bytes_moved / 0.002 / 1e6 / self.copy_gbps)
        return Timing(Config((("XBLOCK", 256),), 4, 2), Samples((0.0019, 0.002, 0.0021)), limit)


@dataclass
class RepeatableDevice(FakeDevice):
    """Goes on in fresh processes: times there are the process's number plus one milliseconds.
    The text ``broken`` fails in process 1, ``gone`` ends the device, ``interrupted`` is Ctrl-C."""

    process: int = 0
    broken: str = ""
    gone: bool = False
    interrupted: bool = False
    asked: list[tuple[int, str, Config]] = field(default_factory=list)

    def restart(self) -> None:
        self.process += 1

    def again(self, module_text: str, config: Config, launches: int | None = None) -> Timing:
        self.asked.append((self.process, module_text, config))
        if self.gone:
            raise NoDevice("the GPU is gone")
        if self.interrupted:
            raise KeyboardInterrupt
        if module_text == self.broken and self.process == 1:
            raise CompileFailed("it broke")
        ms = float(self.process + 1)
        found = Samples(
            (ms,) * 3, process=self.process, low=ms, high=ms, stopped="width", copy_gbps=3000.0
        )
        return Timing(config, found, Limit("read", 0.5))


Work = Callable[[Any], Any]


def here(name: str, inbox: Inbox, work: Work, log: list[Any] | None, given: Work) -> Queue:
    """A queue that calls ``work`` in its thread, with what ``given`` takes of a job, and notes
    that in ``log``."""

    def each(_: None, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for index, job in enumerate(jobs):
            if log is not None:
                log.append(given(job))
            yield index, work(given(job))

    return Queue(name, inbox, contextlib.nullcontext, each)


def session(
    *entries: FakeEntry,
    static: Work = lambda _: METRICS,
    check: Work = lambda _: CheckResult(True, 1e-7, 1e-5),
    device: FakeDevice | None = None,
    peers: FakePeers | None = None,
    jobs: list[Any] | None = None,
    checks: list[Any] | None = None,
    processes: int = 1,
) -> Session:
    inbox: Inbox = queue.SimpleQueue()
    return Session(
        entries,
        H100,
        inbox,
        here("static", inbox, static, jobs, lambda job: (job.module_text, job.config)),
        here("check", inbox, check, checks, lambda job: job.module_text),
        device,
        peers,
        processes,
    )


@dataclass
class FakePeers:
    """Other compilers: ``inductor`` takes twice as long, ``eager`` fails."""

    prepared: list[str] = field(default_factory=list)
    configs: list[Mapping[str, Config]] = field(default_factory=list)

    def prepare(self, work: Sequence[Comparable]) -> None:
        self.prepared.extend(one.name for one in work)

    def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[RegionRecord, ...]:
        self.configs.append(configs)
        rows = (("harness", 0.002, ""), ("inductor", 0.004, ""), ("eager", None, "it crashed"))
        return tuple(
            RegionRecord(
                one.name,
                compiler,
                ms,
                ms and ms * 0.99,
                ms and ms * 1.01,
                check=Check.PASSED if ms else Check.SKIPPED,
                max_error=2e-3 if ms else None,
                reason=why,
                count=one.count,
                sets=(Samples((ms,) * 3),) if ms else (),
            )
            for compiler, ms, why in rows
        )
