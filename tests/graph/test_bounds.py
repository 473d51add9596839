from __future__ import annotations

from harness.graph.bounds import index_bounds, with_bounds
from harness.graph.text import loads


def test_what_is_looked_up_keeps_the_bound_of_the_table_it_came_from():
    graph = loads("""# harness graph 1
def g(
    kinds: "i64[1, 512] buffer",
    at: "i64[4, 128]",
    table: "f32[2, 64] parameter",
):
    e: "i64[4, 512]" = aten.expand.default(kinds, [4, 512])
    k: "i64[4, 128]" = aten.gather.default(e, 1, at)
    v: "f32[4, 128, 64]" = aten.embedding.default(table, k)
    return (v,)
""")
    bounds = {item.name: item.bound for item in with_bounds(graph).inputs}
    assert bounds == {"kinds": 2, "at": 512, "table": None}


def test_positions_that_are_computed_stay_inside_their_table():
    graph = loads("""# harness graph 1
def g(
    words: "i64[1, 5]",
    table: "f32[7, 6] parameter",
):
    real: "b8[1, 5]" = aten.ne.Scalar(words, 1)
    mask: "i32[1, 5]" = aten._to_copy.default(real, dtype=torch.int32)
    count: "i64[1, 5]" = aten.cumsum.default(mask, 1)
    place: "i64[1, 5]" = aten.mul.Tensor(count, mask)
    at: "i64[1, 5]" = aten.add.Tensor(place, 1)
    v: "f32[1, 5, 6]" = aten.embedding.default(table, at, 1)
    return (v,)
""")
    assert index_bounds(graph) == {"at": 7, "place": 6, "count": 6, "mask": 2}


def test_a_mask_that_counts_positions_holds_zeros_and_ones():
    graph = loads("""# harness graph 1
def g(
    mask: "i64[1, 5]",
    table: "f32[9, 6] parameter",
):
    count: "i64[1, 5]" = aten.cumsum.default(mask, 1)
    place: "i64[1, 5]" = aten.mul.Tensor(count, mask)
    less: "i64[1, 5]" = aten.sub.Tensor(place, 1)
    real: "b8[1, 5]" = aten._to_copy.default(mask, dtype=torch.bool)
    at: "i64[1, 5]" = aten.add.Tensor(less, 2)
    v: "f32[1, 5, 6]" = aten.embedding.default(table, at)
    return (v, real)
""")
    assert index_bounds(graph) == {"at": 9, "less": 7, "place": 8, "count": 8, "mask": 2}


def test_sums_and_products_of_numbers_stay_inside_their_table():
    graph = loads("""# harness graph 1
def g(
    steps: "i64[4, 5]",
    table: "f32[50, 6] parameter",
):
    count: "i64[4, 5]" = aten.cumsum.default(steps, -1)
    at: "i64[4, 5]" = aten.mul.Tensor(count, 3)
    v: "f32[4, 5, 6]" = aten.embedding.default(table, at)
    return (v,)
""")
    bounds = index_bounds(graph)
    assert bounds == {"at": 50, "count": 17, "steps": 4}
    assert (bounds["steps"] - 1) * 5 < bounds["count"] and (bounds["count"] - 1) * 3 < 50
