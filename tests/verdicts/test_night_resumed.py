"""What nights before this one found out, and measured, is not asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from harness.history import store
from harness.session import ahead
from tests.measure.fakes import FakeEntry
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
    assert world.said == ["1 kernel known from a night that was interrupted"]
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


def test_what_the_compiler_generated_before_is_not_generated_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start()
    generated: list[str] = []
    real = ahead.all_generated

    def all_generated(entries: Sequence[FakeEntry], *given: Any) -> Iterator[Any]:
        generated.extend(entry.name for entry in entries)
        return real(entries, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(ahead, "all_generated", all_generated)
    texts = lambda entry: "".join(k.module.text for k in entry.compile().kernels)  # noqa: E731
    monkeypatch.setattr(ahead, "key", texts)
    first = world.night()
    said = "1 of 1 graph not generated again: the compiler and their texts are as they were"
    assert generated == ["g"] and said not in first.notes
    again = world.night()
    assert generated == ["g"] and again.counts == first.counts
    assert said in again.notes
    slow(world, 3, 0.021)
    assert world.night().status == 1
    assert generated == ["g", "g"]
    for path in world.results.glob("*/2*-bbbbbbbbbbbb.parquet"):
        path.unlink()
    generated.clear()
    night = world.night()
    assert not generated, "a graph of which something is examined is generated for that"
    assert world.examined == ["k3", "k3"] and night.status == 1
