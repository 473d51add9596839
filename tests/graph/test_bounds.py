from __future__ import annotations

from harness.graph.bounds import with_bounds
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
