"""What an interpreter worker can do. Imported only in worker processes."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from harness import errors
from harness.devices.job import Context
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.interpret import standins
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, LaunchJob

_BY_ZERO = "an integer is divided by zero"
_OUT_OF_RANGE = re.compile("outside its tensor|index is out of range")
_STORAGE = "storage"


class Bounds:
    """The storages that kernels may touch, as ranges of addresses. A GPU would read, or ruin,
    whatever lies outside; an index that a model got wrong has to be an error instead. Each pointer
    may only reach the storage that its argument lies in."""

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

        as_other = builder.create_bitcast

        def create_bitcast(own: Any, value: Any, kind: Any) -> Any:
            made = as_other(own, value, kind)  # pointers to bools become pointers to bytes
            made.attr.update({k: v for k, v in value.attr.items() if k == _STORAGE})
            return made

        builder.create_addptr, builder.create_bitcast = create_addptr, create_bitcast
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


class Interpreter:
    """Triton's interpreter made exact, loaded modules by text, and the two jobs."""

    def __init__(self, context: Context) -> None:
        torch.set_num_threads(1)
        standins.install()
        standins.install_exactness()
        standins.install_trees()
        standins.install_once()
        self._bounds = Bounds()
        self._bounds.install()
        self._cache = context.cache
        self._load = modules.keeping()

    def check(self, job: CheckJob) -> CheckResult:
        """The module's own check on fresh inputs in host memory."""
        began = time.perf_counter()
        loaded = self._load(job.module_text, self._cache)
        self._bounds.allow(())
        try:
            found = loaded.check(loaded.get_args("cpu", job.seed, dict(job.sizes)), job.config)
        except errors.HarnessError:
            raise
        except Exception as error:
            raise self._failed(loaded, job.config, error) from error
        return result(found, time.perf_counter() - began)

    def launch(self, job: LaunchJob) -> tuple[int, ...]:
        """Run the kernel on the arguments; the positions it writes."""
        loaded = self._load(job.module_text, self._cache)
        args = job.package.unpack()
        self._bounds.allow(job.package.storages(args))
        try:
            loaded.call(args, job.config)
        except Exception as error:
            raise self._failed(loaded, job.config, error) from error
        return loaded.outputs

    def _failed(
        self, loaded: modules.LoadedModule, config: Config | None, error: Exception
    ) -> errors.HarnessError:
        chosen = modules.config_dict(config or loaded.configs[0])
        cause: BaseException = error
        while cause.__cause__ is not None:  # one for each function within functions
            cause = cause.__cause__
        told = str(cause) if isinstance(cause, IndexError | AssertionError) else ""
        if _BY_ZERO in told:
            return errors.DivisionByZero(_BY_ZERO, where=loaded.name)
        if _OUT_OF_RANGE.search(told):
            return errors.IndexOutOfRange(
                "an index is out of range",
                where=loaded.name,
                got=told,
                expected="indices within the tensor",
                remedy="run the model without the backend: eager mode names the index",
            )
        kind = errors.OutOfMemory if lacks_memory(cause) else errors.CheckFailed
        return kind(
            "a kernel could not be run in the interpreter",
            where=f"{loaded.name} {chosen}",
            got=errors.reason(error),
            expected="a kernel that runs to its end",
            remedy=f"see its text in {loaded.path}",
        )


def lacks_memory(error: BaseException) -> bool:
    """Whether ``error`` is an allocator's, of the device or of the host."""
    host = "DefaultCPUAllocator: can't allocate memory"  # torch has no type for it
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or host in str(error)


def result(found: dict[str, Any], seconds: float) -> CheckResult:
    """A module's answer as data; an error that is not a number counts as infinite."""
    error = float(found["max_error"])
    error = math.inf if math.isnan(error) else error
    return CheckResult(
        passed=bool(found["passed"]) and not math.isinf(error),
        max_error=error,
        allowed=float(found["allowed"]),
        message=str(found.get("message", "")),
        seconds=seconds,
    )


def check(context: Context, job: CheckJob) -> CheckResult:
    """The handler of ``CheckJob``."""
    return context.once(Interpreter).check(job)


def launch(context: Context, job: LaunchJob) -> tuple[int, ...]:
    """The handler of ``LaunchJob``."""
    return context.once(Interpreter).launch(job)
