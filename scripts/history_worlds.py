"""How often `harness changes` is wrong, and what it finds, in histories whose truth is known.

Prints the table of docs/measurements/verdicts.md, *Histories*, seeded: the same each time.

    python scripts/history_worlds.py                                 50 series of 60 commits
    python scripts/history_worlds.py --series 5 --reports 200 --world white "own days"
    python scripts/history_worlds.py --against asv pelt --reports 4 --series 250

Noise of 0.5 %, five runs a day; common effects are taken out where there are eight series. No code
is known, so that a level which a series had before is suspected; with ``--coded`` each commit has
other code, and that takes two levels that take turns. *False*: reports of histories without a step
in which anything is confirmed. In others each tenth series has a step of 5 %, at a commit of its
own from the tenth to the tenth from the end: *recall* is how many are confirmed within two commits
of where they are, *precision* how many of those confirmed are that; what went back is no change.
*Two points*: steps two points before the end, found. ``--against`` gives recall and precision of
other methods on the same series: asv's own function, and PELT with the usual penalty; of theirs,
jumps of less than half the step don't count.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.history.changes.changepoints import detect
from harness.history.changes.events import events
from harness.history.changes.fitting import Settings
from harness.history.changes.whole_runs import LEAST, polished

Block = NDArray[np.float64]
Rng = np.random.Generator
NOISE, STEP, POINTS, A_DAY = 0.005, float(np.log(1.05)), 60, 5
DAYS = np.arange(POINTS) // A_DAY


def by_day(values: Block) -> Block:
    """A column for each run, of one for each day."""
    return np.asarray(values[:, DAYS])


def white(rng: Rng, rows: int) -> Block:
    """Independent normal noise of unit variance, as all of these."""
    return rng.normal(size=(rows, POINTS))


def heavy(rng: Rng, rows: int) -> Block:
    """Student's t with 4 degrees of freedom."""
    return rng.standard_t(4, size=(rows, POINTS)) / np.sqrt(2)


def outliers(rng: Rng, rows: int) -> Block:
    """Each 50th point is ten deviations too slow."""
    return white(rng, rows) + 10 * (rng.random((rows, POINTS)) < 0.02)


def correlated(rng: Rng, rows: int) -> Block:
    """Neighbours correlate by 0.6."""
    drawn = rng.normal(size=(rows, POINTS + 40)) * 0.8
    return np.asarray(signal.lfilter([1], [1, -0.6], drawn, axis=1)[:, 40:])


def uneven(rng: Rng, rows: int) -> Block:
    """Kernels that are not equally noisy (log-normal, spread 0.5)."""
    return white(rng, rows) * np.exp(0.5 * rng.normal(size=(rows, 1)))


def common_days(size: float) -> Callable[[Rng, int], Block]:
    """Days that move all kernels by ``size`` (in per cent)."""
    return lambda rng, rows: white(rng, rows) + by_day(rng.normal(0, 2 * size, (1, POINTS)))


def own_days(rng: Rng, rows: int) -> Block:
    """Days that move each kernel by 0.5 % of its own."""
    return white(rng, rows) + by_day(rng.normal(size=(rows, POINTS)))


def unequal_days(rng: Rng, rows: int) -> Block:
    """Days that move three kernels of ten by 1 % of their own, the others by 0.1 %."""
    size = np.where(rng.random((rows, 1)) < 0.3, 2.0, 0.2)
    return white(rng, rows) + by_day(size * rng.normal(size=(rows, POINTS)))


def common_walk(rng: Rng, rows: int) -> Block:
    """All kernels wander by 0.25 % from run to run."""
    return white(rng, rows) + np.cumsum(rng.normal(0, 0.5, (1, POINTS)), axis=1)


def own_walk(rng: Rng, rows: int) -> Block:
    """Each kernel wanders by 0.1 % of its own from run to run."""
    return white(rng, rows) + np.cumsum(rng.normal(0, 0.2, (rows, POINTS)), axis=1)


def noisier(rng: Rng, rows: int) -> Block:
    """Noise that is three times as large in the second half."""
    return white(rng, rows) * np.where(np.arange(POINTS) < POINTS // 2, 1, 3)


def some_noisier(rng: Rng, rows: int) -> Block:
    """That of each fifth kernel."""
    return np.where(rng.random((rows, 1)) < 0.2, noisier(rng, rows), white(rng, rows))


def launches(rng: Rng, rows: int) -> Block:
    """Each fiftieth kernel, at least one, is 8 % slower in a tenth of its runs."""
    odd = (np.arange(rows)[:, None] % 50) == rows // 2 % 50
    return white(rng, rows) + 16 * odd * (rng.random((rows, POINTS)) < 0.1)


def two_modes(rng: Rng, rows: int) -> Block:
    """Each run of a kernel is in one of two modes, 1.5 % apart, the slower in a third."""
    return white(rng, rows) + 3 * (rng.random((rows, POINTS)) < 1 / 3)


def kept_modes(rng: Rng, rows: int) -> Block:
    """Each fiftieth kernel, at least one, has a mode 8 % slower that it keeps for five runs on
    average."""
    odd = (np.arange(rows)[:, None] % 50) == rows // 2 % 50
    mode = np.zeros((rows, POINTS))
    now = rng.random(rows) < 0.3
    for run in range(POINTS):
        now = np.where(rng.random(rows) < 0.2, rng.random(rows) < 0.3, now)
        mode[:, run] = now
    return white(rng, rows) + 16 * odd * mode


WORLDS: dict[str, Callable[[Rng, int], Block]] = {
    "white": white,
    "heavy tails": heavy,
    "2 % outliers": outliers,
    "neighbours agree (0.6)": correlated,
    "unequally noisy": uneven,
    "common days 0.2 %": common_days(0.2),
    "common days 0.5 %": common_days(0.5),
    "common days 2 %": common_days(2.0),
    "own days": own_days,
    "unequal own days": unequal_days,
    "common walk": common_walk,
    "own walk": own_walk,
    "noise × 3 midway": noisier,
    "noise × 3 midway, a fifth": some_noisier,
    "launch level": launches,
    "two modes": two_modes,
    "two modes, kept": kept_modes,
}


def steps_of(series: Block, coded: bool, rises: bool = False) -> list[list[int]]:
    """Where `harness changes` confirms steps that stand, for each row; ``coded``: the code of every
    kernel is known, and another one at each commit; ``rises``: only steps up."""
    rules = Settings()
    rows = list(series - polished(series) if len(series) >= LEAST else series)
    found = detect(rows, days=[DAYS] * len(rows))
    return [
        [
            step.position
            for event in events(one.steps, rules)
            if (not event.again if coded else event.seen is None)
            and event.recovered(rules, sure=False) is None
            for step in event.steps
            if step.confirmed and (step.size > 0 or not rises)
        ]
        for one in found
    ]


def by_asv(series: Block, rises: bool = False) -> list[list[int]]:
    """Where asv's step detection sees the level change, or rise, by half the step and more."""
    from asv.step_detect import detect_steps

    found = []
    for row in np.exp(series):
        levels = detect_steps(list(row))
        jumps = np.diff(np.log([one[2] for one in levels]))
        sizes = jumps if rises else np.abs(jumps)
        found.append([one[0] for one, s in zip(levels[1:], sizes, strict=True) if s > STEP / 2])
    return found


def by_pelt(series: Block, rises: bool = False) -> list[list[int]]:
    """The same of PELT on the scaled series, with a penalty of three logarithms of its length."""
    import ruptures

    found = []
    for row in series:
        scaled = row / (np.median(np.abs(np.diff(row))) / 0.6745 / np.sqrt(2))
        model = ruptures.KernelCPD(kernel="linear", min_size=2).fit(scaled[:, None])
        ends = [0, *model.predict(pen=3 * np.log(POINTS))]
        levels = [row[a:b].mean() for a, b in zip(ends, ends[1:], strict=False)]
        sizes = np.diff(levels) if rises else np.abs(np.diff(levels))
        found.append([e for e, s in zip(ends[1:-1], sizes, strict=True) if s > STEP / 2])
    return found


METHODS: dict[str, Callable[..., list[list[int]]]] = {"asv": by_asv, "pelt": by_pelt}


def drawn(world: str, rows: int, number: int, kind: str) -> tuple[Block, NDArray[np.int64]]:
    """The series of a report, and at which point each steps (past the end: not at all)."""
    rng = np.random.default_rng([zlib.crc32(f"{world} {rows} {kind}".encode()), number])
    series = NOISE * WORLDS[world](rng, rows)
    at = np.full(rows, POINTS)
    stepping = rng.permutation(rows)[: max(1, rows // 10)]
    if kind != "flat":
        last = kind == "two points"
        at[stepping] = POINTS - 2 if last else rng.integers(10, POINTS - 9, len(stepping))
        if last:  # each steps at another commit, or they lend each other certainty
            at[stepping[1:]] = POINTS
    return series + STEP * (np.arange(POINTS) >= at[:, None]), at


def counted(found: Sequence[Sequence[int]], at: NDArray[np.int64]) -> tuple[int, int, int]:
    """Steps there are, those found, and those said."""
    true = [[int(place)] if place < POINTS else [] for place in at]
    hits = sum(
        any(abs(p - place) <= 2 for p in said)
        for said, places in zip(found, true, strict=True)
        for place in places
    )
    return sum(map(len, true)), hits, sum(map(len, found))


def percent(part: int, whole: int) -> str:
    """A rate with its exact 95 % interval."""
    if not whole:
        return "–"
    interval = stats.binomtest(part, whole).proportion_ci(method="exact")
    return f"{100 * part / whole:.0f} ({100 * interval.low:.0f}–{100 * interval.high:.0f})"


def row(
    world: str, rows: int, reports: range, changed: range, against: Sequence[str], coded: bool
) -> str:
    """A line of the table: reports and changed ones of these numbers."""
    flat = [steps_of(drawn(world, rows, n, "flat")[0], coded) for n in reports]
    false = sum(any(one) for one in flat)
    new = np.array([0, 0, 0])
    totals = {name: np.array([0, 0, 0]) for name in ("harness", *against)}
    for n in changed:
        series, at = drawn(world, rows, n, "steps")
        totals["harness"] += counted(steps_of(series, coded), at)
        for name in against:
            totals[name] += counted(METHODS[name](series), at)
        series, at = drawn(world, rows, n, "two points")
        new += counted(steps_of(series, coded), at)
    cells = [world, str(rows), percent(false, len(reports))]
    for there, hit, said in totals.values():
        right = f"{100 * hit / said:.0f}" if said else "–"
        cells.append(f"{100 * hit / max(1, there):.0f} / {right}")
    cells.append(percent(int(new[1]), int(new[0])))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the rates of the worlds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, nargs="+", default=[50])
    parser.add_argument("--reports", type=int, default=100, help="without a step")
    parser.add_argument("--changed", type=int, default=20, help="with steps")
    parser.add_argument("--first", type=int, default=0, help="number of the first: its seed")
    parser.add_argument("--world", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--against", nargs="+", choices=METHODS, default=[])
    parser.add_argument("--coded", action="store_true", help="each commit has other code")
    asked = parser.parse_args()
    names = [f"{name} recall / precision" for name in ("", *asked.against)]
    heads = ["world", "series", "false reports %", *(name.strip() for name in names)]
    print(f"| {' | '.join([*heads, 'two points: found %'])} |")
    print("|" + "---|" * (len(heads) + 1))
    for world in asked.world:
        for series in asked.series:
            flat, changed = (
                range(asked.first, asked.first + n) for n in (asked.reports, asked.changed)
            )
            print(row(world, series, flat, changed, asked.against, asked.coded), flush=True)


if __name__ == "__main__":
    main()
