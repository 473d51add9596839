"""Searches on landscapes that are known, and on recorded tunings."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import UnknownName
from harness.heuristics.facts import Config
from harness.heuristics.limits import LEAST_SCAN_BLOCK
from harness.records.trials import Origin, Tuned
from harness.runtime import module as modules
from harness.runtime.tune.autotune import Settings, tune
from harness.runtime.tune.search import (
    SEARCHES,
    CoordinateDescent,
    GuidedSearch,
    Search,
    expected,
    search_named,
)
from harness.runtime.tune.space import Space
from harness.target import H100
from tests.runtime.fake_device import FakeDevice
from tests.runtime.modules import with_configs

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from recorded_tunings import Recorded, every, replay

START = Config((("XBLOCK", 512),), 4)


@pytest.fixture
def loaded(tmp_path: Path) -> modules.LoadedModule:
    first = modules.config_dict(START)
    return with_configs(tmp_path, [first, {**first, "XBLOCK": 1024}])


def bowl(x: int, warps: int, across: float = 0.0) -> dict[Config, float]:
    """Times with one minimum; ``across`` tilts the valley along the diagonal."""
    found = {}
    for a in range(13):
        for w in range(6):
            dx, dw = a - math.log2(x), w - math.log2(warps)
            time = 1.0 + 0.05 * (dx * dx + dw * dw) - across * dx * dw
            found[Config((("XBLOCK", 1 << a),), 1 << w)] = time
    return found


def was_searched(found: Tuned) -> bool:
    """Whether a search, not the list of candidates, found the winner."""
    chosen = modules.config_dict(found.config)
    return next(t for t in found.trials if t.config == chosen).origin is Origin.SEARCH


def test_descent_reaches_the_minimum_and_says_that_it_found_it(
    loaded: modules.LoadedModule,
) -> None:
    world = bowl(128, 1)
    device = FakeDevice(world.__getitem__, noise=0.002)
    found = tune(
        loaded, loaded.get_args(), device, device, settings=Settings(search=CoordinateDescent())
    )
    assert found.config == Config((("XBLOCK", 128),), 1)
    assert was_searched(found)
    assert not was_searched(tune(loaded, loaded.get_args(), device, device))


def test_nothing_is_compiled_or_measured_twice(loaded: modules.LoadedModule) -> None:
    for search in (CoordinateDescent(2, True), GuidedSearch()):
        device = FakeDevice(bowl(64, 2).__getitem__, noise=0.002)
        tune(loaded, loaded.get_args(), device, device, settings=Settings(search=search))
        assert set(device.compiled.values()) == {1}


def test_a_difference_below_the_noise_is_no_step(loaded: modules.LoadedModule) -> None:
    """Every configuration takes the same time: the best guess stays, of hundreds of times once or
    twice not, and few are tried."""
    moved = 0
    for seed in range(20):
        device = FakeDevice(lambda _: 1.0, noise=0.03, seed=seed)
        found = tune(
            loaded, loaded.get_args(), device, device, settings=Settings(search=CoordinateDescent())
        )
        moved += was_searched(found)
        assert len(found.trials) <= 8 or was_searched(found)
    assert moved <= 2


def test_radius_jumps_over_a_ridge(loaded: modules.LoadedModule) -> None:
    world = dict.fromkeys(bowl(1, 1), 2.0)
    world[START] = 1.0
    goal = Config((("XBLOCK", 128),), 4)
    world[goal] = 0.5
    for radius, best in ((1, START), (2, goal)):
        view = Recorded(world)
        space = Space.of(loaded, H100)
        replay(CoordinateDescent(radius), space, view, [START], 100)
        assert view.best == best


def test_all_directions_find_a_diagonal_neighbour(loaded: modules.LoadedModule) -> None:
    world = dict.fromkeys(bowl(1, 1), 2.0)
    world[START] = 1.0
    goal = Config((("XBLOCK", 1024),), 8)
    world[goal] = 0.5
    for everywhere, best in ((False, START), (True, goal)):
        view = Recorded(world)
        search = CoordinateDescent(1, everywhere)
        replay(search, Space.of(loaded, H100), view, [START], 100)
        assert view.best == best


def test_guided_needs_no_more_measurements_than_descent_on_a_tilted_valley(
    loaded: modules.LoadedModule,
) -> None:
    space = Space.of(loaded, H100)
    world = {c: t for c, t in bowl(4096, 16, across=0.09).items() if space.allows(c)}
    best = min(world.values())
    needed = {}
    for search in (CoordinateDescent(), GuidedSearch(patience=6)):
        course = replay(search, space, Recorded(world), [START], 40)
        needed[search.name] = next((n for n, t in enumerate(course) if t <= best * 1.001), 99)
    assert needed["guided-24"] <= needed["descent"]


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_a_search_stays_within_its_space_and_ends(loaded: modules.LoadedModule, name: str) -> None:
    space = Space.of(loaded, H100)
    world = {c: t for c, t in bowl(256, 2).items() if space.allows(c)}
    view = Recorded(world)
    replay(search_named(name), space, view, [START], 10_000)
    assert not view.refused
    assert view.best is not None


def test_names_tell_searches_apart() -> None:
    assert len({search_named(name).name for name in SEARCHES}) == len(SEARCHES)
    with pytest.raises(UnknownName, match="descent"):
        search_named("decsent")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, 5), st.floats(0.0, 0.08))
def test_searches_never_lose_against_their_start(x: int, w: int, across: float) -> None:
    space = Space((("XBLOCK", tuple(1 << n for n in range(13))), ("num_warps", (1, 2, 4, 8, 16))))
    world = bowl(1 << x, 1 << w, across)
    searches: tuple[Search, ...] = (CoordinateDescent(), GuidedSearch())
    for search in searches:
        course = replay(search, space, Recorded(world), [START], 60)
        assert course == sorted(course, reverse=True)
        assert course[-1] <= world[START]


def test_the_model_interpolates_and_doubts_what_is_far() -> None:
    known = {(float(n),): 0.1 * (n - 3) ** 2 for n in range(6)}
    means, deviations = expected(known, [(2.5,), (20.0,)])
    assert means[0] == pytest.approx(0.025, abs=0.05)
    assert deviations[1] > deviations[0]


# The space.


def test_what_the_text_fixes_stays_fixed(tmp_path: Path) -> None:
    first = {"XBLOCK": 1, "R0_BLOCK": 512, "num_warps": 4, "num_stages": 1}
    extra = "PINNED = {'XBLOCK': 1, 'R0_BLOCK': 512}"
    points = {"x": 1000, "r0_": 300}
    loaded = with_configs(tmp_path, [first], category="per", points=points, extra=extra)
    space = Space.of(loaded, H100)
    assert space.free == ("num_warps",)
    assert {c.blocks for c in every(space)} == {(("XBLOCK", 1), ("R0_BLOCK", 512))}


def test_blocks_of_a_split_scan_fit_its_workspace(tmp_path: Path) -> None:
    first = {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 8, "num_stages": 1}
    extra = "PINNED = {'XBLOCK': 1}"
    points = {"x": 1, "r0_": 1 << 20}
    loaded = with_configs(tmp_path, [first], category="spl", points=points, extra=extra)
    assert {c.block("R0_BLOCK") for c in every(Space.of(loaded, H100))} == {
        LEAST_SCAN_BLOCK << k for k in range(5)
    }


def test_blocks_do_not_pass_what_masks_allow(tmp_path: Path) -> None:
    """Masks are left out where every allowed block divides the numel."""
    first = {"XBLOCK": 64, "YBLOCK": 16, "num_warps": 4, "num_stages": 1}
    points = {"x": 1 << 20, "y": 48}
    space = Space.of(with_configs(tmp_path, [first], points=points), H100)
    assert max(c.block("XBLOCK") for c in every(space)) == 4096
    assert max(c.block("YBLOCK") for c in every(space)) == 64
    for c in every(space):
        threads = 32 * c.num_warps
        elements = c.block("XBLOCK") * c.block("YBLOCK")
        assert threads <= 1024
        assert threads <= max(elements, 32) <= 128 * threads


def test_fp8_kernels_keep_their_elements_per_thread(tmp_path: Path) -> None:
    first = {"XBLOCK": 1024, "num_warps": 4, "num_stages": 1}
    loaded = with_configs(tmp_path, [first], extra="LEAST_PER_THREAD = 4")
    for c in every(Space.of(loaded, H100)):
        assert c.num_warps == 1 or c.block("XBLOCK") >= 4 * 32 * c.num_warps


def test_around_and_neighbours_agree(loaded: modules.LoadedModule) -> None:
    space = Space.of(loaded, H100)
    ring = Counter(space.around(START))
    single = [c for name in space.free for c in space.neighbours(START, name)]
    assert set(single) < set(ring)
    assert set(ring.values()) == {1}
    assert START not in ring
