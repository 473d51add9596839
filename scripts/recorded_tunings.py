"""Searches replayed on recorded tunings: what each would have found, and at which price."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.heuristics.facts import Config
from harness.runtime.tune.search import Search
from harness.runtime.tune.space import STAGES, WARPS, Space


def every(space: Space, options: tuple[tuple[str, int], ...] = ()) -> Iterator[Config]:
    """Every configuration with ``options`` that ``space`` allows, in the order of the fields'
    values."""
    names = [name for name, _ in space.values]
    for chosen in itertools.product(*(values for _, values in space.values)):
        given = dict(zip(names, chosen, strict=True))
        blocks = tuple((n, v) for n, v in given.items() if n not in (WARPS, STAGES))
        config = Config(blocks, given[WARPS], given.get(STAGES, 1), options)
        if space.allows(config):
            yield config


@dataclass(eq=False, slots=True)
class Recorded:
    """A tuning that took place, as a ``View``: what a search would have found at which price.

    ``world`` holds the time of every configuration that may be visited; ``noise`` is the
    relative difference that does not count.
    """

    world: Mapping[Config, float]
    noise: float = 0.0
    times: dict[Config, float] = field(default_factory=dict)
    refused: set[Config] = field(default_factory=set)

    @property
    def best(self) -> Config | None:
        """The fastest visited."""
        return min(self.times, key=lambda c: self.times[c]) if self.times else None

    def tried(self, config: Config) -> bool:
        """Whether it was visited."""
        return config in self.times or config in self.refused

    def improves(self, config: Config, over: Config) -> bool:
        """Whether it is faster by more than ``noise``."""
        if config not in self.times or over not in self.times:
            return False
        return self.times[config] < self.times[over] * (1 - self.noise)

    def visit(self, config: Config) -> None:
        """Look ``config`` up."""
        if config in self.world:
            self.times[config] = self.world[config]
        else:
            self.refused.add(config)


def replay(
    search: Search, space: Space, view: Recorded, start: list[Config], most: int
) -> list[float]:
    """The best time known after each measurement of ``search`` on a recorded tuning, the
    ``start`` candidates included, ``most`` measurements in all. What was not recorded costs
    nothing and cannot be visited."""
    course: list[float] = []

    def look(config: Config) -> None:
        if view.tried(config) or len(course) >= most:
            return
        view.visit(config)
        if config in view.times:
            course.append(min(view.times.values()))

    for config in start:
        look(config)
    for batch in search.batches(space, view):
        for config in batch:
            look(config)
        if len(course) >= most:
            break
    return course
