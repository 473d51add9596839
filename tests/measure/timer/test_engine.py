"""Recording, on a fake torch."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from harness.measure.timer import engine
from harness.measure.timer.engine import NotRecordable, recorded
from harness.measure.worker import no_device

POOL = (0, 3)


class Graph:
    """As ``torch.cuda.CUDAGraph``; ``end`` is what ``capture_end`` does."""

    begun: tuple[int, int] | None = None
    replays = 0

    def capture_begin(self, pool: tuple[int, int], capture_error_mode: str) -> None:
        Graph.begun = pool

    def capture_end(self) -> None:
        pass

    def replay(self) -> None:
        Graph.replays += 1


class Failing(Graph):
    def capture_end(self) -> None:
        raise torch.AcceleratorError("CUDA error: operation failed due to a previous error")


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A fake CUDA; the pools that the allocator was told to forget."""
    found: list[Any] = []

    class Stream:
        def __init__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(engine, "require", lambda: torch.device("cuda", 0))
    monkeypatch.setattr(engine, "forget_recording", lambda _, pool: found.append(pool))
    for name, value in {
        "Stream": Stream,
        "CUDAGraph": Graph,
        "graph_pool_handle": lambda: POOL,
        "stream": lambda _: contextlib.nullcontext(),
        "current_stream": lambda _: Stream(),
        "current_device": lambda: 0,
        "synchronize": lambda *_: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    yield found


def test_a_recording_is_replayed(forgotten: list[Any]) -> None:
    Graph.replays = 0
    recorded(lambda: None)()
    assert (Graph.begun, Graph.replays, forgotten) == (POOL, 1, [])


def test_nothing_is_collected_while_a_launch_is_recorded(
    forgotten: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Garbage may hold kernels of other compilers: unloading them would end the recording."""
    seen = []
    monkeypatch.setattr(Graph, "capture_begin", lambda *_, **__: seen.append(gc.isenabled()))
    recorded(lambda: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Failing)
    with pytest.raises(NotRecordable):
        recorded(lambda: None)
    assert seen == [False, False] and gc.isenabled()


def test_after_a_recording_that_failed_torch_gives_memory_back_again(
    forgotten: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Failing)
    with pytest.raises(NotRecordable, match="cannot be recorded"):
        recorded(lambda: None)
    assert forgotten == [POOL]


def test_a_driver_without_memory_for_a_context_is_a_full_gpu() -> None:
    """What CUDA says where another process holds nearly all of the memory."""
    full = no_device(RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be …"))
    assert "too little free memory" in str(full)
    assert "too little free memory" in str(no_device(torch.OutOfMemoryError("CUDA out of memory.")))
    assert "cannot be used" in str(no_device(RuntimeError("CUDA error: unknown error")))
