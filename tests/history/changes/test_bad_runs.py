"""Bad runs, repeated runs, and series that are not of our kernels."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.history import index, store
from harness.history.changes.changepoints import detect
from harness.history.changes.series import arrange, series_of
from harness.records.metrics import named
from harness.records.run import Check, GraphRecord, KernelRecord, RegionRecord
from tests.history.changes.test_changes import KERNELS, flat, report
from tests.history.examples import KERNEL, MACHINE, run
from tests.history.histories import COMMITS, save_history

pytestmark = pytest.mark.usefixtures("quick_writes")


@pytest.mark.parametrize("place", [5, 12])
def test_a_bad_run_is_one_event_and_no_regression(
    tmp_path: Path, commits: tuple[Path, list[str]], place: int
) -> None:
    folder, names = commits
    values = flat()
    values[:6, place] *= 1.4
    save_history(tmp_path, names, values)
    found = report(tmp_path, folder)
    assert found.changes == ()
    (note,) = [note for note in found.notes if "bad run" in note]
    assert names[place][:10] in note
    assert "7 of 9 series were slower" in note  # six kernels and the graph
    assert f"git switch --detach {names[place][:10]} && harness run" in note


def test_the_newest_run_is_suspected_and_never_left_out(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """It may be what its commit did to most kernels."""
    folder, names = commits
    values = flat()
    values[:6, -1] *= 1.4

    def edited(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return kernel if point < COMMITS - 1 else dataclasses.replace(kernel, config={"XBLOCK": 2})

    save_history(tmp_path, names, values, edit=edited)
    found = report(tmp_path, folder)
    assert len(found.suspected) == 7  # six kernels and the graph
    assert found.regressions == ()
    (note,) = [note for note in found.notes if "newest run" in note]
    assert "7 of 9 series were slower than before" in note
    assert f"git switch --detach {names[-1][:10]} && harness run" in note
    assert not [note for note in found.notes if "left out" in note]


def test_what_most_kernels_of_the_newest_run_share_is_not_taken_out_of_the_others(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """The two that did not move would look faster."""
    folder, names = commits
    values = flat()
    values[:6, -1] *= 1.4
    save_history(tmp_path, names, values)
    found = report(tmp_path, folder)
    moved = {change.series.kernel: change.worse for change in found.changes}
    assert moved == dict.fromkeys(("k0", "k1", "k2", "k3", "k4", "k5", ""), True)


def test_the_oldest_run_is_never_called_bad(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """The commit after it may have made most kernels do other work."""
    folder, names = commits
    values = flat()
    values[:6, 0] *= 1.4
    save_history(tmp_path, names, values)
    found = report(tmp_path, folder)
    assert found.changes == ()
    (note,) = found.notes
    assert note.startswith(f"the oldest run, at {names[0][:10]}")
    assert "which one run cannot tell" in note


def other_work(results: Path, names: list[str], since: int) -> None:
    """A kernel that moves half of the bytes from a commit on, in two thirds of the time."""
    for point, commit in enumerate(names):
        few = point >= since
        noise = 1 + 0.001 * ((7 * point) % 5 - 2)
        ms, moved = noise * (0.02 if few else 0.03), 1000 if few else 2000
        gbps = moved / (1e6 * ms)
        launches = 7 if few else 10
        made = dataclasses.replace(KERNEL, ms=ms, bytes=moved, gbps=gbps, launches=launches)
        store.save(
            results,
            run(
                f"20260101-{point:06d}-{commit[:12]}",
                commit=commit,
                dirty=False,
                state=None,
                graphs=(GraphRecord("block", kernels=(made,)),),
            ),
        )


def test_other_work_is_told_by_its_time_and_not_by_its_rate(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    other_work(tmp_path, commits[1], 12)
    rates = report(tmp_path, commits[0], "gbps")
    assert rates.changes == ()
    times = report(tmp_path, commits[0], "ms")
    assert {change.worse for change in times.changes} == {False}
    (whole,) = [change for change in times.changes if not change.series.kernel]
    assert whole.commit == commits[1][12]
    assert "launches 10 → 7" in whole.causes
    (kernel,) = [change for change in times.changes if change.series.kernel]
    assert "bytes 2,000 → 1,000" in kernel.causes


def test_a_few_outlying_kernels_are_no_bad_run(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    values = flat()
    values[:3, 12] *= 1.4
    save_history(tmp_path, commits[1], values)
    found = report(tmp_path, commits[0])
    assert found.notes == ()
    assert found.points == (KERNELS + 1) * COMMITS


def test_of_three_runs_of_a_commit_the_middle_one_counts(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    for factor in (1.0, 1.02, 3.0):
        save_history(tmp_path, names[:1], factor * flat()[:, :1])
    known = arrange(index.refresh(tmp_path), folder)
    (series,) = [s for s in series_of(known, named("ms")) if s.kernel == "k3"]
    assert np.exp(series.values[0]) == pytest.approx(1.02 * flat()[3, 0], rel=1e-5), (
        "as far as a file keeps it"
    )


def with_peers(
    results: Path, names: list[str], times: np.ndarray, versions: dict[int, str]
) -> None:
    """Runs in which Inductor was timed on a region, with a version of torch from a point on."""
    torch = MACHINE.torch
    for point, commit in enumerate(names):
        torch = versions.get(point, torch)
        regions = tuple(
            RegionRecord("block.r0", compiler, float(ms), check=Check.PASSED, reason=reason)
            for compiler, ms, reason in (
                ("inductor", times[point], ""),
                ("eager", 3 * times[point], "not the same region"),
                ("harness", 0.01 * (point + 1), ""),
            )
        )
        kernel = dataclasses.replace(KERNEL, ms=0.02 * 1.001**point)
        store.save(
            results,
            run(
                f"20260101-{point:06d}-{commit[:12]}",
                commit=commit,
                dirty=False,
                state=None,
                machine=dataclasses.replace(MACHINE, torch=torch),
                graphs=(GraphRecord("block", kernels=(kernel,), regions=regions),),
            ),
        )


def test_what_another_compiler_does_is_seen_and_is_no_regression_of_ours(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    times = 0.02 * np.exp(0.01 * np.random.default_rng(5).normal(size=COMMITS))
    times[18:] *= 1.2
    with_peers(tmp_path, names, times, {18: "2.14.0"})
    found = report(tmp_path, folder, "peers")
    (change,) = found.changes
    assert (change.series.graph, change.series.kernel) == ("block", "block.r0/inductor")
    assert change.commit == names[18]
    assert change.worse
    assert change.confirmed
    assert change.causes == ("torch 2.13.0 → 2.14.0",)
    assert found.regressions == found.suspected == ()
    assert found.judged == 1  # eager's figure has a reason, ours is judged by its kernels


def test_several_noisy_metrics_share_the_chance_of_an_alarm(
    tmp_path: Path, commits: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(*arguments: Any, **more: Any) -> Any:
        seen.append(arguments[2].family)
        return detect(*arguments, **more)

    monkeypatch.setattr("harness.history.changes.changes.detect", noted)
    save_history(tmp_path, commits[1][:8], flat()[:, :8])
    report(tmp_path, commits[0], "ms", "gbps", "registers")
    assert seen == [0.025, 0.025]
