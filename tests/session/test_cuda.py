"""The device's worker: what one kernel does to it costs that kernel alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.devices import pool
from harness.errors import CompileFailed, HarnessError, NoDevice, WorkerDied
from harness.heuristics.facts import Config
from harness.measure.jobs import DeviceFacts
from harness.measure.timer.state import summary
from harness.records.run import Check, Machine
from harness.runtime.compile import binary
from harness.runtime.compile.static import CompileJob
from harness.runtime.tune.space import CandidateJob
from harness.session.cuda import CudaDevice
from harness.session.model import GraphDone
from harness.target import H100
from tests.devices.limits import limit_hangs_alone
from tests.devices.standing_in import stand_in
from tests.measure import fake_device
from tests.measure.fakes import FakeEntry, compiled, module, session
from tests.runtime import emitted

HAS_GPU = torch.cuda.is_available()


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaDevice]:
    monkeypatch.setattr(pool, "_PAUSE_SECONDS", 0.0)
    limit_hangs_alone(monkeypatch)
    stand_in(monkeypatch, fake_device.HANDLERS)
    with CudaDevice(tmp_path, 1, seconds=1.0) as made:
        yield made


def test_a_faulting_and_a_hanging_kernel_are_rows_and_the_rest_go_on(
    device: CudaDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    kernels = [
        module("good"),
        module("faults", text="# faults"),
        module("after"),
        module("crashes", text="# crashes"),
        module("hangs", text="# hangs"),
        module("last", text="# last"),
    ]
    events = session(FakeEntry("g", compiled(*kernels)), device=device).events()
    (record,) = [event.record for event in events if isinstance(event, GraphDone)]
    rows = {kernel.name: kernel for kernel in record.kernels}
    assert [rows[n].ms for n in ("good", "after", "last")] == [0.002] * 3
    assert rows["faults"].check is rows["crashes"].check is Check.FAILED
    assert "illegal memory access" in rows["faults"].check_note
    assert "exit status 7" in rows["crashes"].check_note
    assert rows["hangs"].check is Check.PASSED
    assert rows["hangs"].ms is None
    assert "no answer within 1 s" in rows["hangs"].reason
    assert (tmp_path / "taken").read_text() == "xxxx"
    # 4 MB in 2 µs are 2000 GB/s; the first process measured 1000, for all.
    assert [rows[n].fraction for n in ("good", "after", "last")] == pytest.approx([2.0] * 3)


def test_a_refused_kernel_keeps_the_worker(device: CudaDevice, tmp_path: Path) -> None:
    with pytest.raises(CompileFailed):
        device.check(module("k", text="# refused"))
    assert device.check(module("good")).passed
    assert (tmp_path / "taken").read_text() == "x"


def test_the_tuner_is_told_the_earlier_configuration(device: CudaDevice) -> None:
    before = Config((("XBLOCK", 32),), 1)
    assert device.time(module("k"), before).config == before


def test_a_fresh_process_times_with_the_configuration_given(
    device: CudaDevice, tmp_path: Path
) -> None:
    given = Config((("XBLOCK", 64),), 2, 1)
    first = device.time(module("k"))
    device.restart()
    second = device.again("# k", given, 8)
    assert (tmp_path / "taken").read_text() == "xx"
    assert (first.samples.process, second.samples.process) == (0, 1)
    assert [s.samples.copy_gbps for s in (first, second)] == [1000.0] * 2, "measured once"
    assert second.config == given
    assert second.samples.method == "fake"
    assert first.limit is not None
    assert first.limit.fraction == pytest.approx(2.0)
    with pytest.raises(WorkerDied, match="no answer within 1 s"):
        device.again("# hangs", given, 8)
    third = device.again("# k", given)
    assert third.samples.process == 1
    state = summary(device.readings)
    assert state is not None
    assert (state.samples, state.sm_mhz_low, state.throttled) == (6, 1755.0, {"power cap": 3})


def test_a_device_that_is_gone_ends_the_run(
    device: CudaDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    (tmp_path / "gone").touch()
    with pytest.raises(HarnessError, match="could not be run"):
        device.check(module("k", text="# faults"))
    events = session(FakeEntry("g", compiled(module("next"))), device=device).events()
    with pytest.raises(NoDevice, match="cannot be used"):
        list(events)


def test_what_is_kept_is_not_compiled_again(device: CudaDevice, tmp_path: Path) -> None:
    one = emitted_module(emitted.POINTWISE)
    first, *rest = device.missing([one], {})
    assert first.config is not None and rest
    assert {type(job) for job in (first, *rest)} == {CandidateJob}
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "kernel.json").touch()
    tuned = device.missing([emitted_module(emitted.POINTWISE + "# tuned before\n")], {})
    assert [(type(job), job.config) for job in tuned] == [(CompileJob, fake_device.CONFIG)]
    kept = binary.path(tmp_path, binary.artifact(one.text, first.config, device.target))
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert device.missing([one], {}) == rest
    assert device.missing([one], {one.text: first.config}) == []
    device.where = replace(device.where, host=lambda _: None)  # which has a cache of its own
    assert device.missing([one], {}) == [first, *rest]


def test_before_anything_was_tuned_nobody_waits_for_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, fake_device.HANDLERS)
    seen = DeviceFacts(H100, Machine("fake"), "fake/1")
    with CudaDevice(tmp_path, 1, seen=seen) as made:
        one = emitted_module(emitted.POINTWISE)
        jobs = made.missing([one], {})
        assert {type(job) for job in jobs} == {CandidateJob} and not (tmp_path / "taken").exists()
        (tmp_path / "tuned").mkdir()
        (tmp_path / "tuned" / "kernel.json").touch()
        assert made.missing([one], {}) == jobs and (tmp_path / "taken").exists()


FAULTING = emitted.POINTWISE.replace(
    "tl.store(out_ptr0 + xindex, tmp2, xmask)",
    "tl.store(out_ptr0 + xindex + (1 << 44), tmp2, xmask)",
)
HANGING = emitted.POINTWISE.replace(
    "    tl.store(out_ptr0 + xindex, tmp2, xmask)",
    "    while tl.atomic_add(out_ptr0, 0.0) < 1e30:\n        tmp2 += 1.0\n"
    "    tl.store(out_ptr0 + xindex, tmp2, xmask)",
)


def emitted_module(text: str) -> EmittedModule:
    return module("triton_poi_fused_tanh_add_0", text=text)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_an_illegal_access_and_a_hang_on_the_device(tmp_path: Path) -> None:
    good = emitted_module(emitted.POINTWISE)
    with CudaDevice(tmp_path, 1, seconds=25.0) as device:
        assert device.check(good).passed
        with pytest.raises(HarnessError, match="illegal memory access"):
            device.check(emitted_module(FAULTING))
        assert device.check(good).passed
        with pytest.raises(HarnessError, match="illegal memory access"):
            device.time(emitted_module(FAULTING))
        with pytest.raises(WorkerDied, match="no answer within 25 s"):
            device.time(emitted_module(HANGING))
        timing = device.time(good)
        assert timing.samples.median < 1
        assert device.facts.roofline
        gbps = device.facts.roofline.copy_gbps
        assert timing.samples.copy_gbps == pytest.approx(gbps, rel=0.1)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_a_full_device_says_so(tmp_path: Path) -> None:
    free, _ = torch.cuda.mem_get_info()
    kept = torch.empty(free - (300 << 20), dtype=torch.uint8, device="cuda")
    try:
        with pytest.raises(NoDevice, match=r"too little free memory|cannot be used") as caught:
            CudaDevice(tmp_path, 1)
        assert "memory" in str(caught.value)
    finally:
        del kept
        torch.cuda.empty_cache()


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_a_kernel_that_does_not_fit_is_a_row(tmp_path: Path) -> None:
    begin = "def get_args(device=None, seed=0):\n"
    large = "torch.empty(1 << 38, dtype=torch.float32, device='cuda')"
    huge = emitted.POINTWISE.replace(begin, f"{begin}    return [{large} for _ in range(3)]\n")
    assert huge != emitted.POINTWISE
    with CudaDevice(tmp_path, 1) as device:
        with pytest.raises(HarnessError, match="out of memory"):
            device.check(emitted_module(huge))
        assert device.check(emitted_module(emitted.POINTWISE)).passed
