"""Reductions of a few elements that lie apart in memory, written out: when, and that they mean the
same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.backend import Compiler
from harness.dtypes import DType
from harness.graph.lowering import lower
from harness.graph.model import Arg, Graph, Ref
from harness.graph.text import loads
from harness.ir.nodes import Reduce, store_roots, walk
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.target import H100
from tests.codegen.kernels import modules
from tests.graph.building import GraphBuilder
from tests.graph.lowering.comparing import check

SUM = "aten.sum.dim_IntList"

GATHERED = """# harness graph 1
def gathered(
    rows: "bf16[48, 520]",
    at: "i64[24]",
    weight: "f32[48]",
    other: "bf16[4, 520]",
):
    column: "f32[48, 1]" = aten.unsqueeze.default(weight, -1)
    weighed: "f32[48, 520]" = aten.mul.Tensor(rows, column)
    taken: "f32[24, 520]" = aten.index.Tensor(weighed, [at])
    six: "f32[4, 6, 520]" = aten.view.default(taken, [4, 6, 520])
    total: "f32[4, 520]" = aten.sum.dim_IntList(six, [1])
    narrow: "bf16[4, 520]" = aten._to_copy.default(total, dtype=torch.bfloat16)
    added: "bf16[4, 520]" = aten.add.Tensor(narrow, other)
    wide: "f32[4, 520]" = aten._to_copy.default(added, dtype=torch.float32)
    square: "f32[4, 520]" = aten.mul.Tensor(wide, wide)
    mean: "f32[4, 1]" = aten.mean.dim(square, [-1], True)
    root: "f32[4, 1]" = aten.rsqrt.default(mean)
    out: "f32[4, 520]" = aten.mul.Tensor(wide, root)
    return (added, out)
"""


def written_out(graph: Graph) -> bool:
    """Whether what the graph reduces first has no reduction in the program."""
    program = lower(graph)
    first = program.nests[0]
    return not any(isinstance(v, Reduce) for v in walk(store_roots(first.stores)))


def test_a_sum_of_six_gathered_rows_and_a_norm_are_one_kernel() -> None:
    compiled = compile_graph(loads(GATHERED), H100)
    ((module, launches),) = compiled.distinct()
    assert launches == 1
    assert not compiled.failures
    # of the row's numbers, weights and elements six each, the elements alone in the loop
    assert module.text.count("6*xindex") == 6


def test_gathered_rows_of_a_result_are_added_up_in_the_kernel_that_needs_them() -> None:
    """No kernel that makes the result can share the sum's loop, which reads it anywhere."""
    text = GATHERED.replace("48", "24").replace("return (added", "return (weighed, added")
    compiled = compile_graph(loads(text), H100)
    first, second = (module for module, _ in compiled.distinct())
    assert not compiled.failures
    assert "6*xindex" not in first.text
    assert second.text.count("6*xindex") == 6


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        ((4, 6, 64), (1,), True),
        ((4, 3, 2, 64), (1, 2), True),
        ((4, 9, 64), (1,), False),  # too many
        ((4, 64, 6), (2,), False),  # a row is read at once
        ((4, 6, 8), (1,), False),  # a sector holds elements of several
        ((4, 8, 64), (1,), False),  # a block of eight has no idle lane, and nothing joins
    ],
)
def test_what_is_written_out(shape: tuple[int, ...], dims: tuple[int, ...], expected: bool) -> None:
    b = GraphBuilder()
    total = b.call(SUM, b.input("x", shape), dims)
    assert written_out(b.graph(total)) is expected
    check(b.graph(total))


def _norm(b: GraphBuilder, total: Ref) -> tuple[Ref, ...]:
    return (b.call("aten.mean.dim", total, (1,), True),)


def _broadcast(b: GraphBuilder, total: Ref) -> tuple[Ref, ...]:
    wide = b.call("aten.unsqueeze.default", total, 1)
    return (b.call("aten.mul.Tensor", b.input("y", (4, 6, 64)), wide),)


@pytest.mark.parametrize(("after", "expected"), [(_norm, True), (_broadcast, False)])
def test_it_depends_on_what_comes_after(
    after: Callable[[GraphBuilder, Ref], tuple[Ref, ...]], expected: bool
) -> None:
    b = GraphBuilder()
    terms = 8 if expected else 6
    total = b.call(SUM, b.input("x", (4, terms, 64)), (1,))
    graph = b.graph(*after(b, total))
    assert written_out(graph) is expected
    check(graph)


def test_what_others_read_at_full_size_is_reduced_with_them() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 6, 64))
    total = b.call(SUM, x, (1,))
    assert not written_out(b.graph(total, b.call("aten.exp.default", x)))


def test_many_operations_are_not_written_out() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 6, 64))
    y = x
    for _ in range(11):
        y = b.call("aten.sin.default", y)
    total = b.call(SUM, y, (1,))
    assert not written_out(b.graph(total))


def _chosen(b: GraphBuilder, paths: int, channels: int, side: int) -> Ref:
    """A softmax over few paths, by which these are weighed and added up."""
    x = b.call("aten._to_copy.default", b.input("x", (paths, channels, 1)), dtype=DType.F32)
    peak = b.call("aten.amax.default", x, (0,), True)
    power = b.call("aten.exp.default", b.call("aten.sub.Tensor", x, peak))
    weight = b.call("aten.div.Tensor", power, b.call(SUM, power, (0,), True))
    narrow = b.call("aten._to_copy.default", weight, dtype=DType.BF16)
    y = b.input("y", (paths, channels, side * side), DType.BF16)
    return b.call(SUM, b.call("aten.mul.Tensor", y, narrow), (0,))


@pytest.mark.parametrize(("side", "launches"), [(28, 1), (90, 2)])
def test_a_softmax_over_two_is_computed_where_it_is_broadcast(side: int, launches: int) -> None:
    """Up to where its exponentials take longer than a launch."""
    b = GraphBuilder()
    chosen = _chosen(b, 2, 512, side)
    compiled = compile_graph(b.graph(chosen), H100)
    assert not compiled.failures
    assert sum(count for _, count in compiled.distinct()) == launches


@pytest.mark.parametrize("stored", ["amax", "exp"])
def test_a_softmax_that_is_stored_as_well_is_reduced(stored: str) -> None:
    b = GraphBuilder()
    chosen = _chosen(b, 2, 64, 4)
    assert written_out(b.graph(chosen))
    (other,) = (n.name for n in b.nodes if n.packet == stored)
    assert not written_out(b.graph(chosen, Ref(other)))


def test_sums_that_are_put_together_are_one_kernel_and_round_as_they_did(
    compiler: Compiler,
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x.sum(1), y.sum(1)], 1) * 3

    x, y = (torch.randn(3, 2, terms, 64).bfloat16() for terms in (5, 7))
    assert torch.equal(torch.compile(function, backend=compiler)(x, y), function(x, y))
    assert compiler.reports[-1].launches == 1


def test_a_sum_that_finds_its_one_term_has_no_buffer() -> None:
    """As that over two classes in a loss's gradient, which sums of its columns follow."""
    b = GraphBuilder()
    at, x = b.input("at", (32, 1), DType.I64, bound=2), b.input("x", (32, 2))
    zeros = b.call("aten.full_like.default", x, 0)
    single = b.call("aten.scatter.value", zeros, 1, at, -1.0)
    total = b.call("aten.mul.Tensor", x, b.call(SUM, single, (1,), True))
    gradient = b.call("aten.sub.Tensor", single, total)
    graph = b.graph(gradient, b.call(SUM, gradient, (0,), True))
    assert len(lower(graph).nests) == 2
    check(graph)


OPERATORS = (
    "sum.dim_IntList", "mean.dim", "prod.dim_int", "amax.default", "amin.default", "any.dim"
)  # fmt: skip
DTYPES = (DType.F32, DType.BF16, DType.F16, DType.I32, DType.I8, DType.BOOL)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A reduction of 2 to 8 elements of gathered, padded, permuted or sliced tensors, its result
    used once or twice, as it is, put beside itself or broadcast."""
    op = draw(st.sampled_from(OPERATORS))
    kinds = [d for d in DTYPES if d.is_float or op != "mean.dim"]
    kinds = [d for d in kinds if d is not DType.BOOL or op not in ("amax.default", "amin.default")]
    dtype, terms = draw(st.sampled_from(kinds)), draw(st.integers(2, 8))
    outer, inner = draw(st.integers(1, 5)), draw(st.sampled_from([16, 33]))
    b = GraphBuilder()
    made = draw(st.sampled_from(["plain", "gathered", "padded", "first", "sliced"]))
    if made == "gathered":
        rows = b.input("x", (7, inner), dtype)
        at = b.input("at", (outer * terms,), DType.I64, bound=7)
        taken = b.call("aten.index.Tensor", rows, (at,))
        x = b.call("aten.view.default", taken, (outer, terms, inner))
    elif made == "padded":
        short = b.input("x", (outer, terms - 1, inner), dtype)
        x = b.call("aten.constant_pad_nd.default", short, (0, 0, 0, 1))
    elif made == "first":
        x = b.call("aten.permute.default", b.input("x", (terms, outer, inner), dtype), (1, 0, 2))
    elif made == "sliced":
        x = b.call("aten.slice.Tensor", b.input("x", (outer, 9, inner), dtype), 1, 1, 1 + terms)
    else:
        x = b.input("x", (outer, terms, inner), dtype)
    one = op in ("prod.dim_int", "any.dim")
    dim: Arg = 1 if one else (1,)
    out = b.call(f"aten.{op}", x, dim, draw(st.booleans()))
    after = draw(st.sampled_from(["", "summed", "joined", "broadcast"]))
    if after == "summed":
        wide = b.call("aten._to_copy.default", out, dtype=DType.F32)
        return b.graph(out, b.call(SUM, wide, (-1,)))
    if after == "joined":
        return b.graph(b.call("aten.cat.default", (out, out), -1))
    if after == "broadcast":
        repeated = b.call("aten.unsqueeze.default", out, 0)
        y = b.input("y", (9, *b.values[out.name].shape), DType.F32)
        return b.graph(b.call("aten.add.Tensor", y, repeated))
    return b.graph(out)


def test_terms_mean_what_a_reduction_of_them_means(interpreter: InterpreterPool) -> None:
    seen: set[bool] = set()

    @settings(max_examples=25)
    @given(graphs())
    def right(graph: Graph) -> None:
        check(graph)
        seen.add(written_out(graph))
        jobs = [CheckJob(module.text) for module in modules(graph)]
        for _, answer in interpreter.each(jobs):
            assert isinstance(answer, CheckResult), answer
            assert answer.passed, answer

    right()
    assert True in seen


def test_signs_of_zero_and_what_is_no_number_are_eager_modes(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(1), x.prod(1), x.amax(1), x.amin(1)

    x = torch.full((4, 5, 32), -0.0)
    x[1, 2], x[2, 0], x[3, 1:3] = float("nan"), float("inf"), torch.tensor([[1.0], [float("-inf")]])
    for number, wanted in enumerate(function(x)):
        found = torch.compile(lambda x, n=number: function(x)[n], backend=compiler)(x)
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
        number_at = ~wanted.isnan()
        assert torch.equal(found.signbit()[number_at], wanted.signbit()[number_at])
