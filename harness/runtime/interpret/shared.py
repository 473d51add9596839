"""Tensors handed to another process in memory that both see, without a file. Storages are kept, not
tensors, so arguments that share memory still share it on the other side. Works for CPU tensors
only."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from harness.devices.job import Closing
from harness.errors import HarnessError
from harness.runtime.tune.saved import storages


class Parcel(Closing):
    """Copies of the tensors among ``args`` in memory that another process can open by its ``path``
    while this context lasts. However either process ends, and whatever the other one still holds on
    to, nothing of it stays."""

    def __init__(self, args: Sequence[Any]) -> None:
        devices = {arg.device for arg in args if isinstance(arg, torch.Tensor)}
        if odd := [str(device) for device in devices if device.type != "cpu"]:
            raise HarnessError(
                "the interpreter needs tensors in host memory",
                got=f"a tensor on {odd[0]}",
                expected="CPU tensors",
                remedy="run kernels for CUDA tensors through the compiled launcher",
            )
        self._bytes = storages(args)
        # Not in a file system: /dev/shm has 64 MB in a container, and files outlive a kill.
        self._file = os.fdopen(os.memfd_create("harness-arguments"), "r+b")
        self.path = f"/proc/{os.getpid()}/fd/{self._file.fileno()}"
        self._items = [self._placed(a) if isinstance(a, torch.Tensor) else a for a in args]
        try:
            torch.save(self._items, self._file)
            self._file.flush()
        except (OSError, RuntimeError) as error:
            self.close()
            raise HarnessError(
                "arguments for the interpreter could not be placed in shared memory",
                got=f"{sum(whole.numel() for whole in self._bytes.values())} bytes: {error}",
                expected="that much free memory",
                remedy="use smaller sizes or free some memory",
            ) from error

    def _placed(self, arg: torch.Tensor) -> tuple[Any, ...]:
        """The bytes of a tensor's storage, which may be others' too, and how it lies there."""
        whole = self._bytes[arg.untyped_storage().data_ptr()]
        return whole, arg.dtype, arg.storage_offset(), tuple(arg.shape), arg.stride()

    def close(self) -> None:
        """Give the memory back, once."""
        # The other process may map it for as long as garbage is not collected there.
        os.truncate(self._file.fileno(), 0)
        self._file.close()

    def fetch(self, written: Iterable[int]) -> None:
        """Copy the storages of the arguments at positions ``written`` back."""
        found = torch.load(self.path, mmap=True)
        for position in written:
            self._items[position][0].copy_(found[position][0])


def unpack(path: str) -> list[Any]:
    """The arguments of a ``Parcel``, lying in its memory: what is written to them is seen by the
    sender. They must not be touched once the sender has left the parcel."""
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        items = torch.load(path, mmap=True)
    return [_laid_out(*item) if isinstance(item, tuple) else item for item in items]


def _laid_out(whole: torch.Tensor, dtype: torch.dtype, *layout: Any) -> torch.Tensor:
    return torch.empty(0, dtype=dtype).set_(whole.untyped_storage(), *layout)


def bounds(args: Iterable[Any]) -> Iterator[tuple[int, int, int]]:
    """For each tensor of ``args`` its address, and those of its storage's first byte and of the
    byte after its last."""
    for arg in args:
        if isinstance(arg, torch.Tensor):
            storage = arg.untyped_storage()
            low = storage.data_ptr()
            yield arg.data_ptr(), low, low + storage.nbytes()
