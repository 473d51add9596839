"""Common effects, events and ends of series in histories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.history import index, schema
from harness.history.changes import events
from harness.history.changes.changes import Report
from harness.history.changes.fitting import Settings, Step
from harness.history.changes.series import arrange, series_of
from harness.records.metrics import named
from harness.records.run import Check, KernelRecord
from tests.history.changes.test_changes import report
from tests.history.histories import COMMITS, save_history

pytestmark = pytest.mark.usefixtures("quick_writes")

Commits = tuple[Path, list[str]]
ROWS = 24


def noisy(seed: int, own: float = 0.005) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return np.full((ROWS, COMMITS), 0.05) * np.exp(chance.normal(0, own, (ROWS, COMMITS)))


def kernels(found: Report) -> set[str]:
    return {c.series.kernel for c in found.changes if c.series.kernel and c.confirmed}


@pytest.mark.parametrize("size", [0.005, 0.02])
def test_days_that_move_all_kernels_are_no_changes(
    tmp_path: Path, commits: Commits, size: float
) -> None:
    day = np.random.default_rng(3).normal(0, size, COMMITS)
    values = noisy(1) * np.exp(day)
    values[5, 15:] *= 1.04
    save_history(tmp_path, commits[1], values)
    found = report(tmp_path, commits[0])
    assert kernels(found) == {"k5"}
    (change,) = [c for c in found.changes if c.series.kernel == "k5" and c.confirmed]
    assert change.size == pytest.approx(0.04, abs=0.01)


def test_a_slow_walk_of_the_machine_is_no_change(tmp_path: Path, commits: Commits) -> None:
    walk = np.cumsum(np.random.default_rng(4).normal(0, 0.005, COMMITS))
    save_history(tmp_path, commits[1], noisy(2) * np.exp(walk))
    assert kernels(report(tmp_path, commits[0])) == set()


def test_what_a_commit_does_to_all_kernels_that_it_touches_stays(
    tmp_path: Path, commits: Commits
) -> None:
    def edited(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, config={"XBLOCK": 2}) if point >= 15 else kernel

    values = noisy(3)
    values[:, 15:] *= 1.05
    save_history(tmp_path, commits[1], values, edit=edited)
    assert len(kernels(report(tmp_path, commits[0]))) == ROWS


def test_two_fast_runs_are_no_regression_when_they_end(tmp_path: Path, commits: Commits) -> None:
    values = noisy(5)
    values[7, 14:16] /= 1.1
    save_history(tmp_path, commits[1], values)
    found = report(tmp_path, commits[0])
    assert not found.regressions, [
        (c.series.kernel, c.size, c.commit, c.p) for c in found.regressions
    ]
    values[8, 10:20] /= 1.1
    save_history(tmp_path / "long", commits[1], values)
    (loss,) = report(tmp_path / "long", commits[0]).regressions
    assert loss.series.kernel == "k8", "an improvement that stood for ten commits was lost"


def test_a_ramp_is_one_event(tmp_path: Path, commits: Commits) -> None:
    values = noisy(6, 0.002)
    values[7] *= np.exp(np.clip((np.arange(COMMITS) - 12) / 8, 0, 1) * np.log(1.2))

    def edited(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, config={"XBLOCK": point}) if row == 7 and point > 12 else kernel

    save_history(tmp_path, commits[1], values, edit=edited)
    (change,) = [c for c in report(tmp_path, commits[0]).regressions if c.series.kernel]
    assert change.size == pytest.approx(0.2, abs=0.02)
    assert change.new / change.old == pytest.approx(1.2, abs=0.02)


def step(position: int, size: float, **changes: object) -> Step:
    made = Step(position, position, position, size, size - 0.002, size + 0.002, 1e-9, 5, 5)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_steps_far_apart_or_the_other_way_are_events_of_their_own() -> None:
    found = events.events(
        [step(5, 0.02), step(8, 0.03), step(20, 0.02), step(22, -0.05)], Settings()
    )
    assert [one.first.position for one in found] == [5, 20, 22]
    assert found[0].size == pytest.approx(1.02 * 1.03 - 1)
    assert found[0].low < found[0].size < found[0].high
    assert not found[2].returns, "it ends lower than it began"
    assert events.events([step(5, -0.1), step(7, 1 / 0.9 - 1)], Settings())[1].returns


@pytest.mark.parametrize(("left", "back", "seen"), [(0.003, 30, 29), (0.006, None, None)])
def test_levels_are_two_where_that_is_certain(
    left: float, back: int | None, seen: int | None
) -> None:
    """Two levels between which two intervals of 0.2 % lie, and so much is left."""
    steps = [step(12, 0.05), step(30, (1 + left) / 1.05 - 1), step(45, 0.05)]
    (up, down, again) = events.events(steps, Settings(smallest=0.001))
    assert up.recovered(Settings(smallest=0.001)) == back
    assert (again.seen, down.seen) == (seen, None if seen is None else 11)
    assert events.events([step(12, 0.05, ago=4)], Settings())[0].seen == 4


@pytest.mark.parametrize(
    ("second", "third", "taken"),
    [
        (0.05, 1 / 1.08 - 1, (40, None, None)),
        (0.05, 1 / 1.05 - 1, (None, 40, None)),
        (0.05, 1 / 1.08 / 1.05 - 1, (40, 40, None)),
        (0.05, 1 / 1.065 - 1, (None, 40, None)),
        (0.08, 1 / 1.08 - 1, (None, 40, None)),
        (-0.05, 1 / 1.08 - 1, (40, None, None)),
    ],
)
def test_what_takes_one_of_two_losses_back_by_its_size_leaves_the_other(
    second: float, third: float, taken: tuple[int | None, ...]
) -> None:
    """One of 8 % and one of 5 % (or 8) behind it: where 8 % are won back, 5 % stand."""
    found = events.events([step(12, 0.08), step(25, second), step(40, third)], Settings())
    assert tuple(one.recovered(Settings()) for one in found) == taken
    again = [step(12, 0.08), step(20, 1 / 1.08 - 1), step(30, second), step(40, 1 / 1.08 - 1)]
    first, *_, loss, _ = events.events(again, Settings())
    assert first.recovered(Settings()) == 20
    assert loss.recovered(Settings()) == (40 if second > 0 else None), "nothing else stood there"


def test_a_run_between_the_steps_of_a_ramp_is_no_earlier_level() -> None:
    ramp = [step(12, 0.05), step(16, 0.08, ago=15)]
    assert events.events(ramp, Settings())[0].seen is None
    assert events.events([ramp[0], replace(ramp[1], ago=4)], Settings())[0].seen == 4


@pytest.mark.parametrize(("p", "back"), [(0.003, None), (0.0005, 29)])
def test_a_newest_run_that_noise_may_explain_takes_no_step_back(p: float, back: int | None) -> None:
    """One run in 200 is off that far by itself."""
    newest = step(29, 1 / 1.05 - 1, p=p, confirmed=False)
    (loss, _) = events.events([step(12, 0.05), newest], Settings())
    assert loss.recovered(Settings(), sure=False) == back
    assert loss.recovered(Settings()) is None


def test_series_of_kernels_that_share_a_last_node_do_not_inherit(
    tmp_path: Path, commits: Commits
) -> None:
    """When the first of them goes, the second one's history is still its own."""

    def shared(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, origins=(f"n{row}", "last")) if row < 2 else kernel

    values = noisy(7)
    values[1] *= 2.0
    save_history(tmp_path, commits[1][:20], values[:, :20], edit=shared)

    def later(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return shared(kernel, row + 1, point)

    save_history(tmp_path, commits[1][20:], values[1:, 20:], edit=later)
    found = report(tmp_path, commits[0])
    assert not [c for c in found.changes if c.confirmed and c.series.kernel], (
        "the machine's neither"
    )


def test_kernels_that_are_gone_are_named(tmp_path: Path, commits: Commits) -> None:
    save_history(tmp_path, commits[1][:-1], noisy(7)[:, :-1])
    save_history(tmp_path, commits[1][-1:], noisy(7)[:-1, -1:])
    notes = report(tmp_path, commits[0]).notes
    assert any("1 series ended" in note and "block/k23" in note for note in notes)


@pytest.mark.parametrize("interrupted", [0, 1])
def test_what_an_interrupted_run_lacks_is_not_gone(
    tmp_path: Path, commits: Commits, interrupted: int
) -> None:
    """Nor is it there still because the interrupted run before (1) lacked it as well."""
    save_history(tmp_path, commits[1][:-2], noisy(7)[:, :-2])
    for ago in (1, 0):
        at = slice(COMMITS - 1 - ago, COMMITS - ago)
        values = noisy(7)[: -1 if ago <= interrupted else None, at]
        save_history(tmp_path, commits[1][at], values, complete=ago != interrupted)
    notes = report(tmp_path, commits[0]).notes
    assert any("series ended" in note for note in notes) == (interrupted == 1)


def test_keys_tell_kernels_of_the_same_nodes_apart_by_ordinal() -> None:
    rows = [("g", "r0", "b\na", "x"), ("g", "r0", "a\nb", "y"), ("g", "r1", "a\nb", "z")]
    assert schema.series_keys([*rows, ("g", None, None, "k")]) == [
        "r0 a b 1",
        "r0 a b 2",
        "r1 a b 1",
        "k 1",
    ]


def test_an_interrupted_run_is_in_no_total(tmp_path: Path, commits: Commits) -> None:
    values = noisy(8)
    save_history(tmp_path, commits[1][:-1], values[:, :-1])
    save_history(tmp_path, commits[1][-1:], values[:3, -1:], complete=False)
    known = arrange(index.refresh(tmp_path), commits[0])
    (total,) = [s for s in series_of(known, named("ms")) if not s.kernel]
    assert len(total.values) == COMMITS - 1
    (count,) = series_of(known, named("kernels"))
    assert set(count.values.tolist()) == {ROWS}


def test_a_kernel_that_fails_is_reported_as_ended(tmp_path: Path, commits: Commits) -> None:
    def failing(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        if row == 4 and point >= 28:
            return replace(kernel, check=Check.FAILED)
        return kernel

    save_history(tmp_path, commits[1], noisy(10), edit=failing)
    found = report(tmp_path, commits[0])
    (sentence,) = found.broken
    assert sentence.startswith(f"block/k4 fails its check at {commits[1][-1][:10]}")
    assert not found.regressions, [
        (c.series.kernel, c.size, c.commit, c.p) for c in found.regressions
    ]
