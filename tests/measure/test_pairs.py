from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch

from harness.devices.pool import Pool
from harness.errors import NoDevice
from harness.measure import pairs, worker
from harness.measure.jobs import Effort, PairJob, PairSamples, TimedKernel
from harness.measure.pairs import KernelPair, time_pairs
from harness.records.timing import Samples, Work
from harness.target import H100
from tests.devices.limits import limit_hangs_alone
from tests.devices.standing_in import stand_in
from tests.measure import fake_pairs
from tests.runtime.emitted import POINTWISE

MODULE = POINTWISE + "\nARGS = [\n]\n"
EFFORT = Effort(processes=3)


@pytest.fixture(autouse=True)
def no_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "CompilePool", MagicMock())


@pytest.fixture
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, fake_pairs.HANDLERS)


def pair(name: str, a: str = "# ms 0.01", b: str = "# ms 0.01") -> KernelPair:
    return KernelPair((TimedKernel(f"# {name}\n{a}\n"),), (TimedKernel(f"# {name}\n{b}\n"),))


def log(cache: Path) -> list[tuple[str, str, str, str]]:
    lines = (cache / "log").read_text().splitlines()
    return [tuple(line.split(" ", 3)) for line in lines]  # type: ignore[misc]


@pytest.mark.usefixtures("fake_worker")
def test_every_process_is_fresh_and_has_its_own_order(tmp_path: Path) -> None:
    names = [f"k{n}" for n in range(8)]
    found = time_pairs([pair(n) for n in names], EFFORT, tmp_path, 1)
    assert [len(outcomes) for outcomes in found.outcomes] == [3] * 8
    entries = log(tmp_path)
    processes = list(dict.fromkeys(pid for pid, *_ in entries))
    assert len(processes) == 3
    orders = [tuple(name for pid, _, _, name in entries if pid == p) for p in processes]
    assert len(set(orders)) == 3, "each process takes the pairs in another order"
    assert {first for _, first, _, _ in entries} == {"True", "False"}, "A is not always first"
    assert len({seed for _, _, seed, _ in entries}) == 3, "each process draws its own inputs"


@pytest.mark.usefixtures("fake_worker")
def test_what_was_kept_is_not_timed_again(tmp_path: Path) -> None:
    class Kept(dict[str, PairSamples]):
        def put(self, asked: str, found: PairSamples) -> None:
            self[asked] = found

    kept = Kept()
    both, effort = [pair("a"), pair("b")], Effort(2, seed=1)
    first = time_pairs(both, effort, tmp_path, 1, kept=kept)
    assert len((tmp_path / "log").read_text().splitlines()) == len(kept) == 4
    kept.popitem()
    again = time_pairs(both, effort, tmp_path, 1, kept=kept)
    assert len((tmp_path / "log").read_text().splitlines()) == 5
    assert [list(map(medians, one)) for one in again.outcomes] == [
        list(map(medians, one)) for one in first.outcomes
    ]
    other = replace(effort, seed=9)
    assert time_pairs(both, other, tmp_path, 1, kept=kept).outcomes != first.outcomes


def medians(one: PairSamples) -> tuple[float, float]:
    return one.a.median, one.b.median


@pytest.mark.usefixtures("fake_worker")
def test_a_kernel_that_cannot_run_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_hangs_alone(monkeypatch)
    bad = [pair(word, f"# {word}\n# ms 1") for word in ("crashes", "fails", "hangs")]
    effort = Effort(processes=2, job_seconds=1.0)
    found = time_pairs([pair("good"), *bad], effort, tmp_path, 1)
    assert found.reasons[0] == ""
    assert "process ended" in found.reasons[1]
    assert "does not fit" in found.reasons[2]
    assert "no answer within 1 s" in found.reasons[3]
    assert [len(o) for o in found.outcomes] == [2, 0, 0, 0]
    names = [name for *_, name in log(tmp_path)]
    assert names.count("# crashes") == 1, "what cannot run is not tried again in later processes"
    assert names.count("# good") == 2


class TurnTimer:
    """Runs each launch once and answers by its order."""

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.args: list[object] = []

    def measure(self, launch: object, budget_ms: float, width: float = 0) -> Samples:
        raise NotImplementedError

    def compare(self, launches: dict[str, Work], budget_ms: float, width: float = 0) -> object:
        for name, launch in launches.items():
            self.launched.append(name)
            self.args.append(getattr(launch, "args", None))
            launch()
        return {name: Samples((1.0,), method="turns", stopped="width") for name in launches}


@pytest.mark.usefixtures("fake_worker")
def test_a_gpu_that_gives_out_leaves_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = Pool.each, []

    def each(pool: Pool, *given: Any) -> Any:
        for index, answer in real(pool, *given):
            done.extend([answer] if isinstance(answer, PairSamples) else [])
            yield index, answer if len(done) <= 3 else NoDevice("the GPU cannot be used")

    monkeypatch.setattr(Pool, "each", each)
    both = [pair("one"), pair("two")]
    found = time_pairs(both, EFFORT, tmp_path, 1)
    assert found.lost == "NoDevice: the GPU cannot be used"
    assert sorted(len(outcomes) for outcomes in found.outcomes) == [1, 2]
    with pytest.raises(NoDevice):
        time_pairs(both, EFFORT, tmp_path, 1)


class EmptyLauncher:
    calls: list[tuple[str, object]]

    def __init__(self, loaded, config, target, cache, **_) -> None:
        self.name, self.config = loaded.name, config

    def resources(self) -> None:
        pass

    def __call__(self, args) -> None:
        EmptyLauncher.calls.append((self.name, self.config))


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object]]:
    EmptyLauncher.calls = []
    monkeypatch.setattr(worker, "Launcher", EmptyLauncher)
    return EmptyLauncher.calls


def one_job(
    a: tuple[TimedKernel, ...], b: tuple[TimedKernel, ...], a_first: bool = True
) -> PairJob:
    return PairJob(a, b, a_first, 0, 1.0, 0.01)


def test_equal_arguments_are_one_set_of_tensors(tmp_path: Path, launched: list) -> None:
    text = MODULE
    timer = TurnTimer()
    config = {"XBLOCK": 128, "num_warps": 2, "num_stages": 1}
    job = one_job((TimedKernel(text),), (TimedKernel(text, config),), a_first=False)
    worker.paired(job, timer, H100, tmp_path, device="cpu")  # type: ignore[arg-type]
    assert timer.launched == ["b", "a"], "the order is the job's"
    assert timer.args[0] is timer.args[1]
    assert launched[0][1].num_warps == 2, "the recorded configuration"  # type: ignore[attr-defined]


def test_a_group_launches_each_as_often_as_its_graph(tmp_path: Path, launched: list) -> None:
    text = MODULE
    job = one_job((TimedKernel(text, launches=3), TimedKernel(text)), (TimedKernel(text),))
    worker.paired(job, TurnTimer(), H100, tmp_path, device="cpu")  # type: ignore[arg-type]
    assert len(launched) == 3 + 1 + 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_kernel_against_itself_on_the_gpu(tmp_path: Path) -> None:
    same = KernelPair((TimedKernel(MODULE),), (TimedKernel(MODULE),))
    (outcomes,) = time_pairs([same], Effort(processes=2), tmp_path, 1).outcomes
    for outcome in outcomes:
        assert outcome.a.median == pytest.approx(outcome.b.median, rel=0.5)


@pytest.mark.usefixtures("fake_worker")
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    def follow(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    found = time_pairs([pair("a"), pair("b")], EFFORT, tmp_path, 1, follow)
    assert found.interrupted
    assert sorted(len(outcomes) for outcomes in found.outcomes) == [1, 2]


def test_what_judges_samples_is_imported_before_a_process_takes_its_device() -> None:
    code = """
import importlib, sys
from harness.measure.jobs import gpu
for name in gpu().imports:
    importlib.import_module(name)
before = set(sys.modules)
from harness.measure.noise import median
rising = [1 + n / 1000 for n in range(300)]
assert median.drift(rising, 0.01)
assert "scipy.stats" not in sys.modules, "it takes a second, in each process that measures"
print([name for name in sys.modules if name not in before and "_" not in name])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
