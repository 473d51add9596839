"""Tensors handed between processes through one file in shared memory.

Storages are kept, not tensors, so arguments that share memory still share it on the
other side. Works for CPU tensors only.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from harness.errors import HarnessError

_ALIGNMENT = 64
_SHARED_FOLDER = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor lies in the file. ``storage`` is the byte offset of its storage of
    ``nbytes`` bytes; sizes, strides and ``offset`` (in elements) are the tensor's own."""

    storage: int
    nbytes: int
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Package:
    """Arguments in order: a place in the file at ``path``, or the plain value itself."""

    path: str
    total: int
    items: tuple[Any, ...]


def pack(args: Iterable[Any]) -> tuple[Package, dict[int, torch.Tensor]]:
    """Copy tensors into a new file. Also answers, for each storage offset in it, a byte
    view of the original storage, to copy results back to."""
    originals: dict[int, torch.Tensor] = {}
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
            originals[total] = _bytes(arg)
            total += max(_ALIGNMENT, -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT)
        name = str(arg.dtype).removeprefix("torch.")
        shape, stride = tuple(arg.shape), tuple(arg.stride())
        place = seen[key]
        offset = int(arg.storage_offset())
        items.append(TensorPlace(place, storage.nbytes(), name, shape, stride, offset))
    path = _write(originals, total)
    return Package(path, total, tuple(items)), originals


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Every byte of the tensor's storage as a flat uint8 tensor."""
    whole = torch.empty(0, dtype=torch.uint8)
    return whole.set_(tensor.detach().untyped_storage())


def _write(originals: dict[int, torch.Tensor], total: int) -> str:
    folder = _SHARED_FOLDER if os.access(_SHARED_FOLDER, os.W_OK) else None
    try:
        handle, path = tempfile.mkstemp(prefix="harness-args-", dir=folder)
        with os.fdopen(handle, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, max(total, 1))
            for offset, data in originals.items():
                file.seek(offset)
                file.write(memoryview(data.numpy()))
    except OSError as error:
        raise HarnessError(
            "arguments for the interpreter could not be placed in shared memory",
            got=f"{total} bytes: {error}",
            expected="that much free space in /dev/shm or the temporary folder",
            remedy="use smaller sizes or free some shared memory",
        ) from error
    return path


def unpack(package: Package) -> list[Any]:
    """The arguments, lying in the file: what is written to them is seen by the sender."""
    with open(package.path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), max(package.total, 1))
    whole = torch.frombuffer(memory, dtype=torch.uint8)
    return [_placed(whole, i) if isinstance(i, TensorPlace) else i for i in package.items]


def _placed(whole: torch.Tensor, place: TensorPlace) -> torch.Tensor:
    dtype = getattr(torch, place.dtype)
    # Offsets of a strided view count from the start of the whole file, not of a slice of it.
    usable = whole[: whole.numel() - whole.numel() % dtype.itemsize].view(dtype)
    start = place.storage // dtype.itemsize + place.offset
    return usable.as_strided(place.size, place.stride, start)


def fetch(package: Package, originals: dict[int, torch.Tensor], written: Iterable[int]) -> None:
    """Copy the storages of the arguments at positions ``written`` back."""
    places = [package.items[i] for i in written]
    offsets = dict.fromkeys(p.storage for p in places if isinstance(p, TensorPlace))
    with open(package.path, "rb") as file:
        for offset in offsets:
            file.seek(offset)
            file.readinto(memoryview(originals[offset].numpy()))


def discard(package: Package) -> None:
    """Remove the file."""
    Path(package.path).unlink(missing_ok=True)
