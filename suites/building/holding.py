"""What a kernel's check holds in memory at most, and a reference that holds less: a sum over
products writes these out before it sums them, in float64 up to 256 GiB at full size."""

from __future__ import annotations

import fcntl
import math
import os
import re
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

if TYPE_CHECKING:
    from harness.runtime.module import LoadedModule

_WIDE = 8
"""Bytes of an element in float64, which a reference and errors are."""
_AT_ONCE = 2**30
"""Products that are summed are written out whole up to so many."""
_SUMMED = re.compile(
    r"(\w+) = torch\.ops\.aten\.mul\.Tensor\(([a-z]\w*, [a-z]\w*)\)\n"
    r" +(\w+) = torch\.ops\.aten\.sum\.dim_IntList\(\1, (\[[^]]*\](?:, \w+)?)\)\n"
)


def in_slices(text: str) -> str:
    """A module's text whose reference sums products in slices; it computes the same."""
    start = text.index("\n", text.index("def reference("))
    end = text.index("\n\n\n", start)
    sliced = _SUMMED.sub(_in_slices, text[start:end])
    return f"{text[:start]}\n    from {__name__} import summed_products{sliced}{text[end:]}"


def _in_slices(found: re.Match[str]) -> str:
    """A product and its sum as one call, where nothing else reads the product."""
    product, factors, name, rest = found.groups()
    if len(re.findall(rf"\b{product}\b", found.string)) > 2:
        return found[0]
    return f"{name} = summed_products({factors}, {rest})\n"


def summed_products(
    one: torch.Tensor, other: torch.Tensor, dims: list[int], keep: bool = False
) -> torch.Tensor:
    """``(one * other).sum(dims, keep)``; where the products are many, a slice after the other along
    the first dimension that is not summed."""
    factors = torch.broadcast_tensors(one, other)  # type: ignore[no-untyped-call]
    shape = factors[0].shape
    summed = {dim % (len(shape) or 1) for dim in dims}
    along = next((n for n, size in enumerate(shape) if size > 1 and n not in summed), None)
    if along is None or math.prod(shape) <= _AT_ONCE:
        return (one * other).sum(dims, keep)
    at_once = max(1, _AT_ONCE * shape[along] // math.prod(shape))
    slices = zip(*(factor.split(at_once, along) for factor in factors), strict=True)
    found = torch.cat([(a * b).sum(dims, True) for a, b in slices], along)
    return found if keep else found.squeeze(tuple(summed))


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
            frugal(module)([arg.clone() for arg in args], wide=True)
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
