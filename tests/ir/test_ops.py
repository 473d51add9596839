"""Every row of the operation table: numpy against torch, Triton's text against numpy."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir.ops import COMPUTE_TYPES, Op, Rule, result_dtype, triton_text
from harness.ir.philox import philox
from tests.ir import op_numpy
from tests.ir.meanings import MEANINGS, Domain

RUNNER = Path(__file__).with_name("run_ops.py")
Array = op_numpy.Array


def load_runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_ops", RUNNER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = load_runner()
SPECIALS = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0)


def operands(op: Op, dtype: DType, seed: int = 0) -> list[Array]:
    """Operands of ``op`` from its domain; special values meet each other."""
    domain = MEANINGS[op].domain
    rng = np.random.default_rng([seed, sum(op.value.encode()), len(dtype.short)])
    made: list[Array] = []
    for position in range(op.arity):
        if dtype is DType.BOOL or (op.rule is Rule.SELECT and position == 0):
            made.append(rng.integers(0, 2, RUN.POINTS).astype(np.bool_))
        elif dtype.is_float:
            values = rng.uniform(domain.low, domain.high, RUN.POINTS)
            if domain.specials and op is not Op.SIGNBIT:
                n = len(SPECIALS)
                values[: n * n] = np.tile(SPECIALS, n) if position else np.repeat(SPECIALS, n)
            made.append(values.astype(dtype.torch_name))
        else:
            made.append(_integers(domain, dtype, rng, position))
    return made


def _integers(domain: Domain, dtype: DType, rng: Any, position: int) -> Array:
    info = np.iinfo(dtype.torch_name)
    low, high = max(domain.low, info.min), min(domain.high, info.max)
    values = rng.integers(int(low), int(high) + 1, RUN.POINTS).astype(dtype.torch_name)
    if domain.nonzero and position:
        values[values == 0] = 3
    return np.asarray(values)


def meaning(op: Op, args: list[Array], dtype: DType, target: DType) -> Array:
    with np.errstate(all="ignore"):
        if op is Op.CAST:
            return op_numpy.cast(args[0], target)
        if op is Op.BITCAST:
            return op_numpy.bitcast(args[0], dtype, target)
        return np.asarray(MEANINGS[op].meaning(*args))


TORCH: dict[Op, Callable[..., torch.Tensor]] = {
    Op.FLOOR_DIV: lambda a, b: torch.div(a, b, rounding_mode="floor"),
    Op.TRUNC_DIV: lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    Op.TRUE_DIV: torch.true_divide,
    Op.FMA: lambda a, b, c: a * b + c,
    Op.BIT_AND: torch.bitwise_and,
    Op.BIT_OR: torch.bitwise_or,
    Op.BIT_XOR: torch.bitwise_xor,
    Op.BIT_NOT: torch.bitwise_not,
    Op.SHIFT_LEFT: torch.bitwise_left_shift,
    Op.SHIFT_RIGHT: torch.bitwise_right_shift,
    Op.IN_RANGE: lambda a, b: a,
    Op.DIVISOR: lambda a: a,
    Op.LOG10: torch.log10,
    Op.ERFCX: torch.special.erfcx,
    Op.NDTRI: torch.special.ndtri,
    Op.BESSEL_I1: torch.special.i1,
    Op.BESSEL_J0: torch.special.bessel_j0,
    Op.BESSEL_J1: torch.special.bessel_j1,
    Op.BESSEL_Y0: torch.special.bessel_y0,
    Op.BESSEL_Y1: torch.special.bessel_y1,
    Op.ZETA: torch.special.zeta,
    Op.ONE_PLUS_ERF: lambda x: torch.erfc(-x),
    Op.RANDOM_BITS: philox,
    Op.INTEGER_POWER: torch.pow,
}


def torch_function(op: Op) -> Callable[..., torch.Tensor]:
    name = op.value.removeprefix("special_")
    return TORCH.get(op) or getattr(torch, op.value, None) or getattr(torch.special, name)


def _against_torch(op: Op, dtype: DType) -> float:
    """Units in the last place allowed where torch or an interpreter is the other side:
    torch's float64 lgamma is tens of units off, Triton's interpreter before 3.9 rounds an
    fma twice; special functions in float64 come from different expansions."""
    if op in (Op.BESSEL_Y0, Op.BESSEL_Y1) and dtype is DType.F64:
        return 1e7  # torch's own are right to 1e-10
    if op is Op.IGAMMAC and dtype is DType.F64:
        return MEANINGS[op].ulps  # torch takes the lower one from 1
    if op is Op.ONE_PLUS_ERF and dtype is DType.F32:
        return MEANINGS[op].ulps
    special = op in (
        Op.LGAMMA,
        Op.ERFCX,
        *(one for one, meant in MEANINGS.items() if meant.ulps >= 16),
    )
    return 64.0 if (special and dtype is DType.F64) or op is Op.FMA else 4.0


def all_cases() -> list[Any]:
    return [
        pytest.param(op, dtype, id=f"{op.value}-{dtype.short}")
        for op in Op
        for dtype in op.rule.accepts
        if op.rule is not Rule.CONVERT
    ]


def assert_close(got: Array, expected: Array, ulps: float, dtype: DType) -> None:
    """Equal, or for floats within ``ulps`` of the result type; NaN equals NaN."""
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected)
        return
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite].astype(np.float64), expected[~finite])
    rounded = expected[finite].astype(dtype.torch_name)
    scale = np.maximum(np.abs(rounded), np.finfo(dtype.torch_name).tiny)
    error = np.abs(got[finite].astype(np.longdouble) - expected[finite])
    largest = np.finfo(dtype.torch_name).max
    worst = np.max(error / np.spacing(np.minimum(scale, largest / 2)), initial=0.0)
    assert worst <= ulps, f"off by {worst} units in the last place, {ulps} allowed"


def test_every_operation_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Op)


@pytest.mark.parametrize(("op", "dtype"), all_cases())
def test_meaning_is_torchs(op: Op, dtype: DType) -> None:
    """numpy on the type itself against torch: exact for integers, float64 for floats."""
    args = operands(op, dtype)
    got = meaning(op, args, dtype, dtype)
    if op is Op.FMA and dtype is DType.F64:
        pytest.skip("torch has nothing more exact; the f32 case compares with float64")
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in args]
    with np.errstate(all="ignore"):
        expected = torch_function(op)(*(torch.from_numpy(a) for a in wide)).numpy()
    target = result_dtype(
        op, (DType.BOOL, dtype, dtype) if op is Op.WHERE else (dtype,) * len(args)
    )
    assert got.dtype == np.dtype(target.torch_name)
    if op is Op.NEXTAFTER and dtype is DType.F32:
        expected = torch.nextafter(*(torch.from_numpy(a) for a in args)).numpy()
    if dtype is DType.F32 and op in (Op.FLOOR_DIV, Op.TRUNC_DIV, Op.SIGN):
        expected = torch_function(op)(*(torch.from_numpy(a) for a in args)).numpy()
    assert_close(got, np.asarray(expected), _against_torch(op, dtype), target)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    """What the Triton texts compute in Triton's interpreter."""
    return run_texts(tmp_path_factory.mktemp("ops"), "1")


@pytest.fixture(scope="module")
def on_device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    """What the Triton texts compute on a GPU."""
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return run_texts(tmp_path_factory.mktemp("ops"), "0")


def run_texts(folder: Path, interpret: str) -> dict[str, Array]:
    """Results by ``type/operation_result``."""
    saved: dict[str, Array] = {}
    for dtype in COMPUTE_TYPES:
        rows: list[Array] = []
        for _, op, _ in RUN.cases(dtype):
            args = operands(op, dtype)
            args += [args[0]] * (3 - len(args))
            rows.extend(np.asarray(a).astype(_held(dtype)) for a in args)
        saved[dtype.short] = np.stack(rows)
    np.savez(folder / "in.npz", **saved)  # type: ignore[arg-type]
    _run("run", folder / "in.npz", folder / "out.npz", interpret=interpret)
    return dict(np.load(folder / "out.npz"))


def _held(dtype: DType) -> str:
    return "int8" if dtype is DType.BOOL else dtype.torch_name


def _run(*arguments: object, interpret: str) -> str:
    root = Path(__file__).resolve().parents[2]
    folder = Path(str(arguments[-1]))
    cache = folder if folder.is_dir() else folder.parent
    environment = {
        **os.environ,
        "TRITON_INTERPRET": interpret,
        "PYTHONPATH": str(root),
        "TRITON_CACHE_DIR": str(cache / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(RUNNER), *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def text_cases() -> list[Any]:
    return [
        pytest.param(op, dtype, target, name, id=f"{dtype.short}-{name}")
        for dtype in COMPUTE_TYPES
        for name, op, target in RUN.cases(dtype)
    ]


@pytest.mark.parametrize(("op", "dtype", "target", "name"), text_cases())
def test_triton_text_means_the_same(
    op: Op, dtype: DType, target: DType, name: str, interpreted: dict[str, Array]
) -> None:
    got = interpreted[f"{dtype.short}/{name}"]
    expected = meaning(op, operands(op, dtype), dtype, target)
    if target is DType.BOOL:
        got = got != 0
    assert_close(
        got,
        expected.astype(np.float64) if target.is_float else expected,
        _against_torch(op, dtype),
        target,
    )


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "dtype", "target", "name"), text_cases())
def test_triton_text_on_a_gpu(
    op: Op, dtype: DType, target: DType, name: str, on_device: dict[str, Array]
) -> None:
    """Against numpy in the next wider float, to the row's accuracy."""
    got = on_device[f"{dtype.short}/{name}"]
    args = operands(op, dtype)
    exactly = (Op.CAST, Op.BITCAST, Op.NEXTAFTER, Op.FLOOR_DIV, Op.TRUNC_DIV)
    if op not in exactly and dtype is DType.F32:
        args = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in args]
    expected = meaning(op, args, dtype, target)
    if target is DType.BOOL:
        got = got != 0
    assert_close(got, expected, MEANINGS[op].ulps, target)


@pytest.mark.slow
def test_every_text_compiles(tmp_path: Path) -> None:
    printed = _run("compile", tmp_path, interpret="0")
    assert len(printed.splitlines()) == len(COMPUTE_TYPES)


def test_division_is_plain_when_nothing_is_negative() -> None:
    pair = (DType.I64, DType.I64)
    assert triton_text(Op.FLOOR_DIV, ("a", "b"), pair, DType.I64, True) == "a // b"
    assert triton_text(Op.REMAINDER, ("a", "b"), pair, DType.I64, True) == "a % b"
    assert "where" in triton_text(Op.FLOOR_DIV, ("a", "b"), pair, DType.I64)


def test_type_rules_refuse() -> None:
    with pytest.raises(InvalidProgram, match="wrong type"):
        result_dtype(Op.ADD, (DType.F32, DType.I32))
    with pytest.raises(InvalidProgram, match="wrong type"):
        result_dtype(Op.EXP, (DType.I32,))
    with pytest.raises(InvalidProgram, match="number of operands"):
        result_dtype(Op.ADD, (DType.F32,))
    with pytest.raises(InvalidProgram, match="result type"):
        result_dtype(Op.CAST, (DType.F32,))
    with pytest.raises(InvalidProgram, match="wrong type"):
        result_dtype(Op.WHERE, (DType.F32, DType.F32, DType.F32))
    with pytest.raises(InvalidProgram, match="width"):
        triton_text(Op.BITCAST, ("a",), (DType.F32,), DType.I64)


NARROW = {
    DType.F16: torch.float16,
    DType.BF16: torch.bfloat16,
    DType.F8E4M3: torch.float8_e4m3fn,
    DType.F8E5M2: torch.float8_e5m2,
}


@pytest.mark.parametrize("dtype", list(NARROW), ids=lambda d: d.short)
def test_rounding_to_narrow_floats_is_torchs(dtype: DType) -> None:
    rng = np.random.default_rng(5)
    values = (rng.normal(size=20000) * 10.0 ** rng.uniform(-12, 6, 20000)).astype(np.float32)
    edge = torch.arange(0, 2**16 if dtype.itemsize == 2 else 2**8, dtype=torch.int32)
    kind = torch.int16 if dtype.itemsize == 2 else torch.uint8
    grid = edge.to(kind).view(NARROW[dtype]).float().numpy()
    finite = np.sort(grid[np.isfinite(grid)])
    middles = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    extra = np.array([np.inf, -np.inf, np.nan, 1e30], dtype=np.float32)
    values = np.concatenate([values, grid, middles, extra])
    if dtype is DType.F8E4M3:
        # What torch does beyond the largest value differs between its versions.
        assert op_numpy.round_to_float(
            np.array([500, -np.inf], dtype=np.float32), dtype
        ).tolist() == [448, -448]
        values = values[np.abs(values) <= 448]
    expected = torch.from_numpy(values).to(NARROW[dtype]).float().numpy()
    np.testing.assert_array_equal(op_numpy.round_to_float(values, dtype), expected)
