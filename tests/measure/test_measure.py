"""Measuring without a GPU: a manual clock, kernels run by plain torch."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
import torch

from harness.devices.job import Context, Unusable
from harness.errors import (
    CheckFailed,
    CompileFailed,
    HarnessError,
    NoDevice,
    NoTritonConfigsError,
    OutOfMemory,
    UsageError,
)
from harness.heuristics.facts import Config
from harness.measure import worker
from harness.measure.jobs import Limit, OpenDevice, Roofline
from harness.measure.timer import graph_timer as timers
from harness.measure.worker import Measurer
from harness.records import machine
from harness.records.machine import Commit, commit_of, fingerprint
from harness.records.timing import Launch, Samples
from harness.records.trials import Resources
from harness.runtime import module as modules
from harness.runtime.tune.autotune import Settings, tune
from harness.runtime.tune.saved import Saved
from harness.target import H100, Target
from tests.runtime import emitted

HAS_GPU = torch.cuda.is_available()


class FakeTimer:
    """Runs each launch twice and answers with what ``say`` holds, in turn."""

    def __init__(self, *say: float) -> None:
        self.values = say
        self.say = itertools.cycle(say)

    def sampler(self, _: object) -> Self:
        return self

    def settle(self) -> None:
        pass

    def warm_up(self) -> None:
        pass

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        """The best one known, and its control, say the first value, its rivals the others."""
        for launch in launches.values():
            launch()
        rest = itertools.cycle(self.values[1:] or self.values)
        first = ("baseline", "control")
        return {n: [self.values[0] if n in first else next(rest)] * count for n in launches}

    def measure(self, launch: Launch, budget_ms: float, width: float = 0.005) -> Samples:
        launch()
        launch()
        ms = next(self.say)
        return Samples((ms, ms, ms), method="fake", stopped="count")

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = 0.005
    ) -> dict[str, Samples]:
        return {name: self.measure(launch, budget_ms) for name, launch in launches.items()}


@dataclass
class TorchLaunch:
    """Lets torch do the kernel's work."""

    loaded: modules.LoadedModule
    resources: Resources

    def __call__(self, args: Sequence[Any]) -> None:
        expected = self.loaded.reference(list(args))
        for position, value in zip(self.loaded.outputs, expected, strict=True):
            args[position].copy_(value)


@dataclass
class ByTorch:
    """``outcomes``: by block size, an error that compiling raises or spilled registers."""

    loaded: modules.LoadedModule
    outcomes: Mapping[str, str | int]
    target: Target = H100
    parallel: int = 1

    def ahead(self, configs: Sequence[Config]) -> None:
        pass

    def __call__(self, config: Config) -> TorchLaunch:
        outcome = self.outcomes.get(f"x{config.block('XBLOCK')}", 0)
        if isinstance(outcome, str):
            raise CompileFailed("no", got=outcome)
        return TorchLaunch(self.loaded, Resources(spills=outcome))


def by_torch(loaded: modules.LoadedModule, **outcomes: str | int) -> ByTorch:
    return ByTorch(loaded, outcomes)


def measuring(
    cache: Path,
    make: Callable[[modules.LoadedModule], ByTorch] = by_torch,
    roofline: Roofline | None = None,
) -> Measurer:
    """A measurer on the CPU that ``make`` compiles for."""

    class ByMake(Measurer):
        def _prepare(self, loaded: modules.LoadedModule) -> Any:
            return make(loaded)

    return ByMake(H100, FakeTimer(0.5), roofline or Roofline(100.0), cache, "cpu")


@pytest.fixture
def loaded(tmp_path: Path) -> modules.LoadedModule:
    return modules.load(emitted.POINTWISE, tmp_path)


def test_fastest_candidate_wins_and_arguments_come_back(loaded: modules.LoadedModule) -> None:
    args = loaded.get_args()
    before = [a.clone() for a in args]
    tuned = tune(loaded, args, FakeTimer(2.0, 1.0), by_torch(loaded))
    assert tuned.config == loaded.configs[1]
    assert [t.ms for t in tuned.trials] == [2.0, 1.0]
    assert all(torch.equal(a, b) for a, b in zip(args, before, strict=True))


def test_arguments_come_back_when_timing_fails(loaded: modules.LoadedModule) -> None:
    class Broken(FakeTimer):
        def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
            launches["baseline"]()
            raise RuntimeError("device lost")

    args = loaded.get_args()
    before = args[2].clone()
    with pytest.raises(RuntimeError, match="device lost"):
        tune(loaded, args, Broken(1.0), by_torch(loaded))
    assert torch.equal(args[2], before)


def test_failed_and_spilling_candidates_are_dropped(loaded: modules.LoadedModule) -> None:
    args = loaded.get_args()
    tuned = tune(loaded, args, FakeTimer(1.0), by_torch(loaded, x1024="out of registers"))
    assert tuned.config == loaded.configs[1]
    assert tuned.trials[0].reason == "out of registers"
    tuned = tune(loaded, args, FakeTimer(1.0), by_torch(loaded, x512=100))
    assert tuned.config == loaded.configs[0]
    tuned = tune(loaded, args, FakeTimer(2.0, 1.0), by_torch(loaded, x512=100, x1024=100))
    assert tuned.config == loaded.configs[1]


def test_nothing_left_names_the_causes(loaded: modules.LoadedModule) -> None:
    prepare = by_torch(loaded, x1024="shared memory", x512="threads")
    with pytest.raises(
        NoTritonConfigsError,
        match=r"=1024 num_warps=4 .*: shared memory; .*512 num_warps=4 .*: threads",
    ):
        tune(loaded, loaded.get_args(), FakeTimer(1.0), prepare)


def test_saved_restores_shared_storage_once() -> None:
    base = torch.randn(100)
    views = [base[:50], base[50:]]
    before = base.clone()
    saved = Saved.of(views)
    assert len(saved.pairs) == 1
    base.fill_(float("nan"))
    saved.restore()
    assert torch.equal(base, before)


def test_a_kernel_is_timed_or_its_reason_is_raised(tmp_path: Path) -> None:
    measurer = measuring(tmp_path)
    good = measurer.measure(emitted.POINTWISE)
    assert good.samples.median == 0.5
    assert good.samples.copy_gbps == 100.0
    assert good.limit is not None
    assert good.limit.fraction == pytest.approx(24000 / 0.5 / 1e6 / 100.0)
    for config in modules.load(emitted.POINTWISE, tmp_path).configs:
        assert measurer.measure(emitted.POINTWISE, earlier=(config,)).config == config
    bad = measuring(tmp_path, lambda m: by_torch(m, x1024="A", x512="B"))
    with pytest.raises(NoTritonConfigsError) as caught:
        bad.measure(emitted.POINTWISE)
    assert "num_warps=4 num_stages=1: A; " in caught.value.got
    assert "num_warps=4 num_stages=1: B" in caught.value.got
    with pytest.raises(CompileFailed):
        measurer.measure("KERNEL = 1")


def test_a_check_runs_what_was_compiled_and_loads_the_module_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    load = modules.load
    monkeypatch.setattr(modules, "load", lambda text, c: (loads.append(text), load(text, c))[1])
    asked: list[Config] = []

    class Wrong(TorchLaunch):
        def __call__(self, args: Sequence[Any]) -> None:
            super().__call__(args)
            args[self.loaded.outputs[0]].add_(1)

    class Wrongly(ByTorch):
        def __call__(self, config: Config) -> TorchLaunch:
            asked.append(config)
            return Wrong(self.loaded, Resources())

    measurer = measuring(tmp_path)
    assert measurer.check(emitted.POINTWISE).passed
    measurer.measure(emitted.POINTWISE)
    first, second = (measurer.tuner(emitted.POINTWISE, Settings()) for _ in range(2))
    assert first.loaded is second.loaded
    assert loads == [emitted.POINTWISE]
    wrong = measuring(tmp_path, lambda m: Wrongly(m, {}))
    assert not wrong.check(emitted.POINTWISE).passed
    assert asked == [modules.load(emitted.POINTWISE, tmp_path).configs[0]]
    with pytest.raises(CompileFailed, match="no"):
        measuring(tmp_path, lambda m: by_torch(m, x1024="A")).check(emitted.POINTWISE)


@pytest.mark.parametrize(
    ("raised", "kind"), [("torch.OutOfMemoryError", OutOfMemory), ("RuntimeError", CheckFailed)]
)
def test_a_check_that_lacks_memory_is_told_from_a_kernel_that_fails(
    tmp_path: Path, raised: str, kind: type[HarnessError]
) -> None:
    failing = f"def reference(*_, **__):\n    raise {raised}('the memory of a GPU')\n"
    with pytest.raises(kind, match="the memory of a GPU") as caught:
        measuring(tmp_path).check(f"{emitted.POINTWISE}\n\n{failing}")
    assert type(caught.value) is kind


def test_arithmetic_is_held_against_the_units_that_do_it(tmp_path: Path) -> None:
    roofline = Roofline(3000.0, fp32_tflops=50.0, tensor_tflops=700.0)
    measurer = measuring(tmp_path, roofline=roofline)
    for tensor, fraction in ((False, 0.4), (True, 0.4 / 14)):
        text = f"{emitted.POINTWISE}\nFLOPS = {10**10}\nTENSOR = {tensor}\n"
        found = measurer.measure(text).limit
        assert found == Limit("compute", pytest.approx(fraction))


@pytest.mark.parametrize(("kept", "times"), [(30 << 30, 3), (1 << 30, 1)])
def test_memory_is_given_back_where_it_is_much_or_a_kernel_failed(
    kept: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: released.append(True))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: kept)
    board = SimpleNamespace(total_memory=80 << 30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: board)
    monkeypatch.setattr(worker, "is_lost", lambda: False)
    measurer = measuring(tmp_path)
    config = modules.load(emitted.POINTWISE, tmp_path).configs[0]
    for asked in (None, config):
        worker.surviving(lambda: measurer.measure(emitted.POINTWISE, asked))  # noqa: B023
    with pytest.raises(CompileFailed):
        worker.surviving(lambda: measurer.measure("KERNEL = 1"))
    assert released == [True] * times


@pytest.mark.parametrize("board", ["GPU-b", ""])
def test_a_process_is_told_its_board_before_the_driver_is_asked(
    board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def driver() -> None:
        asked.append(os.environ.get("CUDA_VISIBLE_DEVICES"))
        raise NoDevice("there is none")

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a")
    monkeypatch.setattr(worker, "CudaTimer", driver)
    with pytest.raises(Unusable):
        worker.open_device(Context(None, lambda _: None), OpenDevice(board=board))
    assert asked == [board or "GPU-a"]


def test_machine_without_gpu_has_nulls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = fingerprint()
    assert found.gpu is None
    assert found.driver is None
    assert found.torch == torch.__version__
    assert found.key
    assert "/" not in found.key


def test_a_machine_is_called_by_its_gpu_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    of_board = {"multi_processor_count": 114, "L2_cache_size": 1 << 20}
    properties = SimpleNamespace(name="NVIDIA H100 80GB HBM3", uuid="1", **of_board)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    clocks = SimpleNamespace(NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2)

    class Asked:
        nvml = clocks

        def __enter__(self) -> Asked:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def driver(self) -> str:
            return "580.1"

        def ask(self, function: str, *kind: int) -> int | None:
            return None if function == "nvmlDeviceGetUUID" else 1000 * kind[0]

    monkeypatch.setattr(machine, "open_device", lambda _: Asked())
    found = fingerprint()
    assert (found.key, found.gpu) == ("nvidia-h100-80gb-hbm3-580.1", properties.name)
    assert (found.gpu_uuid, found.driver) == ("GPU-1", "580.1")
    assert (found.multiprocessors, found.l2_bytes) == (114, 1 << 20)
    assert (found.sm_clock_mhz, found.memory_clock_mhz) == (1000, 2000)
    assert found.cores and found.torch == torch.__version__


def test_commit_outside_a_repository_is_empty(tmp_path: Path) -> None:
    assert commit_of(tmp_path).name == ""


def test_commit_from_outside(tmp_path: Path) -> None:
    assert commit_of(tmp_path, "3F2A91C0") == Commit("3f2a91c0", False)
    assert commit_of(tmp_path, "3f2a91c-dirty") == Commit("3f2a91c", True)
    for wrong in ("main", "3f2a", "3f2a91c-", "3f2a91cz"):
        with pytest.raises(UsageError, match="does not name a commit"):
            commit_of(tmp_path, wrong)


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_timer_without_gpu_says_so() -> None:
    with pytest.raises(NoDevice, match="GPU is needed"):
        timers.CudaTimer()


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_measure_on_the_device(tmp_path: Path) -> None:
    from harness.runtime.device import current_target

    measurer = Measurer(current_target(), timers.CudaTimer(), Roofline(1000.0), tmp_path)
    found = measurer.measure(emitted.POINTWISE)
    assert 0 < found.samples.median < 1
