"""The spin compiles for a GPU that is not there, and reads both clocks twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.calibration import worker
from harness.calibration.record import CellJob
from harness.calibration.worker import Spin
from harness.devices.job import Context
from harness.records.timing import Samples
from harness.runtime import module as modules
from harness.target import H100
from tests.runtime import emitted


def test_the_spin_compiles_and_reads_the_clocks() -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from harness.calibration.worker import spin

    signature = {"tally": "*i64", "cycles": "i32", "GROUP": "constexpr"}
    source = ASTSource(spin, signature, constexprs={"GROUP": 1})
    options = {"num_warps": 1, "enable_fp_fusion": True}
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]
    lines = [line.strip() for line in text.splitlines()]
    reads = [line.split("%")[-1] for line in lines if line.startswith("mov.u64") and "%" in line]
    clocks = [read for read in reads if read in ("globaltimer;", "clock64;")]
    assert clocks == ["globaltimer;", "clock64;", "clock64;", "globaltimer;"]
    assert sum("atom" in line for line in lines) == 3


class FakeKernel:
    """Counts as the kernel does, on a clock that rises from 1 to 2 cycles a nanosecond."""

    def __init__(self) -> None:
        self.launches = 0

    def __getitem__(self, grid: tuple[int, ...]) -> FakeKernel:
        assert grid == (1,)
        return self

    def __call__(self, tally: torch.Tensor, cycles: int, GROUP: int, num_warps: int) -> None:
        self.launches += 1
        rate = min(2.0, 1.0 + self.launches / 50)
        tally[GROUP, 0] += cycles + 20
        tally[GROUP, 1] += round((cycles + 20) / rate)
        tally[GROUP, 2] += 1


def test_tallies_are_read_and_cycles_follow_the_risen_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "spin", FakeKernel())
    spin = Spin(Context(), "cpu")
    launches = [spin.after(lambda _: None, ms, group) for group, ms in enumerate((0.0, 0.5, 1.0))]
    for _ in range(10):
        for launch in launches:
            launch([])
    none, half, whole = spin.truth(3)
    assert none == 10
    assert half - none == pytest.approx(500_000, rel=1e-3)
    assert whole - none == pytest.approx(1_000_000, rel=1e-3)
    spin.reset()
    assert spin.truth(1) == [0]


class FakeTimer:
    """Runs every work on its arguments and says it took a millisecond."""

    def measure(self, launch: Any, budget_ms: float, width: float = 0.005) -> Samples:
        return self.compare({"": launch}, budget_ms, width)[""]

    def compare(
        self, launches: dict[str, Any], budget_ms: float, width: float = 0.005
    ) -> dict[str, Samples]:
        for launch in launches.values():
            launch()
        return {name: Samples((1.0, 1.1, 0.9), method="fake", stopped="count") for name in launches}


def test_a_cell_has_the_plain_kernel_twice_and_every_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[int] = []
    gpu: Any = SimpleNamespace(timer=FakeTimer(), target=H100)
    monkeypatch.setattr(worker, "spin", FakeKernel())
    spin = Spin(Context(), "cpu")
    context = Context(tmp_path)
    monkeypatch.setattr(worker, "Spin", lambda _: spin)
    loaded = modules.load(emitted.POINTWISE, tmp_path)
    untuned = SimpleNamespace(loaded=loaded, chosen=lambda _: lambda _: launched.append(1))
    kernels = {emitted.POINTWISE: untuned}
    monkeypatch.setattr(worker, "SelectedKernels", lambda *_: kernels)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    real = modules.LoadedModule.get_args
    monkeypatch.setattr(
        modules.LoadedModule, "get_args", lambda self, device, seed: real(self, "cpu", seed)
    )
    job = CellJob(2, "key", emitted.POINTWISE, True, 1.0, 0, 1.0, 0.01)
    cell = worker._cell(job, gpu, context)
    assert (cell.process, cell.kernel) == (2, "key")
    assert list(cell.samples) == ["plain", "again", "spin 0", "spin 0.01", "spin 0.02", "spin 0.05"]
    assert len(launched) == 6
    assert cell.ms == 1.0
    extra = cell.truth["spin 0.05"] - cell.truth["spin 0"]
    assert extra == pytest.approx(50_000, rel=1e-3)
    plain = worker._cell(replace(job, slowed=False, ms=0.0), gpu, context)
    assert list(plain.samples) == ["plain", "again"], "nothing is slowed down"
    assert not plain.truth
    assert plain.ms == 1.0, "as the timer found it"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_spin_takes_as_long_as_it_is_told() -> None:
    spin = Spin(Context())
    for group, ms in enumerate((0.0, 0.001, 0.01, 0.1)):
        launch = spin.after(lambda _: None, ms, group)
        for _ in range(200):
            launch([])
    none, *some = spin.truth(4)
    assert none < 200
    for one, ms in zip(some, (0.001, 0.01, 0.1), strict=True):
        extra = one - none
        assert extra == pytest.approx(ms * 1e6, rel=0.05, abs=50)
