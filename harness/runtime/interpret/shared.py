"""Tensors handed to another process in memory that both see, without a file. Storages are kept, not
tensors, so arguments that share memory still share it on the other side. Works for CPU tensors
only."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.devices.job import Closing
from harness.errors import HarnessError

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor lies in the memory. ``storage`` is the byte offset of its storage of
    ``nbytes`` bytes; sizes, strides and ``offset`` (in elements) are the tensor's own."""

    storage: int
    nbytes: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Package:
    """Arguments in order: a place in the memory that ``path`` opens, or the plain value itself."""

    path: str
    total: int
    items: tuple[Any, ...]

    def unpack(self) -> list[Any]:
        """The arguments, lying in the memory: what is written to them is seen by the sender.
        They must not be touched once the sender has left its ``Parcel``."""
        with open(self.path, "r+b") as file:
            memory = mmap.mmap(file.fileno(), max(self.total, 1))
        whole = torch.frombuffer(memory, dtype=torch.uint8)
        return [_placed(whole, i) if isinstance(i, TensorPlace) else i for i in self.items]

    def storages(self, args: Iterable[Any]) -> Iterator[tuple[int, int, int]]:
        """For each tensor of the unpacked ``args`` its address, and those of its storage's first
        byte and of the byte after its last."""
        for arg, place in zip(args, self.items, strict=True):
            if isinstance(place, TensorPlace):
                low = arg.data_ptr() - place.offset * place.dtype.itemsize
                yield arg.data_ptr(), low, low + place.nbytes


class Parcel(Closing):
    """Copies of the tensors among ``args`` in memory that another process can open while this
    context lasts. However either process ends, and whatever the other one still holds on to,
    nothing of it stays."""

    def __init__(self, args: Iterable[Any]) -> None:
        self._originals: dict[int, torch.Tensor] = {}
        items, total = self._placed(args)
        # Not in a file system: /dev/shm has 64 MB in a container, and files outlive a kill.
        self._memory = os.memfd_create("harness-arguments")
        try:
            os.truncate(self._memory, max(total, 1))
            for offset, data in self._originals.items():
                _write(self._memory, _seen(data), offset)
        except OSError as error:
            os.close(self._memory)
            raise HarnessError(
                "arguments for the interpreter could not be placed in shared memory",
                got=f"{total} bytes: {error}",
                expected="that much free memory",
                remedy="use smaller sizes or free some memory",
            ) from error
        self.package = Package(f"/proc/{os.getpid()}/fd/{self._memory}", total, items)

    def close(self) -> None:
        """Give the memory back, once."""
        # The other process may map it for as long as garbage is not collected there.
        os.truncate(self._memory, 0)
        os.close(self._memory)

    def fetch(self, written: Iterable[int]) -> None:
        """Copy the storages of the arguments at positions ``written`` back."""
        places = [self.package.items[i] for i in written]
        for offset in dict.fromkeys(p.storage for p in places if isinstance(p, TensorPlace)):
            left = _seen(self._originals[offset])
            while left:
                done = os.preadv(self._memory, [left], offset)
                left, offset = left[done:], offset + done

    def _placed(self, args: Iterable[Any]) -> tuple[tuple[Any, ...], int]:
        """The arguments as a package holds them, and the bytes of all storages."""
        seen: dict[int, int] = {}
        items: list[Any] = []
        total = 0
        for arg in args:
            if not isinstance(arg, torch.Tensor):
                items.append(arg)
                continue
            if arg.device.type != "cpu":
                raise HarnessError(
                    "the interpreter needs tensors in host memory",
                    got=f"a tensor on {arg.device}",
                    expected="CPU tensors",
                    remedy="run kernels for CUDA tensors through the compiled launcher",
                )
            storage = arg.untyped_storage()
            # Storages without bytes all have the null address; nothing in them can alias.
            key = storage.data_ptr()
            if key not in seen or storage.nbytes() == 0:
                seen[key] = total
                whole = arg.new_empty(0, dtype=torch.uint8)  # every byte, in one dimension
                self._originals[total] = whole.set_(arg.detach().untyped_storage())
                total += max(_ALIGNMENT, -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT)
            shape, stride = tuple(arg.shape), tuple(arg.stride())
            offset = int(arg.storage_offset())
            items.append(TensorPlace(seen[key], storage.nbytes(), arg.dtype, shape, stride, offset))
        return tuple(items), total


def _seen(whole: torch.Tensor) -> memoryview:
    """The bytes of a flat tensor. (After ``numpy()`` its storage could not be resized any more.)"""
    return memoryview((ctypes.c_ubyte * whole.numel()).from_address(whole.data_ptr()))


def _write(memory: int, left: memoryview, offset: int) -> None:
    while left:
        done = os.pwrite(memory, left, offset)
        left, offset = left[done:], offset + done


def _placed(whole: torch.Tensor, place: TensorPlace) -> torch.Tensor:
    # Offsets of a strided view count from the start of the whole memory, not of a slice of it.
    size = place.dtype.itemsize
    usable = whole[: whole.numel() - whole.numel() % size].view(place.dtype)
    return usable.as_strided(place.size, place.stride, place.storage // size + place.offset)
