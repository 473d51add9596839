"""Copies of a kernel's arguments, so that each of many launches can have its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

_ALIGNED = 512
"""Bytes; what CUDA allocations are aligned to, so that copies are aligned like originals."""


@dataclass(frozen=True, eq=False, slots=True)
class Copies:
    """``sets`` are argument lists; tensors lie in one buffer, set behind set, and views of
    one storage are views of one storage again. ``nbytes`` is the size of one set."""

    sets: tuple[tuple[Any, ...], ...]
    nbytes: int
    _buffer: torch.Tensor
    _original: torch.Tensor

    def restore(self) -> None:
        """Enqueue what gives every set the contents of the original again."""
        self._buffer.copy_(self._original)

    def words_of(self, number: int) -> torch.Tensor:
        """What one set holds now, as words of eight bytes (no copy)."""
        return self._buffer[number]


def set_bytes(args: Sequence[Any]) -> int:
    """Bytes that one copy of ``args`` takes."""
    return sum(_padded(s.nbytes()) for s in _storages(args).values())


def copy(args: Sequence[Any], count: int) -> Copies:
    """``count`` copies of ``args``. Host tensors and what is no tensor are passed on."""
    storages = _storages(args)
    size = sum(_padded(s.nbytes()) for s in storages.values())
    device = next((s.device for s in storages.values()), torch.device("cpu"))
    # Words of eight bytes, because torch repeats small elements one by one.
    original = torch.empty((1, size // 8), dtype=torch.int64, device=device)
    flat = original.view(torch.uint8)
    places: dict[int, int] = {}
    at = 0
    for address, storage in storages.items():
        whole = torch.empty(0, dtype=torch.uint8, device=device).set_(storage)
        flat[0, at : at + storage.nbytes()].copy_(whole)
        places[address] = at
        at += _padded(storage.nbytes())
    buffer = original.repeat(count, 1)
    columns = [_moved(arg, buffer, places) for arg in args]
    sets = tuple(tuple(column[n] for column in columns) for n in range(count))
    return Copies(sets, size, buffer, original)


def _moved(arg: Any, buffer: torch.Tensor, places: dict[int, int]) -> Sequence[Any]:
    """``arg`` in every set, taken apart by one call: up to a thousand are."""
    place = places.get(arg.untyped_storage().data_ptr()) if _is_copied(arg) else None
    if place is None:
        return (arg,) * len(buffer)
    step = buffer.shape[1] * buffer.element_size() // arg.element_size()
    offset = place // arg.element_size() + arg.storage_offset()
    whole = torch.empty(0, dtype=arg.dtype, device=buffer.device).set_(buffer.untyped_storage())
    return whole.as_strided((len(buffer), *arg.shape), (step, *arg.stride()), offset).unbind()


def _storages(args: Sequence[Any]) -> dict[int, Any]:
    """Distinct storages by address, those of one device. Host tensors beside device tensors
    are scalars to a kernel."""
    found = {}
    for arg in args:
        if _is_copied(arg):
            storage = arg.untyped_storage()
            found[storage.data_ptr()] = storage
    devices = {s.device for s in found.values()}
    if len(devices) > 1:
        return {a: s for a, s in found.items() if s.device.type != "cpu"}
    return found


def _is_copied(arg: Any) -> bool:
    return isinstance(arg, torch.Tensor) and arg.untyped_storage().nbytes() > 0


def _padded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED
