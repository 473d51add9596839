"""On machines whose noise is known a calibration says so."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from harness.calibration.judging import IN_TURNS, TWO_RUNS, detectable, judged, share
from harness.calibration.record import AGAIN, PLAIN, Calibration, Cell, Mode, slowed
from harness.measure.noise.judge import Rules
from harness.records import run
from tests.calibration.simulation import Machine, measured

START = Calibration("", "", run.Machine(""), "", "", "", "", 6, 0.004, 0.05, 0.01, complete=False)


def of(machine: Machine, *levels: float) -> Calibration:
    subjects, cells = measured(machine)
    return judged(START, subjects, [only(cell, *levels) for cell in cells], Rules())


def only(cell: Cell, *levels: float) -> Cell:
    """Without slowdowns but those by ``levels``: each takes ten tables of either way to compare."""
    kept = {PLAIN, AGAIN, *map(slowed, (0.0, *levels))}
    samples = {name: found for name, found in cell.samples.items() if name in kept}
    return dataclasses.replace(cell, samples=samples)


def mode(found: Calibration, name: str) -> Mode:
    return next(m for m in found.modes if m.name == name)


def power(found: Mode, size: str, level: float) -> float:
    return next(p.share.value for p in found.power if (p.size, p.level) == (size, level))


@pytest.fixture(scope="module")
def quiet() -> Calibration:
    return of(Machine(), 0.01, 0.02, 0.05, 0.1)


def test_an_honest_machine_gives_no_false_alarm(quiet: Calibration) -> None:
    for name in (IN_TURNS, TWO_RUNS):
        alarms = mode(quiet, name).false_alarms
        assert (alarms.found, alarms.kernels) == (0, 60)
        assert alarms.high == pytest.approx(0.06, abs=0.005), "that is all 60 kernels can say"


def test_false_alarms_keep_to_the_stated_rate() -> None:
    """5 % of tables may have one: of 2 × 20 tables 2, and more than 7 once in 1000 times."""
    tables = 0
    for seed in range(20):
        subjects, cells = measured(Machine(0.006, 0.002), kernels=40, processes=4, seed=seed)
        found = judged(START, subjects, [only(cell) for cell in cells], Rules())
        tables += sum(m.false_alarms.found > 0 for m in found.modes)
    assert tables <= 7


def test_a_machine_that_is_not_honest_is_found_out() -> None:
    found = mode(of(Machine(drift=0.03)), IN_TURNS)
    assert found.false_alarms.value > 0.9
    assert found.alarmed[0].startswith("g: kernel_")


def test_power_grows_with_what_is_injected(quiet: Calibration) -> None:
    turns = mode(quiet, IN_TURNS)
    assert power(turns, "long", 0.02) == 1.0
    assert power(turns, "medium", 0.05) == 1.0
    assert power(turns, "long", 0.01) < 1.0, "within the margin most are SAME"
    noisy = mode(of(Machine(process=0.02, subject=0.01), 0.01, 0.02, 0.05), IN_TURNS)
    curve = [power(noisy, "long", level) for level in (0.01, 0.02, 0.05)]
    assert curve == sorted(curve)
    assert curve[1] < 0.5 < curve[2]


def test_turns_tell_more_than_two_runs_where_processes_differ() -> None:
    found = of(Machine(process=0.02, subject=0.0005), 0.02)
    assert power(mode(found, IN_TURNS), "long", 0.02) == 1.0
    assert power(mode(found, TWO_RUNS), "long", 0.02) < 0.2
    assert all(k.in_turns < k.two_runs for k in found.kernels)


def test_a_deaf_machine_finds_nothing() -> None:
    found = mode(of(Machine(deaf=True), 0.02, 0.1), IN_TURNS)
    assert {p.level for p in found.power} == {0.02, 0.1}
    assert sum(p.share.found for p in found.power) == 0
    assert all(p.effect == pytest.approx(0, abs=0.2) for p in found.power if p.size == "long")


def test_the_timer_is_held_against_the_devices_clocks(quiet: Calibration) -> None:
    effects = [p.effect for m in quiet.modes for p in m.power if p.level >= 0.02]
    assert effects == pytest.approx([1.0] * len(effects), abs=0.1)


def test_what_is_said_to_be_detectable_is_detected(quiet: Calibration) -> None:
    """The stated change comes from a formula, power from injected slowdowns: they agree."""
    turns = mode(quiet, IN_TURNS)
    reach = [k.in_turns for k in quiet.kernels if k.ms > 0.05]
    assert max(reach) < 0.02
    assert power(turns, "long", 0.02) >= 0.95
    loud = of(Machine(process=0.004, subject=0.01), 0.02)
    reach = [k.in_turns for k in loud.kernels if k.ms > 0.02]
    assert min(reach) > 0.02
    assert power(mode(loud, IN_TURNS), "long", 0.02) < 0.95


def test_the_noise_model_gives_other_kernels_their_detectable_change(quiet: Calibration) -> None:
    assert quiet.noise is not None
    rules = Rules()
    three = detectable(quiet.noise, 0.05, 3, 60, rules)
    own = [k.two_runs for k in quiet.kernels if 0.03 < k.ms < 0.08]
    assert three == pytest.approx(sum(own) / len(own), rel=0.35)
    assert detectable(quiet.noise, 0.05, 12, 60, rules) < three
    assert detectable(quiet.noise, 0.05, 3, 600, rules) > three


def test_levels_between_processes_bound_what_two_runs_can_tell() -> None:
    """Some kernels run at one of two speeds, a process at a time: with few processes a change of
    that size may be chance, and then it is not said to be detectable."""
    subjects, whole = measured(Machine(process=0.0005), kernels=60, processes=4)
    cells = [only(cell) for cell in whole]
    jumping = {f"k{n}" for n in range(20, 30)}

    def jumped(cell: Cell) -> Cell:
        up = 1.05 if cell.kernel in jumping and cell.process in (0, 1) else 1.0
        samples = {n: tuple(up * x for x in s) for n, s in cell.samples.items()}
        return dataclasses.replace(cell, samples=samples)

    plain = judged(START, subjects, cells, Rules())
    levels = judged(START, subjects, [jumped(cell) for cell in cells], Rules())
    assert all(k.blind is None for k in plain.kernels)
    near = [k for k in levels.kernels if k.key in ("k15", "k35")]
    for kernel in near:
        assert kernel.blind is not None
        assert kernel.two_runs < kernel.blind[0] < 0.05 < kernel.blind[1]
    assert mode(levels, IN_TURNS).false_alarms.found == 0


def test_kernels_with_too_little_are_left_out() -> None:
    subjects, cells = measured(Machine(), kernels=20, processes=4)
    cells[0] = dataclasses.replace(cells[0], reason="out of memory", samples={})
    fewer = [only(c) for c in cells if not (c.kernel == "k1" and c.process > 0)]
    found = judged(START, subjects, fewer, Rules())
    assert {k.key for k in found.kernels} == {f"k{n}" for n in range(2, 20)}
    assert judged(START, subjects, [], Rules()) == START


def test_a_share_has_an_exact_interval() -> None:
    from scipy.stats import binomtest

    found = share(0, 259)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.0141, abs=0.0005)
    assert share(0, 0).value == 0.0
    for of in (1, 3, 259):
        for number in {0, 1, of // 2, of}:
            exact = binomtest(number, of).proportion_ci(0.95, method="exact")
            given = share(number, of)
            assert (given.low, given.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_judging_loads_no_distributions() -> None:
    """They take half a second, at every run on a machine that has a calibration."""
    code = "import sys, harness.calibration.judging; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
