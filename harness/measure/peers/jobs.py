"""What the worker that compares compilers is asked, and what it answers: data without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.devices.job import Job
from harness.heuristics.facts import Config
from harness.records.timing import WIDTH, Samples

if TYPE_CHECKING:
    from harness.compiled import CompiledRegion
    from harness.graph.model import Graph

TIMING = "timing"
"""The step of a ``CompareJob`` at which all compilers are timed, interleaved."""


@dataclass(frozen=True, eq=False, slots=True)
class CompareJob(Job):
    """Compare ``names`` (what they are compared with among them) on ``work``: a region, or the
    text of a user's kernel. ``configs`` are tuned configurations by module text. Its steps are the
    names that are about to be run, then ``TIMING``. Medians are wanted to ``width``: compilers
    differ by more, and a sample takes half as long. Answers a ``Peer`` for each name."""

    handler: ClassVar[str] = "harness.measure.peers.worker:compare_region"
    work: CompiledRegion | str
    names: tuple[str, ...]
    configs: dict[str, Config]
    budget_ms: float = 120.0
    width: float = 2 * WIDTH
    seed: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class WarmJob(Job):
    """Compile ``graph`` with Inductor, ``tuned`` or not, so that it is in the cache. Answers why
    not, if it cannot."""

    handler: ClassVar[str] = "harness.measure.peers.worker:warm"
    graph: Graph
    tuned: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """One provider: its samples and its error, or why there are none. With samples a
    ``reason`` says what is not like the others about them. ``passed`` is None where there is
    no result to check."""

    samples: Samples | None = None
    error: float | None = None
    reason: str = ""
    passed: bool | None = None

    @property
    def ms(self) -> float | None:
        """Median in milliseconds."""
        return None if self.samples is None else self.samples.median
