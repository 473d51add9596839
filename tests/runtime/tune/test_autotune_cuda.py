"""The tuner on a CUDA device: real kernels, real clocks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from harness.measure.timer.graph_timer import CudaTimer
from harness.records.timing import Work
from harness.runtime import module as modules
from harness.runtime.compile.static import CompilePool
from harness.runtime.tune.autotune import CachingAutotuner, Compiler, Settings, tune
from harness.runtime.tune.saved import Saved, free_room
from harness.runtime.tune.search import CoordinateDescent, GuidedSearch
from harness.runtime.tune.tuning_cache import TuningCache, device_identity
from tests.runtime import emitted

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("search", [CoordinateDescent(1, True), GuidedSearch(most=8)])
def test_arguments_are_what_they_were_bit_for_bit(tmp_path: Path, search: object) -> None:
    from harness.runtime.device import current_target

    tuner = CachingAutotuner(
        modules.load(emitted.POINTWISE, tmp_path),
        current_target(),
        tmp_path,
        Settings(search=search, debug=True),
    )
    args = tuner.loaded.get_args(device="cuda")
    before = [a.clone() for a in args]
    found = tuner.tune(args, CudaTimer())
    assert all(torch.equal(a, b) for a, b in zip(args, before, strict=True))
    timed = [t for t in found.trials if t.samples_ms]
    assert len(timed) > 2
    assert found.artifact and all(t.registers for t in timed)
    assert 0 < found.noise < 0.5
    # What a sample shows is the kernel, not what it takes to launch one.
    timer, compiled = CudaTimer(), Compiler(tuner.loaded, current_target(), tmp_path)
    alone = timer.measure(Work(compiled(found.config), args), 50.0).median
    assert min(t.time for t in timed if t.time) == pytest.approx(alone, rel=0.2)


def test_pinned_host_copies_restore(tmp_path: Path) -> None:
    tensor = torch.randn(1 << 20, device="cuda")
    before = tensor.clone()
    saved = Saved.of([tensor], lambda _: 0)
    assert saved.pairs[0][1].is_pinned()
    tensor.zero_()
    saved.restore()
    assert torch.equal(tensor, before)
    assert free_room(torch.device("cuda")) > 1 << 30


def test_a_tuned_kernel_starts_warm(tmp_path: Path) -> None:
    from harness.runtime.device import current_target

    tuning_cache = TuningCache(tmp_path / "tuned", device_identity())
    target = current_target()
    sampler = CudaTimer()
    with CompilePool(2, tmp_path) as pool:
        cold = CachingAutotuner(
            modules.load(emitted.ROW_SUM, tmp_path),
            target,
            tmp_path,
            tuning_cache=tuning_cache,
            pool=pool,
        )
        args = cold.loaded.get_args(device="cuda")
        first = cold.tune(args, sampler)
    warm = CachingAutotuner(
        modules.load(emitted.ROW_SUM, tmp_path), target, tmp_path, tuning_cache=tuning_cache
    )
    began = time.perf_counter()
    again = warm.tune(args, sampler)
    seconds = time.perf_counter() - began
    assert again.config == first.config
    assert again.source == "cache"
    assert seconds < 1.0


def test_a_configuration_that_does_not_fit_is_a_reason(tmp_path: Path) -> None:
    from harness.runtime.device import current_target

    text = emitted.POINTWISE.replace('"num_warps": 4', '"num_warps": 64', 1)
    loaded = modules.load(text, tmp_path)
    args = loaded.get_args(device="cuda")
    found = tune(loaded, args, CudaTimer(), Compiler(loaded, current_target(), tmp_path))
    assert found.config == loaded.configs[1]
    assert found.trials[0].reason
