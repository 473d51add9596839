"""What a worker process does around a kernel that cannot be run."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from triton.runtime.cache import triton_key

from harness.devices.job import Context, Unusable
from harness.errors import CheckFailed, HarnessError, NoDevice, OutOfMemory
from harness.measure import roofline, worker
from harness.measure.jobs import DeviceFacts, OpenDevice, Roofline, gpu
from harness.records.run import Machine
from harness.target import H100


class Held:
    """Stands for a tensor."""


def test_a_kernel_that_lacked_memory_leaves_it_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[weakref.ref[Held]] = []
    given_back: list[bool] = []

    def check() -> None:
        tensor = Held()
        held.append(weakref.ref(tensor))
        raise RuntimeError("CUDA out of memory")

    def work() -> None:
        try:
            check()
        except RuntimeError as error:
            raise CheckFailed("a kernel could not be run", got=str(error)) from error

    monkeypatch.setattr(worker, "is_lost", lambda: False)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(held[0]() is None))
    gc.disable()  # a process that checks kernels makes little that would start it
    try:
        with pytest.raises(CheckFailed, match="could not be run"):
            worker.surviving(work)
    finally:
        gc.enable()
    assert given_back == [True]


def test_a_kernel_for_whose_timing_memory_lacks_is_told_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(error: Exception) -> HarnessError:
        def work() -> None:
            raise error

        with pytest.raises(HarnessError, match="could not be timed") as caught:
            worker.surviving(work)
        return caught.value

    monkeypatch.setattr(worker, "is_lost", lambda: False)
    assert type(failing(torch.OutOfMemoryError("CUDA out of memory."))) is OutOfMemory
    assert type(failing(RuntimeError("CUDA error: an illegal instruction"))) is HarnessError


def test_a_ruined_context_ends_its_process_not_the_use_of_its_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A driver cannot tell the two apart: a device that is gone cannot be taken again."""

    def work() -> None:
        raise NoDevice("the GPU did not carry out what it was asked", where="k", got="an assertion")

    monkeypatch.setattr(worker, "is_lost", lambda: True)
    with pytest.raises(Unusable) as ended:
        worker.surviving(work)
    (lost,) = ended.value.args
    assert type(lost) is HarnessError
    assert (lost.where, lost.got) == ("k", "an assertion")


def test_a_process_reads_all_of_triton_before_it_takes_its_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first kernel of a process needs Triton's digest of itself, a third of a second."""
    monkeypatch.delitem(sys.modules, "harness.measure.timer.probes", raising=False)
    triton_key.cache_clear()
    for name in gpu().imports:
        importlib.import_module(name)
    assert triton_key.cache_info().currsize == 1


def test_bandwidths_are_measured_once_for_all_processes_on_a_board(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Timer:
        def __init__(self) -> None:
            self.watch = SimpleNamespace(patient_until=0.0, take=tuple)
            self.quick = False

    class Compilers:
        """Says when they start: they take seconds."""

        def __init__(self, count: int, _: object) -> None:
            self.count = count

        def start(self) -> None:
            started.append(self)

    started: list[Compilers] = []
    monkeypatch.setattr(worker, "CompilePool", Compilers)
    measured: list[Timer] = []
    board = ["GPU-a"]
    monkeypatch.setattr(worker, "CudaTimer", Timer)
    monkeypatch.setattr(worker, "current_target", lambda: H100)
    monkeypatch.setattr(worker, "current_uuid", lambda: board[0])
    monkeypatch.setattr(worker, "fingerprint", lambda *_: Machine("g", gpu_uuid=board[0]))

    def measure(timer: Timer) -> Roofline:
        assert not timer.quick, "limits are known as well as ever"
        measured.append(timer)
        return Roofline(len(measured))

    monkeypatch.setattr(roofline, "measure", measure)

    def opened(job: OpenDevice) -> DeviceFacts:
        context = Context()
        facts = worker.open_device(context, job)
        gpu = context.once(worker.Gpu)
        assert facts.roofline == gpu.measurer.roofline
        measures = gpu.timer in measured
        assert gpu.timer.quick == job.quick
        assert gpu.measurer.pool is (started[-1] if job.compilers > 1 else None)
        assert (gpu.timer.watch.patient_until > 0) == measures, "it lets kernels be checked"  # type: ignore[union-attr]
        return facts

    first = OpenDevice(bandwidths=True)
    facts = opened(first)
    assert opened(replace(first, known=facts)) == facts and len(measured) == 1
    assert opened(replace(first, known=facts, quick=True, compilers=3)) == facts
    assert [one.count for one in started] == [3]
    board[0] = "GPU-b"  # the first one fell off the bus
    assert opened(replace(first, known=facts, quick=True)).roofline == Roofline(2)
