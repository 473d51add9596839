"""Limits by byte mix and by arithmetic."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.measure.jobs import Limit, Roofline
from harness.measure.roofline import bytes_written

FULL = Roofline(3000.0, 3300.0, 2800.0, 50.0, 700.0)


def test_the_mix_decides_between_reading_copying_and_writing() -> None:
    assert FULL.gbps(0.0) == pytest.approx(3300)
    assert FULL.gbps(0.5) == pytest.approx(3000)
    assert FULL.gbps(1.0) == pytest.approx(2800)
    assert 3000 < FULL.gbps(0.25) < 3300
    assert Roofline(3000.0).gbps(0.1) == pytest.approx(3000)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_limit_moves_steadily_with_the_mix(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert FULL.gbps(high) <= FULL.gbps(low) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("written", "roof", "gbps"),
    [(0, "read", 3300), (300, "copy", None), (500, "copy", 3000), (1000, "write", 2800)],
)
def test_a_memory_bound_kernel_is_held_against_the_right_one(
    written: int, roof: str, gbps: float | None
) -> None:
    ms = 1000 / 1500 / 1e6
    found = FULL.limit(ms, 1000, written)
    assert found is not None
    assert found.roof == roof
    if gbps is not None:
        assert found.fraction == pytest.approx(1500 / gbps)


def test_arithmetic_that_takes_longer_than_the_memory_is_the_limit() -> None:
    found = FULL.limit(1.0, 1000, 500, flops=25 * 10**9)
    assert found == Limit("compute", pytest.approx(0.5))
    on_tensor_cores = FULL.limit(1.0, 1000, 500, flops=350 * 10**9, tensor=True)
    assert on_tensor_cores == Limit("compute", pytest.approx(0.5))
    little = FULL.limit(1.0, 3 * 10**9, 15 * 10**8, flops=25 * 10**9)
    assert little is not None
    assert little.roof == "copy"
    assert Roofline(3000.0).limit(1.0, 0, 0) is None


def test_written_bytes_are_the_outputs_each_once() -> None:
    a, b = torch.empty(100), torch.empty(50, dtype=torch.bfloat16)
    assert bytes_written(10_000, [a, b, 3], (1,)) == 100
    assert bytes_written(10_000, [a, b, a], (0, 1, 2)) == 500
    assert bytes_written(300, [a], (0,)) == 300
