from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.history import store
from harness.history.between import between, learn
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Rules, Verdict, judge
from harness.records.run import Run
from tests.history.kernels import graph, kernel, side

pytestmark = pytest.mark.usefixtures("quick_writes")


def runs(
    results: Path, count: int, boards: int = 1, other_code: int = 0, **changes: object
) -> list[Run]:
    """Runs of 30 kernels: all of one move by 1 %, each by 0.3 %."""
    chance, made = np.random.default_rng(1), []
    for n in range(count):
        day = chance.normal(0, 0.01)
        kernels = [
            kernel(
                f"k{k}",
                f"n{k}",
                ms=[float(0.02 * np.exp(day + chance.normal(0, 0.003) + 0.05 * new * (n % 2)))],
                body=f"n{k}; run {n * new}",
            )
            for k in range(30)
            for new in [k < other_code]
        ]
        one = side(graph(*kernels)).run
        machine = replace(one.machine, gpu_uuid=f"GPU-{n % boards}")
        one = replace(one, id=f"2026010{n // 10}-0000{n % 10}0-aaaaaaa", machine=machine)
        one = replace(one, created=f"2026-01-01T00:00:{n:02d}+00:00", **changes)  # type: ignore[arg-type]
        store.save(results, one)
        made.append(one)
    return made


def test_what_runs_of_one_board_differ_by_is_learnt_from_unchanged_kernels(tmp_path: Path) -> None:
    made = runs(tmp_path, 40)
    found = learn(tmp_path, made[0], made[1])
    assert found is not None
    assert found.runs == 39
    assert found.common**0.5 == pytest.approx(2**0.5 * 0.01, rel=0.25)
    assert found.specific.variance**0.5 == pytest.approx(2**0.5 * 0.003, rel=0.1)


def test_kernels_whose_code_changed_say_nothing_of_the_machine(tmp_path: Path) -> None:
    """A third of them have other code in each run, and take 5 % more or less for it."""
    made = runs(tmp_path, 12, other_code=10)
    found = learn(tmp_path, made[0], made[1])
    assert found is not None
    assert found.specific.variance**0.5 == pytest.approx(2**0.5 * 0.003, rel=0.2)


def test_other_boards_methods_and_few_runs_say_nothing(tmp_path: Path) -> None:
    made = runs(tmp_path, 10, boards=2)
    assert learn(tmp_path, made[0], made[2]) is None, "no neighbouring runs are of one board"
    assert learn(tmp_path, made[0], made[1]) is not None
    assert learn(tmp_path, replace(made[0], method="m/2"), made[1]) is None
    few = runs(tmp_path / "few", 5)
    assert learn(tmp_path / "few", few[0], few[1]) is None


def test_other_days_and_boards_say_what_two_runs_differ_by(tmp_path: Path) -> None:
    made = runs(tmp_path, 3)
    assert learn(tmp_path, made[0]) is None, "one board on one day"
    store.save(tmp_path, replace(made[2], created="2026-01-02T00:00:00+00:00"))
    found = learn(tmp_path, made[0])
    assert found is not None
    assert found.runs == 1
    boards = learn(tmp_path / "boards", runs(tmp_path / "boards", 4, boards=2)[0])
    assert boards is not None
    assert boards.runs == 3


def test_what_befell_a_few_kernels_in_earlier_runs_may_befall_any() -> None:
    """3 % of the kernels move by 2 % between runs, the others by 0.1 %: a median's spread knows
    nothing of those, and most tables of kernels that all changed their code had a false verdict."""
    chance = np.random.default_rng(4)

    def moved() -> np.ndarray:
        return chance.normal(0, 0.001, 50) + 0.02 * (chance.random(50) < 0.03)

    false = 0
    for _ in range(10):
        known = between([(np.full(50, 0.02), 0.02 * np.exp(moved())) for _ in range(6)])
        b = np.exp(moved()[:, None] + chance.normal(0, 0.001, (50, 3)))
        a = np.exp(chance.normal(0, 0.001, (50, 3)))
        pairs = [Pair(Times(tuple(x)), Times(tuple(y))) for x, y in zip(a, b, strict=True)]
        found, _ = estimate(pairs, paired=False, between=known)
        said = {one.verdict for one in judge(found, Rules())}
        false += bool(said & {Verdict.SLOWER, Verdict.FASTER})
    assert false <= 1


def test_short_kernels_scatter_more_in_earlier_runs_as_well() -> None:
    """0.3 % and 20 ns: one figure for all durations was wrong twice, too small for kernels of 2 µs
    and too large for those of 200."""
    chance = np.random.default_rng(5)
    ms = np.exp(chance.uniform(np.log(0.002), np.log(0.5), 60))

    def moved() -> np.ndarray:
        return chance.normal(size=60) * np.hypot(0.003, 2e-5 / ms)

    known = between([(ms, ms * np.exp(moved())) for _ in range(12)])
    assert known.specific.variance**0.5 == pytest.approx(0.003, rel=0.25)
    assert known.specific.absolute**0.5 == pytest.approx(2e-5, rel=0.25)
    calm = 0.0005 * chance.normal(size=(2, 60, 3))
    long = ms > 0.02
    slower = np.where(long, 0.02, 0.0)
    a, b = (
        ms[:, None] * np.exp(calm[0]),
        ms[:, None] * np.exp(calm[1] + (moved() + slower)[:, None]),
    )
    pairs = [Pair(Times(tuple(x)), Times(tuple(y))) for x, y in zip(a, b, strict=True)]
    effects = judge(estimate(pairs, paired=False, between=known)[0], Rules())
    said = np.array([one.verdict is Verdict.SLOWER for one in effects])
    assert said[long].mean() > 0.8
    assert not said[~long].any()
    half = np.array([np.log(one.high / one.low) / 2 for one in effects])
    assert half[ms < 0.003].min() > 2 * half[long].max()
