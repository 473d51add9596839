"""Scans and sorts in Triton's interpreter: every row of their table, and fused with others."""

from __future__ import annotations

import json
import re

import pytest

from harness.graph.model import Graph
from harness.heuristics.facts import Config
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.schedule.build import schedule
from harness.target import H100
from tests.codegen.kernels import groups, loads, modules, sources
from tests.codegen.test_interpreted import failures
from tests.operator_cases import graph_of
from tests.operator_rows_scan import FAMILIES, by_function, recurrence


def _graph(text: str) -> Graph:
    return loads(f"# harness graph 1\n{text}", "test graph")


PREFIX = _graph("""def prefix(
    x: "bf16[5, 600]",
    w: "f32[5, 1]",
):
    wide: "f32[5, 600]" = aten._to_copy.default(x, dtype=torch.float32)
    scaled: "f32[5, 600]" = aten.mul.Tensor(wide, w)
    running: "f32[5, 600]" = aten.cumsum.default(scaled, 1)
    both: ("f32[5, 600]", "i64[5, 600]") = aten.cummax.default(scaled, 1)
    top: "f32[5, 600]" = getitem(both, 0)
    place: "i64[5, 600]" = getitem(both, 1)
    total: "f32[5]" = aten.amax.default(running, [1])
    gap: "f32[5, 600]" = aten.sub.Tensor(top, running)
    again: "f32[5, 600]" = aten.cumsum.default(gap, 1)
    narrow: "bf16[5, 600]" = aten._to_copy.default(again, dtype=torch.bfloat16)
    return (narrow, place, total)
""")

NORMED = _graph("""def normed(
    x: "f32[3, 300]",
):
    running: "f32[3, 300]" = aten.logcumsumexp.default(x, 1)
    top: "f32[3, 1]" = aten.amax.default(running, [1], True)
    sub: "f32[3, 300]" = aten.sub.Tensor(running, top)
    shares: "f32[3, 300]" = aten.exp.default(sub)
    product: "f32[3, 300]" = aten.cumprod.default(shares, 1)
    return (product,)
""")

COLUMNS = _graph("""def columns(
    x: "f32[3, 90, 40]",
    y: "f32[3, 90, 40]",
):
    backward: "f32[3, 90, 40]" = aten.flip.default(x, [1])
    running: "f32[3, 90, 40]" = aten.cumsum.default(backward, 1)
    forward: "f32[3, 90, 40]" = aten.flip.default(running, [1])
    sum: "f32[3, 90, 40]" = aten.add.Tensor(forward, y)
    return (sum,)
""")

ORDERED = _graph("""def ordered(
    x: "bf16[7, 100]",
):
    double: "bf16[7, 100]" = aten.mul.Tensor(x, 2.0)
    both: ("bf16[7, 100]", "i64[7, 100]") = aten.sort.stable(
        double, stable=True, dim=1, descending=True
    )
    values: "bf16[7, 100]" = getitem(both, 0)
    places: "i64[7, 100]" = getitem(both, 1)
    wide: "f32[7, 100]" = aten._to_copy.default(values, dtype=torch.float32)
    running: "f32[7, 100]" = aten.cumsum.default(wide, 1)
    total: "f32[7, 1]" = aten.sum.dim_IntList(wide, [1], True)
    shares: "f32[7, 100]" = aten.div.Tensor(running, total)
    return (shares, places)
""")

PARTS = _graph("""def parts(
    x: "f32[33, 50]",
    where: "i64[33, 1] bound=50",
):
    both: ("f32[33, 50]", "i64[33, 50]") = aten.sort.stable(
        x, stable=True, dim=-1, descending=True
    )
    values: "f32[33, 50]" = getitem(both, 0)
    places: "i64[33, 50]" = getitem(both, 1)
    first: "f32[33, 6]" = aten.slice_copy.Tensor(values, 1, 0, 6)
    first_places: "i64[33, 6]" = aten.slice_copy.Tensor(places, -1, 0, 6)
    between: "f32[33, 7]" = aten.slice_copy.Tensor(values, 1, 20, 27)
    third: "f32[33, 1]" = aten.slice_copy.Tensor(values, 1, 2, 3)
    third_place: "i64[33, 1]" = aten.slice_copy.Tensor(places, 1, 2, 3)
    some: "f32[33, 1]" = aten.gather.default(values, 1, where)
    return (first, first_places, between, third, third_place, some)
""")

BEHIND = _graph("""def behind(
    x: "f32[7, 64]",
    y: "f32[7, 24]",
):
    exp: "f32[7, 64]" = aten.exp.default(x)
    running: "f32[7, 64]" = aten.cumsum.default(exp, 1)
    last: "f32[7, 40]{64, 1}" = aten.slice.Tensor(running, 1, 24, 64)
    out: "f32[7, 64]" = aten.cat.default([y, last], 1)
    return (out,)
""")

ONWARD = _graph("""def onward(
    x: "f32[32, 64]",
):
    running: "f32[32, 64]" = aten.cumsum.default(x, 1)
    part: "f32[32, 48]" = aten.slice_copy.Tensor(running, 1, 0, 48)
    flat: "f32[1536]" = aten.view.default(part, [1536])
    pad: "f32[1552]" = aten.constant_pad_nd.default(flat, [0, 16], 0.0)
    windows: "f32[32, 64]{48, 1}" = aten.unfold.default(pad, 0, 64, 48)
    out: "f32[32, 64]" = aten.exp.default(windows)
    return (part, out)
""")
GRAPHS = (PREFIX, NORMED, COLUMNS, ORDERED, PARTS, BEHIND, ONWARD)


def test_every_scan_and_sort_computes_what_torch_does(interpreter: InterpreterPool) -> None:
    found = {}
    for case in (case for family in FAMILIES for case in family()):
        for module in modules(graph_of(case)):
            found[f"{case.name} {module.name}"] = module
    assert len(found) > 80
    assert failures(found, interpreter) == []


@pytest.mark.parametrize("looped", [True, False])
def test_fused_scans_compute_what_torch_does(interpreter: InterpreterPool, looped: bool) -> None:
    found = {}
    for graph in GRAPHS:
        for module in modules(graph, looped):
            found[f"{graph.name} {module.name}"] = module
    assert failures(found, interpreter) == []
    if looped:  # rows of several blocks
        found = {name: module for name, module in found.items() if module.category == "red"}
        config = Config((("XBLOCK", 8), ("R0_BLOCK", 32)), 4)
        assert len(found) >= 3 and failures(found, interpreter, config) == []


def test_scans_share_a_kernel_with_what_surrounds_them() -> None:
    kernels = {graph.name: len(list(sources(graph))) for graph in GRAPHS}
    # What reads the reverse of a scan with something else that is not reversed runs after it; so
    # does what reads on where a part of the row ends, in the next one.
    assert kernels == {**dict.fromkeys(kernels, 1), "columns": 2, "onward": 2}


def test_a_scan_between_two_reversals_is_one_kernel() -> None:
    text = """def gradient(
    x: "f32[6, 30]",
):
    backward: "f32[6, 30]" = aten.flip.default(x, [1])
    running: "f32[6, 30]" = aten.cumsum.default(backward, 1)
    forward: "f32[6, 30]" = aten.flip.default(running, [-1])
    return (forward,)
"""
    (kernel,) = sources(_graph(text))
    assert [a.buffers for a in kernel.plan.arguments] == [("x",), ("forward",)]


CROSSED = """def crossed(
    x: "f32[80, 18, 12]",
    w: "f32[12, 80, 18]",
):
    turned: "f32[12, 80, 18]{1, 216, 12}" = aten.permute.default(x, [2, 0, 1])
    scaled: "f32[12, 80, 18]" = aten.mul.Tensor(w, turned)
    running: "f32[12, 80, 18]" = aten.cumsum.default(scaled, 1)
    most: ("f32[12, 80, 18]", "i64[12, 80, 18]") = aten.cummax.default(scaled, 1)
    top: "f32[12, 80, 18]" = getitem(most, 0)
    place: "i64[12, 80, 18]" = getitem(most, 1)
    return (running, top, place)
"""


def test_columns_in_two_directions_of_memory_have_a_tile_for_each(
    interpreter: InterpreterPool,
) -> None:
    graph = _graph(CROSSED)
    (kernel,) = sources(graph)
    assert [tile.prefix for tile in kernel.plan.tiles] == ["y", "x", "r0_"]
    found = {module.name: module for module in modules(graph)}
    for blocks in ((8, 16, 4), (4, 8, 32), (1, 16, 16)):
        config = Config(tuple(zip(("YBLOCK", "XBLOCK", "R0_BLOCK"), blocks, strict=True)), 4)
        assert failures(found, interpreter, config) == []
    # A program that reduces columns besides has them in one direction.
    total = '    total: "f32[12, 18]" = aten.amax.default(running, [1])'
    reducing = _graph(CROSSED.replace("    return (", f"{total}\n    return (total, "))
    assert [len(kernel.plan.tiles) for kernel in sources(reducing)] == [2]


LONG = _graph("""def long(
    x: "f32[2, 17000]",
    y: "bf16[2, 17000]",
):
    scaled: "f32[2, 17000]" = aten.mul.Tensor(x, y)
    running: "f32[2, 17000]" = aten.cumsum.default(scaled, 1)
    shifted: "f32[2, 17000]" = aten.add.Tensor(running, 1.0)
    again: "f32[2, 17000]" = aten.cumsum.default(x, 1)
    return (shifted, again)
""")
PLACES = _graph("""def places(
    x: "bf16[17000]",
):
    both: ("bf16[17000]", "i64[17000]") = aten.cummax.default(x, 0)
    top: "bf16[17000]" = getitem(both, 0)
    place: "i64[17000]" = getitem(both, 1)
    counted: "i64[17000]" = aten.cumsum.default(place, 0)
    return (top, place, counted)
""")
GROUPS_OF_BLOCKS = _graph("""def groups(
    x: "f64[67000]",
):
    product: "f64[67000]" = aten.cumsum.default(x, 0)
    return (product,)
""")
RECURRENCE = """def recurrence(
    x: "f32[2, {n}]",
    y: "f32[2, {n}]",
):
    rate: "f32[2, {n}]" = aten.sigmoid.default(x)
    turned: "f32[{n}, 2]{{1, {n}}}" = aten.permute.default(rate, [1, 0])
    steps: "f32[{n}, 2]{{1, {n}}}" = aten.permute.default(y, [1, 0])
    both: ("f32[{n}, 2]{{1, {n}}}", "f32[{n}, 2]{{1, {n}}}") = harness.associative_scan.default(
        [turned, steps], {function}
    )
    states: "f32[{n}, 2]{{1, {n}}}" = getitem(both, 1)
    back: "f32[2, {n}]" = aten.permute.default(states, [1, 0])
    sum: "f32[2, {n}]" = aten.add.Tensor(back, y)
    return (sum,)
"""


def _recurrence(n: int) -> Graph:
    return _graph(RECURRENCE.format(n=n, function=json.dumps(recurrence("f32"))))


def _capturing(n: int, sizes: str) -> Graph:
    """A running sum, and at each step what the function captures."""
    given = f'    step: "f32[{sizes}]",\n):'
    lines = [
        'kept: "f32[]" = aten.add.Tensor(a0, step)',
        'sum: "f32[]" = aten.add.Tensor(kept, b0)',
    ]
    function = by_function("f32", *lines, results="sum").replace("f32[]", "f32[2]")
    function = function.replace("):", given, 1)
    wide = f'"f32[{n}, 2]{{1, {n}}}"'
    return _graph(f"""def capturing(
    step: "f32[{sizes}]",
    x: "f32[2, {n}]",
):
    turned: {wide} = aten.permute.default(x, [1, 0])
    less: "f32[{sizes}]" = aten.mul.Tensor(step, 0.5)
    all: ({wide},) = harness.associative_scan.default([turned], {json.dumps(function)}, [less])
    states: {wide} = getitem(all, 0)
    back: "f32[2, {n}]" = aten.permute.default(states, [1, 0])
    return (back,)
""")


WHOLE = _graph("""def whole(
    x: "f32[2, 17000]",
):
    running: "f32[2, 17000]" = aten.cumsum.default(x, 1)
    total: "f32[2]" = aten.amax.default(running, [1])
    return (running, total)
""")


@pytest.mark.parametrize(("graph", "block"), [(LONG, 2048), (PLACES, 2048)], ids=["f", "i"])
def test_programs_that_share_rows_compute_what_torch_does(
    interpreter: InterpreterPool, graph: Graph, block: int
) -> None:
    (module,) = modules(graph)
    assert module.category == "spl"
    config = Config((("XBLOCK", 1), ("R0_BLOCK", block)), 4)
    assert failures({graph.name: module}, interpreter, config) == []


@pytest.mark.parametrize("looped", [True, False])
def test_scans_by_functions_in_loops_and_in_blocks(
    interpreter: InterpreterPool, looped: bool
) -> None:
    config = Config((("XBLOCK", 1), ("R0_BLOCK", 64)), 4) if looped else None
    for graph in (_recurrence(300), _capturing(300, "2"), _capturing(300, "")):
        (module,) = modules(graph, looped)
        assert failures({graph.name: module}, interpreter, config) == []


@pytest.mark.parametrize("function", ["m, a1, a2", "m"])
def test_functions_of_other_operands_are_no_kernels(function: str) -> None:
    kinds = "f32 f32 f32" if "a2" in function else "f32 f32"
    text = by_function(kinds, 'm: "f32[]" = aten.mul.Tensor(a0, b0)', results=function)
    graph = _graph(RECURRENCE.format(n=30, function=json.dumps(text)))
    report = compile_graph(graph, H100).report()
    ((op, _, reason),) = report.library_calls
    assert op == "harness.associative_scan.default" and "no lowering" in reason
    assert not report.failures


def test_what_a_function_captures_does_not_vary_along_the_scan() -> None:
    ((op, _, reason),) = compile_graph(_capturing(30, "30, 2"), H100).report().library_calls
    assert op == "harness.associative_scan.default" and "no lowering" in reason


@pytest.mark.slow
def test_programs_that_share_rows_scan_them_by_a_function(interpreter: InterpreterPool) -> None:
    config = Config((("XBLOCK", 1), ("R0_BLOCK", 2048)), 4)
    for graph in (_recurrence(16384), _capturing(16384, "2")):
        (module,) = modules(graph)
        assert module.category == "spl"
        assert failures({graph.name: module}, interpreter, config) == []


def test_equal_functions_have_one_name_and_others_another() -> None:
    (first,), (again,) = (list(sources(_recurrence(n))) for n in (300, 301))
    helpers = [re.findall(r"def (_combine_\w+)", one.text) for one in (first, again)]
    assert len(helpers[0]) == 1 and helpers[0] == helpers[1]


@pytest.mark.slow
def test_groups_of_blocks_wait_for_each_other(interpreter: InterpreterPool) -> None:
    (module,) = modules(GROUPS_OF_BLOCKS)
    config = Config((("XBLOCK", 1), ("R0_BLOCK", 256)), 4)
    assert failures({"groups": module}, interpreter, config) == []


def test_a_reduction_does_not_share_a_kernel_with_a_split_scan() -> None:
    program, fused = groups(WHOLE)
    assert [group.origins for group in fused] == [("running",), ("total",)]
    made = schedule(program, H100)
    assert [r.condition for r in made.rejections] == ["split scan"]


def test_the_first_few_of_long_rows_are_sorted_no_further(interpreter: InterpreterPool) -> None:
    graph = _graph("""def first(
    x: "f32[3, 300]",
):
    both: ("f32[3, 300]", "i64[3, 300]") = aten.sort.stable(x, stable=True, descending=True)
    values: "f32[3, 300]" = getitem(both, 0)
    places: "i64[3, 300]" = getitem(both, 1)
    most: "f32[3, 5]" = aten.slice_copy.Tensor(values, 1, 0, 5)
    where: "i64[3, 5]" = aten.slice_copy.Tensor(places, 1, 0, 5)
    return (most, where)
""")
    (module,) = modules(graph)
    assert "tl.topk(" in module.text and "tl.sort(" not in module.text
    assert failures({"first": module}, interpreter) == []
