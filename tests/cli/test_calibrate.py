from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch

from harness.calibration import record as calibrations
from harness.calibration import run
from harness.records.modules import code_hash
from harness.runtime import device
from harness.target import H100
from tests.calibration import fake_worker
from tests.cli.conftest import Command
from tests.devices.standing_in import stand_in
from tests.measure.fakes import FakeEntry, compiled, module

KERNELS = [module(f"triton_poi_{n}", f"n{n}", text=f"# kernel {n}\n") for n in range(12)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A simulated GPU and a suite of twelve kernels; the cache folder, where it keeps a log."""
    entries = [FakeEntry("g", compiled(*KERNELS)), FakeEntry("again", compiled(KERNELS[0]))]
    monkeypatch.setattr(device, "require", lambda: torch.device("cpu"))
    monkeypatch.setattr(device, "current_target", lambda: H100)
    # What imports the name has to have done so before, or it keeps the replacement for good.
    importlib.import_module("harness.session.plan")
    monkeypatch.setattr("harness.cli.calibrate.find_entries", lambda *_: entries)
    monkeypatch.setattr(run, "CompilePool", MagicMock())
    stand_in(monkeypatch, fake_worker.HANDLERS)
    return tmp_path / "cache"


def kept(results: Path) -> list[Path]:
    return sorted(results.rglob("calibration-*"))


def test_a_calibration_is_reported_and_kept(harness: Command, machine: Path, results: Path) -> None:
    answer = harness("calibrate", "--processes", "4")
    assert answer.status == 0, answer.err
    assert "Fake GPU, fake/1, 4 processes, 12 distinct kernels" in answer.out
    assert "interleaved: 0 of 12 unchanged kernels called SLOWER or FASTER" in answer.out
    assert "two runs: 0 of 12" in answer.out
    (line, *_) = (x for x in answer.out.splitlines() if x.startswith("over 20 µs"))
    assert line.split()[-1] == "–", "10 % is not injected into long kernels"
    assert "100% found" in line
    assert "minimum detectable effect, with 95 % probability" in answer.out
    (path,) = kept(results)
    assert path.suffix == ".json"
    found = calibrations.load(path)
    assert found.complete
    assert len(found.kernels) == 12, "the kernel of two graphs is measured once"
    log = (machine / "log").read_text().splitlines()
    assert sum(entry == "duration" for entry in log) == 12, "once, in the first process"
    assert sum(entry.startswith("cell") for entry in log) == 48
    assert calibrations.newest(results, "fake-gpu", "fake/1") == found
    assert calibrations.newest(results, "fake-gpu", "other/1") is None
    assert calibrations.newest(results, "elsewhere", "fake/1") is None


def test_the_newest_is_shown_again(harness: Command, machine: Path) -> None:
    assert "no machine has been calibrated" in harness("calibrate", "--show").err
    first = harness("calibrate", "--processes", "2")
    assert harness("calibrate", "--show").out == first.out


def test_json_is_the_record(harness: Command, machine: Path) -> None:
    document = harness("calibrate", "--processes", "2", "--json").json()
    assert document["modes"][0]["false_alarms"]["kernels"] == 12
    assert {"schema", "method", "injection", "machine", "kernels", "noise", "file"} <= set(document)


def test_a_gpu_that_vanishes_loses_nothing_and_it_can_go_on(
    harness: Command, machine: Path, results: Path
) -> None:
    machine.mkdir(exist_ok=True)
    whole = harness("calibrate", "--processes", "2", "--kernel", "poi_1")
    assert whole.status == 0
    for path in kept(results):
        path.unlink()
    (machine / "log").unlink()
    (machine / "stop").touch()
    answer = harness("calibrate", "--processes", "3")
    assert answer.status == 1
    assert "go on with --resume" in answer.out
    assert {path.suffix for path in kept(results)} == {".json", ".jsonl"}
    for name in ("stop", "gone", "log"):
        (machine / name).unlink()
    answer = harness("calibrate", "--processes", "3", "--resume")
    assert answer.status == 0, answer.err
    (path,) = kept(results)
    assert calibrations.load(path).complete
    log = (machine / "log").read_text().splitlines()
    assert sum(entry.startswith("cell") for entry in log) == 36
    assert sum(entry == "duration" for entry in log) == 12, "none was known"


def test_ctrl_c_keeps_what_was_measured(
    harness: Command, machine: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = run.CellJob

    asked: list[object] = []

    def interrupted(*given: Any) -> Any:
        asked.append(given)
        if len(asked) > 18:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(run, "CellJob", interrupted)
    answer = harness("calibrate", "--processes", "2")
    assert answer.status == 130
    assert "go on: the same with --resume" in answer.err
    assert "not complete" in answer.out
    monkeypatch.setattr(run, "CellJob", real)
    answer = harness("calibrate", "--processes", "2", "--resume")
    assert answer.status == 0
    (path,) = kept(results)
    assert len(calibrations.load(path).kernels) == 12


def test_a_kernel_that_fails_is_left_out_with_its_reason(
    harness: Command, machine: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = [module("crashing", "x", text="# crashes"), module("failing", "y", text="# fails")]
    entries = [FakeEntry("g", compiled(*KERNELS, *bad))]
    monkeypatch.setattr("harness.cli.calibrate.find_entries", lambda *_: entries)
    answer = harness("calibrate", "--processes", "3")
    assert answer.status == 1
    assert "left out: g: crashing" in answer.out
    assert "out of memory" in answer.out
    (path,) = kept(results)
    found = calibrations.load(path)
    assert found.complete
    assert len(found.kernels) == 12
    log = (machine / "log").read_text()
    assert log.count(f"cell 1 {code_hash('# fails')}") == 0, "not tried again"


def test_time_can_be_limited(harness: Command, machine: Path, results: Path) -> None:
    answer = harness("calibrate", "--processes", "50", "--seconds", "1")
    assert answer.status == 0
    assert "not complete" in answer.out


def test_there_may_be_nothing_to_resume_or_measure(harness: Command, machine: Path) -> None:
    answer = harness("calibrate", "--resume")
    assert answer.status == 2
    assert "no interrupted calibration" in answer.err
    answer = harness("calibrate", "--kernels", "nothing_like_it")
    assert answer.status == 2
    assert "no kernel to calibrate with" in answer.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_needs_a_gpu(harness: Command) -> None:
    answer = harness("calibrate")
    assert answer.status == 1
    assert "a GPU is needed" in answer.err


def test_runs_say_what_a_calibrated_machine_can_detect(
    harness: Command, machine: Path, results: Path, tmp_path: Path
) -> None:
    from harness.cli.run import detecting
    from harness.history import store
    from harness.records.run import GraphRecord, KernelRecord
    from harness.records.timing import Samples
    from harness.report.kernels import graph_blocks
    from harness.session.model import GraphDone, KernelDone
    from harness.table import plain, text_lines
    from tests.history.examples import run as example
    from tests.history.test_between import runs

    assert harness("calibrate", "--processes", "6").status == 0
    made = example(method="fake/1")
    made = dataclasses.replace(made, machine=dataclasses.replace(made.machine, key="fake-gpu"))
    sets = tuple(Samples(process=n, ms=(0.03,) * 9) for n in range(3))
    fast = KernelRecord("k", "poi", 4_000_000, ms=0.03, gbps=1.0, fraction=0.5, sets=sets)
    untimed = KernelRecord("u", "poi", 4_000_000)

    def events() -> Any:
        yield KernelDone("g", fast)
        yield GraphDone(GraphRecord("g", kernels=(fast, untimed)))

    one, graph = detecting(events(), results, made)
    assert isinstance(one, KernelDone)
    assert isinstance(graph, GraphDone)
    assert one.kernel.detectable is not None
    assert 0.002 < one.kernel.detectable < 0.1
    assert [k.detectable for k in graph.record.kernels] == [one.kernel.detectable, None]
    lines = plain(text_lines(graph_blocks([graph.record], timed=True), 120))
    assert lines[2].endswith("mde")
    assert lines[3].endswith(f"{one.kernel.detectable:.1%}")
    rough = dataclasses.replace(fast, detectable=4.2)
    lines = plain(text_lines(graph_blocks([GraphRecord("g", kernels=(rough,))], timed=True), 120))
    assert lines[3].endswith(" > 100%")
    for each in runs(tmp_path / "elsewhere", 2, boards=2):
        machine = dataclasses.replace(each.machine, key="fake-gpu", triton=made.machine.triton)
        store.save(results, dataclasses.replace(each, machine=machine, method="fake/1"))
    apart, _ = detecting(events(), results, made)
    assert isinstance(apart, KernelDone)
    assert apart.kernel.detectable is not None
    assert 0.015 < apart.kernel.detectable < 0.04, "each moved by 0.4 % between two boards"
    assert apart.kernel.detectable > 1.2 * one.kernel.detectable
    other = dataclasses.replace(made, method="fake/2")
    same, _ = detecting(events(), results, other)
    assert isinstance(same, KernelDone)
    assert same.kernel.detectable is None, "another method of measuring"


def test_a_file_of_a_newer_harness_is_said_so(tmp_path: Path) -> None:
    from harness.errors import RecordError

    path = tmp_path / "m" / "calibration-1.json"
    path.parent.mkdir()
    path.write_text('{"schema": 99}')
    with pytest.raises(RecordError, match="newer harness"):
        calibrations.load(path)
    path.write_text('{"schema": 1, "id"')
    with pytest.raises(RecordError, match="cannot be read"):
        calibrations.load(path)
    assert calibrations.newest(tmp_path, "m", "any") is None


def test_whole_measurements_are_repeated_and_held_against_each_other(
    harness: Command, machine: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("harness.calibration.sessions._FEWEST", 8)
    ids = iter(f"2026010{n}-000000" for n in range(1, 9))
    header = run.header
    monkeypatch.setattr(
        run, "header", lambda *args: dataclasses.replace(header(*args), id=next(ids))
    )
    chosen = []
    choose = run.candidates
    monkeypatch.setattr(run, "candidates", lambda *a, **b: chosen.append(1) or choose(*a, **b))
    answer = harness("calibrate", "--sessions", "3", "--every", "2", "--processes", "3")
    assert answer.status == 0, answer.err
    assert len(chosen) == 1, "graphs are compiled once, not once a session"
    assert len(kept(results)) == 3
    found = calibrations.load(kept(results)[0])
    assert found.complete
    assert not any(mode.power for mode in found.modes), "nothing is slowed down"
    assert calibrations.newest(results, "fake-gpu", "fake/1") is None, "it says nothing of power"
    assert len([s for s in slept if s > 7000]) == 2
    said = " ".join(answer.out.split())
    assert "3 whole measurements on 1 boards" in said
    assert "0 of 20 tables hold a false SLOWER or FASTER" in said
    refused = harness("calibrate", "nosuch", "--sessions", "0")
    assert refused.status == 2, "names would choose nothing there, unread"
    assert "--sessions 0 judges all that is recorded" in refused.err
    document = harness("calibrate", "--sessions", "0", "--json").json()
    assert sum(one["tables"]["kernels"] for one in document["between"]) == 20


def test_an_interrupted_wait_for_the_next_session_loses_no_verdict(
    harness: Command, machine: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(seconds: float) -> None:
        if seconds > 7000:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    answer = harness("calibrate", "--sessions", "3", "--every", "2", "--processes", "2")
    assert answer.status == 130
    assert "0 whole measurements" in answer.out
    assert len(kept(results)) == 1
