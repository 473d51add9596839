"""What a night costs, with a fake device and durations that a real one measured."""

from __future__ import annotations

import pytest

from harness import options
from harness.codegen import kernel as rendering
from harness.session.ahead import generated
from harness.session.entries import find_entries
from harness.session.model import Compiled, blank
from harness.target import H200
from harness.verdicts.night_plan import CONFIRM, CONTROLS, DETECT
from scripts.night_of_many import body_of
from tests.verdicts.night_world import World, made, world

__all__ = ["world"]

PAIR_S, PROCESS_S, EXAMINE_S = 0.364, 4.25, 5.0
"""Seconds as an H200 measured them: a pair in a process, a process with few pairs, checking and
tuning a kernel with its share of taking the GPU (docs/measurements/nightly.md, night-walk.md)."""


@pytest.mark.parametrize(("kernels", "slower"), [(600, 2), (600, 10)])
def test_ten_changed_kernels_of_many_take_three_minutes_of_gpu(
    world: World, kernels: int, slower: int
) -> None:
    world.suite = {
        f"g{graph}": [(made(f"k{graph}_{n}", f"n{n}", 0.02), 1) for n in range(100)]
        for graph in range(kernels // 100)
    }
    world.start()
    for n in range(10):
        graph = n % (kernels // 100)
        ms = 0.021 if n < slower else 0.02
        world.suite[f"g{graph}"][n] = (made(f"k{graph}_{n}", f"n{n}", ms, f"n{n} = 2"), 1)
    night = world.night()
    assert night.counts["same"] == kernels - 10
    assert len(night.regressions) == slower
    assert len(world.examined) == 10
    assert world.timed == [CONTROLS + 10, CONTROLS // 2 + slower]
    seconds = EXAMINE_S * 10 + sum(
        processes * max(PROCESS_S, PAIR_S * pairs)
        for processes, pairs in zip((DETECT, CONFIRM), world.timed, strict=True)
    )
    assert seconds <= 180


def test_the_script_knows_kernels_by_what_the_compiler_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else no kernel of its other package would change."""
    written, function = set(), rendering.function

    def kept(*given: object) -> tuple[dict[str, str], str]:
        found = function(*given)  # type: ignore[arg-type]
        written.add(found[1])
        return found

    monkeypatch.setattr(rendering, "function", kept)
    (entry,) = find_entries(options.current(), "default", ["unet_up_block_forward"], H200)
    _, found = generated(entry)
    assert isinstance(found, Compiled)
    bodies = [body_of(blank(kernel)) for kernel in found.kernels]
    assert bodies and set(bodies) <= written
