"""What a session works with, compiled graphs, and the events it hands out."""

from __future__ import annotations

from dataclasses import dataclass

from harness.codegen.source import EmittedModule
from harness.heuristics.facts import Config
from harness.measure.peers.jobs import Comparable
from harness.records.run import GraphRecord, KernelRecord, LibraryCall, RegionRecord


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A distinct kernel of a graph, and for each of its launches the nodes computed; ``region`` is
    the region of its first launch. ``config``: it is not tuned but timed in this configuration;
    ``earlier``: the tuner keeps one of these where nothing is faster."""

    module: EmittedModule
    launches: tuple[tuple[str, ...], ...]
    region: str = ""
    config: Config | None = None
    earlier: tuple[Config, ...] = ()


def blank(kernel: CompiledKernel) -> KernelRecord:
    """A kernel as it is known once it is generated."""
    module = kernel.module
    return KernelRecord(
        name=module.name,
        kind=module.category,
        bytes=module.bytes_moved,
        launches=len(kernel.launches),
        origins=module.origins,
        module=module.text,
        region=kernel.region,
    )


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph after code generation; ``seconds`` is wall clock, Triton not included. ``failures``
    stand for kernels that could not be generated; ``nodes`` are those of the graph as captured,
    ``regions`` what other compilers can be compared on, ``choices`` what was timed both ways."""

    kernels: tuple[CompiledKernel, ...]
    library_calls: tuple[LibraryCall, ...]
    seconds: float
    failures: tuple[KernelRecord, ...] = ()
    nodes: frozenset[str] = frozenset()
    regions: tuple[Comparable, ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphStarted:
    """A graph's turn has come."""

    name: str


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
    """A graph as it is known; its kernels are in launch order. ``again``: further processes are
    going to time it."""

    record: GraphRecord
    again: bool = False


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


@dataclass(frozen=True, slots=True)
class BoardLost:
    """One of several GPUs gave out: others get what it had not finished."""

    board: str
    reason: str

    def __str__(self) -> str:
        return f"{self.board} was lost, the others go on: {self.reason}"


Event = (
    GraphStarted
    | GraphCompiled
    | KernelDone
    | RegionDone
    | GraphDone
    | ProcessStarted
    | TimedAgain
    | BoardLost
)
