"""Keeping arguments as they were: tuning runs kernels many times on a caller's tensors.

Copies are of whole storages, so that views that overlap, or two arguments on one storage,
come back bit for bit. A copy lies on the device where that raises no peak in memory, else in
pinned host memory, else in ordinary host memory.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.errors import CheckFailed

Room = Callable[[torch.device], int]
"""Bytes that may be taken on a device without raising the process's peak."""


def cuda_room(device: torch.device) -> int:
    """What torch has had allocated at most on ``device``, less what it has now; all of it where
    memory is the host's."""
    if device.type != "cuda":
        return 1 << 62
    return int(torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device))


def free_room(device: torch.device) -> int:
    """Half of what is free on ``device``, or kept by torch: for a process that has the device to
    itself and need not keep its peak low."""
    return unused(device) // 2


def unused(device: torch.device) -> int:
    """Bytes of ``device`` that are free, or kept by torch and not allocated; all of it where memory
    is the host's."""
    if device.type != "cuda":
        return 1 << 62
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + kept)


@dataclass(frozen=True, eq=False, slots=True)
class Saved:
    """Copies of the storages of some tensors: (every byte of the storage, its copy)."""

    pairs: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    @classmethod
    def of(cls, tensors: Sequence[Any], room: Room = cuda_room) -> Saved:
        """Copies of the storages behind ``tensors``, each storage once."""
        known, taken, pairs = functools.cache(room), Counter[torch.device](), []
        for whole in storages(tensors).values():
            fits = taken[whole.device] + whole.numel() <= known(whole.device)
            pairs.append((whole, _copy(whole, fits)))
            taken[whole.device] += whole.numel() * fits
        return cls(tuple(pairs))

    def restore(self) -> None:
        """Put every byte back."""
        for whole, copy in self.pairs:
            whole.copy_(copy)


def storages(tensors: Sequence[Any]) -> dict[int, torch.Tensor]:
    """A view of every byte of each distinct storage behind ``tensors``, by its address."""
    seen: dict[int, torch.Tensor] = {}
    for tensor in (one for one in tensors if isinstance(one, torch.Tensor)):
        storage = tensor.untyped_storage()  # (a call of ATen may be given a number for a tensor)
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        seen.setdefault(storage.data_ptr(), whole.set_(storage))
    return seen


def _copy(whole: torch.Tensor, on_device: bool) -> torch.Tensor:
    """A copy, on the host if there is no room for it."""
    if on_device:
        try:
            return whole.clone()
        except torch.OutOfMemoryError:
            pass  # fragments: the bytes are free, though not in one piece
    try:
        copy = torch.empty(whole.numel(), dtype=torch.uint8, device="cpu", pin_memory=True)
    except RuntimeError:  # no pinned memory left, or no device to pin for
        copy = torch.empty(whole.numel(), dtype=torch.uint8, device="cpu")
    return copy.copy_(whole)


def reset_zeros(args: Sequence[Any], zeroed: Sequence[int]) -> None:
    """Fill the arguments at positions ``zeroed`` with zeros."""
    for position in zeroed:
        args[position].zero_()


@dataclass(frozen=True, eq=False, slots=True)
class WriteGuard:
    """Catches a kernel that writes where it does not say it writes (debug mode). Holds copies of
    every tensor argument. ``names`` are the arguments' names, ``outputs`` the positions that the
    kernel may write."""

    args: Sequence[Any]
    names: Sequence[str]
    outputs: tuple[int, ...]
    saved: Saved

    def verify(self, where: str) -> None:
        """Raises ``CheckFailed`` if anything but the elements of the outputs has changed since
        the guard was made; everything is restored either way."""
        try:
            copies = {whole.data_ptr(): copy for whole, copy in self.saved.pairs}
            for position in self.outputs:
                self._undo(self.args[position], copies)
            for whole, copy in self.saved.pairs:
                if not torch.equal(whole, copy.to(whole.device)):
                    raise self._caught(whole, where)
        finally:
            self.saved.restore()

    @staticmethod
    def _undo(view: Any, copies: dict[int, torch.Tensor]) -> None:
        """Put back the elements of an output, and no byte of its storage beside them."""
        if not isinstance(view, torch.Tensor) or view.numel() == 0:
            return
        old = copies[view.untyped_storage().data_ptr()].to(view.device)
        same = torch.empty(0, dtype=view.dtype, device=view.device)
        same.set_(old.untyped_storage(), view.storage_offset(), view.size(), view.stride())
        view.copy_(same)

    def _caught(self, whole: torch.Tensor, where: str) -> CheckFailed:
        owners = [
            name
            for name, arg in zip(self.names, self.args, strict=False)
            if isinstance(arg, torch.Tensor)
            and arg.untyped_storage().data_ptr() == whole.data_ptr()
        ]
        allowed = [self.names[i] for i in self.outputs if i < len(self.names)]
        return CheckFailed(
            "a kernel writes memory that it does not list as written",
            where=where,
            got=f"bytes changed in the memory of {', '.join(owners) or 'an argument'}",
            expected=f"writes to the elements of {', '.join(allowed) or 'no argument'} alone",
            remedy="add the argument to the kernel's list of outputs, or mask its stores",
        )
