"""What a tuning learns, as data: every configuration it tried and the one it chose."""

from __future__ import annotations

import enum
import statistics
from dataclasses import dataclass, field

from harness.heuristics.facts import Config


class Origin(enum.Enum):
    """Where a configuration came from."""

    HEURISTICS = "heuristics"
    SCALED = "scaled"
    """The R block halved after compiling, for more blocks at a time."""
    SEARCH = "descent"
    """Visited by coordinate descent or another search."""
    PREVIOUS = "pinned"
    """Given: by a lookup table, the tuning cache, or an earlier run."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a compiled kernel needs: registers and spilled registers per thread, shared memory in
    bytes per block; ``artifact`` names the binary (two configurations with the same one
    differ in the grid alone)."""

    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One launch configuration that was tried on a kernel: its samples, or the ``reason`` why it
    was not timed, and what its binary needs (as ``Resources``, without its name).

    ``level`` is its time in milliseconds with the drift between batches taken out (each batch
    times the best known configuration again): what the trials of one kernel are compared by;
    ``error`` is the standard error of that, None where there are too few samples to tell."""

    config: dict[str, int]
    origin: Origin = Origin.HEURISTICS
    samples_ms: tuple[float, ...] = field(default=(), repr=False)
    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    reason: str = ""
    level: float | None = None
    error: float | None = None

    @property
    def ms(self) -> float | None:
        """Median in milliseconds."""
        return statistics.median(self.samples_ms) if self.samples_ms else None

    @property
    def time(self) -> float | None:
        """``level`` where it is known, else the median."""
        return self.ms if self.level is None else self.level


@dataclass(frozen=True, slots=True)
class Tuned:
    """The chosen configuration, and every trial: the candidates in their order, then what
    else was tried, in the order it was.

    ``seconds`` is the wall clock the tuning took; ``noise`` the relative difference that it took
    for noise; ``source`` says how the choice was made (``timed``, ``only candidate``, ``cache``,
    ``lookup table``, ``interpreter``); ``partial`` why the tuning ended early."""

    config: Config
    trials: tuple[Trial, ...] = field(repr=False)
    seconds: float = 0.0
    noise: float = 0.0
    source: str = "timed"
    artifact: str = ""
    partial: str = ""


def standard_error(samples: tuple[float, ...]) -> float:
    """Standard error of the median: 1.2533 × deviation ÷ √n, the deviation from the quartiles,
    which outliers do not move. Infinite for fewer than three samples."""
    if len(samples) < 3:
        return float("inf")
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return 1.2533 * (high - low) / 1.349 / len(samples) ** 0.5


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of an ATen operator that writes to memory that is there: its name, the element type
    (torch's name), sizes and strides of each tensor, the result's last, and its numbers."""

    operator: str
    tensors: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    numbers: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """Launches in order: the text of each one's module, or a call, and the names of the buffers
    that each of its arguments stands for. Equal names are the same memory."""

    name: str
    steps: tuple[str | LibraryCall, ...]
    arguments: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Which way was taken, by place, and why; milliseconds of each where they were timed."""

    taken: int
    why: str
    ms: tuple[float, ...] = ()
