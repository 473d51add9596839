"""The suites as pytest benchmarks: what ``suites/test_*.py`` collects and runs.

Graphs are read and compiled once a session, when their tests are collected; on a machine with a
GPU kernels are checked and timed by ``session.cuda.CudaDevice``, in a process that can be
replaced, and their samples handed to pytest-benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from harness import options as settings
from harness.codegen.source import EmittedModule
from harness.errors import CheckFailed, HarnessError, NoDevice, UsageError
from harness.measure.jobs import Timing
from harness.measure.peers.names import OURS, parse
from harness.measure.peers.regions import Comparable
from harness.measure.roofline import Limit
from harness.pipeline import compile_graph
from harness.pytest.plugin import findings
from harness.records.run import Check, RegionRecord
from harness.session.entries import FileEntry, find_graphs, read
from harness.session.model import Compiled, CompiledKernel
from harness.target import TARGETS, Target

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.measure.peers.pool import PeerPool
    from harness.pytest.gpu_benchmark import GpuBenchmark
    from harness.session.cuda import CudaDevice

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
    def group(self) -> str:
        """The region's name, which a graph's regions begin with that of their graph."""
        name = self.region.name
        return name if name.startswith(f"{self.graph}.") else f"{self.graph}/{name}"

    @property
    def id(self) -> str:
        """``region-compiler`` for the test's name."""
        return f"{self.group}-{self.compiler}"


@dataclass(eq=False, slots=True)
class SuiteGraphs:
    """The graphs that the command line names, compiled when first asked for."""

    names: tuple[str, ...]
    suite: str
    target: Target
    against: tuple[str, ...] = ()
    _compiled: dict[str, Compiled] = field(default_factory=dict)
    _kernels: dict[str, SuiteKernel] = field(default_factory=dict)
    _regions: dict[str, SuiteRegion] = field(default_factory=dict)

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

    def kernels(self) -> dict[str, SuiteKernel]:
        """Every distinct kernel of every graph by its id. Raises ``HarnessError``."""
        if not self._kernels:
            graphs = self.compiled().items()
            found = [SuiteKernel(name, kernel) for name, g in graphs for kernel in g.kernels]
            self._kernels.update((one.id, one) for one in found)
        return self._kernels

    def regions(self) -> dict[str, SuiteRegion]:
        """Every distinct region of every graph, once for each compiler, by its id. Raises
        ``HarnessError``."""
        if not self._regions:
            found = [
                SuiteRegion(name, region, compiler)
                for name, graph in self.compiled().items()
                for region in graph.regions
                for compiler in (OURS, *self.against)
            ]
            self._regions.update((one.id, one) for one in found)
        return self._regions


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
    """Give ``suite_graph`` every graph, ``suite_kernel`` every kernel and ``suite_region`` every
    region, as far as the test takes them. A name that does not exist ends the session with one
    sentence.

    The parameters are names, which the fixtures of those names look up: pytest-benchmark writes
    parameters to its JSON, and a compiled kernel is pages of text there.
    """
    try:
        graphs = suite_graphs(metafunc.config)
        if "suite_graph" in metafunc.fixturenames:
            names = [entry.name for entry in graphs.entries()]
            metafunc.parametrize("suite_graph", names, indirect=True)
        if "suite_kernel" in metafunc.fixturenames:
            metafunc.parametrize("suite_kernel", list(graphs.kernels()), indirect=True)
        if "suite_region" in metafunc.fixturenames:
            metafunc.parametrize("suite_region", list(graphs.regions()), indirect=True)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


def named_graph(request: pytest.FixtureRequest) -> FileEntry:
    """The graph that a test's parameter names."""
    return next(e for e in suite_graphs(request.config).entries() if e.name == request.param)


def named_kernel(request: pytest.FixtureRequest) -> SuiteKernel:
    """The kernel that a test's parameter names."""
    return suite_graphs(request.config).kernels()[request.param]


def named_region(request: pytest.FixtureRequest) -> SuiteRegion:
    """The region and compiler that a test's parameter names."""
    return suite_graphs(request.config).regions()[request.param]


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


def open_device(request: pytest.FixtureRequest) -> Iterator[CudaDevice | str]:
    """The GPU with the candidates of this session's kernels compiled in parallel; the reason
    as text where there is none."""
    from harness.runtime.device import is_available

    if not is_available():
        yield "no GPU: timing is skipped, code generation is not"
        return
    from harness.runtime.compile.cache import trusted
    from harness.session.cuda import CudaDevice

    options = settings.current()
    try:
        device = CudaDevice(trusted(options.cache), options.jobs)
    except NoDevice as error:
        yield f"no GPU: {error.got or error.what}"
        return
    with device:
        device.prepare(wanted_modules(request.session))
        yield device


def _selected(session: pytest.Session, fixture: str) -> list[str]:
    """What the tests that are left after -k and the like have as parameter ``fixture``."""
    calls = (getattr(item, "callspec", None) for item in session.items)
    return [call.params[fixture] for call in calls if call is not None and fixture in call.params]


def selected_regions(session: pytest.Session) -> list[SuiteRegion]:
    """The regions, with their compilers, that the selected tests will time."""
    names = _selected(session, "suite_region")
    return [suite_graphs(session.config).regions()[name] for name in names]


def wanted_modules(session: pytest.Session) -> list[EmittedModule]:
    """The kernels that the selected tests will time, each text once."""
    names = _selected(session, "suite_kernel")
    kernels = [suite_graphs(session.config).kernels()[name] for name in names]
    found = [one.kernel.module for one in kernels]
    found += [module for one in selected_regions(session) for module in modules_of(one.region)]
    return list({module.text: module for module in found}.values())


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
        timing.samples,
        nbytes=module.bytes_moved,
        limit=timing.limit,
        region=one.kernel.region,
        launches=len(one.kernel.launches),
        config={**dict(timing.config.blocks), "num_warps": timing.config.num_warps},
    )


@dataclass(frozen=True, slots=True)
class Needs:
    """What one pass through a region takes at least, by our kernels of it: the ``bytes`` that
    they move and the milliseconds that the device needs for them, held back by ``roof``."""

    bytes: int | None = None
    least_ms: float | None = None
    roof: str = ""

    def limit(self, ms: float) -> Limit | None:
        """The share that a pass of ``ms`` reaches."""
        return None if self.least_ms is None else Limit(self.roof, self.least_ms / ms)


def needs_of(region: Comparable, timings: Mapping[str, Timing]) -> Needs:
    """The sums over the launches of ``region``, whose kernels were timed by text; nothing of a
    hand-written kernel."""
    if isinstance(region.work, str):
        return Needs()
    modules = [launch.kernel.module for launch in region.work.launches]
    least: list[tuple[float, str]] = []
    for module in modules:
        timing = timings[module.text]
        if timing.limit is not None:
            least.append((timing.limit.fraction * timing.ms, timing.limit.roof))
    moved = sum(module.bytes_moved for module in modules)
    if len(least) < len(modules) or not least:
        return Needs(moved)
    return Needs(moved, sum(ms for ms, _ in least), max(least)[1])


@dataclass(eq=False, slots=True)
class RegionTimes:
    """What every compiler needs for a region, measured interleaved when its first test asks and
    kept for the others. ``device`` chooses the configurations of our kernels."""

    device: CudaDevice
    peers: PeerPool
    _rows: dict[Comparable, dict[str, RegionRecord]] = field(default_factory=dict)
    _needs: dict[Comparable, Needs] = field(default_factory=dict)

    def row(self, one: SuiteRegion) -> RegionRecord:
        """The figures of one compiler. Raises ``HarnessError``."""
        if one.region not in self._rows:
            timings = {m.text: self.device.time(m) for m in modules_of(one.region)}
            configs = {text: timing.config for text, timing in timings.items()}
            self._needs[one.region] = needs_of(one.region, timings)
            rows = self.peers.compare(one.region, configs)
            self._rows[one.region] = {row.compiler: row for row in rows}
        return self._rows[one.region][one.compiler]

    def needs(self, one: SuiteRegion) -> Needs:
        """What our kernels of the region move, once ``row`` was asked."""
        return self._needs.get(one.region, Needs())


def open_regions(
    request: pytest.FixtureRequest, suite_device: CudaDevice | str
) -> Iterator[RegionTimes | str]:
    """The GPU and the other compilers, their kernels compiled ahead in parallel; the reason as
    text where there is no GPU."""
    if isinstance(suite_device, str):
        yield suite_device
        return
    from harness.measure.peers.pool import PeerPool
    from harness.runtime.compile.cache import trusted

    options = settings.current()
    against = suite_graphs(request.config).against
    with PeerPool(against, trusted(options.cache), options.jobs) as peers:
        wanted = [one.region for one in selected_regions(request.session)]
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
    samples = row.sets[0]
    needs = times.needs(one)
    bench.benchmark.group = one.group
    bench.take(
        samples,
        nbytes=needs.bytes,
        limit=needs.limit(samples.median),
        compiler=one.compiler,
        kernels=row.kernels,
        max_error=row.max_error,
    )
