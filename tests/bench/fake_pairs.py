"""Stands in for the worker that times pairs: what a kernel's text says is what happens."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

from harness.bench.on_pairs import Contender, Duel, Outcome, Ring
from harness.bench.pairs import Bout, Duelled, Effort, Follow
from harness.bench.record import Machine, one_line
from harness.errors import CompileFailed
from harness.runtime.timing import Samples
from harness.runtime.worker import Handler
from harness.target import H100

ROLE = "tests.bench.fake_pairs:handlers"


def _time(contender: Contender, chance: random.Random) -> float:
    (said,) = (line for line in contender.module_text.splitlines() if line.startswith("# ms "))
    return float(said.removeprefix("# ms ")) * chance.gauss(1.0, 0.002) * contender.launches


def fight_here(
    bouts: Sequence[Bout],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    role: str = ROLE,
) -> Duelled:
    """``pairs.fight`` without a process: the same answers, at once."""
    ring = Ring(H100, Machine("fake", gpu="Fake GPU", triton="3"), "fake/1")
    outcomes: list[tuple[Outcome, ...]] = []
    reasons: list[str] = []
    for bout in bouts:
        try:
            duels = (Duel(bout.a, bout.b, True, n, 1.0, 0.01) for n in range(effort.processes))
            outcomes.append(tuple(_fought(duel) for duel in duels))
            reasons.append("")
        except CompileFailed as error:
            outcomes.append(())
            reasons.append(one_line(error))
    return Duelled(ring, tuple(outcomes), tuple(reasons))


def _fought(duel: Duel) -> Outcome:
    texts = [c.module_text for c in (*duel.a, *duel.b)]
    if any("# fails" in text for text in texts):
        raise CompileFailed("a compiled kernel does not fit the device", got="shared memory")
    chance = random.Random(f"{texts} {duel.seed}")
    sides = [
        tuple(sum(_time(c, chance) for c in side) for _ in range(20)) for side in (duel.a, duel.b)
    ]
    stopped = "disturbed" if any("# disturbed" in text for text in texts) else "width"
    return Outcome(*(Samples(ms, "fake/1", stopped) for ms in sides))


def handlers(cache: str | None) -> dict[str, Handler]:
    """Notes, in the cache folder, which process had which duel in which order."""
    assert cache is not None
    log = Path(cache) / "log"

    def take(_: object) -> Ring:
        return Ring(H100, Machine("fake", gpu="Fake GPU", triton="3"), "fake/1")

    def fight(duel: Duel) -> Outcome:
        texts = [c.module_text for c in (*duel.a, *duel.b)]
        with log.open("a") as file:
            file.write(f"{os.getpid()} {duel.a_first} {duel.seed} {texts[0].splitlines()[0]}\n")
        if any("# crashes" in text for text in texts):
            os._exit(7)
        if any("# hangs" in text for text in texts):
            time.sleep(60)
        return _fought(duel)

    return {"open": take, "fight": fight}
