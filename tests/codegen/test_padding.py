"""What padding adds is a number of the padded tensor's type, whatever memory it is read from; what
lies beneath it is not read."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from harness.backend import Compiler
from tests.codegen.kernels import loads, sources

TYPES = [
    *(torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.bool),
    *(torch.float8_e4m3fn, torch.float8_e5m2),
]
VALUES = [0.1, 2.0, 300.0, 480.0, 1e6, -0.0, math.inf, -math.inf, math.nan]


def after(x: Tensor, value: float) -> Tensor:
    return F.pad(x.float(), (2, 1), value=value)


def before(x: Tensor, value: float) -> Tensor:
    return F.pad(x, (2, 1), value=value).float()


def has(function: Callable[[Tensor, float], Tensor], x: Tensor, value: float) -> bool:
    """Whether eager mode pads ``x`` so: of some types it rejects what is out of range."""
    try:
        function(x, value)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("function", [after, before])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: str(d).removeprefix("torch."))
def test_numbers_are_those_of_eager_mode(
    compiler: Compiler, dtype: torch.dtype, function: Callable[[Tensor, float], Tensor]
) -> None:
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.5, 6.0]]).to(dtype)
    values = [value for value in VALUES if has(function, x, value)]
    assert len(values) > 2

    def padded(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(x, value) for value in values)

    found = torch.compile(padded, backend=compiler)(x)
    for value, one, other in zip(values, found, padded(x), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True, msg=str(value))
        assert torch.equal(one.signbit(), other.signbit()) or math.isnan(value)


@pytest.mark.parametrize(("value", "grouped"), [(2.0, True), (0.1, False), (1e6, False)])
def test_windows_are_read_in_vectors_where_memory_has_what_is_around_them(
    compiler: Compiler, value: float, grouped: bool
) -> None:
    def windows(x: Tensor) -> Tensor:
        return F.avg_pool2d(F.pad(x.float(), (1, 1, 1, 1), value=value), 3, 2).bfloat16()

    x = torch.randn(2, 3, 11, 32).half()
    found = torch.compile(windows, backend=compiler)(x)
    torch.testing.assert_close(found, windows(x))
    (kernel,) = compiler.compiled[-1].kernels
    assert bool(kernel.source.plan.runs) is grouped


@pytest.mark.parametrize(
    ("size", "tables", "element"),
    [
        ("40", '    rows: "i64[3] bound=3",\n    column: "i64[] bound=43",\n', None),
        ("s0", "", 'aten.select.int(pad, 1, sym("s0 - 1"))'),
    ],
)
def test_what_may_be_nowhere_is_loaded_under_its_mask(
    size: str, tables: str, element: str | None
) -> None:
    """Of what is padded twice the place in one dimension, which is the same in all rows: numbers
    or a size may say that it lies in the padding."""
    stride = f"{{{size} + 3}}" if element else ""
    element = element or "aten.index.Tensor(pad, [rows, column])"
    wide = 43 if size == "40" else f"{size} + 3"
    picked = f"""# harness graph 1
def picked(
    x: "f32[1, {size}]",
    y: "f32[3, 64]",
{tables}):
    exp: "f32[1, {size}]" = aten.exp.default(x)
    pad: "f32[3, {wide}]" = aten.constant_pad_nd.default(exp, [3, 0, 2, 0], 0.0)
    element: "f32[3]{stride}" = {element}
    row: "f32[3, 1]{stride.replace("}", ", 1}")}" = aten.unsqueeze.default(element, 1)
    out: "f32[3, 64]" = aten.add.Tensor(y, row)
    return (out,)
"""
    text = next(iter(sources(loads(picked, "test graph")))).text
    (load,) = (line for line in text.splitlines() if line.endswith("  # x"))
    assert "xmask & tmp" in load


def test_what_is_masked_along_the_third_tile_alone_is_loaded_under_the_mask() -> None:
    tall = """# harness graph 1
def tall(
    x: "f32[64, 96, 128]",
    y: "f32[64, 96, 128]{12288, 1, 96}",
    z: "f32[64, 96, 128]{1, 64, 6144}",
    w: "f32[63, 1, 1]",
):
    exp: "f32[63, 1, 1]" = aten.exp.default(w)
    pad: "f32[64, 1, 1]" = aten.constant_pad_nd.default(exp, [0, 0, 0, 0, 1, 0], 0.0)
    first: "f32[64, 96, 128]" = aten.add.Tensor(x, y)
    second: "f32[64, 96, 128]" = aten.add.Tensor(first, z)
    out: "f32[64, 96, 128]" = aten.mul.Tensor(second, pad)
    return (out,)
"""
    text = next(iter(sources(loads(tall, "test graph")))).text
    (load,) = (line for line in text.splitlines() if line.endswith("  # w"))
    assert "zindex - 1), tmp" in load
