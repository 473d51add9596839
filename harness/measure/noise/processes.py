"""Two levels of noise: within a process, and between processes.

What is fixed when a process starts (where its memory lies, how clocks and caches are set) moves all
of its samples together. The logarithm of the median of process i is ``true + b_i + e_i``, ``b_i``
of variance ``between²``, ``e_i`` of the variance that its own confidence interval says.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from harness.records.timing import Samples

NORMAL = 1.959964
"""Half the width of a 95 % interval of a normal value, in standard deviations."""


def pooled(kernels: Iterable[Sequence[Samples]]) -> tuple[float, float] | None:
    """Relative standard deviations of the median of one process, within it from its samples and
    between processes beyond that, of a table of kernels: the median over kernels of both variances'
    unbiased estimates would lose the large ones, so they are averaged after the most extreme tenth
    at each end is cut off. None if no kernel has two processes."""
    found = []
    for sets in kernels:
        known = [s for s in sets if s.low and s.high and s.median > 0]
        if len(known) > 1:
            own = [((s.high or 0) - (s.low or 0)) / s.median / 2 / NORMAL for s in known]
            logs = [math.log(s.median) for s in known]
            found.append((statistics.variance(logs), statistics.fmean(x * x for x in own)))
    if not found:
        return None
    cut = len(found) // 10
    ordered = zip(*map(sorted, zip(*found, strict=True)), strict=True)
    total, within = map(statistics.fmean, zip(*[*ordered][cut : len(found) - cut], strict=True))
    return math.sqrt(within), math.sqrt(max(0.0, total - within))


def combined(sets: Sequence[Samples]) -> tuple[float, float | None, float | None]:
    """One time from at least one process, the median of the processes' medians in milliseconds,
    and its 95 % interval.

    Of one process the interval is its own, which knows nothing of other processes. Of several
    it is Student's on the logarithms of their medians, but never narrower than what a single
    process's samples leave open on average over the root of their number."""
    medians = [s.median for s in sets]
    ms = statistics.median(medians)
    if len(sets) == 1 or min(medians) <= 0:
        return ms, sets[0].low, sets[0].high
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
    return ms, min(ms, math.exp(centre - half)), max(ms, math.exp(centre + half))
