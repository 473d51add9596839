"""``harness tune`` without a GPU, and on recorded tunings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.history import store
from harness.records.run import GraphRecord, Run
from tests.cli.conftest import Command
from tests.history.examples import KERNEL, run
from tests.measure.test_tuning import TUNING

needs_none = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
GRAPH = "channels_last_forward"


@pytest.fixture
def tuned(results: Path) -> Run:
    kernel = replace(KERNEL, trials=TUNING.trials, config=dict(TUNING.chosen or {}))
    record = run(graphs=(GraphRecord(GRAPH, (), (kernel,)),))
    store.save(results, record)
    return record


@needs_none
def test_without_a_gpu_candidates_are_listed_and_the_message_says_so(harness: Command) -> None:
    answer = harness("tune", GRAPH, "--jobs", "1")
    assert answer.status == 0
    assert "no GPU here" in answer.err
    assert "--run RUN" in answer.err
    assert "registers" in answer.out
    assert "occupancy" in answer.out
    assert "no GPU: not timed" in answer.out
    document = harness("tune", GRAPH, "--json", "--jobs", "1").json()
    assert document["status"] == "static"
    assert "nothing is timed" in document["message"]
    trial = document["kernels"][0]["trials"][0]
    assert trial["registers"] > 0
    assert 0 < trial["occupancy"] <= 1
    assert trial["ms"] is None


@needs_none
def test_steps_are_said_from_the_first_second_on(harness: Command) -> None:
    lines = harness("tune", GRAPH, "--jobs", "1", "-v").err.splitlines()
    steps = [line.split("s] ")[1] for line in lines if line.startswith("[")]
    assert steps == [
        "looking for a GPU, and taking it",
        f"generating {GRAPH}",
        "compiling (0 of 1)",
        "tuning (1 of 1)",
    ]


@needs_none
def test_what_needs_times_says_so(harness: Command, tmp_path: Path) -> None:
    answer = harness("tune", GRAPH, "--save-table", tmp_path / "table.json")
    assert answer.status == 1
    assert "--save-table: this needs times" in answer.err
    assert not (tmp_path / "table.json").exists()


@needs_none
def test_times_that_are_demanded_are_an_error(harness: Command) -> None:
    answer = harness("tune", GRAPH, "--timing")
    assert answer.status == 1
    assert "GPU is needed" in answer.err


def test_names_that_are_wrong(harness: Command) -> None:
    assert "expected: descent" in harness("tune", GRAPH, "--search", "decsent").err
    assert harness("tune", "no_such_graph").status == 2


def test_a_recorded_tuning_is_shown_anywhere(harness: Command, tuned: Run) -> None:
    answer = harness("tune", GRAPH, "--run", "latest")
    assert answer.status == 0
    assert "1.200" in answer.out
    assert "X 256 w4" in answer.out
    every = harness("tune", GRAPH, "--run", tuned.id, "--kernel", KERNEL.name).out
    assert every.count("descent") == 1
    assert "chosen" in every
    assert "1.250" in every
    document = harness("tune", GRAPH, "--run", "latest", "--json").json()
    assert document["status"] == "recorded"
    assert document["totals"]["regret"] == pytest.approx(1.2, rel=1e-4)
    assert len(document["kernels"][0]["trials"]) == 5
    assert harness("tune", GRAPH, "--run", "latest", "--kernel", "other").status == 2


def test_a_run_without_trials_says_so(harness: Command, results: Path) -> None:
    store.save(results, run(graphs=(GraphRecord(GRAPH, (), (replace(KERNEL, trials=()),)),)))
    answer = harness("tune", GRAPH, "--run", "latest")
    assert answer.status == 1
    assert "holds no tuning" in answer.err
    assert harness("tune", "elsewhere", "--run", "latest").status == 2


def test_the_run_before_is_compared_on_todays_trials(
    harness: Command, results: Path, tuned: Run
) -> None:
    """What the run before had chosen was timed today, too: slower by a quarter."""
    kernel = replace(KERNEL, trials=(), config=dict(TUNING.earlier or {}))
    store.save(results, run("20000101-000000-a", graphs=(GraphRecord(GRAPH, (), (kernel,)),)))
    answer = harness("tune", GRAPH, "--run", tuned.id)
    assert "slower 1.250" in " ".join(answer.out.split())
    assert "configurations of run 20000101-000000-a on today's code" in answer.out
    totals = harness("tune", GRAPH, "--run", tuned.id, "--json").json()["totals"]
    assert totals["pinned"] == pytest.approx(1.25, rel=1e-4)
