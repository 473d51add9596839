"""What is reported of a history whose truth is known."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.history import index
from harness.history.changes.changes import Report, find
from harness.history.changes.fitting import Settings
from harness.history.changes.series import arrange
from harness.history.changes.waivers import Waiver
from harness.history.commits import order
from harness.records.metrics import named
from harness.records.run import KernelRecord, StateSummary
from harness.records.timing import Samples
from tests.history.examples import KERNEL, MACHINE
from tests.history.histories import COMMITS, git, noise, repository, save_history

pytestmark = pytest.mark.usefixtures("quick_writes")

KERNELS = 8


def flat(seed: int = 1) -> np.ndarray:
    return 0.02 * np.exp(0.01 * noise(np.random.default_rng(seed), KERNELS, COMMITS, 0.0))


def report(
    results: Path,
    repository: Path,
    *metrics: str,
    waived: tuple[Waiver, ...] = (),
    by_time: bool = False,
) -> Report:
    known = arrange(index.refresh(results), repository, by_time=by_time)
    chosen = [named(name) for name in metrics or ("ms",)]
    return find(known, chosen, Settings(), waived)


def wider(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
    """Kernel 3 gets other code from commit 20 on."""
    if row != 3 or point < 20:
        return kernel
    return dataclasses.replace(
        kernel,
        metrics={**kernel.metrics, "registers": 64},
        config={"XBLOCK": 2, "num_warps": 8},
        module=kernel.module.replace("pass", "return", 1),
    )


def test_a_flat_history_has_no_changes(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    save_history(tmp_path, commits[1], flat())
    found = report(tmp_path, commits[0])
    assert found.regressions == ()
    assert found.judged == KERNELS + 1  # the kernels and the graph as a whole


def test_a_regression_with_its_place_size_and_cause(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.08
    save_history(tmp_path, names, values, edit=wider)
    (change,) = [c for c in report(tmp_path, folder).regressions if c.series.kernel]
    assert (change.series.graph, change.series.kernel) == ("block", "k3")
    assert (change.before, change.commit) == (names[19], names[20])
    assert names.index(change.lowest) < 20 <= names.index(change.highest)
    assert change.low is not None
    assert change.high is not None
    assert change.low < 0.08 < change.high
    assert set(change.causes) == {"code", "XBLOCK 1 → 2", "registers 32 → 64"}


def test_a_kernel_that_gets_another_name_stays_in_its_series(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """A kernel before it is split, or something else comes to share it: its name changes."""
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.2

    def rename(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        if row != 3 or point < 20:
            return kernel
        return dataclasses.replace(kernel, name="triton_poi_fused_add_k3_7")

    save_history(tmp_path, names, values, edit=rename)
    found = report(tmp_path, folder)
    (change,) = [c for c in found.regressions if c.series.kernel]
    assert (change.series.kernel, change.name) == ("k3", "triton_poi_fused_add_k3_7")
    assert "poi_k3 → poi_fused_add_k3" in change.causes
    assert found.judged == KERNELS + 1
    known = waiver(last=names[20], series="block/*fused_add*")
    found = report(tmp_path, folder, waived=(known,))
    assert [c for c in found.regressions if c.series.kernel] == []


def test_a_loss_of_bandwidth_is_a_regression(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[2, 15:] *= 1.2

    def bandwidth(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        assert kernel.ms is not None
        return dataclasses.replace(kernel, gbps=1.0 / kernel.ms)

    save_history(tmp_path, names, values, edit=bandwidth)
    change, whole = report(tmp_path, folder, "gbps").regressions
    assert (change.series.kernel, whole.series.kernel) == ("k2", "")
    kernel = wider(KERNEL, 0, 0)
    moved = KERNELS * kernel.bytes * kernel.launches
    taken = kernel.launches * values[:, 20:].sum(axis=0).mean()
    assert whole.new == pytest.approx(moved / taken / 1e6, rel=0.02)
    assert change.size == pytest.approx(-0.167, abs=0.02)
    assert change.causes == ("code",)


def test_days_come_from_the_runs(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    """Each kernel moves on its own by the day: steps between days, if days are not known."""
    rng = np.random.default_rng(3)
    days = rng.normal(0, 0.02, (KERNELS, COMMITS))[:, np.arange(COMMITS) // 5]
    values = 0.02 * np.exp(days + 0.002 * rng.normal(size=(KERNELS, COMMITS)))
    save_history(tmp_path / "days", commits[1], values, a_day=5)
    assert report(tmp_path / "days", commits[0]).regressions == ()
    save_history(tmp_path / "unknown", commits[1], values, a_day=1)
    assert report(tmp_path / "unknown", commits[0]).regressions


def test_an_improvement_is_no_regression(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    values = flat()
    values[4, 12:] *= 0.9
    save_history(tmp_path, commits[1], values)
    found = report(tmp_path, commits[0])
    assert found.regressions == ()
    (change,) = [c for c in found.changes if c.series.kernel == "k4"]
    assert not change.worse


def test_a_regression_that_was_undone_needs_nobody(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[5, 10:20] *= 1.15
    save_history(tmp_path, names, values)
    found = report(tmp_path, folder)
    assert found.regressions == ()
    (worse,) = [c for c in found.changes if c.worse and c.series.kernel == "k5"]
    assert worse.recovered == names[20]


def test_static_figures_are_exact(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    folder, names = commits
    save_history(tmp_path, names, flat(), edit=wider)
    (change,) = report(tmp_path, folder, "registers", "spills").regressions
    assert (change.old, change.new, change.p) == (32, 64, 0)
    assert change.commit == names[20]
    assert change.series.metric.name == "registers"


def test_spills_that_begin_at_nothing_and_end_again(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits

    def spill(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        spills = 16 if row == 1 and 5 <= point < 9 else 0
        return dataclasses.replace(kernel, metrics={**kernel.metrics, "spills": spills})

    save_history(tmp_path, names, flat(), edit=spill)
    found = report(tmp_path, folder, "spills")
    assert found.regressions == ()
    begun, ended = sorted(found.changes, key=lambda c: not c.worse)
    assert begun.size is None
    assert begun.recovered == ended.commit == names[9]


def test_another_machine_driver_or_method_breaks_a_series(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """Half the time on a new driver is no improvement, and twice the time no regression."""
    folder, names = commits
    values = flat()
    values[:, 15:] *= 2
    newer = dataclasses.replace(MACHINE, key="testgpu-1.3", driver="1.3")
    save_history(tmp_path, names, values, machines={15: newer})
    found = report(tmp_path, folder)
    assert found.changes == ()
    (gap,) = found.breaks
    assert gap.commit == names[15]
    assert gap.earlier.differences(gap.later) == ["machine testgpu-1.2 → testgpu-1.3"]
    assert gap.series == KERNELS + 1


def test_a_method_of_measuring_that_changed(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    save_history(tmp_path, names[:15], values[:, :15])
    save_history(tmp_path, names[15:], 1.5 * values[:, 15:], method="2", created="2027")
    found = report(tmp_path, folder)
    assert found.changes == ()
    assert [gap.earlier.differences(gap.later) for gap in found.breaks] == [["method 1 → 2"]]


def test_two_machines_side_by_side_are_no_break(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    other = dataclasses.replace(MACHINE, key="othergpu-9", gpu="Other")
    save_history(tmp_path, names, flat())
    save_history(tmp_path, names, 3 * flat(2), machines={0: other})
    found = report(tmp_path, folder)
    assert found.breaks == ()
    assert found.changes == ()
    assert found.judged == 2 * (KERNELS + 1)


def test_runs_under_throttling_are_left_out_with_a_count(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[:, 20:24] *= 1.5
    cool, hot = StateSummary(100, throttled={}), StateSummary(100, throttled={"thermal": 80})
    for place in range(COMMITS):
        state = hot if 20 <= place < 24 else cool
        save_history(
            tmp_path,
            names[place : place + 1],
            values[:, place : place + 1],
            state=state,
            id=f"2026{place:04d}",
        )
    found = report(tmp_path, folder)
    assert found.changes == ()
    assert found.left_out == {"runs in which the GPU was throttling": 4}


@pytest.mark.parametrize(
    "spoilt", [{"excluded": 9}, {"stopped": "throttled"}, {"stopped": "disturbed"}]
)
def test_figures_whose_samples_were_thrown_away_are_left_out(
    tmp_path: Path, commits: tuple[Path, list[str]], spoilt: dict[str, Any]
) -> None:
    folder, names = commits
    values = flat()
    values[1, 20:] *= 1.5

    def dropped(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        if row != 1 or point < 20:
            return kernel
        assert kernel.ms is not None
        return dataclasses.replace(kernel, sets=(Samples((kernel.ms,), **spoilt),))

    save_history(tmp_path, names, values, edit=dropped)
    found = report(tmp_path, folder)
    assert [c for c in found.changes if c.confirmed and c.worse] == []
    assert found.left_out["figures taken while the GPU was throttling"] == 10


def test_a_tree_with_changes_is_not_its_commit(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    save_history(tmp_path, names, flat())
    save_history(tmp_path, names[-3:], 2 * flat()[:, -3:], dirty=True)
    found = report(tmp_path, folder)
    assert found.changes == ()
    assert found.left_out == {"runs of a tree with uncommitted changes": 3}


def test_runs_of_one_commit_are_one_point(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    folder, names = commits
    save_history(tmp_path, names, flat(1))
    save_history(tmp_path, names, flat(2))
    found = report(tmp_path, folder)
    assert found.points == (KERNELS + 1) * COMMITS


def waiver(**changes: object) -> Waiver:
    line = Waiver(3, "", "", "ms", "block/k3", "meant")
    return dataclasses.replace(line, **changes)  # type: ignore[arg-type]


def test_a_waived_change_is_no_regression(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.3
    save_history(tmp_path, names, values)
    for known in (
        waiver(last=names[20][:9]),
        waiver(first=names[18], last=names[22], metric="*", series="*/k3"),
    ):
        found = report(tmp_path, folder, waived=(known,))
        assert [c.series.kernel for c in found.regressions if c.series.kernel] == []
        assert [c.waived for c in found.changes if c.series.kernel == "k3"] == [known]
        assert found.stale == ()
    for other in (
        waiver(last=names[10]),
        waiver(last=names[20], series="block/k4"),
        waiver(first=names[20], last=names[25]),
        waiver(last=names[20], metric="registers"),
    ):
        found = report(tmp_path, folder, waived=(other,))
        assert [c.series.kernel for c in found.regressions if c.series.kernel] == ["k3"]
        assert found.stale == ((other,) if other.metric == "ms" else ())


def test_a_commit_between_two_measured_ones_can_be_waived(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()[:, ::2]
    values[3, 10:] *= 1.3
    save_history(tmp_path, names[::2], values)
    known = waiver(last=names[19])  # the change is between 18 and 20
    found = report(tmp_path, folder, waived=(known,))
    assert [c.series.kernel for c in found.regressions if c.series.kernel] == []


def test_most_series_moving_at_once_point_at_the_machine(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    values = flat()
    values[:, 15:] *= 1.1
    save_history(tmp_path, commits[1], values)
    found = report(tmp_path, commits[0])
    assert any("the machine rather than the code" in note for note in found.notes)


def test_the_order_is_history_and_not_the_clock(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    """A backlog is measured newest first; the step must still be where it was committed."""
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.2
    save_history(tmp_path, names[::-1], values[:, ::-1])
    (change,) = [c for c in report(tmp_path, folder).changes if c.series.kernel == "k3"]
    assert change.worse
    assert change.commit == names[20]
    (turned,) = [
        c for c in report(tmp_path, folder, by_time=True).changes if c.series.kernel == "k3"
    ]
    assert not turned.worse


def test_without_a_history_the_time_orders_and_a_sentence_says_so(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    values = flat()
    values[3, 20:] *= 1.2
    save_history(tmp_path / "results", commits[1], values)
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    found = report(tmp_path / "results", nowhere)
    assert [c.series.kernel for c in found.regressions if c.series.kernel] == ["k3"]
    (note,) = found.notes
    assert "no history" in note
    assert "order of their time" in note


def test_a_clone_without_its_history(tmp_path: Path, commits: tuple[Path, list[str]]) -> None:
    folder, names = commits
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "3", f"file://{folder}", str(clone))
    save_history(tmp_path / "results", names, flat())
    found = report(tmp_path / "results", clone)
    (note,) = found.notes
    assert "clone lacks a part of its history" in note
    assert "git fetch --unshallow" in note
    assert found.judged == KERNELS + 1


def test_a_commit_that_git_does_not_know_is_placed_by_its_time_and_the_others_by_history(
    tmp_path: Path,
) -> None:
    """A backlog was measured newest first, and between two of its runs something foreign."""
    folder = tmp_path / "repository"
    names = repository(folder, 6)
    old, foreign = "a" * 40, "f" * 40
    measured = [old, names[1], names[0], names[3], foreign, names[2], names[5], names[4]]
    save_history(tmp_path / "results", measured, flat()[:, :8])
    known = arrange(index.refresh(tmp_path / "results"), folder)
    assert known.line == (old, *names[:4], foreign, *names[4:])
    assert known.commits == known.line and not known.left_out
    (note,) = known.notes
    assert "2 commits of the runs are unknown to git here (aaaaaaaaaa, ffffffffff)" in note
    assert note.endswith("placed by time among those that are known")


def test_a_known_commit_measured_by_a_wrong_clock_does_not_place_an_unknown_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "repository"
    names, foreign = repository(folder, 3), "f" * 40
    since = {names[0]: "2026-01-01", foreign: "2026-01-02", names[1]: "2026-01-03", names[2]: ""}
    assert order.order(since, folder).line == (names[0], foreign, *names[1:])


def test_a_branch_that_was_rewritten(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    names = repository(folder, 10)
    save_history(tmp_path / "results", names, flat()[:, :10])
    other = tmp_path / "other"
    repository(other, 4)
    (note,) = report(tmp_path / "results", other).notes
    assert "rewritten" in note
    git(folder, "checkout", "-q", "--orphan", "new")
    git(folder, "commit", "-q", "--allow-empty", "-m", "new")
    (note,) = report(tmp_path / "results", folder).notes
    assert note.startswith("10 commits of the runs are not on HEAD's first-parent line")
    assert "order of their time" in note


def test_commits_of_another_branch_are_left_out(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder = tmp_path / "repository"
    names = repository(folder, 10)
    git(folder, "checkout", "-q", "-b", "side", names[4])
    git(folder, "commit", "-q", "--allow-empty", "-m", "side")
    side = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "main")
    save_history(tmp_path / "results", [*names, side], flat()[:, :11])
    found = report(tmp_path / "results", folder)
    assert found.left_out == {"runs of commits off the first-parent line": 1}
    (note,) = found.notes
    assert side[:10] in note and note.endswith("left out (--order time takes all runs)")


def test_abbreviated_commits_are_recognised(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.2
    save_history(tmp_path, [name[:9] for name in names], values)
    found = report(tmp_path, folder)
    assert found.notes == ()
    assert names[20] in {c.commit for c in found.regressions}


def test_runs_that_name_no_commit_are_points_of_their_own(
    tmp_path: Path, commits: tuple[Path, list[str]]
) -> None:
    folder, names = commits
    values = flat()
    values[3, 20:] *= 1.2
    save_history(tmp_path, names, values, commit="", dirty=False)
    found = report(tmp_path, folder)
    assert [c.series.kernel for c in found.regressions if c.series.kernel] == ["k3"]
    assert found.notes == ("no run names its commit: runs are in the order of their time",)
