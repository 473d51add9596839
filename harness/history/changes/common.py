"""What moved all kernels of a run together: another day, temperature or clock.

A run's common effect is seen in the kernels whose code and configuration are what they were in
other runs: theirs is the median, over kernels, of what a run is away from each one's own level
(median polish: levels and effects in turn). It is taken out of every series of the machine
before steps are looked for. Where a commit changes a kernel's code its level begins anew, so that
what a commit does to the kernels that it touches is in no common effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.history.changes.changepoints import SHORTEST, detect
from harness.history.changes.fitting import Settings
from harness.history.changes.series import Environment, History, Series

LEAST = 8
"""Unchanged kernels of a run from which its common effect is known."""
_LEVEL = 3
"""Points of one code from which a kernel has a level to be away from."""
_ROUNDS = 6


def take_out(
    known: History, every: Sequence[Series], newest: Collection[tuple[Environment, int]] = ()
) -> tuple[list[Series], list[str]]:
    """The series without the common effects of their runs, and what has to be said of those. The
    ``newest`` runs that may be bad stay as they are: what they show is suspected."""
    groups: dict[Environment, list[Series]] = defaultdict(list)
    for series in every:
        groups[series.environment].append(series)
    notes: list[str] = []
    found: dict[Environment, NDArray[np.float64]] = {}
    for environment, members in groups.items():
        effects, kernels = _effects(known, members)
        effects[[place for where, place in newest if where == environment]] = 0.0
        if kernels:
            found[environment] = effects
            notes += _steps(known, environment, members[0], effects, kernels)
    left = [
        replace(series, values=series.values - found[series.environment][series.positions])
        if series.environment in found
        else series
        for series in every
    ]
    return left, notes


def _effects(known: History, members: Sequence[Series]) -> tuple[NDArray[np.float64], int]:
    """The common log effect at every position (0 where nobody knows), and of how many kernels."""
    code, config = (known.frame[name].astype("category").cat for name in ("code", "config"))
    unknown = np.isin(code.categories.astype(str), ("", "nan", "None"))
    numbers = np.array(code.codes, np.int64)
    numbers[np.append(unknown, True)[numbers]] = -1
    configs = np.array(config.codes, np.int64)
    levels = [level for series in members for level in _levels(series, numbers, configs)]
    effects = np.zeros(len(known.commits))
    if len(levels) < LEAST:
        return effects, 0
    block = np.full((len(levels), len(effects)), np.nan)
    for row, (positions, values) in enumerate(levels):
        block[row, positions] = values
    seen = np.isfinite(block).sum(axis=0) >= LEAST
    if seen.sum() < SHORTEST:
        return effects, 0
    part = block[:, seen]
    part = part[np.isfinite(part).sum(axis=1) >= _LEVEL]
    effects[seen] = polished(part)
    return effects, len(part)


def polished(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The common effect of each column of a ``block`` with a row per level (NaN: not measured),
    by median polish; their median is 0."""
    moved = np.zeros(block.shape[1])
    for _ in range(_ROUNDS):
        own = np.nanmedian(block - moved, axis=1)
        moved = np.nanmedian(block - own[:, None], axis=0)
    return np.asarray(moved - np.median(moved))


def _levels(
    series: Series, codes: NDArray[np.int64], configs: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Stretches of a kernel's points with one code and configuration; none of unknown code. By row
    of the frame ``codes`` number the code (-1: unknown) and ``configs`` the configuration."""
    if not len(series.rows) or series.rows[0] < 0:
        return []
    code, config = codes[series.rows], configs[series.rows]
    ends = np.flatnonzero((code[1:] != code[:-1]) | (config[1:] != config[:-1])) + 1
    edges = [0, *ends.tolist(), len(code)]
    return [
        (series.positions[start:stop], series.values[start:stop])
        for start, stop in zip(edges, edges[1:], strict=False)
        if stop - start >= _LEVEL and code[start] >= 0
    ]


def _steps(
    known: History,
    environment: Environment,
    one: Series,
    effects: NDArray[np.float64],
    kernels: int,
) -> list[str]:
    """A sentence for each lasting common step: that is the machine's doing, or of something that
    all kernels share and none shows in its code."""
    places = np.flatnonzero(effects)
    (judged,) = detect([effects[places]], [environment], Settings())
    return [
        f"the {kernels} kernels on {environment.machine} whose code did not change became "
        f"{'worse' if one.metric.is_worse(0, step.size) else 'better'} together at "
        f"{known.commits[places[step.position]][:10]} by {100 * abs(step.size):.2g} %: the machine "
        "rather than the code. Taken out of all series"
        for step in judged.steps
        if step.confirmed
    ]
