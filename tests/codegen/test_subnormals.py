"""Modules whose kernels keep float32 numbers below 2**-126, and those that need not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.codegen.module import EmittedModule
from harness.codegen.values import literal_text
from harness.dtypes import DType
from harness.graph.text import loads
from harness.ir.nodes import Builder
from harness.records import modules as stated
from harness.runtime import module as loading
from harness.runtime.compile.static import compile_for
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import TARGETS
from tests.codegen.kernels import modules

ROOTS = """# harness graph 1
def roots(
    x: "f32[64, 300]",
):
    square: "f32[64, 300]" = aten.mul.Tensor(x, x)
    mean: "f32[64, 1]" = aten.mean.dim(square, [1], True)
    total: "f32[64, 1]" = aten.add.Tensor(mean, {eps})
    root: "f32[64, 1]" = aten.rsqrt.default(total)
    normed: "f32[64, 300]" = aten.mul.Tensor(x, root)
    return (normed,)
"""
GATED = """# harness graph 1
def gated(
    x: "f32[64, 300]",
):
    gate: "f32[64, 300]" = aten.sigmoid.default(x)
    other: "f32[64, 300]" = aten.{name}.default(x)
    both: "f32[64, 300]" = aten.mul.Tensor(gate, other)
    return (both,)
"""


def only(text: str) -> EmittedModule:
    (module,) = modules(loads(text))
    return module


def compiled(module: EmittedModule, cache: Path) -> tuple[bool, str]:
    """Whether the device library takes subnormal numbers for 0, and the kernel's PTX."""
    loaded = loading.load(module.text, cache)
    made = compile_for(loaded, TARGETS["sm_90"], loaded.configs[0], cache=cache)
    return made.metadata.enable_reflect_ftz, str(made.asm["ptx"])


BY_A_ROOT = """    above: "f32[64, 1]" = aten.sqrt.default(total)
    root: "f32[64, 1]" = aten.reciprocal.default(above)
"""


@pytest.mark.parametrize("by_a_root", [False, True])
@pytest.mark.parametrize("eps", [1e-12, 1e-6])
def test_the_root_of_a_norm_is_one_instruction(
    eps: float, by_a_root: bool, tmp_path: Path, interpreter: InterpreterPool
) -> None:
    """Also where its reciprocal is taken (batch norms), which would wait for loads twice."""
    text = ROOTS.format(eps=eps)
    line = next(one for one in text.splitlines(keepends=True) if "rsqrt" in one)
    module = only(text.replace(line, BY_A_ROOT) if by_a_root else text)
    assert interpreter.check(module.text).passed and "sqrt_rn" not in module.text
    assert "tl.rsqrt(" in module.text and "COMPILE_OPTIONS" not in module.text
    flushes, text = compiled(module, tmp_path)
    assert flushes and "rsqrt.approx.ftz.f32" in text


def test_the_root_of_what_may_be_subnormal(interpreter: InterpreterPool, tmp_path: Path) -> None:
    module = only(ROOTS.format(eps=1e-38))
    assert 'COMPILE_OPTIONS = {"enable_reflect_ftz": False}' in module.text
    flushes, text = compiled(module, tmp_path)
    assert not flushes and re.search(r"rsqrt\.approx\.f32", text) and ".ftz" not in text
    assert interpreter.check(module.text).passed


@pytest.mark.parametrize("name, keeps", [("cos", False), ("tanh", True), ("sin", True)])
def test_only_functions_that_need_it(name: str, keeps: bool, tmp_path: Path) -> None:
    """The quick exponential beside them takes more instructions."""
    flushes, text = compiled(only(GATED.format(name=name)), tmp_path)
    assert flushes != keeps and ("fma.rn.ftz" not in text) == keeps


def test_the_option_is_part_of_what_a_module_executes() -> None:
    module = only(GATED.format(name="tanh"))
    line = re.escape('COMPILE_OPTIONS = {"enable_reflect_ftz": False}') + ".*\n"
    without = re.sub(line, "", module.text)
    assert stated.code_hash(module.text) == module.code_hash != stated.code_hash(without)


@pytest.mark.parametrize(
    ("number", "dtype", "text"),
    [
        (0.5, DType.F64, "0.5"),
        (0.1, DType.F64, "tl.full([], 0.1, tl.float64)"),
        (1e300, DType.F64, "tl.full([], 1e+300, tl.float64)"),
        (0.1, DType.F32, "0.1"),
        (1e-40, DType.F32, "tl.full([], 1e-40, tl.float32)"),
    ],
)
def test_literals_that_triton_reads_as_another_type_are_written_with_theirs(
    number: float, dtype: DType, text: str
) -> None:
    assert literal_text(Builder().constant(number, dtype)) == text


def test_a_module_alone_fuses_products_and_sums_as_the_harness_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton 3.10 will not where nobody asks for it."""
    loaded, asked = loading.load(only(GATED.format(name="cos")).text, tmp_path), {}

    class Launched:
        def __getitem__(self, grid: object) -> Callable[..., None]:
            return lambda *args, **options: asked.update(options)

    monkeypatch.setattr(loaded.raw, loaded.name, Launched())
    loaded.raw.call(loaded.get_args("cpu"))
    monkeypatch.undo()
    made = compile_for(loaded, TARGETS["sm_90"], loaded.configs[0], cache=tmp_path)
    assert asked["enable_fp_fusion"] is made.metadata.enable_fp_fusion is True
