"""The bytes of a launch: each distinct element once, a slice as a slice."""

from __future__ import annotations

from harness.graph.text import loads
from harness.target import H100
from harness.tiling.build import plan
from harness.tiling.plan import KernelPlan
from tests.codegen.kernels import groups


def plans(text: str) -> list[KernelPlan]:
    program, fused = groups(loads("# harness graph 1\n" + text, "test graph"))
    return [plan(program, group, H100) for group in fused]


def test_a_slice_of_a_buffer_counts_the_slice() -> None:
    (found,) = plans("""def first_token(
    x: "bf16[64, 197, 768]",
):
    slice_1: "bf16[64, 1, 768]{151296, 768, 1}" = aten.slice.Tensor(x, 1, 0, 1)
    total: "bf16[1, 1, 768]" = aten.sum.dim_IntList(slice_1, [0], True)
    return (total,)
""")
    assert found.bytes_moved == (64 * 768 + 768) * 2
    assert found.facts.bytes == found.bytes_moved


def test_an_element_updated_in_place_moves_twice_and_is_touched_once() -> None:
    (found,) = plans("""def update(
    x: "f32[100, 30]",
    y: "f32[100, 30]",
):
    add: "f32[100, 30]" = aten.add.Tensor(x, y)
    x[...] = add
    return ()
""")
    assert found.bytes_moved == 3 * 3000 * 4
    assert found.facts.bytes == 2 * 3000 * 4


def test_rows_looked_up_count_as_often_as_they_are_read() -> None:
    (found,) = plans("""def lookup(
    table: "f32[50000, 64] parameter",
    ids: "i64[10] bound=50000",
):
    rows: "f32[10, 64]" = aten.embedding.default(table, ids)
    return (rows,)
""")
    assert found.bytes_moved == (10 * 64 + 10 * 64) * 4 + 10 * 8


def test_a_table_smaller_than_its_look_ups_counts_once() -> None:
    (found,) = plans("""def lookup(
    table: "f32[4, 64] parameter",
    ids: "i64[1000] bound=4",
):
    rows: "f32[1000, 64]" = aten.embedding.default(table, ids)
    return (rows,)
""")
    assert found.bytes_moved == (4 * 64 + 1000 * 64) * 4 + 1000 * 8
