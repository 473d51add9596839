"""Every device-library function that has a stand-in, against plain numpy and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from harness.runtime.interpret.interpreting import evaluate, round_to, stand_in

CASES = {
    "tanhf": (np.tanh, 1),
    "tanh": (np.tanh, 1),
    "erff": (lambda x: torch.erf(torch.from_numpy(x)).numpy(), 1),
    "rintf": (np.rint, 1),
    "roundf": (lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), 1),
    "truncf": (np.trunc, 1),
    "expm1f": (np.expm1, 1),
    "powf": (lambda x, y: np.power(np.abs(x), y), 2),
    "atan2f": (np.arctan2, 2),
    "hypotf": (np.hypot, 2),
    "copysignf": (np.copysign, 2),
    "fmodf": (np.fmod, 2),
    "fdim": (lambda x, y: np.maximum(x - y, 0), 2),
    "isnanf": (np.isnan, 1),
    "signbitf": (np.signbit, 1),
    "fast_expf": (np.exp, 1),
    "cbrtf": (np.cbrt, 1),
    "ilogbf": (lambda x: np.frexp(x)[1] - 1, 1),
    "tgamma": (np.vectorize(math.gamma), 1),
    "fast_powf": (lambda x, y: np.power(np.abs(x), y), 2),
    "fadd_rn": (np.add, 2),
    "fma_rn": (lambda x, y, z: x * y + z, 3),
    "isfinited": (np.isfinite, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_stand_in(name: str) -> None:
    expected, count = CASES[name]
    rng = np.random.default_rng(7)
    dtype = np.float32 if name.endswith("f") else np.float64
    args = [(rng.standard_normal(500) * 3).astype(dtype) for _ in range(count)]
    if "pow" in name:
        args[0] = np.abs(args[0])
    want = expected(*args)
    integral = np.asarray(want).dtype.kind in "bi"
    function = stand_in(f"__nv_{name}")
    assert function is not None
    found = evaluate(function, args, np.int32 if integral else dtype)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["fadd_rz", "clz", "hadd", "float2int_rn", "jn", "nothing"])
def test_what_is_done_otherwise_has_no_stand_in(name: str) -> None:
    assert stand_in(f"__nv_{name}") is None


def test_nextafter_steps_in_its_own_type() -> None:
    one = np.ones(3, np.float32)
    function = stand_in("__nv_nextafterf")
    assert function is not None
    found = evaluate(function, [one, one * 2], np.float32)
    assert (found == np.nextafter(one, one * 2)).all()


def test_a_remainder_is_exact_where_the_quotient_is_infinite() -> None:
    x, y = np.full(17, 1.0), np.full(17, 3e-310)  # as many as a vector has, and more
    function = stand_in("__nv_fmod")
    assert function is not None
    assert (evaluate(function, [x, y], np.float64) == math.fmod(1.0, 3e-310)).all()
    assert evaluate(function, [x[0], y[0]], np.float64) == math.fmod(1.0, 3e-310)


def test_arguments_are_not_changed() -> None:
    x = np.linspace(-2, 2, 9).astype(np.float32)
    before = x.copy()
    for name in ("sinf", "fabsf", "saturatef"):
        function = stand_in(f"__nv_{name}")
        assert function is not None
        evaluate(function, [x], np.float32)
    assert (x == before).all()


@pytest.mark.parametrize(
    ("target", "dtype"),
    [("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp8e4nv", torch.float8_e4m3fn)],
)
def test_conversions_round_to_nearest_even(target: str, dtype: torch.dtype) -> None:
    values = torch.randn(4000) * 50
    values[:4] = torch.tensor([0.0, -0.0, 1e-30, 1.00390625])
    bits = round_to(values.numpy(), "fp32", target)
    found = torch.from_numpy(bits.copy()).view(dtype)
    assert torch.equal(found.float(), values.to(dtype).float())
    back = round_to(bits, target, "fp32").view(np.float32)
    assert (back == found.float().numpy()).all()


def test_eight_bit_conversions_saturate() -> None:
    bits = round_to(np.array([1e6, -1e6, np.nan], np.float32), "fp32", "fp8e4nv")
    found = torch.from_numpy(bits.copy()).view(torch.float8_e4m3fn).float()
    assert found[:2].tolist() == [448.0, -448.0]
    assert bool(found[2].isnan())
