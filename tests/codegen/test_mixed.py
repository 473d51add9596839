"""Rows and columns reduced in one pass: what is joined, and that it is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.decisions import UNDECIDED, Decisions
from harness.graph.text import loads
from harness.heuristics.limits import STAGES, next_power_of_two
from harness.heuristics.registry import candidates
from harness.pipeline import compile_graph
from harness.runtime.compile.static import CompileJob, measure
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from harness.runtime.tune.space import is_given
from harness.schedule.explain import render
from harness.target import H200, Target
from tests.running import run_graph

SMALL = dataclasses.replace(H200, multiprocessors=4)
"""A device that few strips fill."""

TWENTY = dataclasses.replace(H200, multiprocessors=20)
"""A device that few strips of rows fill, which five programs share."""

_HEAD = """# harness graph 1
def rows_and_columns(
    dy: "{t}[{s}]",
    x: "{t}[{s}]",
    w: "f32[{n}]",
):
    xf: "f32[{s}]" = aten._to_copy.default(x, dtype=torch.float32)
    grad: "f32[{s}]" = aten._to_copy.default(dy, dtype=torch.float32)
    scaled: "f32[{s}]" = aten.mul.Tensor(grad, w)
"""

_ROWS = {
    "norm": """    prod: "f32[{s}]" = aten.mul.Tensor(scaled, xf)
    mean: "f32[{r}]" = aten.mean.dim(prod, [-1], True)
    back: "f32[{s}]" = aten.mul.Tensor(xf, mean)
    out: "f32[{s}]" = aten.sub.Tensor(scaled, back)
""",
    "layer": """    prod: "f32[{s}]" = aten.mul.Tensor(scaled, xf)
    mean: "f32[{r}]" = aten.mean.dim(prod, [-1], True)
    plain: "f32[{r}]" = aten.mean.dim(scaled, [-1], True)
    less: "f32[{s}]" = aten.sub.Tensor(scaled, plain)
    back: "f32[{s}]" = aten.mul.Tensor(xf, mean)
    out: "f32[{s}]" = aten.sub.Tensor(less, back)
""",
    "softmax": """    prod: "f32[{s}]" = aten.mul.Tensor(grad, xf)
    total: "f32[{r}]" = aten.sum.dim_IntList(prod, [-1], True)
    less: "f32[{s}]" = aten.sub.Tensor(grad, total)
    out: "f32[{s}]" = aten.mul.Tensor(xf, less)
""",
    "statistics": """    both: ("f32[{r}]", "f32[{r}]") = aten.var_mean.correction(
        xf, [-1], correction=0, keepdim=True
    )
    var: "f32[{r}]" = getitem(both, 0)
    mean: "f32[{r}]" = getitem(both, 1)
    far: "f32[{s}]" = aten.sub.Tensor(xf, mean)
    more: "f32[{r}]" = aten.add.Tensor(var, 0.5)
    narrow: "f32[{r}]" = aten.rsqrt.default(more)
    normal: "f32[{s}]" = aten.mul.Tensor(far, narrow)
    out: "f32[{s}]" = aten.mul.Tensor(normal, scaled)
""",
    "shared": """    wide: "f32[{s}]" = aten.expand.default(w, [{s}])
    total: "f32[{r}]" = aten.sum.dim_IntList(wide, [-1], True)
    less: "f32[{s}]" = aten.sub.Tensor(wide, total)
    prod: "f32[{s}]" = aten.mul.Tensor(scaled, xf)
    mean: "f32[{r}]" = aten.mean.dim(prod, [-1], True)
    more: "f32[{s}]" = aten.sub.Tensor(less, mean)
    out: "f32[{s}]" = aten.mul.Tensor(scaled, more)
""",
    "largest": """    size: "f32[{s}]" = aten.abs.default(xf)
    most: "f32[{r}]" = aten.amax.default(size, [-1], True)
    least: "f32[{r}]" = aten.add.Tensor(most, 0.125)
    out: "f32[{s}]" = aten.div.Tensor(scaled, least)
""",
}

_COLUMNS = {
    "weight": """    gx: "f32[{s}]" = aten.mul.Tensor(grad, xf)
    weight: "f32[{n}]" = aten.sum.dim_IntList(gx, {d})
""",
    "bias": '    bias: "f32[{n}]" = aten.sum.dim_IntList(grad, {d})\n',
    "after": '    after: "f32[{n}]" = aten.sum.dim_IntList(out, {d})\n',
    "high": '    high: "f32[{n}]" = aten.amax.default(xf, {d})\n',
    "low": '    low: "f32[{n}]" = aten.amin.default(out, {d})\n',
    "some": """    gt: "b8[{s}]" = aten.gt.Scalar(xf, 2.0)
    some: "b8[{n}]" = aten.any.dims(gt, {d})
""",
}


def text(rows: str, columns: tuple[str, ...], shape: tuple[int, ...], dtype: str = "f32") -> str:
    """A graph that reduces tensors of ``shape`` both ways."""
    *outer, n = shape
    sizes = {
        "s": ", ".join(map(str, shape)),
        "r": ", ".join(map(str, (*outer, 1))),
        "n": n,
        "d": list(range(len(outer))),
        "t": dtype,
    }
    body = _HEAD + _ROWS[rows] + "".join(_COLUMNS[c] for c in columns)
    kind = {"f32": "float32", "bf16": "bfloat16"}[dtype]
    cast = f'    rounded: "{{t}}[{{s}}]" = aten._to_copy.default(out, dtype=torch.{kind})\n'
    return (body + cast).format(**sizes) + f"    return (rounded, {', '.join(columns)})\n"


def compiled(
    source: str, decisions: Decisions = UNDECIDED, target: Target = SMALL
) -> CompiledGraph:
    """A graph whose kernels are all generated."""
    made = compile_graph(loads(source), target, decisions)
    assert not made.report().failures
    return made


def categories(made: CompiledGraph) -> list[str]:
    return [kernel.module.category for kernel in made.kernels]


def expected(
    rows: str, columns: tuple[str, ...], dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor
) -> Iterator[torch.Tensor]:
    """What plain torch has in float64."""
    dy, x, w = dy.double(), x.double(), w.double()
    scaled = dy * w
    match rows:
        case "norm":
            out = scaled - x * (scaled * x).mean(-1, keepdim=True)
        case "layer":
            out = scaled - scaled.mean(-1, keepdim=True) - x * (scaled * x).mean(-1, keepdim=True)
        case "softmax":
            out = x * (dy - (dy * x).sum(-1, keepdim=True))
        case "statistics":
            var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
            out = (x - mean) * (var + 0.5).rsqrt() * scaled
        case "shared":
            out = scaled * (w - w.sum() - (scaled * x).mean(-1, keepdim=True))
        case _:
            out = scaled / (x.abs().amax(-1, keepdim=True) + 0.125)
    yield out
    dims = tuple(range(x.dim() - 1))
    results = {
        "weight": (dy * x).sum(dims),
        "bias": dy.sum(dims),
        "after": out.sum(dims),
        "high": x.amax(dims),
        "low": out.amin(dims),
        "some": (x > 2.0).flatten(0, -2).any(0),
    }
    yield from (results[name] for name in columns)


_SHAPES = st.sampled_from(
    [
        (64, 24),
        (96, 33),
        (80, 1),
        (7, 16, 20),
        (128, 128),
        (4, 3, 16, 5),
        (200, 100),
        (72, 257),
        (60, 300),
    ]
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.sampled_from(sorted(_ROWS)),
    columns=st.sets(st.sampled_from(sorted(_COLUMNS)), min_size=1, max_size=4).map(sorted),
    shape=_SHAPES,
    block=st.sampled_from([1, 2, 4, 16]),
    seed=st.integers(0, 1000),
)
def test_both_ways_in_one_pass(
    interpreter: InterpreterPool,
    rows: str,
    columns: list[str],
    shape: tuple[int, ...],
    block: int,
    seed: int,
) -> None:
    made = compiled(text(rows, tuple(columns), shape))
    mixed = any(k.module.category == "mix" for k in made.kernels)
    assert mixed or 1 in shape or rows == "largest"  # whose sums may share no tensor
    torch.manual_seed(seed)
    dy, x, w = torch.randn(shape), torch.randn(shape), torch.randn(shape[-1])

    def launch(module: EmittedModule, args: list[Any]) -> None:
        config = None
        if module.category == "mix":
            loaded = load(module.text)
            most = next_power_of_two(loaded.points["x"])  # masks are left out for larger ones
            blocks = dict(loaded.configs[0].blocks) | {"XBLOCK": min(block, most)}
            config = dataclasses.replace(loaded.configs[0], blocks=tuple(blocks.items()))
        interpreter.launch(module.text, args, config)

    found = run_graph(made, [dy, x, w], launch, "cpu")
    for one, right in zip(found, expected(rows, tuple(columns), dy, x, w), strict=True):
        assert one is not None
        torch.testing.assert_close(one.to(right.dtype), right, rtol=2e-5, atol=2e-4)


_NUMBERED = """    arange: "i64[{m}]" = aten.arange.start_step(0, {m})
    column: "i64[{m}, 1]" = aten.unsqueeze.default(arange, 1)
    number: "f32[{m}, 1]" = aten.div.Tensor(column, 64.0)
    grad: "f32[{m}, {n}]" = aten.mul.Tensor(wide, number)
    scaled"""


@pytest.mark.parametrize(
    ("rows", "columns", "shape", "dtype"),
    [
        ("norm", ("weight",), (63, 16385), "bf16"),
        ("layer", ("weight",), (63, 20001), "f32"),
        ("layer", ("bias", "weight"), (119, 16385), "bf16"),
        ("softmax", ("after",), (81, 16384), "f32"),
    ],
)
def test_rows_that_no_program_holds_are_read_once_by_several(
    interpreter: InterpreterPool,
    rows: str,
    columns: tuple[str, ...],
    shape: tuple[int, ...],
    dtype: str,
) -> None:
    source, numbered = text(rows, columns, shape, dtype), dtype == "f32"
    if numbered:  # a row's number is another one for the row that is loaded ahead
        number = _NUMBERED.format(m=shape[0], n=shape[1])
        source = source.replace("grad: ", "wide: ", 1).replace("    scaled", number, 1)
    made = compiled(source, target=TWENTY)
    first, _ = made.kernels
    strips, size = int(first.source.plan.tiles[0].numel), 2 if dtype == "bf16" else 4
    weight = 0 if rows == "softmax" else shape[1] * 4
    read_and_written = 3 * shape[0] * shape[1] * size + len(columns) * strips * shape[1] * 4
    assert first.module.category == "mix" and shape[0] % strips == 0
    assert first.module.bytes_moved == read_and_written + weight
    torch.manual_seed(0)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    dy, x, w = torch.randn(shape).to(kind), torch.randn(shape).to(kind), torch.randn(shape[-1])

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    numbers = torch.arange(shape[0])[:, None] / 64 if numbered else 1
    right = expected(rows, columns, dy * numbers, x, w)
    found = run_graph(made, [dy, x, w], launch, "cpu")
    for one, wanted in zip(found, right, strict=True):
        assert one is not None
        rounding = 4e-3 if one.dtype is torch.bfloat16 else 2e-5
        torch.testing.assert_close(one.double(), wanted, rtol=rounding, atol=2e-3)


@pytest.mark.parametrize("rows", sorted(_ROWS))
def test_one_kernel_walks_strips_and_one_adds_them_up(
    interpreter: InterpreterPool, rows: str
) -> None:
    made = compiled(text(rows, ("weight", "after"), (96, 40), "bf16"))
    first, second = made.kernels
    # so few strips as here are added up without a loop
    assert first.module.category == "mix" and second.module.category == "poi"
    # Each tensor is read once, beside the weight; strips store their sums.
    strips = int(first.source.plan.tiles[0].numel)
    assert strips >= 3 and 96 % strips == 0
    weight = 0 if rows == "softmax" else 40 * 4
    assert first.module.bytes_moved == 3 * 96 * 40 * 2 + weight + 2 * strips * 40 * 4
    for kernel in made.kernels:
        result = interpreter.check(kernel.module.text)
        assert result.passed, result
    (group, _) = made.regions[0].schedule.groups if made.regions[0].schedule else (None, None)
    assert group is not None and len(group.walked) == 1
    assert "across rows [" in render(made.regions[0].schedule)  # type: ignore[arg-type]


def test_what_was_decided_is_done_again_at_other_sizes() -> None:
    whole = compiled(text("norm", ("weight",), (4096, 256), "bf16"))
    small = compiled(text("norm", ("weight",), (12, 24), "bf16"), whole.decisions)
    assert categories(whole)[0] == categories(small)[0] == "mix"
    apart = dataclasses.replace(
        whole.decisions, kernels={name: name for name in whole.decisions.kernels}
    )
    assert "mix" not in categories(compiled(text("norm", ("weight",), (4096, 256)), apart))


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((8, 64), ""),  # too few rows for strips
        ((97, 64), ""),  # a number that nothing divides
        ((256, 40000), ""),  # a row that no program holds
    ],
)
def test_what_does_not_pay_stays_apart(shape: tuple[int, ...], why: str) -> None:
    made = compiled(text("norm", ("weight",), shape))
    assert "mix" not in categories(made)


def test_a_result_needed_before_the_end_is_not_joined() -> None:
    less = '    less: "f32[96, 40]" = aten.sub.Tensor(out, bias)\n    return (less, '
    made = compiled(text("norm", ("bias",), (96, 40)).replace("    return (", less))
    assert "mix" not in categories(made) and not made.splits  # nor cut in vain


def test_a_part_of_a_large_tensor_counts_as_the_part() -> None:
    source = text("norm", ("weight",), (96, 40))
    part = '    dy: "f32[96, 40]" = aten.slice.Tensor(large, 0, 96, 192)\n    xf: '
    source = source.replace("    xf: ", part, 1).replace("    dy: ", "    large: ", 1)
    made = compiled(source.replace('large: "f32[96, 40]"', 'large: "f32[9600, 40]"'))
    assert categories(made)[0] == "mix"


@pytest.mark.parametrize("columns", ["weight", "after"])
def test_columns_see_what_an_input_held_before(interpreter: InterpreterPool, columns: str) -> None:
    source = text("norm", (columns,), (96, 40))
    made = compiled(source.replace("    return (", "    x[...] = out\n    return ("))
    torch.manual_seed(1)
    dy, x, w = torch.randn(96, 40), torch.randn(96, 40), torch.randn(40)
    right = list(expected("norm", (columns,), dy, x, w))

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    found = run_graph(made, [dy, x, w], launch, "cpu")
    for one, wanted in zip((*found, x), (*right, right[0]), strict=True):
        assert one is not None
        torch.testing.assert_close(one.double(), wanted, rtol=2e-5, atol=2e-4)


_UNLIKE = """# harness graph 1
def unlike_strips(
    dy: "f32[2, 64, 4, 24]",
    x: "f32[2, 64, 4, 24]",
):
    prod: "f32[2, 64, 4, 24]" = aten.mul.Tensor(dy, x)
    total: "f32[2, 64, 4, 1]" = aten.sum.dim_IntList(prod, [-1], True)
    out: "f32[2, 64, 4, 24]" = aten.sub.Tensor(dy, total)
    halves: "f32[2, 2, 32, 4, 24]" = aten.view.default(prod, [2, 2, 32, 4, 24])
    half: "f32[2, 2, 4, 24]" = aten.sum.dim_IntList(halves, [2])
    others: "f32[2, 2, 32, 4, 24]" = aten.view.default(x, [2, 2, 32, 4, 24])
    other: "f32[2, 2, 4, 24]" = aten.sum.dim_IntList(others, [2])
    quarters: "f32[2, 4, 16, 4, 24]" = aten.view.default(out, [2, 4, 16, 4, 24])
    quarter: "f32[2, 4, 4, 24]" = aten.sum.dim_IntList(quarters, [2])
    return (out, half, other, quarter)
"""


def test_shorter_strips_do_not_join_longer_ones(interpreter: InterpreterPool) -> None:
    made = compiled(_UNLIKE)
    assert "mix" in categories(made)
    dy, x = torch.randn(2, 64, 4, 24), torch.randn(2, 64, 4, 24)
    prod = dy.double() * x.double()
    out = dy.double() - prod.sum(-1, keepdim=True)
    cut = (prod.view(2, 2, 32, 4, 24), x.double().view(2, 2, 32, 4, 24), out.view(2, 4, 16, 4, 24))
    right = (out, *(one.sum(2) for one in cut))

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    found = run_graph(made, [dy, x], launch, "cpu")
    for one, wanted in zip(found, right, strict=True):
        assert one is not None
        torch.testing.assert_close(one.double(), wanted, rtol=2e-5, atol=2e-4)


def small_images(number: int, side: int) -> CompiledGraph:
    return compiled(
        f"""# harness graph 1
def many_strips(x: "f32[{number}, {side}, {side}]"):
    along: "f32[{number}, {side}]" = aten.sum.dim_IntList(x, [2])
    across: "f32[{number}, {side}]" = aten.sum.dim_IntList(x, [1])
    return (along, across)
"""
    )


@pytest.mark.parametrize(
    ("number", "side", "kinds"),
    [(70000, 11, ["per", "per"]), (100, 11, ["mix"]), (70000, 16, ["mix"])],
)
def test_many_strips_of_few_elements_are_not_walked(
    number: int, side: int, kinds: list[str]
) -> None:
    assert categories(small_images(number, side)) == kinds


def test_more_strips_than_a_grid_takes_in_y_are_numbered_as_they_are_launched() -> None:
    made = small_images(70000, 16)
    (module,) = (k.module for k in made.kernels)
    loaded = load(module.text)
    assert module.category == "mix" and loaded.grid(loaded.configs[0]) == (70000, 1, 1)
    assert "yindex = tl.program_id(0)\n" in module.text


def test_rows_under_way_fit_shared_memory() -> None:
    made = compile_graph(loads(text("norm", ("weight",), (32768, 1024))), H200)
    (facts,) = (k.source.plan.facts for k in made.kernels if k.module.category == "mix")
    assert facts.ahead == 8  # two tensors in float32
    for ahead in (2, 8, 20, 64):
        found = candidates(dataclasses.replace(facts, ahead=ahead), H200)
        blocks = [dict(config.blocks) for config in found]
        held = [(b[STAGES] - 1) * b["XBLOCK"] * 1024 * ahead for b in blocks]
        assert blocks and max(held) < H200.shared_per_block
        sizes = (("y", 144), *facts.sizes[1:])  # more strips than multiprocessors
        found = candidates(dataclasses.replace(facts, ahead=ahead, sizes=sizes), H200)
        first = dict(found[0].blocks)
        both = 2 * (first[STAGES] - 1) * first["XBLOCK"] * 1024 * ahead
        assert both < H200.shared_per_block or first["XBLOCK"] == 1


@pytest.mark.parametrize("rows", ["norm", "layer"])
def test_programs_that_share_rows_run_at_once_and_spill_nothing(rows: str) -> None:
    made = compile_graph(loads(text(rows, ("weight", "bias"), (2048, 65536), "bf16")), H200)
    (kernel,) = [k for k in made.kernels if k.module.category == "mix"]
    facts, loaded = kernel.source.plan.facts, load(kernel.module.text)
    found = candidates(facts, H200)
    assert is_given(loaded) and loaded.configs == found  # no other way of cutting rows is tried
    for config in found:
        programs = facts.size("y") * config.block("RSPLIT")
        each = -(-programs // H200.multiprocessors) * config.num_warps * 32
        assert config.block("RSPLIT") * config.block("R0_BLOCK") >= 65536
        assert each <= H200.threads_per_multiprocessor
        assert each * dict(config.options)["maxnreg"] <= H200.registers_per_multiprocessor
    (best,) = measure([CompileJob(kernel.module.text, H200, found[0])])
    assert not isinstance(best, Exception), best
    assert best.spills == 0
    assert best.shared >= 2 * 2 * 2 * found[0].block("R0_BLOCK")  # two rows ahead, of two tensors


@pytest.mark.parametrize(
    ("rows", "columns", "shape"),
    [
        ("layer", ("weight", "bias"), (2048, 65536)),  # spills in float32
        ("largest", ("weight", "after"), (2048, 65536)),  # not a sum
        ("statistics", ("weight", "after"), (2048, 65536)),
        ("norm", ("weight",), (2048, 300000)),  # more than 64 programs a row
        ("norm", ("weight",), (64, 65536)),  # strips of which there are too few
    ],
)
def test_rows_that_are_better_read_twice(
    rows: str, columns: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    assert "mix" not in categories(compiled(text(rows, columns, shape), target=H200))


def test_registers_of_long_rows() -> None:
    made = compile_graph(loads(text("norm", ("weight", "bias"), (32768, 4096), "bf16")), H200)
    (module,) = [k.module for k in made.kernels if k.module.category == "mix"]
    (found,) = measure([CompileJob(module.text, H200)])
    assert not isinstance(found, Exception), found
    assert found.spills == 0
    assert found.registers <= 240  # of 255: a row in 128 threads
