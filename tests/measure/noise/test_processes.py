"""Two levels of noise, simulated with known variances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.measure.noise.processes import combined, pooled
from harness.records.timing import Samples


def simulated(
    rng: np.random.Generator, processes: int, between: float, within: float, ms: float = 1.0
) -> tuple[Samples, ...]:
    """Processes whose medians stray by ``between`` and, within what their intervals say, by
    ``within``."""
    found = []
    for number in range(processes):
        middle = ms * math.exp(between * rng.standard_normal() + within * rng.standard_normal())
        half = 1.96 * within * middle
        found.append(Samples((middle,), process=number, low=middle - half, high=middle + half))
    return tuple(found)


@pytest.mark.parametrize(("between", "within"), [(0.004, 0.001), (0.002, 0.002), (0.0, 0.002)])
def test_the_between_process_share_is_found(between: float, within: float) -> None:
    rng = np.random.default_rng(0)
    kernels = [simulated(rng, 6, between, within) for _ in range(1500)]
    found = pooled(kernels)
    assert found is not None
    assert found[0] == pytest.approx(within, rel=0.02)
    assert found[1] == pytest.approx(between, rel=0.1, abs=4e-4)


def test_a_few_wild_kernels_do_not_decide() -> None:
    rng = np.random.default_rng(1)
    kernels = [simulated(rng, 4, 0.002, 0.001) for _ in range(200)]
    wild = [simulated(rng, 4, 0.3, 0.001) for _ in range(10)]
    found = pooled([*kernels, *wild])
    assert found is not None
    assert found[1] < 0.003


def test_one_process_says_nothing_of_others() -> None:
    rng = np.random.default_rng(2)
    (only,) = simulated(rng, 1, 0.1, 0.001)
    assert pooled([[only], []]) is None
    assert combined([only])[1] == only.low
    assert pooled([[Samples((1.0,)), Samples(process=1, ms=(1.0,))]]) is None


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_the_combined_interval_covers(processes: int) -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(2000):
        ms, low, high = combined(simulated(rng, processes, 0.004, 0.0005))
        assert low is not None
        assert high is not None
        assert low <= ms <= high
        hits += low <= 1.0 <= high
    assert abs(hits / 2000 - 0.95) < 0.015


def test_processes_that_agree_by_luck_are_not_believed_more_than_their_samples() -> None:
    sets = [Samples((1.0,), process=n, low=0.99, high=1.01) for n in range(4)]
    _, low, high = combined(sets)
    assert low == pytest.approx(1 - 0.005, abs=1e-4)
    assert high == pytest.approx(1 + 0.005, abs=1e-4)
