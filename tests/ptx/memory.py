"""Memory of a launch: global memory in regions far apart, shared and local memory in rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_REGION = 44
SHARED, LOCAL = 1 << 61, 1 << 62
"""Where the windows of shared and local memory begin in generic addresses."""


class Fault(Exception):
    """What a GPU would stop at, or read and ruin without a word."""


def unsigned(width: int) -> np.dtype:
    """The type of ``width`` bytes."""
    return np.dtype(f"u{width}")


class Global:
    """Arrays of bytes, each in a region of its own: no index leads from one to another."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.names: list[str] = []
        self._views: dict[tuple[int, int], Array] = {}

    def add(self, array: Array, name: str) -> int:
        """The address of ``array``, bytes that are kept and changed."""
        self.arrays.append(array)
        self.names.append(name)
        return len(self.arrays) << _REGION

    def reach(self, addresses: Array, width: int) -> list[tuple[Any, Array, Array]]:
        """Which of ``addresses`` lie in which view, and where in it."""
        region = (addresses >> np.uint64(_REGION)).astype(np.int64)
        if not region.size:
            return []
        if (region == region[0]).all():
            return [(slice(None), *self._place(int(region[0]), addresses, width))]
        parts = [(np.flatnonzero(region == one), int(one)) for one in np.unique(region)]
        return [(at, *self._place(one, addresses[at], width)) for at, one in parts]

    def cut(self, addresses: Array, size: int) -> Array:
        """Which of ``size`` bytes at each of ``addresses`` begin in an array and end behind it."""
        ends = np.array([0, *(array.size for array in self.arrays), 0])
        region = np.minimum(addresses >> np.uint64(_REGION), np.uint64(len(ends) - 1))
        offset = (addresses & np.uint64((1 << _REGION) - 1)).astype(np.int64)
        left = ends[region.astype(np.int64)] - offset
        return (left > 0) & (left < size)

    def begun(self, addresses: Array, size: int) -> Array:
        """A row of bytes for each of ``addresses``; those behind the end of an array are NaN."""
        made = np.full((len(addresses), size), 0xFF, np.uint8)
        for row, address in zip(made, addresses.tolist(), strict=True):
            offset = address & (1 << _REGION) - 1
            some = self.arrays[(address >> _REGION) - 1][offset : offset + size]
            row[: len(some)] = some
        return made

    def _place(self, region: int, addresses: Array, width: int) -> tuple[Array, Array]:
        if not 0 < region <= len(self.arrays):
            raise Fault(f"an address, {int(addresses[0]):#x}, is in no argument")
        offset = (addresses - np.uint64(region << _REGION)).astype(np.int64)
        array, name = self.arrays[region - 1], self.names[region - 1]
        if (offset % width).any():
            raise Fault(f"{width} bytes of {name} are not aligned")
        if int(offset.max()) + width > array.size:
            raise Fault(f"byte {int(offset.max())} of {name}, which has {array.size}")
        if (view := self._views.get((region, width))) is None:
            view = array[: array.size // width * width].view(unsigned(width))
            self._views[region, width] = view
        return view, offset // width


class Rows:
    """A row of bytes for each block (shared) or each thread (local); what nobody wrote is NaN."""

    def __init__(self, rows: int, size: int, name: str) -> None:
        self.size, self.name = -(-size // 16) * 16, name
        self.bytes = np.full(rows * self.size, 0xFF, np.uint8)

    def place(self, row: Array, addresses: Array, width: int) -> tuple[Array, Array]:
        """The view, and where in it."""
        offset = addresses.astype(np.int64)
        if (offset % width).any():
            raise Fault(f"{width} bytes of {self.name} memory are not aligned")
        if offset.size and (int(offset.max()) + width > self.size or int(offset.min()) < 0):
            raise Fault(f"byte {int(offset.max())} of {self.size} of {self.name} memory")
        return self.bytes.view(unsigned(width)), (row * self.size + offset) // width
