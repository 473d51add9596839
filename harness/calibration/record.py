"""A calibration as data: what a device is asked, what was measured of each kernel, and what follows
from it; and its files beside a machine's runs. The handlers of the jobs are in
``calibration.worker``. Times are milliseconds, levels and effects relative (0.02 is two per cent).

``results/<machine>/calibration-<id>.json`` is a finished one; ``calibration-<id>.jsonl`` holds the
cells of one in progress, from which it can be resumed. Repeated measurements that slow nothing down
lie in ``sessions/`` beside them: they say nothing of power, and are never resumed.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.devices.job import Job
from harness.errors import UsageError
from harness.files import read_error, readable, write_atomically
from harness.records.lines import Kept, known_version
from harness.records.run import Machine, from_json, to_json

SCHEMA_VERSION = 1
"""Version of the file; raised when a reader of the old one would be wrong."""
CALIBRATION_METHOD = "spin-appended/2"
"""Version of how slowdowns are injected. 1: tallies that shared cache sectors, which made short
spins behind long kernels 0.13 µs longer than they counted."""

AGAIN = "again"
"""The subject that is the plain kernel once more; ``plain`` is the kernel itself."""
PLAIN = "plain"
LEVELS = (0.01, 0.02, 0.05, 0.10)
"""Injected slowdowns as shares of the kernel's own time."""
LONG_MS, SHORT_MS = 0.020, 0.003
"""Size classes: above 20 µs, 3 to 20 µs, below."""
_LEVELS = {"long": LEVELS[:3], "medium": LEVELS[1:], "short": LEVELS[2:]}


def slowed(level: float) -> str:
    """The subject with a spin of ``level`` of the kernel's time; 0: one that ends at once."""
    return f"spin {level:g}"


def size_class(ms: float) -> str:
    """``long`` above 20 µs, ``medium`` from 3 µs up, else ``short``."""
    return "long" if ms > LONG_MS else "medium" if ms >= SHORT_MS else "short"


def levels_for(ms: float) -> tuple[float, ...]:
    """Slowdowns worth injecting into a kernel of ``ms``: those near what can be found there."""
    return _LEVELS[size_class(ms)]


@dataclass(frozen=True, slots=True)
class CellJob(Job):
    """Measure one kernel in one process, plain twice, and, if it is to be ``slowed`` down, by
    shares of ``ms``, which is how long one launch takes (0: to be found out). The order of the
    subjects follows ``seed``. Answers a ``Cell``."""

    handler: ClassVar[str] = "harness.calibration.worker:cell"
    process: int
    kernel: str
    module_text: str
    slowed: bool
    ms: float
    seed: int
    budget_ms: float
    width: float


@dataclass(frozen=True, slots=True)
class Cell:
    """What one process measured of one kernel: samples by subject, and how many nanoseconds a spin
    of each lasted (``truth``), shares of ``ms``. ``reason`` says why there are none."""

    process: int
    kernel: str
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    truth: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel that is calibrated with: ``key`` names its code, ``module_text``, and ``ms`` is what
    one launch took at first (what levels are shares of)."""

    key: str
    name: str
    graph: str
    module_text: str = ""
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """``found`` of ``kernels``, with the 95 % interval of the share (Clopper and Pearson)."""

    found: int
    kernels: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself; 0 of nothing."""
        return self.found / self.kernels if self.kernels else 0.0


@dataclass(frozen=True, slots=True)
class Power:
    """How many kernels of a size class were called SLOWER when slowed down by ``level``;
    ``wrong`` counts those called FASTER. ``effect`` is the median of what the timer saw as a share
    of what the device's clocks say was injected."""

    size: str
    level: float
    share: Share
    wrong: int = 0
    effect: float | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of comparing: ``in turns`` (both in every process), ``two runs`` (some processes
    each). ``false_alarms`` are kernels called SLOWER or FASTER though nothing changed."""

    name: str
    processes: int
    false_alarms: Share
    alarmed: tuple[str, ...] = ()
    power: tuple[Power, ...] = ()


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest slowdown of a kernel that a comparison of two runs finds with 95 %
    probability, and interleaved. Between the two slowdowns ``blind``, above ``two_runs``, levels
    between processes keep two runs from finding any."""

    key: str
    name: str
    graph: str
    ms: float
    two_runs: float
    in_turns: float
    blind: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Medians:
    """A kernel's plain times, one per process, and each one's relative standard error: what a
    later session is held against."""

    key: str
    name: str
    graph: str
    ms: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """The spread between processes that kernels of a duration show here (``variance.Prior``),
    and between sessions (``session``, and ``absolute`` in ms², both variances), from which the
    detectable change of any kernel follows."""

    df: float
    kernels: int
    trend: tuple[float, ...]
    centre: float
    shortest: float
    longest: float
    session: float
    absolute: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A machine's calibration. ``complete`` is false for one that was interrupted."""

    id: str
    created: str
    machine: Machine
    method: str
    injection: str
    suite: str
    commit: str
    processes: int
    width: float
    alpha: float
    margin: float
    complete: bool
    modes: tuple[Mode, ...] = ()
    kernels: tuple[Detectable, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    noise: NoiseModel | None = None
    medians: tuple[Medians, ...] = ()
    schema: int = SCHEMA_VERSION


PREFIX, SUFFIX, JOURNAL = "calibration-", ".json", ".jsonl"
SESSIONS = "sessions"


def kept(folder: Path, resume: bool) -> Kept[Cell]:
    """A file for the cells of a calibration that begins now on the machine of ``folder``, or that
    of the last one that was interrupted. Raises ``UsageError`` if there is none."""
    if not resume:
        return Kept(folder / f"{PREFIX}{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S}{JOURNAL}", Cell)
    if not (found := sorted(folder.glob(f"{PREFIX}*{JOURNAL}"))):
        raise UsageError(
            "there is no interrupted calibration of this machine",
            where=str(folder),
            remedy="leave --resume out to begin one",
        )
    return Kept(found[-1], Cell)


def save(folder: Path, found: Calibration) -> Path:
    """Write ``found`` as a calibration's file in ``folder``. Raises ``RecordError``."""
    path = folder / f"{PREFIX}{found.id}{SUFFIX}"
    write_atomically(path, (json.dumps(to_json(found)) + "\n").encode(), mode=0o644)
    return path


def load(path: Path) -> Calibration:
    """The calibration in the file at ``path``. Raises ``RecordError``."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        version = value.get("schema") if isinstance(value, dict) else None
        if not isinstance(version, int):
            raise ValueError("it has no schema version")
    except (OSError, ValueError) as error:
        remedy = "check its permissions, or remove it and calibrate again"
        raise read_error(path, error, "a calibration", remedy) from error
    known_version(version, SCHEMA_VERSION, "a calibration", str(path))
    return from_json(Calibration, value, str(path))


def newest(results: Path, machine: str, method: str) -> Calibration | None:
    """The newest calibration of the machine called ``machine`` that was made by ``method``; None if
    there is none. Files that cannot be read are passed over."""
    every = sorted((results / machine).glob(f"{PREFIX}*{SUFFIX}"), reverse=True)
    # How slowdowns were injected has no part in the noise, which is what is asked for here.
    return next((one for one in readable(load, every) if one.method == method and one.noise), None)


def latest(results: Path) -> Path:
    """The file of the newest calibration of whatever machine. Raises ``UsageError``."""
    found = max(results.glob(f"*/{PREFIX}*{SUFFIX}"), key=lambda path: path.name, default=None)
    if found is None:
        remedy = "harness calibrate, on a machine with a GPU"
        raise UsageError("no machine has been calibrated yet", str(results), remedy=remedy)
    return found
