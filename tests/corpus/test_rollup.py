from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from harness.corpus import rollup, store
from harness.corpus.model import Use
from harness.errors import UsageError
from harness.measure.peers.jobs import OURS
from harness.records.run import Check, GraphRecord, KernelRecord, Machine, RegionRecord, Run
from harness.report.corpus import standings_report
from harness.table import plain, text_lines


@pytest.fixture(scope="module")
def corpus(whole):
    return store.load(whole)


def run_of(corpus, times, name="a"):
    graphs = []
    for pattern in corpus.patterns:
        if pattern.name not in times:
            continue
        ms = times[pattern.name]
        kernel = KernelRecord(
            pattern.name, "pointwise", pattern.bytes, 2, ms=ms / 2, fraction=0.5, check=Check.PASSED
        )
        rows = (
            RegionRecord("r0", OURS, ms=ms, check=Check.PASSED),
            RegionRecord("r0", "inductor", ms=2 * ms, check=Check.PASSED),
            RegionRecord("r0", "eager", ms=9 * ms, check=Check.FAILED),
        )
        graphs.append(GraphRecord(pattern.name, kernels=(kernel,), regions=rows))
    machine = Machine("cpu", "x")
    return Run(name, "2026-01-01T00:00:00+00:00", machine, "sm_90", "corpus", graphs=tuple(graphs))


def said(report):
    return "\n".join(plain(text_lines(report.blocks(), None)))


def test_a_result_over_patterns_is_one_over_models(corpus):
    times = {p.name: 1.0 for p in corpus.patterns}
    (whole,) = rollup.standings(corpus, run_of(corpus, times), "all", "inductor")
    assert whole.covered == pytest.approx(1) and whole.failed == 0
    assert whole.score.value == pytest.approx(2)
    assert standings_report([whole], "all", "inductor").rows()[0]["verdict"] == "faster"
    assert whole.ms == sum(use.calls for p in corpus.patterns for use in p.uses)
    models = rollup.standings(corpus, run_of(corpus, times), "model", "inductor")
    assert {row.group for row in models} == {"llama_block", "gpt2", "gpt2_tuned", "vit"}
    assert sum(row.ms for row in models) == whole.ms
    families = {row.group for row in rollup.standings(corpus, run_of(corpus, times), "family")}
    assert families == {"language", "vision"}


def test_the_slowest_patterns_come_first_and_every_pattern_counts_alike_in_the_mean(corpus):
    names = [p.name for p in corpus.patterns]
    before = run_of(corpus, dict.fromkeys(names, 1.0))
    now = run_of(corpus, {name: 2.0 if name == names[3] else 1.0 for name in names})
    rows = rollup.standings(corpus, now, "pattern", before)
    assert rows[0].group == names[3] and rows[0].mean == pytest.approx(0.5)
    assert [row.mean for row in rows[1:]] == pytest.approx([1.0] * (len(names) - 1))
    (whole,) = rollup.standings(corpus, now, "all", before)
    assert whole.mean == pytest.approx(0.5 ** (1 / len(names)))


def test_a_model_that_slowed_down_is_the_one_that_is_named(corpus):
    before = {p.name: 1.0 for p in corpus.patterns}
    after = {
        p.name: 1.5 if any(u.capture.startswith("vit/") for u in p.uses) else 1.0
        for p in corpus.patterns
    }
    rows = rollup.standings(corpus, run_of(corpus, after), "model", run_of(corpus, before))
    found = {row.group: row.score for row in rows}
    verdicts = {row["group"]: row["verdict"] for row in standings_report(rows, "model", "").rows()}
    assert verdicts["vit"] == "slower" and verdicts["gpt2"] == "undecided"
    assert found["vit"].value == pytest.approx(1 / 1.5)
    assert found["gpt2"].value == pytest.approx(1)


def test_wrong_kernels_and_wrong_compilers_take_no_part(corpus):
    names = [p.name for p in corpus.patterns]
    run = run_of(corpus, dict.fromkeys(names, 1.0))
    broken = replace(run.graphs[0].kernels[0], check=Check.FAILED)
    run = replace(run, graphs=(replace(run.graphs[0], kernels=(broken,)), *run.graphs[1:]))
    (row,) = rollup.standings(corpus, run, "all", "eager")
    assert row.failed == 1 and row.covered < 1 and row.score is None


def test_a_pattern_that_was_not_timed_has_not_failed(corpus):
    """As without a GPU, or where its kernel's check lacks memory, and its timing too."""
    run = run_of(corpus, {corpus.patterns[0].name: 1.0})
    untimed = replace(run.graphs[0].kernels[0], ms=None, sets=())
    run = replace(run, graphs=(replace(run.graphs[0], kernels=(untimed,)),))
    (row,) = rollup.standings(corpus, run, "all")
    assert (row.patterns, row.failed, row.covered) == (1, 0, 0)
    assert standings_report([row], "all", "").rows()[0]["ms"] is None


def test_the_interval_holds_as_often_as_it_says():
    draw, hits, trials = random.Random(1), 0, 400
    for _ in range(trials):
        rows = [(draw.gauss(math.log(1.1), 0.2), draw.uniform(0.5, 2.0)) for _ in range(40)]
        found = rollup.score(rows, 0.05)
        hits += found.low <= 1.1 <= found.high
    assert 0.92 <= hits / trials <= 0.98


def test_an_interval_of_two_patterns_that_differ_has_no_upper_end(corpus):
    """One of many groups: 95 % of all intervals hold, so two patterns leave anything possible."""
    found = rollup.score([(0.0, 1.0), (3.0, 1.0)], 0.0001)
    assert found.value == pytest.approx(math.exp(1.5))
    assert (found.low, found.high) == (0.0, math.inf)
    row = rollup.Standing("g", 2, 0, 1.0, 1.0, None, found)
    shown = standings_report([row], "model", "")
    assert shown.rows()[0]["verdict"] == "undecided" and "0.000 to inf" in said(shown)
    wide = replace(row, score=found._replace(high=123456.0))
    assert "0.000 to 1.2e+05" in said(standings_report([wide], "model", ""))


def test_heavy_patterns_that_are_run_more_often_do_not_speak_for_light_ones(corpus):
    """60 patterns with half of the bytes, all run, gain 20 %; of 600 with the other half, of which
    one in ten is run, each loses about that."""
    draw, hits, trials = random.Random(1), 0, 200
    capture = replace(corpus.captures[0], bytes=2_000_000)
    truth = {
        (n, k): draw.gauss(-0.2 if k else 0.2, 0.1)
        for k, of in ((0, 60), (1, 600))
        for n in range(of)
    }
    patterns = tuple(
        replace(
            corpus.patterns[0],
            name=f"p{n}_{k}",
            weight=0.5 / (600 if k else 60),
            uses=(Use(capture.name, 1, 1_000_000 // (600 if k else 60)),),
        )
        for n, k in truth
    )
    made = replace(corpus, captures=(capture,), patterns=patterns)
    score = sum(x * p.weight for x, p in zip(truth.values(), patterns, strict=True))
    mean = sum(truth.values()) / len(truth)
    for _ in range(trials):
        there = {key for key in truth if key[1] == 0 or draw.random() < 0.1}
        times = {f"p{n}_{k}": 1.0 for n, k in there}
        before = {f"p{n}_{k}": math.exp(truth[n, k]) for n, k in there}
        (row,) = rollup.standings(made, run_of(made, times), "all", run_of(made, before))
        assert row.covered == pytest.approx(0.55, abs=0.02)
        assert abs(math.log(row.mean) - mean) < 0.06
        hits += row.score.low <= math.exp(score) <= row.score.high
    assert hits / trials >= 0.95


def test_a_run_of_something_else(corpus):
    with pytest.raises(UsageError, match="no pattern"):
        rollup.standings(corpus, run_of(corpus, {}), "all")


def test_the_table(corpus):
    rows = rollup.standings(corpus, run_of(corpus, {corpus.patterns[0].name: 1.0}), "kind")
    (row,) = standings_report(rows, "kind", "").rows()
    assert row["group"] == corpus.patterns[0].kind and row["score"] is None


def test_the_document_has_figures_and_the_table_texts(corpus):
    names = [pattern.name for pattern in corpus.patterns]
    times = dict.fromkeys(names, 1.0)
    alone = rollup.Standing("other", 1, 1, 0.0, None, None, None)
    whole = rollup.standings(corpus, run_of(corpus, times), "all", "inductor")
    report = standings_report([*whole, alone], "all", "inductor")
    row, nothing = report.document()["groups"]
    figures = ("covered", "ms", "of peak", "mean", "score", "low", "high")
    assert all(isinstance(row[name], float) for name in figures)
    assert [nothing[name] for name in figures] == [0.0, *[None] * 6]
    first, second = said(report).splitlines()[1:3]
    assert first.split()[4:] == [
        "100.0%",
        f"{row['ms']:.4g}",
        "50%",
        "2.000",
        "2.000",
        "2.000",
        "to",
        "2.000",
        "faster",
    ]
    assert second.split()[4:] == ["0.0%", *"–––––"]
