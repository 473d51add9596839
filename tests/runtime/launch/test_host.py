"""What torch's allocator is told after a recording that failed, by an allocator of paper, and
room for frames."""

from __future__ import annotations

import statistics
import time

import pytest
import torch

from harness.runtime.launch.host import compiling, forget_recording

POOL = (0, 7)


class Allocator:
    """Recordings that are going on; as torch's, it refuses to end one that is not."""

    def __init__(self, *recording: tuple[int, int]) -> None:
        self.recording = list(recording)
        self.released: list[tuple[int, int]] = []

    def end(self, device: int, pool: tuple[int, int]) -> None:
        if pool not in self.recording:
            raise RuntimeError("endAllocatePool: not currently recording to mempool_id")
        self.recording.remove(pool)

    def release(self, device: int, pool: tuple[int, int]) -> None:
        self.released.append(pool)


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    made = Allocator(POOL)
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", made.end, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_releasePool", made.release, raising=False)
    return made


def test_a_recording_that_torch_left_open_is_ended_and_its_memory_released(
    allocator: Allocator,
) -> None:
    forget_recording(0, POOL)
    assert (allocator.recording, allocator.released) == ([], [POOL])


def test_one_that_torch_ended_is_the_graphs_to_release(allocator: Allocator) -> None:
    allocator.recording.clear()
    forget_recording(0, POOL)
    assert allocator.released == []


def test_a_torch_without_these_names_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_cuda_endAllocateToPool", raising=False)
    forget_recording(0, POOL)


def test_calls_take_as_long_at_any_depth() -> None:
    """Python asks the system for memory at each call that begins 16 KB of frames: of 3.11's some
    take 300 times as long."""

    def empty() -> None: ...

    def at(depth: int) -> float:
        if depth:
            return at(depth - 1)
        began = time.thread_time()
        for _ in range(2000):
            empty()
        return time.thread_time() - began

    with_room = compiling(at)
    took = [min(with_room(depth) for _ in range(5)) for depth in range(250)]
    assert max(took) < 20 * statistics.median(took)
