"""What a timer needs of a CUDA device: a stream, events to tell the time, a cache to empty, and
copies of a kernel's arguments, so that each of many launches can have its own."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.errors import HarnessError, reason
from harness.records.timing import Launch
from harness.runtime.device import current_target, require
from harness.runtime.launch.host import collector_paused, forget_recording
from harness.runtime.tune.saved import storages, unused

_ALIGNED = 512
"""Bytes; what CUDA allocations are aligned to, so that copies are aligned like originals."""


@dataclass(frozen=True, eq=False, slots=True)
class Copies:
    """``sets`` are argument lists; tensors lie in one buffer, set behind set, and views of
    one storage are views of one storage again. ``words`` has a row of words of eight bytes for what
    each set holds now."""

    sets: tuple[tuple[Any, ...], ...]
    words: torch.Tensor
    _original: torch.Tensor

    def restore(self) -> None:
        """Enqueue what gives every set the contents of the original again."""
        self.words.copy_(self._original)


def set_bytes(args: Sequence[Any]) -> int:
    """Bytes that one copy of ``args`` takes."""
    return sum(_padded(whole.numel()) for whole in _storages(args).values())


@torch.no_grad()  # a thousand views are made in half of the time where none can have a gradient
def copy(args: Sequence[Any], count: int) -> Copies:
    """``count`` copies of ``args``. Host tensors and what is no tensor are passed on."""
    found = _storages(args)
    device = next((whole.device for whole in found.values()), torch.device("cpu"))
    # Words of eight bytes, because torch repeats small elements one by one.
    original = torch.empty((1, set_bytes(args) // 8), dtype=torch.int64, device=device)
    flat = original.view(torch.uint8)
    places: dict[int, int] = {}
    at = 0
    for address, whole in found.items():
        flat[0, at : at + whole.numel()].copy_(whole)
        places[address] = at
        at += _padded(whole.numel())
    buffer = original.repeat(count, 1)
    columns = [_moved(arg, buffer, places) for arg in args]
    sets = tuple(tuple(column[n] for column in columns) for n in range(count))
    return Copies(sets, buffer, original)


def _moved(arg: Any, buffer: torch.Tensor, places: dict[int, int]) -> Sequence[Any]:
    """``arg`` in every set, taken apart by one call: up to a thousand are."""
    place = places.get(arg.untyped_storage().data_ptr()) if isinstance(arg, torch.Tensor) else None
    if place is None:
        return (arg,) * len(buffer)
    step = buffer.shape[1] * buffer.element_size() // arg.element_size()
    offset = place // arg.element_size() + arg.storage_offset()
    whole = torch.empty(0, dtype=arg.dtype, device=buffer.device).set_(buffer.untyped_storage())
    return whole.as_strided((len(buffer), *arg.shape), (step, *arg.stride()), offset).unbind()


def _storages(args: Sequence[Any]) -> dict[int, torch.Tensor]:
    """Distinct storages by address, those of one device, every byte of each. Host tensors beside
    device tensors are scalars to a kernel."""
    found = {address: whole for address, whole in storages(args).items() if whole.numel()}
    several = len({whole.device for whole in found.values()}) > 1
    return {a: whole for a, whole in found.items() if not several or whole.device.type != "cpu"}


def _padded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED


_FLUSH_FACTOR = 4
_LEAST_FLUSH_BYTES = 128 << 20
_FLOOR_SAMPLES = 60
_MANY = 33


class NotRecordable(HarnessError):
    """A launch waits for the device or does something else that a CUDA graph cannot hold."""


def recorded(enqueue: Launch) -> Launch:
    """``enqueue``, which has run before, as a CUDA graph, so that replaying it costs the host one
    call; it runs once on a side stream, its results are kept. Without ``torch.cuda.graph``: that
    collects garbage and empties torch's cache of memory each time, which takes longer than all the
    rest. Raises ``NotRecordable``."""
    device = require()
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream(device)
    pool = torch.cuda.graph_pool_handle()
    torch.cuda.synchronize(device)
    try:
        # A kernel that the collector finds is unloaded, which ends a recording, whosever it is.
        with torch.cuda.stream(side), collector_paused():
            # Other threads of this process may go on using the device meanwhile.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                kept = enqueue()
            finally:
                graph.capture_end()
    except RuntimeError as error:
        forget_recording(torch.cuda.current_device(), pool)
        raise NotRecordable(
            "a launch cannot be recorded as a CUDA graph",
            got=reason(error),
            expected="work that is enqueued without waiting for the device",
            remedy="take copies to the host and synchronisation out of what is timed",
        ) from error

    # The graph holds addresses only, so what owns the memory behind them has to live as long.
    def replay(_: object = (enqueue, kept)) -> None:
        graph.replay()

    return replay


class CudaEngine:
    """The current CUDA device. Holds a buffer several times the size of the L2 cache, which
    reading clears the cache: the lines left are clean, so that the launch under test does not
    pay for writing back somebody else's. ``floor_ms`` is what a sample shows when a recording of
    one empty kernel is replayed, the median of some tens; ``launch_ms`` what each further empty
    kernel of a recording adds. ``probe`` enqueues some tens of them: how long that takes shows the
    interval at which the device launches just now."""

    record = staticmethod(recorded)

    def __init__(self) -> None:
        from harness.measure.timer import probes

        self._probes, self._device = probes, (device := require())
        self._events: list[Any] = []
        self._notes = 0
        self._read: Any = None
        wanted = max(_LEAST_FLUSH_BYTES, _FLUSH_FACTOR * current_target(device).l2_bytes)
        rows = 4096
        columns = -(-wanted // (4 * rows))
        self._source = torch.rand(rows, columns, dtype=torch.float32, device=device)
        self._sums = torch.empty(rows, dtype=torch.float32, device=device)
        self._counter = torch.zeros(1, dtype=torch.int32, device=device)
        fields = probes.STAMPS * probes.STAMP_FIELDS
        self._slots = torch.zeros(fields, dtype=torch.int64, device=device)
        self._flush_once()  # Triton compiles and loads a kernel at its first launch
        self._flush = recorded(self._flush_once)
        self._counter.zero_()
        self.probe = self._empties(_MANY)
        self.floor_ms = self._median(self._empties(1))
        self.launch_ms = max(0.0, (self._median(self.probe) - self.floor_ms) / (_MANY - 1))

    def flush(self) -> int:
        """Enqueue what leaves nothing of use, and nothing to write back, in the L2 cache, then
        note the device's clocks. Returns the note's number, for ``clock_mhz``."""
        self._flush()
        self._notes += 1
        return self._notes - 1

    def mark(self, number: int) -> None:
        """Enqueue event ``number``, counted from 0 since the last ``wait``."""
        while number >= len(self._events):
            self._events.append(torch.cuda.Event(enable_timing=True))
        self._events[number].record()

    def wait(self) -> None:
        """Wait for the device and read the notes."""
        torch.cuda.synchronize(self._device)
        self._read = None

    def rest(self) -> None:
        """Give memory back and leave the device alone, as between two kernels."""
        self.wait()
        torch.cuda.empty_cache()
        time.sleep(0.05)

    def elapsed_ms(self, begin: int, end: int) -> float:
        """Between two marks, both reached."""
        return float(self._events[begin].elapsed_time(self._events[end]))

    def clock_mhz(self, begin: int, end: int) -> float | None:
        """Mean SM clock between two notes, both reached: cycles that one SM counted over the
        nanoseconds that passed. None if it cannot be told."""
        stamps = self._probes.STAMPS
        if self._read is None:
            self._read = self._slots.cpu().numpy().reshape(-1, self._probes.STAMP_FIELDS)
        if end < begin or self._notes - begin > stamps:
            return None
        first, last = (self._read[i % stamps].tolist() for i in (begin, end))
        if first[2] != last[2] or last[1] <= first[1]:
            return None  # another SM counts from another start
        return (last[0] - first[0]) / (last[1] - first[1]) * 1000

    def room(self) -> int:
        """Bytes that copies of arguments may take: a quarter of what is free."""
        return unused(self._device) // 4

    def _flush_once(self) -> None:
        torch.sum(self._source, dim=1, out=self._sums)
        size = self._probes.STAMPS
        self._probes.stamp[(1,)](self._counter, self._slots, SIZE=size, num_warps=1)

    def _empties(self, count: int) -> Launch:
        """``count`` empty kernels, recorded."""
        empty = functools.partial(self._probes.empty[(1,)], self._sums, num_warps=1)
        empty()
        return recorded(lambda: [empty() for _ in range(count)])

    def _median(self, replay: Launch) -> float:
        """Median of what ``replay`` shows, in milliseconds."""
        for number in range(_FLOOR_SAMPLES):
            self.flush()
            self.mark(2 * number)
            replay()
            self.mark(2 * number + 1)
        self.wait()
        return statistics.median(self.elapsed_ms(2 * n, 2 * n + 1) for n in range(_FLOOR_SAMPLES))
