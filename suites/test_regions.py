"""pytest benchmarks: every region of the suite with every compiler, on the GPU."""

from __future__ import annotations

import pytest

from harness.pytest.gpu_benchmark import GpuBenchmark
from suites.benchmarking import SuiteRegion, benchmark_region


def test_region(
    request: pytest.FixtureRequest, gpu_benchmark: GpuBenchmark, suite_region: SuiteRegion
) -> None:
    """Time one pass through a region, same inputs for every compiler."""
    benchmark_region(request, gpu_benchmark, suite_region)
