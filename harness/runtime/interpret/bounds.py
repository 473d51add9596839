"""Bounds: no interpreted kernel reads or writes outside the memory of its arguments.

A GPU would read, or ruin, whatever lies there; an index that a model got wrong has to be an
error instead. Memory is checked storage by storage: each pointer may only reach the storage
that its argument lies in. Installed only in worker processes, which do nothing but interpret.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_STORAGE = "storage"


class Bounds:
    """The storages that kernels may touch, as ranges of addresses."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, int]] = {}

    def allow(self, places: Iterable[tuple[int, int, int]]) -> None:
        """From now on only these: the address of an argument, of its storage's first byte and
        of the byte after its last. None: anything."""
        self._ranges = {}
        for address, low, high in places:
            known = self._ranges.get(address, (low, high))
            self._ranges[address] = min(known[0], low), max(known[1], high)

    def check(self, pointers: Any, mask: Any) -> None:
        """``IndexError`` if an access that is not masked out is outside."""
        storage = pointers.attr.get(_STORAGE) or self._storage(pointers)
        if storage is None or not pointers.data.size:
            return
        low, high = storage
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        first = pointers.data.astype(np.int64)
        outside = (first < low) | (first + size > high)
        if np.any(outside & np.broadcast_to(mask.data, outside.shape)):
            raise IndexError(f"an index reaches outside its tensor's {high - low} bytes")

    def _storage(self, pointers: Any) -> tuple[int, int] | None:
        """The storage that an argument, or a block of one address, points into."""
        return self._ranges.get(int(pointers.data.flat[0])) if pointers.data.size else None

    def install(self) -> None:
        """Have the interpreter in this process check every access."""
        from triton.runtime import interpreter

        builder: Any = interpreter.InterpreterBuilder
        # Kernels' own assertions too; integers that wrap around are what they are.
        options = dataclasses.replace(builder().options, debug=True, sanitize_overflow=False)
        interpreter.interpreter_builder.options = options
        add = builder.create_addptr

        def create_addptr(own: Any, pointer: Any, offset: Any) -> Any:
            made = add(own, pointer, offset)
            storage = pointer.attr.get(_STORAGE) or self._storage(pointer)
            if storage is not None:
                made.attr[_STORAGE] = storage
            return made

        builder.create_addptr = create_addptr
        for name, mask_at in (
            ("create_masked_load", 1),
            ("create_masked_store", 2),
            ("create_atomic_rmw", 3),
        ):
            setattr(builder, name, self._checked(getattr(builder, name), mask_at))

    def _checked(self, access: Callable[..., Any], mask_at: int) -> Callable[..., Any]:
        def checked(own: Any, *args: Any) -> Any:
            # The pointer is the first operand, of a read-modify-write the second.
            self.check(args[mask_at == 3], args[mask_at])
            return access(own, *args)

        return checked
