"""How often a night is red for nothing, and what it finds: nights simulated as `harness nightly`
judges them, with the noise of scripts/verdict_worlds.py.

Prints the tables of docs/measurements/nightly.md, seeded: the same each time.

    python scripts/nightly_worlds.py                        1,000 nights of each kind
    python scripts/nightly_worlds.py --nights 200 --world calm "launch levels"

Each night times 24 unchanged controls and ``--changed`` kernels whose code changed and whose speed
did not, both sides in each of 3 fresh processes; what looks slower by its own interval is timed
again in 8 others, and is red if these say SLOWER at 0.5 %. For the power one kernel is made slower.
The worlds move both sides apart, as two runs are: harder than a night, which interleaves them.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from verdict_worlds import WORLDS, Block, Drawn, percent

from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Effect, Rules, Verdict, judge
from harness.verdicts.night_plan import CONFIRM, CONTROLS, DETECT
from harness.verdicts.nightly import CONFIRMING

WITHIN = ("calm", "heavy tails", "modes by process", "launch levels", "neighbours agree")
"""Worlds of what differs within a process; what moves all of a run moves both sides of a night."""


def drawn(world: str, seed: list[int], ms: Block, processes: int) -> tuple[Block, Block]:
    """Logarithms of both sides' medians without the durations."""
    rng = np.random.default_rng(seed)
    spread = np.sqrt((0.0012**2 + (2.5e-6 / ms) ** 2) * 6 / rng.chisquare(6, len(ms)))
    a, b = (rng.normal(size=(len(ms), processes)) * spread[:, None] for _ in range(2))
    WORLDS[world](Drawn(rng, ms, spread, a, b))
    return a, b


def effects(
    a: Block, b: Block, ms: Block, same: NDArray[np.bool_], rules: Rules
) -> list[Effect | None]:
    """What is said of the kernels that changed; None for controls."""
    sides = (np.exp(side) * ms[:, None] for side in (a, b))
    rows = zip(*(side.tolist() for side in sides), same.tolist(), strict=True)
    pairs = [Pair(Times(tuple(x)), Times(tuple(y)), identical=bool(s)) for x, y, s in rows]
    found, _ = estimate(pairs, paired=True, method="graph-cold-l2/2")
    told = iter(judge([one for one, s in zip(found, same, strict=True) if not s], rules))
    return [None if s else next(told) for s in same]


def red(
    world: str, number: int, changed: int, slow: tuple[float, float, float] | None
) -> list[int]:
    """The kernels that a night says are slower. ``slow``: one kernel's duration is between these
    milliseconds, and by how much it is slower."""
    seed = [zlib.crc32(f"{world} {changed} {slow}".encode()), number]
    rng = np.random.default_rng(seed)
    ms = np.exp(rng.uniform(np.log(0.002), 0.0, CONTROLS + changed))
    truth = np.zeros(len(ms))
    if slow is not None:
        ms[-1] = np.exp(rng.uniform(np.log(slow[0]), np.log(slow[1])))
        truth[-1] = np.log1p(slow[2])
    same = np.arange(len(ms)) < CONTROLS
    a, b = drawn(world, [*seed, 1], ms, DETECT)
    first = effects(a, b + truth[:, None], ms, same, Rules())
    doubted = [n for n, e in enumerate(first) if e and e.low > 1 and e.verdict is not Verdict.SAME]
    if not doubted:
        return []
    chosen = np.array([*range((CONTROLS + 1) // 2), *doubted])
    a, b = drawn(world, [*seed, 2], ms[chosen], CONFIRM)
    again = effects(a, b + truth[chosen, None], ms[chosen], same[chosen], CONFIRMING)
    return [int(n) for n, e in zip(chosen, again, strict=True) if e and e.verdict is Verdict.SLOWER]


def main() -> None:
    """Print the rates of the worlds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=1000)
    parser.add_argument("--changed", type=int, default=50)
    parser.add_argument("--world", nargs="+", choices=WITHIN, default=list(WITHIN))
    asked = parser.parse_args()
    print("| world | red for nothing % | 2 % above 20 µs found % | 5 % at 3 to 20 µs found % |")
    print("|---|---|---|---|")
    for world in asked.world:
        cells = [world]
        false = sum(bool(red(world, n, asked.changed, None)) for n in range(asked.nights))
        cells.append(percent(false, asked.nights))
        for slow in ((0.02, 1.0, 0.02), (0.003, 0.02, 0.05)):
            last = CONTROLS + asked.changed - 1
            found = sum(last in red(world, n, asked.changed, slow) for n in range(asked.nights))
            cells.append(percent(found, asked.nights))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
