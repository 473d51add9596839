"""Decisions in a plan: tiles, reduction kind, arguments, bytes, names."""

from __future__ import annotations

import pytest
import sympy

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.limits import MAX_REDUCTION_BLOCK
from harness.heuristics.reduction import GATHERED
from harness.ir.index import FloorDiv, Mod, size_symbol
from harness.ir.nodes import ReduceKind, reductions
from harness.ir.nodes import loads as loads_of
from harness.pipeline import compile_graph
from harness.schedule.group import SegmentKind
from harness.target import H100
from harness.tiling.build import LONGEST, kernel_name, plan
from harness.tiling.choose import Access, is_persistent, reduction_hint, tile_boundaries
from harness.tiling.plan import Category, KernelPlan
from harness.tiling.ranges import Split
from tests.codegen import graphs
from tests.codegen.kernels import groups, loads

X0, X1, X2 = sympy.symbols("p0 p1 p2")
R0 = sympy.Symbol("q0")
NAMES = {"f16": "float16", "f32": "float32"}


def splits(*lengths: int) -> list[Split]:
    """Splits of the given lengths, lowest first."""
    made, divisor = [], 1
    for number, length in enumerate(lengths):
        made.append(
            Split(sympy.Symbol(f"p{number}"), sympy.Integer(divisor), sympy.Integer(length))
        )
        divisor *= length
    return made


def planned(graph: object, looped: bool | None = None) -> KernelPlan:
    program, (group,) = groups(graph)  # type: ignore[arg-type]
    loops = {} if looped is None else dict.fromkeys(group.reduced, looped)
    return plan(program, group, H100, Decisions(loops=loops))


def test_bytes_count_each_element_once() -> None:
    assert planned(graphs.SOFTMAX).bytes_moved == 2 * 2 * 48 * 1000
    assert planned(graphs.LAYER_NORM).bytes_moved == 4 * (2 * 40 * 384 + 2 * 384)
    assert planned(graphs.STEP).bytes_moved == 4 * 3 * 1000
    assert planned(graphs.BIAS).bytes_moved == 4 * (2 * 210 + 7)


def test_looped_bytes_are_those_of_the_persistent_kernel() -> None:
    for graph in (graphs.SOFTMAX, graphs.LAYER_NORM):
        assert planned(graph, True).bytes_moved == planned(graph, False).bytes_moved


def test_reduction_kind_and_hint() -> None:
    inner, outer = planned(graphs.SOFTMAX), planned(graphs.OUTER)
    assert (inner.category, inner.facts.hint) == (Category.PERSISTENT, Hint.INNER)
    assert (outer.category, outer.facts.hint) == (Category.REDUCTION, Hint.OUTER)
    assert inner.facts.family is Family.PERSISTENT
    assert inner.facts.sizes == (("x", 48), ("r0_", 1000))
    assert planned(graphs.SOFTMAX, looped=True).category is Category.REDUCTION


def test_a_maximum_and_the_sum_below_it_are_one_reduction_of_long_rows() -> None:
    def kinds(columns: int, looped: bool) -> tuple[set[ReduceKind], list[SegmentKind]]:
        text = '# harness graph 1\ndef rows(\n    x: "{t}[{m}, {n}]",\n):\n'
        text = f"{text}{graphs.SOFTMAX_OF_ROWS}    return (div,)\n"
        made = planned(loads(text.format(t="f32", m=64, n=columns)), looped)
        stores = [store for segment in made.segments for store in segment.stores]
        return {r.kind for r in reductions(stores)}, [segment.kind for segment in made.segments]

    apart, loop = {ReduceKind.MAX, ReduceKind.SUM}, SegmentKind.LOOP
    assert kinds(200, looped=False) == (apart, [loop, loop, loop])
    assert kinds(5000, looped=False) == ({ReduceKind.SOFTMAX}, [loop, loop])
    assert kinds(5000, looped=True) == ({ReduceKind.SOFTMAX}, [loop, loop])


def test_facts_of_rows_held_in_one_block() -> None:
    def facts(rows: int, columns: int, looped: bool) -> Facts:
        text = '# harness graph 1\ndef rows(\n    x: "{t}[{m}, {n}]",\n):\n'
        text = f"{text}{graphs.SOFTMAX_OF_ROWS}    return (div,)\n"
        return planned(loads(text.format(t="f32", m=rows, n=columns)), looped).facts

    assert facts(64, 5000, looped=False).reductions == 2  # though one online softmax
    assert facts(64, 5000, looped=True).reductions == 1
    assert facts(64, 5000, looped=True).width == 4
    assert facts(5000, 300, looped=False).fixed_blocks == (("R0_BLOCK", 512),)
    assert ("XBLOCK", 1) in facts(500, 300, looped=False).fixed_blocks
    assert ("XBLOCK", 1) in facts(5000, 1200, looped=False).fixed_blocks


def test_bools_are_counted_in_32_bits() -> None:
    counted = loads("""# harness graph 1
def counted(a: "f16[64, 384]", b: "f16[64, 1]"):
    eq_0: "b8[64, 384]" = aten.eq.Tensor(a, b)
    sum_0: "i64[64]" = aten.sum.dim_IntList(eq_0, [1])
    return (sum_0,)
""")
    assert planned(counted).facts.width == 4


def test_long_or_register_hungry_rows_are_looped() -> None:
    assert is_persistent(Hint.INNER, sympy.Integer(4096), 2, H100)
    assert not is_persistent(Hint.INNER, sympy.Integer(8192), 5, H100)
    assert not is_persistent(Hint.INNER, sympy.Integer(8193), 1, H100)
    assert not is_persistent(Hint.OUTER, sympy.Integer(65), 1, H100)
    assert not is_persistent(Hint.INNER, sympy.Symbol("s0"), 1, H100)
    assert not is_persistent(Hint.INNER, sympy.Integer(4096), 1, H100, widths=8)
    assert is_persistent(Hint.MIXED, sympy.Integer(384), 3, H100, passes=2)
    assert not is_persistent(Hint.MIXED, sympy.Integer(384), 3, H100, passes=1)
    assert not is_persistent(Hint.MIXED, sympy.Integer(768), 3, H100, passes=2)


def test_rows_that_have_a_multiprocessor_alone_are_held_as_far_as_registers_go() -> None:
    """25,088 elements of two tensors of 16 bits, or one of 32: half of 64 registers a thread."""

    def category(rows: int, tensors: int, dtype: str) -> Category:
        given = "".join(f'    x{n}: "{dtype}[{rows}, 25088]",\n' for n in range(tensors))
        lines, last = "", "x0"
        for n in range(1, tensors):
            add = f"aten.add.Tensor({last}, x{n})"
            lines, last = f'{lines}    a{n}: "{dtype}[{rows}, 25088]" = {add}\n', f"a{n}"
        text = f"""# harness graph 1
def g(
{given}):
{lines}    s: "f32[{rows}, 1]" = aten.sum.dim_IntList({last}, [1], True, dtype=torch.float32)
    y: "f32[{rows}, 25088]" = aten.mul.Tensor({last}, s)
    r: "{dtype}[{rows}, 25088]" = aten._to_copy.default(y, dtype=torch.{NAMES[dtype]})
    return (r,)
"""
        return planned(loads(text)).category

    assert category(64, 2, "f16") is Category.PERSISTENT
    assert category(64, 1, "f32") is Category.PERSISTENT
    assert category(64, 3, "f16") is category(64, 2, "f32") is Category.REDUCTION
    assert category(500, 2, "f16") is category(500, 1, "f32") is Category.REDUCTION


def test_rows_put_together_from_pieces_are_held_as_others() -> None:
    text = """# harness graph 1
def g(
    x: "f16[64, 12544]",
    z: "f16[64, 12544]",
):
    c: "f16[64, 25088]" = aten.cat.default([x, z], 1)
    s: "f32[64, 1]" = aten.sum.dim_IntList(c, [1], True, dtype=torch.float32)
    y: "f32[64, 25088]" = aten.mul.Tensor(c, s)
    r: "f16[64, 25088]" = aten._to_copy.default(y, dtype=torch.float16)
    return (r,)
"""
    assert planned(loads(text)).category is Category.PERSISTENT


def test_a_second_tile_only_for_what_it_makes_contiguous() -> None:
    two = splits(64, 64)
    write = Access(X0 + 64 * X1, 4, True)
    assert tile_boundaries(two, [write, Access(X1 + 64 * X0, 4, False)]) == (1,)
    assert tile_boundaries(two, [write, Access(X1, 4, False)]) == ()
    assert tile_boundaries(two, [write, Access(X0, 4, False)]) == ()
    assert tile_boundaries(splits(3, 64), [write, Access(X1 + 64 * X0, 4, False)]) == ()


def test_a_second_tile_for_what_is_contiguous_in_several_loops_together() -> None:
    """The pairs of a rotary embedding are a loop of two of their own."""
    write = Access(X0 + 64 * X1 + 128 * X2, 4, True)
    pairs = Access(X1 + 2 * X2 + 256 * X0, 2, False)
    assert tile_boundaries(splits(64, 2, 128), [write, pairs]) == (1,)
    apart = Access(X1 + 4 * X2 + 512 * X0, 2, False)
    assert tile_boundaries(splits(64, 2, 128), [write, apart]) == ()


def test_a_third_tile_for_what_neither_of_two_makes_contiguous() -> None:
    three = splits(64, 40, 50)
    write = Access(X0 + 64 * X1 + 2560 * X2, 4, True)
    middle = Access(X1 + 40 * X0 + 2560 * X2, 2, False)
    upper = Access(X2 + 50 * X0 + 3200 * X1, 2, False)
    assert tile_boundaries(three, [write, middle, upper]) == (1, 2)
    assert tile_boundaries(three, [write, middle, upper], most=2) == (1,)
    assert tile_boundaries(three, [write, upper]) == (2,)
    short = splits(64, 6, 50)  # a middle tile too short for a sector
    assert tile_boundaries(short, [write, middle, upper]) == (2,)


def test_the_best_second_tile_stays_beside_a_third() -> None:
    write = Access(X0 + 40 * X1 + 1600 * X2, 4, True)
    middle = Access(X1 + 40 * X0 + 1600 * X2, 4, False)
    upper = Access(X2 + 40 * X0 + 1600 * X1, 1, False)
    assert tile_boundaries(splits(40, 40, 8), [write, upper]) == (2,)
    assert tile_boundaries(splits(40, 40, 8), [write, middle, upper]) == (1, 2)


def test_no_third_tile_for_a_small_part_of_the_bytes() -> None:
    """A plane of 64 x 40 points that are the same in all of the highest loop."""
    write = Access(X0 + 64 * X1 + 2560 * X2, 4, True)
    plane = Access(X1 + 40 * X0, 4, False)
    for length, cuts in ((40, (1, 2)), (48, (2,))):  # a 121st of the bytes, a 145th
        upper = Access(X2 + length * X0 + 64 * length * X1, 4, False)
        made = splits(64, 40, length)
        assert tile_boundaries(made, [write, upper, plane]) == cuts
        assert tile_boundaries(made, [write, upper, plane], many=True) == (1, 2)


def test_as_many_tiles_as_can_be_where_that_is_asked_for() -> None:
    four = splits(16, 4, 8, 9)
    write = Access(X0 + 16 * X1 + 64 * X2, 4, True)
    assert tile_boundaries(four, [write]) == ()
    assert tile_boundaries(four, [write], many=True) == (1, 3)  # 16 x 32 x 9; not 4 or 64 x 8 x 9
    turned = Access(X2 + 8 * X0, 4, False)
    assert tile_boundaries(four, [write, turned], many=True) == (2, 3)
    assert tile_boundaries(splits(64), [write], many=True) == ()


def test_a_second_tile_below_several_short_loops() -> None:
    """Windows of 7 by 7, put back in place: loops below the channels are short, not their rows."""
    write = Access(X0 + 7 * X1 + 14 * X2, 2, True)
    windows = Access(X2 + 384 * X0 + 18816 * X1, 2, False)
    assert tile_boundaries(splits(7, 2, 384), [write, windows]) == (2,)
    assert tile_boundaries(splits(3, 2, 384), [write, windows]) == ()


def test_a_second_tile_for_what_is_contiguous_in_runs() -> None:
    """A transposed tensor behind another in a ``cat``: its places have quotients and remainders."""
    row = X1 - 226
    write = Access(X0 + 64 * X1, 4, True)
    behind = Access(Mod(row, 1024) + 1024 * X0 + 65536 * FloorDiv(row, 1024), 2, False)
    assert tile_boundaries(splits(64, 13538), [write, behind]) == (1,)
    short = Access(Mod(row, 4) + 4 * X0 + 256 * FloorDiv(row, 4), 2, False)
    assert tile_boundaries(splits(64, 13538), [write, short]) == ()
    doubled = Access(2 * FloorDiv(row, 2) + 65536 * X0, 2, False)
    assert tile_boundaries(splits(64, 13538), [write, doubled]) == ()


def test_the_direction_with_more_contiguous_bytes_wins() -> None:
    parallel, reduced = splits(64), [Split(R0, sympy.S.One, sympy.Integer(100))]
    inner, outer = Access(R0 + 100 * X0, 4, False), Access(X0 + 64 * R0, 2, False)
    less = Access(X0 + 64 * R0, 1, False)
    assert reduction_hint(parallel, reduced, [inner, less])[0] is Hint.MIXED
    others = [Access(R0 + 100 * X0 + 6400 * n, 4, False) for n in range(5)]
    assert reduction_hint(parallel, reduced, [*others, outer])[0] is Hint.INNER
    assert reduction_hint(parallel, reduced, [*others[:3], outer])[0] is Hint.MIXED
    wide = Access(R0 + 100 * X0, 8, False)
    assert reduction_hint(parallel, reduced, [wide, inner, less])[0] is Hint.INNER
    assert reduction_hint(parallel, reduced, [inner, outer])[0] is Hint.MIXED
    assert reduction_hint(parallel, reduced, [outer])[0] is Hint.OUTER
    assert reduction_hint(parallel, reduced, [Access(X0, 4, False)])[0] is Hint.DEFAULT


def test_rows_of_a_block_lie_side_by_side_in_what_is_read_across() -> None:
    """Of a bias whose heads are innermost; not where rows are read whole, or it is small."""
    parallel, reduced = splits(128, 8, 32), [Split(R0, sympy.S.One, sympy.Integer(384))]
    rows = Access(R0 + 384 * X0 + 384 * 128 * X1, 2, False)
    heads = Access(X1 + 8 * R0 + 8 * 384 * X0, 4, False)
    hint, beside = reduction_hint(parallel, reduced, [rows, heads])
    assert hint is Hint.MIXED and [split.var for split in beside] == [X1, X0, X2]
    assert reduction_hint(parallel, reduced, [rows])[1] == parallel
    small = Access(X1 + 8 * R0, 4, False)
    assert reduction_hint(parallel, reduced, [rows, small])[1] == parallel


def test_indices_are_32_bits_wide_only_where_that_is_enough() -> None:
    assert planned(graphs.SOFTMAX).index_dtype is DType.I32
    big = graphs.graph_of_size(1 << 16, 1 << 15)
    assert planned(big).index_dtype is DType.I64


def _only(text: str) -> KernelPlan:
    (kernel,) = compile_graph(loads(f"# harness graph 1\n{text}"), H100).kernels
    return kernel.source.plan


@pytest.mark.parametrize(
    ("times", "wide"), [(1 << 17, False), (1 << 18, True), (-(1 << 17), False), (-(1 << 18), True)]
)
def test_indices_are_wide_where_they_are_made_into_large_numbers(times: int, wide: bool) -> None:
    plan = _only(
        f"""def numbers(
    x: "i64[8193]",
):
    at: "i64[8193]" = aten.arange.start_step(0, 8193, 1, dtype=torch.int64)
    large: "i64[8193]" = aten.mul.Tensor(at, {times})
    out: "i64[8193]" = aten.add.Tensor(large, x)
    return (out,)
"""
    )
    assert plan.index_dtype is (DType.I64 if wide else DType.I32)


@pytest.mark.parametrize(("size", "wide"), [(4000, False), (40000, True)])
def test_indices_are_wide_where_what_is_divided_is_large(size: int, wide: bool) -> None:
    new = size * 3 // 2 + 1
    plan = _only(
        f"""def stretched(
    x: "f32[8, {size}]",
):
    at: "i64[{new}]" = aten.arange.start_step(0, {new}, 1, dtype=torch.int64)
    far: "i64[{new}]" = aten.mul.Tensor(at, {size})
    place: "i64[{new}]" = aten.div.Tensor_mode(far, {new}, rounding_mode="floor")
    out: "f32[8, {new}]" = aten.index.Tensor(x, [None, place])
    return (out,)
"""
    )
    assert plan.index_dtype is (DType.I64 if wide else DType.I32)


@pytest.mark.parametrize(("rows", "told"), [(16, True), (1 << 16, False)])
def test_a_launch_is_not_asked_where_something_known_is_large(rows: int, told: bool) -> None:
    plan = _only(
        f"""def taken(
    table: "i8[{rows}, 65536]",
    at: "i64[s0]",
):
    out: "i8[s0, 65536]" = aten.index.Tensor(table, [at])
    return (out,)
"""
    )
    s0 = size_symbol("s0")
    assert plan.extents == ((s0, 65536 * s0) if told else ())


@pytest.mark.parametrize(
    ("number", "told"), [("2*s0 - 3", True), ("s0*s0*(s0//2)", True), ("s0 % 3", False)]
)
def test_a_launch_is_asked_for_sums_products_and_halves_of_sizes(number: str, told: bool) -> None:
    plan = _only(
        f"""def added(
    x: "i64[s0]",
):
    out: "i64[s0]" = aten.add.Tensor(x, sym("{number}"))
    return (out,)
"""
    )
    assert bool(plan.extents) is told


def test_a_launch_counts_to_where_the_last_chunk_of_rows_may_end() -> None:
    plan = _only(
        """def columns(
    x: "f32[s0, 64]",
):
    out: "f32[64]" = aten.sum.dim_IntList(x, [0])
    return (out,)
"""
    )
    assert plan.facts.chunked
    assert size_symbol("s0") + MAX_REDUCTION_BLOCK * GATHERED in plan.extents


@pytest.mark.parametrize(("looped", "read"), [(True, {"a", "y"}), (False, {"a"})])
def test_a_later_loop_reads_what_an_earlier_one_has_stored(looped: bool, read: set[str]) -> None:
    """One block still has it."""
    text = """# harness graph 1
def rows(
    a: "f32[64, 5000]",
):
    y: "f32[64, 5000]" = aten.exp.default(a)
    total: "f32[64, 1]" = aten.sum.dim_IntList(y, [1], True)
    z: "f32[64, 5000]" = aten.div.Tensor(y, total)
    return (y, z)
"""
    (kernel,) = compile_graph(loads(text), H100, Decisions(loops={"total": looped})).kernels
    assert {load.buffer for load in loads_of(kernel.source.plan.stores)} == read


@pytest.mark.parametrize(
    ("first", "held"), [("exp.default(a)", True), ("cumsum.default(a, 0)", False)]
)
def test_no_block_beside_a_loop_that_overwrites_what_the_block_reads_again(
    first: str, held: bool
) -> None:
    """The loop reads what it has stored, in the memory of what it has read by then."""
    text = f"""# harness graph 1
def rows(
    a: "f32[64, s0]",
):
    x: "f32[64, s0]" = aten.{first}
    y: "f32[64, s0]" = aten.exp.default(x)
    total: "f32[64, 1]" = aten.sum.dim_IntList(y, [1], True)
    z: "f32[64, s0]" = aten.div.Tensor(y, total)
    return (y, z)
"""
    apart = Decisions(kernels={"x": 0, "y": 1, "total": 1, "z": 1})
    *_, kernel = compile_graph(loads(text), H100, apart).kernels
    plan = kernel.source.plan
    assert (plan.held is not None) is held
    assert (("x", "y") in [argument.buffers for argument in plan.arguments]) is not held


def test_names_are_short_and_say_what_is_computed() -> None:
    assert kernel_name("poi", ["mul_3", "view_1", "mul", "add"]) == "triton_poi_fused_mul_add"
    assert kernel_name("poi", ["view_1"]) == "triton_poi_fused_view"
    assert len(kernel_name("red", [f"operator{'x' * 20}{c}" for c in "abcdef"])) <= LONGEST + 20
