"""What nights before this one found out, and measured, is not asked again."""

from __future__ import annotations

import pytest

from harness.history import store
from tests.verdicts.night_world import MACHINE, World, world
from tests.verdicts.test_nightly import slow

__all__ = ["world"]


def test_an_interrupted_night_goes_on_where_it_stopped(world: World) -> None:
    world.start()
    slow(world, 3, 0.021)

    def interrupt() -> None:
        if len(world.timed) == 2:
            raise KeyboardInterrupt

    world.stop = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.night()
    assert world.examined == ["k3"]
    assert len(list(world.results.glob("*/nights/pairs-*.jsonl"))) == 1
    world.stop = lambda: None
    world.examined.clear()
    night = world.night()
    assert not list(world.results.glob("*/nights/pairs-*.jsonl")), "the night is over"
    assert world.said == ["1 kernels are known from a night that was interrupted"]
    assert not world.examined, "its configuration is known from the interrupted run"
    assert night.status == 1


def test_what_last_night_found_out_about_a_text_is_not_asked_again(world: World) -> None:
    world.start()
    slow(world, 3, 0.03)
    slow(world, 4, 0.02)
    assert world.night().status == 1
    world.commit = "c" * 40
    world.examined.clear()
    world.timed.clear()
    slow(world, 5, 0.02)
    night = world.night()
    assert world.examined == ["k5"]
    assert world.timed == [12, 5 + 1], "it is timed all the same: the baseline has not moved"
    assert [f.kernel for f in night.regressions] == ["k3"]
    kept = store.load(world.results / MACHINE.key / f"{night.run}.parquet")
    known = {kernel.name: kernel for kernel in kept.graphs[0].kernels}
    assert known["k3"].config
    assert known["k3"].ms is None, "last night's time is not tonight's"
    assert known["k5"].ms


def test_what_failed_last_night_is_asked_again(world: World) -> None:
    world.start()
    slow(world, 3, 0.03)
    world.broken = {"k3"}
    assert world.night().status == 3
    world.broken.clear()
    world.examined.clear()
    assert world.night().status == 1
    assert world.examined == ["k3"]
