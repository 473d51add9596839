"""What a kernel rounds on the way stays rounded in the binary, whatever LLVM and ptxas do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from harness.backend import Compiler
from harness.graph.text import loads
from harness.runtime import module as loading
from harness.runtime.compile.static import compile_for
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import TARGETS
from tests.codegen.kernels import modules

SUM_OF_A_PRODUCT = """# harness graph 1
def scaled(
    x: "{kind}[128, 64]",
    y: "{kind}[64]",
):
    product: "{kind}[128, 64]" = aten.mul.Tensor(x, 50.0)
    total: "{kind}[128, 64]" = aten.add.Tensor(product, y)
    return (product, total)
"""
BESIDE_ITS_TRANSPOSE = """# harness graph 1
def quantised(
    x: "bf16[256, 128]",
):
    clamped: "bf16[256, 128]" = aten.clamp.default(x, -448, 448)
    small: "{kind}[256, 128]" = aten._to_copy.default(clamped, dtype=torch.{name})
    turned: "{kind}[128, 256]{{1, 128}}" = aten.permute.default(small, [1, 0])
    copy: "{kind}[128, 256]" = aten.clone.default(turned, memory_format=torch.contiguous_format)
    return (small, copy)
"""


STORED_INTO_AN_INPUT = """# harness graph 1
def state(
    x: "bf16[64]",
):
    wide: "f32[64]" = aten._to_copy.default(x, dtype=torch.float32)
    third: "f32[64]" = aten.mul.Tensor(wide, 0.3333)
    small: "bf16[64]" = aten._to_copy.default(third, dtype=torch.bfloat16)
    back: "f32[64]" = aten._to_copy.default(small, dtype=torch.float32)
    lost: "f32[64]" = aten.sub.Tensor(back, third)
    x[...] = small
    return (lost,)
"""

WRITTEN_OVER = """# harness graph 1
def scores(
    x: "f16[64, 128]",
    y: "f16[128]",
):
    near: "f16[64, 128]" = aten.add.Tensor(x, y)
    written: "f16[64, 128]" = aten.copy.default(x, near)
    wide: "f32[64, 128]" = aten._to_copy.default(written, dtype=torch.float32)
    most: "f32[64, 1]" = aten.amax.default(wide, [-1], True)
    below: "f32[64, 128]" = aten.sub.Tensor(wide, most)
    share: "f32[64, 128]" = aten.exp.default(below)
    small: "f16[64, 128]" = aten._to_copy.default(share, dtype=torch.float16)
    return (small,)
"""

COUNTED = """# harness graph 1
def counted(
    x: "bf16[8192]",
    y: "bf16[8192]",
):
    large: "b8[8192]" = aten.gt.Scalar(x, 0.5)
    mixed: "bf16[8192]" = aten.where.self(large, x, y)
    ne: "b8[8192]" = aten.ne.Tensor(mixed, mixed)
    some: "b8[8192]" = aten.logical_not.default(ne)
    count: "i64[]" = aten.sum.dim_IntList(some, [0])
    total: "bf16[]" = aten.sum.dim_IntList(mixed, [0])
    mean: "bf16[]" = aten.div.Tensor(total, count)
    rest: "bf16[]" = aten.fmod.Scalar(mean, 3)
    return (rest,)
"""

SHARES = """# harness graph 1
def shares(
    x: "f32[1, 4096]",
):
    amax: "f32[1, 1]" = aten.amax.default(x, [-1], True)
    sub: "f32[1, 4096]" = aten.sub.Tensor(x, amax)
    exp: "f32[1, 4096]" = aten.exp.default(sub)
    total: "f32[1, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div: "f32[1, 4096]" = aten.div.Tensor(exp, total)
    small: "bf16[1, 4096]" = aten._to_copy.default(div, dtype=torch.bfloat16)
    return (small,)
"""


PADDED = """# harness graph 1
def padded(
    x: "{kind}[64]",
    y: "{kind}[64]",
):
    large: "b8[64]" = aten.gt.Scalar(x, 0.5)
    mixed: "{kind}[64]" = aten.where.self(large, x, y)
    tiny: "{kind}[66]" = aten.constant_pad_nd.default(mixed, [1, 1], 2e-07)
    return (tiny,)
"""


def ptx(text: str, cache: Path) -> str:
    loaded = loading.load(text, cache)
    made = compile_for(loaded, TARGETS["sm_90"], loaded.configs[0], cache=cache)
    return str(made.asm["ptx"])


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_a_product_that_is_stored_is_what_is_added(
    interpreter: InterpreterPool, tmp_path: Path, kind: str
) -> None:
    (module,) = modules(loads(SUM_OF_A_PRODUCT.format(kind=kind)))
    assert f"fma.rn.{kind}" not in ptx(module.text, tmp_path)
    assert interpreter.check(module.text).passed


@pytest.mark.parametrize("kind, name", [("f8e5m2", "float8_e5m2"), ("f8e4m3", "float8_e4m3fn")])
def test_float8_beside_its_transpose_needs_no_register_twice(
    interpreter: InterpreterPool, tmp_path: Path, kind: str, name: str
) -> None:
    """Pairs that were converted were packed into words for one store and taken apart for the
    other: of these uses ptxas 12.8 left the latter without what they read."""
    (module,) = modules(loads(BESIDE_ITS_TRANSPOSE.format(kind=kind, name=name)))
    text = ptx(module.text, tmp_path)
    converted = set(re.findall(r"cvt\.rn\.satfinite\.e\dm\dx2\.\w+\s+\{?\s*(%rs\d+)", text))
    packed = set(re.findall(r"mov\.b32\s+%r\d+, \{(%rs\d+), (%rs\d+)\}", text))
    assert converted and not converted & {one for pair in packed for one in pair}
    assert interpreter.check(module.text).passed
    alone = BESIDE_ITS_TRANSPOSE.replace("(small, copy)", "(small,)").format(kind=kind, name=name)
    assert ("tl.uint8" in modules(loads(alone))[0].text) == (kind == "f8e5m2")


def test_what_is_stored_into_an_input_is_used_as_it_is_stored(interpreter: InterpreterPool) -> None:
    (module,) = modules(loads(STORED_INTO_AN_INPUT))
    x, lost = torch.linspace(1, 2, 64).bfloat16(), torch.empty(64)
    third = x.float() * 0.3333
    interpreter.launch(module.text, [x, lost])
    assert torch.equal(x, third.bfloat16())
    assert torch.equal(lost, x.float() - third) and lost.any()
    assert interpreter.check(module.text).passed


def test_a_copy_within_a_type_rounds_neither_in_the_kernel_nor_in_its_reference(
    interpreter: InterpreterPool,
) -> None:
    (module,) = modules(loads(WRITTEN_OVER))
    assert ".double() if wide else near" not in module.text
    assert interpreter.check(module.text).passed
    narrower = WRITTEN_OVER.replace('y: "f16', 'y: "f32').replace('near: "f16', 'near: "f32')
    (module,) = modules(loads(narrower))
    assert ".double() if wide else written" in module.text
    assert interpreter.check(module.text).passed


@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_what_a_remainder_divides_by_is_what_else_reads_it(
    compiler: Compiler, wide: torch.dtype
) -> None:
    """Each multiple of ``half`` that is taken away is one of what ``half`` was added to."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        half = (y * 1.1).half()
        halves = (half.to(wide) - x) // half.to(wide), torch.frexp((x.exp() * 3e5).half())[1]
        return torch.fmod(half - x, half), *halves

    x, y = (torch.randn(16, 5, dtype=wide) for _ in range(2))
    found = torch.compile(function, backend=compiler)(x, y)
    for one, other in zip(found, function(x, y), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def test_a_sum_read_behind_a_value_rounded_twice_is_that_of_the_loop() -> None:
    (module,) = modules(loads(COUNTED), True)
    assert module.text.count("tl.sum(") == 2  # a third one would sum up the last block alone


def test_half_of_a_normal_distribution_lies_below_zero(compiler: Compiler) -> None:
    found = torch.compile(torch.special.ndtr, backend=compiler)(torch.tensor([0.0, -0.0, 9.0]))
    assert found.tolist() == [0.5, 0.5, 1.0]


def test_a_short_exponential_keeps_the_smallest_numbers(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    """The device's own takes results below 2^-126 for 0; the square of a root's is right."""
    (module,) = modules(loads(SHARES), True)
    text = ptx(module.text, tmp_path)
    assert "_exp(tmp" in module.text and "ex2.approx.ftz.f32" in text and "mul.ftz" not in text
    x = torch.linspace(-95, -10, 4096)[None]
    x[0, :3] = torch.tensor([0.0, -float("inf"), -200.0])
    shares = torch.empty(1, 4096, dtype=torch.bfloat16)
    interpreter.launch(module.text, [x, shares])
    expected = x.double().softmax(1).bfloat16()
    torch.testing.assert_close(shares, expected, rtol=2**-7, atol=2**-133)
    assert shares[0, :3].tolist() == [0.99609375, 0.0, 0.0]
    assert ((shares > 0) & (shares < 2**-126)).sum() == (
        (expected > 0) & (expected < 2**-126)
    ).sum()


CONVERTED = """# harness graph 1
def converted(
    x: "f32[64, 128]",
    y: "{source}[64, 128]",
):
    wide: "f32[64, 128]" = aten._to_copy.default(y, dtype=torch.float32)
    product: "f32[64, 128]" = aten.mul.Tensor(x, wide)
    small: "{kind}[64, 128]" = {conversion}
    back: "f32[64, 128]" = aten._to_copy.default(small, dtype=torch.float32)
    lost: "f32[64, 128]" = aten.mul.Tensor(back, x)
    return ({returned}lost,)
"""
WRITTEN = "aten._to_copy.default(product, dtype=torch.{name})"
INSERTED = "prims.convert_element_type.default(product, torch.{name})"


def _converted(conversion: str, kind: str, returned: str = "", source: str = "f32") -> str:
    name = {"bf16": "bfloat16", "f16": "float16"}[kind]
    call = conversion.format(name=name)
    graph = CONVERTED.format(kind=kind, conversion=call, returned=returned, source=source)
    (module,) = modules(loads(graph))
    return module.text


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_a_conversion_of_the_program_rounds_in_the_binary(
    interpreter: InterpreterPool, tmp_path: Path, kind: str
) -> None:
    text = _converted(WRITTEN, kind)
    assert f"cvt.rn.{kind}" in ptx(text, tmp_path)
    assert interpreter.check(text).passed
    inserted = _converted(INSERTED, kind)
    assert f"cvt.rn.{kind}" not in ptx(inserted, tmp_path)
    assert interpreter.check(inserted).passed


def test_a_kernel_that_does_not_round_a_conversion_fails_its_check(
    interpreter: InterpreterPool,
) -> None:
    text = _converted(WRITTEN, "bf16")
    unrounded = re.sub(r"(tmp\d+)\.to\(tl\.bfloat16\)", r"\1", text)
    assert unrounded != text and not interpreter.check(unrounded).passed


def test_what_is_stored_in_16_bits_is_rounded_by_the_store(interpreter: InterpreterPool) -> None:
    alone = CONVERTED.replace("lost,)", ")").format(
        kind="bf16", conversion=WRITTEN.format(name="bfloat16"), returned="small, ", source="f32"
    )
    (module,) = modules(loads(alone))
    assert ".to(tl.bfloat16)" not in module.text
    both = _converted(WRITTEN, "bf16", "small, ")
    assert both.count(".to(tl.bfloat16)") == 1
    assert interpreter.check(module.text).passed and interpreter.check(both).passed


def test_numbers_of_8_bits_need_no_rounding_to_16() -> None:
    text = _converted(WRITTEN.replace("product", "y"), "bf16", source="i8")
    assert ".to(tl.bfloat16)" not in text


@pytest.mark.parametrize("kind, bits", [("bf16", "13399"), ("f16", "3")])
def test_a_constant_of_16_bits_is_the_number_rounded(
    interpreter: InterpreterPool, tmp_path: Path, kind: str, bits: str
) -> None:
    """Triton writes constants of bfloat16 with six digits after the point."""
    (module,) = modules(loads(PADDED.format(kind=kind)))
    assert re.search(rf"\b{bits}\b", ptx(module.text, tmp_path))
    assert interpreter.check(module.text).passed
