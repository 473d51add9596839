"""What worker processes that time kernels are asked, and what they answer.

Plain data without torch, so that it travels between processes and a worker that stands in for a
GPU starts at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.records.run import Machine
from harness.records.timing import Samples
from harness.target import Target

PAIRS = "harness.measure.on_pairs:handlers"
"""The worker that times pairs of kernels."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The device as a worker found it; ``method`` names how it times."""

    target: Target
    machine: Machine
    method: str


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """A kernel: its module's text, its configuration (None: the module's best guess), how often it
    is launched."""

    module_text: str
    config: dict[str, int] | None = None
    launches: int = 1


@dataclass(frozen=True, slots=True)
class PairJob:
    """Kernels of A against kernels of B. ``a_first`` says which is named first; ``seed`` makes the
    arguments; ``budget_ms`` is wall clock, ``width`` what each median's interval should be
    narrower than (a share)."""

    a: tuple[TimedKernel, ...]
    b: tuple[TimedKernel, ...]
    a_first: bool
    seed: int
    budget_ms: float
    width: float


@dataclass(frozen=True, slots=True)
class PairSamples:
    """What one process measured of a job."""

    a: Samples
    b: Samples
