"""Tensors handed to another process in memory that both see, without a file. Storages are kept, not
tensors, so arguments that share memory still share it on the other side. Works for CPU tensors
only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.devices.job import Closing
from harness.errors import HarnessError
from harness.runtime.tune.saved import storages

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Package:
    """Arguments in order: plain values themselves; of a tensor where its storage begins and ends in
    the ``total`` bytes that ``path`` opens, its type, and how it lies in the storage."""

    path: str
    total: int
    items: tuple[Any, ...]

    def memory(self) -> Any:
        """The memory: what is written to it is seen by all who have opened it."""
        return torch.UntypedStorage.from_file(self.path, True, self.total)

    def unpack(self) -> list[Any]:
        """The arguments, lying in the memory. They must not be touched once the sender has left its
        ``Parcel``."""
        memory = self.memory()

        def laid_out(place: slice, dtype: torch.dtype, *layout: Any) -> torch.Tensor:
            return torch.empty(0, dtype=dtype).set_(memory[place], *layout)

        return [laid_out(*item) if isinstance(item, tuple) else item for item in self.items]


class Parcel(Closing):
    """Copies of the tensors among ``args`` in memory that another process can open while this
    context lasts. However either process ends, and whatever the other one still holds on to,
    nothing of it stays."""

    def __init__(self, args: Sequence[Any]) -> None:
        devices = {arg.device for arg in args if isinstance(arg, torch.Tensor)}
        if odd := [str(device) for device in devices if device.type != "cpu"]:
            raise HarnessError(
                "the interpreter needs tensors in host memory",
                got=f"a tensor on {odd[0]}",
                expected="CPU tensors",
                remedy="run kernels for CUDA tensors through the compiled launcher",
            )
        self._originals: list[tuple[slice, torch.UntypedStorage]] = []
        places, total = dict[int, slice](), 1
        for address, whole in storages(args).items():
            begin = -(-total // _ALIGNMENT) * _ALIGNMENT
            # Of nothing, too, an address that no other has: Triton tells storages by theirs.
            places[address], total = slice(begin, begin + whole.numel()), begin + whole.numel() + 1
            self._originals.append((places[address], whole.untyped_storage()))
        # Not in a file system: /dev/shm has 64 MB in a container, and files outlive a kill.
        self._memory = os.memfd_create("harness-arguments")
        try:
            os.posix_fallocate(self._memory, 0, total)
        except OSError as error:
            os.close(self._memory)
            raise HarnessError(
                "arguments for the interpreter could not be placed in shared memory",
                got=f"{total} bytes: {error}",
                expected="that much free memory",
                remedy="use smaller sizes or free some memory",
            ) from error
        items = (_placed(a, places) if isinstance(a, torch.Tensor) else a for a in args)
        self.package = Package(f"/proc/{os.getpid()}/fd/{self._memory}", total, tuple(items))
        self._mapped: Any = self.package.memory()
        for place, original in self._originals:
            self._mapped[place].copy_(original)

    def close(self) -> None:
        """Give the memory back, once."""
        self._mapped = None
        # The other process may map it for as long as garbage is not collected there.
        os.truncate(self._memory, 0)
        os.close(self._memory)

    def fetch(self, written: Iterable[int]) -> None:
        """Copy the storages of the arguments at positions ``written`` back."""
        changed = [self.package.items[n][0] for n in written]
        for place, original in self._originals:
            if place in changed:
                original.copy_(self._mapped[place])


def _placed(arg: torch.Tensor, places: Mapping[int, slice]) -> tuple[Any, ...]:
    place = places[arg.untyped_storage().data_ptr()]
    return place, arg.dtype, int(arg.storage_offset()), tuple(arg.shape), tuple(arg.stride())
