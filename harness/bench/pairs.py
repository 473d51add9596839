"""Pairs of kernels timed against each other in fresh processes, in random order."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bench.on_pairs import ROLE, Contender, Duel, Outcome, Ring
from harness.bench.record import one_line
from harness.errors import HarnessError, NoDevice
from harness.runtime.compiling import CompileJob, CompilePool
from harness.runtime.module import config_from_dict
from harness.runtime.pool import WorkerPool

_SECONDS = 60.0
"""What one pair may take in one process, loading its binaries included."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: ``processes`` fresh ones, in each every pair for ``budget_ms`` of wall
    clock or until both medians are known to ``width``. ``seed`` decides orders and contents;
    ``seconds`` is the limit for one pair in one process."""

    processes: int = 5
    budget_ms: float = 150.0
    width: float = 0.004
    seed: int = 0
    seconds: float = _SECONDS


@dataclass(frozen=True, slots=True)
class Bout:
    """Kernels of A against kernels of B."""

    a: tuple[Contender, ...]
    b: tuple[Contender, ...]


@dataclass(frozen=True, slots=True)
class Duelled:
    """What the processes measured of each pair, in the order of the processes, or a reason.
    ``interrupted``: the user ended it early; what had been measured is here."""

    ring: Ring
    outcomes: tuple[tuple[Outcome, ...], ...]
    reasons: tuple[str, ...]
    interrupted: bool = False


Follow = Callable[[int, int], None]
"""Hears how many of how many measurements are done."""


@dataclass(eq=False, slots=True)
class _Scores:
    """What is known of each pair so far."""

    outcomes: list[list[Outcome]]
    reasons: list[str]

    def left(self) -> list[int]:
        """Pairs that have not failed yet."""
        return [number for number, reason in enumerate(self.reasons) if not reason]


def fight(
    bouts: Sequence[Bout],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    role: str = ROLE,
) -> Duelled:
    """Time every pair in every process. A pair that hangs or fails is a reason and is not tried in
    later processes; the others go on. Ctrl-C ends it early. Raises ``NoDevice`` where the GPU
    cannot be used.
    """
    scores = _Scores([[] for _ in bouts], ["" for _ in bouts])
    total = effort.processes * len(bouts)
    interrupted = False
    with contextlib.ExitStack() as stack:
        pools = [
            stack.enter_context(WorkerPool(role, 1, effort.seconds, cache))
            for _ in range(effort.processes)
        ]
        ring: Ring = pools[0].run("open", None)
        _compile_ahead(bouts, ring, cache, jobs)
        try:
            for process, pool in enumerate(pools):
                pool.run("open", None)
                for later in pools[process + 1 : process + 2]:
                    later.start()  # it imports meanwhile, and takes the device when asked to
                for done, duel in _duels(bouts, scores, effort, process):
                    follow(process * len(bouts) + done, total)
                    _hold(pool, duel[0], duel[1], scores)
                pool.close()
        except KeyboardInterrupt:
            interrupted = True
    follow(total, total)
    outcomes = tuple(tuple(found) for found in scores.outcomes)
    return Duelled(ring, outcomes, tuple(scores.reasons), interrupted)


def look(effort: Effort, cache: Path, role: str = ROLE) -> Ring:
    """The device, seen from a process of its own. Raises ``NoDevice``."""
    with WorkerPool(role, 1, effort.seconds, cache) as pool:
        found: Ring = pool.run("open", None)
        return found


def _duels(
    bouts: Sequence[Bout], scores: _Scores, effort: Effort, process: int
) -> Iterator[tuple[int, tuple[int, Duel]]]:
    """The pairs that can still be timed, in a random order of this process."""
    chance = random.Random(f"{effort.seed} {process}")
    order = scores.left()
    chance.shuffle(order)
    for done, number in enumerate(order):
        yield done, (number, _duel(bouts[number], effort, process, chance))


def _hold(pool: WorkerPool, number: int, duel: Duel, scores: _Scores) -> None:
    """One duel; a failure of the pair is its reason. Raises ``NoDevice``."""
    try:
        scores.outcomes[number].append(_once(pool, duel))
    except NoDevice:
        raise
    except HarnessError as error:
        scores.reasons[number] = one_line(error)


def _once(pool: WorkerPool, duel: Duel) -> Outcome:
    pool.run("open", None)  # a worker that replaces a lost one says so if the device is gone
    found: Outcome = pool.run("fight", duel)
    return found


def _duel(bout: Bout, effort: Effort, process: int, chance: random.Random) -> Duel:
    a_first = chance.random() < 0.5
    seed = effort.seed + process
    return Duel(bout.a, bout.b, a_first, seed, effort.budget_ms, effort.width)


def _compile_ahead(bouts: Sequence[Bout], ring: Ring, cache: Path, jobs: int) -> None:
    """Every kernel once, in parallel. What fails here fails again, with its reason."""
    wanted = dict.fromkeys(
        (contender.module_text, tuple((contender.config or {}).items()))
        for bout in bouts
        for contender in (*bout.a, *bout.b)
    )
    compiles = [
        CompileJob(text, ring.target, config_from_dict(dict(config)) if config else None)
        for text, config in wanted
    ]
    with CompilePool(max(1, min(jobs, len(compiles))), cache) as pool:
        pool.warm(compiles)
