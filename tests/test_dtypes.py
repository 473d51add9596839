"""Numbers are rounded as torch rounds them."""

from __future__ import annotations

import math

import pytest
import torch

from harness.dtypes import DType, from_torch_name

NARROW = [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: str(d).removeprefix("torch."))
def test_the_nearest_number_is_torchs(dtype: torch.dtype) -> None:
    own, info = from_torch_name(str(dtype)), torch.finfo(dtype)
    least = math.frexp(info.smallest_normal)[1] - 12
    numbers = torch.randn(4000, generator=torch.manual_seed(0)).double()
    numbers *= 2.0 ** torch.randint(least, math.frexp(info.max)[1], (4000,))
    numbers = numbers.float().clamp(info.min, info.max)
    found = [own.nearest(float(n)) for n in numbers]
    assert found == numbers.to(dtype).double().tolist()
    assert own.nearest(info.max) == info.max and own.nearest(info.max * 1.1) == math.inf


def test_constants_that_a_conversion_keeps() -> None:
    assert DType.F32.keeps(0.1) and DType.F16.keeps(-math.inf) and DType.F8E4M3.keeps(448.0)
    assert not any(kind.keeps(0.1) for kind in (DType.F16, DType.BF16, DType.F8E5M2))
    assert not DType.F16.keeps(1e6) and not DType.F8E4M3.keeps(480.0)
    assert not DType.F8E5M2.keeps(math.inf)  # saturates
