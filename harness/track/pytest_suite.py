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
from harness.bench.peers.names import OURS, parse
from harness.bench.peers.regions import Comparable
from harness.bench.record import Check, RegionRecord, SampleSet
from harness.bench.session import Compiled, CompiledKernel, Device, Peers
from harness.bench.sets import samples_of
from harness.codegen.source import EmittedModule
from harness.errors import CheckFailed, HarnessError, NoDevice, UsageError
from harness.pipeline import compile_graph
from harness.target import TARGETS, Target
from harness.track.pytest_plugin import findings

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.track.gpu_benchmark import GpuBenchmark

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SuiteKernel:
    """A kernel of a graph, as a test's parameter."""

    graph: str
    kernel: CompiledKernel

    @property
    def id(self) -> str:
        """``graph/kernel`` for the test's name."""
        return f"{self.graph}/{self.kernel.module.name.removeprefix('triton_')}"


@dataclass(frozen=True, slots=True)
class SuiteRegion:
    """A region of a graph and the compiler to time it with, as a test's parameter."""

    graph: str
    region: Comparable
    compiler: str

    @property
    def id(self) -> str:
        """``graph/region-compiler`` for the test's name."""
        return f"{self.graph}/{self.region.name}-{self.compiler}"


@dataclass(eq=False, slots=True)
class SuiteGraphs:
    """The graphs that the command line names, compiled when first asked for."""

    names: tuple[str, ...]
    suite: str
    target: Target
    against: tuple[str, ...] = ()
    _compiled: dict[str, Compiled] = field(default_factory=dict)

    def entries(self) -> tuple[FileEntry, ...]:
        """The graphs, unread. Raises ``UnknownName``."""
        files = find_graphs(settings.current(), self.suite, self.names)
        return tuple(FileEntry(file, self.target) for file in files)

    def compiled(self) -> dict[str, Compiled]:
        """Every graph by its name. Raises ``HarnessError``."""
        for entry in self.entries():
            if entry.name not in self._compiled:
                self._compiled[entry.name] = entry.compile()
        return self._compiled

    def kernels(self) -> list[SuiteKernel]:
        """Every distinct kernel of every graph. Raises ``HarnessError``."""
        graphs = self.compiled().items()
        return [SuiteKernel(name, kernel) for name, graph in graphs for kernel in graph.kernels]

    def regions(self) -> list[SuiteRegion]:
        """Every distinct region of every graph, once for each compiler. Raises
        ``HarnessError``."""
        return [
            SuiteRegion(name, region, compiler)
            for name, graph in self.compiled().items()
            for region in graph.regions
            for compiler in (OURS, *self.against)
        ]


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
            parse(config.getoption("--harness-against")),
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
        if "suite_region" in metafunc.fixturenames:
            regions = graphs.regions()
            metafunc.parametrize("suite_region", regions, ids=[region.id for region in regions])
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
        device.prepare(wanted_modules(request.session))
        yield device


def selected(session: pytest.Session) -> list[SuiteKernel | SuiteRegion]:
    """The kernels and regions whose tests are left after -k and the like."""
    calls = (getattr(item, "callspec", None) for item in session.items)
    values = (value for call in calls if call is not None for value in call.params.values())
    return [value for value in values if isinstance(value, SuiteKernel | SuiteRegion)]


def wanted_modules(session: pytest.Session) -> list[EmittedModule]:
    """The kernels that the selected tests will time, each text once."""
    modules: dict[str, EmittedModule] = {}
    for one in selected(session):
        found = [one.kernel.module] if isinstance(one, SuiteKernel) else modules_of(one.region)
        modules.update((module.text, module) for module in found)
    return list(modules.values())


def modules_of(region: Comparable) -> list[EmittedModule]:
    """The kernels of a region, each text once."""
    if isinstance(region.work, str):
        return []
    return list({x.kernel.module.text: x.kernel.module for x in region.work.launches}.values())


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
                remedy=f"see where: harness run {one.graph}",
            )
        timing = device.time(module)
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    bench.benchmark.group = one.graph
    bench.take(
        samples_of(timing.measured or SampleSet(0, timing.samples_ms)),
        nbytes=module.bytes_moved,
        limit=timing.limit,
        region=one.kernel.region,
        launches=len(one.kernel.launches),
        config={**dict(timing.config.blocks), "num_warps": timing.config.num_warps},
    )


@dataclass(eq=False, slots=True)
class RegionTimes:
    """What every compiler needs for a region, measured in turns when its first test asks and
    kept for the others. ``device`` chooses the configurations of our kernels."""

    device: Device
    peers: Peers
    _rows: dict[Comparable, dict[str, RegionRecord]] = field(default_factory=dict)

    def row(self, one: SuiteRegion) -> RegionRecord:
        """The figures of one compiler. Raises ``HarnessError``."""
        if one.region not in self._rows:
            modules = modules_of(one.region)
            configs = {module.text: self.device.time(module).config for module in modules}
            rows = self.peers.compare(one.region, configs)
            self._rows[one.region] = {row.compiler: row for row in rows}
        return self._rows[one.region][one.compiler]


def open_regions(
    request: pytest.FixtureRequest, suite_device: Device | str
) -> Iterator[RegionTimes | str]:
    """The GPU and the other compilers, their kernels compiled ahead in parallel; the reason as
    text where there is no GPU."""
    if isinstance(suite_device, str):
        yield suite_device
        return
    from harness.bench.peers.pool import PeerPool

    options = settings.current()
    against = suite_graphs(request.config).against
    with PeerPool(against, Path(options.cache), options.jobs) as peers:
        wanted = [one.region for one in selected(request.session) if isinstance(one, SuiteRegion)]
        peers.prepare(list(dict.fromkeys(wanted)))
        yield RegionTimes(suite_device, peers)


def benchmark_region(request: pytest.FixtureRequest, bench: GpuBenchmark, one: SuiteRegion) -> None:
    """Enter what one compiler needs for a region; the group is the region, so that compilers
    line up. A wrong result fails the test, a compiler that cannot is skipped with its reason."""
    times = request.getfixturevalue("suite_regions")
    if isinstance(times, str):
        findings(request.config).skip(times)
    try:
        row = times.row(one)
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    if not row.sets:
        if one.compiler == OURS:
            pytest.fail(row.reason, pytrace=False)
        findings(request.config).skip(f"{one.compiler}: {row.reason}")
    if row.check is Check.FAILED:
        pytest.fail(f"{one.id}: the result is wrong by {row.max_error:.3g}", pytrace=False)
    (samples, *_) = row.sets
    bench.benchmark.group = f"{one.graph}/{one.region.name}"
    bench.take(
        samples_of(samples),
        compiler=one.compiler,
        kernels=row.kernels,
        max_error=row.max_error,
    )
