"""Options that look for where numbers go wrong, and for inputs in different layouts."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices, backend
from harness.errors import LayoutWarning, NotFinite, UsageError


def roots(x: torch.Tensor) -> torch.Tensor:
    return torch.sqrt(x).sum(1) * 2


def run(devices: Devices, x: torch.Tensor, **switches: Any) -> torch.Tensor:
    torch.compiler.reset()
    found = torch.compile(roots, backend=Compiler(devices=devices, **switches))(x)
    assert isinstance(found, torch.Tensor)
    return found


def test_the_kernel_that_makes_nan_is_named(devices: Devices) -> None:
    x = torch.ones(4, 9)
    assert run(devices, x, assert_no_nan=True).tolist() == [18.0] * 4
    x[2, 3] = -1
    with pytest.raises(NotFinite, match=r"a kernel writes NaN") as caught:
        run(devices, x, assert_no_nan=True)
    assert "1 of 4, the first at (2,)" in caught.value.got
    assert "torch.sqrt(x).sum(1) * 2" in caught.value.where
    assert run(devices, x).isnan().any(), "off: as eager mode"


def test_what_was_wrong_before_is_told_from_what_a_kernel_makes(devices: Devices) -> None:
    x = torch.ones(4, 9)
    x[1, 8] = torch.inf
    assert run(devices, x, assert_no_nan=True).isinf().any()
    with pytest.raises(NotFinite, match=r"a kernel reads NaN or infinities") as caught:
        run(devices, x, assert_finite=True)
    assert "in_ptr0: 1 of 36, the first at (1, 8)" in caught.value.got


def test_switches_of_the_environment_and_of_the_backend(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_ASSERT_NO_NAN", "1")
    with pytest.raises(NotFinite):
        run(devices, -torch.ones(2, 3))
    with pytest.raises(UsageError, match="does not know") as caught:
        backend(None, [], options={"assert_nan": True})  # type: ignore[arg-type]
    assert "assert_no_nan" in caught.value.expected


def test_inputs_of_one_shape_in_different_orders_are_warned_of(devices: Devices) -> None:
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y * 2

    x = torch.randn(2, 8, 5, 6)
    last = x.to(memory_format=torch.channels_last)
    for other, expected in ((x, 0), (last, 1)):
        torch.compiler.reset()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.compile(add, backend=Compiler(devices=devices, warn_layouts=True))(x, other)
        found = [str(w.message) for w in seen if issubclass(w.category, LayoutWarning)]
        assert len(found) == expected
    assert "in_ptr0 by (0, 1, 2, 3), in_ptr1 by (0, 2, 3, 1)" in found[0]
