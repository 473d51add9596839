"""How often `harness compare` is wrong, and what it finds, in tables whose truth is known.

Prints the table of docs/measurements/verdicts.md, seeded: the same each time.

    python scripts/verdict_worlds.py                        50 and 250 kernels, 3 processes a side
    python scripts/verdict_worlds.py --kernels 5 --processes 5 --tables 200 --world boards
    python scripts/verdict_worlds.py --unchanged 0 --earlier 6     all code differs; earlier runs

Each world draws medians of processes as real boards showed them (noise between processes 0.12 %
of the time and more for short kernels, kernels differing as chi-square with 6 degrees of freedom
does), nine of ten kernels being the same code on both sides. *False*: tables in which any kernel
that may have changed and did not is SLOWER or FASTER. *Found*: kernels above 20 µs made 2 %
slower that are SLOWER, in the first ``--changed`` tables. *SAME wrong*: of those, how many are
called SAME. *By controls*: how many false verdicts a table holds on average if its unchanged
kernels, nine times as many, are judged as those that may have changed are (each against the
smallest p that the table asks for first): fewer tables say as much of worlds that move all kernels.
In calm ones it is too low, since an unchanged kernel that is far off adds to every p of its table,
and so it is in small tables, where each has a say in what is learnt. With ``--earlier``
as many pairs of runs of unchanged code, drawn in the same world, say what moves between runs where
the table itself does not. *MDE found* (``--detectable``): of the kernels that may have changed,
each made slower by the smallest effect that its own table says it would tell from nothing in 95 %,
the share of which it does (p, adjusted; within the margin the verdict is SAME). Those of which the
table says that it would detect nothing below 10 % are left out; the median of the others is given.
``--informed`` prints what of the same changes is found where each kernel moves by 0.5 % of its own,
by tests with Holm's method that are told what `harness compare` has to learn.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.calibration.judging import share
from harness.history.between import between
from harness.measure.noise.estimate import Between, Pair, Times, estimate
from harness.measure.noise.judge import Rules, Verdict, holm, judge

Block = NDArray[np.float64]
CHANGE, ABOVE, UNCHANGED = 0.02, 0.02, 0.9
OWN_DAY = 0.005
LARGEST = 0.1
"""Minimum detectable effects above this promise nothing."""
EARLIER = 10**6
"""Tables from this number on are earlier runs, in which nothing changed."""


@dataclass(frozen=True)
class Drawn:
    """A table being drawn: durations (ms), noise between processes by kernel, and the logarithms
    of both sides' medians (kernels by processes) without the durations."""

    rng: np.random.Generator
    ms: Block
    deviations: Block
    a: Block
    b: Block

    @property
    def sides(self) -> tuple[Block, Block]:
        """A and B."""
        return self.a, self.b


def calm(_: Drawn) -> None:
    """Log-normal noise between processes and nothing else."""


def heavy(t: Drawn) -> None:
    """Student's t with 3 degrees of freedom between processes."""
    for side in t.sides:
        side[:] = t.rng.standard_t(3, side.shape) / np.sqrt(3) * t.deviations[:, None]


def modes(t: Drawn) -> None:
    """Each twentieth kernel is 8 % slower in three processes of ten."""
    odd = np.arange(len(t.ms)) % 20 == 0
    for side in t.sides:
        side += 0.08 * odd[:, None] * (t.rng.random(side.shape) < 0.3)


def launches(t: Drawn) -> None:
    """Each fiftieth kernel launches 0.35 µs later in a tenth of its processes."""
    odd = np.arange(len(t.ms)) % 50 == 0
    for side in t.sides:
        later = odd[:, None] * (t.rng.random(side.shape) < 0.1)
        side += np.log1p(0.00035 / t.ms)[:, None] * later


def neighbours(t: Drawn) -> None:
    """Kernels timed after one another are noisy together (correlation 0.8)."""
    from scipy import signal  # which takes half a second

    order = t.rng.permutation(len(t.ms))
    for side in t.sides:
        white = t.rng.normal(size=side.shape)
        hanging = signal.lfilter([0.6], [1, -0.8], white, axis=0)
        side[order] = hanging * t.deviations[order, None]


def day(size: float) -> Callable[[Drawn], None]:
    """A world in which another day moves all kernels alike."""

    def drawn(t: Drawn) -> None:
        t.b[:] += t.rng.normal(0, size)

    drawn.__doc__ = f"All of B's kernels move by one normal value of {100 * size:g} %."
    return drawn


def specific(t: Drawn) -> None:
    """Every kernel moves by a normal value of its own of 0.5 % between the runs."""
    t.b[:] += t.rng.normal(0, OWN_DAY, (len(t.ms), 1))


def boards(t: Drawn) -> None:
    """Two boards: 1.75 % faster where short, and 0.65 % of each kernel's own."""
    short = -0.0175 * np.exp(-1000 * t.ms / 15)
    t.b[:] += (short + t.rng.normal(0, 0.0065, len(t.ms)))[:, None]


def alike_boards(t: Drawn) -> None:
    """Two boards: 1.75 % faster where short, and 0.1 % of each kernel's own."""
    short = -0.0175 * np.exp(-1000 * t.ms / 15)
    t.b[:] += (short + t.rng.normal(0, 0.001, len(t.ms)))[:, None]


def short_boards(t: Drawn) -> None:
    """Two boards: 1.75 % faster where short, and each kernel's own 0.3 % and 20 ns."""
    short = -0.0175 * np.exp(-1000 * t.ms / 15)
    t.b[:] += (short + t.rng.normal(size=len(t.ms)) * np.hypot(0.003, 2e-5 / t.ms))[:, None]


def hot(t: Drawn) -> None:
    """3 % of the kernels are 2 % slower in B."""
    t.b[:] += 0.02 * (t.rng.random(len(t.ms)) < 0.03)[:, None]


def disturbed(t: Drawn) -> None:
    """One of B's processes is slower by up to 2 %, each kernel differently, and 1 % on average."""
    t.b[:, 0] += 0.02 * t.rng.random(len(t.ms))


def drift(t: Drawn) -> None:
    """Both runs grow warm: each process is 0.3 % slower than the one before, long kernels more."""
    longer = 0.5 + np.clip(np.log(t.ms / 0.002) / np.log(500), 0, 1)
    for side in t.sides:
        side += 0.003 * longer[:, None] * np.arange(side.shape[1])
    t.b[:] += 0.004 * longer[:, None]


def mixed(t: Drawn) -> None:
    """Three of ten kernels move by 1 % of their own between the runs, the others by 0.1 %."""
    size = np.where(t.rng.random(len(t.ms)) < 0.3, 0.01, 0.001)
    t.b[:] += (t.rng.normal(size=len(t.ms)) * size)[:, None]


WORLDS: dict[str, Callable[[Drawn], None]] = {
    "calm": calm,
    "heavy tails": heavy,
    "modes by process": modes,
    "launch levels": launches,
    "neighbours agree": neighbours,
    "day 0.5 %": day(0.005),
    "day 2 %": day(0.02),
    "kernels' own day 0.5 %": specific,
    "boards": boards,
    "boards, kernels alike": alike_boards,
    "boards, short kernels scatter more": short_boards,
    "3 % are 2 % hotter": hot,
    "a disturbed process": disturbed,
    "warming up": drift,
    "mixed noise": mixed,
}


@dataclass(frozen=True)
class Asked:
    """Which tables: of a world, so many ``kernels`` and processes a side, ``unchanged`` the share
    of kernels of the same code, ``earlier`` pairs of runs known."""

    world: str
    kernels: int
    processes: int
    unchanged: float = UNCHANGED
    earlier: int = 0


def deviations(
    asked: Asked, number: int, change: float
) -> tuple[np.random.Generator, Block, Block]:
    """What draws the rest of table ``number``, its durations (ms), and the noise of each kernel
    between processes."""
    seed = zlib.crc32(f"{asked.world} {asked.kernels} {asked.processes} {change}".encode())
    rng = np.random.default_rng([seed, number])
    ms = np.exp(rng.uniform(np.log(0.002), 0.0, asked.kernels))
    spread = np.sqrt((0.0012**2 + (2.5e-6 / ms) ** 2) * 6 / rng.chisquare(6, asked.kernels))
    return rng, ms, spread


def table(asked: Asked, number: int, change: float) -> tuple[list[Pair], Block]:
    """The pairs of table ``number``, and each kernel's true log effect."""
    kernels, processes = asked.kernels, asked.processes
    rng, ms, spread = deviations(asked, number, change)
    a, b = (rng.normal(size=(kernels, processes)) * spread[:, None] for _ in range(2))
    WORLDS[asked.world](Drawn(rng, ms, spread, a, b))
    share = asked.unchanged
    same = np.arange(kernels) < round(share * kernels) if kernels > 1 else np.zeros(1, bool)
    same = rng.permutation(same)
    effects = np.where(~same & (ms > ABOVE), np.log1p(change), 0.0)
    a, b = np.exp(a) * ms[:, None], np.exp(b + effects[:, None]) * ms[:, None]
    pairs = [
        Pair(Times(tuple(x)), Times(tuple(y)), identical=bool(s))
        for x, y, s in zip(a.tolist(), b.tolist(), same, strict=True)
    ]
    return pairs, effects


def earlier(asked: Asked, number: int) -> Between | None:
    """What earlier pairs of runs say before table ``number``, as `harness compare` learns it."""
    moved = []
    for n in range(asked.earlier):
        pairs, _ = table(asked, EARLIER + number * asked.earlier + n, 0.0)
        before = np.array([np.median(pair.a.ms) for pair in pairs])
        moved.append((before, np.array([np.median(pair.b.ms) for pair in pairs])))
    return between(moved) if moved else None


def verdicts(
    pairs: Sequence[Pair], rules: Rules, known: Between | None = None
) -> dict[int, Verdict]:
    """The verdicts on the kernels that may have changed, as `harness compare` gives them."""
    found, _ = estimate(pairs, paired=False, between=known)
    judged = [n for n, pair in enumerate(pairs) if not pair.identical]
    effects = judge([found[n] for n in judged], rules)
    return {n: effect.verdict for n, effect in zip(judged, effects, strict=True)}


def by_controls(pairs: Sequence[Pair], rules: Rules) -> int:
    """How many unchanged kernels would be called SLOWER or FASTER."""
    found, _ = estimate(pairs, paired=False)
    risks = next((found[n].risks for n, pair in enumerate(pairs) if not pair.identical), ())
    odd = risks[-1:] if len(risks) > min(len(one.risks) for one in found) else ()
    same = [n for n, pair in enumerate(pairs) if pair.identical]
    effects = judge([replace(found[n], risks=found[n].risks + odd) for n in same], rules)
    first = rules.alpha / (len(pairs) - len(same))
    return sum(one.p <= first and one.verdict is not Verdict.SAME for one in effects)


def mean_by_controls(asked: Asked, tables: int) -> str:
    """False verdicts in 100 tables, with the exact interval of a count (Poisson)."""
    every = [table(asked, number, 0.0)[0] for number in range(tables)]
    found = sum(by_controls(pairs, Rules()) for pairs in every)
    same = sum(pair.identical for pair in every[0])
    scale = 100 * (asked.kernels - same) / same / tables
    low, high = special.gammaincinv([found, found + 1], [0.025, 0.975])
    return f"{scale * found:.1f} ({scale * np.nan_to_num(low):.1f}–{scale * high:.1f})"


def promised(asked: Asked, tables: range) -> str:
    """The share of minimum detectable effects that are detected, and their median."""
    found, stated = 0, []
    for number in tables:
        pairs, _ = table(asked, number, 0.0)
        every, _ = estimate(pairs, paired=False, between=earlier(asked, number))
        mine = [one for one, pair in zip(every, pairs, strict=True) if not pair.identical]
        for n, effect in enumerate(judge(mine, Rules())):
            if effect.mde > LARGEST:
                continue
            moved = replace(mine[n], log_ratio=mine[n].log_ratio + float(np.log1p(effect.mde)))
            said = judge([*mine[:n], moved, *mine[n + 1 :]], Rules())[n]
            found += said.ratio > 1 and said.adjusted <= Rules().alpha
            stated.append(effect.mde)
    middle = f" of {100 * np.median(stated):.2g} %" if stated else ""
    return f"{percent(found, len(stated))}{middle}"


def informed(asked: Asked, tables: range) -> str:
    """What tests find that are told each kernel's variance, or not, and take out a mean, or know
    that there is none."""
    found, changed = np.zeros(3, np.int64), 0
    for number in tables:
        pairs, effects = table(asked, number, CHANGE)
        same = np.array([pair.identical for pair in pairs])
        moved = np.array([np.log(pair.b.ms).mean() - np.log(pair.a.ms).mean() for pair in pairs])
        known = OWN_DAY**2 + 2 * deviations(asked, number, CHANGE)[2] ** 2 / asked.processes
        weight = (1 / known[same]).sum()
        mean, plain = (moved / known)[same].sum() / weight, moved[same].mean()
        learnt = np.full(len(moved), moved[same].var(ddof=1) * (1 + 1 / same.sum()))
        tests = (moved, known, 1e6), (moved - mean, known + 1 / weight, 1e6)
        for n, (off, variance, df) in enumerate((*tests, (moved - plain, learnt, same.sum() - 1))):
            p = holm(2 * special.stdtr(df, -np.abs(off[~same]) / np.sqrt(variance[~same])))
            found[n] += ((p <= Rules().alpha) & (off[~same] > 0) & (effects[~same] != 0)).sum()
        changed += int((effects != 0).sum())
    names = "variances and no offset known", "variances known", "neither: Student's t"
    each = (f"{name} {percent(int(n), changed)}" for name, n in zip(names, found, strict=True))
    return f"{', '.join(each)} of {changed}"


def rates(asked: Asked, tables: int, with_changes: int, first: int) -> tuple[int, int, int, int]:
    """False tables; changed kernels, those found, and those called SAME. Tables are numbered from
    ``first`` on."""
    false, changed, found, same = 0, 0, 0, 0
    for change, several in ((0.0, tables), (CHANGE, with_changes)):
        for number in range(first, first + several):
            pairs, effects = table(asked, number, change)
            said = verdicts(pairs, Rules(), earlier(asked, number))
            wrong = [v for n, v in said.items() if effects[n] == 0]
            if not change:
                false += bool({Verdict.SLOWER, Verdict.FASTER} & set(wrong))
            mine = [v for n, v in said.items() if effects[n] != 0]
            changed += len(mine)
            found += mine.count(Verdict.SLOWER)
            same += mine.count(Verdict.SAME)
    return false, changed, found, same


def percent(part: int, whole: int) -> str:
    """A rate with its exact 95 % interval."""
    if not whole:
        return "–"
    found = share(part, whole)
    return f"{100 * found.value:.0f} ({100 * found.low:.0f}–{100 * found.high:.0f})"


def main() -> None:
    """Print the rates of the worlds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, nargs="+", default=[50, 250])
    parser.add_argument("--processes", type=int, nargs="+", default=[3])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--changed", type=int, default=60, help="tables with changes as well")
    parser.add_argument("--first", type=int, default=0, help="number of the first table: its seed")
    parser.add_argument("--unchanged", type=float, default=UNCHANGED)
    parser.add_argument("--earlier", type=int, default=0, help="earlier pairs of runs")
    parser.add_argument("--world", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--by-controls", type=int, default=0, help="so many tables")
    parser.add_argument("--detectable", type=int, default=0, help="so many tables")
    parser.add_argument("--informed", action="store_true", help="of the changed tables")
    given = parser.parse_args()
    head = "| world | kernels | processes | false tables % | 2 % found % | SAME wrong % "
    print(f"{head}| by controls | MDE found % |")
    print("|---|---|---|---|---|---|---|---|")
    for world in given.world:
        for kernels in given.kernels:
            for processes in given.processes:
                asked = Asked(world, kernels, processes, given.unchanged, given.earlier)
                false, changed, found, same = rates(asked, given.tables, given.changed, given.first)
                cells = [percent(false, given.tables), percent(found, changed)]
                cells.append(percent(same, changed))
                several = given.by_controls
                cells.append(mean_by_controls(asked, several) if several else "–")
                some = range(given.first, given.first + given.detectable)
                cells.append(promised(asked, some) if some else "–")
                row = [world, str(kernels), str(processes), *cells]
                print(f"| {' | '.join(row)} |", flush=True)
                if given.informed:
                    print(informed(asked, range(given.first, given.first + given.changed)))


if __name__ == "__main__":
    main()
