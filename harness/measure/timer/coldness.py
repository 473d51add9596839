"""Shows that what the timer calls cold is cold: a kernel whose data would fit into the L2 cache
runs at memory speed under the timer, and faster without what the timer does about it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from harness.measure.timer.graph_timer import GraphTimer
from harness.records.timing import Launch, Work

_BUDGET_MS = 120.0
_PART = 4
"""The part of the cache that is read: of an H200's two halves each keeps what its side reads, so
that no more than half of the cache's size is certain to stay."""
_READS = 64
"""How many such reads, each of a place of its own, show the memory's speed: as long as
the others, so that what a launch costs is the same in all, and too many to find any of the last
round's still there."""
_TOLERANCE = 1.05
"""A cold read may seem this much faster than memory: two measurements differ a little."""
_POWER = 1.15
"""How much faster a read from the cache has to be for the check to mean anything."""

_BLOCK = 4096
"""Elements of four bytes that a program of the kernel reads."""
_ROUNDS = 20

Read = Callable[[torch.Tensor], object]
"""Enqueues a kernel that reads a tensor once."""


@dataclass(frozen=True, slots=True)
class Coldness:
    """Bandwidths of reading a quarter of the L2 cache's size, in GB/s (10^9 bytes per second), of
    what a launch takes longer than one of the same kernel that reads a block of it. One launch
    after the cache was emptied, as the timer does, on the same place each time (``flushed``) and on
    one not read for long (``elsewhere``); many in a row, on copies under the timer (``copied``), on
    one place, which stays in the cache (``cached``), and on places not read for long (``memory``).
    One launch hides more of its start than each of many: an H200 shows 5,060 and 4,450 GB/s."""

    flushed: float
    elsewhere: float
    copied: float
    cached: float
    memory: float

    @property
    def cold(self) -> bool:
        """Whether neither way of timing is faster than memory, timed alike."""
        one = self.flushed <= _TOLERANCE * self.elsewhere
        return one and self.copied <= _TOLERANCE * self.memory

    @property
    def telling(self) -> bool:
        """Whether a read from the cache would have been noticed."""
        return self.cached > _POWER * max(self.memory, self.flushed)


def examine(timer: GraphTimer, l2_bytes: int, device: torch.device, read: Read) -> Coldness:
    """Time ``read`` five ways on ``device``, whose cache holds ``l2_bytes``. What a launch takes to
    start is timed in the same rounds, not taken from elsewhere: as long as reading itself here, it
    is not the same all day."""
    places = torch.randint(
        -(1 << 31), 1 << 31, (_READS * (l2_bytes // _PART // 8),), dtype=torch.int64, device=device
    ).chunk(_READS)
    small = places[0].clone()
    block = small[: _BLOCK // 2].clone()

    works = {str(n): Work(lambda args: read(args[0]), (of,)) for n, of in enumerate((small, block))}
    copied = timer.compare(works, _BUDGET_MS)

    def recorded(*these: torch.Tensor) -> Launch:
        return timer.engine.record(lambda: [read(one) for one in these])  # it has run above

    same, least, *others = map(recorded, (small, block, *places))
    _, again, floor, other = _medians(timer, [(same, same, least, one) for one in others])
    blocks = [place[: _BLOCK // 2] for place in places]
    rows = (places, blocks, [small] * _READS, [block] * _READS)
    far, far_floor, near, near_floor = _medians(timer, [[recorded(*row) for row in rows]] * _ROUNDS)
    each = (
        again - floor,
        other - floor,
        copied["0"].median - copied["1"].median,
        (near - near_floor) / _READS,
        (far - far_floor) / _READS,
    )
    return Coldness(*((small.nbytes - block.nbytes) / ms / 1e6 for ms in each))


def _medians(timer: GraphTimer, rounds: Iterable[Sequence[Launch]]) -> Iterator[float]:
    """Milliseconds of each launch of a round. The device is kept busy while a replay is enqueued,
    as under the timer: on a loaded host its start would count as reading."""
    found = [[timer.single(launch) for launch in launches] for launches in rounds]
    return map(statistics.median, zip(*found, strict=True))


def probe_read(tensor: torch.Tensor) -> object:
    """A ``Read`` on a CUDA device."""
    from harness.measure.timer import probes

    words = tensor.view(torch.int32)
    blocks = words.numel() // _BLOCK
    sums = torch.empty(blocks, dtype=torch.int32, device=tensor.device)
    probes.read[(blocks,)](words, sums, BLOCK=_BLOCK, num_warps=8)
    return sums
