from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from harness.corpus import store
from harness.corpus.selecting import captures, most_telling, select
from harness.errors import UnknownName, UsageError


@pytest.fixture(scope="module")
def corpus(whole):
    return store.load(whole)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("kind=reduction", lambda p: p.kind == "reduction"),
        ("kind!=reduction", lambda p: p.kind != "reduction"),
        ("kind=gather,scatter", lambda p: p.kind in ("gather", "scatter")),
        ("bytes>1MB", lambda p: p.bytes > 1e6),
        ("bytes<0.000001tb", lambda p: p.bytes < 1e6),
        ("op=rsqrt rank<4", lambda p: "rsqrt" in p.operators and p.rank < 4),
        ("model=VIT", lambda p: any(u.capture.startswith("vit/") for u in p.uses)),
        ("family=lang* models>1", lambda p: len(p.uses) > 1),
        ("mode=training size=throughput calls>=2", lambda p: sum(u.calls for u in p.uses) >= 2),
        ("", lambda p: True),
    ],
)
def test_queries(corpus, query, holds):
    assert select(corpus, query) == tuple(p for p in corpus.patterns if holds(p))


def test_samples_are_spread_and_repeat(corpus):
    one = select(corpus, "sample=20 seed=1")
    assert one == select(corpus, "sample=20 seed=1") and len(one) == 20
    assert one != select(corpus, "sample=20 seed=2")
    # Heaviest first, a run that is cut short would be one of the heaviest alone.
    assert one != sorted(one, key=lambda p: (-p.weight, p.name))
    every, kinds = Counter(p.kind for p in corpus.patterns), Counter(p.kind for p in one)
    for kind, count in every.items():
        assert abs(kinds[kind] - 20 * count / len(corpus.patterns)) < 2, kind
    assert len(select(corpus, "sample=100000")) == len(corpus.patterns)


def test_any_beginning_of_a_sample_by_weight_is_one(corpus):
    one = select(corpus, "weighted=99999 seed=1")
    assert sorted(one, key=corpus.patterns.index) == list(corpus.patterns)
    assert select(corpus, "weighted=9 seed=1") == one[:9] != select(corpus, "weighted=9")
    # Of two patterns the heavier one is first as often as it is heavier: twice as heavy, 3 of 4.
    two = [replace(one[0], name=n, weight=w) for n, w in (("light", 0.1), ("heavy", 0.2))]
    both = replace(corpus, patterns=tuple(two))
    first = Counter(select(both, f"weighted=1 seed={seed}")[0].name for seed in range(1000))
    assert 700 < first["heavy"] < 800


@pytest.mark.parametrize(
    "query",
    [
        "weighted=0",
        "weighted>5",
        "kind",
        "colour=red",
        "bytes>much",
        "kind>2",
        "sample=0",
        "seed=x",
        "model=vit,kind=gather",
    ],
)
def test_what_makes_no_sense(corpus, query):
    with pytest.raises(UsageError):
        select(corpus, query)


def test_what_is_asked_of_captures_holds_of_one_of_them(corpus):
    known = {c.name: c for c in corpus.captures}
    shared = next(p for p in corpus.patterns if len({known[u.capture].model for u in p.uses}) > 1)
    other = known[shared.uses[0].capture]
    one = next(c for u in shared.uses if (c := known[u.capture]).model != other.model)
    changed = (replace(c, mode="optimizer") if c is one else c for c in corpus.captures)
    there = replace(corpus, captures=tuple(changed))
    assert shared in select(there, f"model={one.model} mode=optimizer")
    with pytest.raises(UnknownName, match="no pattern"):
        select(there, f"model={other.model} mode=optimizer")


def test_captures_of_a_query(corpus):
    failed = replace(corpus.captures[0], name="odd/x", model="odd", reason="it does not build")
    there = replace(corpus, captures=(*corpus.captures, failed))
    assert captures(there, "") == list(there.captures)
    assert captures(there, "model=odd") == [failed]
    mine = captures(there, "model=gpt2 kind=reduction")
    assert mine and {c.model for c in mine} == {"gpt2"}, "not of other models with these patterns"
    with pytest.raises(UnknownName, match="no pattern"):
        captures(there, "model=nobody")


def test_a_query_that_nothing_fits_says_what_is_near(corpus):
    with pytest.raises(UnknownName, match="no pattern") as caught:
        select(corpus, "model=lama_block kind=reduction")
    assert "model: llama_block" in caught.value.expected
    with pytest.raises(UnknownName) as caught:
        select(corpus, "model=lama*")
    assert "model: llama_block" in caught.value.expected
    with pytest.raises(UnknownName) as caught:
        select(corpus, "kind=gather bytes>100GB")
    assert "without bytes>100GB" in caught.value.expected


def test_a_budget_takes_what_weighs_most_and_was_not_measured_lately(corpus):
    every = corpus.patterns
    one = most_telling(every, {}, 6.0, 1)
    assert one == list(every[: len(one)]) and 5 < len(one) < len(every)
    measured = {pattern.name: 0.0 for pattern in one}
    other = most_telling(every, measured, 6.0, 1)
    assert not set(other) & set(one[5:])
    assert len(most_telling(every, {}, 6.0, 5)) < len(one)
    assert len(most_telling(every, {}, 0.1, 1)) == 1
    assert most_telling(every, measured, 1e9, 3) == list(every)
