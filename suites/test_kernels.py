"""pytest benchmarks: every kernel of the suite, checked and timed on the GPU."""

from __future__ import annotations

import pytest

from harness.track.gpu_benchmark import GpuBenchmark
from harness.track.pytest_suite import SuiteKernel, benchmark_kernel, open_device, parametrize

suite_device = pytest.fixture(scope="session")(open_device)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every kernel of the suite."""
    parametrize(metafunc)


def test_kernel(
    request: pytest.FixtureRequest, gpu_benchmark: GpuBenchmark, suite_kernel: SuiteKernel
) -> None:
    """Time one kernel in its fastest configuration."""
    benchmark_kernel(request, gpu_benchmark, suite_kernel)
