"""Further passes over what a run has timed, each in a fresh process.

The first pass compiles, checks, tunes and times. The others time again, under the launch
configurations that the first one found: what differs then is the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.errors import HarnessError, NoDevice
from harness.measure.noise.processes import combined
from harness.measure.roofline import Limit
from harness.records.run import GraphRecord, KernelRecord
from harness.records.timing import Samples
from harness.runtime.module import config_from_dict

if TYPE_CHECKING:
    from harness.session.session import Device


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


Repeat = ProcessStarted | TimedAgain | GraphRecord


def repeated(device: Device, graphs: Sequence[GraphRecord], processes: int) -> Iterator[Repeat]:
    """Time the kernels of ``graphs`` in ``processes - 1`` further processes. Every graph comes
    out as it is known after each. Kernels of the same text are timed once in a process.

    A kernel that fails here keeps what it has. Raises ``NoDevice``.
    """
    current = list(graphs)
    timed = sum(_is_timed(k) for g in current for k in g.kernels)
    for process in range(1, processes if timed else 0):
        device.restart()
        yield ProcessStarted(process, processes, timed)
        known: dict[tuple[str, str], tuple[Samples, Limit | None] | HarnessError] = {}
        for position, graph in enumerate(current):
            kernels = []
            for kernel in graph.kernels:
                if _is_timed(kernel):
                    key = (kernel.module, str(kernel.config))
                    if key not in known:
                        known[key] = _again(device, kernel, process)
                    kernel, event = _joined(graph.name, kernel, known[key])
                    yield event
                kernels.append(kernel)
            current[position] = replace(graph, kernels=tuple(kernels))
            yield current[position]


def with_samples(record: KernelRecord, measured: Samples, limit: Limit | None) -> KernelRecord:
    """``record`` with one process's samples more, and what follows from all of them. The
    fraction is the mean over processes, each by its own bandwidths."""
    sets = (*record.sets, measured)
    found = combined(sets)
    fraction = record.fraction
    if limit is not None:
        before = 0.0 if fraction is None else fraction * (len(sets) - 1)
        fraction = (before + limit.fraction) / len(sets)
    return replace(
        record,
        ms=found.ms,
        low=found.low,
        high=found.high,
        sets=sets,
        gbps=record.bytes / found.ms / 1e6 if found.ms else None,
        fraction=fraction,
        roof=record.roof if limit is None else limit.roof,
    )


def _is_timed(kernel: KernelRecord) -> bool:
    return bool(kernel.sets) and kernel.config is not None and bool(kernel.module)


def _again(
    device: Device, kernel: KernelRecord, process: int
) -> tuple[Samples, Limit | None] | HarnessError:
    try:
        config = config_from_dict(kernel.config or {})
        found = device.again(kernel.module, kernel.name, config, kernel.sets[0].launches)
    except NoDevice:
        raise
    except HarnessError as error:
        return error
    return replace(found.samples, process=process), found.limit


def _joined(
    graph: str, kernel: KernelRecord, found: tuple[Samples, Limit | None] | HarnessError
) -> tuple[KernelRecord, TimedAgain]:
    if isinstance(found, HarnessError):
        return kernel, TimedAgain(graph, kernel.name, found.what)
    return with_samples(kernel, *found), TimedAgain(graph, kernel.name)
