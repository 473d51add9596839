"""How often a night is red for nothing, and what it finds: nights simulated with the noise of
scripts/verdict_worlds.py and judged by the code of `harness nightly`.

Prints the table of docs/measurements/nightly.md, seeded: the same each time.

    python scripts/nightly_worlds.py --nights 2000 -j 14 --seconds 90 --keep nights.jsonl

Each night times 24 unchanged controls and ``--changed`` kernels whose code changed and whose speed
did not, both sides in each of 3 fresh processes; what looks slower by its own interval is timed
again in 8 others, and is red if these say SLOWER at 0.5 %. Kernels are in graphs of six, whose
sums are judged beside them. For the power one kernel is made slower. The worlds move both sides
apart, as two runs are: harder than a night, which interleaves them. ``--keep`` is a file of what
is done, from which the next call goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import astuple, dataclass
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from verdict_worlds import WORLDS, Block, Drawn

from harness.calibration.judging import share
from harness.measure.noise.estimate import Pair, Times
from harness.measure.noise.judge import Rules, Verdict
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.verdicts import night_plan
from harness.verdicts.comparing import Comparison, Side, assemble
from harness.verdicts.night_plan import CONFIRM, CONTROLS, DETECT, Sorting
from harness.verdicts.nightly import CONFIRMING
from harness.verdicts.pairing import Pairing

WITHIN = ("calm", "heavy tails", "modes by process", "launch levels", "neighbours agree")
"""Worlds of what differs within a process; what moves all of a run moves both sides of a night."""
TOGETHER = 20
"""Nights that a process simulates before it says what came out."""


@dataclass(frozen=True)
class Slow:
    """The kernel that becomes slower: its duration is between two milliseconds."""

    least: float
    most: float
    by: float


KINDS = None, Slow(0.02, 1.0, 0.02), Slow(0.003, 0.02, 0.05)


@dataclass(frozen=True)
class Task:
    """Some nights of a world, with ``changed`` kernels: numbers from ``first`` to before
    ``end``, the kernel of ``KINDS[kind]`` slower."""

    world: str
    kind: int
    changed: int
    first: int
    end: int


@cache
def sorting(changed: int) -> Sorting:
    """What a night finds to do: the controls' texts are as they were, the others' are not."""

    def run(name: str, text: str) -> Run:
        kernels = [
            KernelRecord(
                f"poi_mul_{n}",
                "poi",
                1 << 20,
                origins=(f"mul_{n}",),
                config={"num_warps": 4},
                module=f"def poi_mul_{n}(x):\n    return {text if n >= CONTROLS else 'x'}\n",
            )
            for n in range(CONTROLS + changed)
        ]
        graphs = tuple(
            GraphRecord(f"graph_{n}", kernels=tuple(kernels[n : n + 6]))
            for n in range(0, len(kernels), 6)
        )
        return Run(name, "2026-01-01T00:00:00", Machine("h200"), "sm_90", graphs=graphs)

    return night_plan.sort(run("before", "x"), run("after", "x + 0"), timed=True)


def drawn(world: str, seed: list[int], ms: Block, processes: int) -> tuple[Block, Block]:
    """Logarithms of both sides' medians without the durations."""
    rng = np.random.default_rng(seed)
    spread = np.sqrt((0.0012**2 + (2.5e-6 / ms) ** 2) * 6 / rng.chisquare(6, len(ms)))
    a, b = (rng.normal(size=(len(ms), processes)) * spread[:, None] for _ in range(2))
    WORLDS[world](Drawn(rng, ms, spread, a, b))
    return a, b


def compared(night: Sorting, chosen: Sequence[int], a: Block, b: Block, rules: Rules) -> Comparison:
    """The matches ``chosen`` as a night compares them; ``a``, ``b``: milliseconds by process."""
    matches = tuple(night.pairing.matches[n] for n in chosen)
    rows = zip(a.tolist(), b.tolist(), strict=True)
    pairs = [Pair(Times(tuple(ours)), Times(tuple(theirs))) for ours, theirs in rows]
    sides = Side("baseline", night.a), Side("tonight", night.b)
    return assemble(*sides, Pairing(matches, (), ()), pairs, rules, paired=True)


def red(task: Task, number: int) -> list[int]:
    """The kernels that night ``number`` says are slower."""
    slow, night = KINDS[task.kind], sorting(task.changed)
    made = f"{task.world} {task.changed} {slow and astuple(slow)}"
    seed = [zlib.crc32(made.encode()), number]
    rng = np.random.default_rng(seed)
    ms = np.exp(rng.uniform(np.log(0.002), 0.0, CONTROLS + task.changed))
    truth = np.zeros(len(ms))
    if slow is not None:
        ms[-1] = np.exp(rng.uniform(np.log(slow.least), np.log(slow.most)))
        truth[-1] = np.log1p(slow.by)

    def timed(stage: int, chosen: Sequence[int], processes: int, rules: Rules) -> Comparison:
        few = np.array(chosen)
        a, b = drawn(task.world, [*seed, stage], ms[few], processes)
        durations = ms[few, None]
        sides = np.exp(a) * durations, np.exp(b + truth[few, None]) * durations
        return compared(night, chosen, *sides, rules)

    controls, wanted = night_plan.to_time(night)
    first = timed(1, controls + wanted, DETECT, Rules())
    doubted = night_plan.doubted(night, first, wanted)
    if not doubted:
        return []
    chosen = controls[: (len(controls) + 1) // 2] + doubted
    again = timed(2, chosen, CONFIRM, CONFIRMING)
    found, confirmed = night_plan.after_confirming(first, again, night.restructured)
    slower = {
        night_plan.key_of(row.match) for row in found.rows if row.verdict is Verdict.SLOWER
    } & confirmed
    return [n for n, m in enumerate(night.pairing.matches) if night_plan.key_of(m) in slower]


def counted(task: Task) -> tuple[int, int]:
    """In how many nights the slower kernel is red, and in how many any other is."""
    place = CONTROLS + task.changed - 1 if KINDS[task.kind] else -1
    said = [red(task, number) for number in range(task.first, task.end)]
    return sum(place in one for one in said), sum(bool({*one} - {place}) for one in said)


def simulated(tasks: Iterable[Task], jobs: int, until: float) -> Iterator[tuple[Task, int, int]]:
    """``tasks`` in ``jobs`` processes until the clock says ``until``: each with what came out."""
    left = iter(tasks)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a core for each process
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = {pool.submit(counted, task): task for task in islice(left, 2 * jobs)}
        while waiting:
            done = next(as_completed(waiting))
            yield waiting.pop(done), *done.result()
            if time.monotonic() < until and (task := next(left, None)):
                waiting[pool.submit(counted, task)] = task


def main() -> None:
    """Print the rates of the worlds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=1000, help="of each world and kind")
    parser.add_argument("--changed", type=int, default=50, help="kernels whose code changed")
    parser.add_argument("--world", nargs="+", choices=WITHIN, default=list(WITHIN))
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no new nights")
    parser.add_argument("--keep", type=Path, help="file of what is done, a line for some nights")
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    known: dict[Task, tuple[int, int]] = {}
    if asked.keep and asked.keep.exists():
        for line in asked.keep.read_text().splitlines():
            *task, found, others = json.loads(line)
            known[Task(*task)] = found, others
    tasks = [
        Task(world, kind, asked.changed, first, min(first + TOGETHER, asked.nights))
        for first in range(0, asked.nights, TOGETHER)
        for world in asked.world
        for kind in range(len(KINDS))
    ]
    left = [task for task in tasks if task not in known]
    with asked.keep.open("a") if asked.keep else nullcontext() as kept:
        for task, *counts in simulated(left, asked.jobs, until):
            known[task] = counts[0], counts[1]
            if kept:
                print(json.dumps([*astuple(task), *counts]), file=kept, flush=True)
    print(table([(task, *known[task]) for task in tasks if task in known]))


def table(known: Sequence[tuple[Task, int, int]]) -> str:
    """The rates with their exact intervals, of as many nights as were simulated."""
    nights, slower, others = (Counter[tuple[str, int]]() for _ in range(3))
    for task, found, wrong in known:
        for key in ((task.world, task.kind), ("all", task.kind)):
            nights[key] += task.end - task.first
            slower[key] += found
            others[key] += wrong
    lines = [
        "| world | nights of each kind | red for nothing % | 2 % above 20 µs found % "
        "| 5 % at 3 to 20 µs found % | another red beside these % |",
        "|---|---|---|---|---|---|",
    ]
    for world in (*dict.fromkeys(task.world for task, *_ in known), "all"):
        none, *slow = ((world, kind) for kind in range(len(KINDS)))
        cells = [world, " / ".join(f"{nights[key]:,}" for key in (none, *slow))]
        cells += [percent(others[none], nights[none])]
        cells += [percent(slower[key], nights[key]) for key in slow]
        cells += [percent(sum(others[k] for k in slow), sum(nights[k] for k in slow))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    """A rate with its exact 95 % interval."""
    if not whole:
        return "–"
    found = share(part, whole)
    return f"{100 * found.value:.1f} ({100 * found.low:.1f}–{100 * found.high:.1f})"


if __name__ == "__main__":
    main()
