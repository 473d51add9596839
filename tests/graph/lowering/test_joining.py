"""Halves of a concatenation that are the same function of one tensor."""

from __future__ import annotations

import pytest

from harness.dtypes import DType
from harness.graph.model import Ref
from harness.ir.nodes import Compute, Load, Masked, store_roots, walk
from harness.ir.ops import Op
from tests.graph.building import GraphBuilder
from tests.graph.lowering.comparing import check, nest_of, stored

FIRST, SECOND = (4, 8), (0, 4)
HALVES = [  # slices, which halves are negated; how often the tensor is read, with masks or without
    ((FIRST, SECOND), (True, False), (1, False)),  # a rotary embedding's
    ((FIRST, SECOND), (False, True), (1, False)),
    ((FIRST, SECOND), (True, True), (1, False)),
    ((FIRST, SECOND), (False, False), (1, False)),
    ((SECOND, FIRST), (False, True), (1, False)),
    (((1, 5), (0, 4)), (True, False), (1, False)),
    (((3, 8), (0, 3)), (True, False), (2, True)),  # not halves
]


@pytest.mark.parametrize(("slices", "negated", "reads"), HALVES)
@pytest.mark.parametrize("dim", [0, 1])
def test_halves_of_one_tensor_are_read_once(
    slices: tuple[tuple[int, int], ...],
    negated: tuple[bool, bool],
    reads: tuple[int, bool],
    dim: int,
) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8,))
    y = b.call("aten.exp.default", b.call("aten.mul.Tensor", x, w))
    parts = [b.call("aten.slice.Tensor", y, dim, *ends) for ends in slices]
    turned = [
        b.call("aten.neg.default", p) if n else p for p, n in zip(parts, negated, strict=True)
    ]
    program = check(b.graph(b.call("aten.cat.default", tuple(turned), dim)))
    (nest,) = program.nests
    found = list(walk(store_roots(nest.stores)))
    loads = sum(isinstance(v, Load) and v.buffer == "x" for v in found)
    assert (loads, any(isinstance(v, Masked) for v in found)) == reads


def other_function(b: GraphBuilder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    return b.call("aten.exp.default", x), b.call("aten.tanh.default", x)


def other_tensor(b: GraphBuilder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    return x, b.call("aten.neg.default", y)


def other_order(b: GraphBuilder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    return b.call("aten.sub.Tensor", x, y), b.call("aten.sub.Tensor", y, x)


def other_way(b: GraphBuilder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    return x, b.call("aten.permute.default", x, (1, 0))


def one_of_them_twice(b: GraphBuilder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    moved = b.call("aten.flip.default", x, (0,))
    return b.call("aten.mul.Tensor", x, moved), b.call("aten.mul.Tensor", x, x)


@pytest.mark.parametrize(
    "made", [other_function, other_tensor, other_order, other_way, one_of_them_twice]
)
def test_halves_that_differ_stay_two(made: object) -> None:
    assert callable(made)
    b = GraphBuilder()
    parts = made(b, b.input("x", (4, 4)), b.input("y", (4, 4)))
    program = check(b.graph(b.call("aten.cat.default", parts, 1)))
    assert any(isinstance(v, Masked) for n in program.nests for v in walk(store_roots(n.stores)))


def test_slices_that_are_put_together_are_computed_there() -> None:
    """Four quarters of an image, each of which is read once, as all of it would be to store it."""
    b = GraphBuilder()
    total = b.call("aten.add.Tensor", b.input("x", (4, 8, 8, 16)), b.input("y", (4, 8, 8, 16)))
    parts = []
    for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
        rows = b.call("aten.slice.Tensor", total, 1, row, 8, 2)
        parts.append(b.call("aten.slice.Tensor", rows, 2, column, 8, 2))
    program = check(b.graph(b.call("aten.cat.default", tuple(parts), -1, name="whole")))
    assert stored(program) == [("whole",)]


@pytest.mark.parametrize(
    ("split", "function", "read", "stores"),
    [
        (8, "sigmoid", False, 2),
        (8, "sigmoid", True, 1),  # what reads it would have to wait
        (8, "abs", False, 1),
        (7, "sigmoid", False, 1),
    ],
)
def test_pieces_that_compute_much_of_the_same_loads_are_stored_by_one_nest(
    split: int, function: str, read: bool, stores: int
) -> None:
    b = GraphBuilder()
    x, scale = b.input("x", (4, 8, 16)), b.input("scale", (4, 8, 1))
    parts = []
    for ends in ((0, split), (split, 16)):
        own = b.call("aten.slice.Tensor", x, 2, *ends)
        made = b.call(f"aten.{function}.default", own)
        parts.append(b.call("aten.mul.Tensor", made, scale))
    whole = b.call("aten.cat.default", tuple(parts), 2, name="whole")
    results = [whole, b.call("aten.neg.default", whole)] if read else [whole]
    program = check(b.graph(*results))
    assert len(nest_of(program, "whole").stores) == stores


@pytest.mark.parametrize(("whole", "stores"), [(False, 2), (True, 1)])
def test_pieces_that_go_on_from_their_rows_are_stored_by_what_reduces_them(
    whole: bool, stores: int
) -> None:
    """Not if what is reduced is as large as all of them together."""
    b = GraphBuilder()
    x, y = b.input("x", (4, 32, 16)), b.input("y", (4, 32, 16))
    rows = b.call("aten.cat.default", (x, y), 1) if whole else x
    total = b.call("aten.sum.dim_IntList", rows, (1,), True)
    parts = (b.call("aten.mul.Tensor", x, total), b.call("aten.sub.Tensor", total, y))
    program = check(b.graph(b.call("aten.cat.default", parts, 1, name="joined")))
    assert len(nest_of(program, "joined").stores) == stores


@pytest.mark.parametrize(("dim", "masked"), [(1, True), (2, False)])
def test_what_is_put_into_one_place_is_read_for_it_alone(dim: int, masked: bool) -> None:
    """Not in the last dimension, whose lanes load vectors."""
    b = GraphBuilder()
    sizes = [1, 1, 1]
    sizes[dim] = 6
    whole, x = b.input("whole", (4, 6, 6)), b.input("x", (4, 6))
    places = b.call("aten.view.default", b.call("aten.arange.start_step", 0, 6), tuple(sizes))
    put = b.call("aten.unsqueeze.default", b.call("aten.neg.default", x), dim)
    here = b.call("aten.eq.Scalar", places, 3)
    program = check(b.graph(b.call("aten.where.self", here, put, whole)))
    (nest,) = program.nests
    assert any(isinstance(v, Masked) for v in walk(store_roots(nest.stores))) == masked


@pytest.mark.parametrize(("power", "product"), [(9, True), (-9, True), (10, False)])
def test_powers_are_products_of_up_to_nine_factors(power: int, product: bool) -> None:
    b = GraphBuilder()
    program = check(b.graph(b.call("aten.pow.Tensor_Scalar", b.input("x", (4, 8)), power)))
    found = [v for n in program.nests for v in walk(store_roots(n.stores))]
    assert any(isinstance(v, Compute) and v.op is Op.POW for v in found) != product


def test_what_bounds_decide_is_not_compared() -> None:
    """A mask that is true everywhere, an empty piece, a slice of one piece, and padding cut off."""
    b = GraphBuilder()
    x, y = b.input("x", (4, 6)), b.input("y", (4, 6))
    rows = b.call("aten.unsqueeze.default", b.call("aten.arange.start_step", 0, 6), 0)
    above = b.call("aten.gt.Tensor", rows, b.call("aten.sub.Tensor", rows, 7))
    every = b.call("aten.bitwise_and.Tensor", b.call("aten.ge.Scalar", rows, 0), above)
    seen = b.call("aten.where.self", every, x, y)
    nothing = b.call("aten.slice.Tensor", y, 1, 0, 0)
    joined = b.call("aten.cat.default", (nothing, seen, y, nothing), 1)
    second = b.call("aten.slice.Tensor", joined, 1, 7, 11)
    padded = b.call("aten.constant_pad_nd.default", second, (1, 1, 0, 0), 2.0)
    out = b.call("aten.slice.Tensor", padded, 1, 1, 5)
    program = check(b.graph(b.call("aten.exp.default", seen), out))
    for nest in program.nests:
        loads = [v.buffer for v in walk(store_roots(nest.stores)) if isinstance(v, Load)]
        made = {v.op for v in walk(store_roots(nest.stores)) if isinstance(v, Compute)}
        assert loads == (["x"] if Op.EXP in made else ["y"]) and made <= {Op.EXP}


def test_a_choice_between_equals_is_none() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 6))
    chosen = b.call("aten.where.self", b.call("aten.gt.Scalar", x, 0.0), x, x)
    program = check(b.graph(b.call("aten.exp.default", chosen)))
    (nest,) = program.nests
    made = {v.op for v in walk(store_roots(nest.stores)) if isinstance(v, Compute)}
    assert made == {Op.EXP}


@pytest.mark.parametrize(
    ("op", "always", "never", "some"),
    [("lt", 6, 0, 5), ("le", 5, -1, 4), ("gt", -1, 5, 0), ("ge", 0, 6, 1)],
)
def test_bounds_decide_for_every_place_or_for_none(
    op: str, always: int, never: int, some: int
) -> None:
    for number, wanted in ((always, ["x"]), (never, ["y"]), (some, ["x", "y"])):
        b = GraphBuilder()
        x, y = b.input("x", (4, 6)), b.input("y", (4, 6))
        places = b.call("aten.arange.start_step", 0, 6)
        chosen = b.call("aten.where.self", b.call(f"aten.{op}.Scalar", places, number), x, y)
        (nest,) = check(b.graph(b.call("aten.exp.default", chosen))).nests
        loads = [v.buffer for v in walk(store_roots(nest.stores)) if isinstance(v, Load)]
        assert sorted(loads) == wanted


def test_places_that_wrap_around_are_not_decided() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (300,)), b.input("y", (300,))
    places = b.call("aten.arange.start_step", 0, 300, dtype=DType.I8)
    chosen = b.call("aten.where.self", b.call("aten.lt.Scalar", places, 0), x, y)
    (nest,) = check(b.graph(b.call("aten.exp.default", chosen))).nests
    assert {v.buffer for v in walk(store_roots(nest.stores)) if isinstance(v, Load)} == {"x", "y"}
