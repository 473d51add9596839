"""What all tests share: tests that use the GPU leave its memory to the next ones."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import without_hypothesis

if TYPE_CHECKING:
    from harness.backend import Devices

without_hypothesis.install()
os.environ.setdefault("HARNESS_VERIFY", "1")  # every program that a test compiles is verified

_MOST_KEPT = 1 << 30
"""Bytes that nothing uses and torch may keep: blocks of which a part is in use."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names of tests are the same in every process, or pytest-xdist refuses all of them."""
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:
        raise pytest.UsageError(f"an address stands in the name of a test (ids=): {moving[0]}")


@pytest.fixture(autouse=True)
def _memory_for_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Many tests start processes that need the GPU, whose memory this one must not keep."""
    if request.node.get_closest_marker("gpu") is None:
        yield
        return
    import torch

    yield
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        assert kept < _MOST_KEPT, f"{kept >> 20} MB of the GPU's memory cannot be given back"


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    """What runs kernels for torch.compile, with a cache of a module of tests."""
    from harness.backend import Devices

    made = Devices(cache=tmp_path_factory.mktemp("cache"))
    yield made
    made.close()
