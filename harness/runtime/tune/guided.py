"""A model of a kernel's times: a Gaussian process over the logarithms of its launch fields.

Times are modelled as logarithms, so that a factor counts the same at every scale. The kernel
is a squared exponential with one length for all fields; length, variance and nugget are chosen
by the likelihood of what was measured, over a small grid. For tens of points this takes
fractions of a millisecond and is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
