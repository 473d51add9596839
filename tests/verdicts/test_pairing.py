from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.records.run import GraphRecord, region_of
from harness.verdicts.pairing import Pairing, nodes_of, pair
from tests.history.kernels import graph, kernel


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
