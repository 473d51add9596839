"""Which dimensions of a graph share a size."""

from __future__ import annotations

import pytest

from harness.graph.shrinking import shrunk
from harness.graph.text import loads
from harness.graph.validate import validate
from suites.building.agreeing import told_apart

EIGHTS = """# harness graph 1
def eights(x: "f32[8, 8, 8]", y: "f32[8]", table: "f32[8, 8]", at: "i64[8]"):
    flat: "f32[8, 64]" = aten.view.default(x, [8, 64])
    back: "f32[8, 8, 8]{8, 64, 1}" = aten.permute.default(x, [1, 0, 2])
    lined: "f32[8, 8, 8]" = aten.mul.Tensor(x, y)
    row: "f32[8, 8]{64, 1}" = aten.select.int(back, 0, 0)
    most: ("f32[8, 8]", "i64[8, 8]") = aten.max.dim(lined, 1)
    places: "i64[8, 8]" = getitem(most, 1)
    half: "f32[8, 8, 4]{64, 8, 1}" = aten.slice.Tensor(x, 2, 4, 8)
    both: "f32[8, 8, 8]" = aten.cat.default([half, half], 2)
    found: "f32[8, 8]" = aten.index.Tensor(table, [at])
    return (flat, row, both, found, places)
"""


def test_equal_sizes_are_one_where_calls_demand_it() -> None:
    """Three eights of one tensor are three sizes, wherever they are moved; those of tensors that
    are multiplied agree from the right; of a call that is not understood all do."""
    shapes = told_apart(loads(EIGHTS))
    first, second, third = shapes["x"][0]
    assert first is not second is not third is not first and first != second
    assert shapes["flat"][0][0] is first
    assert shapes["back"][0][0] is second and shapes["row"][0][0] is first
    assert shapes["y"][0][0] is third and shapes["row"][0][1] is third
    assert shapes["places"][0][0] is first and shapes["places"][0][1] is third
    assert shapes["half"][0][1] is second and shapes["both"][0][1] is second
    assert shapes["both"][0][2] is not third, "a sum is a demand"
    assert len({id(n) for name in ("table", "at", "found") for n in shapes[name][0]}) == 1


STEPS = "\n".join(
    f"""    p{n}: "bf16[8, 8, 64, 512]" = aten.view.default(x{n}, [8, 8, 64, 512])
    s{n}: "bf16[8, 8, 512, 512]" = aten.slice_scatter.default(zero, p{n}, 2, {at}, {at + 64})
    a{n}: "bf16[8, 8, 512, 512]" = aten.add.Tensor({f"a{n - 1}" if n else "whole"}, s{n})"""
    for n, at in enumerate(range(0, 512, 64))
)
CHUNKS = f"""# harness graph 1
def chunks(
    x: "bf16[512, 64, 512]",
{"".join(f'''    x{n}: "bf16[64, 64, 512]",{chr(10)}''' for n in range(8))}):
    cut: "bf16[8, 8, 8, 64, 512]" = aten.view.default(x, [8, 8, 8, 64, 512])
    whole: "bf16[8, 8, 512, 512]" = aten.view.default(cut, [8, 8, 512, 512])
    zero: "bf16[8, 8, 512, 512]" = aten.full.default([8, 8, 512, 512], 0, dtype=torch.bfloat16)
{STEPS}
    return (a7,)
"""
COMPUTED = """# harness graph 1
def computed(x: "f16[8, 64, 28, 28]", mask: "f16[1, 1, 224, 224]"):
    i: "f32[28]" = aten.arange.start_step(0, 28, dtype=torch.float32)
    m: "f32[28]" = aten.mul.Tensor(i, 8.0)
    at: "i64[28]" = aten._to_copy.default(m, dtype=torch.int64)
    up: "i64[28, 1]" = aten.unsqueeze.default(at, -1)
    seen: "f16[1, 1, 28, 28]" = aten.index.Tensor(mask, [None, None, up, at])
    b: "i64[8]" = aten.arange.start_step(0, 8)
    bs: "i64[8, 1, 1, 1]" = aten.view.default(b, [8, 1, 1, 1])
    h: "i64[64]" = aten.arange.start_step(0, 64)
    hs: "i64[1, 64, 1, 1]" = aten.view.default(h, [1, 64, 1, 1])
    k: "i64[28]" = aten._to_copy.default(i, dtype=torch.int64)
    rows: "i64[1, 1, 28, 1]" = aten.view.default(k, [1, 1, 28, 1])
    columns: "i64[1, 1, 1, 28]" = aten.view.default(k, [1, 1, 1, 28])
    taken: "f16[8, 64, 28, 28]" = aten.index.Tensor(x, [bs, hs, rows, columns])
    wide: "f16[8, 64, 28, 28, 1]" = aten.unsqueeze.default(taken, 4)
    long: "f16[8, 64, 28, 28, 512]{50176, 784, 28, 1, 0}" = (
        aten.expand.default(wide, [8, 64, 28, 28, 512]))
    many: "f16[8, 64, 28, 28, 512]" = aten.mul.Tensor(long, 2)
    out: "f16[8, 64, 28, 28, 512]" = aten.mul.Tensor(many, 0.5)
    return (seen, out)
"""


@pytest.mark.parametrize(("text", "apart"), [(CHUNKS, True), (COMPUTED, False)])
def test_where_equal_sizes_are_several_small_ones_are_found(text: str, apart: bool) -> None:
    """A loop of eight chunks written out, beside eight of a batch and eight heads; places that are
    computed with the factor by which one picture is larger than another, beside places that are
    counted: the latter's dimensions need not stay."""
    graph = loads(text)
    small, why = shrunk(graph)
    assert (small is None) == apart == ("too large" in why)
    small, why = shrunk(graph, told_apart)
    assert small is not None, why
    validate(small)
    assert max(int(kind.numel) for kind in small.types().values()) <= 1 << 19  # type: ignore[union-attr]
    assert [(n.name, n.op) for n in small.nodes] == [(n.name, n.op) for n in graph.nodes]
    ranks = [[getattr(k, "rank", None) for k in g.types().values()] for g in (small, graph)]
    assert ranks[0] == ranks[1]


def test_sizes_that_are_small_at_once_stay_as_they_were_found() -> None:
    graph = loads("""# harness graph 1
def plain(x: "f32[64, 64]"):
    y: "f32[64, 64]" = aten.exp.default(x)
    return (y,)
""")
    assert shrunk(graph, told_apart) == shrunk(graph)
