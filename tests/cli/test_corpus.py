from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.cli import run as running
from harness.corpus import selecting
from harness.corpus import store as corpora
from harness.graph.suite import FOLDER
from harness.history import accumulated, store
from harness.measure.jobs import DeviceFacts
from harness.options import Options
from harness.records.run import Check, GraphRecord, KernelRecord, Machine, RegionRecord, Run
from harness.session import plan
from harness.session.entries import find_entries
from harness.session.model import blank
from harness.target import H100


def test_patterns_captures_and_coverage_are_listed(harness):
    listed = harness(
        "list", "--suite", "corpus", "--where", "kind=reduction", "--sample", "5", "--json"
    )
    assert listed.status == 0 and len(listed.json()["patterns"]) == 5
    assert {row["kind"] for row in listed.json()["patterns"]} == {"reduction"}
    assert all(0 < row["weight"] < 1 for row in listed.json()["patterns"])
    models = harness("list", "--suite", "corpus", "--models", "--json").json()["captures"]
    assert any(row["reason"] for row in models) and any(row["regions"] for row in models)
    covered = harness("list", "--suite", "corpus", "--coverage", "--json").json()
    assert {"reduction", "bf16", "rsqrt"} <= {row["value"] for row in covered["coverage"]}
    assert all(row["weight"] is None for row in covered["coverage"] if row["what"] == "missing")
    assert sum(row["weight"] for row in covered["coverage"] if row["what"] == "kind") <= 1.000001
    said = [row["value"] for row in covered["coverage"] if row["what"] in ("layout", "bytes")]
    assert {"transposed", "with gaps", "repeated"} <= set(said), "layouts other than by rows"
    assert said.index("up to 1 MB") < said.index("up to 10 MB") < said.index("up to 1 GB")


def test_what_a_reader_sees_of_the_corpus(harness, monkeypatch):
    """The heaviest patterns, so that they do not scroll away, how many more there are, and a table
    of captures also where a reason is long."""
    monkeypatch.setenv("COLUMNS", "120")
    head, *lines = harness("list", "--suite", "corpus", "-v").out.splitlines()
    rows, total = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert head.split()[0] == "name" and len(rows) == 200
    assert "patterns (above the first 200, --csv and --json have all), from" in " ".join(total)
    assert max(map(len, total)) <= 120
    answer = harness("list", "--suite", "corpus", "--models", "-v")
    assert answer.out.split()[:3] == ["name", "family", "regions"]
    assert max(map(len, answer.out.splitlines())) <= 120


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--suite", "corpus", "--where", "colour=red"], "patterns have no colour"),
        (["--suite", "corpus", "--where", "kind=reduktion"], "kind: reduction"),
        (["--where", "kind=reduction"], "only the patterns of a corpus"),
        (["--models"], "--models is of a corpus"),
        (["--suite", "corpsu"], "expected: corpus"),
        (["--runs", "--targets"], "got: --runs --targets"),
        (["--suite", "corpus", "--models", "--coverage"], "got: --models --coverage"),
    ],
)
def test_queries_that_make_no_sense(harness, arguments, said):
    answer = harness("list", *arguments)
    assert answer.status == 2 and said in answer.err


def test_a_pattern_of_names_that_nothing_is_like_is_said(harness):
    assert (
        "no pattern of the corpus is like nosuch"
        in harness("list", "--suite", "corpus", "-k", "nosuch").err
    )


def test_a_pattern_is_a_graph_like_any_other(harness):
    listed = harness("list", "--suite", "corpus", "--where", "kind=pointwise nodes<12", "--json")
    name = listed.json()["patterns"][0]["name"]
    assert f"{name}.r0" in harness("explain", name).out
    ran = harness("run", f"corpus:name={name}", "--no-timing", "--no-record", "-j", "1", "--json")
    assert ran.status == 0, ran.err
    (graph,) = ran.json()["graphs"]
    assert graph["name"] == name
    assert all(kernel["check"] == "passed" for kernel in graph["kernels"])


@pytest.mark.parametrize("suite", ["default", "corpus"])
def test_a_mistyped_pattern_is_told_what_is_near_in_the_corpus(harness, suite):
    listed = harness("list", "--suite", "corpus", "--where", "kind=pointwise nodes<12", "--json")
    name = listed.json()["patterns"][0]["name"]
    for wrong in (f"{name[:-1]}{'a' if name[-1] != 'a' else 'b'}", name[:-2], f"{name}x"):
        answer = harness("explain", wrong, "--suite", suite)
        assert answer.status == 2 and f"got: {wrong}" in answer.err
        assert f"expected: {name}," in answer.err
    answer = harness("explain", "lama_block")
    assert "expected: llama_block, llama_block_backward, llama_block_forward" in answer.err


def test_a_sum_needs_a_known_group(harness, results):
    answer = harness("show", "latest", "--by", "colour")
    assert answer.status != 0


def test_a_budget_says_what_it_leaves_out(harness):
    where = ("--suite", "corpus", "--where", "kind=pointwise nodes<12 bytes<1MB")
    ran = harness(
        "run", *where, "--minutes", "0.02", "--no-timing", "--no-record", "-j", "1", "--json"
    )
    assert ran.status == 0, ran.err
    assert len(ran.json()["graphs"]) == 1
    assert "1 of " in ran.err and "are left out, 0 measured before" in ran.err
    assert harness("run", "--minutes", "1").status == 2
    named = harness("run", "--suite", "corpus", "nosuch*", "no_such", "--minutes", "1")
    assert named.status == 2 and "got: name=nosuch*,no_such" in named.err


def keep(results, names, ms, days=0, compared=()):
    """A run of patterns, each with one kernel, that was made so many ``days`` ago."""
    rows = tuple(RegionRecord("r0", name, ms=ms) for name in compared)
    graphs = tuple(
        GraphRecord(
            one,
            kernels=(KernelRecord(f"k_{one}", "poi", 8, ms=ms, check=Check.PASSED),),
            regions=rows,
        )
        for one in names
    )
    number = len(list(results.rglob("*.parquet")))
    run = Run(
        f"20260101-00010{number}-abc",
        (dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).isoformat(),
        Machine("cpu", "x"),
        "sm_90",
        "corpus:kind=pointwise",
        commit="abc",
        graphs=graphs,
    )
    store.save(results, run)


def test_a_run_that_was_cut_short_is_gone_on_with(harness, results):
    """What was not measured is what a budget picks; a sum takes both runs of the commit."""
    # of similar weight: a heavy one that was just measured tells more than one of no weight
    wanted = "kind=pointwise nodes<12 bytes>200KB bytes<1MB"
    where = ("--suite", "corpus", "--where", wanted, "--sample", "2")
    rows = harness("list", *where, "--json").json()["patterns"]
    first, second = (row["name"] for row in rows)
    for done, left in ((first, second), (second, first)):
        shutil.rmtree(results, ignore_errors=True)
        keep(results, [done], 0.5)
        chosen = ("--minutes", "0.02", "--no-timing", "--no-record", "-j", "1", "--json")
        (graph,) = harness("run", *where, *chosen).json()["graphs"]
        assert graph["name"] == left
    keep(results, [first], 0.25)
    summed = harness("show", "latest", "--by", "all", "--json")
    (row,) = summed.json()["groups"]
    assert row["patterns"] == 2 and "with the graphs of run 20260101-000100" in summed.err


def test_a_budget_beside_other_compilers_is_for_what_was_not_compared(results, tmp_path):
    wanted = "kind=pointwise nodes<12 bytes>200KB bytes<1MB sample=2"
    found = selecting.select(corpora.load(FOLDER / "corpus"), wanted)
    first, second = (pattern.name for pattern in found)
    keep(results, [first], 0.5)
    keep(results, [second], 0.5, days=10, compared=("harness", "inductor"))
    options = Options(tmp_path / "cache", results, FOLDER, 1)
    for against, least in (((), second), (("inductor",), first), (("inductor", "eager"), first)):
        for quick in (False, True):
            asked = {"processes": 1, "devices": "", "workers": "", "against": against}
            minutes = (0.02 if against else 0.01) / (2 if quick else 1)
            request = SimpleNamespace(**asked, quick=quick)
            (chosen,) = running._within(options, request, found, minutes)
            assert chosen.name == least


def test_a_run_goes_on_where_runs_of_other_commits_ended(harness, results, tmp_path, monkeypatch):
    """Patterns whose kernels are generated as they were compared are left out, and summed up with
    those of other runs."""
    here = Machine("gpu-1", gpu="NVIDIA H100", torch="2", triton="3")
    monkeypatch.setattr(plan, "seen", lambda: DeviceFacts(H100, here, "m/1"))
    monkeypatch.setattr(plan, "METHOD", "m/1")
    options = Options(tmp_path / "cache", results, FOLDER, 1)
    wanted = "kind=pointwise nodes<12 bytes>200KB bytes<1MB weighted=3 seed=7"
    graphs = [
        GraphRecord(
            entry.name,
            kernels=tuple(
                replace(blank(kernel), ms=0.5, check=Check.PASSED)
                for kernel in entry.compile().kernels
            ),
            regions=tuple(
                RegionRecord("r0", name, ms=ms, check=Check.PASSED)
                for name, ms in (("harness", 0.5), ("inductor", 1.0))
            ),
        )
        for entry in find_entries(options, f"corpus:{wanted}", (), H100)
    ]
    other = KernelRecord("k", "poi", 8, ms=0.5, check=Check.PASSED, module="# another")
    when = "2026-01-01T00:00:00+00:00"
    for number, had in ((1, graphs[:1]), (2, [replace(graphs[1], kernels=(other,))])):
        run = Run(f"2026010{number}-000000-c{number}", when, here, "sm_90", method="m/1")
        store.save(results, replace(run, suite="corpus", graphs=tuple(had)))
    where = ("--suite", "corpus", "--where", wanted, "--resume")
    asked = ("--no-timing", "--no-record", "-j", "1", "--json")
    ran = harness("run", *where, *asked)
    assert [graph["name"] for graph in ran.json()["graphs"]] == [g.name for g in graphs[1:]]
    said = (
        "1 of 3 patterns were measured before, with the kernels that are generated now; of 1 they"
    )
    assert said in ran.err
    thrice = harness("run", *where, *asked, "--processes", "3")
    assert "0 of 3 patterns were measured before" in thrice.err
    one = harness("run", *where, *asked, "--minutes", "0.01")
    assert one.json()["graphs"][0]["name"] in {g.name for g in graphs[1:]}
    done = harness("run", graphs[0].name, *where[:2], *where[4:], *asked)
    assert done.status == 2 and "nothing is left to measure" in done.err
    summed = harness("show", "--by", "all", "--baseline", "inductor", "--unchanged", "--json")
    (row,) = summed.json()["groups"]
    assert (row["patterns"], row["compared"], row["mean"]) == (1, 1, pytest.approx(2))
    assert "1 pattern of run 20260101-000000-c1" in summed.err
    assert "left out, their kernels have changed since: 1 pattern" in summed.err


def test_a_sum_is_of_kernels_for_the_board_that_was_recorded(harness, results, monkeypatch):
    targets = []

    def unchanged(*given):
        targets.append(given[-1])
        return {}, {}

    monkeypatch.setattr(accumulated, "unchanged", unchanged)
    board = Machine("pcie", gpu="NVIDIA H100 PCIe", multiprocessors=114, l2_bytes=1 << 20)
    store.save(results, Run("20260101-000000-c", "2026-01-01T00:00:00+00:00", board, "sm_90"))
    harness("show", "--by", "all", "--unchanged")
    assert targets == [replace(H100, multiprocessors=114, l2_bytes=1 << 20)]


def test_a_sum_names_damaged_files_and_patterns_that_the_corpus_lacks(
    harness, results, tmp_path, monkeypatch
):
    suites = tmp_path / "suites"
    shutil.copytree(FOLDER / "corpus", suites / "corpus")
    monkeypatch.setenv("HARNESS_SUITES", str(suites))
    parts = corpora.load(suites / "corpus").tables
    kept, lost = (parts[n].column("name").to_pylist()[0] for n in (0, 1))
    keep(results, [kept, lost, "add_0123456789"], 0.5)
    path = suites / "corpus" / "patterns-2-of-4.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    summed = harness("show", "latest", "--by", "all", "--json")
    (row,) = summed.json()["groups"]
    assert row["patterns"] == 1
    assert str(path) in summed.err and "cannot be used" in summed.err
    assert f"left out, the corpus lacks 2 graphs: {lost}, add_0123456789" in summed.err


def test_a_damaged_file_is_named_and_the_rest_runs(harness, tmp_path, monkeypatch):
    suites = tmp_path / "suites"
    shutil.copytree(FOLDER / "corpus", suites / "corpus")
    monkeypatch.setenv("HARNESS_SUITES", str(suites))
    rows = harness("list", "--suite", "corpus", "--where", "nodes<12", "--json").json()["patterns"]
    parts = corpora.load(suites / "corpus").tables
    inside = set(parts[1].column("name").to_pylist())
    lost, kept = (
        next(r["name"] for r in rows if (r["name"] in inside) is x) for x in (True, False)
    )
    path = suites / "corpus" / "patterns-2-of-4.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    for command in (["list"], ["run", "--no-timing", "--no-record", "-j", "1"]):
        answer = harness(*command, "--suite", "corpus", "--where", f"name={kept}", "--json")
        assert answer.status == 0 and kept in answer.out, answer.err
        assert str(path) in answer.err and "cannot be used" in answer.err
    answer = harness("run", lost, "--suite", "corpus", "--no-timing", "--no-record")
    assert answer.status == 2 and lost in answer.err
