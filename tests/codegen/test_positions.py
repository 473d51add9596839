"""Positions in tensors of several unknown sizes: right at every size, without a division each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from harness.graph.text import loads
from harness.runtime import module as runtime
from harness.runtime.interpret.interpreter import CheckResult, InterpreterPool
from tests.codegen.kernels import as_launched, modules

MOST = 20_000
"""Elements at most: the interpreter's."""

TEXTS = {
    "broadcast": """def broadcast(
    x: "f32[s0, s1, s2]",
    a: "f32[s1, 1]",
    b: "f32[s0, 1, s2]",
):
    mul: "f32[s0, s1, s2]" = aten.mul.Tensor(x, a)
    add: "f32[s0, s1, s2]" = aten.add.Tensor(mul, b)
    return (add,)
""",
    "channels": """def channels(
    x: "f16[s0, s1, s2, s3]",
    a: "f16[s1, 1, s3]",
    b: "f16[s2, 1]",
):
    mul: "f16[s0, s1, s2, s3]" = aten.mul.Tensor(x, a)
    add: "f16[s0, s1, s2, s3]" = aten.add.Tensor(mul, b)
    return (add,)
""",
    "pad": """def pad(
    x: "f32[s0, s1, s1]",
):
    pad: "f32[s0, s1 + 3, s1 + 3]" = aten.constant_pad_nd.default(x, [1, 2, 2, 1], 0.5)
    return (pad,)
""",
    "regrouped": """def regrouped(
    x: "f32[s0, s1, s2, s3]",
    a: "f32[s1, 1, 1]",
    b: "f32[s0, 1, 1]",
    c: "f32[s2, 1]",
    d: "f32[s3, 1]",
):
    scaled: "f32[s0, s1, s2, s3]" = aten.mul.Tensor(x, a)
    mul: "f32[s0, s1, s2, s3]" = aten.mul.Tensor(scaled, c)
    view: "f32[s1, s0, s3, s2]" = aten.reshape.default(
        mul, [sym("s1"), sym("s0"), sym("s3"), sym("s2")]
    )
    add: "f32[s1, s0, s3, s2]" = aten.add.Tensor(view, b)
    last: "f32[s1, s0, s3, s2]" = aten.mul.Tensor(add, d)
    return (last,)
""",
    "sum": """def sum(
    x: "f32[s0, s3, s1, s2]",
    a: "f32[s1, 1]",
):
    mul: "f32[s0, s3, s1, s2]" = aten.mul.Tensor(x, a)
    total: "f32[s3]" = aten.sum.dim_IntList(mul, [0, 2, 3])
    return (total,)
""",
}
BORDERS = st.sampled_from((0, 1, 2, 3, 7, 8, 9, 31, 64, 127, 1023, 1024, 1025, 2049, 5003))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_positions_are_right_at_every_size(name: str, interpreter: InterpreterPool) -> None:
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS[name]}", "test graph"))
    assert ", WRAP, True)" in module.text
    loaded = runtime.load(module.text)

    def right(several: list[list[int]]) -> None:
        jobs = [
            as_launched(loaded, {f"s{n}": size for n, size in enumerate(sizes)})
            for sizes in several
        ]
        for position, answer in interpreter.each(jobs):
            passed = isinstance(answer, CheckResult) and answer.passed
            assert passed, (jobs[position].sizes, answer)

    @settings(max_examples=5)
    @given(st.lists(st.lists(BORDERS | st.integers(0, 70), min_size=4, max_size=4), min_size=6))
    def right_at(several: list[list[int]]) -> None:
        for sizes in several:
            while math.prod(n + 3 for n in sizes) > MOST:
                sizes[:] = [min(n, max(sizes) // 2) for n in sizes]
        right(several)

    right([[3, 2, 1025, 1], [2, 2, 3, 1025]])  # a block begins in one row and ends in the next
    right_at()


def test_rows_are_counted_by_what_is_exact_for_all_sizes() -> None:
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS['broadcast']}", "test graph"))
    how = runtime.load(module.text).raw._wrap
    assert how(1024, 1025, rows=(70_000,)) % 4 == 2  # compared
    assert how(1024, 9, rows=(5,)) % 4 == how(1024, 9, rows=(60_000,)) % 4 == 1  # multiplied
    assert how(1024, 9, rows=(70_000,)) == 0  # a product would not fit
    assert how(1024, 9, rows=(1,)) == how(1024, 1, 9, rows=(5,)) == 0
    assert how(1024, 16, 9, rows=(5,)) == 0  # whole vectors
    assert how(1024, 1, rows=(5,)) == 3


def _upsampled(x: torch.Tensor) -> torch.Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


def _reflected(x: torch.Tensor) -> torch.Tensor:
    return functional.pad(x, (1, 0, 2, 1), mode="reflect") * 2


def _from_the_end(x: torch.Tensor) -> torch.Tensor:
    places = torch.arange(x.shape[3]) * 2 - x.shape[3]
    return x[..., places.clamp(max=x.shape[3] - 1)] + places


@pytest.mark.parametrize("function", [_upsampled, _reflected, _from_the_end])
def test_computed_positions_have_the_type_that_a_kernel_counts_in(
    function: Callable[[torch.Tensor], torch.Tensor], compiler: Any
) -> None:
    """Where they are not results themselves."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend=compiler, dynamic=True)
    for height, width in ((7, 5), (4, 4), (3, 9), (5, 33)):
        x = torch.randn(2, 6, height, width)
        torch.testing.assert_close(compiled(x), function(x.double()).float())
    (kernel,) = {k.module.text for graph in compiler.compiled for k in graph.kernels}
    body = kernel[kernel.index("INDEX: tl.constexpr") : kernel.index("def variant")]
    assert "tl.int64" not in body.partition("\n")[2] and ".to(INDEX)" in body
    assert body.count("tl.device_assert") == {_upsampled: 2, _reflected: 2}.get(function, 1)


def test_products_of_positions_do_not_decide_how_a_kernel_counts(compiler: Any) -> None:
    def hashed(x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[0])
        return x + ((places[:, None] * 73856093 + places * places) % 7).float()

    torch.compiler.reset()
    compiled = torch.compile(hashed, backend=compiler, dynamic=True)
    for size in (3, 50, 81):
        x = torch.randn(size, size)
        torch.testing.assert_close(compiled(x), hashed(x))
    (kernel,) = {k.module.text for graph in compiler.compiled for k in graph.kernels}
    assert "73856093" not in kernel[kernel.index('"WIDE"') :].partition("\n")[0]


def test_products_of_known_positions_are_too_large_for_any_launch(compiler: Any) -> None:
    """Which asks only how large those of unknown sizes get."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        places = (torch.arange(100) * 0.7).long() * 1000 * 1000 * 1000
        return x[:, None] + places.double()

    torch.compiler.reset()
    compiled = torch.compile(scaled, backend=compiler, dynamic=True)
    for size in (3, 7):
        x = torch.randn(size, dtype=torch.float64)
        torch.testing.assert_close(compiled(x), scaled(x))


@pytest.mark.parametrize("odd", [False, True])
def test_what_divides_halves_of_a_row_is_known(odd: bool, compiler: Any) -> None:
    """Rotary embeddings: that rows have an even length is not checked."""

    def turned(x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        return torch.cat([-second, first], -1) * 2

    torch.compiler.reset()
    compiled = torch.compile(turned, backend=compiler, dynamic=True)
    for width in (17, 5, 63) if odd else (16, 96, 34):
        x = torch.randn(3, width)
        torch.testing.assert_close(compiled(x), turned(x))
    (kernel,) = {k.module.text for graph in compiler.compiled for k in graph.kernels}
    assert "// 2, PARTS)" in kernel and '"PARTS": (bits := 16 | (' in kernel
