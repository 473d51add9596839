"""Hooks of the pipeline: every stage is told, verified, timed and written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import hooks
from harness.errors import InvalidProgram, RecordError
from harness.graph.lowering import lower
from harness.hooks import StageFiles, StageTimes, Step, as_scheduled, verified
from harness.ir.program import Program
from harness.pipeline import STAGES, compile_graph
from harness.target import H100
from tests.test_pipeline import train_graph


def test_hooks_see_every_stage_with_its_place() -> None:
    steps: list[Step] = []
    compiled = compile_graph(train_graph(64, 48), H100, hooks=(steps.append,))
    assert [s.stage for s in steps][:4] == ["partition", "split", "lower", "schedule"]
    assert {s.stage for s in steps} == set(STAGES)
    kernels = [s.where for s in steps if s.stage == "emit"]
    launches = [(r.region.name, x.group.name) for r in compiled.regions for x in r.launches]
    assert kernels == [f"{region}/{group}" for region, group in launches]


def test_times_are_those_of_the_compilation() -> None:
    times = StageTimes()
    compiled = compile_graph(train_graph(64, 48), H100, hooks=(times,))
    assert times.seconds == dict(compiled.seconds)
    assert times.runs["partition"] == 1
    assert times.runs["emit"] == len(compiled.kernels)


def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowering forgets the last loop nest: an output is never written."""

    def forgetful(graph: Any) -> Program:
        from dataclasses import replace

        made = lower(graph)
        return replace(made, nests=made.nests[:-1])

    monkeypatch.setattr("harness.pipeline.lower", forgetful)


def test_every_test_verifies_every_program(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    failures = compile_graph(train_graph(64, 48), H100).failures
    assert {f.stage for f in failures} == {"lower"}
    assert all(isinstance(f.error, InvalidProgram) for f in failures)
    monkeypatch.setenv("HARNESS_VERIFY", "0")
    unverified = compile_graph(train_graph(64, 48), H100).failures
    assert not any("never written" in f.error.what for f in unverified)


def test_a_schedule_that_loses_a_nest_is_found() -> None:
    steps: list[Step] = []
    compile_graph(train_graph(64, 48), H100, hooks=(steps.append,))
    (step, *_) = [s for s in steps if s.stage == "schedule"]
    verified(step)
    from dataclasses import replace

    assert isinstance(step.made, hooks.Schedule)
    lost = replace(step.made, groups=step.made.groups[:-1])
    assert len(as_scheduled(lost).nests) < len(step.made.program.nests)
    with pytest.raises(InvalidProgram):
        verified(replace(step, made=lost))


def test_a_file_for_every_stage(tmp_path: Path) -> None:
    graph = train_graph(64, 48)
    compiled = compile_graph(graph, H100, hooks=(StageFiles(tmp_path),))
    assert "call aten.mm.default for product" in (tmp_path / "0-partition.txt").read_text()
    region = compiled.regions[0]
    folder = tmp_path / region.region.name
    assert (folder / "1-split.py").read_text().startswith("# harness graph")
    assert "reduce.sum" in (folder / "2-lower.txt").read_text()
    assert "kernels, peak memory" in (folder / "3-schedule.txt").read_text()
    launch = region.launches[0]
    plan = (folder / launch.group.name / "4-plan.txt").read_text()
    assert "tile x of 64 points" in plan and "argument in_ptr0: f32 x" in plan
    assert (folder / launch.group.name / "5-render.py").read_text() == launch.kernel.source.text
    assert (folder / launch.group.name / "6-emit.py").read_text() == launch.kernel.module.text


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("")
    graph = train_graph(64, 48)
    with pytest.raises(RecordError, match="could not be written"):
        compile_graph(graph, H100, hooks=(StageFiles(file),))
    region = compile_graph(graph, H100).regions[0].region.name
    (tmp_path / region).write_text("")  # what of a region cannot be written is no failure of it
    with pytest.raises(RecordError, match="could not be written"):
        compile_graph(graph, H100, hooks=(StageFiles(tmp_path),))
