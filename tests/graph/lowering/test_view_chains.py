"""Any chain of views reads the elements that torch's views read."""

from __future__ import annotations

import math

import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.graph.lowering.operators.views import matched
from harness.graph.model import Graph, Ref
from tests.graph.building import GraphBuilder
from tests.graph.lowering.comparing import check


def factorisations(number: int) -> list[tuple[int, ...]]:
    """Shapes of up to three dimensions with ``number`` elements."""
    pairs = [(d, number // d) for d in range(1, number + 1) if number % d == 0]
    triples = [(a, *rest) for a, b in pairs for rest in pairs_of(b)]
    return [(number,), *pairs, *triples]


def pairs_of(number: int) -> list[tuple[int, int]]:
    return [(d, number // d) for d in range(1, number + 1) if number % d == 0]


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    b = GraphBuilder()
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    value = b.input("x", shape)
    for _ in range(draw(st.integers(1, 6))):
        value = step(draw, b, value)
    return b.graph(b.call("aten.neg.default", value))


def step(draw: st.DrawFn, b: GraphBuilder, value: Ref) -> Ref:
    shape = tuple(b.values[value.name].shape)
    dim = draw(st.integers(0, len(shape) - 1))
    match draw(st.sampled_from(["reshape", "permute", "slice", "flip", "unsqueeze"])):
        case "reshape":
            target = draw(st.sampled_from(factorisations(math.prod(shape))))
            return b.call("aten._reshape_copy.default", value, target)
        case "permute":
            order = draw(st.permutations(range(len(shape))))
            return b.call("aten.permute.default", value, tuple(order))
        case "slice":
            start = draw(st.integers(0, shape[dim] - 1))
            pace = draw(st.integers(1, 3))
            return b.call("aten.slice.Tensor", value, dim, start, shape[dim], pace)
        case "flip":
            return b.call("aten.flip.default", value, (dim,))
        case _:
            if len(shape) > 4:
                return b.call("aten._reshape_copy.default", value, (math.prod(shape),))
            wide = b.call("aten.unsqueeze.default", value, dim)
            size = (*shape[:dim], 2, *shape[dim:])
            return b.call("aten.expand.default", wide, size)


@settings(max_examples=150, deadline=None)
@given(chains())
def test_a_chain_of_views_reads_the_right_elements(graph: Graph) -> None:
    check(graph)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([1, 2, 12, 24, 60, 64]))
def test_reshaped_dimensions_are_matched_in_shortest_lists(data: st.DataObject, size: int) -> None:
    source, target = (data.draw(st.sampled_from(factorisations(size))) for _ in range(2))
    shapes = [tuple(map(sympy.Integer, shape)) for shape in (source, target)]
    pairs = matched(*shapes)
    assert [d for ins, _ in pairs for d in ins] == [d for d, n in enumerate(source) if n > 1]
    assert [d for _, outs in pairs for d in outs] == [d for d, n in enumerate(target) if n > 1]
    for ins, outs in pairs:
        first, second = (
            {math.prod(shape[d] for d in dims[:n]) for n in range(1, len(dims) + 1)}
            for shape, dims in ((source, ins), (target, outs))
        )
        assert first & second == {max(first)} == {max(second)}
