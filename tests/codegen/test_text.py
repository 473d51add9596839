"""What the text of the important kernels looks like."""

from __future__ import annotations

import re

import pytest

from harness.graph.text import dumps, loads
from harness.heuristics.facts import Hint
from harness.heuristics.registry import candidates
from harness.pipeline import compile_graph
from harness.target import H100, H200
from harness.tiling.build import kernel_name
from harness.tiling.plan import ArgumentKind, Category
from tests.codegen import graphs
from tests.codegen.kernels import modules, only, sources


def test_persistent_softmax_has_one_row_per_program_and_loads_it_once() -> None:
    source = only(graphs.SOFTMAX)
    assert source.plan.category is Category.PERSISTENT
    assert source.plan.facts.fixed_blocks == (("XBLOCK", 1), ("R0_BLOCK", 1024))
    assert source.text.count("tl.load") == 1
    assert "xmask" not in source.text
    assert "for " not in source.text
    load = "tmp0 = tl.load(in_ptr0 + (r0_index + 1000*xindex), r0_mask).to(tl.float32)"
    assert load in source.text


def test_looped_softmax_takes_two_passes_not_three() -> None:
    text = only(graphs.SOFTMAX, looped=True).text
    assert text.count("for r0_offset in") == 2
    assert text.count('eviction_policy="evict_last"') == 1
    assert text.count('eviction_policy="evict_first"') == 1


def test_a_softmax_of_a_softmax_waits_for_it() -> None:
    """Two loops for the maxima and sums, one for the result; what is put together of many pieces
    has a nest of its own, which all of them compute."""
    row, one = '"f32[3300]"', '"f32[1]"'
    graph = f"""# harness graph 1
def twice(
    x: "f32[165]",
):
    cat: {row} = aten.cat.default([{", ".join("x" * 20)}])
    most: {one} = aten.amax.default(cat, [0], True)
    below: {row} = aten.sub.Tensor(cat, most)
    power: {row} = aten.exp.default(below)
    total: {one} = aten.sum.dim_IntList(power, [0], True)
    log: {one} = aten.log.default(total)
    first: {row} = aten.sub.Tensor(below, log)
    most_1: {one} = aten.amax.default(first, [0], True)
    below_1: {row} = aten.sub.Tensor(first, most_1)
    power_1: {row} = aten.exp.default(below_1)
    total_1: {one} = aten.sum.dim_IntList(power_1, [0], True)
    log_1: {one} = aten.log.default(total_1)
    second: {row} = aten.sub.Tensor(below_1, log_1)
    return (second,)
"""
    (kernel,) = compile_graph(loads(graph), H100).kernels
    assert kernel.module.text.count("for r0_offset in") == 3


@pytest.mark.parametrize(("images", "hint"), [(32, False), (512, True)])
def test_what_a_later_kernel_finds_in_the_cache_is_not_dropped(images: int, hint: bool) -> None:
    """A batch of 26 MB is there for what follows its norm's sums, one of 411 MB is not."""
    graph = f"""# harness graph 1
def norm(
    x: "f32[{images}, 64, 3136]",
):
    total: "f32[1, 64, 1]" = aten.sum.dim_IntList(x, [0, 2], True)
    sub: "f32[{images}, 64, 3136]" = aten.sub.Tensor(x, total)
    return (sub,)
"""
    first, *rest = (kernel.module.text for kernel in compile_graph(loads(graph), H100).kernels)
    assert [text.count("for r0_offset in") for text in (first, *rest)] == [1, 0, 0]
    assert ("evict_first" in first) is hint


def test_looped_layer_norm_finds_mean_and_variance_in_one_loop() -> None:
    text = only(graphs.LAYER_NORM, looped=True).text
    assert text.count("for r0_offset in") == 2
    first, second = text.split("for r0_offset in")[1:]
    assert first.count("tl.load") == 1
    assert "1.0 / tl.full([], r0_offset // R0_BLOCK + 1, tl.float32)" in first
    assert 'tl.load(in_ptr1 + r0_index, r0_mask, eviction_policy="evict_last")' in second


def _layer_norm(rows: int, columns: int) -> str:
    return dumps(graphs.LAYER_NORM).replace("[40, ", f"[{rows}, ").replace("384]", f"{columns}]")


@pytest.mark.parametrize(
    ("rows", "columns", "ahead"),
    [(128, 384, True), (4096, 384, False), (4096, 385, True)],  # few rows; rows that begin anywhere
)
def test_what_is_needed_later_is_loaded_before_a_wait(rows: int, columns: int, ahead: bool) -> None:
    text = _layer_norm(rows, columns)
    made = only(loads(text)).text
    loaded = re.findall(r"(\w+) \+", made[: made.index("tl.sum(")])
    assert sum(name.startswith("in_ptr") for name in loaded) == (3 if ahead else 1)
    assert made.count("tl.load(") == 3


@pytest.mark.parametrize(("columns", "ahead"), [(8001, 3), (9001, 1)])
def test_what_a_thread_cannot_hold_besides_its_row_is_loaded_after_the_wait(
    columns: int, ahead: int
) -> None:
    shape = f"4096, {columns}"
    text = f"""# harness graph 1
def norm(
    x: "bf16[{shape}]",
    weight: "bf16[{columns}]",
    bias: "bf16[{columns}]",
):
    wide: "f32[{shape}]" = aten._to_copy.default(x, dtype=torch.float32)
    both: ("f32[4096, 1]", "f32[4096, 1]") = aten.var_mean.correction(
        wide, [1], correction=0, keepdim=True
    )
    var: "f32[4096, 1]" = getitem(both, 0)
    mul: "f32[{shape}]" = aten.mul.Tensor(wide, var)
    mul_1: "f32[{shape}]" = aten.mul.Tensor(mul, weight)
    add: "f32[{shape}]" = aten.add.Tensor(mul_1, bias)
    out: "bf16[{shape}]" = aten._to_copy.default(add, dtype=torch.bfloat16)
    return (out,)
"""
    made = only(loads(text)).text
    assert (made.count("tl.load(", 0, made.index("tl.sum(")), made.count("tl.load(")) == (ahead, 3)


def test_tiles_of_two_directions_load_what_is_alike_for_all_rows_before_they_wait() -> None:
    text = """# harness graph 1
def norm(
    x: "f32[64, 96, 3136]",
    weight: "f32[96]",
):
    turned: "f32[64, 3136, 96]{301056, 1, 3136}" = aten.permute.default(x, [0, 2, 1])
    both: ("f32[64, 3136, 1]", "f32[64, 3136, 1]") = aten.var_mean.correction(
        turned, [2], correction=0, keepdim=True
    )
    mean: "f32[64, 3136, 1]" = getitem(both, 1)
    sub: "f32[64, 3136, 96]{301056, 1, 3136}" = aten.sub.Tensor(turned, mean)
    mul: "f32[64, 3136, 96]{301056, 1, 3136}" = aten.mul.Tensor(sub, weight)
    out: "f32[64, 3136, 96]" = aten.clone.default(mul, memory_format=torch.contiguous_format)
    return (out, mean)
"""
    made = only(loads(text))
    assert made.plan.facts.hint is Hint.MIXED
    assert made.text.count("tl.load(", 0, made.text.index("tl.sum(")) == 2


def test_what_belongs_to_a_row_is_loaded_before_its_reductions() -> None:
    """A target and what lies there are two loads one after the other: not after a row's sum."""
    text = """# harness graph 1
def loss(
    x: "f32[4096, 2000]",
    target: "i64[4096, 1] bound=2000",
):
    total: "f32[4096, 1]" = aten.sum.dim_IntList(x, [-1], True)
    gather: "f32[4096, 1]" = aten.gather.default(x, -1, target)
    sub: "f32[4096, 1]" = aten.sub.Tensor(total, gather)
    return (sub,)
"""
    made = only(loads(text)).text
    row, target = made.index("in_ptr0 + (r0_index"), made.index("tl.load(in_ptr1")
    assert row < target < made.index("tl.load(in_ptr0", target) < made.index("tl.sum(")


@pytest.mark.parametrize(
    ("rows", "columns", "category"),
    [
        (4096, 12288, Category.REDUCTION),
        (4096, 16384, Category.REDUCTION),
        (4096, 8192, Category.PERSISTENT),
        (4096, 11008, Category.PERSISTENT),  # blocks of a loop would be more than a row
        (256, 16384, Category.PERSISTENT),
        (32, 16384, Category.PERSISTENT),
    ],
)
def test_norms_of_long_rows_in_whole_blocks_run_in_a_loop(
    rows: int, columns: int, category: Category
) -> None:
    text = _layer_norm(rows, columns)
    wide, narrow = (only(loads(t)).plan for t in (text, text.replace('"f32[', '"bf16[')))
    assert narrow.category is category
    assert wide.category is Category.PERSISTENT  # not timed in a loop


@pytest.mark.parametrize(
    ("rows", "columns", "category"),
    [
        (4096, 15999, Category.REDUCTION),  # read as whole vectors there
        (512, 15999, Category.REDUCTION),
        (4096, 16000, Category.PERSISTENT),
        (4096, 7999, Category.PERSISTENT),
        (200, 15999, Category.PERSISTENT),
    ],
)
def test_wide_norms_of_long_rows_that_begin_anywhere_run_in_a_loop(
    rows: int, columns: int, category: Category
) -> None:
    assert only(loads(_layer_norm(rows, columns))).plan.category is category


@pytest.mark.parametrize(
    ("rows", "heads", "moved", "category"),
    [
        (4096, 64, True, Category.REDUCTION),
        (4096, 64, False, Category.PERSISTENT),
        (4096, 32, True, Category.PERSISTENT),
        (256, 64, True, Category.PERSISTENT),
    ],
)
def test_rows_that_are_read_again_at_other_places_run_in_a_loop(
    rows: int, heads: int, moved: bool, category: Category
) -> None:
    """A norm and what swaps the halves of each head: 24 us, held in a block 29 (H200)."""
    whole, row, three = f"{rows}, {heads * 128}", f"{rows}, 1", f"{rows}, {heads}, 128"
    half = f'"f32[{rows}, {heads}, 64]{{{heads * 128}, 128, 1}}"'
    first, second = (64, 0) if moved else (0, 64)
    text = f"""# harness graph 1
def rotated(
    x: "f32[{whole}]",
):
    square: "f32[{whole}]" = aten.mul.Tensor(x, x)
    mean: "f32[{row}]" = aten.mean.dim(square, [1], True)
    scaled: "f32[{whole}]" = aten.mul.Tensor(x, mean)
    view: "f32[{three}]" = aten.view.default(scaled, [{three}])
    a: {half} = aten.slice.Tensor(view, 2, {first}, {first + 64})
    b: {half} = aten.slice.Tensor(view, 2, {second}, {second + 64})
    cat: "f32[{three}]" = aten.cat.default([a, b], 2)
    out: "f32[{three}]" = aten.add.Tensor(cat, view)
    return (out,)
"""
    assert only(loads(text)).plan.category is category


@pytest.mark.parametrize(("rows", "columns"), [(131, 16384), (132, 16384), (131, 16392)])
def test_a_row_that_has_a_multiprocessor_to_itself_stays_in_a_block(
    rows: int, columns: int
) -> None:
    whole, row = f"f32[{rows}, {columns}]", f"f32[{rows}, 1]"
    text = f"""# harness graph 1
def norm(
    x: "{whole}",
    y: "{whole}",
):
    add: "{whole}" = aten.add.Tensor(x, y)
    mean: "{row}" = aten.mean.dim(add, [1], True)
    sub: "{whole}" = aten.sub.Tensor(add, mean)
    return (add, sub)
"""
    plan = only(loads(text)).plan
    assert (plan.category is Category.PERSISTENT) == (rows < 132 and columns <= 16384)
    if plan.category is Category.PERSISTENT:
        assert candidates(plan.facts, H200)[0].num_warps == 32


@pytest.mark.parametrize("columns", [8192, 11008, 16384])
def test_softmaxes_of_rows_of_16384_stay_in_a_block(columns: int) -> None:
    text = dumps(graphs.SOFTMAX).replace("[48, ", "[4096, ").replace("1000]", f"{columns}]")
    plan = only(loads(text)).plan
    assert plan.category is Category.PERSISTENT
    assert candidates(plan.facts, H200)[0].num_warps == 8


def test_transpose_reads_along_y_and_writes_along_x() -> None:
    source = only(graphs.TRANSPOSE)
    assert [t.prefix for t in source.plan.tiles] == ["y", "x"]
    assert "in_ptr0 + (yindex + 160*xindex)" in source.text
    assert "out_ptr0 + (xindex + 96*yindex)" in source.text
    assert source.grid.text == "(-(-96 // XBLOCK), -(-160 // YBLOCK), 1)"


def test_contiguous_access_is_not_hidden_behind_a_split() -> None:
    text = only(graphs.BIAS).text
    assert "tl.load(in_ptr0 + xindex, xmask)" in text
    assert "tl.load(in_ptr1 + x0, xmask)" in text


def test_a_mutated_parameter_is_one_argument() -> None:
    source = only(graphs.STEP)
    kinds = [(a.name, a.kind) for a in source.plan.arguments]
    assert kinds == [("in_out_ptr0", ArgumentKind.IN_OUT), ("in_ptr0", ArgumentKind.INPUT)]
    assert "tl.load(in_out_ptr0 + xindex, xmask)" in source.text
    assert "tl.store(in_out_ptr0 + xindex, tmp3, xmask)" in source.text


def test_scatter_adds_atomically_to_what_is_there() -> None:
    fill, add = list(sources(graphs.SCATTER))
    assert fill.plan.initial == {"put"}
    assert "tl.atomic_add(in_out_ptr0" in add.text
    module = modules(graphs.SCATTER)[1].text
    assert "KEPT = (0,)" in module
    assert "torch.ops.aten.index_put.default(before_put, [index], values, True)" in module


def test_what_a_kernel_writes_a_part_of_keeps_the_rest() -> None:
    kept = {
        (argument.buffers, "KEPT = ()" in module.text)
        for source, module in zip(sources(graphs.PART), modules(graphs.PART), strict=True)
        for argument in source.plan.arguments
        if argument.kind is ArgumentKind.IN_OUT
    }
    assert kept == {(("put",), False), (("held",), False)}


def test_what_the_caller_holds_is_scattered_into_without_a_copy() -> None:
    put, total = list(sources(graphs.CACHE))
    assert [a.buffers for a in put.plan.arguments] == [("held",), ("place",), ("keys",)]
    assert put.plan.bytes_moved == 3 * 8 + 2 * 3 * 8 * 4
    assert [a.buffers for a in total.plan.arguments] == [("held",), ("sum",)]
    assert "index_put" not in modules(graphs.CACHE)[1].text.split("def reference")[1]


def test_no_mask_where_a_block_always_fits() -> None:
    text = only(graphs.OUTER, looped=True).text
    assert "xmask" not in text
    assert "r0_mask" in text


def test_masked_loads_say_what_is_seen_and_one_element_is_loaded_once() -> None:
    padded = """# harness graph 1
def padded(
    x: "f32[5, 70]",
    s: "f32[1]",
):
    pad: "f32[5, 74]" = aten.constant_pad_nd.default(x, [1, 3], 2.0)
    scaled: "f32[5, 74]" = aten.mul.Tensor(pad, s)
    return (scaled,)
"""
    text = only(loads(padded, "test graph")).text
    assert "xmask & tmp3, other=2.0)" in text and "tl.load(in_ptr1, None, " in text
    assert "other=" not in only(graphs.BIAS).text  # what is outside is not stored


def test_what_is_the_same_along_a_mask_is_loaded_without_it() -> None:
    """A row's own value, of padded rows of which columns are added up: once a row."""
    padded = """# harness graph 1
def padded(
    x: "f32[640, 70]",
    s: "f32[640, 1]",
):
    scaled: "f32[640, 70]" = aten.mul.Tensor(x, s)
    pad: "f32[640, 72]" = aten.constant_pad_nd.default(scaled, [0, 2], 2.0)
    total: "f32[72]" = aten.sum.dim_IntList(pad, [0])
    return (pad, total)
"""
    text = next(iter(sources(loads(padded, "test graph")))).text
    (row,) = (line for line in text.splitlines() if "  # s" in line)
    assert "tl.full" not in row and "tmp" not in row.split("tl.load")[1]
    (column,) = (line for line in text.splitlines() if "  # x" in line)
    assert "& tmp" in column


def test_the_same_text_under_another_name_has_the_same_hash() -> None:
    program_twice = [next(iter(sources(graphs.BIAS))) for _ in range(2)]
    assert program_twice[0].body_hash == program_twice[1].body_hash
    assert program_twice[0].body_hash != only(graphs.STEP).body_hash


def test_names_say_what_they_are_and_lines_where_they_come_from() -> None:
    text = only(graphs.LAYER_NORM, looped=True).text
    assert "mean_0 = tl.full(" in text and "squares_0 = tl.full(" in text
    assert ")  # weight\n" in text and "  # add_1\n" in text
    assert "x0 = xindex" not in text and "r0_index = r0_base\n" not in text
    bias = only(graphs.BIAS)
    assert "(x0)." not in bias.text and " + 0," not in bias.text


def test_comments_do_not_make_another_kernel() -> None:
    renamed = dumps(graphs.BIAS).replace("b:", "other:").replace(", b)", ", other)")
    one, other = only(graphs.BIAS), only(loads(renamed, "test graph"))
    assert one.text != other.text and one.body_hash == other.body_hash


def test_names_of_kernels_have_no_debris_of_splits() -> None:
    origins = (
        "mul_3",
        "sum_6_chunks",
        "sum_6_partial",
        "var_mean_1_partial_var",
        "sum_7_results_2",
    )
    assert kernel_name("red", origins) == "triton_red_fused_mul_sum_var_mean"


@pytest.mark.parametrize("columns", [40000, 40004, 40001])
def test_an_online_softmax_folds_what_a_thread_loads_at_once(columns: int) -> None:
    text = f"""# harness graph 1
def rows(
    x: "bf16[600, {columns}]",
):
    wide: "f32[600, {columns}]" = aten._to_copy.default(x, dtype=torch.float32)
    amax: "f32[600, 1]" = aten.amax.default(wide, [-1], True)
    sub: "f32[600, {columns}]" = aten.sub.Tensor(wide, amax)
    exp: "f32[600, {columns}]" = aten.exp.default(sub)
    total: "f32[600, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    return (amax, total)
"""
    made = only(loads(text)).text
    assert "SIDE: tl.constexpr = 8 if" in made  # wherever rows begin
    assert ("r0_shift = " in made) == (columns != 40000)


def test_curves_that_are_added_to_one_take_the_short_forms() -> None:
    text = only(graphs.CURVES).text
    for long in ("libdevice.erf", "libdevice.tanh", "tl.exp(", "1.0 /"):
        assert long not in text.split("def triton_")[1], long
    assert text.count("_one_plus_erf(tmp") == 1
    assert text.count("_sigmoid(tmp") == 2  # one for 1 + tanh(x) and 1 - tanh(x)^2, one for itself


def test_curves_in_float64_stay_what_they_are() -> None:
    wide = loads(dumps(graphs.CURVES).replace('"f32[', '"f64['), "wide")
    text = only(wide).text
    assert "libdevice.tanh(" in text and "1.0 / " in text and "libdevice.erf(" in text
    assert "_sigmoid" not in text


def test_exponentials_that_only_a_sum_takes_may_vanish() -> None:
    looped = only(graphs.SOFTMAX, looped=True).text.split("for r0_offset in")
    assert "libdevice.fast_expf(" in looped[1] and "tl.exp(" not in looped[1]
    assert "= _exp(" in looped[2] and "fast_expf" not in looped[2]
    whole = dumps(graphs.SOFTMAX).replace("1000", "4000")
    assert "fast_expf" not in only(loads(whole, "softmax")).text  # its exponential is stored too
    alone = only(loads(whole.replace("return (narrow,)", "return (amax, total)"), "alone")).text
    assert "libdevice.fast_expf(" in alone and "tl.exp(" not in alone


def test_loops_take_the_short_form_of_exponentials_of_which_16_bits_are_stored() -> None:
    looped = only(graphs.SOFTMAX, looped=True).text
    assert looped.count("= _exp(tmp") == 1 and "tl.exp(" not in looped
    assert "_exp(" not in only(graphs.SOFTMAX).text  # in a block it takes registers
    wide = loads(dumps(graphs.SOFTMAX).replace("return (narrow,)", "return (narrow, exp)"), "wide")
    text = only(wide, looped=True).text
    assert "= _exp(" not in text and "tl.exp(" in text


def test_a_softmax_divides_once_a_row() -> None:
    for looped in (True, False):
        text = only(graphs.SOFTMAX, looped=looped).text
        assert text.count(" / ") == 1 and "1.0 / " in text
        assert "1.0 / " not in text.split("for r0_offset in")[-1] or not looped
    wide = loads(dumps(graphs.SOFTMAX).replace('"f32[', '"f64[').replace("float32", "float64"))
    assert "1.0 / " not in only(wide).text


def test_only_what_a_large_kernel_writes_makes_way_for_what_it_reads_again() -> None:
    small = dumps(graphs.SOFTMAX).replace("1000", "20000")
    assert ".cs" not in only(loads(small, "small"), looped=True).text
    large = only(loads(small.replace("48", "4800"), "large"), looped=True).text
    assert large.count('cache_modifier=".cs"') == large.count("tl.store(") == 1
    again = (
        dumps(graphs.SOFTMAX).replace("48", "96000").replace("return (narrow,)", "return (total,)")
    )
    assert ".cs" not in only(loads(again, "once"), looped=True).text


@pytest.mark.parametrize(("count", "ahead"), [(8, False), (14, True)])
def test_a_small_kernel_of_many_loads_has_them_first(count: int, ahead: bool) -> None:
    """Where they are used, they wait in turns."""
    names = [f"{kind}{k}" for k in range(count) for kind in "xv"]
    sizes = {"x": "64, 96", "v": "96"}
    inputs = "".join(f'    {n}: "f32[{sizes[n[0]]}]",\n' for n in names)
    lines, total = "", "x0"
    for k in range(count):
        lines += f'    m{k}: "f32[64, 96]" = aten.mul.Tensor(x{k}, v{k})\n'
        lines += f'    t{k}: "f32[64, 96]" = aten.add.Tensor({total}, m{k})\n'
        total = f"t{k}"
    graph = f"# harness graph 1\ndef many(\n{inputs}):\n{lines}    return ({total},)\n"
    text = only(loads(graph)).text
    assert text.count("tl.load") == 2 * count
    assert (text.rindex("tl.load") < text.index(" * tmp")) is ahead
