from __future__ import annotations

import pytest

from harness.corpus import store
from harness.corpus.model import is_pattern_name
from harness.graph.text import loads
from suites.building.capturing import earlier, merged
from suites.building.structure import canonical, pattern_of, structure

TEXT = """# harness graph 1
def g(
    {a}: "bf16[{n}, {d}]",
    {w}: "bf16[{d}] parameter",
):
    {m}: "bf16[{n}, {d}]" = aten.mul.Tensor({a}, {w})
    {s}: "bf16[{n}, 1]" = aten.sum.dim_IntList({m}, [1], True)
    {e}: "bf16[{n}, {d}]" = aten.mul.Tensor({m}, {scale})
    return ({s}, {e})
"""
NAMES = {"a": "a", "w": "w", "m": "m", "s": "s", "e": "e", "n": 512, "d": 1024, "scale": "0.125"}


def key(**changed):
    return structure(canonical(loads(TEXT.format(**{**NAMES, **changed}))))


def test_names_and_scales_make_no_difference():
    assert key() == key(a="hidden", w="scale", m="x", s="y", e="z")
    assert key()[0] == key(scale="0.3")[0]
    assert key()[0] != key(scale="1.0")[0]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"n": 768}, True),  # within a factor of four, both multiples of 16
        ({"n": 513}, False),  # no longer a multiple of 16
        ({"n": 2048}, False),
        ({"n": 1024}, False),  # now both sizes are one
        ({"n": 4}, False),
    ],
)
def test_sizes_of_one_class_are_merged(change, same):
    assert (key()[0] == key(**change)[0]) is same
    assert key(n=768)[1] == (768, 1024)


def test_another_layout_is_another_pattern():
    text = TEXT.format(**NAMES)
    other = text.replace('a: "bf16[512, 1024]"', 'a: "bf16[512, 1024]{1, 512}"')
    assert structure(canonical(loads(text)))[0] != structure(canonical(loads(other)))[0]


def test_a_pattern_says_what_it_is():
    pattern, graph, sizes = pattern_of(loads(TEXT.format(**NAMES)))
    assert (pattern.kind, pattern.rank, pattern.nodes) == ("reduction", 2, 3)
    assert pattern.bytes == 2 * (512 * 1024 * 2 + 1024 + 512)
    assert is_pattern_name(pattern.name) and pattern.name.startswith("sum_mul_")
    assert graph.name == pattern.name and sizes == (512, 1024)
    assert not is_pattern_name("llama_block_forward")


def test_tables_count_what_is_looked_up():
    text = """# harness graph 1
def g(
    table: "f32[50000, 64] parameter",
    ids: "i64[128] bound=50000",
):
    e: "f32[128, 64]" = aten.embedding.default(table, ids)
    x: "f32[128, 64]" = aten.exp.default(e)
    return (x,)
"""
    assert pattern_of(loads(text))[0].bytes == 2 * 128 * 64 * 4 + 128 * 8


def test_a_corpus_is_gone_on_with(shards, whole):
    """Captures of a corpus that is there, and new ones, make what all of them make at once."""
    before = earlier(store.load(whole))
    assert merged([before[shard.capture.name] for shard in shards]) == merged(shards)
    for new in shards:
        kept = [s if s is new else before[s.capture.name] for s in shards]
        assert merged(kept) == merged(shards)


def test_weights_are_shares_of_the_models_bytes(shards):
    patterns = merged(shards)
    assert sum(p.weight for p in patterns) == pytest.approx(1)
    used = sum(use.bytes for p in patterns for use in p.uses)
    assert used == sum(shard.capture.bytes for shard in shards)
    assert patterns == sorted(patterns, key=lambda p: (-p.weight, p.name))
    shared = [p for p in patterns if len(p.uses) > 1]
    assert shared, "the models have nothing in common"
