from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch._dynamo.config


@pytest.fixture(autouse=True)
def _no_cache_of_what_operators_give() -> Iterator[None]:
    """No program is like another: torch's cache of the types that operators give takes an eighth of
    a program's time and finds next to nothing."""
    with torch._dynamo.config.patch(fake_tensor_cache_enabled=False):
        yield
