"""The pace at which the device goes from one kernel to the next, and what is usual for it.

An H100 launches kernels 0.35 µs quicker than usual for about a second now and then. A probe of
empty kernels after every few samples shows it. What is usual is what most of the latest
measurements saw, each having one voice however long it took: a measurement that comes into
such a second takes many probes, so probes must not be what is counted.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field

_FAR = 0.06
"""How far a probe may be from what is usual; the known change is 0.3 of a probe."""
_VOICES = 15
"""Measurements that say what is usual: a pace that stays is the usual one after 8."""


@dataclass(eq=False, slots=True)
class Paces:
    """What probes showed, in milliseconds, in one process."""

    _usual: deque[float] = field(default_factory=lambda: deque(maxlen=_VOICES))
    _here: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """A measurement begins."""
        self._here.clear()

    def end(self) -> None:
        """The measurement is over: what it mostly saw is its voice."""
        if self._here:
            self._usual.append(statistics.median(self._here))

    def add(self, ms: float) -> None:
        """One probe."""
        self._here.append(ms)

    def unusual(self) -> bool:
        """Whether the latest probe of this measurement, or the one before, at the other end of
        the samples between them, is far from what is usual."""
        # Of two voices the slower one, because the known episodes are quicker than usual.
        usual = statistics.median_high(self._usual or self._here)
        return any(abs(pace - usual) > _FAR * usual for pace in self._here[-2:])
