"""Integers of 8 and 16 bits wrap around inside kernels as they do in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.dtypes import DType
from harness.ir.op_triton import Call, maximum, minimum


@pytest.fixture
def compiler(devices: Devices) -> Iterator[Compiler]:
    yield Compiler(devices=devices)
    torch.compiler.reset()


NARROW: dict[str, tuple[Callable[..., Any], int]] = {
    # Triton 3.6 has int32 of int16 and a number, Triton's sums and extremes int32 of int16.
    "clamp": (lambda x: (x.clamp(100, 300) ** 2).long().sum(1), 73392),
    "sum": (lambda x: x.sum(1, dtype=torch.int16).long(), 24464),
    "sums of 8 bits": (lambda x: x.to(torch.int8).sum(1, dtype=torch.int8).long(), -112),
    "product": (lambda x: x.prod(1, dtype=torch.int16).int(), -20480),
    "largest": (lambda x: (x.amax(1) * 3).int(), 24464),
}


@pytest.mark.parametrize("name", NARROW)
def test_narrow_integers_wrap_around(compiler: Compiler, name: str) -> None:
    function, expected = NARROW[name]
    x = torch.full((2, 3), 30000, dtype=torch.int16)
    assert function(x).tolist() == [expected] * 2
    assert torch.compile(function, backend=compiler)(x).tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (DType.I16, "tl.{}(a, 3).to(tl.int16)"),
        (DType.U8, "tl.{}(a, 3).to(tl.uint8)"),
        (DType.I32, "tl.{}(a, 3)"),
    ],
)
def test_an_extreme_of_a_narrow_integer_and_a_number_keeps_its_type(
    dtype: DType, text: str
) -> None:
    call = Call(("a", "3"), (dtype, dtype), dtype, False)
    assert maximum(call) == text.format("maximum")
    assert minimum(call) == text.format("minimum")
