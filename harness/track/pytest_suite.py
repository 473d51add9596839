"""The suites as pytest benchmarks: what ``suites/test_*.py`` collects and runs.

Graphs are read and compiled once a session, when their tests are collected; on a machine with a
GPU kernels are checked and timed by ``bench.cuda.CudaDevice``, in a process that can be
replaced, and their samples handed to pytest-benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from harness import options as settings
from harness.bench.entries import FileEntry, find_graphs, read
from harness.bench.session import CheckOutcome, CompiledKernel, Timing
from harness.codegen.source import EmittedModule
from harness.errors import CheckFailed, HarnessError, NoDevice, UsageError
from harness.pipeline import compile_graph
from harness.target import TARGETS, Target
from harness.track.pytest_plugin import findings

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.runtime.timing import Samples
    from harness.track.gpu_benchmark import GpuBenchmark

T = TypeVar("T")


class Device(Protocol):
    """What a kernel is checked and timed on."""

    def check(self, module: EmittedModule) -> CheckOutcome:
        """Run with poisoned outputs and compare."""

    def time(self, module: EmittedModule) -> Timing:
        """Tune and time."""


@dataclass(frozen=True, slots=True)
class SuiteKernel:
    """A kernel of a graph, as a test's parameter."""

    graph: str
    kernel: CompiledKernel

    @property
    def id(self) -> str:
        """``graph/kernel`` for the test's name."""
        return f"{self.graph}/{self.kernel.module.name.removeprefix('triton_')}"


@dataclass(eq=False, slots=True)
class SuiteGraphs:
    """The graphs that the command line names, compiled when first asked for."""

    names: tuple[str, ...]
    suite: str
    target: Target
    _kernels: dict[str, tuple[SuiteKernel, ...]] = field(default_factory=dict)

    def entries(self) -> tuple[FileEntry, ...]:
        """The graphs, unread. Raises ``UnknownName``."""
        files = find_graphs(settings.current(), self.suite, self.names)
        return tuple(FileEntry(file, self.target) for file in files)

    def kernels(self) -> tuple[SuiteKernel, ...]:
        """Every distinct kernel of every graph. Raises ``HarnessError``."""
        for entry in self.entries():
            if entry.name not in self._kernels:
                compiled = entry.compile()
                found = (SuiteKernel(entry.name, kernel) for kernel in compiled.kernels)
                self._kernels[entry.name] = tuple(found)
        return tuple(kernel for kernels in self._kernels.values() for kernel in kernels)


_GRAPHS = pytest.StashKey[SuiteGraphs]()


def suite_graphs(config: pytest.Config) -> SuiteGraphs:
    """The session's graphs."""
    if _GRAPHS not in config.stash:
        names = config.getoption("--harness-graphs").split(",")
        named = config.getoption("--harness-target") or settings.current().target
        if named not in TARGETS:
            raise pytest.UsageError(f"--harness-target {named}: one of {', '.join(TARGETS)}")
        config.stash[_GRAPHS] = SuiteGraphs(
            tuple(name.strip() for name in names if name.strip()),
            config.getoption("--harness-suite"),
            TARGETS[named],
        )
    return config.stash[_GRAPHS]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give ``suite_graph`` every graph and ``suite_kernel`` every kernel, as far as the test
    takes them. A name that does not exist ends the session with one sentence."""
    try:
        graphs = suite_graphs(metafunc.config)
        if "suite_graph" in metafunc.fixturenames:
            entries = graphs.entries()
            metafunc.parametrize("suite_graph", entries, ids=[entry.name for entry in entries])
        if "suite_kernel" in metafunc.fixturenames:
            kernels = graphs.kernels()
            metafunc.parametrize("suite_kernel", kernels, ids=[kernel.id for kernel in kernels])
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


def benchmark_codegen(benchmark: Benchmarked, entry: FileEntry) -> None:
    """Time graph → emitted modules; reading the file and Triton are left out."""
    graph: Graph = read(entry.file.path)
    compiled = benchmark(compile_graph, graph, entry.target)
    benchmark.extra_info["kernels"] = len(compiled.kernels)
    benchmark.extra_info["target"] = entry.target.name


class Benchmarked(Protocol):
    """pytest-benchmark's fixture, as a callable."""

    extra_info: dict[str, object]

    def __call__(self, function: Callable[..., T], *args: object) -> T:
        """Time ``function(*args)`` and return its result."""


def open_device(request: pytest.FixtureRequest) -> Iterator[Device | str]:
    """The GPU with the candidates of this session's kernels compiled in parallel; the reason
    as text where there is none."""
    from harness.runtime.device import is_available

    if not is_available():
        yield "no GPU: timing is skipped, code generation is not"
        return
    from harness.bench.cuda import CudaDevice

    options = settings.current()
    try:
        device = CudaDevice(Path(options.cache), options.jobs)
    except NoDevice as error:
        yield f"no GPU: {error.got or error.what}"
        return
    with device:
        device.prepare([kernel.kernel.module for kernel in _selected(request.session)])
        yield device


def _selected(session: pytest.Session) -> list[SuiteKernel]:
    """The kernels whose tests are left after -k and the like."""
    calls = (getattr(item, "callspec", None) for item in session.items)
    found = (call.params.get("suite_kernel") for call in calls if call is not None)
    return [kernel for kernel in found if isinstance(kernel, SuiteKernel)]


def benchmark_kernel(request: pytest.FixtureRequest, bench: GpuBenchmark, one: SuiteKernel) -> None:
    """Check a kernel, then enter what the device measured. A wrong kernel fails the test."""
    device = request.getfixturevalue("suite_device")
    if isinstance(device, str):
        findings(request.config).skip(device)
    module = one.kernel.module
    try:
        outcome = device.check(module)
        if not outcome.passed:
            raise CheckFailed(
                "a kernel differs from its reference",
                where=one.id,
                got=f"error {outcome.max_error:.3g}",
                expected=f"at most {outcome.allowed}",
            )
        timing = device.time(module)
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    bench.benchmark.group = one.graph
    bench.take(
        samples_of(timing),
        nbytes=module.bytes_moved,
        copy_gbps=timing.copy_gbps,
        region=one.kernel.region,
        launches=len(one.kernel.launches),
        config={**dict(timing.config.blocks), "num_warps": timing.config.num_warps},
    )


def samples_of(timing: Timing) -> Samples:
    """The samples of a timing, as a timer gives them."""
    from harness.bench.timer import METHOD
    from harness.runtime.timing import Samples

    return Samples(timing.samples_ms, METHOD, "")
