"""A machine, a suite and a compiler to spend nights with: no GPU, no compiler, real records."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from harness.codegen.source import EmittedModule
from harness.errors import NoDevice
from harness.history import store
from harness.history.nights import Accepted, Night, accept
from harness.options import Options
from harness.records import modules
from harness.records.run import Check, GraphRecord, KernelRecord, LibraryCall, Machine, Run
from harness.report.night import night_report
from harness.report.output import Case
from harness.session.model import Compiled, CompiledKernel, GraphStarted, KernelDone, blank
from harness.session.plan import Plan, Request
from harness.table import Row, plain, text_lines
from harness.target import H100, Target
from harness.verdicts import confirming, nightly
from tests.history.kernels import CONFIG, module
from tests.measure import fake_pairs
from tests.measure.fakes import FakeEntry

MACHINE = Machine("fake-gpu-1", gpu="fake gpu", gpu_uuid="GPU-1", driver="1", torch="2", triton="3")


def text(name: str, node: str, ms: float, body: str = "", candidates: int = 64) -> str:
    """An emitted module that says how long its kernel takes."""
    made = module(name, body or f"{node} = 1", computes=node).replace(
        'XBLOCK": 64', f'XBLOCK": {candidates}'
    )
    return f"{made}# ms {ms}\n"


def made(name: str, node: str, ms: float, body: str = "", candidates: int = 64) -> EmittedModule:
    """The same, as the compiler gives it."""
    written = text(name, node, ms, body, candidates)
    facts = modules.facts(written)
    return EmittedModule(name, written, 1000, None, "poi", (node,), "g.r0", facts.code_hash, ())


@dataclass
class World:
    """``suite`` is what tonight's compiler makes: graph to (module, launches). ``tuned``: what the
    tuner chooses by kernel; ``broken`` fail their checks; ``calls`` library calls."""

    results: Path
    suite: dict[str, list[tuple[EmittedModule, int]]]
    machine: Machine = MACHINE
    commit: str = "b" * 40
    dirty: bool = False
    gpu: bool = True
    tuned: dict[str, dict[str, int]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    calls: tuple[LibraryCall, ...] = ()
    examined: list[str] = field(default_factory=list)
    timed: list[int] = field(default_factory=list)
    lost_after: int = 10**9
    stop: Callable[[], None] = lambda: None
    said: list[str] = field(default_factory=list)
    triton: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    earlier: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)

    def entries(self) -> list[FakeEntry]:
        return [
            FakeEntry(
                name,
                Compiled(
                    tuple(CompiledKernel(m, (m.origins,) * n, m.region) for m, n in kernels),
                    self.calls,
                    0.1,
                ),
            )
            for name, kernels in self.suite.items()
        ]

    def record(self, kernel: CompiledKernel) -> KernelRecord:
        self.examined.append(kernel.module.name)
        found = blank(kernel)
        bad = kernel.module.name in self.broken
        given = None if kernel.config is None else dict(CONFIG)
        (said,) = (line for line in found.module.splitlines() if line.startswith("# ms "))
        return replace(
            found,
            check=Check.FAILED if bad else Check.PASSED,
            config=given or self.tuned.get(kernel.module.name, dict(CONFIG)),
            ms=float(said.removeprefix("# ms ")),
            metrics={"spills": 8 if "spill" in found.module else 0},
        )

    def start(self, **changes: Any) -> Run:
        """A run of what the compiler makes now, accepted."""
        graphs = tuple(
            GraphRecord(e.name, self.calls, tuple(map(self.record, e.compile().kernels)))
            for e in self.entries()
        )
        run = Run(
            "20260101-000000-aaaaaaaaaaaa",
            "2026-01-01T00:00:00+00:00",
            self.machine,
            "sm_90",
            suite="default",
            commit="a" * 40,
            method="fake/1",
            graphs=graphs,
        )
        run = replace(run, **changes)
        store.save(self.results, run)
        folder = self.results / run.machine.key
        accept(folder, Accepted(run.id, run.commit, "me", run.created, "the first"))
        self.examined.clear()
        return run

    def night(self, *names: str, **ask: Any) -> Night:
        self.said.clear()
        options = Options(
            self.results.parent / "cache", self.results, self.results, 1, commit=self.commit
        )
        asked = nightly.Ask(Request(names=names), who="me", **ask)
        self.steps.clear()
        follow = lambda *step: self.steps.append(step)  # noqa: E731
        night, found = nightly.nightly(options, asked, self.said.append, follow)
        report = night_report(night, found)
        self.lines = plain(text_lines(report.blocks(), 120))
        self.cases = list(report.cases())
        self.rows = list(report.rows())
        return night


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Twelve kernels of 20 µs in a graph."""
    return machine(tmp_path / "results", monkeypatch)


def machine(results: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The same, where ``harness nightly`` of this process works."""
    kernels = [(made(f"k{n}", f"n{n}", 0.02), 1) for n in range(12)]
    one = World(results, {"g": kernels})

    @contextlib.contextmanager
    def prepare(options: Options, _: Request) -> Iterator[Plan]:
        machine = one.machine if one.gpu else Machine("cpu")
        run = Run(
            f"{next(_SECONDS)}-{one.commit[:12]}",
            "2026-02-02T00:00:00+00:00",
            machine,
            "sm_90",
            suite="default",
            commit=one.commit,
            dirty=one.dirty,
            method="fake/1",
        )
        session = FakeSession(one, one.entries())
        yield Plan(session, run, one.gpu)  # type: ignore[arg-type]

    def time_pairs(pairs: Sequence[Any], *given: Any, **more: Any) -> Any:
        one.timed.append(len(pairs))
        one.triton = [kernel.triton for pair in pairs for kernel in pair.a]
        one.stop()
        found = fake_pairs.time_pairs_here(pairs, *given, **more)
        return replace(found, device=replace(found.device, machine=one.machine))

    monkeypatch.setattr(nightly, "prepare", prepare)
    monkeypatch.setattr(confirming, "time_pairs", time_pairs)
    return one


@dataclass
class FakeSession:
    """Checks and tunes at once what the world's kernels say."""

    world: World
    entries: Sequence[Any]
    processes: int = 1
    until: float = math.inf
    target: Target = H100

    def events(self) -> Iterator[GraphStarted | KernelDone]:
        for entry in self.entries:
            if time.monotonic() > self.until:
                return
            yield GraphStarted(entry.name)
            for kernel in entry.compile().kernels:
                if len(self.world.examined) >= self.world.lost_after:
                    raise NoDevice("the GPU cannot be used", got="it fell off the bus")
                self.world.earlier.append((kernel.module.name, kernel.earlier))
                found = self.world.record(kernel)
                if not self.world.gpu:
                    found = replace(found, ms=None, config=None)
                yield KernelDone(entry.name, found)


_SECONDS = (f"20260202-{n:06}" for n in itertools.count())
