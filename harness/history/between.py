"""What earlier runs of a machine say of the difference between two: for comparisons that have too
few unchanged kernels to show it themselves."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.history import index
from harness.measure.noise.controls import LEAST, fit_sessions, odd_controls, overall
from harness.measure.noise.estimate import Between
from harness.measure.noise.variance import Floats
from harness.records.run import Run

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5
"""Pairs of runs from which it is known how runs differ: with fewer, Student's t has so heavy a tail
that nothing would be found all the same."""
MOST = 40
"""Pairs that are looked at, the newest: more say nothing new, and each hundred costs a second."""
_SAME = ["graph", "key", "code", "config"]
_COLUMNS = ["run", "failed", "ms", *_SAME]
_ENOUGH = 3000
"""Kernels, over all pairs, from which it is learnt what moves one: more cost time."""


def learn(results: Path, a: Run, b: Run | None = None) -> Between | None:
    """``learnt`` from all runs below ``results``."""
    known = index.refresh(results)
    return learnt(known.runs, known.rows.select(_COLUMNS).to_pandas(), a, b)


def learnt(
    known: Sequence[index.IndexedRun], frame: pd.DataFrame, a: Run, b: Run | None = None
) -> Between | None:
    """What moved kernels of the same code and configuration between neighbouring runs of the
    machine, method and Triton of ``a`` and ``b``: on one board if theirs is one, else between
    boards; without ``b`` between days or boards. None if there are fewer than ``FEWEST`` such pairs
    of at least ``LEAST`` kernels (any do without ``b``); of more than ``MOST`` the newest. The
    kernels of the ``known`` runs are in ``frame``."""
    here = (a.machine.key, a.method, a.machine.triton)
    board = a.machine.gpu_uuid or ""
    one_board = board != "" and b is not None and board == b.machine.gpu_uuid
    mine = [
        n
        for n, run in enumerate(known)
        if (run.machine, run.method, run.triton) == here and not run.dirty and not run.unreadable
    ]
    mine.sort(key=lambda n: known[n].created)
    places, columns = frame.groupby("run").indices, frame[_COLUMNS]

    @functools.cache
    def rows(n: int) -> pd.DataFrame:
        every = columns.take(np.asarray(places.get(n, ()), np.int64))
        every = every[~every["failed"].astype(bool) & (every["ms"] > 0)]
        return every[every["code"].notna() & (every["code"] != "")]

    found: list[tuple[Floats, Floats]] = []
    for earlier, later in reversed([*pairwise(mine)]):
        before, after = known[earlier], known[later]
        same = before.gpu_uuid != "" and before.gpu_uuid == after.gpu_uuid
        same &= b is not None or before.created[:10] == after.created[:10]
        if same != one_board or len(found) == MOST:
            continue
        both = rows(earlier).merge(rows(later), on=_SAME, suffixes=("", "_later"))
        # Kernels that share one timing (of runs in one process) are one.
        both = both.drop_duplicates(["code", "config", "ms", "ms_later"])
        if len(both) >= LEAST:
            found.append((both["ms"].to_numpy(float), both["ms_later"].to_numpy(float)))
    return between(found) if len(found) >= (FEWEST if b else 1) else None


def between(pairs: Sequence[tuple[Floats, Floats]]) -> Between:
    """What ``pairs`` of runs say, each in milliseconds of the kernels of the same code in the
    earlier and in the later one: a relative and an absolute part of what moved each kernel, as
    between the two runs of a table that has unchanged kernels of its own."""
    moved = [np.log(after / before) for before, after in pairs]
    middles = np.array([np.median(each) for each in moved])
    rest = np.concatenate([each - m for each, m in zip(moved, middles, strict=True)])
    ms = np.concatenate([np.sqrt(before * after) for before, after in pairs])
    # A few that moved by much more than the others are a tail, or cases of their own, or both.
    none, ones = np.zeros(len(rest)), np.ones(len(rest))
    some = slice(None, None, -(-len(rest) // _ENOUGH))
    known = (rest, none + 1e-12, none + np.inf, ones, ms)
    specific = overall(fit_sessions(*(x[some] for x in known)))
    # By the core of durations like its own: short kernels scatter more than long ones.
    core = np.sqrt(specific.at(ms))
    core = core * np.median(np.abs(rest) / core) / 0.6745
    odd = odd_controls(rest, np.maximum(core, 1e-6))
    return Between(float(np.mean(middles**2)), specific, len(moved), odd)
