from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UnknownName
from harness.records.run import GraphRecord, KernelRecord, region_of
from harness.verdicts.pairing import Pairing, named, nodes_of, pair
from tests.history.kernels import graph, kernel, module


def names(found: Pairing) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    return [(tuple(k.name for k in m.a), tuple(k.name for k in m.b), m.how) for m in found.matches]


def test_renumbered_and_renamed_kernels_match_by_what_they_compute() -> None:
    a = graph(kernel("poi_mul_0", "mul"), kernel("poi_add_1", "add"))
    b = graph(kernel("poi_new_0", "new"), kernel("poi_add_1", "mul"), kernel("per_sum_2", "add"))
    found = pair([a], [b])
    assert names(found) == [
        (("poi_mul_0",), ("poi_add_1",), "nodes"),
        (("poi_add_1",), ("per_sum_2",), "nodes"),
    ]
    assert [(g, k.name) for g, k in found.appeared] == [("g", "poi_new_0")]
    assert not found.vanished


def test_regions_that_were_renumbered_match_by_nodes() -> None:
    a = graph(kernel("k0", "mul", region="g.r1"))
    b = graph(kernel("k0", "mul", region="g.r4"))
    assert names(pair([a], [b])) == [(("k0",), ("k0",), "nodes")]


def test_the_same_nodes_in_the_same_region_come_first() -> None:
    a = graph(kernel("k0", "x y", region="g.r0"), kernel("k1", "x y", region="g.r1"))
    b = graph(kernel("m0", "x y", region="g.r1"), kernel("m1", "x y", region="g.r0"))
    assert names(pair([a], [b])) == [(("k0",), ("m1",), "nodes"), (("k1",), ("m0",), "nodes")]


def test_kernels_of_equal_nodes_pair_by_code_before_order() -> None:
    a = graph(kernel("k0", "x", body="one"), kernel("k1", "x", body="two"))
    b = graph(kernel("m0", "x", body="two"), kernel("m1", "x", body="one"))
    assert names(pair([a], [b])) == [(("k0",), ("m1",), "nodes"), (("k1",), ("m0",), "nodes")]


def test_code_stands_in_for_unknown_nodes() -> None:
    a = graph(kernel("k0", body="same"), kernel("k1", body="other"))
    b = graph(kernel("m5", body="same"))
    found = pair([a], [b])
    # Without origins the module's text says which nodes: equal for all of these.
    assert names(found)[0][0] == ("k0",)
    assert names(found)[0][1] == ("m5",)
    assert [k.name for _, k in found.vanished] == ["k1"]


def test_a_fusion_is_a_group() -> None:
    a = graph(kernel("k0", "mul add"), kernel("k1", "sum div"), kernel("k2", "exp"))
    b = graph(kernel("m0", "mul add sum div"), kernel("m1", "exp"))
    found = pair([a], [b])
    assert names(found) == [(("k0", "k1"), ("m0",), "work"), (("k2",), ("m1",), "nodes")]
    assert not found.vanished
    assert not found.appeared


def test_other_work_vanishes_and_appears() -> None:
    a = graph(kernel("k0", "a b c d"))
    b = graph(kernel("m0", "d e f g h i"))
    found = pair([a], [b])
    assert not found.matches
    assert [k.name for _, k in found.vanished] == ["k0"]
    assert [k.name for _, k in found.appeared] == ["m0"]


def test_a_graph_of_another_name_matches_by_code() -> None:
    a = graph(kernel("k0", "mul", body="same"), name="old")
    b = graph(kernel("k7", "times", body="same"), name="new")
    (match,) = pair([a], [b]).matches
    assert (match.graph, match.how) == ("new", "code")


def test_nodes_and_region_come_from_the_text_where_the_record_has_none() -> None:
    bare = kernel("k0", region="")
    text = bare.module.replace("Region g.r0; graph nodes: n", "Region g.r3; graph nodes: a, b")
    bare = replace(bare, module=text)
    assert region_of(bare) == "g.r3"
    assert nodes_of(bare) == {"a", "b"}


def computing(name: str, nodes: str, operator: str, body: str = "", **more: Any) -> KernelRecord:
    """A kernel whose module names ``operator``; its code is its own without a ``body``."""
    text = module(name, body or f"{operator} {name}", computes=operator)
    return replace(kernel(name, nodes, **more), module=text)


@pytest.mark.parametrize(
    ("ours", "theirs", "how"),
    [
        # nodes of one name that compute something else now give way to those that compute the same
        ([("k0", "x", "sin")], [("m0", "x", "cos"), ("m1", "y", "sin")], "operators"),
        ([("k0", "x", "sin")], [("m0", "x", "cos"), ("m1", "x", "sin")], "nodes"),
        ([("k0", "x", "sin")], [("m0", "x", "cos", "g.r0"), ("m1", "x", "sin", "g.r1")], "nodes"),
        # of those that compute the same, the ones of the same nodes, in the same region first
        ([("k0", "x", "sin")], [("m0", "y", "sin"), ("m1", "x", "sin")], "nodes"),
        (
            [("k0", "x", "sin", "g.r1")],
            [("m0", "x", "sin", "g.r0"), ("m1", "x", "sin", "g.r1")],
            "nodes",
        ),
        # of those that do not, too
        (
            [("k0", "x", "sin", "g.r1")],
            [("m0", "x", "cos", "g.r0"), ("m1", "x", "exp", "g.r1")],
            "nodes",
        ),
        ([("k0", "x", "sin", "g.r1")], [("m0", "y", "cos"), ("m1", "x", "exp", "g.r2")], "nodes"),
        # as many nodes are computed by the same call
        ([("k0", "x", "sin")], [("m0", "y z", "sin"), ("m1", "y", "sin")], "operators"),
    ],
)
def test_what_is_most_alike_is_matched(
    ours: list[tuple[str, ...]], theirs: list[tuple[str, ...]], how: str
) -> None:
    """``m1`` is, whatever comes first."""
    a, b = ([computing(*k[:3], region=(*k, "g.r0")[3]) for k in side] for side in (ours, theirs))
    found = pair([graph(*a)], [graph(*b)])
    assert (("k0",), ("m1",), how) in names(found)


def test_kernels_of_which_nothing_is_known_but_their_code_match_by_that_alone() -> None:
    def bare(name: str, body: str) -> KernelRecord:
        made = kernel(name, body=body, region="")
        return replace(made, module=made.module.replace("Region g.r0; graph nodes: n\n", ""))

    found = pair(
        [graph(bare("k0", "one"), bare("k1", "two"))],
        [graph(bare("m0", "three"), bare("m1", "one"))],
    )
    assert names(found) == [(("k0",), ("m1",), "code")] and not found.alike
    assert [[k.name for _, k in lone] for lone in found.lone] == [["k1"], ["m0"]]
    found = pair([graph(kernel("k0", "a"))], [graph(kernel("m0", "b"))])
    assert not found.matches, "as many nodes are not the same ones"


@pytest.mark.parametrize(
    ("ours", "theirs", "matched"),
    [
        (["sin one"], ["sin two"], True),
        (["sin one"], ["cos two"], False),
        (["sin one", "sin one"], ["sin two", "sin two"], True),
        # which of them became which is not known
        (["sin one"], ["sin two", "sin two"], False),
        (["sin one", "sin one"], ["sin two"], False),
        (["sin one", "sin other"], ["sin two", "sin two"], False),
        (["sin one", "sin one"], ["sin two", "sin three"], False),
    ],
)
def test_kernels_that_compute_the_same_went_to_another_graph(
    ours: list[str], theirs: list[str], matched: bool
) -> None:
    sides = []
    for name, texts in (("old", ours), ("new", theirs)):
        made = (computing(f"{name}{n}", "x", *text.split()) for n, text in enumerate(texts))
        sides.append(graph(*made, name=name))
    found = pair([sides[0]], [sides[1]])
    expected = [((f"old{n}",), (f"new{n}",), "operators") for n in range(len(ours))]
    assert names(found) == (expected if matched else [])
    assert all(match.graph == "new" for match in found.matches)
    assert bool(found.alike) == (not matched and "sin" in theirs[0])


def test_most_of_the_nodes_have_to_be_common() -> None:
    """Half of them do not make two kernels the same work."""
    a = graph(kernel("k0", "a b"), kernel("k1", "x"), kernel("k2", "y"))
    b = graph(kernel("m0", "a b c"), kernel("m1", "x y z u v"))
    found = pair([a], [b])
    assert [match[:2] for match in names(found)] == [(("k0",), ("m0",))]
    assert [k.name for _, k in found.appeared] == ["m1"]


def test_kernels_are_named_by_pattern_and_graph() -> None:
    found = pair([graph(kernel("k0", "a"), kernel("k1", "b"))], [graph(kernel("m0", "a"))])
    matches = [*found.matches, replace(found.matches[0], graph="other")]
    assert named(matches, "g") == [0] and named(matches, "other") == [1]
    assert named(matches, "m*") == named(matches, "k0") == [0, 1]
    assert named(matches, "k1", *(k for _, k in found.vanished)) == []
    with pytest.raises(UnknownName):
        named(matches, "k1")


node_sets = st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=4), max_size=6)


def _graph(sets: list[frozenset[str]], prefix: str) -> GraphRecord:
    kernels = (kernel(f"{prefix}{n}", " ".join(sorted(s))) for n, s in enumerate(sets))
    return graph(*kernels)


@given(node_sets, node_sets)
def test_every_kernel_is_in_exactly_one_place(
    a: list[frozenset[str]], b: list[frozenset[str]]
) -> None:
    one, other = _graph(a, "a"), _graph(b, "b")
    found = pair([one], [other])
    ours = [id(k) for m in found.matches for k in m.a] + [id(k) for _, k in found.vanished]
    theirs = [id(k) for m in found.matches for k in m.b] + [id(k) for _, k in found.appeared]
    assert sorted(ours) == sorted(id(k) for k in one.kernels)
    assert sorted(theirs) == sorted(id(k) for k in other.kernels)


@given(node_sets, st.integers(0, 1000))
def test_a_graph_matches_itself_in_any_order(a: list[frozenset[str]], seed: int) -> None:
    one = _graph(a, "a")
    shuffled = list(_graph(a, "b").kernels)
    random.Random(seed).shuffle(shuffled)
    found = pair([one], [graph(*shuffled)])
    assert len(found.matches) == len(a)
    assert all(nodes_of(m.a[0]) == nodes_of(m.b[0]) for m in found.matches)
