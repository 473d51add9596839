"""Texts whose functions of the device library take numbers below 2**-126 for 0, with stand-ins that
do so, too: the interpreter's do not."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
import torch

from harness.codegen.tail import functions_called
from harness.dtypes import DType
from harness.ir.ops import Op, triton_text
from tests.ir.meanings import MEANINGS

Array = np.ndarray[Any, Any]
NUMBERS = [
    0.0, 1e-45, 1e-40, 1.1e-38, 1.2e-38, 1.5e-38, 3e-38, 1e-30, 1e-8, 0.1, 1.0, 3.0, 7.5, 65520.0,
    1e30, 1.2e30, 1.3e30, 2e37, 1e38, 3e38, np.inf, np.nan,
]  # fmt: skip
SIGNED = np.array([*NUMBERS, *(-n for n in NUMBERS)], np.float32)
"""Ordinary, subnormal, smallest, largest and special numbers of either sign."""


def flushed(x: Any) -> Any:
    """``x`` with zeros in the places of subnormal numbers."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def computed(op: Op, *operands: Array) -> Array:
    """What the text of ``op`` makes of float32 ``operands`` on a device like that."""
    text = triton_text(op, ("a", "b")[: len(operands)], (DType.F32,) * len(operands), DType.F32)

    def device(function: Any) -> Any:
        return lambda *args: flushed(function(*map(flushed, map(np.float32, args))))

    tl = types.SimpleNamespace(
        where=np.where, abs=np.abs, float64=np.float64, div_rn=np.divide,
        floor=device(np.floor), ceil=device(np.ceil),
    )  # fmt: skip
    library = types.SimpleNamespace(fmod=device(np.fmod), rint=np.rint, trunc=np.trunc)
    jit = types.SimpleNamespace(jit=lambda function: function)
    scope = {"tl": tl, "libdevice": library, "triton": jit}
    for function in functions_called(text).values():
        exec(function.replace(".to(", ".astype("), scope)
    with np.errstate(all="ignore"):
        made = eval(text, scope, dict(zip(("a", "b"), operands, strict=False)))
    return np.asarray(made, np.float32)


def test_a_divisor_below_the_smallest_normal_number() -> None:
    """It made NaN of a number divided by itself (program 2200209)."""
    x = np.array([1e-40, -1e-40, 1e-45], np.float32)
    assert computed(Op.FLOOR_DIV, x, x).tolist() == [1.0] * 3
    assert computed(Op.FMOD, x, x).tolist() == [0.0] * 3


@pytest.mark.parametrize("op", [Op.FMOD, Op.REMAINDER, Op.FLOOR_DIV, Op.TRUNC_DIV])
def test_remainders_and_quotients(op: Op) -> None:
    a, b = (each.reshape(-1) for each in np.meshgrid(SIGNED, SIGNED))
    found = computed(op, a, b)
    functions = {Op.FMOD: torch.fmod, Op.REMAINDER: torch.remainder}
    mode = "floor" if op is Op.FLOOR_DIV else "trunc"
    function = functions.get(op, lambda x, y: torch.div(x, y, rounding_mode=mode))
    # One after the other: eager mode's vectors have other remainders of infinite quotients.
    pairs = zip(torch.from_numpy(a), torch.from_numpy(b), strict=True)
    wanted = np.array([float(function(x, y)) for x, y in pairs], np.float32)
    # Of a dividend from 2**100 on a subnormal rest is only known to be smaller than the divisor.
    rough = (np.abs(a) >= 2.0**100) & (np.abs(b) < 2.0**-102)
    close = np.isclose(found, wanted, rtol=2e-7, atol=0, equal_nan=True)
    assert (close | rough & (np.abs(found) <= np.abs(b))).all()
    zeros = (found == 0) & (wanted == 0)
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("op", [Op.FLOOR, Op.CEIL])
def test_whole_numbers_beside_subnormal_ones(op: Op) -> None:
    found, wanted = computed(op, SIGNED), MEANINGS[op].meaning(SIGNED)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(wanted))
