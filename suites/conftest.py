"""What the suites' pytest benchmarks share: one GPU process, one pool of other compilers."""

from __future__ import annotations

import pytest

from suites.benchmarking import named, open_device, open_regions, parametrize

suite_device = pytest.fixture(scope="session")(open_device)
suite_regions = pytest.fixture(scope="session")(open_regions)
suite_graph = pytest.fixture(named)
suite_kernel = pytest.fixture(named)
suite_region = pytest.fixture(named)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every graph, kernel or region of the suite, as far as a test takes them."""
    parametrize(metafunc)
