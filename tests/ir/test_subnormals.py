"""Float32 numbers below 2**-126, as the texts of operations compiled for a GPU treat them."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from harness.codegen import tail
from harness.dtypes import DType
from harness.ir.ops import Op, Rule, triton_text
from tests.ir.meanings import MEANINGS
from tests.ir.run_ops import HEADER
from tests.ptx.launching import evaluated

Array = np.ndarray[Any, Any]
NUMBERS = [
    0.0, 1e-45, 1e-40, -1e-40, 1.1e-38, 1.2e-38, -3e-38, 1e-30, -0.1, 0.5, 1.0, -1.5, 3.0, 7.5,
    -87.0, -90.0, -130.0, 1e30, 3e38, np.inf,
]  # fmt: skip
"""Ordinary, subnormal, smallest and largest numbers; some whose powers are subnormal."""
_LOOPS = {Op.ZETA, Op.IGAMMA, Op.IGAMMAC, *(op for op in Op if "polynomial" in op.value)}
OPERATIONS = [
    op for op in Op if op.rule in (Rule.FLOAT, Rule.NUMBER, Rule.ANY) and op not in _LOOPS
]
_WAVES = {op for op in Op if re.fullmatch(r"sin|cos|tan|special_(bessel_..|i1)", op.value)}
"""Operations that are not tried on large numbers: some have integer arithmetic for them alone."""
EXACT: dict[Op, Any] = {
    **{
        op: getattr(special, op.value[-2:])
        for op in Op
        if op.value[-2:] in ("i1", "j1", "y0", "y1")
    },
    Op.NEXTAFTER: lambda a, b: np.nextafter(np.float32(a), np.float32(b)),
    Op.TRUNC_DIV: lambda a, b: np.trunc(np.float32(a / b)),
    Op.SIGMOID: lambda x: 1 / (1 + np.exp(np.float32(-x))),  # in float32 the power is infinite
}
"""Operations whose meaning is too rough for such numbers, or that of float64."""


def kernel(op: Op) -> str:
    """A kernel's text, with its functions, that computes ``op`` of rows of 128 numbers."""
    names = ("a", "b", "c")[: op.arity]
    lines = ["@triton.jit", "def kernel(operands, out, N: tl.constexpr):"]
    for position, name in enumerate(names):
        lines.append(f"    {name} = tl.load(operands + {position} * N + tl.arange(0, N))")
    text = triton_text(op, names, [DType.F32] * op.arity, DType.F32)
    own = "\n".join([*lines, f"    tl.store(out + tl.arange(0, N), {text})"])
    return "\n\n".join((*tail.functions_called(own).values(), own)) + "\n"


def keeps(op: Op) -> bool:
    """Whether a module with such a kernel has the device library keep subnormal numbers."""
    return "COMPILE_OPTIONS" in tail.arguments("kernel", False, "", kernel(op))


def compiled(op: Op, folder: Path, **options: bool) -> str:
    """Its PTX for compute capability 9.0."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    path = folder / f"{op.value}.py"
    path.write_text(HEADER + kernel(op))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(
        module.kernel, {"operands": "*fp32", "out": "*fp32", "N": "constexpr"}, {(2,): 128}
    )
    options = {"sanitize_overflow": False, "enable_fp_fusion": True, **options}
    return str(triton.compile(source, GPUTarget("cuda", 90, 32), options=options).asm["ptx"])


@functools.cache
def operands(op: Op) -> Array:
    """Rows of operands, a column for each."""
    some = np.array(NUMBERS, np.float32)
    some = some[np.abs(some) < 1e4] if op in _WAVES else some
    few = some if op.arity < 3 else some[[1, 2, 3, 9]]
    return np.array(list(itertools.product(few, repeat=op.arity)), np.float32)


def results(text: str, op: Op) -> Array:
    """What ``text`` makes of ``operands``."""
    return evaluated(text, operands(op))


def wrong(op: Op, found: Array) -> Array:
    """Where ``found`` is not what ``op`` means, to some units of the last place."""
    given = operands(op).T
    with np.errstate(all="ignore"):
        wanted = EXACT.get(op, MEANINGS[op].meaning)(*given.astype(np.float64)).astype(np.float32)
        return np.asarray(~np.isclose(found, wanted, 1e-4, 2.0**-147, equal_nan=True))


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.value)
def test_subnormal_operands_and_results(op: Op, tmp_path: Path) -> None:
    """By the instructions themselves, which say whether they take such numbers for 0. Where the
    device library need not keep them, its results are the same without them."""
    found = results(compiled(op, tmp_path, enable_reflect_ftz=not keeps(op)), op)
    rows = operands(op)[wrong(op, found)]
    assert rows.tolist() == [], found[wrong(op, found)]


@pytest.mark.parametrize("op", [o for o in OPERATIONS if keeps(o)], ids=lambda o: o.value)
def test_what_is_compiled_otherwise_needs_it(op: Op, tmp_path: Path) -> None:
    found = results(compiled(op, tmp_path, enable_reflect_ftz=True), op)
    assert wrong(op, found).any()
