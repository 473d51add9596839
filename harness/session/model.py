"""What a session works with: compiled graphs, devices and other compilers as it needs them, and the
events it hands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.codegen.source import EmittedModule
from harness.heuristics.facts import Config
from harness.measure.jobs import Timing
from harness.records.run import GraphRecord, KernelRecord, LibraryCall, RegionRecord
from harness.runtime.interpret.interpreter import CheckResult

if TYPE_CHECKING:
    from harness.measure.peers.regions import Comparable


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A distinct kernel of a graph, and for each of its launches the nodes computed;
    ``region`` is the region of its first launch."""

    module: EmittedModule
    launches: tuple[tuple[str, ...], ...]
    region: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph after code generation; ``seconds`` is wall clock, Triton not included.
    ``failures`` stand for kernels that could not be generated; ``nodes`` are those of the
    graph as captured, ``regions`` what other compilers can be compared on.
    """

    kernels: tuple[CompiledKernel, ...]
    library_calls: tuple[LibraryCall, ...]
    seconds: float
    failures: tuple[KernelRecord, ...] = ()
    nodes: frozenset[str] = frozenset()
    regions: tuple[Comparable, ...] = ()


class Entry(Protocol):
    """A graph that can be compiled at full size, and small for the interpreter."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def compile(self) -> Compiled:
        """At full size. Raises ``HarnessError``."""

    def compile_small(self) -> Compiled | None:
        """At the small sizes declared beside it; None if there are none."""


class Device(Protocol):
    """A GPU. ``check`` and ``time`` raise ``HarnessError`` for a kernel that cannot run, and
    ``NoDevice`` when no kernel can any more."""

    @property
    def copy_gbps(self) -> float:
        """Copy bandwidth, measured in this process by the same method."""

    def prepare(self, modules: Sequence[EmittedModule]) -> None:
        """Compile what ``time`` will need, in parallel where possible."""

    def check(self, module: EmittedModule) -> CheckResult:
        """Run with poisoned outputs and compare with plain torch."""

    def time(self, module: EmittedModule) -> Timing:
        """Time every candidate and keep the fastest."""

    def again(
        self, module_text: str, name: str, config: Config, launches: int | None = None
    ) -> Timing:
        """Time a kernel under a configuration that is known, ``launches`` to a sample (the
        timer finds how many if None)."""

    def restart(self) -> None:
        """Go on in a fresh process."""


class Peers(Protocol):
    """Other compilers. ``compare`` raises ``NoDevice`` when nothing can be timed any more."""

    def prepare(self, work: Sequence[Comparable]) -> None:
        """Compile ahead, in parallel where possible."""

    def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[RegionRecord, ...]:
        """One row per compiler, ours first; ``configs`` are tuned ones by module text."""


@dataclass(frozen=True, slots=True)
class GraphStarted:
    """A graph's turn has come; ``position`` counts from 1 to ``total``."""

    name: str
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphCompiled:
    """A graph has become kernels, which are being examined."""

    name: str
    kernels: int


@dataclass(frozen=True, slots=True)
class KernelDone:
    """Everything about a kernel is known."""

    graph: str
    kernel: KernelRecord


@dataclass(frozen=True, slots=True)
class RegionDone:
    """A region is known for every compiler; ``position`` counts from 1 to ``total``."""

    graph: str
    rows: tuple[RegionRecord, ...]
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphDone:
    """Everything about a graph is known; its kernels are in launch order."""

    record: GraphRecord


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    """A fresh process begins to time ``kernels`` kernels; ``process`` counts from 0 to
    ``total`` - 1."""

    process: int
    total: int
    kernels: int


@dataclass(frozen=True, slots=True)
class TimedAgain:
    """A kernel has been timed in the current process, or could not be (``reason``)."""

    graph: str
    kernel: str
    reason: str = ""


Event = (
    GraphStarted | GraphCompiled | KernelDone | RegionDone | GraphDone | ProcessStarted | TimedAgain
)
