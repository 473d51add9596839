"""Bimodal kernels: they run in one of two modes, fixed for a process. A in one mode and B in the
other looks like a certain change, and no variance shows it. Other kernels whose processes fell on
both say how often it happens and how far apart the modes lie (docs/comparing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.measure.noise.variance import FLOOR, Floats

_FAR = 40.0
"""Times the usual variance from which a kernel may have modes between processes: with two
degrees of freedom 1 in 10^12 of equal kernels vary so much, and 1 in 300 where kernels differ as
F(2, 4) does."""
_TIGHT = 10.0
"""Times the variance left around two modes that the whole variance has to be, or the kernel is
noisy and has no modes: of six normal values 8 in 100 are so far in two by chance, of eight 3."""
_NEAR, _CALM = 60, 0.2
"""Kernels of the nearest durations whose median is the usual variance; the share of them without
two modes from which the others' modes are looked for, simulated ([verdicts.md])."""
_AGREE, _REACH = 1.1, 1.25
"""Jumps of one cause lie so near to the next one; so far beyond those seen may another lie."""
_GRID = np.linspace(0.005, 0.995, 199)
"""Chances of a process to be at the faster mode, each as likely beforehand."""


@dataclass(frozen=True, slots=True)
class FalsePositive:
    """``chance`` that modes alone make a difference between ``low`` and ``high`` (absolute log
    ratios) of a kernel that did not change."""

    chance: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Jump:
    """Of a kernel of ``ms`` the logarithm of the upper mode over the lower; how many of the most
    scattered side's ``count`` processes were ``fast``; how many processes each side has."""

    ms: float
    log: float
    fast: int
    count: int
    sides: tuple[int, ...]

    @property
    def time(self) -> float:
        """The jump in milliseconds, ``ms`` being the geometric mean of both modes."""
        return float(2 * self.ms * np.sinh(self.log / 2))


def find(
    ms: Floats,
    variances: Floats,
    inner: Floats,
    sides: tuple[Floats, Floats],
    together: NDArray[np.bool_],
    *,
    paired: bool,
) -> tuple[NDArray[np.bool_], list[tuple[FalsePositive, ...]]]:
    """Of each kernel of a table whether it is bimodal, and the risks there are of its difference,
    one for each cause, the same causes in the same order for all kernels. ``ms``: durations in
    milliseconds. ``variances``: of the logarithms of processes' medians, NaN where unknown;
    ``inner``: inside the sides, where what moves kernels between runs is not. ``sides``: those
    logarithms, a row for each kernel and a column for each process of A and of B (NaN: none);
    ``together``: which kernels are known to be the same on both. ``paired``: both sides were
    interleaved, so that what a process does to both cancels.

    A kernel has modes if two explain its variance, which is ``_FAR`` times that of the ``_NEAR``
    kernels of the nearest durations (median; around their modes, since most may have some). Jumps
    that agree with another kernel's have a cause, in time (another launch interval) or in per cent
    (another clock or place in memory), whichever more of them do; one alone is an odd kernel."""
    known = np.flatnonzero(np.isfinite(variances))
    bimodal = np.zeros(len(ms), dtype=np.bool_)
    if not len(known):
        return bimodal, [()] * len(ms)
    levels = (sides[1] - sides[0] if paired else np.hstack(sides))[known]
    jumps, inside, (_, around) = [], inner[known], _split(levels)
    # Of three values four in ten lie so near to two modes by chance.
    tight = np.where(np.isfinite(levels).sum(axis=1) > 3, _TIGHT, _TIGHT**2)
    around = np.where(around * tight < inside, around, inside)
    usual = _usual(np.log(ms[known]), variances[known], inside, around)
    for n in known[variances[known] > _FAR * usual].tolist():
        logs = [side[n][np.isfinite(side[n])] for side in sides]
        jump = _jump(float(ms[n]), [np.concatenate(logs)] if together[n] else logs, paired=paired)
        bimodal[n] = jump is not None
        jumps += [] if jump is None else [jump]
    counts = [*zip(*(np.isfinite(side).sum(axis=1).tolist() for side in sides), strict=True)]
    causes = [
        _Cause(members, in_time, _chances(members, len(known), sorted({*counts}), paired=paired))
        for members, in_time in _groups(jumps)
    ]
    return bimodal, [
        tuple(cause.risk(here, one, paired=paired) for cause in causes)
        for here, one in zip(ms.tolist(), counts, strict=True)
    ]


def _usual(x: Floats, whole: Floats, inside: Floats, around: Floats) -> Floats:
    """The median of the variances over the ``_NEAR`` kernels whose ``x`` is nearest to each: the
    ``whole`` ones, or where most have modes ``inside`` the sides those ``around`` them. Where
    hardly any shows one mode alone, their own scatter tells of both, and judges better."""
    order = np.argsort(x, kind="stable")
    ordered = np.stack([x, whole, inside, around])[:, order]
    near, *windows = np.lib.stride_tricks.sliding_window_view(ordered, min(_NEAR, len(x)), axis=1)
    low, high = near[:, 0], near[:, -1]
    # Of the two windows whose middles lie about a kernel the one that reaches less far from it.
    above = np.clip(np.searchsorted(low + high, 2 * x), 1, len(near) - 1)
    below = np.maximum(above - 1, 0)
    reach = [np.maximum(x - low[at], high[at] - x) for at in (below, above)]
    nearest = np.where(reach[0] <= reach[1], below, above)
    usual, most, left = np.median(windows, axis=2)[:, nearest]
    calm = np.quantile(windows[0], _CALM, axis=1)[nearest]
    some = (most > _TIGHT * left) & (calm < _TIGHT * left)
    return np.asarray(np.maximum(np.where(some, left, usual), FLOOR))


def _jump(ms: float, sides: Sequence[Floats], *, paired: bool) -> _Jump | None:
    """The two modes that explain the scatter of the most scattered side; None if none do.
    In turns, where a difference has three, how far its processes lie apart."""
    counts = tuple(len(one) for one in sides)
    side = np.sort(max(sides, key=lambda one: float(np.ptp(one))))
    (fast,), (around,) = _split(side[None])
    if side[0] == side[-1] or (not paired and around * _TIGHT > side.var(ddof=1)):
        return None
    log = np.ptp(side) if paired else side[fast:].mean() - side[:fast].mean()
    return _Jump(ms, float(log), int(fast), len(side), counts)


def _split(logs: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Of each row (NaN: none) how many of its smallest values are the one of the two groups that
    explain most, and the variance left around these (NaN where there are fewer than three)."""
    count = np.isfinite(logs).sum(axis=1, keepdims=True)
    off = np.nan_to_num(np.sort(logs - np.nanmean(logs, axis=1, keepdims=True)))  # NaN last
    lower = np.arange(1, off.shape[1] + 1)
    # The squares between the groups, whose sums are opposite.
    between = off.cumsum(axis=1) ** 2 * (1 / lower + 1 / np.maximum(count - lower, 1))
    between[lower >= count] = 0.0
    inside = np.maximum((off**2).sum(axis=1) - between.max(axis=1), 0.0)
    return 1 + between.argmax(axis=1), inside / np.where(count > 2, count - 2.0, np.nan)[:, 0]


def _groups(jumps: Sequence[_Jump]) -> list[tuple[list[_Jump], bool]]:
    """Jumps that agree, and whether they do in time; the largest group first, each jump once."""
    left = list(jumps)
    found: list[tuple[list[_Jump], bool]] = []
    while True:
        in_time = _largest(left, [jump.time for jump in left])
        in_share = _largest(left, [jump.log for jump in left])
        group, timed = (in_time, True) if len(in_time) > len(in_share) else (in_share, False)
        if len(group) < 2:
            return found
        found.append((group, timed))
        left = [jump for jump in left if not any(jump is one for one in group)]


def _largest(jumps: Sequence[_Jump], sizes: Sequence[float]) -> list[_Jump]:
    """The longest chain of jumps of which each is within ``_AGREE`` of the next."""
    order = np.argsort(sizes, kind="stable")
    far = np.diff(np.log(np.array(sizes)[order])) > np.log(_AGREE)
    return [jumps[n] for n in max(np.split(order, np.flatnonzero(far) + 1), key=len)]


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why ``members`` have modes, whose jumps agree ``in_time`` or else in per cent, and the
    ``chances`` by how many processes A and B have."""

    members: Sequence[_Jump]
    in_time: bool
    chances: Mapping[tuple[int, int], float]

    def risk(self, ms: float, counts: tuple[int, int], *, paired: bool) -> FalsePositive:
        """What it means for a kernel of ``ms``."""
        sizes = [jump.time if self.in_time else jump.log for jump in self.members]
        low, high = min(sizes) / _REACH, max(sizes) * _REACH
        if self.in_time:
            low, high = (float(2 * np.arcsinh(size / ms / 2)) for size in (low, high))
        # In turns a jump there and back looks like one twice as far.
        return FalsePositive(self.chances[counts], 0.0 if paired else low, high)


def _chances(
    members: Sequence[_Jump], kernels: int, counts: Sequence[tuple[int, int]], *, paired: bool
) -> dict[tuple[int, int], float]:
    """For each number of A's and B's processes the chance of a kernel to be at one mode on all of
    A's and at the other on all of B's.

    It is the share of members, of ``kernels``, times how many kernels fall like that for each that
    is seen at both modes: the mean over all chances of the faster mode, weighted with how well
    they explain how the members' processes fell."""
    share = len(members) / kernels
    if paired:  # Both sides have to fall right in each process.
        return {(a, b): share * 2.0 ** (1 - 2 * a) for a, b in counts}
    fast, slow, weight = _GRID, 1 - _GRID, np.ones_like(_GRID)
    for jump in members:
        mixed = 1 - fast**jump.count - slow**jump.count
        weight = weight * fast**jump.fast * slow ** (jump.count - jump.fast) / mixed
        weight = weight / weight.max()
    one_mode = [np.prod([fast**n + slow**n for n in jump.sides], axis=0) for jump in members]
    weight, seen = weight / weight.sum(), 1 - np.mean(one_mode, axis=0)
    return {
        (a, b): share * float((weight * (fast**a * slow**b + fast**b * slow**a) / seen).sum())
        for a, b in counts
    }
