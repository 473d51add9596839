"""What a worker process does around a kernel that cannot be run."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref

import pytest
import torch
from triton.runtime.cache import triton_key

from harness.errors import CheckFailed, HarnessError, OutOfMemory
from harness.measure import worker
from harness.measure.jobs import gpu


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
    monkeypatch.setattr(worker, "release", lambda _: given_back.append(held[0]() is None))
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


def test_a_process_reads_all_of_triton_before_it_takes_its_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first kernel of a process needs Triton's digest of itself, a third of a second."""
    monkeypatch.delitem(sys.modules, "harness.measure.timer.probes", raising=False)
    triton_key.cache_clear()
    for name in gpu().imports:
        importlib.import_module(name)
    assert triton_key.cache_info().currsize == 1
