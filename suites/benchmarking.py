"""The suites as pytest benchmarks: what ``suites/test_*.py`` collects and runs.

Graphs are read and compiled once a session, when their tests are collected; on a machine with a
GPU kernels are checked and timed by ``session.cuda.CudaDevice``, in a process that can be
replaced, and their samples handed to pytest-benchmark.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from harness import options as settings
from harness.codegen.source import EmittedModule
from harness.errors import HarnessError, NoDevice, UsageError
from harness.measure.jobs import Limit, Timing
from harness.measure.peers.jobs import OURS, Comparable, parse
from harness.pipeline import compile_graph
from harness.pytest.plugin import findings
from harness.records.run import Check, RegionRecord
from harness.session.entries import FileEntry, find_graphs, read
from harness.session.model import Compiled, CompiledKernel
from harness.target import TARGETS, Target
from suites.tracking.measure import require_passed

if TYPE_CHECKING:
    from harness.graph.model import Graph
    from harness.measure.peers.pool import PeerPool
    from harness.pytest.gpu_benchmark import GpuBenchmark
    from harness.session.cuda import CudaDevice


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


@dataclass(eq=False)
class SuiteGraphs:
    """The graphs that the command line names, compiled when first asked for. Everything is by the
    name that stands in the test's; all raise ``HarnessError``."""

    names: tuple[str, ...]
    suite: str
    target: Target
    against: tuple[str, ...] = ()

    @functools.cached_property
    def graphs(self) -> dict[str, FileEntry]:
        """The graphs, unread."""
        files = find_graphs(settings.current(), self.suite, self.names)
        return {file.name: FileEntry(file, self.target) for file in files}

    @functools.cached_property
    def compiled(self) -> dict[str, Compiled]:
        """Every graph."""
        return {name: entry.compile() for name, entry in self.graphs.items()}

    @functools.cached_property
    def kernels(self) -> dict[str, SuiteKernel]:
        """Every distinct kernel of every graph."""
        graphs = self.compiled.items()
        found = [SuiteKernel(name, kernel) for name, g in graphs for kernel in g.kernels]
        return {one.id: one for one in found}

    @functools.cached_property
    def regions(self) -> dict[str, SuiteRegion]:
        """Every distinct region of every graph, once for each compiler."""
        found = [
            SuiteRegion(name, region, compiler)
            for name, graph in self.compiled.items()
            for region in graph.regions
            for compiler in (OURS, *self.against)
        ]
        return {one.id: one for one in found}


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
        for fixture, known in _NAMED.items():
            if fixture in metafunc.fixturenames:
                names = list(known(graphs))
                metafunc.parametrize(fixture, names, indirect=True)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


_NAMED: dict[str, Callable[[SuiteGraphs], Mapping[str, Any]]] = {
    "suite_graph": lambda graphs: graphs.graphs,
    "suite_kernel": lambda graphs: graphs.kernels,
    "suite_region": lambda graphs: graphs.regions,
}


def named(request: pytest.FixtureRequest) -> Any:
    """What a test's parameter names: a graph, kernel or region, by the fixture's name."""
    return _NAMED[str(request.fixturename)](suite_graphs(request.config))[request.param]


def benchmark_codegen(benchmark: Any, entry: FileEntry) -> None:
    """Time graph → emitted modules by pytest-benchmark's fixture; reading the file and Triton are
    left out."""
    graph: Graph = read(entry.file.path)
    compiled = benchmark(compile_graph, graph, entry.target)
    benchmark.extra_info["kernels"] = len(compiled.kernels)
    benchmark.extra_info["target"] = entry.target.name


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
        device.compile(device.missing(wanted_modules(request.session), {}))
        yield device


def _selected(session: pytest.Session, fixture: str) -> list[str]:
    """What the tests that are left after -k and the like have as parameter ``fixture``."""
    calls = (getattr(item, "callspec", None) for item in session.items)
    return [call.params[fixture] for call in calls if call is not None and fixture in call.params]


def selected_regions(session: pytest.Session) -> list[SuiteRegion]:
    """The regions, with their compilers, that the selected tests will time."""
    names = _selected(session, "suite_region")
    return [suite_graphs(session.config).regions[name] for name in names]


def wanted_modules(session: pytest.Session) -> list[EmittedModule]:
    """The kernels that the selected tests will time, each text once."""
    names = _selected(session, "suite_kernel")
    kernels = [suite_graphs(session.config).kernels[name] for name in names]
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
        require_passed(device.check(module), one.id, one.graph)
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
class RegionRows:
    """What every compiler needs for a region, and what one pass through it takes at least, by our
    kernels of it: the ``bytes`` that they move and the milliseconds that the device needs for them,
    held back by ``roof``. Nothing of a hand-written kernel is known."""

    by_compiler: Mapping[str, RegionRecord]
    bytes: int | None = None
    least_ms: float | None = None
    roof: str = ""

    @classmethod
    def of(
        cls, region: Comparable, rows: Sequence[RegionRecord], timings: Mapping[str, Timing]
    ) -> RegionRows:
        """Sums over the launches of ``region``, whose kernels were timed by text."""
        by_compiler = {row.compiler: row for row in rows}
        if isinstance(region.work, str):
            return cls(by_compiler)
        modules = [launch.kernel.module for launch in region.work.launches]
        moved = sum(module.bytes_moved for module in modules)
        found = [timings[module.text] for module in modules]
        known = [(t.limit, t.samples.median) for t in found if t.limit is not None]
        least = [(limit.fraction * ms, limit.roof) for limit, ms in known]
        if len(least) < len(modules) or not least:
            return cls(by_compiler, moved)
        return cls(by_compiler, moved, sum(ms for ms, _ in least), max(least)[1])

    def limit(self, ms: float) -> Limit | None:
        """The share that a pass of ``ms`` reaches."""
        return None if self.least_ms is None else Limit(self.roof, self.least_ms / ms)


@dataclass(eq=False, slots=True)
class RegionTimes:
    """What every compiler needs for a region, measured interleaved when its first test asks and
    kept for the others. ``device`` chooses the configurations of our kernels."""

    device: CudaDevice
    peers: PeerPool
    _known: dict[Comparable, RegionRows] = field(default_factory=dict)

    def rows(self, region: Comparable) -> RegionRows:
        """The figures of all compilers. Raises ``HarnessError``."""
        if region not in self._known:
            timings = {m.text: self.device.time(m) for m in modules_of(region)}
            configs = {text: timing.config for text, timing in timings.items()}
            rows = tuple(self.peers.compare(region, configs))
            self._known[region] = RegionRows.of(region, rows, timings)
        return self._known[region]


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
        known = times.rows(one.region)
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    row = known.by_compiler[one.compiler]
    if row.check is Check.FAILED:
        said = row.reason or f"the result is wrong by {row.max_error:.3g}"
        pytest.fail(f"{one.id}: {said}", pytrace=False)
    if not row.sets:
        if one.compiler == OURS:
            pytest.fail(row.reason, pytrace=False)
        findings(request.config).skip(f"{one.compiler}: {row.reason}")
    samples = row.sets[0]
    bench.benchmark.group = one.group
    bench.take(
        samples,
        nbytes=known.bytes,
        limit=known.limit(samples.median),
        compiler=one.compiler,
        kernels=row.kernels,
        max_error=row.max_error,
    )
