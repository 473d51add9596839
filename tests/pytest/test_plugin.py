"""The pytest plugin, run as its users run it: pytest in another folder."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from harness.corpus.model import is_pattern_name
from harness.errors import CheckFailed, UsageError
from harness.measure.jobs import Limit, Roofline
from harness.pytest.gpu_benchmark import Gpu, GpuBenchmark, ManualClock, section
from harness.pytest.plugin import pytest_benchmark_update_commit_info
from harness.records.timing import Launch, Samples
from harness.table import Row
from suites.benchmarking import parametrize
from tests import fork_server

ROOT = Path(__file__).resolve().parents[2]

FAKE_GPU = """
import os
import pytest
import torch
from harness.measure.jobs import Roofline

from harness.records.timing import Samples, Work
from harness.pytest.gpu_benchmark import Gpu

class FakeTimer:
    def measure(self, launch, budget_ms):
        launch()
        ms = float(os.environ.get("FAKE_MS", "2"))
        return Samples((ms, 1.1 * ms, 0.9 * ms), method=f"fake/{budget_ms:g}", stopped="count")

    def compare(self, launches, budget_ms):
        raise NotImplementedError

@pytest.fixture(scope="session")
def gpu():
    return Gpu(FakeTimer(), Roofline(4000.0))
"""

ONE = """
import pytest
import torch
@pytest.mark.benchmark(group="doubles")
def test_double(gpu_benchmark):
    x = torch.randn(1000)
    result = gpu_benchmark(lambda t: 2 * t, (x,), bytes=4_000_000_000, reference=lambda t: t + t)
    assert torch.equal(result, 2 * x)
"""


@dataclass(frozen=True)
class Answer:
    status: int
    out: str


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """``python -m pytest``."""
    code = "import os, sys, pytest; sys.path.insert(0, os.getcwd()); sys.exit(pytest.main())"
    imports = ("pytest", "scipy.stats", "sympy", "torch", "triton")  # as they are: no plugin
    with fork_server.commands(tmp_path_factory.mktemp("pytest"), code, *imports) as made:
        yield made


def run_pytest(command: Sequence[str], folder: Path, *arguments: str, **environment: str) -> Answer:
    """pytest in ``folder``, its plugin given by hand where the installed harness has none."""
    entries = importlib.metadata.entry_points(group="pytest11")
    known = any(entry.value == "harness.pytest.plugin" for entry in entries)
    given = [] if known else ["-p", "harness.pytest.plugin"]
    # A worker of pytest-xdist would pass on what it is.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *given, *arguments],
        cwd=folder,
        env={**own, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    return Answer(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody else's project, with a GPU that always answers the same."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "conftest.py").write_text(FAKE_GPU)
    (folder / "test_one.py").write_text(ONE)
    return folder


@pytest.fixture(scope="module")
def measured(command: list[str], project: Path) -> Answer:
    """Its benchmark, and beside it one whose result is wrong."""
    copied = {"HARNESS_COMMIT": "1234567890abcdef-dirty"}  # what a copy cannot say of itself
    (project / "test_two.py").write_text(ONE.replace("t + t", "3 * t").replace("double", "wrong"))
    options = ("--benchmark-only", "--gpu-budget=12", "--benchmark-save=base")
    answer = run_pytest(command, project, *options, "--benchmark-json=out.json", **copied)
    (project / "test_two.py").unlink()
    return answer


def test_samples_fill_the_table_and_the_json(project: Path, measured: Answer) -> None:
    answer = measured
    assert "1 failed, 1 passed" in answer.out
    # Which plugin's section comes first depends on how this one was given to pytest.
    ours = answer.out[answer.out.index("= GPU benchmarks =") :].partition("\n---")[0]
    lines = ours.splitlines()
    (line,) = [line for line in lines if line.startswith("test_double ")]
    assert line.split()[1:] == ["2.0000", "2000", "50", "%", "copy", "count"], answer.out
    document = json.loads((project / "out.json").read_text())
    (bench,) = document["benchmarks"]
    assert bench["stats"]["median"] == pytest.approx(0.002)
    assert bench["stats"]["max"] == pytest.approx(0.0022)
    assert bench["stats"]["rounds"] == 3
    assert bench["extra_info"]["gbps"] == pytest.approx(2000)
    assert bench["extra_info"]["share_of_roof"] == pytest.approx(0.5)
    assert bench["extra_info"]["roof"] == "copy"
    assert bench["extra_info"]["method"] == "fake/12"  # the budget came through
    assert bench["group"] == "doubles"  # and so did what the marker says beside our clock
    assert document["machine_info"]["harness"]["torch"]
    commit = document["commit_info"]
    assert (commit["id"], commit["dirty"]) == ("1234567890abcdef", True)


def test_memory_is_given_back_after_each_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of arguments may be most of the device, which worker processes need too."""
    import torch

    class Timer:
        def measure(self, launch: Launch, budget_ms: float, width: float = 0.005) -> Samples:
            if budget_ms < 0:
                raise RuntimeError("device lost")
            return Samples((1.0, 1.1, 0.9), method="fake/1", stopped="count")

        compare = None

    class Benchmark:
        disabled, group = False, None

        def __init__(self) -> None:
            self.extra_info: dict[str, object] = {}

        def pedantic(self, target: object, *, rounds: int, iterations: int) -> None:
            pass

    released: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: released.append(True))
    gpu: Any = Gpu(Timer())  # type: ignore[arg-type]
    made = GpuBenchmark("k", Benchmark(), ManualClock(), lambda: gpu, lambda _: None)
    made(lambda: None)
    made.budget_ms = -1.0
    with pytest.raises(RuntimeError, match="device lost"):
        made(lambda: None)
    assert released == [True, True]


def test_a_wrong_result_fails_before_it_is_timed(measured: Answer) -> None:
    assert measured.status == 1
    assert "differs from its reference" in measured.out
    section = measured.out.partition("= GPU benchmarks =")[2].splitlines()
    assert not [line for line in section if line.startswith("test_wrong ")]
    assert "assert_close(result" not in measured.out  # the traceback ends in the user's line


@pytest.mark.parametrize(("ms", "status"), [("2.02", 0), ("2.2", 1)])
@pytest.mark.usefixtures("measured")
def test_compare_fail_judges_the_gpu_samples(
    command: list[str], project: Path, ms: str, status: int
) -> None:
    options = ("--benchmark-compare", "--benchmark-compare-fail=median:5%")
    answer = run_pytest(command, project, *options, FAKE_MS=ms)
    assert answer.status == status, answer.out
    assert ("Performance has regressed" in answer.out) == bool(status)


def test_disabled_benchmarks_run_once_and_are_not_timed(command: list[str], project: Path) -> None:
    answer = run_pytest(command, project, "--benchmark-disable")
    assert answer.status == 0
    assert "1 passed" in answer.out
    assert "GPU benchmarks" not in answer.out


def test_a_commit_that_is_none_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    info = {"id": "unversioned", "dirty": False}
    monkeypatch.setenv("HARNESS_COMMIT", "x")
    with pytest.warns(UserWarning, match="does not name a commit"):
        pytest_benchmark_update_commit_info(info)
    assert info["id"] == "unversioned"


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_without_a_gpu_the_reason_is_said(command: list[str], tmp_path: Path) -> None:
    # As the README's: its inputs lie on the GPU.
    test = ONE.replace("gpu_benchmark):\n", "gpu_benchmark):\n    torch.ones(1).cuda()\n")
    assert test != ONE
    (tmp_path / "test_one.py").write_text(test)
    answer = run_pytest(command, tmp_path, "--benchmark-only")
    assert answer.status == 0
    assert "1 skipped: no GPU: " in answer.out
    assert "torch was built without CUDA" in answer.out or "no device found" in answer.out


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_suites_time_code_generation_and_skip_kernels_without_a_gpu(command: list[str]) -> None:
    options = ("--benchmark-only", "--harness-graphs=moe_router_forward")
    answer = run_pytest(command, ROOT, "suites", *options)
    assert answer.status == 0, answer.out
    assert "test_codegen[moe_router_forward]" in answer.out
    assert "15 skipped: no GPU" in answer.out
    assert "1 passed" in answer.out


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        ("--harness-graphs", "moe_ruoter_forward", "moe_router_forward"),
        ("--harness-against", "inducter", "inductor"),
        ("--harness-target", "sm_9", "sm_90"),
        ("--harness-suite", "corpus:kind=scater", "kind: scatter"),
    ],
)
def test_what_does_not_exist_is_one_sentence(option: str, given: str, meant: str) -> None:
    usual = {"--harness-suite": "default", "--harness-graphs": "", "--harness-target": ""}
    options = {**usual, "--harness-against": "eager", option: given}
    config = SimpleNamespace(stash=pytest.Stash(), getoption=options.__getitem__)
    asked: Any = SimpleNamespace(config=config, fixturenames=["suite_graph"])
    with pytest.raises(pytest.UsageError, match=meant) as caught:
        parametrize(asked)
    assert given.partition(":")[2] in str(caught.value)


def test_a_query_of_the_corpus_is_a_suite() -> None:
    query = "corpus:kind=scatter nodes<30 sample=2 seed=1"
    options = {"--harness-suite": query, "--harness-graphs": "", "--harness-target": ""}
    options["--harness-against"] = "eager"
    config = SimpleNamespace(stash=pytest.Stash(), getoption=options.__getitem__)
    asked: Any = SimpleNamespace(config=config, fixturenames=["suite_graph"])
    asked.parametrize = lambda _, names, indirect: given.extend(names)
    given: list[str] = []
    parametrize(asked)
    assert len(given) == 2 and all(is_pattern_name(name) for name in given)


FAKE_SUITE = """
import pytest
from harness.records.run import Check, RegionRecord
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from harness.measure.jobs import Timing
from harness.heuristics.facts import Config
from harness.measure.jobs import Limit
from suites.benchmarking import (
    RegionTimes, named, parametrize,
)

pytest_generate_tests = parametrize
suite_kernel = pytest.fixture(named)
suite_region = pytest.fixture(named)
CONFIG = Config((("XBLOCK", 256),), 4, 2)

class FakeDevice:
    def check(self, module):
        return CheckResult(RIGHT, 0.25, 1e-3)
    def time(self, module):
        return Timing(CONFIG, Samples((0.4, 0.5, 0.6), copy_gbps=3000.0), Limit("write", 0.8))

class FakePeers:
    def compare(self, one, configs):
        assert set(configs.values()) == {CONFIG}
        yield RegionRecord(one.name, "harness", 1.0, kernels=2, sets=(Samples((1.0, 1.2)),),
                           check=Check.PASSED if RIGHT else Check.FAILED, max_error=0.5)
        yield RegionRecord(one.name, "eager", 3.0, sets=(Samples((3.0, 3.2)),))
        yield RegionRecord(one.name, "inductor", reason="Triton could not")

@pytest.fixture(scope="session")
def suite_device():
    return FakeDevice()

@pytest.fixture(scope="session")
def suite_regions(suite_device):
    return RegionTimes(suite_device, FakePeers())
"""


def run_suites(command: Sequence[str], folder: Path, right: bool) -> Answer:
    """The suites' benchmarks of kernels and regions over one graph, on a GPU that always answers
    the same."""
    for file in ("test_kernels.py", "test_regions.py"):
        (folder / file).write_text((ROOT / "suites" / file).read_text())
    (folder / "conftest.py").write_text(f"RIGHT = {right}\n{FAKE_SUITE}")
    return run_pytest(
        command,
        folder,
        "--benchmark-only",
        "--harness-graphs=moe_router_forward",
        "--benchmark-json=out.json",
        "--harness-against=eager,inductor",
        HARNESS_SUITES=str(ROOT / "suites"),
    )


@pytest.fixture(scope="module")
def suites(
    command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[dict[str, Any]], str]:
    """What they wrote as JSON and said."""
    folder = tmp_path_factory.mktemp("suites")
    answer = run_suites(command, folder, True)
    assert answer.status == 0, answer.out
    return json.loads((folder / "out.json").read_text())["benchmarks"], answer.out


def test_suite_kernels_are_grouped_by_graph(suites: tuple[list[dict[str, Any]], str]) -> None:
    benchmarks = [bench for bench in suites[0] if "suite_kernel" in bench["params"]]
    assert benchmarks
    assert {bench["group"] for bench in benchmarks} == {"moe_router_forward"}
    for bench in benchmarks:
        assert bench["stats"]["median"] == pytest.approx(5e-4)
        moved = bench["extra_info"]["bytes"]
        assert bench["extra_info"]["gbps"] == pytest.approx(moved / 0.5 / 1e6)
        assert bench["extra_info"]["config"]["XBLOCK"] == 256
        assert bench["extra_info"]["share_of_roof"] == 0.8
        # A compiled kernel as a parameter would be pages of text.
        assert bench["params"] == {"suite_kernel": bench["param"]}
        assert bench["name"] == f"test_kernel[{bench['param']}]"


def test_what_is_wrong_is_not_timed(command: list[str], tmp_path: Path) -> None:
    answer = run_suites(command, tmp_path, False)
    assert answer.status == 1
    assert "differs from its reference" in answer.out and "the result is wrong" in answer.out


def test_compilers_line_up_by_region(suites: tuple[list[dict[str, Any]], str]) -> None:
    """Bytes, GB/s and share too: what our kernels move and need at least, over each one's time."""
    benchmarks, said = suites
    assert "inductor: Triton could not" in said
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for bench in (bench for bench in benchmarks if "suite_region" in bench["params"]):
        compiler = bench["extra_info"]["compiler"]
        assert bench["params"] == {"suite_region": bench["param"]}
        assert bench["param"] == f"{bench['group']}-{compiler}"
        assert bench["group"].startswith("moe_router_forward.r")
        row = {**bench["extra_info"], "seconds": bench["stats"]["median"]}
        groups.setdefault(bench["group"], {})[compiler] = row
    assert groups
    for rows in groups.values():
        assert sorted(rows) == ["eager", "harness"]
        ours, eager = rows["harness"], rows["eager"]
        assert (ours["seconds"], eager["seconds"]) == pytest.approx((0.0011, 0.0031))
        assert ours["bytes"] == eager["bytes"] > 0
        assert ours["gbps"] == pytest.approx(ours["bytes"] / 1.1 / 1e6)
        assert eager["gbps"] == pytest.approx(eager["bytes"] / 3.1 / 1e6)
        # 0.8 of 0.5 ms for each launch, over the 1.1 and 3.1 ms that the passes took
        launches = round(ours["share_of_roof"] * 1.1 / 0.4)
        assert launches >= 1
        assert ours["share_of_roof"] == pytest.approx(launches * 0.4 / 1.1)
        assert eager["share_of_roof"] == pytest.approx(launches * 0.4 / 3.1)
        assert (ours["roof"], eager["roof"]) == ("write", "write")


class FakeBenchmark:
    """pytest-benchmark's fixture; keeps what the clock says of each round."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.disabled = False
        self.group = None
        self.extra_info: dict[str, object] = {}
        self.seconds: list[float] = []

    def pedantic(self, target: object, *, rounds: int, iterations: int) -> None:
        assert iterations == 1
        for _ in range(rounds):
            began = self.clock()
            target()  # type: ignore[operator]
            self.seconds.append(self.clock() - began)


def test_every_sample_becomes_a_round_in_order() -> None:
    clock = ManualClock()
    fake = FakeBenchmark(clock)
    rows: list[Row] = []
    bench = GpuBenchmark("k", fake, clock, lambda: pytest.fail("no device"), rows.append)
    bench.take(
        Samples((3.0, 1.0, 2.0), method="m/1", stopped="width"),
        nbytes=6_000_000,
        limit=Limit("read", 0.5),
    )
    assert fake.seconds == pytest.approx([0.003, 0.001, 0.002])
    (row,) = rows
    assert (row["ms"], row["gbps"], row["limit"]) == (2.0, 3.0, Limit("read", 0.5))


class PaperTimer:
    """Every launch takes a millisecond."""

    def measure(self, work: Launch, budget_ms: float) -> Samples:
        work()
        return Samples((1.0,), method="m/1", stopped="width")

    def compare(self, *_: object) -> NoReturn:
        raise NotImplementedError


def on_paper() -> tuple[GpuBenchmark, list[Row]]:
    clock, rows = ManualClock(), []
    gpu = Gpu(PaperTimer(), Roofline(4000.0, fp32_tflops=1.0))
    return GpuBenchmark("k", FakeBenchmark(clock), clock, lambda: gpu, rows.append), rows


def test_arithmetic_is_the_limit_where_it_takes_longer() -> None:
    bench, rows = on_paper()
    bench(lambda: None, bytes=4000, flops=500_000_000)  # 0.5 ms at 1 Tflop/s
    limit = rows[0]["limit"]
    assert (limit.roof, limit.fraction) == ("compute", pytest.approx(0.5))


def test_tolerances_are_the_callers() -> None:
    import torch

    x = torch.ones(4)
    wrong = {"args": (x,), "reference": lambda t: 1.01 * t}
    with pytest.raises(CheckFailed, match="differs from its reference"):
        on_paper()[0](lambda t: t, **wrong)
    assert on_paper()[0](lambda t: t, **wrong, rtol=0.1, atol=0) is x


@pytest.mark.parametrize("moved", [0, -1])
def test_bytes_that_are_none_are_refused(moved: int) -> None:
    with pytest.raises(UsageError, match="cannot have a bandwidth"):
        on_paper()[0](lambda: None, bytes=moved)


def test_a_benchmark_without_samples_is_refused() -> None:
    with pytest.raises(UsageError, match="without samples"):
        on_paper()[0].take(Samples((), method="m/1", stopped="budget"))


def test_no_bytes_no_bandwidth() -> None:
    clock = ManualClock()
    rows: list[Row] = []
    bench = GpuBenchmark("k", FakeBenchmark(clock), clock, lambda: pytest.fail("x"), rows.append)
    bench.take(Samples((3.0,), method="m/1", stopped="width"))
    assert rows[0]["gbps"] is None
    assert len({len(line) for line in section(rows)[:1]}) == 1


@pytest.mark.parametrize("columns", [None, 200, 80])
def test_the_section_fits_the_terminal(columns: int | None) -> None:
    names = [f"test_kernel[llama_block_forward/per_fused_pow_mean_{n}]" for n in (1, 2)]
    limit = Limit("copy", 1.234)
    row = {"ms": 123.4567, "low": 99.0, "high": 140.0, "gbps": 1234567.0, "limit": limit}
    rows = [{"name": name, "stopped": "disturbed", **row} for name in names]
    lines = section(rows, columns)
    assert all("1234567" in line and "123 % copy" in line for line in lines[1:])
    assert len({line.split()[0] for line in lines}) == 3  # still told apart
    if columns == 80:
        assert max(map(len, lines)) == 80
    if columns in (None, 200):
        assert [line.split()[0] for line in lines[1:]] == names
