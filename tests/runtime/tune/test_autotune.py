"""Policies of the tuner, against a device with a clock of its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.errors import CheckFailed, CompileFailed, NoTritonConfigsError
from harness.heuristics.facts import Config
from harness.records.trials import Origin, Resources, Trial, Tuned
from harness.runtime import module as modules
from harness.runtime.tune.autotune import Settings, tune
from harness.runtime.tune.race import Race
from harness.runtime.tune.saved import Saved, WriteGuard
from harness.runtime.tune.search import SEARCHES, CoordinateDescent, GuidedSearch, Search
from harness.target import H100
from tests.runtime.fake_device import FakeDevice
from tests.runtime.modules import with_configs


def config(x: int, warps: int) -> Config:
    return Config((("XBLOCK", x),), warps)


LIST = [config(1024, 4), config(512, 4), config(256, 4), config(2048, 8)]


@pytest.fixture
def loaded(tmp_path: Path) -> modules.LoadedModule:
    return with_configs(tmp_path, [modules.config_dict(c) for c in LIST])


def tried(tuned: Tuned) -> set[Config]:
    return {modules.config_from_dict(t.config) for t in tuned.trials}


def trial_of(tuned: Tuned, config: Config) -> Trial:
    return next(t for t in tuned.trials if t.config == modules.config_dict(config))


def costs(*values: float) -> dict[Config, float]:
    return dict(zip(LIST, values, strict=True))


def test_the_fastest_candidate_wins_under_noise(loaded: modules.LoadedModule) -> None:
    table = costs(1.1, 1.0, 1.2, 1.15)
    for seed in range(10):
        device = FakeDevice(table.__getitem__, noise=0.02, seed=seed)
        tuned = tune(loaded, loaded.get_args(), device, device)
        assert tuned.config == LIST[1]
        first, best = (trial_of(tuned, LIST[n]).time for n in (0, 1))
        assert first and best and first / best == pytest.approx(1.1, rel=0.03)
        assert tried(tuned) == set(LIST)
        assert all(t.samples_ms and t.registers == 32 for t in tuned.trials)
        assert 0 < tuned.noise < 0.1


def test_what_is_far_behind_gets_few_samples(loaded: modules.LoadedModule) -> None:
    table = costs(1.0, 1.001, 9.0, 1.002)
    device = FakeDevice(table.__getitem__, noise=0.005)
    tuned = tune(loaded, loaded.get_args(), device, device)
    count = {c: len(trial_of(tuned, c).samples_ms) for c in LIST}
    assert count[LIST[2]] <= 10
    assert min(count[c] for c in LIST if c != LIST[2]) >= 20


@pytest.mark.parametrize(("second", "again"), [(1.001, True), (2.0, False)])
def test_those_close_to_the_best_meet_once_more(
    loaded: modules.LoadedModule, second: float, again: bool
) -> None:
    device = FakeDevice(costs(1.0, second, 9.0, 9.0).__getitem__, noise=0.02)
    tuned = tune(loaded, loaded.get_args(), device, device)
    counts = [len(trial_of(tuned, c).samples_ms) for c in LIST]
    assert [count > 20 for count in counts] == [again, again, False, False]


@pytest.mark.parametrize("factor", [7.0, 42.0])
def test_an_outlier_is_timed_again_before_it_is_believed(
    loaded: modules.LoadedModule, factor: float
) -> None:
    table = costs(1.2, 1.0, 1.3, 1.4)
    # One launch to load it, five rounds: all the first look sees is slow.
    device = FakeDevice(table.__getitem__, noise=0.003, slow={LIST[1]: (6, factor)})
    tuned = tune(loaded, loaded.get_args(), device, device)
    assert tuned.config == LIST[1]


def test_a_lucky_moment_does_not_win(loaded: modules.LoadedModule) -> None:
    table = costs(1.0, 1.05, 1.1, 1.2)
    device = FakeDevice(table.__getitem__, noise=0.003, slow={LIST[1]: (4, 0.5)})
    assert tune(loaded, loaded.get_args(), device, device).config == LIST[0]


def test_drift_does_not_decide(loaded: modules.LoadedModule) -> None:
    """The device slows down by a third while a search goes on: later configurations look slower."""
    target = config(128, 4)

    def cost(c: Config) -> float:
        return 1.0 + 0.1 * abs(math.log2(c.block("XBLOCK") / target.block("XBLOCK")))

    device = FakeDevice(cost, noise=0.002, drift=0.002)
    settings = Settings(search=CoordinateDescent())
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert tuned.config.block("XBLOCK") == 128


def test_refusals_are_reasons_and_spills_are_passed_over(loaded: modules.LoadedModule) -> None:
    device = FakeDevice(
        costs(1.0, 2.0, 3.0, 4.0).__getitem__,
        needs={LIST[0]: Resources(255, 17, 0), LIST[1]: Resources(255, 16, 0)},
        refused={LIST[2]: "OutOfResources: shared memory"},
    )
    tuned = tune(loaded, loaded.get_args(), device, device)
    reasons = {c: trial_of(tuned, c).reason for c in LIST}
    assert tuned.config == LIST[1]
    assert "spills 17" in reasons[LIST[0]]
    assert reasons[LIST[2]] == "OutOfResources: shared memory"
    assert LIST[0] not in device.timed


def test_a_wave_of_64_lanes_may_spill_twice_as_much(loaded: modules.LoadedModule) -> None:
    wide = dataclasses.replace(H100, warp_size=64)
    needs = {LIST[0]: Resources(255, 32, 0), LIST[1]: Resources(255, 33, 0)}
    device = FakeDevice(costs(2.0, 1.0, 3.0, 4.0).__getitem__, needs=needs, target=wide)
    assert tune(loaded, loaded.get_args(), device, device).config == LIST[0]


def test_where_everything_spills_the_fastest_still_wins(loaded: modules.LoadedModule) -> None:
    needs = dict.fromkeys(LIST, Resources(255, 100, 0))
    device = FakeDevice(costs(2.0, 1.0, 3.0, 4.0).__getitem__, needs=needs)
    assert tune(loaded, loaded.get_args(), device, device).config == LIST[1]


def test_a_users_list_is_kept_spilling_or_not(tmp_path: Path) -> None:
    given = [modules.config_dict(c) for c in LIST]
    loaded = with_configs(tmp_path, given, category="user")
    needs = {LIST[1]: Resources(255, 100, 0)}
    device = FakeDevice(costs(2.0, 1.0, 3.0, 4.0).__getitem__, needs=needs)
    settings = Settings(search=CoordinateDescent())
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert tuned.config == LIST[1]
    assert set(device.timed) == set(LIST)


def test_nothing_left_names_every_candidate_with_its_reason(loaded: modules.LoadedModule) -> None:
    refused = {c: f"cause {n}" for n, c in enumerate(LIST)}
    device = FakeDevice(costs(1, 2, 3, 4).__getitem__, refused=refused)
    with pytest.raises(NoTritonConfigsError) as caught:
        tune(loaded, loaded.get_args(), device, device)
    for n, c in enumerate(LIST):
        assert (
            f"XBLOCK={c.block('XBLOCK')} num_warps={c.num_warps} num_stages=1: cause {n}"
            in caught.value.got
        )


RED = [
    {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 8, "num_stages": 1},
    {"XBLOCK": 1, "R0_BLOCK": 1024, "num_warps": 8, "num_stages": 1},
]


def _rows(tmp_path: Path, rows: int, category: str = "red") -> modules.LoadedModule:
    extra = f"def grid(config): return (-(-{rows} // config['XBLOCK']), 1, 1)"
    points = {"x": rows, "r0_": 100_000}
    return with_configs(tmp_path, RED, category=category, points=points, extra=extra)


@pytest.mark.parametrize(
    ("rows", "registers", "expected"),
    [(100_000, 80, True), (100_000, 32, False), (100, 80, False)],
    ids=["crowded", "few registers", "all blocks fit"],
)
def test_r_blocks_are_halved_where_registers_keep_blocks_out(
    tmp_path: Path, rows: int, registers: int, expected: bool
) -> None:
    loaded = _rows(tmp_path, rows)
    first, second = (modules.config_from_dict(c) for c in RED)
    needs = {first: Resources(32, 0, 0), second: Resources(registers, 0, 0)}
    device = FakeDevice(lambda c: c.block("R0_BLOCK") / 1024, needs=needs, target=H100)
    tuned = tune(loaded, loaded.get_args(), device, device)
    scaled = [t for t in tuned.trials if t.origin is Origin.SCALED]
    assert bool(scaled) is expected
    if expected:
        assert scaled[0].config["R0_BLOCK"] == 512
        assert modules.config_dict(tuned.config) == scaled[0].config


def test_only_looped_reductions_are_scaled(tmp_path: Path) -> None:
    loaded = _rows(tmp_path, 100_000, "tem")
    needs = {modules.config_from_dict(c): Resources(200, 0, 0) for c in RED}
    device = FakeDevice(lambda _: 1.0, needs=needs, target=H100)
    assert len(tune(loaded, loaded.get_args(), device, device).trials) == 2


# Arguments come back bit for bit.


def scribble(args: Sequence[Any]) -> None:
    args[2].mul_(1.5).add_(1)


def test_overlapping_views_come_back(loaded: modules.LoadedModule) -> None:
    base = torch.randn(5000)
    args = [base[:2000], base[1000:3000], base[1500:3500]]
    before = base.clone()
    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=scribble)
    tune(loaded, args, device, device)
    assert torch.equal(base, before)


def test_not_a_number_comes_back_too(loaded: modules.LoadedModule) -> None:
    args = loaded.get_args()
    args[2][::3] = float("nan")
    before = args[2].clone().view(torch.int32)
    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=scribble)
    tune(loaded, args, device, device)
    assert torch.equal(args[2].view(torch.int32), before)


def test_copies_that_would_raise_the_peak_go_to_the_host() -> None:
    tensors = [torch.zeros(1000, dtype=torch.uint8), torch.ones(500, dtype=torch.uint8)]
    asked: list[torch.device] = []

    def room(device: torch.device) -> int:
        asked.append(device)
        return 600

    saved = Saved.of([*tensors, tensors[0][:10]], room)
    assert len(saved.pairs) == 2
    assert len(asked) == 1
    for t in tensors:
        t.fill_(7)
    saved.restore()
    assert int(tensors[0].sum()) == 0
    assert int(tensors[1].sum()) == 500


def test_arguments_that_start_from_zero_are_reset_before_each_launch(tmp_path: Path) -> None:
    given = [modules.config_dict(c) for c in LIST]
    loaded = with_configs(tmp_path, given, extra="ZEROED = (2,)")
    seen: list[float] = []

    def accumulate(args: Sequence[Any]) -> None:
        seen.append(float(args[2].abs().sum()))
        args[2].add_(1)

    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=accumulate)
    args = loaded.get_args()
    before = args[2].clone()
    tune(loaded, args, device, device)
    assert set(seen) == {0.0}
    assert torch.equal(args[2], before)


def test_a_stray_write_is_caught_in_debug_mode(loaded: modules.LoadedModule) -> None:
    def stray(args: Sequence[Any]) -> None:
        args[2].fill_(0)
        args[0][17] = 3.0

    args = loaded.get_args()
    before = [a.clone() for a in args]
    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=stray)
    with pytest.raises(CheckFailed, match="in_ptr0"):
        tune(loaded, args, device, device, settings=Settings(debug=True))
    assert all(torch.equal(a, b) for a, b in zip(args, before, strict=True))
    fine = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=scribble)
    tune(loaded, args, fine, fine, settings=Settings(debug=True))


def test_a_write_beside_the_output_in_its_own_storage_is_caught() -> None:
    base = torch.zeros(100)
    out = base[10:50:2]
    guard = WriteGuard([out], ["out_ptr0"], (0,), Saved.of([out], lambda _: 1 << 30))
    out.fill_(1)
    guard.verify("k")
    assert float(base.sum()) == 0
    base[11] = 1
    with pytest.raises(CheckFailed, match="does not list"):
        guard.verify("k")
    assert float(base.sum()) == 0


# Failure in the middle.


def test_a_device_lost_in_the_middle_leaves_what_was_tuned(loaded: modules.LoadedModule) -> None:
    settings = Settings(search=CoordinateDescent())
    whole = FakeDevice(lambda c: 1.0 + c.block("XBLOCK") / 4096, noise=0.001)
    tune(loaded, loaded.get_args(), whole, whole, settings=settings)
    device = FakeDevice(whole.cost, noise=0.001, lost_after=int(0.7 * whole.launches))
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert "device lost" in tuned.partial
    assert tuned.config.block("XBLOCK") <= 256
    assert sum(bool(t.samples_ms) for t in tuned.trials) >= 4


@pytest.mark.parametrize("launches", [2, 5])
def test_a_device_lost_before_anything_was_timed_is_an_error(
    loaded: modules.LoadedModule, launches: int
) -> None:
    """While candidates are launched for the first time, or in the first rounds."""
    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, lost_after=launches)
    with pytest.raises(RuntimeError, match="device lost"):
        tune(loaded, loaded.get_args(), device, device)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=list(SEARCHES))
def test_a_search_around_nothing_names_what_each_launch_failed_with(
    loaded: modules.LoadedModule, search: Callable[[], Search]
) -> None:
    def fail(_: Sequence[Any]) -> None:
        raise CompileFailed("no", got="too many resources")

    device = FakeDevice(costs(1.0, 2.0, 3.0, 4.0).__getitem__, work=fail)
    with pytest.raises(NoTritonConfigsError, match="failed when launched") as caught:
        tune(loaded, loaded.get_args(), device, device, settings=Settings(search=search()))
    assert caught.value.got.count("too many resources") == len(LIST)


# What is not done.


def test_one_candidate_is_not_timed(tmp_path: Path) -> None:
    loaded = with_configs(tmp_path, [modules.config_dict(LIST[0])])
    device = FakeDevice(lambda _: 1.0)
    tuned = tune(loaded, loaded.get_args(), device, device)
    assert (tuned.config, tuned.source) == (LIST[0], "only candidate")
    assert not device.timed


def test_equal_binaries_on_equal_grids_are_timed_once(loaded: modules.LoadedModule) -> None:
    twins = [Config(LIST[0].blocks, 4, stages) for stages in (1, 2, 3)]
    needs = dict.fromkeys(twins, Resources(32, 0, 0, "same"))
    device = FakeDevice(lambda _: 1.0, needs=needs)
    args = loaded.get_args()
    race = Race(loaded, args, device, device, Saved.of([args[2]]), 16)
    race.measure(twins[:1], Origin.HEURISTICS)
    race.measure(twins[1:], Origin.SEARCH)
    assert set(device.timed) == {twins[0]}
    assert race.times[twins[2]] == race.times[twins[0]]


@pytest.mark.parametrize("search", [CoordinateDescent(), GuidedSearch()])
@pytest.mark.parametrize("category", ["red", "per"])
def test_deterministic_mode_does_not_search_reductions(
    tmp_path: Path, category: str, search: Any
) -> None:
    loaded = _rows(tmp_path, 100_000, category)
    needs = {modules.config_from_dict(c): Resources(200, 0, 0) for c in RED}
    device = FakeDevice(lambda c: c.block("R0_BLOCK"), needs=needs, target=H100)
    settings = Settings(search=search, deterministic=True)
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert {t.origin for t in tuned.trials} == {Origin.HEURISTICS}
    free = dataclasses.replace(settings, deterministic=False)
    assert len(tune(loaded, loaded.get_args(), device, device, settings=free).trials) > 2


@pytest.mark.parametrize("category", ["tem", "for", "user"])
def test_given_lists_are_not_searched(tmp_path: Path, category: str) -> None:
    given = [modules.config_dict(c) for c in LIST]
    loaded = with_configs(tmp_path, given, category=category)
    device = FakeDevice(lambda c: float(c.block("XBLOCK")))
    settings = Settings(search=CoordinateDescent())
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert tried(tuned) == set(LIST)


def test_an_earlier_runs_winner_is_tried_and_named(loaded: modules.LoadedModule) -> None:
    last = config(128, 2)
    device = FakeDevice(lambda c: 0.5 if c == last else 1.0)
    settings = Settings(earlier=(last,))
    tuned = tune(loaded, loaded.get_args(), device, device, settings=settings)
    assert tuned.config == last
    assert trial_of(tuned, last).origin is Origin.PREVIOUS


@pytest.mark.parametrize(("share", "stays"), [(1.001, True), (1.1, False)])
def test_an_earlier_runs_winner_stays_where_nothing_is_faster_beyond_the_noise(
    loaded: modules.LoadedModule, share: float, stays: bool
) -> None:
    table = costs(1.3, 1.0, share, 1.2)
    chosen = []
    for seed in range(5):
        device = FakeDevice(table.__getitem__, noise=0.02, seed=seed)
        settings = Settings(earlier=(LIST[2],))
        chosen.append(tune(loaded, loaded.get_args(), device, device, settings=settings).config)
    assert chosen == [LIST[2] if stays else LIST[1]] * 5


def test_idle_processes_compile_what_a_search_will_ask_for(loaded: modules.LoadedModule) -> None:
    asked: list[list[Config]] = []
    for parallel, expected in ((16, True), (2, False)):
        asked.clear()
        device = FakeDevice(lambda _: 1.0)
        device.ahead = lambda configs: asked.append(list(configs))
        device.parallel = parallel
        settings = Settings(search=GuidedSearch(most=4))
        tune(loaded, loaded.get_args(), device, device, settings=settings)
        assert set(LIST) <= set(asked[0])
        assert (len(asked[0]) > len(LIST)) is expected
