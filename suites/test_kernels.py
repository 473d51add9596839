"""pytest benchmarks: every kernel of the suite, checked and timed on the GPU."""

from __future__ import annotations

import pytest

from harness.pytest.gpu_benchmark import GpuBenchmark
from suites.benchmarking import SuiteKernel, benchmark_kernel


def test_kernel(
    request: pytest.FixtureRequest, gpu_benchmark: GpuBenchmark, suite_kernel: SuiteKernel
) -> None:
    """Time one kernel in its fastest configuration."""
    benchmark_kernel(request, gpu_benchmark, suite_kernel)
