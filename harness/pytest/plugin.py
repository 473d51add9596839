"""The pytest plugin: GPU benchmarks as pytest-benchmark benchmarks.

Loaded by every pytest in an environment where the harness is installed, so it imports nothing
heavy before a benchmark asks for the GPU. Other projects write::

    def test_softmax(gpu_benchmark):
        x = torch.randn(4096, 4096, device="cuda")
        gpu_benchmark(my_softmax, (x,), bytes=2 * x.nbytes, reference=torch_softmax)

and run ``pytest --benchmark-only``. Fixtures: ``gpu_benchmark``, and ``gpu`` (one a session, to
be overridden by a project with a timer of its own).
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest

from harness.errors import NoDevice, UsageError
from harness.pytest import gpu_benchmark as benchmarks
from harness.pytest.gpu_benchmark import Gpu, GpuBenchmark, ManualClock
from harness.table import Row

_HAS_BENCHMARK = importlib.util.find_spec("pytest_benchmark") is not None


@dataclass(eq=False, slots=True)
class Findings:
    """What the benchmarks of a session have to say beside pytest-benchmark's tables: figures,
    and why some were skipped (reason → how many)."""

    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str) -> NoReturn:
        """Skip the running test, and say so once in the section."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        pytest.skip(reason)


_FINDINGS = pytest.StashKey[Findings]()
_CLOCK = pytest.StashKey[ManualClock]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--gpu-budget``, and which part of a suite."""
    group = parser.getgroup("harness", "GPU benchmarks (harness)")
    group.addoption(
        "--gpu-budget",
        type=float,
        default=benchmarks.DEFAULT_BUDGET_MS,
        metavar="MS",
        help="GPU time for one benchmark at most, in milliseconds (default: %(default)s).",
    )
    for name, default, said in (
        ("suite", "default", "Which suite."),
        ("graphs", "", "Only these graphs of the suite (or graph files), commas between them."),
        (
            "against",
            "eager",
            "Compilers that the suites' regions are also timed with: eager, inductor, "
            "inductor-tuned, torch.compile backends; commas between them (default: %(default)s).",
        ),
        ("target", "", "Compile for this target (default: HARNESS_TARGET, else sm_90)."),
    ):
        group.addoption(f"--harness-{name}", default=default, metavar="NAME", help=said)


def findings(config: pytest.Config) -> Findings:
    """The session's findings."""
    return config.stash.setdefault(_FINDINGS, Findings())


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each GPU benchmark its own clock, before pytest-benchmark makes its fixture."""
    if "gpu_benchmark" in getattr(item, "fixturenames", ()) and _HAS_BENCHMARK:
        clock = item.stash[_CLOCK] = ManualClock()
        declared = item.get_closest_marker("benchmark")
        options = dict(declared.kwargs) if declared else {}
        item.add_marker(pytest.mark.benchmark(**{**options, "timer": clock}), append=False)


@pytest.fixture(scope="session")
def gpu() -> Gpu | str:
    """The CUDA device to time on, its limits measured once; a reason if there is none."""
    from harness.measure.roofline import measure
    from harness.measure.timer.graph_timer import CudaTimer
    from harness.measure.worker import no_device

    try:
        timer = CudaTimer()
        return Gpu(timer, measure(timer))
    except (RuntimeError, NoDevice) as error:
        found = no_device(error)
        return f"no GPU: {found.got or found.what}"


_SUITES_OWN = frozenset({"suite_kernel", "suite_region"})
"""Fixtures of the suites' tests, which open a device of their own, and skip without one."""

if _HAS_BENCHMARK:

    @pytest.fixture
    def gpu_benchmark(request: pytest.FixtureRequest, benchmark: Any) -> GpuBenchmark:
        """Times a callable on the GPU; see ``GpuBenchmark.__call__``. Without one the test is
        skipped before it asks for memory there."""
        from harness.runtime.device import is_available

        known = findings(request.config)

        def open_gpu() -> Gpu:
            found: Gpu | str = request.getfixturevalue("gpu")
            return known.skip(found) if isinstance(found, str) else found

        if not is_available() and not _SUITES_OWN.intersection(request.fixturenames):
            open_gpu()
        return GpuBenchmark(
            request.node.name,
            benchmark,
            request.node.stash[_CLOCK],
            open_gpu,
            known.rows.append,
            request.config.getoption("--gpu-budget"),
        )

else:

    @pytest.fixture
    def gpu_benchmark() -> GpuBenchmark:
        """Says what is missing."""
        pytest.fail("gpu_benchmark needs pytest-benchmark: pip install 'pytest-benchmark>=5.2'")


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    """Add the GPU, its driver and clocks, torch and triton to ``machine_info``."""
    if findings(config).rows:
        from harness.records.machine import fingerprint
        from harness.records.run import to_json

        machine_info["harness"] = to_json(fingerprint())


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_commit_info(commit_info: dict[str, Any]) -> None:
    """Where the commit cannot be read off the checkout (copied files), ``HARNESS_COMMIT`` says
    it."""
    from harness import options as settings
    from harness.records.machine import given_commit

    try:
        given = settings.current().commit
        found = given_commit(given) if given else None
    except UsageError as error:  # what was measured must not be lost for it
        warnings.warn(str(error), stacklevel=1)
        return
    if found is not None:
        commit_info.update(id=found.name, dirty=found.dirty)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The GPU section: milliseconds, GB/s, share of the device's limit, what was skipped."""
    known = findings(config)
    if not known.rows and not known.skipped:
        return
    terminalreporter.section("GPU benchmarks")
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in benchmarks.section(known.rows, columns) if known.rows else []:
        terminalreporter.write_line(line)
    for reason, count in known.skipped.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")
