"""Tables of kernels whose truth is known: what processes would have measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.measure.noise.estimate import Pair, Times

Array = NDArray[np.float64]
KERNELS = 259
"""As many as the default suite has."""


@dataclass(frozen=True)
class World:
    """Kernels from 3 µs to 1 ms. ``spread`` is the standard deviation between processes of a long
    kernel (short ones have more), ``alike`` the degrees of freedom by which kernels' variances
    resemble each other, ``session`` the standard deviation between runs, ``common`` that of what
    moves every kernel of a process. ``shape``: how a process is drawn (``normal``, ``heavy`` tails,
    ``levels``: every twentieth kernel is 8 % slower in three processes of ten)."""

    kernels: int = KERNELS
    spread: float = 0.004
    alike: float = 6.0
    session: float = 0.0
    common: float = 0.0
    shape: str = "normal"

    def times(self, chance: np.random.Generator) -> Array:
        low, high = np.log(0.003), np.log(1.0)
        return np.exp(chance.uniform(low, high, self.kernels))

    def deviations(self, ms: Array, chance: np.random.Generator) -> Array:
        scale = self.alike / chance.chisquare(self.alike, self.kernels)
        return np.sqrt((self.spread**2 + (5e-5 / ms) ** 2) * scale)

    def side(self, deviations: Array, processes: int, chance: np.random.Generator) -> Array:
        """Logarithms of process medians less the kernel's true time: (kernels, processes)."""
        shape = (self.kernels, processes)
        draw = chance.normal(size=shape)
        if self.shape == "heavy":
            draw = chance.standard_t(3, shape) / np.sqrt(3)
        found = draw * deviations[:, None]
        if self.shape == "levels":
            slow = (np.arange(self.kernels) % 20 == 0)[:, None]
            found = found + slow * 0.08 * (chance.random(shape) < 0.3)
        found = found + chance.normal(0, self.common, (1, processes))
        return found + chance.normal(0, self.session, (self.kernels, 1))


def table(
    world: World,
    processes: int,
    chance: np.random.Generator,
    effect: Array | float = 0.0,
    identical: float = 0.8,
) -> list[Pair]:
    """B's logarithms are ``effect`` above A's; of the kernels without effect, a share is said to be
    ``identical``."""
    ms = world.times(chance)
    deviations = world.deviations(ms, chance)
    effects = np.broadcast_to(np.asarray(effect, dtype=np.float64), ms.shape)
    a = np.log(ms)[:, None] + world.side(deviations, processes, chance)
    b = (np.log(ms) + effects)[:, None] + world.side(deviations, processes, chance)
    same = (effects == 0) & (chance.random(len(ms)) < identical)
    return [
        Pair(Times(tuple(np.exp(x))), Times(tuple(np.exp(y))), bool(s))
        for x, y, s in zip(a, b, same, strict=True)
    ]


def in_turns(
    world: World, processes: int, chance: np.random.Generator, effect: float = 0.0
) -> list[Pair]:
    """As ``table``, both sides in the same processes: offsets of a process are in both."""
    ms = world.times(chance)
    deviations = world.deviations(ms, chance)
    offset = world.side(deviations * 5, processes, chance)
    a = np.log(ms)[:, None] + offset + world.side(deviations, processes, chance)
    b = np.log(ms)[:, None] + effect + offset + world.side(deviations, processes, chance)
    return [
        Pair(Times(tuple(np.exp(x))), Times(tuple(np.exp(y)))) for x, y in zip(a, b, strict=True)
    ]


def samples(
    kernels: int,
    processes: int,
    count: int,
    noise: str,
    chance: np.random.Generator,
    offset: float = 0.003,
) -> Array:
    """Samples (kernels, processes, count) of kernels that take 1, with a process ``offset`` (its
    standard deviation) and 1 % of noise inside: ``white``, ``correlated R`` (autoregression of that
    strength), or ``bimodal`` (a fifth of the samples 5 % slower, five in a row)."""
    shape = (kernels, processes, count)
    shift = chance.normal(0, offset, (kernels, processes, 1))
    inner = chance.normal(0, 0.01, shape)
    if noise.startswith("correlated"):
        from scipy import signal  # three quarters of a second

        strength = float(noise.split()[1])
        inner = signal.lfilter([np.sqrt(1 - strength**2)], [1, -strength], inner, axis=-1)
    if noise == "bimodal":
        blocks = chance.random((kernels, processes, -(-count // 5))) < 0.2
        inner = inner * 0.2 + 0.05 * np.repeat(blocks, 5, axis=-1)[..., :count]
    return np.exp(shift + inner)
