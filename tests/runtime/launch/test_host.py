"""What torch's allocator is told after a recording that failed, by an allocator of paper."""

from __future__ import annotations

import pytest
import torch

from harness.runtime.launch.host import forget_recording

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
