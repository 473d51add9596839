"""Between what a timer answers and what a run keeps of it."""

from __future__ import annotations

from harness.measure.timer.graph_timer import METHOD
from harness.records.run import SampleSet
from harness.records.timing import Samples


def sample_set(process: int, samples: Samples, copy_gbps: float | None = None) -> SampleSet:
    """What process number ``process`` of a run measured; ``copy_gbps`` is its copy bandwidth."""
    return SampleSet(
        process,
        samples.ms,
        samples.low,
        samples.high,
        samples.clock_mhz,
        samples.excluded,
        samples.stopped,
        samples.drift,
        samples.launches,
        copy_gbps,
        samples.cycles,
        "" if samples.method == METHOD else samples.method,
    )


def samples_of(found: SampleSet) -> Samples:
    """The other way round."""
    return Samples(
        found.ms,
        found.method or METHOD,
        found.stopped,
        found.low,
        found.high,
        found.drift,
        found.excluded,
        found.clock_mhz,
        found.cycles,
        found.launches,
    )
