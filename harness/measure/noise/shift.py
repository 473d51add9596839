"""Whether the samples of one measurement were at another level for a while: a late step, a
hump, a slow wave, which a test for a trend does not see.

Of all stretches of a tenth to nine tenths of the samples the one whose ranks stand out most from
the rest is found (rank-sum test, Mann and Whitney 1947; a stretch that reaches an end is a step).
Neighbours that are alike also make stretches that stand out; so the test is made on medians of
batches that are long compared with the correlation between neighbours, as it is once the stretch
is moved back to the others' level. What comes and goes several times counts as correlation, and
widens the interval of the median instead (``harness.measure.noise.median``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_EDGE = 0.1
"""Share of the samples that a stretch has at least and leaves at least."""
_FEWEST_STRETCH = 3
_SAMPLES = 40
"""Fewest that say anything."""
_COUNTS = (15, 20, 25, 30, 40, 50, 60)
_LIMITS = (3.18, 3.46, 3.59, 3.66, 3.86, 3.93, 4.02)
"""By number of batches, what the largest standardised rank sum exceeds in 0.5 % of random orders
(25 000 to 60 000 drawn for each)."""
_INDEPENDENT = 0.15
"""Correlation of neighbours up to which they are taken for independent."""
_LENGTH = 3.0
"""Batches, in units of (1 + r) / (1 - r), the variance that correlated neighbours add to a mean."""
_STRONGEST = 0.97


def shift(samples: Sequence[float] | Array, least: float) -> str:
    """Empty, or ``stepping up 1.2 %`` (the later level over the earlier one), ``1.2 % higher for a
    while``. What moves by less than ``least`` (a share of the median) is not reported. Of
    measurements where nothing moved 0.5 % are flagged if samples are independent, at most 5 %
    if neighbours are correlated by 0.3 to 0.8."""
    x = np.asarray(samples, dtype=np.float64)
    middle = float(np.median(x))
    if x.size < _SAMPLES or middle == 0 or np.ptp(x) == 0:
        return ""
    coarse = _batch_medians(x, min(_COUNTS[-1], x.size))
    begin, end, _ = _stretch(coarse)
    batches = int(x.size / _batch_length(x, _inside(x.size, begin, end, coarse.size)))
    if batches < _COUNTS[0]:
        return ""
    medians = _batch_medians(x, min(batches, _COUNTS[-1]))
    begin, end, height = _stretch(medians)
    if height <= float(np.interp(medians.size, _COUNTS, _LIMITS)):
        return ""
    inside = _inside(x.size, begin, end, medians.size)
    moved = float(np.median(x[inside]) - np.median(x[~inside])) / middle
    return _said(moved, begin == 0, end == medians.size) if abs(moved) >= least else ""


def _said(moved: float, at_begin: bool, at_end: bool) -> str:
    size = f"{100 * abs(moved):.1f} %"
    if at_begin or at_end:
        return f"stepping {'up' if (moved > 0) == at_end else 'down'} {size}"
    return f"{size} {'higher' if moved > 0 else 'lower'} for a while"


def _stretch(x: Array) -> tuple[int, int, float]:
    """The stretch (its begin, its end) whose ranks differ most from the others', and how much, in
    standard deviations."""
    n = x.size
    ranks = np.argsort(np.argsort(x, kind="stable"), kind="stable") + 1.0
    sums = np.concatenate([[0.0], np.cumsum(ranks - (n + 1) / 2)])
    edge = max(_FEWEST_STRETCH, int(np.ceil(_EDGE * n)))
    lengths = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    possible = (lengths >= edge) & (lengths <= n - edge)
    spread = np.sqrt(np.maximum(lengths * (n - lengths), 1) * (n + 1) / 12)
    heights = np.where(possible, np.abs(sums[None, :] - sums[:, None]) / spread, 0.0)
    begin, end = np.unravel_index(int(np.argmax(heights)), heights.shape)
    return int(begin), int(end), float(heights[begin, end])


def _inside(size: int, begin: int, end: int, batches: int) -> npt.NDArray[np.bool_]:
    """Which of ``size`` samples lie in the stretch of batches."""
    at = np.arange(size) * batches / size
    found: npt.NDArray[np.bool_] = (at >= begin) & (at < end)
    return found


def _batch_length(x: Array, inside: npt.NDArray[np.bool_]) -> float:
    """Samples to a batch, so that batches are about independent once ``inside`` is moved back."""
    from scipy import special

    flat = x - np.where(inside, np.median(x[inside]) - np.median(x[~inside]), 0.0)
    n = x.size
    scores = special.ndtri((np.argsort(np.argsort(flat)) + 1) / (n + 1))
    r = float((scores[1:] * scores[:-1]).sum() / (scores**2).sum())
    r = min(_STRONGEST, r + (1 + 4 * max(r, 0.0)) / n)  # its bias (Kendall 1954)
    return 1.0 if r < _INDEPENDENT else _LENGTH * (1 + r) / (1 - r)


def _batch_medians(x: Array, batches: int) -> Array:
    """Medians of about equally long batches, of all samples."""
    if batches == x.size:
        return x
    edges = np.searchsorted(np.arange(x.size) * batches / x.size, np.arange(1, batches))
    return np.array([np.median(part) for part in np.split(x, edges)])
