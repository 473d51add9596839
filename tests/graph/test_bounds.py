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
