"""Nights with a budget, or nothing to do, and what a night says while it works."""

from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.history import nights
from harness.history.nights import Change, Light
from harness.verdicts import nightly
from harness.verdicts.night_plan import DETECT
from tests.verdicts.night_world import MACHINE, World, made, world
from tests.verdicts.test_nightly import slow

__all__ = ["world"]


def test_a_budget_that_does_not_reach_anything(world: World) -> None:
    world.start()
    slow(world, 3, 0.03)
    night = world.night(minutes=0.01)
    assert night.status == 4
    assert night.not_measured == ("g/k3",)
    assert DETECT > 1


def test_what_was_timed_before_it_was_examined_is_measured_and_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start()
    for number in range(3):
        slow(world, number, 0.02)
    monkeypatch.setattr("harness.verdicts.nightly._EXAMINING", 0.0)
    night = world.night(minutes=10)
    assert (night.status, night.light) == (0, Light.AMBER)
    assert night.not_measured == ()
    assert night.unexamined == ("g/k0", "g/k1", "g/k2")
    assert [found.verdict for found in night.findings] == ["SAME"] * 3
    assert night.counts == {"same": 9, "changed": 3, "not examined": 3}
    assert world.lines[0] == "AMBER: no confirmed regression, 3 not checked"
    assert "timed in their default configuration, not checked:" in world.lines


def test_what_a_night_is_at_and_how_far(world: World) -> None:
    world.start()
    slow(world, 3, 0.03)
    slow(world, 4, 0.02)
    world.night()
    steps = list(dict.fromkeys(world.steps))
    assert steps[:6] == [
        ("generating", 0, 1),
        ("generating, last g", 1, 1),
        ("taking the GPU", 0, 2),
        ("checking g", 0, 2),
        ("examining, last k3", 1, 2),
        ("examining, last k4", 2, 2),
    ]
    assert steps[6:] == [("compiling before timing", 0, 36), ("compiling before confirming", 0, 48)]


@pytest.mark.parametrize("started", [True, False])
def test_a_suite_without_graphs_is_no_green_night(world: World, started: bool) -> None:
    if started:
        world.start()
    world.suite = {}
    with pytest.raises(UsageError, match="the suite has no graphs"):
        world.night()
    assert not nights.nights(world.results)


def test_graphs_without_kernels_are_neither_green_nor_a_baseline(world: World) -> None:
    kernels, world.suite["g"] = world.suite["g"], []
    for _ in range(2):
        night = world.night()
        assert (night.light, night.status) == (Light.AMBER, nightly.UNUSABLE)
        assert world.lines[0] == "AMBER: there are no kernels to compare"
        assert nights.read_baseline(world.results / MACHINE.key) is None
    world.suite["g"] = kernels
    assert world.night().light is Light.GREEN
    world.suite["g"] = []
    night = world.night()
    assert (night.light, night.counts) == (Light.AMBER, {"ended": 12})


def test_a_night_of_a_graph_that_the_baseline_lacks_says_that_it_is_new(world: World) -> None:
    world.start()
    world.suite["h"] = [(made("k20", "other", 0.02), 1)]
    night = world.night("h")
    assert [(one.graph, one.change) for one in night.findings] == [("h", Change.NEW)]
    assert world.lines[0] == "GREEN: no confirmed regression"
