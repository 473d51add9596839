"""Pairs of kernels timed against each other in fresh processes, in random order."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
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
    """What the processes measured of each pair, in the order of the processes, or a reason."""

    ring: Ring
    outcomes: tuple[tuple[Outcome, ...], ...]
    reasons: tuple[str, ...]


Follow = Callable[[int, int], None]
"""Hears how many of how many measurements are done."""


def fight(
    bouts: Sequence[Bout],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    role: str = ROLE,
) -> Duelled:
    """Time every pair in every process. A pair that hangs or fails is a reason and is not tried in
    later processes; the others go on. Raises ``NoDevice`` where the GPU cannot be used.
    """
    outcomes: dict[int, list[Outcome]] = {number: [] for number in range(len(bouts))}
    reasons: dict[int, str] = {}
    total = effort.processes * len(bouts)
    ring: Ring | None = None
    with contextlib.ExitStack() as stack:
        pools = [
            stack.enter_context(WorkerPool(role, 1, effort.seconds, cache))
            for _ in range(effort.processes)
        ]
        for process, pool in enumerate(pools):
            found: Ring = pool.run("open", None)
            if ring is None:
                ring = found
                _compile_ahead(bouts, ring, cache, jobs)
            for later in pools[process + 1 : process + 2]:
                later.start()  # imports meanwhile; it takes the device only when it is asked to
            chance = random.Random(f"{effort.seed} {process}")
            order = [number for number in outcomes if number not in reasons]
            chance.shuffle(order)
            for done, number in enumerate(order):
                follow(process * len(bouts) + done, total)
                duel = _duel(bouts[number], effort, process, chance)
                try:
                    outcomes[number].append(_once(pool, duel))
                except NoDevice:
                    raise
                except HarnessError as error:
                    reasons[number] = one_line(error)
            pool.close()
    assert ring is not None
    follow(total, total)
    return Duelled(
        ring,
        tuple(tuple(outcomes[number]) for number in range(len(bouts))),
        tuple(reasons.get(number, "") for number in range(len(bouts))),
    )


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
