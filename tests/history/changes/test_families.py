"""Which steps stand out among many series: by hand-made chances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.history.changes.changepoints import hold
from harness.history.changes.fitting import Judged, Settings, Step

TOTAL = 1000
RULES = Settings()


def judged(p: float, position: int = 10, size: float = 0.05) -> Judged:
    step = Step(position, position, position, size, 0.0, 0.1, p, 10, 10, chances=(p,))
    return Judged((step,))


def held(*some: Judged) -> list[Step]:
    found = [*some, *(Judged() for _ in range(TOTAL - len(some)))]
    kept = hold(found, [np.arange(30)] * TOTAL, RULES)
    return [step for each in kept for step in each.steps]


def test_one_step_has_to_be_certain_among_all_series() -> None:
    (sure,) = held(judged(0.9 * RULES.family / 2 / TOTAL))
    assert sure.confirmed
    assert not sure.together
    (not_so,) = held(judged(1.1 * RULES.family / 2 / TOTAL))
    assert not not_so.confirmed


def test_many_at_one_commit_are_certain_together() -> None:
    steps = held(*[judged(4e-4)] * 20)
    assert all(step.confirmed and step.together for step in steps)


def unsure(p: float) -> Judged:
    """What one run alone shows."""
    return Judged(tuple(replace(step, confirmed=False) for step in judged(p).steps))


def test_what_one_run_alone_shows_no_other_series_makes_certain() -> None:
    first, second, *others = held(unsure(1e-9), unsure(4e-4), *[judged(4e-4)] * 20)
    assert not (first.confirmed or second.confirmed)
    assert all(step.confirmed for step in others)


def test_what_one_run_alone_shows_makes_no_other_series_certain() -> None:
    *_, last = held(*[unsure(4e-4)] * 20, judged(4e-4))
    assert not last.confirmed
    every = held(*[unsure(1e-9)] * 600, judged(0.9 * RULES.family / 2 / 500))
    assert not every[-1].confirmed, "it is among as many as before"


def test_many_at_different_commits_are_not() -> None:
    assert not any(step.confirmed for step in held(*[judged(4e-4, i) for i in range(2, 22)]))


def test_what_became_faster_says_nothing_about_what_became_slower() -> None:
    better = [judged(1e-9, size=-0.05)] * 19
    steps = held(*better, judged(4e-4))
    assert all(step.confirmed for step in steps[:19])
    assert not steps[19].confirmed


def test_a_step_counts_at_each_commit_where_it_may_lie() -> None:
    wide = Step(9, 9, 10, 0.05, 0.0, 0.1, 4e-4, 10, 10, chances=(4e-4, 4.5e-4))
    steps = held(*[judged(4e-4)] * 20, Judged((wide,)))
    assert steps[-1].together
    narrow = Step(9, 9, 9, 0.05, 0.0, 0.1, 4e-4, 10, 10, chances=(4e-4,))
    assert not held(*[judged(4e-4)] * 20, Judged((narrow,)))[-1].confirmed


def test_suspected_steps_stay_suspected() -> None:
    alone = Step(29, 29, 29, 0.05, 0.0, 0.1, 1e-12, 29, 1, confirmed=False)
    assert not held(Judged((alone,)))[0].confirmed
