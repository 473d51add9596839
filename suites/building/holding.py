"""What a kernel's check holds in memory at most, and turns on a board by that."""

from __future__ import annotations

import fcntl
import os
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.runtime.module import frugal
from harness.runtime.products import in_slices

if TYPE_CHECKING:
    from harness.runtime.module import LoadedModule

_WIDE = 8
"""Bytes of an element in float64, which a reference and errors are."""


def most(module: LoadedModule) -> int:
    """Bytes that the check of ``module`` holds at most while its first reference suffices, by what
    lives on torch's device ``meta``; what operators use within themselves is not known. More than
    there is where the reference does not run there."""
    args = [
        torch.empty_strided(shape, stride, dtype=getattr(torch, dtype), device="meta")
        for shape, stride, dtype, *_ in module.raw.ARGS
    ]
    try:
        with _Alive() as alive:
            in_slices(frugal(module))([arg.clone() for arg in args], wide=True)
    except (RuntimeError, TypeError):
        return sys.maxsize
    sizes = [arg.untyped_storage().nbytes() for arg in args]
    outputs = [args[n].numel() for n in module.outputs]
    # the arguments, their copies that the kernel runs on, the outputs as they were before it
    held = 2 * sum(sizes) + sum(sizes[n] for n in module.outputs)
    # what outputs should be and their errors; for these three tensors as large at a time, and masks
    errors = 2 * _WIDE * sum(outputs) + (3 * _WIDE + 4) * max(outputs)
    return held + max(alive.most, errors)


@contextmanager
def room(folder: Path, memory: int, needed: int) -> Iterator[None]:
    """Hold ``needed`` bytes of a board: waits until processes that told so in ``folder`` leave as
    many of its ``memory``, the first that asked first. What needs more than there is waits until
    it is alone. A process that ends holds nothing."""
    own = folder / str(os.getpid())
    with own.open("w") as told:
        with (folder / "queue").open("w") as queue:
            fcntl.flock(queue, fcntl.LOCK_EX)
            while (held := sum(_held(folder))) and held + needed > memory:
                time.sleep(0.01)
            told.write(str(needed))
            told.flush()
            fcntl.flock(told, fcntl.LOCK_EX)
        try:
            yield
        finally:
            own.unlink()


def _held(folder: Path) -> Iterator[int]:
    """Bytes that each of the processes holds that told so in ``folder``."""
    for path in folder.glob("[0-9]*"):
        with suppress(FileNotFoundError), path.open() as told:
            try:
                fcntl.flock(told, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                yield int(told.read())


class _Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Bytes of the tensors that are alive, ``now`` and at ``most``."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.most = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for made in found if isinstance(found, tuple | list) else (found,):
            if isinstance(made, torch.Tensor):
                self._holds(made.untyped_storage())
        return found

    def _holds(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key not in self._known:
            self._known.add(key)
            weakref.finalize(storage, self._given_back, key, size)
            self.now += size
            self.most = max(self.most, self.now)

    def _given_back(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size
