"""Small graphs whose kernels the tests of this room look at."""

from __future__ import annotations

from harness.graph.model import Graph
from harness.graph.text import loads

_HEAD = "# harness graph 1\n"


def _graph(text: str) -> Graph:
    return loads(_HEAD + text, "test graph")


SOFTMAX = _graph("""def softmax(
    x: "bf16[48, 1000]",
):
    wide: "f32[48, 1000]" = aten._to_copy.default(x, dtype=torch.float32)
    amax: "f32[48, 1]" = aten.amax.default(wide, [-1], True)
    sub: "f32[48, 1000]" = aten.sub.Tensor(wide, amax)
    exp: "f32[48, 1000]" = aten.exp.default(sub)
    total: "f32[48, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div: "f32[48, 1000]" = aten.div.Tensor(exp, total)
    narrow: "bf16[48, 1000]" = aten._to_copy.default(div, dtype=torch.bfloat16)
    return (narrow,)
""")

LAYER_NORM = _graph("""def layer_norm(
    x: "f32[40, 384]",
    weight: "f32[384]",
    bias: "f32[384]",
):
    both: ("f32[40, 1]", "f32[40, 1]") = aten.var_mean.correction(
        x, [1], correction=0, keepdim=True
    )
    var: "f32[40, 1]" = getitem(both, 0)
    mean: "f32[40, 1]" = getitem(both, 1)
    add: "f32[40, 1]" = aten.add.Tensor(var, 1e-05)
    rsqrt: "f32[40, 1]" = aten.rsqrt.default(add)
    sub: "f32[40, 384]" = aten.sub.Tensor(x, mean)
    mul: "f32[40, 384]" = aten.mul.Tensor(sub, rsqrt)
    mul_1: "f32[40, 384]" = aten.mul.Tensor(mul, weight)
    add_1: "f32[40, 384]" = aten.add.Tensor(mul_1, bias)
    return (add_1,)
""")

TRANSPOSE = _graph("""def transpose(
    x: "f32[96, 160]",
):
    permute: "f32[160, 96]{1, 160}" = aten.permute.default(x, [1, 0])
    clone: "f32[160, 96]" = aten.clone.default(permute, memory_format=torch.contiguous_format)
    return (clone,)
""")

BIAS = _graph("""def bias(
    x: "f32[30, 7]",
    b: "f32[7]",
):
    add: "f32[30, 7]" = aten.add.Tensor(x, b)
    return (add,)
""")

OUTER = _graph("""def outer(
    x: "f32[600, 64]",
):
    total: "f32[64]" = aten.sum.dim_IntList(x, [0])
    return (total,)
""")

LONG_ROWS = _graph("""def long_rows(
    x: "f32[640, 16384]",
):
    amax: "f32[640, 1]" = aten.amax.default(x, [-1], True)
    sub: "f32[640, 16384]" = aten.sub.Tensor(x, amax)
    return (sub,)
""")

TALL = _graph("""def tall(
    x: "f32[4194304, 1024]",
):
    best: "i64[1024]" = aten.argmax.default(x, 0)
    return (best,)
""")

ARGMAX = _graph("""def argmax(
    x: "f32[17, 300]",
):
    best: "i64[17]" = aten.argmax.default(x, 1)
    return (best,)
""")

SCATTER = _graph("""def scatter(
    index: "i64[33]",
    values: "f32[33, 8]",
):
    zeros: "f32[10, 8]" = aten.full.default([10, 8], 0, dtype=torch.float32)
    put: "f32[10, 8]" = aten.index_put.default(zeros, [index], values, True)
    return (put,)
""")

REPEATED = _graph("""def repeated(
    x: "f32[6, 300]",
    index: "i64[6] bound=4",
):
    sum: "f32[6]" = aten.sum.dim_IntList(x, [-1])
    zeros: "f32[4]" = aten.full.default([4], 0, dtype=torch.float32)
    unsqueeze: "i64[6, 1]" = aten.unsqueeze.default(index, 1)
    places: "i64[6, 300]{1, 0}" = aten.expand.default(unsqueeze, [6, 300])
    unsqueeze_1: "f32[6, 1]" = aten.unsqueeze.default(sum, 1)
    sums: "f32[6, 300]{1, 0}" = aten.expand.default(unsqueeze_1, [6, 300])
    put: "f32[4]" = aten.index_put.default(zeros, [places], sums, True)
    once: "f32[4]" = aten.index_put.default(zeros, [index], sum, True)
    return (put, once, sum)
""")
"""What each row comes to is added to a place of its own: as often as it has columns, and once."""

PART = _graph("""def part(
    values: "f32[33, 8]",
    held: "f32[100, 8] parameter",
):
    rows: "i64[33]" = aten.arange.start_step(0, 33)
    ones: "f32[40, 8]" = aten.full.default([40, 8], 1, dtype=torch.float32)
    put: "f32[40, 8]" = aten.index_put.default(ones, [rows], values)
    sum: "f32[8]" = aten.sum.dim_IntList(put, [0])
    sin: "f32[33, 8]" = aten.sin.default(values)
    set: "f32[100, 8]" = aten.index_put.default(held, [rows], sin)
    held[...] = set
    return (put, sum, None)
""")
"""A part of what a kernel fills, and of what the caller holds, is written by one that knows where
without reading it."""

CACHE = _graph("""def cache(
    held: "f32[20, 8] buffer",
    place: "i64[3]",
    keys: "f32[3, 8]",
):
    put: "f32[20, 8]" = aten.index_put.default(held, [place], keys)
    sum: "f32[8]" = aten.sum.dim_IntList(put, [0])
    held[...] = put
    return (sum, None)
""")
"""What the caller holds is changed where an index says, and read afterwards."""

STEP = _graph("""def step(
    param: "f32[1000] parameter",
    grad: "f32[1000] gradient",
):
    mul: "f32[1000]" = aten.mul.Tensor(grad, -0.01)
    add: "f32[1000]" = aten.add.Tensor(param, mul)
    param[...] = add
    return (None,)
""")

STATISTICS_OF_ROWS = """    wide: "f32[{m}, {n}]" = aten._to_copy.default(x, dtype=torch.float32)
    both: ("f32[{m}, 1]", "f32[{m}, 1]") = aten.var_mean.correction(
        wide, [1], correction=0, keepdim=True
    )
    var: "f32[{m}, 1]" = getitem(both, 0)
    mean: "f32[{m}, 1]" = getitem(both, 1)
"""
"""Lines of a graph text over ``m`` rows of ``n`` values: the variance and mean of each of ``x``."""

SOFTMAX_OF_ROWS = """    wide: "f32[{m}, {n}]" = aten._to_copy.default(x, dtype=torch.float32)
    amax: "f32[{m}, 1]" = aten.amax.default(wide, [-1], True)
    sub: "f32[{m}, {n}]" = aten.sub.Tensor(wide, amax)
    exp: "f32[{m}, {n}]" = aten.exp.default(sub)
    total: "f32[{m}, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div: "f32[{m}, {n}]" = aten.div.Tensor(exp, total)
"""
"""``div``, from ``x`` of {m} rows of {n}: lines of a graph."""

CURVES = _graph("""def curves(
    x: "f32[40, 64]",
):
    erf: "f32[40, 64]" = aten.erf.default(x)
    cumulative: "f32[40, 64]" = aten.add.Tensor(erf, 1)
    tanh: "f32[40, 64]" = aten.tanh.default(x)
    above: "f32[40, 64]" = aten.add.Tensor(tanh, 1)
    square: "f32[40, 64]" = aten.mul.Tensor(tanh, tanh)
    slope: "f32[40, 64]" = aten.sub.Tensor(1, square)
    neg: "f32[40, 64]" = aten.neg.default(x)
    exp: "f32[40, 64]" = aten.exp.default(neg)
    below: "f32[40, 64]" = aten.add.Tensor(exp, 1)
    share: "f32[40, 64]" = aten.reciprocal.default(below)
    return (cumulative, above, slope, share)
""")

GRAPHS = (
    SOFTMAX, LAYER_NORM, TRANSPOSE, BIAS, OUTER, ARGMAX, SCATTER, REPEATED, PART, CACHE, STEP,
    CURVES,
)  # fmt: skip


def graph_of_size(rows: int, columns: int) -> Graph:
    """The negation of a matrix of the given size."""
    kind = f"f32[{rows}, {columns}]"
    line = f'neg: "{kind}" = aten.neg.default(x)'
    return _graph(f'def big(\n    x: "{kind}",\n):\n    {line}\n    return (neg,)\n')


def strips(slices: int) -> Graph:
    """Slices of a tensor of zeros, added up as their gradients are, rows and columns reduced."""
    whole, at = f"f32[2, 96, {slices}, 16]", range(slices)
    steps = "".join(
        f"""    wide{k}: "f32[2, 96, 1, 16]" = aten.unsqueeze.default(x{k}, 2)
    slice{k}: "{whole}" = aten.slice_scatter.default(zeros, wide{k}, 2, {k}, {k + 1})
    sum{k}: "{whole}" = aten.add.Tensor({f"sum{k - 1}" if k else "w"}, slice{k})
"""
        for k in at
    )
    given = "".join(f'    x{k}: "f32[2, 96, 16]",\n' for k in at)
    return loads(
        f"""# harness graph 1
def strips(
    w: "{whole}",
{given}):
    zeros: "{whole}" = aten.full.default([2, 96, {slices}, 16], 0, dtype=torch.float32)
{steps}    rows: "f32[2, 96, {slices}]" = aten.sum.dim_IntList(sum{slices - 1}, [3])
    columns: "f32[2, {slices}, 16]" = aten.sum.dim_IntList(sum{slices - 1}, [1])
    return (rows, columns)
"""
    )


LIBRARY = _graph("""def library(
    x: "f32[30, 7]",
    y: "f32[30, 7]",
):
    tanh: "f32[30, 7]" = aten.tanh.default(x)
    erf: "f32[30, 7]" = aten.erf.default(tanh)
    round: "f32[30, 7]" = aten.round.default(y)
    pow: "f32[30, 7]" = aten.atan2.default(round, erf)
    return (pow,)
""")
