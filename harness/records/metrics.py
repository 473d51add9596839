"""The metric registry: every figure that is recorded of kernels and graphs, in one table.

Whoever reads binaries, records, stores, indexes, tabulates, compares or follows metrics reads this
table. A new static metric is one more entry: its ``read`` says what it is of the facts of a
compiled binary.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.table import NOTHING, count, milliseconds, number


@dataclass(frozen=True, slots=True)
class StaticMetrics:
    """What a compiled binary says of one kernel under one configuration.

    ``registers`` per thread; ``spills`` bytes of spill stores and loads per thread;
    ``stack`` bytes of local memory per thread; ``shared`` bytes per block; ``instructions``
    in the binary (padding not counted); widest global accesses in bytes per thread;
    ``mix`` counts of instructions by group. ``chosen``: the configuration, where the module's
    first candidate was passed over (its names and values; empty otherwise)."""

    registers: int
    spills: int
    stack: int
    shared: int
    instructions: int
    widest_load: int
    widest_store: int
    mix: tuple[tuple[str, int], ...]
    chosen: tuple[tuple[str, int], ...] = ()


class Scope(enum.Enum):
    """What a metric is a figure of."""

    KERNEL = "kernel"
    GRAPH = "graph"
    PEER = "peer"
    """A region of a graph as another compiler makes it: no regression of ours."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure.

    ``name`` is what ``--metric`` takes, ``column`` what files and JSON call it, ``title`` what
    sentences do. ``exact``: it is read from the compiled binary, or known once the code is
    generated, so that each difference is a change; what is timed is a sample of a distribution.
    ``adds_up``: a group of kernels has the sum over its launches, else the worst
    kernel's. ``rank`` orders the metrics by how likely they are to explain a change of time, 1
    first; 0: not named as a cause. ``threshold`` is the relative change from which the metric
    decides a comparison without times (0: any; None: never), ``read`` takes a static metric from
    a binary. ``head`` and ``width`` are its column in the table of kernels (empty: none), ``text``
    writes a value there."""

    name: str
    column: str
    title: str
    exact: bool = True
    unit: str = ""
    lower_is_better: bool = True
    scope: Scope = Scope.KERNEL
    adds_up: bool = False
    rank: int = 0
    threshold: float | None = None
    read: Callable[[StaticMetrics], int] | None = None
    head: str = ""
    width: int = 5
    text: Callable[[float | None], str] = number

    def is_worse(self, before: float, after: float) -> bool:
        """Whether ``after`` is worse than ``before``."""
        return after > before if self.lower_is_better else after < before

    def of(self, kernel: Any) -> float | None:
        """The metric of a ``KernelRecord``; None if it is not known."""
        return kernel.metrics.get(self.column) if self.read else getattr(kernel, self.column)


def static_metric(
    name: str, read: Callable[[StaticMetrics], int], rank: int, title: str = "", **rest: Any
) -> Metric:
    """A metric that ``read`` takes from a binary; ``column`` and ``title`` are its ``name`` unless
    they are given."""
    column = rest.pop("column", name)
    return Metric(name, column, title or name, read=read, rank=rank, **rest)


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.0f} %"


_GRAPH = Scope.GRAPH
_RATE: dict[str, Any] = {"exact": False, "lower_is_better": False}
_SHOWN_SHARE: dict[str, Any] = {"head": "of peak", "width": 12, "text": _share}
_TRAFFIC: dict[str, Any] = {"adds_up": True, "head": "bytes", "text": count}
_MEMORY: dict[str, Any] = {"unit": "bytes", "head": "smem", "text": count}
_LOAD = {"title": "load width", "column": "widest_load"}
_STORE = {"title": "store width", "column": "widest_store"}
_WIDTH: dict[str, Any] = {"unit": "bytes", "lower_is_better": False, "threshold": 0.0}

METRICS: tuple[Metric, ...] = (
    Metric("ms", "ms", "time", exact=False, unit="ms", head="ms", width=7, text=milliseconds),
    Metric("gbps", "gbps", "bandwidth", unit="GB/s", head="GB/s", width=6, **_RATE),
    Metric("fraction", "fraction", "share of peak", **_RATE, **_SHOWN_SHARE),
    Metric("codegen", "codegen_seconds", "code generation", exact=False, unit="s", scope=_GRAPH),
    Metric("peers", "ms", "time of other compilers", exact=False, unit="ms", scope=Scope.PEER),
    Metric("bytes", "bytes", "bytes", unit="bytes", rank=3, threshold=0.001, **_TRAFFIC),
    static_metric("registers", lambda b: b.registers, 7, head="regs", width=4),
    static_metric("spills", lambda b: b.spills, 1, unit="bytes", threshold=0.0, head="spill"),
    static_metric("stack", lambda b: b.stack, 2, unit="bytes"),
    static_metric("shared", lambda b: b.shared, 8, "shared memory", **_MEMORY),
    static_metric(
        "instructions", lambda b: b.instructions, 6, adds_up=True, threshold=0.1, head="instr"
    ),
    static_metric("load-width", lambda b: b.widest_load, 4, **_LOAD, **_WIDTH),
    static_metric("store-width", lambda b: b.widest_store, 5, **_STORE, **_WIDTH),
    Metric("kernels", "kernels", "kernels", scope=_GRAPH),
    Metric("launches", "launches", "launches", scope=_GRAPH),
)
"""Every metric, in the order of columns and tables. Read when it is needed, never copied."""


def names() -> list[str]:
    """What ``--metric`` takes."""
    return [metric.name for metric in METRICS]


def named(name: str) -> Metric:
    """The metric of that name. Raises ``KeyError``."""
    return {metric.name: metric for metric in METRICS}[name]


def static() -> list[Metric]:
    """The metrics that are read from a binary, in the order of their columns."""
    return [metric for metric in METRICS if metric.read is not None]


def by_rank() -> list[Metric]:
    """The metrics that can explain a change of time, most likely first."""
    return sorted((metric for metric in METRICS if metric.rank), key=lambda m: (m.rank, m.name))


def shown() -> list[Metric]:
    """The metrics that have a column in the table of kernels."""
    return [metric for metric in METRICS if metric.head]


def read_static(binary: StaticMetrics) -> dict[str, int]:
    """Every static metric of ``binary``, by column."""
    return {metric.column: metric.read(binary) for metric in METRICS if metric.read is not None}


def spread(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kernel's record with its static metrics as columns in the place of the
    mapping: all of them, None for those that are not known."""
    found: dict[str, Any] = {}
    for name, value in kernel.items():
        if name == "metrics":
            found |= {metric.column: value.get(metric.column) for metric in static()}
        else:
            found[name] = value
    return found


def gathered(row: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of ``spread``. Columns that are missing or empty are not known."""
    known = {m.column: row[m.column] for m in static() if row.get(m.column) is not None}
    rest = {name: value for name, value in row.items() if name not in known}
    return {**rest, "metrics": {**row.get("metrics", {}), **known}}
