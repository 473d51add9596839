"""From a command line's words to a session ready to run: names, target, pools, device."""

from __future__ import annotations

import contextlib
import datetime
import queue
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import harness
from harness.bench import fingerprint
from harness.bench.entries import find_entries
from harness.bench.lanes import Each, Inbox, Lane
from harness.bench.record import Run
from harness.bench.session import CheckLane, CheckOutcome, Session, StaticLane
from harness.errors import HarnessError, UnknownName
from harness.heuristics.facts import Config
from harness.options import Options
from harness.target import TARGETS, Target


@dataclass(frozen=True, slots=True)
class Plan:
    """A session and the run it will fill; ``timed`` says whether a GPU is used."""

    session: Session
    run: Run
    timed: bool


def prepare(
    options: Options,
    suite: str,
    names: Sequence[str],
    target: str | None,
    jobs: int | None,
    use_device: bool,
) -> Plan:
    """Find the graphs called ``names`` (all of ``suite`` if none) and set up a session.

    Raises ``UnknownName`` for a graph, suite or target that does not exist.
    """
    chosen = find_target(target or options.target)
    entries = find_entries(options, suite, names, chosen)
    workers = jobs or options.jobs
    inbox: Inbox = queue.SimpleQueue()
    session = Session(
        entries,
        inbox,
        static_lane(options, chosen, workers, inbox),
        check_lane(options, workers, inbox),
        None,
    )
    return Plan(session, new_run(suite, target or options.target), timed=False)


def find_target(name: str) -> Target:
    """The target called ``name``. Raises ``UnknownName`` with the nearest ones."""
    if name in TARGETS:
        return TARGETS[name]
    raise UnknownName(
        "there is no such target",
        where="--target",
        got=name,
        expected=", ".join(TARGETS),
        remedy="name one of these, or leave the option out",
    )


def new_run(suite: str, target: str) -> Run:
    """A run that starts now, on this machine, from this checkout."""
    commit = fingerprint.commit(Path(harness.__path__[0]).parent)
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return Run(
        id=f"{now:%Y%m%d-%H%M%S}-{commit.name[:12] or 'no-commit'}",
        created=now.isoformat(),
        machine=fingerprint.machine(),
        target=target,
        suite=suite,
        commit=commit.name,
        dirty=commit.dirty,
    )


def static_lane(options: Options, target: Target, workers: int, inbox: Inbox) -> StaticLane:
    """The lane that compiles kernels for ``target`` and reads their static metrics."""
    from harness.runtime.compiling import CompileJob, CompilePool

    cache = options.cache if options.use_cache else None

    @contextlib.contextmanager
    def open_pool() -> Iterator[Each[tuple[str, Config | None]]]:
        with CompilePool(_share(workers), cache) as pool:
            yield lambda jobs: pool.each([CompileJob(t, target, c) for t, c in jobs])

    return Lane("static metrics", inbox, open_pool)


def check_lane(options: Options, workers: int, inbox: Inbox) -> CheckLane:
    """The lane that runs small kernels in Triton's interpreter and compares."""
    from harness.runtime.interpreter import CheckJob, CheckResult, InterpreterPool

    cache = options.cache if options.use_cache else None

    def outcome(result: CheckResult | HarnessError) -> CheckOutcome | HarnessError:
        if isinstance(result, HarnessError):
            return result
        return CheckOutcome(result.passed, result.max_error, result.allowed)

    @contextlib.contextmanager
    def open_pool() -> Iterator[Each[str]]:
        with InterpreterPool(_share(workers), cache) as pool:
            yield lambda jobs: (
                (index, outcome(result))
                for index, result in pool.check_all([CheckJob(text) for text in jobs])
            )

    return Lane("checks", inbox, open_pool)


def _share(workers: int) -> int:
    """Workers of one lane: the two lanes are about equally busy."""
    return max(1, workers // 2)


def renamed(run: Run, **changes: object) -> Run:
    """``run`` with ``changes``."""
    return replace(run, **changes)  # type: ignore[arg-type]


def seconds() -> float:
    """A clock."""
    return time.perf_counter()
