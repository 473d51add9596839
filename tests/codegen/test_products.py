"""Sums of products that are matrix products: which are, their text, and that they are right."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import torch

from harness.codegen.operations import floating_operations
from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.graph.model import TEMPLATES, TensorType
from harness.graph.text import loads
from harness.heuristics.products import is_worthwhile
from harness.pipeline import compile_graph
from harness.runtime.compile.static import CompileJob, StaticMetrics, measure
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from harness.target import A100, B200, H200, Target
from tests.running import run_graph

ONE = dataclasses.replace(H200, multiprocessors=1)
"""A device that a few small tiles fill."""

ORDERS = ("zyxr", "zyrx", "yzrx", "rzyx", "xrzy", "yxrz")
KINDS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def text(
    sizes: dict[str, int],
    order: str = "zyxr",
    kinds: tuple[str, str] = ("f32", "f32"),
    before: bool = False,
    after: bool = False,
    beside: bool = False,
) -> str:
    """A graph that sums ``a[z, y, r] * b[z, r, x]``, tensors with the dimensions in ``order``;
    ``before`` and ``after`` are pointwise; ``beside`` is another product of the same rows."""

    def shape(used: str, kept: str = "zyxr") -> str:
        own = [str(sizes[d]) if d in used else "1" for d in order if d in kept]
        return ", ".join(own)

    def size(used: str) -> str:
        return ", ".join(str(sizes[d]) for d in order if d in used)

    a, b, out, along = size("zyr"), size("zrx"), size("zyx"), order.index("r")
    wide_a, wide_b, every = shape("zyr"), shape("zrx"), shape("zyxr")
    first, second = kinds
    both = first if first == second else "f32"
    lines = [
        f'    aw: "{first}[{wide_a}]" = aten.unsqueeze.default(a, {order.index("x")})',
        f'    bw: "{second}[{wide_b}]" = aten.unsqueeze.default(b, {order.index("y")})',
    ]
    left = "aw"
    if before:
        lines += [
            f'    tall: "f32[{shape("yr", "zyxr")}]" = aten.view.default(c, [{shape("yr")}])',
            f'    grown: "f32[{shape("yr", "zyxr")}]" = aten.exp.default(tall)',
            f'    scaled: "f32[{wide_a}]" = aten.mul.Tensor(aw, grown)',
        ]
        left, both = "scaled", "f32"
    lines += [
        f'    prod: "{both}[{every}]" = aten.mul.Tensor({left}, bw)',
        f'    total: "f32[{out}]" = aten.sum.dim_IntList(prod, [{along}], dtype=torch.float32)',
    ]
    found = ["total"]
    if beside:
        lines += [
            f'    twice: "{second}[{wide_b}]" = aten.abs.default(bw)',
            f'    other: "{both}[{every}]" = aten.mul.Tensor({left}, twice)',
            f'    more: "f32[{out}]" = aten.sum.dim_IntList(other, [{along}], dtype=torch.float32)',
        ]
        found.append("more")
    if after:
        lines += [
            f'    moved: "f32[{out}]" = aten.add.Tensor(total, d)',
            f'    out: "f32[{out}]" = aten.relu.default(moved)',
        ]
        found.append("out")
    tall = ", ".join(str(sizes[d]) for d in order if d in "yr")
    head = f'    a: "{first}[{a}]",\n    b: "{second}[{b}]",\n    c: "f32[{tall}]",\n'
    head += f'    d: "f32[{out}]",\n'
    body = "\n".join(lines)
    return f"# harness graph 1\ndef product(\n{head}):\n{body}\n    return ({', '.join(found)},)\n"


def compiled(source: str, target: Target = ONE) -> CompiledGraph:
    made = compile_graph(loads(source), target)
    assert not made.report().failures
    return made


def _drawn(kind: TensorType) -> torch.Tensor:
    shape = [int(n) for n in kind.shape]
    return torch.randn(shape, dtype=KINDS[kind.dtype.value])


SIZES = {"z": 2, "y": 128, "x": 128, "r": 128}


@pytest.mark.parametrize("seed", range(12))
def test_a_sum_of_products_is_a_matrix_product(interpreter: InterpreterPool, seed: int) -> None:
    rng = random.Random(seed)
    sizes = {
        "z": rng.choice((1, 2)),
        "y": rng.choice((128, 141)),
        "x": rng.choice((100, 112, 128)),
        "r": rng.choice((128, 150)),
    }
    order, kinds = rng.choice(ORDERS), (rng.choice(list(KINDS)), rng.choice(list(KINDS)))
    before, after, beside = (rng.random() < 0.5 for _ in range(3))
    made = compiled(text(sizes, order, kinds, before, after, beside))
    products = [k for k in made.kernels if k.module.category == "tem"]
    assert len(products) == 1
    torch.manual_seed(seed)
    inputs = [_drawn(i.type) for i in made.partition.graph.inputs]

    def launch(module: EmittedModule, args: list[Any]) -> None:
        config = load(module.text).configs[seed % len(load(module.text).configs)]
        interpreter.launch(module.text, args, config)

    found = run_graph(made, inputs, launch, "cpu")
    places = {d: n for n, d in enumerate(order)}
    a, b = inputs[0].double().unsqueeze(places["x"]), inputs[1].double().unsqueeze(places["y"])
    if before:
        tall = [sizes[d] if d in "yr" else 1 for d in order]
        a = a * inputs[2].double().view(tall).exp()
    total = (a * b).sum(places["r"])
    expected = [total, *([(a * b.abs()).sum(places["r"])] * beside)]
    expected += [(total + inputs[3].double()).relu()] * after
    for one, right in zip(found, expected, strict=True):
        assert one is not None
        torch.testing.assert_close(one.double(), right, rtol=1e-5, atol=1e-3 if before else 1e-4)


def test_a_tile_of_results_is_added_up_by_dot() -> None:
    """Both factors and the sum have two dimensions; terms beyond the last are zeros."""
    odd = SIZES | {"r": 150}
    (kernel,) = compiled(text(odd, before=True, after=True)).kernels
    written = kernel.source.text
    assert "r0_base = tl.arange(0, R0_BLOCK)[None, :]" in written
    assert "r0_t_base = tl.arange(0, R0_BLOCK)[:, None]" in written
    first, second = "tl.where(r0_mask, tmp3, 0.0)", "tl.where(r0_t_mask, tmp4, 0.0)"
    assert f'dot_0 = tl.dot({first}, {second}, dot_0, input_precision="ieee")' in written
    assert written.count("tl.store(") == 2  # the sum, and what becomes of it
    assert kernel.module.bytes_moved == 4 * (2 * (2 * 128 * 150) + 128 * 150 + 3 * 2 * 128 * 128)


def test_operations_are_two_for_each_product_unless_tensor_cores_do_them() -> None:
    results = 2 * 128 * 128
    (kernel,) = compiled(text(SIZES, before=True, after=True)).kernels
    assert floating_operations(kernel.source.plan) == 2 * results * 128 + 2 * results
    (kernel,) = compiled(text(SIZES, kinds=("f16", "f16"))).kernels
    assert floating_operations(kernel.source.plan) == 0


def test_places_beyond_32_bits_are_counted_in_64() -> None:
    """Not those of terms, which only ever are a part of a place."""
    large = {"z": 16, "y": 16384, "x": 16384, "r": 64}
    (kernel,) = compiled(text(large)).kernels
    for tile in ("xoffset = ", "yoffset = ", "zindex = "):
        (line,) = [one for one in kernel.source.text.splitlines() if tile in one]
        assert ".to(tl.int64)" in line
    (kernel,) = compiled(text(large | {"z": 4, "r": 4096})).kernels
    assert "int64" not in kernel.source.text  # products: 2 to the 42


def test_factors_of_16_bits_stay_so_if_both_are() -> None:
    (kernel,) = compiled(text(SIZES, kinds=("bf16", "bf16"))).kernels
    assert "tl.dot(tmp0, tmp1, dot_0)" in kernel.source.text
    assert ".to(tl.float32)" not in kernel.source.text
    assert kernel.source.plan.facts.width == 2
    for other in ("f32", "f16"):
        (kernel,) = compiled(text(SIZES, kinds=("bf16", other))).kernels
        assert 'input_precision="ieee"' in kernel.source.text
        assert kernel.source.plan.facts.width == 4


@pytest.mark.parametrize(
    ("line", "narrow"),
    [
        ("aten.where.self(m, aw, half)", True),
        ("aten.where.self(m, aw, tenth)", False),
        ("aten.where.self(m, aw, million)", False),
        ("aten.where.self(m, aw, o)", False),
        ("aten.constant_pad_nd.default(aw, [0, 0, 1, -1], 2.0)", True),
        ("aten.constant_pad_nd.default(aw, [0, 0, 1, -1], 0.1)", False),
    ],
)
def test_factors_that_are_partly_of_16_bits_are_not(
    interpreter: InterpreterPool, line: str, narrow: bool
) -> None:
    """Rounded to them, 0.1 was another number, and 1e6 infinite, in sums of float32."""
    head = 'a: "f16[128, 64, 1]", b: "f16[1, 64, 128]", m: "b8[128, 64, 1]", o: "f32[128, 64, 1]"'
    lines = ['aw: "f32[128, 64, 1]" = aten._to_copy.default(a, dtype=torch.float32)']
    lines += ['bw: "f32[1, 64, 128]" = aten._to_copy.default(b, dtype=torch.float32)']
    for name, number in {"half": 0.5, "tenth": 0.1, "million": 1e6}.items():
        lines += [f'{name}: "f32[]" = aten.full.default([], {number})']
    lines += [f'c: "f32[128, 64, 1]" = {line}']
    lines += ['p: "f32[128, 64, 128]" = aten.mul.Tensor(c, bw)']
    lines += ['s: "f32[128, 128]" = aten.sum.dim_IntList(p, [1])', "return (s,)"]
    body = "".join(f"    {one}\n" for one in lines)
    (kernel,) = compiled(f"# harness graph 1\ndef product({head}):\n{body}").kernels
    assert kernel.module.category == "tem" and (kernel.source.plan.facts.width == 2) is narrow
    assert interpreter.check(kernel.module.text).passed


def test_what_is_small_or_narrow_stays_a_reduction() -> None:
    big = {"z": 2, "y": 1024, "x": 512, "r": 512}
    assert [k.module.category for k in compiled(text(big), H200).kernels] == ["tem"]
    for less in ({"y": 8}, {"x": 8}, {"r": 12}, {"y": 64, "x": 64}):
        made = compiled(text(big | less), H200)
        assert all(k.module.category != "tem" for k in made.kernels), less
    assert not is_worthwhile((64, 64, 64), 64**3, 64**3 // 3, ONE)
    assert is_worthwhile((64, 64, 64), 64**3, 64**3 // 4, ONE)
    assert not is_worthwhile((64, 64, 64), 64**3, 64**3 // 4, H200)  # too few tiles


@pytest.mark.parametrize("what", ["z", "other", "f64", "i64"])
def test_sums_that_are_no_matrix_product(what: str) -> None:
    source = text(SIZES)
    if what == "z":  # elements of both rows and columns in one factor
        source = source.replace("aten.sum.dim_IntList(prod", "aten.sum.dim_IntList(odd")
        line = '    odd: "f32[2, 128, 128, 128]" = aten.exp.default(prod)\n    total'
        source = source.replace("    total", line, 1)
    elif what == "other":  # a sum of something else beside
        line = '    last: "f32[2, 128, 128]" = aten.amax.default(prod, [3])\n    return (last, '
        source = source.replace("    return (", line)
    else:
        kind = {"f64": "float64", "i64": "int64"}[what]
        source = source.replace("f32", what).replace("torch.float32", f"torch.{kind}")
    assert all(k.module.category != "tem" for k in compiled(source).kernels)


def test_a_small_counterpart_does_what_the_large_graph_does(interpreter: InterpreterPool) -> None:
    whole = compiled(text({"z": 2, "y": 1024, "x": 512, "r": 512}, before=True), H200)
    small = compile_graph(
        loads(text({"z": 2, "y": 8, "x": 12, "r": 20}, before=True)), H200, whole.decisions
    )
    (kernel,) = small.kernels
    assert kernel.module.category == "tem"
    assert interpreter.check(kernel.module.text).passed


@pytest.mark.parametrize("target", [A100, H200, B200])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_candidates_compile_for_every_target(target: Target, kind: str) -> None:
    (kernel,) = compiled(text(SIZES, kinds=(kind, kind), before=kind == "f32"), target).kernels
    configs = load(kernel.module.text).configs
    tried = configs if target is H200 else configs[:2]
    jobs = [CompileJob(kernel.module.text, target, config) for config in tried]
    for found in measure(jobs):
        assert isinstance(found, StaticMetrics), found
        assert found.spills == 0


_CALLS = {
    "mm": ("bf16[1024, 128]", "bf16[128, 512]", "bf16[1024, 512]", "aten.mm.default(x, w)"),
    "addmm": ("f16[1024, 128]", "f16[128, 512]", "f16[1024, 512]", "aten.addmm.default(b, x, w)"),
    "scaled": (
        *("bf16[1024, 128]", "bf16[128, 512]", "bf16[1024, 512]"),
        "aten.addmm.default(b, x, w, beta=0.5, alpha=2.0)",
    ),
    "bmm": (
        "bf16[2, 520, 100]",
        "bf16[2, 100, 512]",
        "bf16[2, 520, 512]",
        "aten.bmm.default(x, w)",
    ),
    "baddbmm": (
        *("f16[2, 520, 100]", "f16[2, 100, 512]", "f16[2, 520, 512]"),
        "aten.baddbmm.default(b, x, w, beta=0)",
    ),
}


def layer(call: str, asked: bool = True) -> str:
    """A graph of a matrix product with a residual added and converted after it."""
    x, w, y, text = _CALLS[call]
    bias = f"{y.split('[')[0]}[{y.split(' ')[-1]}"
    wide = y.replace("bf16", "f32").replace("f16", "f32")
    head = f'x: "{x}", w: "{w}", b: "{bias}", c: "{wide}"'
    lines = [f'y: "{y}" = {text}', f'r: "{y}" = aten.relu.default(y)']
    lines += [f'o: "{wide}" = aten.add.Tensor(r, c)', "return (o,)"]
    fact = f"# {TEMPLATES[0]}: {TEMPLATES[1]}\n" * asked
    body = "".join(f"    {line}\n" for line in lines)
    return f"# harness graph 1\n{fact}def layer({head}):\n{body}"


@pytest.mark.parametrize("call", _CALLS)
def test_a_product_with_what_follows_is_one_kernel_where_that_is_asked_for(
    interpreter: InterpreterPool, call: str
) -> None:
    made = compiled(layer(call))
    (kernel,) = made.kernels
    assert kernel.module.category == "tem" and not made.library_calls
    assert kernel.source.text.count("tl.store(") == 1
    assert interpreter.check(kernel.module.text).passed
    torch.manual_seed(0)
    given = [_drawn(i.type) for i in made.partition.graph.inputs]
    wide = {i.name: t.double() for i, t in zip(made.partition.graph.inputs, given, strict=True)}
    x, w, b, c = wide["x"], wide["w"], wide.get("b", 0), wide["c"]
    if call == "baddbmm":
        given[2] = given[2] * torch.nan  # times zero, of which not even NaN is seen
    total = x @ w
    expected = {"addmm": total + b, "scaled": 2 * total + 0.5 * b}.get(call, total).relu() + c
    (found,) = run_graph(made, given, lambda m, a: interpreter.launch(m.text, a), "cpu")
    assert found is not None
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-4)
    assert [c.node.packet for c in compiled(layer(call, asked=False)).library_calls] == [
        call.replace("scaled", "addmm")
    ]


def test_products_of_other_types_and_small_ones_are_library_calls() -> None:
    wide = layer("mm").replace("bf16", "f32")
    whole = layer("mm").replace("bf16", "i16")  # 16 bits, and not added up in float32
    flat = layer("mm").replace("128", "32")
    small = layer("mm").replace("1024", "128")  # too few tiles for a device
    for source in (wide, whole, flat, small):
        assert [c.node.packet for c in compiled(source).library_calls] == ["mm"]


@pytest.mark.parametrize(("before", "kernels"), [("mul.Tensor(x, s)", 1), ("erf.default(x)", 2)])
def test_what_comes_before_a_product_is_in_its_kernel_unless_it_takes_long(
    interpreter: InterpreterPool, before: str, kernels: int
) -> None:
    """Each tile computes it anew."""
    source = layer("mm").replace("128", "512")
    source = source.replace('x: "bf16[1024, 512]"', 'x: "f32[1024, 512]", s: "f32[1024, 1]"')
    lines = f'm: "f32[1024, 512]" = aten.{before}\n    n: "bf16[1024, 512]"'
    lines += " = aten._to_copy.default(m, dtype=torch.bfloat16)\n    y: "
    made = compiled(source.replace("y: ", lines, 1).replace("(x, w)", "(n, w)"))
    assert len(made.kernels) == kernels and made.kernels[-1].module.category == "tem"
    assert made.kernels[-1].source.plan.facts.width == 2
    assert all(interpreter.check(k.module.text).passed for k in made.kernels)


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_what_is_not_finite_is_summed_as_it_is(interpreter: InterpreterPool, kind: str) -> None:
    """Also in the last block of terms, which is not whole."""
    made = compiled(text(SIZES | {"r": 150}, kinds=(kind, kind)))
    torch.manual_seed(0)
    a, b, c, d = (_drawn(i.type) for i in made.partition.graph.inputs)
    a[0, 3, 149], a[0, 5, 0], b[1, 7, 149], b[1, 9, 2] = torch.inf, torch.nan, -torch.inf, torch.nan
    b[0, :5, 149] = 0  # times infinity
    (found,) = run_graph(made, [a, b, c, d], lambda m, v: interpreter.launch(m.text, v), "cpu")
    right = (a.double()[:, :, None] * b.double()[:, None]).sum(-1)
    assert found is not None
    assert right.isnan().sum() > 128 and right.isinf().sum() > 128
    torch.testing.assert_close(found.double(), right, rtol=1e-5, atol=1e-4, equal_nan=True)
