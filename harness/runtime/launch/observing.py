"""Watching kernels inside real programs: whether they run at all, marks for torch's profiler, and
bandwidth, chosen when a graph is compiled. What is not watched is launched directly, so that
watching costs nothing when it is off."""

from __future__ import annotations

import functools
import logging
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.errors import DivisionByZero, HarnessError, IndexOutOfRange, NotFinite, RecordError
from harness.files import write_error
from harness.records.timing import Launch as Work
from harness.runtime import module as modules
from harness.runtime.launch.selecting import LaunchOn, SelectedKernel
from harness.runtime.tune.saved import Saved
from harness.table import plural

_log = logging.getLogger("harness.bandwidth")
_REPEATS = 10
_FLUSH_BYTES = 256 << 20
"""More than twice the largest L2 cache of a supported device (126 MiB)."""


@dataclass(eq=False, slots=True)
class Guarded:
    """The kernel of the module ``text``. Once a launch fails, ``failed`` is told, and its outputs
    are those of the module's reference from then on.

    A launch that fails has written nothing, so its arguments are all that is needed for that, even
    if it changes them: nobody has to keep a graph's inputs for another run.
    """

    text: str
    launch: LaunchOn
    failed: Callable[[HarnessError], None]
    instead: modules.LoadedModule | None = None

    def __call__(self, stream: int, *args: Any) -> None:
        """Run the kernel, or its reference. Raises what says that arguments are wrong, and what
        writing a file raises, which may be the account of a launch."""
        if self.instead is None:
            try:
                self.launch(stream, *args)
                return
            except (DivisionByZero, IndexOutOfRange, NotFinite, RecordError):
                raise
            except HarnessError as error:
                self.failed(error)
                self.instead = modules.load(self.text)
        # A result may lie in the memory of an argument that another one is written to.
        results = [torch.clone(one) for one in self.instead.reference(list(args))]
        for position, result in zip(self.instead.outputs, results, strict=True):
            args[position].copy_(result)


def unguarded(run: Callable[..., Any]) -> None:
    """Have the host function ``run``, which has run, launch kernels themselves, which is quicker,
    but for those that failed or are compiled again for other sizes."""
    for name, kernel in [*run.__globals__.items()]:
        if isinstance(kernel, Guarded) and kernel.instead is None:
            dynamic = "\nUNKNOWN_SIZES = " in kernel.text
            run.__globals__[name] = kernel if dynamic else kernel.launch


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A kernel whose launches are marked for ``torch.profiler``: an event called by the
    kernel's name, its file, the hash of its text, its grid and configuration, and the stream.

    They stand in the event's name because a trace shows what belongs to an event only where
    the profiler was told to record shapes.
    """

    selected: SelectedKernel
    launch: LaunchOn

    def __call__(self, stream: int, *args: Any) -> None:
        """Enqueue the kernel inside its mark."""
        with torch.profiler.record_function(self.mark(stream, args)):
            self.launch(stream, *args)

    def mark(self, stream: int, args: Sequence[Any]) -> str:
        """The event's name."""
        loaded, config = self.selected.loaded, self.selected.config
        digest = modules.text_hash(loaded.text)
        facts = f"{loaded.name} file={loaded.path} hash={digest} stream={stream}"
        if config is None:  # the first launch chooses
            return facts
        grid = "x".join(map(str, loaded.grid(config, args)))
        return f"{facts} grid={grid} {modules.config_text(config)}"


@dataclass(frozen=True, eq=False, slots=True)
class Asserted:
    """A kernel whose floating-point arguments are looked at: what it reads before it runs, what
    it writes afterwards. ``arguments`` are their names in order (``in_ptr0`` …), ``where`` says
    which kernel it is; ``infinite`` counts infinities as wrong, too."""

    where: str
    arguments: tuple[str, ...]
    launch: LaunchOn
    infinite: bool

    def __call__(self, stream: int, *args: Any) -> None:
        """Run the kernel. Raises ``NotFinite``."""
        self._look(args, "reads", "in_")
        self.launch(stream, *args)
        self._look(args, "writes", ("out_", "in_out_"))

    def _look(self, args: Sequence[Any], what: str, roles: str | tuple[str, ...]) -> None:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            return
        for name, value in zip(self.arguments, args, strict=True):
            floats = isinstance(value, torch.Tensor) and value.is_floating_point()
            if not floats or not name.startswith(roles):
                continue
            wide = value.float() if value.element_size() == 1 else value
            wrong = ~wide.isfinite() if self.infinite else wide.isnan()
            if wrong.any():
                raise NotFinite(
                    f"a kernel {what} {'NaN or infinities' if self.infinite else 'NaN'}",
                    self.where,
                    got=f"{name}: {int(wrong.sum())} of {value.numel()}, the first at "
                    + str(tuple(wrong.nonzero()[0].tolist())),
                    expected="no NaN" + (" and no infinity" if self.infinite else ""),
                    remedy="all kernels before it were right: look at the lines named here,"
                    " or at the library call that made what it reads",
                )


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel as it was timed the first time that it ran. ``nbytes`` are modelled."""

    name: str
    ms: float
    nbytes: int

    @property
    def gbps(self) -> float:
        """Bytes moved per second, in 10^9."""
        return self.nbytes / self.ms / 1e6 if self.ms else 0.0

    def __str__(self) -> str:
        size = f"{self.nbytes / 1e9:9.4f} GB"
        return f"{self.ms:9.4f} ms {size} {self.gbps:8.1f} GB/s  {self.name}"


def event_time(work: Work) -> float:
    """Milliseconds of one launch: the median of a few between device events, each after the L2
    cache was filled with something else."""
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(_REPEATS)]
    for begin, end in pairs:
        flush.zero_()
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs)


@dataclass(eq=False, slots=True)
class Bandwidth:
    """Times kernels whose name ``pattern`` finds, each once. ``file`` gets the same lines as
    the log (logger ``harness.bandwidth``, or standard error where nothing is set up to log)."""

    pattern: re.Pattern[str]
    file: Path | None = None
    time: Callable[[Work], float] = event_time
    rows: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._say([])  # a file that cannot be written is an error now, not after the first kernel
        _log.setLevel(logging.INFO)
        if not _log.hasHandlers():
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(message)s"))
            _log.addHandler(handler)

    def graph(self, name: str) -> GraphBandwidth:
        """The watch of one compiled graph."""
        return GraphBandwidth(name, self)

    def measure(self, selected: SelectedKernel, stream: int, args: Sequence[Any]) -> Row:
        """Time a kernel on the arguments of its launch, and leave them as they were."""
        loaded = selected.loaded
        saved = Saved.of([args[place] for place in loaded.outputs])
        try:
            ms = self.time(functools.partial(selected.kernel, stream, *args))
        finally:
            saved.restore()
        row = self.rows[selected.text] = Row(loaded.name, ms, loaded.bytes_moved)
        self._say([str(row)])
        return row

    def summary(self, graph: str, counts: Counter[str]) -> None:
        """Say where the time of a graph goes: kernels by text and how often they ran."""
        ran = [(self.rows[text], n) for text, n in counts.items() if text in self.rows]
        total = sum(row.ms * n for row, n in ran)
        ordered = sorted(ran, key=lambda pair: (-pair[0].ms * pair[1], pair[0].name))
        nbytes = sum(row.nbytes * n for row, n in ran)
        overall = f"{nbytes / total / 1e6:.1f} GB/s" if total else "no time"
        lines = [
            f"{graph}: {plural(len(ran), 'kernel')} in {plural(sum(n for _, n in ran), 'launch')},"
            f" {total:.4f} ms, {nbytes / 1e9:.4f} GB, {overall}"
        ]
        for row, n in ordered:
            share = 100 * row.ms * n / total if total else 0.0
            lines.append(f"{share:6.1f} % {row.ms * n:9.4f} ms {n:5d} × {row}")
        self._say(lines)

    def _say(self, lines: Sequence[str]) -> None:
        for line in lines:
            _log.info("%s", line)
        if self.file is None:
            return
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            what = "the file for kernels' bandwidth could not be written"
            remedy = "set HARNESS_BANDWIDTH_FILE to another file, or unset it"
            raise write_error(self.file, error, what, remedy) from error


@dataclass(eq=False, slots=True)
class GraphBandwidth:
    """Counts the launches of one graph, and sums up after the first run in which a kernel of
    it was timed."""

    name: str
    log: Bandwidth
    _counts: Counter[str] = field(default_factory=Counter)
    _new: bool = False

    def watch(self, selected: SelectedKernel) -> LaunchOn:
        """What launches ``selected`` and, the first time, times it; kernels that the pattern
        does not find are launched directly."""
        if not self.log.pattern.search(selected.loaded.name):
            return selected.kernel

        def launch(stream: int, *args: Any) -> None:
            self._counts[selected.text] += 1
            selected.kernel(stream, *args)  # which compiles the first time, and may tune
            # While a CUDA graph is recorded nothing can be timed.
            if selected.text not in self.log.rows and not torch.cuda.is_current_stream_capturing():
                self.log.measure(selected, stream, args)
                self._new = True

        return launch

    def finished(self) -> None:
        """At the end of a run of the graph."""
        if self._new:
            self.log.summary(self.name, self._counts)
        self._new = False
        self._counts.clear()
