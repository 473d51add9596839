from __future__ import annotations

import pytest


def test_patterns_captures_and_coverage_are_listed(harness):
    listed = harness(
        "list", "--suite", "corpus", "--where", "kind=reduction", "--sample", "5", "--json"
    )
    assert listed.status == 0 and len(listed.json()["patterns"]) == 5
    assert {row["kind"] for row in listed.json()["patterns"]} == {"reduction"}
    models = harness("list", "--suite", "corpus", "--models", "--json").json()["captures"]
    assert any(row["reason"] for row in models) and any(row["regions"] for row in models)
    covered = harness("list", "--suite", "corpus", "--coverage", "--json").json()
    assert {"reduction", "bf16", "rsqrt"} <= {row["value"] for row in covered["coverage"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--suite", "corpus", "--where", "colour=red"], "patterns have no colour"),
        (["--suite", "corpus", "--where", "kind=reduktion"], "kind: reduction"),
        (["--where", "kind=reduction"], "only the patterns of a corpus"),
    ],
)
def test_queries_that_make_no_sense(harness, arguments, said):
    answer = harness("list", *arguments)
    assert answer.status == 2 and said in answer.err


def test_a_pattern_is_a_graph_like_any_other(harness):
    listed = harness("list", "--suite", "corpus", "--where", "kind=pointwise nodes<12", "--json")
    name = listed.json()["patterns"][0]["name"]
    assert f"{name}.r0" in harness("explain", name).out
    ran = harness("run", f"corpus:name={name}", "--no-timing", "--no-record", "-j", "1", "--json")
    assert ran.status == 0, ran.err
    (graph,) = ran.json()["graphs"]
    assert graph["name"] == name
    assert all(kernel["check"] == "passed" for kernel in graph["kernels"])


def test_a_sum_needs_a_known_group(harness, results):
    answer = harness("show", "latest", "--by", "colour")
    assert answer.status != 0


def test_a_budget_says_what_it_leaves_out(harness):
    where = ("--suite", "corpus", "--where", "kind=pointwise nodes<12 bytes<1MB")
    ran = harness(
        "run", *where, "--minutes", "0.05", "--no-timing", "--no-record", "-j", "1", "--json"
    )
    assert ran.status == 0, ran.err
    assert len(ran.json()["graphs"]) == 1
    assert "1 of " in ran.err and "are left out" in ran.err
    assert harness("run", "--minutes", "1").status == 2
