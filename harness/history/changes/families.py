"""Which steps stand out among as many series: each by itself, or together with others of a commit.

Two questions, each with half of the chance of a false alarm that the whole report may have:

* Holm's method over the series: which steps would be an alarm even alone?
* Simes' test over the series at each commit, worse and better apart: at which commits did
  *something* change? A commit that slows fifty kernels a little is certain long before any
  of them is. Of the steps there, Benjamini and Hochberg's method lists those of which on
  average at most ``family`` are none (false discovery rate).

A step's chance already counts every position of its series, so the commits need no further
correction: over all commits together a flat series has its chance once. Simes' test allows for
series that are slow together (positive dependence), as those of one bad run are. One commit's
changes lend nothing to another one's: an old regression makes no new alarm likelier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.history.changes.fitting import Judged, Settings, Step

Commits = Sequence[NDArray[np.int64]]


def hold(found: Sequence[Judged], commits: Commits, settings: Settings) -> list[Judged]:
    """``found`` with only those steps confirmed that stand out among as many series, alone or
    together with others; ``commits`` says for each series which commit its points are."""
    limit = _holm(found, settings)
    common = _commits(found, commits, settings)
    held = []
    for judged, places in zip(found, commits, strict=True):
        steps = [
            step
            if not step.confirmed or step.p <= limit
            else replace(step, confirmed=together, together=together)
            for step in judged.steps
            for together in [_is_common(step, places, common)]
        ]
        held.append(replace(judged, steps=tuple(steps)))
    return held


def _holm(found: Sequence[Judged], settings: Settings) -> float:
    """The largest chance that is certain enough for any series by itself."""
    best = sorted(
        min(step.p for step in judged.steps if step.confirmed)
        for judged in found
        if any(step.confirmed for step in judged.steps)
    )
    total = sum(judged.judged for judged in found)
    for rank, p in enumerate(best):
        allowed = settings.family / 2 / (total - rank)
        if p > allowed:
            # All steps are held to what the next series would have had to reach.
            return min(settings.alone, allowed)
    return settings.alone


def _commits(
    found: Sequence[Judged], commits: Commits, settings: Settings
) -> dict[tuple[int, bool], float]:
    """For each commit at which something became worse or better (by sign) the largest chance that
    belongs to it."""
    chances: dict[tuple[int, bool], list[float]] = defaultdict(list)
    for judged, places in zip(found, commits, strict=True):
        for step in judged.steps:
            if step.confirmed:
                for place, p in enumerate(step.chances, start=step.earliest):
                    chances[int(places[place]), step.size > 0].append(p)
    total = sum(judged.judged for judged in found)
    common = {}
    for key, values in chances.items():
        ordered = np.sort(values)
        rates = total * ordered / np.arange(1, len(ordered) + 1)
        if rates.min() <= settings.family / 2:
            common[key] = float(ordered[rates <= settings.family].max())
    return common


def _is_common(
    step: Step, places: NDArray[np.int64], common: dict[tuple[int, bool], float]
) -> bool:
    return any(
        p <= common.get((int(places[place]), step.size > 0), -1.0)
        for place, p in enumerate(step.chances, start=step.earliest)
    )
