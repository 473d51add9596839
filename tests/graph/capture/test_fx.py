"""Slices of unknown sizes: positions that a caller passes count from either end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from harness.backend import Compiler, Devices
from harness.errors import FallbackWarning


def _written(x: Tensor, begin: int) -> Tensor:
    made = x * 1
    made[begin : begin + 2] = 7.0
    return made


_OF_NUMBERS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "read": lambda x, p: x[p : p + 3] * 2,
    "written": _written,
    "both ends": lambda x, p: x[p - 3 : p + 9] * 2,
    "scattered": lambda x, p: torch.slice_scatter(x * 1, torch.full((2, 3), 3.0), 0, p, p + 2),
}


@pytest.mark.parametrize("first", [3, -4, -8])
@pytest.mark.parametrize("name", _OF_NUMBERS)
def test_a_slice_at_a_number_below_zero(compiler: Compiler, name: str, first: int) -> None:
    """Its length is the same at either end and tells nothing."""
    f, x = _OF_NUMBERS[name], torch.randn(8, 3)
    run: Any = torch.compile(f, backend=compiler, dynamic=True)
    for place in (first, 3, -4, 2, -8, -3):
        assert torch.equal(run(x, place), f(x, place)), place
    assert not any(report.failures or report.eager for report in compiler.reports)


def test_an_element_beyond_the_end_is_written_nowhere_silently(devices: Devices) -> None:
    """A number that varies: the slice that writes it would be clamped to none."""

    def f(x: Tensor, p: int) -> Tensor:
        return torch.select_scatter(x * 1, torch.full((3,), 3.0), 0, p)

    x = torch.randn(8, 3)
    run: Any = torch.compile(f, backend=Compiler(devices=devices), dynamic=True)
    for place in (3, -4, 7, -8):
        assert torch.equal(run(x, place), f(x, place)), place
    for place in (8, -9, 20):
        with pytest.raises(IndexError, match="out of range"), warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            run(x, place)


@pytest.mark.parametrize("place", [3, -4])
def test_a_slice_at_a_number_that_data_gives(devices: Devices, place: int) -> None:
    """From which end it counts is not known before: torch writes it, and that is said."""

    def f(x: Tensor, n: Tensor) -> Tensor:
        return _written(x, int(n.item()))

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        run: Any = torch.compile(f, backend=Compiler(devices=devices))
        for n in (place, 3, -4, 2):
            x, at = torch.randn(8, 3), torch.tensor(n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FallbackWarning)
                assert torch.equal(run(x, at), f(x, at)), n


@pytest.mark.parametrize("end", [None, 1])
def test_the_last_elements_of_fewer_than_are_asked_for(compiler: Compiler, end: int | None) -> None:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        filled = x * 1
        filled[-11:end] = 7.0
        return x[-11:end] * 2, filled

    run: Any = torch.compile(f, backend=compiler, dynamic=True)
    for size in (8, 5, 9) if end else (8, 20, 11, 9):
        x = torch.randn(size, 3)
        assert all(map(torch.equal, run(x), f(x))), size
