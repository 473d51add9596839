from __future__ import annotations

import pytest

from harness.graph.model import TensorType
from harness.graph.partition.regions import partition
from harness.graph.shrinking import shrunk
from harness.graph.suite import FOLDER
from harness.graph.text import load, loads
from harness.graph.validate import validate


@pytest.mark.parametrize("path", sorted((FOLDER / "graphs").glob("*.py")), ids=lambda p: p.stem)
def test_every_region_of_the_suite_has_a_small_counterpart(path):
    for region in partition(load(path)).regions:
        small, why = shrunk(region.graph)
        assert small is not None, (region.name, why)
        validate(small)
        assert [(n.name, n.op) for n in small.nodes] == [(n.name, n.op) for n in region.graph.nodes]
        for kind in small.types().values():
            assert not isinstance(kind, TensorType) or int(kind.numel) <= 1 << 15


def test_rotary_halves_and_gaps_stay():
    graph = loads("""# harness graph 1
def rotary(
    x: "bf16[2, 2048, 32, 128]{25165824, 12288, 128, 1}",
):
    a: "bf16[2, 2048, 32, 64]{25165824, 12288, 128, 1}" = aten.slice.Tensor(x, 3, 0, 64)
    b: "bf16[2, 2048, 32, 64]{25165824, 12288, 128, 1}" = aten.slice.Tensor(x, 3, 64, 128)
    c: "bf16[2, 2048, 32, 128]" = aten.cat.default([b, a], 3)
    d: "bf16[2, 2048, 4096]" = aten.view.default(c, [2, 2048, 4096])
    return (d,)
""")
    small, why = shrunk(graph)
    assert not why and small is not None
    x = small.inputs[0].type
    batch, seq, heads, size = (int(n) for n in x.shape)
    assert (batch, size % 2) == (2, 0) and heads > 1
    assert int(x.stride[1]) == 3 * heads * size, "the gap of a fused projection is gone"
    assert [int(n) for n in small.nodes[-1].type.shape] == [batch, seq, heads * size]


def test_what_cannot_be_made_small_says_why():
    graph = loads("""# harness graph 1
def windows(
    x: "f32[100, 50]{1, 1}",
):
    y: "f32[100, 50]" = aten.exp.default(x)
    return (y,)
""")
    small, why = shrunk(graph)
    assert small is None and "overlaps" in why


@pytest.mark.parametrize(("columns", "larger"), [(1024, False), (1025, True)])
def test_up_to_half_a_million_elements_stay_where_nothing_smaller_runs(columns, larger):
    """Numbers that places are limited to are no sizes: with smaller ones places are outside."""
    graph = loads(f"""# harness graph 1
def limited(x: "f32[512, {columns}]"):
    i: "i64[512]" = aten.arange.start_step(0, 512)
    rows: "i64[512]" = aten.clamp.default(i, 511, 511)
    j: "i64[{columns}]" = aten.arange.start_step(0, {columns})
    places: "i64[{columns}]" = aten.clamp.default(j, {columns - 1}, {columns - 1})
    a: "f32[512, {columns}]" = aten.index.Tensor(x, [rows])
    b: "f32[512, {columns}]" = aten.index.Tensor(a, [None, places])
    return (b,)
""")
    small, why = shrunk(graph)
    assert (small is None) == larger == ("too large for the interpreter" in why)
    assert small is None or (small.inputs, small.nodes) == (graph.inputs, graph.nodes)


def test_an_empty_cache_and_places_from_a_half_on():
    """A cache of keys that is empty at first is concatenated, whatever its rank; centres of patches
    are counted from a half on."""
    graph = loads("""# harness graph 1
def first_step(
    keys: "f16[104, 1024]",
    cache: "f16[0]",
):
    view: "f16[1, 104, 1024]" = aten.view.default(keys, [1, 104, 1024])
    cat: "f16[1, 104, 1024]" = aten.cat.default([cache, view], -2)
    centres: "f32[104]" = aten.arange.start_step(0.5, 104, dtype=torch.float32)
    scaled: "f32[104]" = aten.div.Tensor(centres, 104)
    return (cat, scaled)
""")
    small, why = shrunk(graph)
    assert not why and small is not None
    sizes = [tuple(map(int, small.types()[name].shape)) for name in ("cache", "cat", "scaled")]
    assert sizes[0] == (0,) and sizes[1][1] == sizes[2][0] < 20


def test_windows_that_overlap():
    """Windows of 11 every 7 places stay: as few as there can be of them take the interpreter some
    seconds."""
    graph = loads(
        """# harness graph 1
def windows(
    x: "f16[1, 768, 14, 14]",
):
    padded: "f16[1, 768, 18, 18]" = aten.constant_pad_nd.default(x, [2, 2, 2, 2], 0.0)
    rows: "f16[1, 768, 2, 18, 11]{248832, 324, 126, 1, 18}" = aten.unfold.default(padded, 2, 11, 7)
    cut: "f16[1, 768, 2, 2, 11, 11]{248832, 324, 126, 7, 18, 1}" = aten.unfold.default(rows, 3, 11, 7)
    made: "f16[1, 768, 2, 2, 11, 11]" = aten.clone.default(cut, memory_format=torch.contiguous_format)
    heads: "f16[8, 96, 4, 121]" = aten.view.default(made, [8, 96, 4, 121])
    part: "f16[8, 24, 4, 121]{46464, 484, 121, 1}" = aten.slice.Tensor(heads, 1, 0, 24)
    back: "f16[8, 4, 121, 24]{46464, 121, 1, 484}" = aten.permute.default(part, [0, 2, 3, 1])
    out: "f16[8, 4, 121, 24]" = aten.clone.default(back, memory_format=torch.contiguous_format)
    return (out,)
"""  # noqa: E501
    )
    small, why = shrunk(graph)
    assert not why and small is not None
    assert 1 << 15 < max(int(kind.numel) for kind in small.types().values()) <= 1 << 17


@pytest.mark.parametrize(
    "text",
    [
        # The last of six dimensions is no size that equals five.
        """# harness graph 1
def windows(data: "f32[262144, 96]"):
    y: "f32[64, 4096, 96]" = aten.view.default(data, [64, 4096, 96])
    x: "f32[64, 64, 64, 96]" = aten.view.default(y, [64, 64, 64, 96])
    w: "f32[64, 70, 70, 96]" = aten.constant_pad_nd.default(x, [0, 0, 0, 6, 0, 6], 0.0)
    v: "f32[64, 5, 14, 5, 14, 96]" = aten.view.default(w, [64, 5, 14, 5, 14, 96])
    p: "f32[64, 5, 5, 14, 14, 96]{470400, 94080, 1344, 6720, 96, 1}" = (
        aten.permute.default(v, [0, 1, 3, 2, 4, 5]))
    return (p,)
""",
        # A four in a shape is a size, whatever it becomes; the third product decides the first.
        """# harness graph 1
def patches(x: "f16[1, 144, 32, 32]"):
    v: "f16[2304, 2, 16, 2]" = aten.view.default(x, [2304, 2, 16, 2])
    p: "f16[2304, 16, 2, 2]{64, 2, 32, 1}" = aten.permute.default(v, [0, 2, 1, 3])
    c: "f16[2304, 16, 2, 2]" = aten.clone.default(p, memory_format=torch.contiguous_format)
    w: "f16[1, 144, 256, 4]" = aten.view.default(c, [1, 144, 256, 4])
    return (w,)
""",
        # Places in a table are differences of positions: the table stays, and so do positions.
        """# harness graph 1
def relative(table: "f16[127, 64] parameter"):
    i: "f32[64]" = aten.arange.start_step(0, 64, dtype=torch.float32)
    a: "f32[64, 1]" = aten.unsqueeze.default(i, 1)
    b: "f32[1, 64]" = aten.unsqueeze.default(i, 0)
    d: "f32[64, 64]" = aten.sub.Tensor(a, b)
    e: "f32[64, 64]" = aten.add.Tensor(d, 63.0)
    at: "i64[64, 64]" = aten._to_copy.default(e, dtype=torch.int64)
    t: "f16[64, 64, 64]" = aten.index.Tensor(table, [at])
    return (t,)
""",
        # Batches that are as many as heads times halves: chosen late, nothing fits.
        """# harness graph 1
def heads(x: "bf16[512, 196, 32]", y: "bf16[512, 196, 32]"):
    v: "bf16[64, 8, 196, 32]" = aten.view.default(x, [64, 8, 196, 32])
    w: "bf16[64, 8, 196, 32]" = aten.view.default(y, [64, 8, 196, 32])
    c: "bf16[128, 8, 196, 32]" = aten.cat.default([v, w])
    t: "bf16[2, 64, 8, 196, 32]" = aten.view.default(c, [2, 64, 8, 196, 32])
    p: "bf16[64, 196, 2, 8, 32]{50176, 32, 3211264, 6272, 1}" = (
        aten.permute.default(t, [1, 3, 0, 2, 4]))
    k: "bf16[64, 196, 2, 8, 32]" = aten.clone.default(p, memory_format=torch.contiguous_format)
    z: "bf16[64, 196, 512]" = aten.view.default(k, [64, 196, 512])
    return (z,)
""",
        # All of a tensor by its strides.
        """# harness graph 1
def strided(x: "bf16[49152]"):
    v: "bf16[64, 768, 1, 1]" = aten.as_strided.default(x, [64, 768, 1, 1], [768, 1, 1, 1], 0)
    e: "bf16[64, 768, 7, 7]{768, 1, 0, 0}" = aten.expand.default(v, [64, 768, 7, 7])
    s: "bf16[64, 768, 7, 7]" = aten.mul.Tensor(e, 2.0)
    return (s,)
""",
        # As many gradients as there are windows.
        """# harness graph 1
def pooled(x: "bf16[64, 64, 28, 28]", y: "bf16[64, 64, 56, 56]"):
    g: "bf16[64, 64, 56, 56]" = (
        aten.avg_pool2d_backward.default(x, y, [2, 2], [2, 2], [0, 0], False, True, None))
    p: "bf16[64, 56, 56, 64]{200704, 56, 1, 3136}" = aten.permute.default(g, [0, 2, 3, 1])
    c: "bf16[64, 56, 56, 64]" = aten.clone.default(p, memory_format=torch.contiguous_format)
    v: "bf16[200704, 64]" = aten.view.default(c, [200704, 64])
    return (v,)
""",
        # A place in a table from constants and positions: the table stays, little else does.
        """# harness graph 1
def clamped(table: "f16[73, 64] parameter"):
    i: "i64[100]" = aten.arange.start_step(0, 100, dtype=torch.int64)
    a: "i64[100, 1]" = aten.unsqueeze.default(i, 1)
    b: "i64[1, 100]" = aten.unsqueeze.default(i, 0)
    d: "i64[100, 100]" = aten.sub.Tensor(b, a)
    c: "i64[100, 100]" = aten.clamp.default(d, -64, 8)
    at: "i64[100, 100]" = aten.add.Tensor(c, 64)
    e: "f16[100, 100, 64]" = aten.embedding.default(table, at)
    return (e,)
""",
        """# harness graph 1
def gathered(x: "f16[12, 24, 512]"):
    i: "i64[24]" = aten.arange.start_step(0, 24)
    u: "i64[24, 1]" = aten.unsqueeze.default(i, 1)
    a: "i64[24, 1]" = aten.add.Tensor(u, 256)
    e: "i64[12, 24, 24]{0, 1, 0}" = aten.expand.default(a, [12, 24, 24])
    g: "f16[12, 24, 24]" = aten.gather.default(x, -1, e)
    return (g,)
""",
        # Positions that begin below zero are as many as a view says.
        """# harness graph 1
def below(x: "f32[1, 16, 128, 2048]"):
    i: "i32[2048]" = aten.arange.start_step(-2047, 1, dtype=torch.int32)
    v: "i32[1, 1, 1, 2048]" = aten.view.default(i, [1, 1, 1, 2048])
    s: "f32[1, 16, 128, 2048]" = aten.mul.Tensor(x, v)
    return (s,)
""",
    ],
    ids=[
        *("windows", "patches", "relative", "heads", "strided", "pooled", "clamped", "gathered"),
        "below",
    ],
)
def test_sizes_that_depend_on_each_other(text):
    graph = loads(text)
    small, why = shrunk(graph)
    assert not why and small is not None
    validate(small)
    assert max(int(kind.numel) for kind in small.types().values()) <= 1 << 18


def test_the_last_size_of_a_product_or_a_sum_is_not_searched_for():
    """A picture folded into patches: seven products of up to four sizes. A search that tried every
    number for the last size of each had spent its steps before it had tried half of the others."""
    graph = loads("""# harness graph 1
def folded(
    x: "f32[32, 192, 14, 14]",
    weight: "f32[192]",
    saved: "f32[128, 49, 192]",
):
    a: "f32[43008, 2, 7, 2]" = aten.view.default(x, [43008, 2, 7, 2])
    b: "f32[43008, 7, 2, 2]{28, 2, 14, 1}" = aten.permute.default(a, [0, 2, 1, 3])
    c: "f32[43008, 7, 2, 2]" = aten.clone.default(b, memory_format=torch.contiguous_format)
    d: "f32[32, 192, 49, 4]" = aten.view.default(c, [32, 192, 49, 4])
    e: "f32[32, 4, 49, 192]{37632, 1, 4, 196}" = aten.permute.default(d, [0, 3, 2, 1])
    f: "f32[32, 4, 49, 192]" = aten.clone.default(e, memory_format=torch.contiguous_format)
    g: "f32[128, 49, 192]" = aten.view.default(f, [128, 49, 192])
    h: "f32[128, 49, 192]" = aten.mul.Tensor(g, weight)
    i: "f32[128, 49, 192]" = aten.mul.Tensor(h, saved)
    j: "f32[6272, 192]" = aten.view.default(i, [6272, 192])
    k: "f32[1, 192]" = aten.sum.dim_IntList(j, [0], True)
    return (i, k)
""")
    small, why = shrunk(graph)
    assert small is not None, why
    assert max(int(kind.numel) for kind in small.types().values()) <= 1 << 15
    validate(small)
