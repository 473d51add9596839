"""What recorded tunings answer: regret, and last run's configuration on today's code."""

from __future__ import annotations

import pytest

from harness.heuristics.facts import Config
from harness.measure.tuning import KernelTuning, chosen_before, fitting, totals, tunings_of
from harness.records.run import GraphRecord, KernelRecord, Machine, Run, from_json, to_json
from harness.records.trials import Origin, Trial


def of(x: int, warps: int = 4) -> dict[str, int]:
    return {"XBLOCK": x, "num_warps": warps, "num_stages": 1}


def trial(x: int, level: float | None, origin: str = "heuristics", warps: int = 4) -> Trial:
    ms = () if level is None else (2 * level,) * 3  # raw samples of a slower moment
    return Trial(of(x, warps), Origin(origin), ms, 32, 0, 0, "" if level else "no", level)


TUNING = KernelTuning(
    "k",
    (
        trial(1024, 0.012),
        trial(512, 0.011),
        trial(2048, None),
        trial(256, 0.010, "descent"),
        trial(128, 0.0125, "pinned"),
    ),
    of(256),
    of(128),
)


def test_regret_compares_the_first_choice_with_the_best() -> None:
    assert TUNING.regret == pytest.approx(1.2)
    assert TUNING.pinned == pytest.approx(1.25)
    assert TUNING.verdict == "slower"


@pytest.mark.parametrize(
    ("earlier", "verdict"),
    [(None, ""), (of(256), "same configuration"), (of(64), "not timed"), (of(2048), "not timed")],
)
def test_verdicts_on_the_earlier_configuration(
    earlier: dict[str, int] | None, verdict: str
) -> None:
    assert KernelTuning("k", TUNING.trials, of(256), earlier).verdict == verdict


def test_as_fast_within_what_two_timings_differ_by() -> None:
    near = KernelTuning("k", (trial(1024, 0.0101), trial(512, 0.01)), of(512), of(1024))
    assert near.verdict == "as fast"


def test_without_times_there_are_no_ratios() -> None:
    none = KernelTuning("k", (trial(1024, None),), None)
    assert (none.best, none.regret, none.pinned, none.verdict) == (None, None, None, "")
    first_failed = KernelTuning("k", (trial(1024, None), trial(512, 0.01)), of(512))
    assert first_failed.regret is None, "the first choice has no time"


def test_a_run_file_keeps_what_a_trial_is() -> None:
    made = Trial(of(64, 2), Origin.SCALED, (0.1, 0.2, 0.3), 40, 2, 1024, "", 0.19, 0.01)
    assert (made.ms, made.time) == (0.2, 0.19)
    kernel = KernelRecord("k", "poi", 10, trials=(made,))
    assert from_json(KernelRecord, to_json(kernel), "here") == kernel
    old = {"config": of(64), "origin": "descent", "samples_ms": [0.1]}
    assert from_json(Trial, old, "here") == Trial(of(64), Origin.SEARCH, (0.1,))


def test_an_earlier_runs_choices() -> None:
    timed = KernelRecord("k", "poi", 10, config=of(64), ms=0.1, trials=TUNING.trials)
    untimed = KernelRecord("l", "poi", 10, config=of(64))
    run = Run("r", "now", Machine("m"), "sm_90", graphs=(GraphRecord("g", (), (timed, untimed)),))
    assert chosen_before(run) == {"k": of(64)}
    assert chosen_before(None) == {}
    (found,) = tunings_of([timed], run)
    assert (found.chosen, found.earlier) == (of(64), of(64))


def test_only_a_fitting_configuration_is_tried_again() -> None:
    candidates = [Config((("XBLOCK", 64),), 2)]
    assert fitting(of(512, 8), candidates) == (Config((("XBLOCK", 512),), 8),)
    assert fitting({**of(512), "R0_BLOCK": 4}, candidates) == ()
    assert fitting(None, candidates) == ()


def test_totals() -> None:
    even = KernelTuning("l", (trial(64, 0.01),), of(64), seconds=2.0)
    sums = totals([TUNING, even])
    assert sums["regret"] == pytest.approx(1.2**0.5)
    assert sums["worst"] is not None
    assert sums["worst"][0] == "k"
    assert [sums[name] for name in ("kernels", "trials", "pinned_kernels")] == [2, 6, 1]
    assert sums["seconds"] == 2.0
    assert totals([])["regret"] is None
