"""Runs as data: what one ``harness run`` learnt, ready to be kept for years.

Everything here is frozen, holds no live object, and converts to and from plain
JSON values (``to_json``, ``from_json``). Times are milliseconds, sizes bytes,
bandwidths GB/s (10^9 bytes); a number that was not measured is ``None``, never 0.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import msgspec

from harness.errors import HarnessError, RecordError
from harness.files import slug
from harness.records import metrics, modules
from harness.records.names import short
from harness.records.timing import Samples
from harness.records.trials import Trial
from harness.table import html, plural

SCHEMA_VERSION = 3
"""Version of the file format; raised when a reader of the old one would be wrong."""

EMPTY = "holds no kernels"
TWICE = "it is there twice: the first counts"
"""The ``problem`` of a kernel that the graph has already."""
_STUCK = 20
"""So many samples that are all equal are no measurement: a timer's ticks would show."""

T = TypeVar("T")


class Check(enum.Enum):
    """Whether a kernel computes what plain torch computes."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a run was made. ``key`` names the machine's folder below the results and decides which
    runs may be compared: processor or GPU and its driver. Clocks are MHz under the conditions of
    the run; multiprocessors and the L2 cache are what the driver says. Empty text and ``None`` mean
    unknown."""

    key: str
    cpu: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    system: str = ""
    gpu: str | None = None
    gpu_uuid: str | None = None
    driver: str | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    multiprocessors: int | None = None
    l2_bytes: int | None = None
    python: str = ""
    torch: str = ""
    triton: str = ""
    cuda: str | None = None

    @property
    def problem(self) -> str:
        """What is wrong with its name; empty if nothing is. The key of an imported run begins with
        where it came from."""
        gpu, key = (slug(name or "").replace("-", "") for name in (self.gpu, self.key))
        if not self.gpu or gpu in key:
            return ""
        return f"lies in the folder of {self.key} and was made on {self.gpu}"


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel of one graph.

    ``kind`` is the category in the kernel's name (``poi``, ``per``, ``red``). ``launches``
    counts how often the graph launches this very text. ``metrics`` holds the static metrics that
    are known, by column (``records.metrics``); files and JSON have them side by side with the
    other fields. ``check_note`` says where it was
    checked or why not, ``allowed`` the largest error that passes. ``fraction`` is ``gbps``
    over the bandwidth that ``roof`` names (``copy``, ``read``, ``write``) in the same process, or
    the share of the arithmetic throughput (``compute``). ``low`` and ``high`` bound ``ms`` (95 %
    confidence, processes included); ``detectable`` is the smallest relative change that this
    machine's calibration can tell from noise. ``sets`` holds the samples by process, ``trials``
    every configuration that tuning looked at, ``mix`` the instructions by group. ``module`` is
    the emitted module's text, ``reason`` why the kernel has no numbers, if it has none."""

    name: str
    kind: str
    bytes: int
    launches: int = 1
    origins: tuple[str, ...] = ()
    metrics: dict[str, int] = field(default_factory=dict)
    check: Check = Check.SKIPPED
    check_note: str = ""
    max_error: float | None = None
    allowed: float | None = None
    config: dict[str, int] | None = None
    ms: float | None = None
    gbps: float | None = None
    fraction: float | None = None
    reason: str = ""
    module: str = ""
    region: str = ""
    roof: str = "copy"
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    sets: tuple[Samples, ...] = ()
    trials: tuple[Trial, ...] = ()
    mix: dict[str, int] | None = None

    @property
    def samples_ms(self) -> tuple[float, ...]:
        """Every sample in milliseconds, process after process."""
        return tuple(chain.from_iterable(samples.ms for samples in self.sets))

    @property
    def code_hash(self) -> str:
        """What names what the GPU runs. Two kernels that agree in it are one kernel, whichever
        graph nodes they come from. The kernel's name, where there is no module."""
        return modules.facts(self.module).code_hash if self.module else self.name

    def executes_as(self, other: KernelRecord) -> bool:
        """Whether both are the same code on the same kind of arguments, whatever their variables
        are called and whatever compiles them; false where a module is not recorded."""
        ours, theirs = (modules.facts(kernel.module) for kernel in (self, other))
        if not self.module or not other.module or ours.arguments != theirs.arguments:
            return False
        same = ours.code_hash == theirs.code_hash
        return same or modules.executed(self.module) == modules.executed(other.module)

    @property
    def failed(self) -> bool:
        """Whether this kernel did not compile or computes something else."""
        return self.check is Check.FAILED or bool(self.reason)

    @property
    def problem(self) -> str:
        """Why its samples are no times that it takes; empty if they are."""
        if self.launches < bool(self.module):  # what is imported is in no graph
            return f"it is launched {self.launches} times"
        samples = self.samples_ms
        every = (*samples, 1.0 if self.ms is None else self.ms)
        least, most = 1e-9, 1e9  # a femtosecond, 11 days
        if not least < min(every) <= max(every) < most or math.isnan(sum(every)):
            odd = next(ms for ms in every if not least < ms < most)
            number = math.isfinite(odd)
            return f"a sample is no {'time' if number else 'number'} ({odd:g}{' ms' * number})"
        if len(samples) >= _STUCK and min(samples) == max(samples):
            return f"all {len(samples)} samples are {samples[0]:g} ms: the timer stood still"
        other = {one.method for one in self.sets} - {"", "?"}
        return f"mixes methods of measuring: {', '.join(sorted(other))}" if other else ""

    def __repr__(self) -> str:
        time = "not timed" if self.ms is None else f"{self.ms:.4g} ms"
        return f"<kernel {self.name}: {time}, check {self.check.value}>"

    def _repr_html_(self) -> str:
        return kernels_html([("", [self])])


def region_of(kernel: KernelRecord) -> str:
    """The kernel's region; runs of the first format have it in the module alone."""
    return kernel.region or modules.facts(kernel.module).region


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """An operator left to torch, how often, and why it is not in a kernel."""

    operator: str
    count: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """What a compiler made of a region of a graph: the same inputs for every ``compiler``.

    ``ms`` is one pass through the region, ``kernels`` how many it launches; ``check`` is against
    eager torch in float64. ``count`` regions of the graph launch the same kernels; one of them
    was timed. ``reason`` says why there is no figure or, with a figure, what is not like the
    others about it (such a figure takes no part in means)."""

    region: str
    compiler: str
    ms: float | None = None
    low: float | None = None
    high: float | None = None
    kernels: int | None = None
    sets: tuple[Samples, ...] = field(default=(), repr=False)
    check: Check = Check.SKIPPED
    max_error: float | None = None
    reason: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The GPU's state while a run measured, from ``samples`` readings: clocks in MHz, the highest
    temperature in degrees Celsius, the median power in watts, and how many readings showed each
    reason for throttling."""

    samples: int = 0
    sm_mhz_low: float | None = None
    sm_mhz_median: float | None = None
    sm_mhz_high: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """One graph. ``codegen_seconds`` is graph to kernel source, wall clock; ``reason`` says why
    there are no kernels, if it could not be compiled. ``regions`` compares compilers; ``choices``
    say what was timed both ways before it was compiled."""

    name: str
    library_calls: tuple[LibraryCall, ...] = ()
    kernels: tuple[KernelRecord, ...] = ()
    codegen_seconds: float | None = None
    reason: str = ""
    regions: tuple[RegionRecord, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the graph or one of its kernels failed."""
        return bool(self.reason) or any(kernel.failed for kernel in self.kernels)

    @property
    def launches(self) -> int:
        """Kernel launches, repeats counted."""
        return sum(kernel.launches for kernel in self.kernels)

    @property
    def calls(self) -> Counter[str]:
        """How often each library operator is called, for whatever reasons."""
        found = Counter[str]()
        for call in self.library_calls:
            found[call.operator] += call.count
        return found

    @property
    def repeated(self) -> list[bool]:
        """Whether the graph has each kernel already, in their order."""
        keys = [(k.name, k.region, k.origins, k.module) for k in self.kernels]
        first = {key: place for place, key in reversed([*enumerate(keys)])}
        return [first[key] < place for place, key in enumerate(keys)]

    @property
    def problems(self) -> list[str]:
        """What is wrong with each kernel, in their order; empty where nothing is."""
        both = zip(self.kernels, self.repeated, strict=True)
        return [TWICE if again else kernel.problem for kernel, again in both]

    def __repr__(self) -> str:
        kernels = plural(len(self.kernels), "kernel")
        return f"<record of {self.name}: {kernels}, {plural(self.launches, 'launch')}>"

    def _repr_html_(self) -> str:
        return kernels_html([(self.name, self.kernels)])


@dataclass(frozen=True, slots=True)
class Run:
    """One run. ``created`` is UTC in ISO form; ``commit`` is empty outside a repository,
    ``dirty`` says the tree had uncommitted changes; ``method`` names the version of the way
    of measuring (numbers of different methods are not compared); ``complete`` is false
    for a run that was interrupted. Bandwidths are those of the first of its measuring
    ``processes``, ``state`` sums up clocks and throttling while it measured."""

    id: str
    created: str
    machine: Machine
    target: str
    suite: str = ""
    commit: str = ""
    dirty: bool = False
    method: str = ""
    copy_gbps: float | None = None
    complete: bool = True
    graphs: tuple[GraphRecord, ...] = ()
    read_gbps: float | None = None
    write_gbps: float | None = None
    fp32_tflops: float | None = None
    tensor_tflops: float | None = None
    processes: int = 1
    state: StateSummary | None = None

    @property
    def failed(self) -> bool:
        """Whether anything in it failed."""
        return any(graph.failed for graph in self.graphs)

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it, no reason either."""
        return not any(graph.kernels or graph.regions or graph.reason for graph in self.graphs)

    @property
    def kernels(self) -> list[KernelRecord]:
        """Those of all graphs."""
        return [kernel for graph in self.graphs for kernel in graph.kernels]

    def mapped(self, change: Callable[[str, KernelRecord], KernelRecord]) -> Run:
        """The run with each kernel as ``change`` makes it, which is given its graph's name, too."""
        graphs = (
            replace(graph, kernels=tuple(change(graph.name, kernel) for kernel in graph.kernels))
            for graph in self.graphs
        )
        return replace(self, graphs=tuple(graphs))

    def counts(self) -> Counter[str]:
        """Kernels by the outcome of their check, ``total`` and ``distinct`` (by code) beside."""
        counts = Counter(kernel.check.value for kernel in self.kernels)
        counts["total"] = len(self.kernels)
        counts["distinct"] = len({kernel.code_hash for kernel in self.kernels})
        return counts

    def __repr__(self) -> str:
        about = plural(len(self.graphs), "graph"), plural(len(self.kernels), "kernel")
        return f"<run {self.id}: {', '.join(about)}, {self.machine.gpu or self.machine.key}>"

    def _repr_html_(self) -> str:
        return kernels_html([(graph.name, graph.kernels) for graph in self.graphs])


def kernels_html(graphs: Iterable[tuple[str, Iterable[KernelRecord]]]) -> str:
    """Each graph's kernels as a table, for a notebook: the metrics that have a column."""

    def row(graph: str, kernel: KernelRecord) -> dict[str, object]:
        known = {"graph": graph, "kernel": short(kernel.name), "launches": kernel.launches}
        figures = {metric.head: metric.text(metric.of(kernel)) for metric in metrics.shown()}
        return known | figures | {"check": kernel.check.value}

    return html([row(graph, kernel) for graph, kernels in graphs for kernel in kernels])


def one_line(error: HarnessError) -> str:
    """An error as one line for a record: its condition, what it says, what was got."""
    parts = [f"{type(error).__name__}: {error.what}"]
    if error.got:
        parts.append(error.got.splitlines()[0])
    return "; ".join(parts)[:500]


def fields(record: Any, names: str) -> dict[str, Any]:
    """What ``record`` holds under ``names``, with blanks between them, by name."""
    return {name: getattr(record, name) for name in names.split()}


def to_json(value: Any) -> Any:
    """``value`` (a record or a part of one) as plain JSON values."""
    return msgspec.to_builtins(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a record holds a {type(value).__name__}")


def from_json(kind: type[T], value: Any, where: str) -> T:
    """The record of type ``kind`` that ``value`` describes.

    Fields that are missing take their default, unknown ones are ignored (a newer writer of the same
    schema version may add some); no value is turned into one of another type. ``where`` names the
    file, for the ``RecordError`` that a value of the wrong type raises."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$")
        expected, _, got = said.partition(", got ")
        raise RecordError(
            "a record does not hold what it should",
            where + place.rstrip("`"),
            got=got or said,
            expected=expected.removeprefix("Expected ") if got else kind.__name__,
        ) from error
