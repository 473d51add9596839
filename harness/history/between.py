"""What earlier runs of a machine say of the difference between two: for comparisons that have too
few unchanged kernels to show it themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.history import index
from harness.measure.noise.controls import LEAST
from harness.measure.noise.estimate import Between
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
    common, specific = [], []
    for earlier, later in zip(mine, mine[1:], strict=False):
        boards = (known.runs[earlier].gpu_uuid, known.runs[later].gpu_uuid)
        if earlier not in by_run or later not in by_run:
            continue
        if (boards[0] == boards[1] and bool(boards[0])) != one_board:
            continue
        both = by_run[earlier].to_frame("before").join(by_run[later].rename("after"), how="inner")
        if len(both) < LEAST:
            continue
        moved = np.log(both["after"].to_numpy(float) / both["before"].to_numpy(float))
        one, each = spread_of(moved)
        common.append(one)
        specific.append(each)
    if len(common) < FEWEST:
        return None
    return Between(float(np.mean(common)), float(np.mean(specific)), len(common))


def spread_of(moved: NDArray[np.float64]) -> tuple[float, float]:
    """Of the log differences between two runs the square of what all have in common, and the
    variance of what each has of its own."""
    middle = float(np.median(moved))
    return middle**2, (float(np.median(np.abs(moved - middle))) / 0.6745) ** 2
