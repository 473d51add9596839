"""Searches: which configurations to time next, given the times of those before.

A search is a generator of batches. After each batch it looks at the ``View``, which knows the
time of everything tried so far and whether a difference is more than noise. Nothing in a search
knows how times come about, so that it can be replayed on recorded tunings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.errors import unknown
from harness.heuristics.facts import Config
from harness.runtime.tune.space import Space


class View(Protocol):
    """What is known so far."""

    @property
    def best(self) -> Config | None:
        """The fastest configuration, ahead of the one before by more than noise."""

    def tried(self, config: Config) -> bool:
        """Whether ``config`` was tried, with or without a time."""

    def improves(self, config: Config, over: Config) -> bool:
        """Whether ``config`` is faster than ``over`` by more than the measured noise."""

    @property
    def times(self) -> Mapping[Config, float]:
        """The time of everything that was timed."""


@dataclass(frozen=True)
class Search:
    """Batches of configurations to try. Of itself it tries none: the given candidates are all."""

    @property
    def name(self) -> str:
        """Its kind and its options, by which records and caches tell searches apart."""
        return "none"

    def batches(self, space: Space, view: View) -> Iterator[list[Config]]:
        """The next configurations, none of them tried before, until the search is done."""
        del space, view
        return iter(())


@dataclass(frozen=True)
class CoordinateDescent(Search):
    """From the best known configuration, one field at a time: to a neighbour that is faster by
    more than noise, until no field has one.

    ``radius`` is how many steps (factors of two) a neighbour may be away; with ``all_directions``
    every combination of steps is tried where single fields give nothing any more.
    """

    radius: int = 1
    all_directions: bool = False

    @property
    def name(self) -> str:
        """``descent``, the radius if it is not 1, ``all`` with all directions."""
        far = f"-{self.radius}" if self.radius != 1 else ""
        return f"descent{far}{'-all' if self.all_directions else ''}"

    def batches(self, space: Space, view: View) -> Iterator[list[Config]]:
        """One field's neighbours at a time."""
        if view.best is None:
            return
        current = view.best
        moved = True
        while moved:
            start = current
            for name in space.free:
                options = space.neighbours(current, name, self.radius)
                yield from _untried(options, view)
                current = _step(options, current, view)
            if current == start and self.all_directions:
                options = space.around(current, self.radius)
                yield from _untried(options, view)
                current = _step(options, current, view)
            moved = current != start


@dataclass(frozen=True)
class GuidedSearch(Search):
    """Asks a model of the times where the least is to be expected.

    The model is a Gaussian process over the logarithms of the fields (and of the times, so that a
    factor counts the same at every scale): what lies a factor of two away, in one field or in
    several at once, is likely about as fast as its neighbours. Its kernel is a squared exponential.
    Next comes what has the lowest mean less one deviation of the configurations one step (in any
    number of fields) from one of the ``fronts`` fastest that are within ``close`` of the best;
    farther out the model knows nothing, and exploring there was measured to be worse than chance.
    ``together`` are chosen at a time, as many as compile in parallel. Ends after ``patience``
    batches without an improvement, or ``most`` measurements. The constants are from replays on
    recorded tunings (docs/measurements/tuning.md).
    """

    together: int = 4
    most: int = 24
    patience: int = 3
    fronts: int = 5
    close: float = 0.1

    @property
    def name(self) -> str:
        """``guided`` and the most measurements it makes."""
        return f"guided-{self.most}"

    def batches(self, space: Space, view: View) -> Iterator[list[Config]]:
        """Batches, most promising first."""
        left, idle = self.most, 0
        while idle < self.patience and view.best is not None:
            before = view.best
            batch = self._next(space, view)[:left]
            if not batch:
                return
            yield batch
            left -= len(batch)
            idle = 0 if view.best != before else idle + 1

    def _near(self, space: Space, view: View) -> list[Config]:
        """What has not been tried around the fastest, in a fixed order."""
        times = view.times
        ranked = sorted(times, key=lambda c: (times[c], space.point(c)))[: self.fronts]
        fronts = [c for c in ranked if times[c] <= times[ranked[0]] * (1 + self.close)]
        near = dict.fromkeys(c for front in fronts for c in space.around(front))
        return [c for c in near if not view.tried(c)]

    def _next(self, space: Space, view: View) -> list[Config]:
        """Up to ``together``, each chosen as if the ones before it had come out as the model
        thinks."""
        known = {space.point(c): math.log(t) for c, t in view.times.items() if t > 0}
        chosen: list[Config] = []
        points = {c: space.point(c) for c in self._near(space, view)}
        while len(chosen) < self.together and points:
            means, deviations = expected(known, list(points.values()))
            at = int(np.argmin(means - deviations))
            chosen.append(list(points)[at])
            known[points.pop(chosen[-1])] = float(means[at])
        return chosen


SEARCHES: dict[str, Callable[[], Search]] = {
    "none": Search,
    "descent": CoordinateDescent,
    "descent-all": lambda: CoordinateDescent(all_directions=True),
    "descent-2": lambda: CoordinateDescent(radius=2),
    "guided": GuidedSearch,
}
"""Searches by the name that ``harness tune --search`` takes."""


def search_named(name: str) -> Search:
    """The search called ``name``. Raises ``UnknownName``."""
    if name in SEARCHES:
        return SEARCHES[name]()
    raise unknown("there is no such search", name, SEARCHES, "--search", most=None)


def _untried(options: list[Config], view: View) -> Iterator[list[Config]]:
    if batch := [c for c in options if not view.tried(c)]:
        yield batch


def _step(options: list[Config], current: Config, view: View) -> Config:
    """The fastest of ``options`` that improves on ``current``, else ``current``."""
    better = [c for c in options if view.improves(c, current)]
    return min(better, key=view.times.__getitem__) if better else current


Point = tuple[float, ...]

_LENGTH = 4.0
"""Steps (factors of two) over which times are alike."""
_NUGGET = 0.01
"""Share of the variance that is not a function of the fields: noise, and layout effects."""


def expected(known: Mapping[Point, float], points: Sequence[Point]) -> tuple[Any, Any]:
    """Means and deviations at ``points`` of what is known at others, at one at least."""
    at, asked = np.array(list(known)), np.array(points)
    values = np.array(list(known.values()))
    # Far behind is far behind: how far would only bend the model where it matters.
    values = np.minimum(values, values.min() + 1.0)
    centre = values.mean()
    across = _alike(asked, at)
    right = np.column_stack([values - centre, across.T])
    solved = np.linalg.solve(_alike(at, at) + _NUGGET * np.eye(len(at)), right)
    variance = max(1e-8, (values - centre) @ solved[:, 0] / len(at))
    left = np.maximum(0.0, 1.0 + _NUGGET - (across * solved[:, 1:].T).sum(axis=1))
    return across @ solved[:, 0] + centre, np.sqrt(left * variance)


def _alike(left: Any, right: Any) -> Any:
    squares = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squares / _LENGTH**2)
