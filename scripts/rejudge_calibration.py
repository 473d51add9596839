#!/usr/bin/env python
"""Judge calibrations again from their samples, with the verdict rules of this checkout.

    scripts/rejudge_calibration.py results/MACHINE/calibration-*.cells.jsonl.gz

Reads each file of samples (a line for the calibration as it began, for each subject, each cell) and
rewrites ``calibration-ID.json`` beside it.

    scripts/rejudge_calibration.py results/MACHINE/calibration-*.json --against 1 2

rewrites nothing: so many of a calibration's processes, drawn anew, against as many others of them,
in 20 draws (seeded) of ten tables each: one kernel in ten is taken for one that may have changed,
the others are controls. No kernel changed: a table with any SLOWER or FASTER is false. The same
with at most 7 controls (one table a draw).
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from harness.calibration.judging import GROUPS
from harness.calibration.record import Calibration, Cell, Subject, load, save
from harness.calibration.run import conclude
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Rules, Verdict, judge
from harness.records.run import from_json


def rejudge(path: Path) -> Calibration:
    """Judge the samples at ``path`` and write the calibration beside them."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    start = from_json(Calibration, lines[0]["calibration"], str(path))
    subjects = from_json(tuple[Subject, ...], _those(lines, "subject"), str(path))
    cells = from_json(tuple[Cell, ...], _those(lines, "cell"), str(path))
    rules = Rules(alpha=start.alpha, margin=start.margin)
    by_key = {one.key: one for one in subjects}
    return load(save(path.parent, conclude(start, list(by_key.values()), cells, rules)))


def _those(lines: list[dict[str, Any]], kind: str) -> list[Any]:
    return [line[kind] for line in lines if kind in line]


def drawn(path: Path, processes: int, most: int, draws: int = 20) -> tuple[int, int]:
    """How many tables of ``processes`` against as many are false, and of how many; ``most``
    kernels that did not change are their controls."""
    start = load(path)
    kernels = [Times(one.ms, one.errors) for one in start.medians]
    rules, rng = Rules(alpha=start.alpha, margin=start.margin), np.random.default_rng(processes)
    whole = [one for one in kernels if len(one.ms) >= 2 * processes]
    false = tables = 0
    for _ in range(draws):
        order = rng.permutation(min(len(one.ms) for one in whole))
        sides = order[:processes], order[processes : 2 * processes]
        both = [
            tuple(Times(tuple(np.array(one.ms)[s]), tuple(np.array(one.errors)[s])) for s in sides)
            for one in whole
        ]
        for group in range(GROUPS if most > len(whole) else 1):
            held = range(group, len(whole), GROUPS)
            rest = [n for n in range(len(whole)) if n not in held][:most]
            pairs = [Pair(both[n][0], both[n][1], identical=n in rest) for n in (*held, *rest)]
            found, _ = estimate(pairs, paired=False)
            effects = judge(found[: len(held)], rules)
            false += any(e.verdict in (Verdict.SLOWER, Verdict.FASTER) for e in effects)
            tables += 1
    return false, tables


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="+", type=Path)
    parser.add_argument("--against", nargs="+", type=int, default=[], metavar="PROCESSES")
    chosen = parser.parse_args()
    for path in chosen.cells if chosen.against else ():
        for processes in chosen.against:
            for most in (10**6, 7):
                false, tables = drawn(path, processes, most)
                controls = "nine tenths" if most > 7 else "7 kernels"
                print(f"{path}: {processes} processes, controls {controls}: {false} of {tables}")
    for path in () if chosen.against else chosen.cells:
        found = rejudge(path)
        alarms = ", ".join(f"{m.name} {m.false_alarms.found}" for m in found.modes)
        print(f"{path.name}: {len(found.kernels)} kernels; false alarms: {alarms}")


if __name__ == "__main__":
    main()
