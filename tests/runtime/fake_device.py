"""A device with a clock of its own: a launch costs what its configuration is said to cost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from harness.errors import CompileFailed
from harness.heuristics.facts import Config
from harness.records.timing import Launch
from harness.records.trials import Resources
from harness.target import H100, Target


@dataclass
class FakeLaunch:
    device: FakeDevice
    config: Config
    resources: Resources
    work: Callable[[Sequence[Any]], None]

    def __call__(self, args: Sequence[Any]) -> None:
        self.device.run(self.config)
        self.work(args)


def nothing(_: Sequence[Any]) -> None:
    """A kernel's work that is not looked at."""


@dataclass
class FakeDevice:
    """``cost`` in milliseconds by configuration; ``noise`` the deviation of a sample, relative.

    ``slow`` are configurations whose next launches are slow: how many, by which factor.
    ``drift`` is what every sample adds to the clock's slowness. The device is gone after
    ``lost_after`` launches.
    """

    cost: Callable[[Config], float]
    noise: float = 0.0
    needs: Mapping[Config, Resources] = field(default_factory=dict)
    refused: Mapping[Config, str] = field(default_factory=dict)
    slow: dict[Config, tuple[int, float]] = field(default_factory=dict)
    work: Callable[[Sequence[Any]], None] = nothing
    drift: float = 0.0
    lost_after: int | None = None
    seed: int = 0
    now: float = 0.0
    launches: int = 0
    compiled: Counter[Config] = field(default_factory=Counter)
    timed: list[Config] = field(default_factory=list)
    target: Target = H100
    ahead: Callable[[Sequence[Config]], None] = lambda _: None
    parallel: int = 1

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    # What compiles.
    def __call__(self, config: Config) -> FakeLaunch:
        self.compiled[config] += 1
        if config in self.refused:
            raise CompileFailed("no", got=self.refused[config])
        needs = self.needs.get(config, Resources(32, 0, 0))
        return FakeLaunch(self, config, needs, self.work)

    # What runs.
    def run(self, config: Config) -> None:
        self.launches += 1
        if self.lost_after is not None and self.launches > self.lost_after:
            raise RuntimeError("CUDA error: device lost")
        factor = 1.0
        left, by = self.slow.get(config, (0, 1.0))
        if left:
            self.slow[config] = (left - 1, by)
            factor = by
        factor *= max(0.1, self.random.gauss(1.0, self.noise))
        self.now += self.cost(config) * factor * (1 + self.drift * self.launches)
        self.timed.append(config)

    # What samples.
    def sampler(self, _: object) -> Self:
        return self

    def settle(self) -> None:
        pass

    def warm_up(self) -> None:
        pass

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {name: [] for name in launches}
        names = list(launches)
        for turn in range(count):
            first = turn % len(names)
            for name in (*names[first:], *names[:first]):
                began = self.now
                launches[name]()
                found[name].append(self.now - began)
        return found
