"""Sizes that are not known when compiling: the same kernels come out."""

from __future__ import annotations

import dataclasses

import pytest
import sympy

from harness.dtypes import DType
from harness.graph.text import loads
from harness.ir.index import axis_symbol, size_symbol
from harness.ir.nodes import Axis, Builder, Nest, ReduceKind, Store
from harness.ir.ops import Op
from harness.ir.program import Buffer, Program, Role
from harness.pipeline import compile_graph
from harness.schedule.build import schedule
from harness.target import H100

F32 = DType.F32


def softmax_of_any_size() -> Program:
    """exp and normalise over (batch, rows, 2 · cols), stored as (batch · rows, 2 · cols)."""
    batch, rows, half = (size_symbol(n) for n in ("s0", "s1", "s2"))
    cols = 2 * half
    b = Builder()
    i0, i1, i2, r0 = (
        axis_symbol("i", 0),
        axis_symbol("i", 1),
        axis_symbol("i", 2),
        axis_symbol("r", 0),
    )
    three = rows * cols * i0 + cols * i1 + i2
    load = b.load("x", three, F32)
    full = (Axis(i0, batch), Axis(i1, rows), Axis(i2, cols))
    exp = Nest("exp", full, (), (Store("e", three, b.compute(Op.EXP, load, dtype=F32)),), ("exp",))
    summed = b.reduce(ReduceKind.SUM, b.load("e", cols * i0 + r0, F32), dtype=F32)
    flat = (Axis(i0, batch * rows),)
    total = Nest("sum", flat, (Axis(r0, cols),), (Store("t", i0, summed),), ("sum",))
    two = cols * i0 + i1
    quotient = b.compute(Op.TRUE_DIV, b.load("e", two, F32), b.load("t", i0, F32), dtype=F32)
    out = Nest("div", (*flat, Axis(i1, cols)), (), (Store("y", two, quotient),), ("div",))

    def buffer(name: str, shape: tuple[sympy.Expr, ...], role: Role) -> Buffer:
        stride, steps = sympy.S.One, []
        for n in reversed(shape):
            steps.append(stride)
            stride = stride * n
        return Buffer(name, F32, shape, tuple(reversed(steps)), role, name)

    buffers = (
        buffer("x", (batch, rows, cols), Role.INPUT),
        buffer("e", (batch, rows, cols), Role.TEMPORARY),
        buffer("t", (batch * rows,), Role.TEMPORARY),
        buffer("y", (batch * rows, cols), Role.OUTPUT),
    )
    return Program("any", buffers, (exp, total, out), ("y",))


def test_one_kernel() -> None:
    made = schedule(softmax_of_any_size(), H100)
    (group,) = made.groups
    s0, s1, s2 = (size_symbol(n) for n in ("s0", "s1", "s2"))
    assert sympy.expand(group.numel - s0 * s1) == 0
    assert sympy.expand(group.rnumel - 2 * s2) == 0
    assert [[n.name for n in s.nests] for s in group.segments] == [["exp", "sum"], ["exp", "div"]]
    assert group.internal == {"e", "t"}
    assert len({n.stores[0].index for n in group.nests if n.stores[0].buffer == "e"}) == 1


@pytest.mark.parametrize(("images", "kernels"), [("64", 1), ("s0", 2)])
def test_strips_of_rows_are_of_known_sizes(images: str, kernels: int) -> None:
    graph = loads(
        f"""# harness graph 1
def both_ways(
    x: "f32[{images}, 16, 128]",
):
    rows: "f32[{images}, 16]" = aten.amax.default(x, [2])
    columns: "f32[{images}, 128]" = aten.sum.dim_IntList(x, [1])
    return (rows, columns)
"""
    )
    made = compile_graph(graph, dataclasses.replace(H100, multiprocessors=4))
    assert (len(made.kernels), made.report().failures) == (kernels, ())


def centred(shape: str, mean: str, dims: str, facts: str = "") -> str:
    """A tensor less its mean over ``dims``, whose shape is ``mean``."""
    return f"""# harness graph 1
{facts}def centred(
    x: "f32[{shape}]",
):
    mean: "f32[{mean}]" = aten.mean.dim(x, [{dims}], True)
    sub: "f32[{shape}]" = aten.sub.Tensor(x, mean)
    return (sub,)
"""


@pytest.mark.parametrize(
    ("shape", "dims", "kernels"),
    [
        ("s0, s1", "0, 1", 2),
        ("s0", "0", 2),
        ("64, s0, s1", "1, 2", 2),
        ("65, s0, s1", "1, 2", 1),
        ("16, s0", "1", 1),
        ("s0, s1", "1", 1),
        ("s0, 16, 49", "0, 2", 2),
        ("s0, 2048", "0", 2),
        ("s0, 2056", "0", 1),
    ],
)
def test_what_few_rows_that_programs_share_are_needed_for_is_a_kernel_of_its_own(
    shape: str, dims: str, kernels: int
) -> None:
    sizes = shape.split(", ")
    mean = ", ".join("1" if str(n) in dims.split(", ") else s for n, s in enumerate(sizes))
    made = compile_graph(loads(centred(shape, mean, dims)), H100)
    assert (len(made.kernels), made.report().failures) == (kernels, ())
    assert ("def _chunks(" in made.kernels[0].module.text) == (kernels == 2)


@pytest.mark.parametrize(
    ("likely", "dim", "kernels"),
    [
        ("s0: 32768, s1: 64", 0, 2),
        ("s0: 32768, s1: 4096", 0, 1),
        ("s0: 256, s1: 64", 0, 1),  # as short as many columns are
        ("s0: 8, s1: 65536", 1, 2),
        ("s0: 128, s1: 65536", 1, 1),
        ("s0: 8, s1: 4096", 1, 1),
        ("s1: 65536", 1, 1),  # any number of rows
        ("s0 is 8, s1: 65536", 1, 2),
        ("s0 is 8, s1: 4096", 1, 1),
        ("s0 is 32768, s1: 64", 0, 1),  # few columns of a known length
    ],
)
def test_an_unknown_number_of_rows_is_small_where_it_is_in_a_call(
    likely: str, dim: int, kernels: int
) -> None:
    facts = "".join(f"# {fact}\n" for fact in likely.split(", ") if ":" in fact)
    text = centred("s0, s1", ("1, s1", "s0, 1")[dim], str(dim), facts)
    text = text.replace("s0", likely[6 : likely.index(",")] if " is " in likely else "s0")
    made = compile_graph(loads(text), H100)
    assert (len(made.kernels), made.report().failures) == (kernels, ())


def test_a_row_that_is_scanned_is_not_shared() -> None:
    """One program walks it for the running sums, and takes the mean off on the way."""
    graph = loads(
        """# harness graph 1
def scanned(
    x: "f32[s0]",
):
    sums: "f32[s0]" = aten.cumsum.default(x, 0)
    mean: "f32[1]" = aten.mean.dim(x, [0], True)
    sub: "f32[s0]" = aten.sub.Tensor(sums, mean)
    return (sub,)
"""
    )
    made = compile_graph(graph, H100)
    assert (len(made.kernels), made.report().failures) == (1, ())
