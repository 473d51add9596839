"""Levels that a series had before, and levels that no code explains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.history.changes.changes import Change, Report
from harness.records.run import KernelRecord
from tests.history.changes.test_changes import report
from tests.history.changes.test_common import Commits, noisy
from tests.history.histories import COMMITS, save_history

pytestmark = pytest.mark.usefixtures("quick_writes")


def kept(at: np.ndarray, seed: int = 8) -> np.ndarray:
    """A kernel that is 8 % slower in the runs ``at`` is true for, among others that are not."""
    values = noisy(seed)
    values[7] *= np.where(at, 1.08, 1.0)
    return values


def changing(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
    """Every commit changes the code of kernel 7."""
    return replace(kernel, metrics={**kernel.metrics, "registers": point}) if row == 7 else kernel


def coming_and_going(*edges: int) -> np.ndarray:
    return np.asarray(np.searchsorted(edges, np.arange(COMMITS), side="right") % 2 == 1)


def of_kernel(found: Report) -> list[Change]:
    return [c for c in found.changes if c.series.kernel == "k7"]


def test_what_the_same_code_does_is_the_machine(tmp_path: Path, commits: Commits) -> None:
    """A mode that a kernel takes up and keeps, for the first time."""
    save_history(tmp_path, commits[1], kept(coming_and_going(15)), coded=False)
    found = report(tmp_path, commits[0])
    assert not found.regressions
    assert not found.suspected
    (change,) = of_kernel(found)
    assert (change.machine, change.worse, change.confirmed) == (True, True, True)
    assert change.causes == ("same code and configuration",)


def test_two_levels_that_take_turns_are_modes_whatever_the_code(
    tmp_path: Path, commits: Commits
) -> None:
    edges = 6, 12, 18, 24
    save_history(tmp_path, commits[1], kept(coming_and_going(*edges)), coded=False, edit=changing)
    found = report(tmp_path, commits[0])
    assert not found.regressions
    changes = {commits[1].index(c.commit): c for c in of_kernel(found)}
    assert {place: c.confirmed for place, c in changes.items()} == dict(
        zip(edges, (True, True, False, False), strict=True)
    )
    assert changes[18].causes[-1] == f"at this level before, last at {commits[1][11][:10]}"


def test_an_improvement_that_other_code_loses_is_a_regression(
    tmp_path: Path, commits: Commits
) -> None:
    save_history(tmp_path, commits[1], kept(~coming_and_going(8, 20)), coded=False, edit=changing)
    (loss,) = [c for c in report(tmp_path, commits[0]).regressions if c.series.kernel]
    assert commits[1].index(loss.commit) == 20


def test_a_level_that_comes_back_with_its_code_is_a_change(
    tmp_path: Path, commits: Commits
) -> None:
    slow = coming_and_going(6, 12, 18)

    def edited(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, config={"XBLOCK": 2}) if row == 7 and slow[point] else kernel

    save_history(tmp_path, commits[1], kept(slow), coded=False, edit=edited)
    (loss,) = [c for c in report(tmp_path, commits[0]).regressions if c.series.kernel]
    assert commits[1].index(loss.commit) == 18


def test_where_no_code_is_known_a_level_that_comes_back_is_suspected(
    tmp_path: Path, commits: Commits
) -> None:
    def unknown(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, module="") if row == 7 else kernel

    save_history(tmp_path, commits[1], kept(~coming_and_going(8, 20)), coded=False, edit=unknown)
    found = report(tmp_path, commits[0])
    assert [c for c in found.regressions if c.series.kernel] == []
    (loss,) = [c for c in found.suspected if c.series.kernel]
    assert loss.causes[0] == "nothing known"


def test_the_machine_recovers_no_commit(tmp_path: Path, commits: Commits) -> None:
    """A commit makes a kernel slow; ten runs later the same code is as fast as the old one was, and
    no commit did that. It has not recovered, and nor is it certain that the commit was to blame."""

    def once(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        registers = 64 if point >= 12 else 32
        return replace(kernel, metrics={**kernel.metrics, "registers": registers})

    save_history(tmp_path, commits[1], kept(coming_and_going(12, 22)), coded=False, edit=once)
    found = report(tmp_path, commits[0])
    assert not [c for c in found.regressions if c.series.kernel]
    (loss,) = [c for c in found.suspected if c.series.kernel]
    assert (loss.recovered, commits[1].index(loss.commit)) == ("", 12)
    assert loss.causes[-1] == f"back at {commits[1][22][:10]} with the code unchanged"
    (back,) = [c for c in of_kernel(found) if not c.worse]
    assert back.machine


@pytest.mark.parametrize("edges", [(10, COMMITS - 1), (8, 18, 19)])
def test_a_level_that_one_run_is_back_from_is_suspected(
    tmp_path: Path, commits: Commits, edges: tuple[int, ...]
) -> None:
    """The newest run alone, or one among others: the kernel may have two modes, or be mended."""
    save_history(tmp_path, commits[1], kept(coming_and_going(*edges)), coded=False, edit=changing)
    found = report(tmp_path, commits[0])
    assert not [c for c in found.regressions if c.series.kernel]
    loss = next(c for c in found.suspected if c.series.kernel)
    assert commits[1].index(loss.commit) == edges[0]
    assert loss.causes[-1] == f"perhaps back at {commits[1][edges[1]][:10]}"
