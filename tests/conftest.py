"""What all tests share: how they are spread over processes, what they find in their environment,
and that tests that use the GPU leave its memory to the next ones."""

from __future__ import annotations

import atexit
import gc
import logging
import math
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import fork_server, without_hypothesis

if TYPE_CHECKING:
    from harness.backend import Compiler, Devices
    from tests.checking import CheckingPool

gc.disable()  # until all is collected: what modules make is no garbage
without_hypothesis.install()
os.environ.setdefault("HARNESS_VERIFY", "1")  # every program that a test compiles is verified
for _name in ("COLUMNS", "LINES"):  # readline, which pytest imports, hands a width to every child
    os.environ[_name] = ""  # so that deleting it unsets what Python does not know of
    del os.environ[_name]
for _signal in (signal.SIGHUP, signal.SIGINT):  # as under nohup, or behind a shell's &
    if (
        signal.getsignal(_signal) is signal.SIG_IGN
    ):  # a handler is not inherited: children die of it
        signal.signal(_signal, lambda *_: None)
if "PYTEST_XDIST_WORKER" in os.environ:
    for _name in ("OMP_NUM_THREADS", "HARNESS_JOBS"):  # the cores have a worker each
        os.environ.setdefault(_name, "1")

_MOST_WORKERS = 8
"""Each worker and what it starts need about a GB."""

_MOST_KEPT = 1 << 30
"""Bytes that nothing uses and torch may keep: blocks of which a part is in use."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many processes `make test` runs tests in: one where they share a GPU that they time; else
    one more than there are cores, because one in ten seconds a test waits for a process that it
    started, or for a deadline."""
    if Path("/dev/nvidiactl").exists():
        return 0
    return min(_MOST_WORKERS, len(os.sched_getaffinity(0)) + 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line per reason to skip: hundreds of tests need a GPU."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED ×{count}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """What a module draws while it is imported nothing has seeded: other numbers in every run."""
    report = yield
    torch = sys.modules.get("torch")
    if isinstance(collector, pytest.Module) and torch is not None:
        drawn = torch.default_generator
        unused = torch.Generator().manual_seed(drawn.initial_seed())
        if not torch.equal(drawn.get_state(), unused.get_state()):
            report.outcome = "failed"
            report.longrepr = f"{collector.nodeid} draws random numbers outside its tests"
            drawn.set_state(unused.get_state())  # or the next module seems to draw
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names of tests are the same in every process, or pytest-xdist refuses all of them; there,
    the files that took longest the last time go first, so that no worker waits for another's last
    file. What never ran goes before them: files with slow tests, then long ones."""
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:
        raise pytest.UsageError(f"an address stands in the name of a test (ids=): {moving[0]}")
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        size = {path: path.stat().st_size for path in {item.path for item in items}}
        known = _seconds_of_files(config)

        def order(item: pytest.Item) -> tuple[float, bool, int]:
            file = item.nodeid.partition("::")[0]
            return -known.get(file, math.inf), item.path not in slow, -size[item.path]

        items.sort(key=order)


def _seconds_of_files(config: pytest.Config) -> Counter[str]:
    """The longest that each file has taken here."""
    cache = getattr(config, "cache", None)
    return Counter(cache.get(_SECONDS, {}) if cache else {})


_SECONDS = "harness/seconds"
_spent: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What files take, in the process that hears of all tests."""
    _spent[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep it for the order of the next run."""
    if hasattr(session.config, "cache") and not hasattr(session.config, "workerinput"):
        longest = _seconds_of_files(session.config) | _spent
        session.config.cache.set(_SECONDS, {file: round(s, 2) for file, s in longest.items()})


def pytest_collection_finish() -> None:
    """What has been imported stays: no collection of garbage looks at it again, and none looks
    after every 700 objects, of which tracing a function makes a million. Modules that tests write
    leave no compiled ones, which Python takes for those of another text of the same length
    that is written within the same second."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # at the very end it is garbage like any other
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    sys.dont_write_bytecode = True


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """A test draws the same numbers in every run, alone and after any other."""
    if (torch := sys.modules.get("torch")) is not None:
        # torch writes down who seeds a GPU that there is not.
        seeds = (
            torch.manual_seed if torch.cuda.is_available() else torch.default_generator.manual_seed
        )
        seeds(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _nothing_compiled() -> None:
    """Whichever tests came before in this process: after eight versions of a function
    ``torch.compile`` leaves it to eager mode, and after two sizes it takes sizes for unknown."""
    if (dynamo := sys.modules.get("torch._dynamo")) is not None:
        dynamo.reset()


@pytest.fixture(autouse=True)
def _memory_for_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Many tests start processes that need the GPU, whose memory this one must not keep."""
    if request.node.get_closest_marker("gpu") is None:
        yield
        return
    import torch

    yield
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        assert kept < _MOST_KEPT, f"{kept >> 20} MB of the GPU's memory cannot be given back"


@pytest.fixture(scope="session", autouse=True)
def _workers() -> Iterator[None]:
    """Workers are forked from a process that has imported what they import. Those of the tests of
    workers, those of commands in processes of their own and all on a machine with a GPU are
    started as users' are."""
    from harness.devices import process

    start = process.spawn
    if Path("/dev/nvidiactl").exists():
        yield
        return
    with fork_server.workers(process._CODE, start) as process.spawn:
        yield
    process.spawn = start


@pytest.fixture(scope="session")
def interpreting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """``python -c`` that has imported torch and a Triton that interprets: code comes behind."""
    given = ("torch", "triton.language"), {"TRITON_INTERPRET": "1"}
    with fork_server.python(tmp_path_factory.mktemp("python"), *given) as command:
        yield command


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckingPool]:
    """Triton's interpreter, which takes seconds to start: one process for all tests of this one."""
    from tests.checking import CheckingPool

    with CheckingPool(1, tmp_path_factory.mktemp("interpreter")) as made:
        yield made


@pytest.fixture
def compiler(request: pytest.FixtureRequest, devices: Devices) -> Iterator[Compiler]:
    """A backend of torch.compile of its own, for which falling back is an error, unless the
    module says ``MAY_FALL_BACK``."""
    import torch

    from harness.backend import Compiler

    torch.compiler.reset()
    strict = not getattr(request.module, "MAY_FALL_BACK", False)
    yield Compiler(devices=devices, fail_on_fallback=strict)
    torch.compiler.reset()


@pytest.fixture(scope="session")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    """What runs kernels for torch.compile, with a cache of its own: one for all tests of this
    process, because its interpreter takes seconds to start."""
    from torch._dynamo import guards

    from harness.backend import Devices

    # After each compilation torch flushes caches to time the guards that it made, for its log.
    guards.profile_guard_manager = lambda *_: 0.0
    # pytest hears loggers that hand nothing on, from before the first test on where torch had been
    # imported, and torch writes every graph for whoever hears it.
    trace = logging.getLogger("torch.__trace")
    trace.propagate = True
    trace.handlers.clear()
    made = Devices(cache=tmp_path_factory.mktemp("cache"))
    yield made
    made.close()
