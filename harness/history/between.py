"""What earlier runs of a machine say of the difference between two: for comparisons that have too
few unchanged kernels to show it themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.history import index
from harness.measure.noise.controls import LEAST, fit_session, odd_controls
from harness.measure.noise.estimate import Between
from harness.measure.noise.variance import Floats
from harness.records.run import Run

FEWEST = 5
"""Pairs of runs from which it is known how runs differ: with fewer, Student's t has so heavy a tail
that nothing would be found all the same."""


def learn(results: Path, a: Run, b: Run) -> Between | None:
    """What moved kernels of the same code and configuration between neighbouring runs of the
    machine, method and Triton of ``a`` and ``b``: on one board if theirs is one, else between
    boards. None if there are fewer than ``FEWEST`` such pairs of at least ``LEAST`` kernels."""
    known = index.refresh(results)
    here = (a.machine.key, a.method, a.machine.triton)
    one_board = bool(a.machine.gpu_uuid) and a.machine.gpu_uuid == b.machine.gpu_uuid
    mine = [
        n
        for n, run in enumerate(known.runs)
        if (run.machine, run.method, run.triton) == here and not run.dirty and not run.unreadable
    ]
    mine.sort(key=lambda n: known.runs[n].created)
    frame = known.rows.to_pandas()
    frame = frame[frame["run"].isin(mine) & ~frame["failed"].astype(bool) & (frame["ms"] > 0)]
    frame = frame[frame["code"].astype(str).ne("") & frame["code"].notna()]
    same = ["graph", "key", "code", "config"]
    by_run = {n: rows.set_index(same)["ms"] for n, rows in frame.groupby("run", observed=True)}
    every = []
    for earlier, later in zip(mine, mine[1:], strict=False):
        boards = (known.runs[earlier].gpu_uuid, known.runs[later].gpu_uuid)
        if earlier not in by_run or later not in by_run:
            continue
        if (boards[0] == boards[1] and bool(boards[0])) != one_board:
            continue
        both = by_run[earlier].to_frame("before").join(by_run[later].rename("after"), how="inner")
        if len(both) < LEAST:
            continue
        every.append(np.log(both["after"].to_numpy(float) / both["before"].to_numpy(float)))
    return between(every) if len(every) >= FEWEST else None


def between(moved: Sequence[Floats]) -> Between:
    """What pairs of runs say in which kernels of the same code ``moved`` so much (log)."""
    middles = np.array([np.median(each) for each in moved])
    rest = np.concatenate([each - m for each, m in zip(moved, middles, strict=True)])
    scale = np.full(len(rest), max(float(np.median(np.abs(rest))) / 0.6745, 1e-6))
    # A few that moved by much more than the others are a tail, or cases of their own, or both.
    none, ones = np.zeros(len(rest)), np.ones(len(rest))
    found = fit_session(rest, none + 1e-12, none + np.inf, ones)
    odd = odd_controls(rest, scale)
    return Between(float(np.mean(middles**2)), found.variance, len(moved), found.tail, odd)
