from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.cli import run as running
from harness.codegen.source import EmittedModule
from harness.errors import CompileFailed, NoDevice, UnsupportedOperator
from harness.history import journal, store
from harness.measure.jobs import DeviceFacts, Timing
from harness.measure.peers.jobs import Comparable
from harness.records.run import Machine, Run, StateSummary
from harness.report import output
from harness.runtime.interpret.interpreter import CheckResult
from harness.session import plan
from harness.target import A100
from tests.cli.conftest import Command
from tests.history.examples import run as example
from tests.measure.fakes import (
    METRICS,
    FakeDevice,
    FakeEntry,
    FakePeers,
    RepeatableDevice,
    compiled,
    module,
    session,
)

A, B = module("triton_poi_fused_add_0", "add"), module("triton_red_fused_sum_1", "sum")
GOOD = FakeEntry("block", compiled(A, B, launches=2), compiled(A, B))


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have ``harness run`` run a session of stand-ins."""

    def use(
        *entries: FakeEntry,
        device: FakeDevice | None = None,
        ended: Callable[[Run], Run] = lambda run: run,
        **parts: Any,
    ) -> None:
        @contextlib.contextmanager
        def prepare(*_: object) -> Iterator[plan.Plan]:
            run = example(graphs=(), copy_gbps=device.copy_gbps if device else None)
            made = session(*entries, device=device, **parts)
            yield plan.Plan(made, run, device is not None, ended=ended)

        monkeypatch.setattr(running, "prepare", prepare)

    return use


def stored(results: Path) -> list[Path]:
    return sorted(results.rglob("*.parquet"))


def test_something_is_said_while_gpus_are_taken(
    harness: Command, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(GOOD)
    said, real, shown = list[str](), running.prepare, output.progress

    @contextlib.contextmanager
    def progress(title: str, *given: Any) -> Iterator[output.Progress]:
        said.append(title)
        with shown(title, *given) as bar:
            yield bar
        said.append("done")

    @contextlib.contextmanager
    def prepare(*given: Any) -> Iterator[plan.Plan]:
        assert said == ["starting, and taking GPUs"]
        with real(*given) as made:
            yield made

    monkeypatch.setattr(output, "progress", progress)
    monkeypatch.setattr(running, "prepare", prepare)
    assert harness("run", "--no-record").status == 0
    assert said == ["starting, and taking GPUs", "done", "starting", "done"]


def test_rows_summary_and_record(harness: Command, results: Path, planned: Any) -> None:
    planned(GOOD)
    answer = harness("run")
    assert answer.status == 0, answer.err
    assert "block  2 kernels, 4 launches, 2 library calls" in answer.out
    (row,) = (line for line in answer.out.splitlines() if line.startswith("poi_fused_add_0 ×2"))
    assert row.split()[2:] == [
        "4.0M",
        "32",
        "0",
        "1.0k",
        "300",
        "ok",
        "1e-07",
        "no",
        "GPU",
        "–",
        "–",
    ]
    assert (
        "1 graph, 2 kernels (2 distinct by code): 2 passed, 0 failed, 0 not checked" in answer.out
    )
    (path,) = stored(results)
    assert str(path) in answer.out
    kept = store.load(path)
    assert kept.complete
    assert [k.name for k in kept.graphs[0].kernels] == [A.name, B.name]
    assert kept.graphs[0].kernels[0].module == A.text
    assert not list(results.rglob("*.journal"))


def test_tables_fit_a_terminal(
    harness: Command, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = module("triton_per_fused_" + "native_layer_norm_" * 10 + "_17", "add")
    for columns in (60, 80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        planned(FakeEntry("block", compiled(long), compiled(A)), device=FakeDevice())
        lines = harness("run", "--no-record").out.splitlines()
        (row,) = (line for line in lines if line.startswith("per_fused"))
        # Where columns have no room, a name stands whole on a line of its own, to be copied.
        assert len(row) <= columns if columns > 60 else row == long.name.removeprefix("triton_")
        assert "_17" in row, "the end of a name tells kernels apart"


def test_json_is_as_documented_without_a_gpu(harness: Command, planned: Any) -> None:
    planned(GOOD)
    answer = harness("run", "--json")
    assert answer.status == 0
    document = answer.json()
    assert document["machine"]["key"] == "testgpu-1.2"
    assert document["copy_gbps"] is None
    (graph,) = document["graphs"]
    assert (graph["name"], graph["library_calls"]) == ("block", 2)
    first = graph["kernels"][0]
    expected = {
        "name": A.name,
        "kind": "poi",
        "bytes": 4_000_000,
        "registers": 32,
        "spills": 0,
        "shared": 1024,
        "instructions": 300,
        "check": "passed",
        "max_error": 1e-7,
        "ms": None,
        "gbps": None,
        "fraction": None,
    }
    assert {key: first[key] for key in expected} == expected


def test_with_a_device_times_are_printed_and_in_the_json(harness: Command, planned: Any) -> None:
    planned(GOOD, device=FakeDevice())
    row = next(line for line in harness("run").out.splitlines() if "add_0" in line)
    assert row.split()[-4:] == ["2000", "67", "%", "copy"]
    planned(GOOD, device=FakeDevice())
    document = harness("run", "--json").json()
    assert document["copy_gbps"] == 3000.0
    assert document["graphs"][0]["kernels"][0]["ms"] == 0.002
    assert document["graphs"][0]["kernels"][0]["fraction"] == pytest.approx(2 / 3)


def test_a_failed_check_is_a_row_with_its_reason_and_status_1(
    harness: Command, planned: Any
) -> None:
    planned(GOOD, check=lambda text: CheckResult(text != A.text, 0.5, 0.125))
    answer = harness("run", "--no-record")
    assert answer.status == 1
    assert "FAILED" in answer.out
    assert "check failed (interpreter, small sizes) error 0.5, allowed 0.125" in answer.out
    assert "1 passed, 1 failed" in answer.out


def test_a_failed_compile_is_a_row_with_its_reason_and_status_1(
    harness: Command, planned: Any
) -> None:
    planned(GOOD, static=lambda job: CompileFailed("too big") if job[0] == A.text else METRICS)
    answer = harness("run", "--no-record")
    assert answer.status == 1
    assert "did not compile or run: CompileFailed: too big" in answer.out


def test_a_graph_that_fails_does_not_stop_the_next(harness: Command, planned: Any) -> None:
    planned(FakeEntry("bad", UnsupportedOperator("no lowering")), GOOD)
    answer = harness("run", "--no-record")
    assert answer.status == 1
    assert "bad  FAILED" in answer.out
    assert "not compiled: bad" in answer.out
    assert "block  2 kernels" in answer.out


def test_no_record_keeps_nothing(harness: Command, results: Path, planned: Any) -> None:
    planned(GOOD)
    assert harness("run", "--no-record").status == 0
    assert not results.exists()


def test_ctrl_c_keeps_what_was_measured(harness: Command, results: Path, planned: Any) -> None:
    second = FakeEntry("second", compiled(B), compiled(B))

    def interrupt() -> None:
        raise KeyboardInterrupt

    second.compile = interrupt  # type: ignore[method-assign, assignment]
    lone = FakeEntry("empty", compiled())
    planned(lone, second)
    answer = harness("run")
    assert answer.status == 130
    (path,) = stored(results)
    assert f"interrupted; what had been measured is kept in {path}" in answer.err
    assert "Traceback" not in answer.err
    kept = store.load(path)
    assert not kept.complete
    assert [graph.name for graph in kept.graphs] == ["empty"]


def test_a_gpu_that_vanishes_keeps_what_was_measured(
    harness: Command, results: Path, planned: Any
) -> None:
    class Vanishing(FakeDevice):  # all kernels of a block are checked before one is timed
        def time(self, module: EmittedModule) -> Timing:
            if module.name == B.name:
                raise NoDevice("the GPU cannot be used", got="no device found")
            return super().time(module)

    def late(_: object) -> object:  # metrics come after the device has gone
        time.sleep(0.3)
        return METRICS

    graphs = FakeEntry("first", compiled(A)), FakeEntry("second", compiled(B))
    planned(*graphs, device=Vanishing(), static=late)
    answer = harness("run")
    assert answer.status == 1
    (path,) = stored(results)
    assert f"no device found; what had been measured is kept in {path}" in answer.err
    assert "Traceback" not in answer.err
    kept = store.load(path)
    assert not kept.complete
    assert [k.ms for graph in kept.graphs for k in graph.kernels] == pytest.approx(
        [0.002], rel=1e-5
    )


def test_a_killed_run_knows_what_its_gpu_can_do(
    harness: Command, results: Path, planned: Any
) -> None:
    """That is found when the GPU is taken, after the journal has begun."""
    known: list[float | None] = []

    class Late(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            if module.name == B.name:
                known.extend(journal.read(path).copy_gbps for path in results.rglob("*.journal"))
            return super().time(module)

    ended = functools.partial(dataclasses.replace, copy_gbps=4000.0)
    graphs = FakeEntry("first", compiled(A)), FakeEntry("second", compiled(B))
    planned(*graphs, device=Late(), ended=ended)
    assert harness("run").status == 0
    assert known == [4000.0]


def test_a_gpu_that_cannot_be_taken_is_an_error(
    harness: Command, results: Path, planned: Any
) -> None:
    class Full(FakeDevice):
        def missing(self, *_: object) -> list[str]:
            raise NoDevice("the GPU has too little free memory", remedy="end what runs on it")

    planned(FakeEntry("first", compiled(A)), device=Full())
    answer = harness("run")
    assert answer.status == 1
    assert answer.err.startswith("error: the GPU has too little free memory\n")
    assert "what to do: end what runs on it" in answer.err
    assert not stored(results)


def test_a_results_folder_that_cannot_be_written(
    harness: Command, results: Path, planned: Any
) -> None:
    results.write_text("a file")
    planned(GOOD)
    answer = harness("run")
    assert answer.status == 1
    assert "a run cannot be recorded" in answer.err
    assert "--no-record" in answer.err
    assert "Traceback" not in answer.err


def test_a_disk_that_fills_up_says_where_the_journal_is(
    harness: Command, results: Path, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    planned(GOOD)
    monkeypatch.setattr(store, "publish", full)
    answer = harness("run")
    assert answer.status == 1
    (journal,) = results.rglob("*.journal")
    assert str(journal) in answer.err
    assert len(answer.err.splitlines()) == 1
    assert "1 graph, 2 kernels" in answer.out, "the run itself went on"
    monkeypatch.undo()
    monkeypatch.setenv("HARNESS_RESULTS", str(results))
    answer = harness("list", "--runs")
    assert "an interrupted run is now recorded" in answer.err
    (path,) = stored(results)
    assert len(store.load(path).graphs[0].kernels) == 2


def test_a_gpu_that_is_demanded_and_absent_is_one_sentence(
    harness: Command, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    answer = harness("run", "channels_last_forward", "--timing")
    assert answer.status == 1
    assert answer.err.startswith("error: a GPU is needed and none can be used\n")
    assert "what to do:" in answer.err
    assert not answer.out
    assert not results.exists()


def test_a_gpu_of_another_kind_than_the_target_cannot_time_it(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is not taken")

    seen = DeviceFacts(A100, Machine("here"), "fake/1")
    monkeypatch.setattr("harness.runtime.device.require", lambda: None)
    monkeypatch.setattr("harness.session.plan.seen", lambda: seen)
    monkeypatch.setattr("harness.session.cuda.CudaDevice", never)
    answer = harness("run", "channels_last_forward", "--timing", "--target", "h100")
    assert answer.status == 1
    assert "got: sm_80" in answer.err
    assert "expected: sm_90, as --target h100 says" in answer.err


def test_error_as_json(harness: Command) -> None:
    answer = harness("run", "no_such_graph", "--json", "--no-record")
    assert answer.status == 2
    assert json.loads(answer.out)["error"]["condition"] == "UnknownName"


def test_other_compilers_are_rows_with_ratio_interval_check_and_mean(
    harness: Command, planned: Any, results: Path
) -> None:
    full = dataclasses.replace(GOOD.full, regions=(Comparable("block.r0", "text", count=2),))
    planned(dataclasses.replace(GOOD, full=full), device=FakeDevice(), peers=FakePeers())
    answer = harness("run", "--against", "inductor,eager")
    assert answer.status == 0, answer.err
    lines = answer.out.splitlines()
    start = lines.index("block: other compilers") + 2
    interval = lines[start + 1].partition(" 2.000 ")[2].partition("ok")[0].strip()
    low, high = (float(x) for x in interval.strip("[]").split(", "))
    assert 1.2 < low < 2.0 < high < 3.0
    assert lines[start].split() == ["block.r0", "×2", "harness", "–", "0.0020", "ok", "2e-03"]
    assert lines[start + 1].split()[:3] == ["inductor", "0.0040", "2.000"]
    assert lines[start + 1].split()[3:5] == interval.split()
    assert lines[start + 2].split() == ["eager", "–", "–"]
    assert lines[start + 3] == "  eager: it crashed"
    mean = f"inductor over harness: 2.000 {interval}, geometric mean over 1 region"
    assert answer.out.count(mean) == 2, "of the graph, and of the run"
    assert "eager: no region to compare; left out: 1 × eager failed" in answer.out
    (path,) = stored(results)
    assert [r.compiler for r in store.load(path).graphs[0].regions] == [
        "harness",
        "inductor",
        "eager",
    ]
    document = harness("show", "--json").json()
    assert document["graphs"][0]["regions"][1]["ms"] == pytest.approx(0.004, rel=1e-5)
    assert "inductor over harness" in harness("show").out


def test_an_unknown_compiler_is_named_before_anything_is_measured(harness: Command) -> None:
    answer = harness("run", "--against", "inducter")
    assert answer.status == 2
    assert "there is no such compiler" in answer.err
    assert "inductor" in answer.err


def test_other_compilers_need_timing(harness: Command) -> None:
    answer = harness("run", "--against", "eager", "--no-timing")
    assert answer.status == 2
    assert "can only be compared by timing" in answer.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_other_compilers_need_a_gpu(harness: Command) -> None:
    answer = harness("run", "--against", "eager")
    assert answer.status == 1
    assert "a GPU is needed" in answer.err


def test_with_several_processes_a_graph_is_printed_once_with_its_final_times(
    harness: Command, results: Path, planned: Any
) -> None:
    other = FakeEntry("other", compiled(module("triton_poi_fused_mul_0", "mul")))
    planned(GOOD, other, device=RepeatableDevice(), processes=3)
    answer = harness("run")
    assert answer.status == 0, answer.err
    for name in ("poi_fused_add_0", "poi_fused_mul_0"):
        (row,) = (line for line in answer.out.splitlines() if name in line)
        assert "2.0000" in row  # the median of 0.002, 2 and 3 ms
    (path,) = stored(results)
    kernel = store.load(path).graphs[0].kernels[0]
    assert [s.process for s in kernel.sets] == [0, 1, 2]
    assert kernel.ms == 2.0


def test_ctrl_c_in_a_later_process_keeps_and_prints_the_first(
    harness: Command, results: Path, planned: Any
) -> None:
    planned(GOOD, device=RepeatableDevice(interrupted=True), processes=3)
    answer = harness("run")
    assert answer.status == 130
    assert sum("poi_fused_add_0" in line for line in answer.out.splitlines()) == 1
    kept = store.load(stored(results)[0])
    assert not kept.complete
    assert kept.graphs[0].kernels[0].ms == pytest.approx(0.002, rel=1e-5)


def test_a_kernel_that_fails_in_a_later_process_is_a_note(harness: Command, planned: Any) -> None:
    planned(GOOD, device=RepeatableDevice(broken=A.text), processes=3)
    answer = harness("run", "--no-record")
    assert answer.status == 0
    assert "process 2 of 3: it broke" in " ".join(answer.err.split())


def test_processes_and_the_limit_reach_the_plan(
    harness: Command, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(GOOD)
    use, asked = running.prepare, []
    monkeypatch.setattr(running, "prepare", lambda *given: asked.append(given[1]) or use(*given))
    assert harness("run", "--processes", "5", "--kernel-seconds", "9").status == 0
    assert harness("run", "--quick").status == 0
    given = [(r.processes, r.kernel_seconds, r.quick) for r in asked]
    assert given == [(5, 9.0, False), (3, 180.0, True)]
    for wrong in (("--processes", "0"), ("--kernel-seconds", "0"), ("--processes", "many")):
        assert harness("run", *wrong).status == 2


def test_the_summary_says_how_well_times_are_known_and_how_the_gpu_fared(
    harness: Command, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = StateSummary(40, 1755, 1980, 1980, 2619, 61, 412.5, {"power cap": 3})
    planned(GOOD, device=RepeatableDevice(), processes=2)
    use = running.prepare

    @contextlib.contextmanager
    def prepare(*given: object) -> Iterator[plan.Plan]:
        with use(*given) as made:
            run = dataclasses.replace(made.run, read_gbps=3300.0, fp32_tflops=51.0, processes=2)
            ended = functools.partial(dataclasses.replace, state=state)
            yield dataclasses.replace(made, run=run, ended=ended)

    monkeypatch.setattr(running, "prepare", prepare)
    out = " ".join(harness("run", "--no-record").out.split())
    assert "copies 3000 GB/s, reads 3300 GB/s" in out
    assert "fp32 51 Tflop/s" in out
    assert "timed in 2 processes" in out
    assert "sampling ended: 2 by width" in out
    assert "SM clock 1980 (1755 to 1980) MHz" in out
    assert "power cap in 3" in out
    document = harness("run", "--no-record", "--json").json()
    assert document["state"]["temperature_c"] == 61
    assert document["read_gbps"] == 3300.0


def test_what_is_odd_about_times_stands_below_the_row(harness: Command, planned: Any) -> None:
    class Odd(RepeatableDevice):
        def again(self, *given: Any) -> Any:
            timing = super().again(*given)
            odd = dataclasses.replace(timing.samples, drift="rising 1.2 %", method="stream/2")
            return dataclasses.replace(timing, samples=odd)

    planned(GOOD, device=Odd(), processes=2)
    out = harness("run", "--no-record").out
    line = "times in process 2: rising 1.2 %; method stream/2: not comparable with the others"
    assert out.count(line) == 2
    assert "times in process 1" not in out
