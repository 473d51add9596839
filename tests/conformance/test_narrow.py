"""Integers of 8 and 16 bits wrap around inside kernels as they do in memory; floats of 16 bits are
rounded before what they decide."""

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


_SMALL = {
    "any": lambda x: x.any(1),
    "and": lambda x: torch.logical_and(x, x.new_ones(1)),
    "or": lambda x: torch.logical_or(x, x.new_zeros(1)),
    "not": torch.logical_not,
    "xor": lambda x: torch.logical_xor(x, x.new_zeros(1)),
    "sign": torch.sign,
    "sgn, which is computed in float32": torch.sgn,
    "angle": lambda x: torch.angle(-x),
    "step": lambda x: torch.heaviside(x, x.new_full((1,), 0.5)),
    "decimals": lambda x: (x * 5e4 + 0.25).round(decimals=1),
}


@pytest.mark.parametrize("name", _SMALL)
def test_what_is_decided_on_is_rounded(compiler: Compiler, name: str) -> None:
    """Less than half of the smallest float16 is nothing (4913589: ``logical_xor`` of what was
    rounded and what was not)."""
    x = torch.rand(3, 40).half() + 1

    def function(x: torch.Tensor) -> torch.Tensor:
        return _SMALL[name](x * 1e-9)

    found = torch.compile(function, backend=compiler)(x)
    assert torch.equal(found, function(x))


def _largest(x: torch.Tensor) -> torch.Tensor:
    wide = (x * 1.1).float()
    return wide.amax(1) + wide.min(1)[0]


def _is_largest(x: torch.Tensor) -> torch.Tensor:
    wide = (x * 1.1).float()
    return wide == wide.amax(1, True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_extreme_of_what_is_widened_equals_one_of_it(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """Its gradient goes there; were one of both rounded, it would be 0 / 0."""
    x = torch.rand(3, 40).to(dtype).requires_grad_()
    (found,) = torch.autograd.grad(torch.compile(_largest, backend=compiler)(x).sum(), x)
    torch.testing.assert_close(found.sum(1).float(), torch.full((3,), 2.2), rtol=0.02, atol=0)
    is_largest = torch.compile(_is_largest, backend=compiler)
    assert bool(is_largest(x.detach()).any(1).all())
