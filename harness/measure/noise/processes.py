"""Two levels of noise: within a process, and between processes.

What is fixed when a process starts (where its memory lies, how clocks and caches are set) moves all
of its samples together. The logarithm of the median of process i is ``true + b_i + e_i``, ``b_i``
of variance ``between²``, ``e_i`` of the variance that its own confidence interval says.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.records.timing import Samples

_Z = 1.959964
"""Half the width of a 95 % interval of a normal value, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Components:
    """Relative standard deviations of the median of one process: ``within`` from the samples
    at hand, ``between`` processes beyond that; ``kernels`` is how many they are pooled from."""

    within: float
    between: float
    kernels: int = 1


@dataclass(frozen=True, slots=True)
class Combined:
    """A kernel's time over all its processes, in milliseconds, with a 95 % interval."""

    ms: float
    low: float | None
    high: float | None


def pooled(kernels: Iterable[Sequence[Samples]]) -> Components | None:
    """Of a table of kernels: the median over kernels of both variances' unbiased estimates
    would lose the large ones, so they are averaged after the most extreme tenth at each end
    is cut off. None if no kernel has two processes."""
    found = []
    for sets in kernels:
        known = [s for s in sets if s.low and s.high and s.median > 0]
        if len(known) > 1:
            own = [((s.high or 0) - (s.low or 0)) / s.median / 2 / _Z for s in known]
            logs = [math.log(s.median) for s in known]
            found.append((statistics.variance(logs), statistics.fmean(x * x for x in own)))
    if not found:
        return None
    cut = len(found) // 10
    ordered = zip(*map(sorted, zip(*found, strict=True)), strict=True)
    total, within = map(statistics.fmean, zip(*[*ordered][cut : len(found) - cut], strict=True))
    return Components(math.sqrt(within), math.sqrt(max(0.0, total - within)), len(found))


def combined(sets: Sequence[Samples]) -> Combined:
    """One figure from at least one process: the median of the processes' medians.

    Of one process the interval is its own, which knows nothing of other processes. Of several
    it is Student's on the logarithms of their medians, but never narrower than what a single
    process's samples leave open on average over the root of their number."""
    medians = [s.median for s in sets]
    ms = statistics.median(medians)
    if len(sets) == 1 or min(medians) <= 0:
        return Combined(ms, sets[0].low, sets[0].high)
    from scipy import special

    count = len(sets)
    error = statistics.stdev(map(math.log, medians)) / math.sqrt(count)
    half = float(special.stdtrit(count - 1, 0.975)) * error
    own = [
        (s.high - s.low) / s.median / 2 for s in sets if s.low is not None and s.high is not None
    ]
    if own:
        half = max(half, statistics.fmean(own) / math.sqrt(count))
    centre = statistics.fmean(map(math.log, medians))
    return Combined(ms, min(ms, math.exp(centre - half)), max(ms, math.exp(centre + half)))
