"""Graph passes keep meaning and names, and never merge what only looks equal."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from harness.dtypes import DType
from harness.graph import model
from harness.graph.model import Graph, Token
from harness.graph.passes import cleanup
from harness.graph.passes.cleanup import clean, remove_dead, remove_no_ops, structure_key
from harness.graph.replay import random_inputs, replay
from tests.graph.building import GraphBuilder


def test_dead_code_goes_and_mutations_keep_their_value() -> None:
    b = GraphBuilder()
    x = b.input("x", (4,))
    b.call("aten.sin.default", x, name="dead")
    new = b.call("aten.cos.default", x, name="new")
    out = b.call("aten.exp.default", x, name="out")
    graph = remove_dead(b.graph(out, mutations=((x, new),)))
    assert [n.name for n in graph.nodes] == ["new", "out"]


def test_what_torch_draws_unread_stays() -> None:
    b = GraphBuilder()
    x = b.input("x", (4,))
    b.call("aten.rand_like.default", x, name="drawn")
    graph = remove_dead(b.graph(b.call("aten.exp.default", x, name="out")))
    assert [n.name for n in graph.nodes] == ["drawn", "out"]


def test_signed_zeros_and_number_types_have_keys_of_their_own() -> None:
    def key(number: float) -> object:
        b = GraphBuilder()
        return structure_key(b.graph(b.call("aten.add.Tensor", b.input("x", (4,)), number)))

    assert len({*map(key, (0.0, -0.0, 0, False, 1, 1.0, True))}) == 7
    assert key(3) == key(3)


def named(names: str, number: int) -> Graph:
    b = GraphBuilder()
    x, y = b.input(names[0], (4,)), b.input(names[1], (4,))
    both = b.call("aten.cat.default", (x, y), 0, name=names[2])
    return b.graph(b.call("aten.mul.Tensor", both, number, name=names[3]))


def test_names_make_no_difference_to_structure_and_are_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(cleanup, "rename_refs")
    assert structure_key(named("xycd", 2)) == structure_key(named("cdyx", 2))
    assert structure_key(named("xycd", 2)) != structure_key(named("xycd", 3))
    b = GraphBuilder()
    x, y = b.input("x", (4,)), b.input("y", (4,))
    both = b.call("aten.cat.default", (y, x), 0)
    turned = b.graph(b.call("aten.mul.Tensor", both, 2))
    assert structure_key(turned) != structure_key(named("xycd", 2))


def test_what_a_node_uses_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    node = named("xycd", 2).nodes[0]
    renamed = cleanup.rename_refs(node, {"x": "z"})
    monkeypatch.delattr(model, "leaves")
    assert [*node.refs()] == ["x", "y"] and [*renamed.refs()] == ["z", "y"]


def test_random_calls_stay_apart() -> None:
    b = GraphBuilder()
    x = b.input("x", (4,))
    draws = [b.call("aten.rand_like.default", x, name=f"r{n}") for n in (0, 1)]
    graph = clean(b.graph(b.call("aten.sub.Tensor", *draws)))
    assert len(graph.nodes) == 3


def test_no_ops_go_but_a_returned_one_stays() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 2))
    same = b.call("aten.view.default", x, (4, 2), name="same")
    cast = b.call("aten._to_copy.default", same, dtype=DType.F32, name="cast")
    out = b.call("aten.exp.default", cast, name="out")
    kept = b.call("aten.clone.default", x, name="kept")
    graph = remove_no_ops(b.graph(out, kept))
    assert [n.name for n in graph.nodes] == ["out", "kept"]
    assert list(graph.nodes[0].refs()) == ["x"]


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_copy_of_which_a_view_is_returned_stays(mode: str) -> None:
    """Its caller may change it. What a training graph saves for its other half nobody does."""
    b = GraphBuilder()
    copy = b.call("aten.clone.default", b.input("x", (4, 2)), name="copy")
    view = b.call("aten.view.default", copy, (8,), name="view")
    graph = dataclasses.replace(b.graph(view), facts=(("mode", mode),))
    kept = ["copy", "view"] if mode == "inference" else ["view"]
    assert [n.name for n in remove_no_ops(graph).nodes] == kept


def test_memory_that_an_empty_view_is_of_is_read_by_strides() -> None:
    b = GraphBuilder()
    x = b.input("x", (6,))
    none = b.call("aten.slice.Tensor", x, 0, 2, 2)
    seen = b.call("aten.as_strided.default", b.call("aten.view.default", none, (0, 3)), (3,), (1,))
    graph = b.graph(b.call("aten.neg.default", seen))
    (given,) = random_inputs(graph, "cpu", 0)
    (found,) = replay(clean(graph), [given], "cpu")
    assert found is not None and torch.equal(found, -given[2:5])


def test_a_copy_into_another_layout_is_work() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 2), stride=(1, 4))
    out = b.call("aten.clone.default", x, memory_format=Token("contiguous_format"), name="copy")
    y = b.call("aten.exp.default", out, name="y")
    assert len(remove_no_ops(b.graph(y)).nodes) == 2
