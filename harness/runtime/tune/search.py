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

    def time(self, config: Config) -> float | None:
        """Its time in milliseconds; None if it has none."""

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
    """Asks a model of the times where an improvement is most to be expected.

    The model is a Gaussian process over the logarithms of the fields (and of the times, so that a
    factor counts the same at every scale): what lies a factor of two away, in one field or in
    several at once, is likely about as fast as its neighbours. Its kernel is a squared exponential
    with one length; length, variance and nugget are chosen by likelihood over a small grid. Asked
    about are configurations one step (in any number of fields) from one of the ``fronts`` fastest
    that are within ``close`` of the best; farther out the model knows nothing, and exploring there
    was measured to be worse than chance. ``together`` are chosen at a time, as many as compile in
    parallel. Ends after ``patience`` batches without an improvement, or ``most`` measurements. The
    constants are from replays on recorded tunings (docs/measurements/tuning.md).
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
        """Batches by expected improvement, best first."""
        left, idle = self.most, 0
        while left > 0 and idle < self.patience and view.best is not None:
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
            gains = expected_improvements(known, list(points.values()))
            at = max(range(len(gains)), key=lambda n: (gains[n].gain, -n))
            config = list(points)[at]
            known[points.pop(config)] = gains[at].mean
            chosen.append(config)
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
    batch = [c for c in options if not view.tried(c)]
    if batch:
        yield batch


def _step(options: list[Config], current: Config, view: View) -> Config:
    """The fastest of ``options`` that improves on ``current``, else ``current``."""
    better = [c for c in options if view.improves(c, current)]
    return min(better, key=lambda c: view.time(c) or math.inf) if better else current


# -- the model of GuidedSearch -----------------------------------------------------------

Point = tuple[float, ...]

_LENGTHS = (1.0, 1.5, 2.5, 4.0)
"""Steps (factors of two) over which times are alike."""
_NUGGETS = (1e-4, 1e-2)
"""Share of the variance that is not a function of the fields: noise, and layout effects."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the model says of a point: the mean of the logarithm of its time, its standard
    deviation, and the expected gain over the best known (difference of logarithms)."""

    mean: float
    deviation: float
    gain: float


def expected_improvements(known: Mapping[Point, float], points: Sequence[Point]) -> list[Expected]:
    """What to expect at ``points``, given logarithms of times at ``known`` ones."""
    if not known or not points:
        return [Expected(0.0, 0.0, 0.0) for _ in points]
    at = np.array(list(known), dtype=float)
    values = np.array(list(known.values()), dtype=float)
    # Far behind is far behind: how far would only bend the model where it matters.
    values = np.minimum(values, values.min() + 1.0)
    centre = float(values.mean())
    model = max(
        (
            _fitted(at, values - centre, length, nugget)
            for length in _LENGTHS
            for nugget in _NUGGETS
        ),
        key=lambda fit: fit.likelihood,
    )
    asked = np.array(list(points), dtype=float)
    across = _alike(asked, at, model.length)
    means = across @ model.weights + centre
    solved = np.linalg.solve(model.lower, across.T)
    left = np.maximum(1e-12, 1.0 + model.nugget - (solved**2).sum(axis=0))
    deviations = np.sqrt(left * model.variance)
    best = float(values.min())
    return [
        Expected(float(m), float(d), _gain(best, float(m), float(d)))
        for m, d in zip(means, deviations, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Fit:
    length: float
    nugget: float
    variance: float
    lower: Any
    weights: Any
    likelihood: float


def _fitted(at: Any, values: Any, length: float, nugget: float) -> _Fit:
    count = len(values)
    lower = np.linalg.cholesky(_alike(at, at, length) + nugget * np.eye(count))
    weights = np.linalg.solve(lower.T, np.linalg.solve(lower, values))
    variance = max(1e-8, float(values @ weights) / count)
    likelihood = -0.5 * count * math.log(variance) - float(np.log(np.diag(lower)).sum())
    return _Fit(length, nugget, variance, lower, weights, likelihood)


def _alike(left: Any, right: Any, length: float) -> Any:
    squares = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squares / length**2)


def _gain(best: float, mean: float, deviation: float) -> float:
    """Expected improvement: the mean of max(0, best - value) for a normal value."""
    z = (best - mean) / deviation
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + math.erf(z / math.sqrt(2)))
    return (best - mean) * below + deviation * density
