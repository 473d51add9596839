"""Whether the device launches kernels at its usual interval."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field

_FAR = 0.06
"""How far a probe may be from what is usual; the known change is 0.3 of a probe."""
_MEASUREMENTS = 15
"""Measurements that say what is usual: an interval that stays is the usual one after 8."""
_PATIENCE_MS = 8000.0
"""What measurements may wait in all for one episode to end. Those seen took 1 to 6 s; a longer
one is no episode, and what follows is not held up by it."""


@dataclass(eq=False, slots=True)
class LaunchIntervals:
    """What probes showed, in milliseconds, in one process.

    An H100 launches kernels 0.35 µs quicker than usual now and then: for about a second, and for
    some five seconds of work after other processes had the device. What is usual is the median over
    the latest measurements, each counted once however long it took: a measurement that comes into
    such a second takes many probes, so probes must not be what is counted."""

    _usual: deque[float] = field(default_factory=lambda: deque(maxlen=_MEASUREMENTS))
    _here: list[float] = field(default_factory=list)
    _waited_ms: float = 0.0

    @property
    def patience_ms(self) -> float:
        """For how long the end of the present episode is still worth waiting for."""
        return max(0.0, _PATIENCE_MS - self._waited_ms)

    def begin(self) -> None:
        """A measurement begins."""
        self._here.clear()

    def end(self, lost_ms: float) -> None:
        """The measurement is over and has lost so much time to an unusual interval: if that is
        still there, it has been waited for so long. The measurement counts with its median."""
        self._waited_ms = self._waited_ms + lost_ms if self.unusual() else 0.0
        if self._here:
            self._usual.append(statistics.median(self._here))

    def add(self, ms: float) -> None:
        """One probe."""
        self._here.append(ms)

    def unusual(self) -> bool:
        """Whether the latest probe of this measurement, or the one before, at the other end of
        the samples between them, is far from what is usual."""
        # Of two measurements the slower one, because the known episodes are quicker than usual.
        if not self._here:
            return False
        usual = statistics.median_high(self._usual or self._here)
        return any(abs(ms - usual) > _FAR * usual for ms in self._here[-2:])
