"""What can be compared: the distinct regions of a graph, or a user's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.compiled import CompiledRegion


@dataclass(frozen=True, eq=False, slots=True)
class Comparable:
    """A region, or the text of a user's kernel, as ``work``. ``count`` says how many regions of
    the graph launch the same kernels, ``kernels`` how many one pass launches."""

    name: str
    work: CompiledRegion | str
    count: int = 1
    kernels: int = 1


def comparables(regions: Sequence[CompiledRegion]) -> tuple[Comparable, ...]:
    """The distinct ones of a graph's regions: those that launch other kernels than the ones
    before them. An incomplete one is there too, as a row with the reason."""
    found: dict[tuple[str, ...], list[CompiledRegion]] = {}
    for number, region in enumerate(regions):
        if not region.launches and region.complete:
            continue
        texts = tuple(launch.kernel.module.text for launch in region.launches)
        found.setdefault(texts if region.complete else (str(number),), []).append(region)
    return tuple(
        Comparable(same[0].region.name, same[0], len(same), len(same[0].launches))
        for same in found.values()
    )
