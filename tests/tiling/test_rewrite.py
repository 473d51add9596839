"""Positions that are computed from floats, in 32 bits where those hold them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import interpolate

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.dtypes import DType
from harness.ir.nodes import Compute, values
from harness.ir.ops import Op


def enlarged(x: torch.Tensor) -> torch.Tensor:
    return interpolate(x, scale_factor=2, mode="bilinear")


def found_in_data(x: torch.Tensor) -> torch.Tensor:
    """Whose places are rounded data: of any size, infinite or NaN."""
    return (x * 3).to(torch.int64) + 1


def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Places that a result has as well, in 64 bits."""
    at = (torch.arange(x.shape[-1] * 2) * 0.45).to(torch.int64)
    return x[..., at], at * 2**33


@pytest.mark.parametrize(
    ("function", "narrow"), [(enlarged, True), (halves, True), (found_in_data, False)]
)
def test_positions_are_converted_in_32_bits_where_those_hold_them(
    function: Callable[[torch.Tensor], object], narrow: bool, devices: Devices
) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x = torch.randn(2, 3, 9, 14)
    assert differences(function, [x], compiler) == []
    stores = [s for kernel in compiler.compiled[-1].kernels for s in kernel.source.plan.stores]
    made = [v for v in values(stores) if isinstance(v, Compute) and v.op is Op.CAST]
    found = {v.dtype for v in made if v.args[0].dtype is DType.F32}
    assert (DType.I32 in found) is narrow
    assert (DType.I64 in found) is (function is not enlarged)


def test_a_reduction_of_positions_is_the_same_in_all_segments(devices: Devices) -> None:
    """One segment makes floats integers, both use a sum of positions that are made floats."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(x.shape[-1]).to(torch.float32)
        found = (places * 0.45).to(torch.int64)
        total = (x * places).sum(-1, keepdim=True)
        return x * total, x.softmax(-1) * (total + found)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [torch.randn(5, 300)], compiler) == []
