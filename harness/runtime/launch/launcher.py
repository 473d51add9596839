"""Launch compiled kernels on a CUDA device without Triton's per-call dispatch.

A kernel is compiled once per configuration for the device's target and kept as a file, so
that the next process loads it without compiling. Compiled code may assume that the pointers
in the module's DIVISIBLE_BY_16 are aligned; arguments that are not get a variant of their own.
What launches is ``launch.c``, which Triton builds, and keeps in the cache folder, as it does its
own parts.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from harness.errors import CompileFailed, InvalidProgram, reason
from harness.heuristics.facts import Config
from harness.records.run import fields
from harness.runtime import module as modules
from harness.runtime.compile import binary as binaries
from harness.runtime.compile.binary import ASKED, KernelBinary
from harness.runtime.compile.static import compiled_binary, read_triton, triton_cache
from harness.runtime.grid import Counts
from harness.runtime.launch.driver import Driver, Loaded, cuda
from harness.runtime.launch.host import raw_stream
from harness.target import Target

_SOURCE = Path(__file__).with_name("launch.c")
_NAME = "harness_launch"


class Kernel(Protocol):
    """A kernel ready to launch: ``kernel(stream, *args)``, with tensors (or addresses) for pointers
    and numbers for the rest."""

    def __call__(self, stream: int, *args: Any) -> None:
        """Enqueue the kernel on ``stream``."""

    def bind(
        self,
        function: int,
        launch: int,
        grid: tuple[int, int, int],
        threads: int,
        shared: int,
        kinds: bytes,
        cooperative: bool,
    ) -> None:
        """Fix what a launch needs besides stream and arguments."""


Make = Callable[[Callable[..., Any], Callable[..., Any], Callable[[int, int], Any]], Kernel]
"""``make(unbound, misaligned, failed)`` gives a ``Kernel``. ``unbound`` is called with stream and
arguments while nothing is bound; ``misaligned`` when an address is not aligned as the function
needs it; ``failed`` with the driver's code and the number of tries so far."""


@functools.cache
def expect(cache: Path | None) -> None:
    """Get ready to compile and to launch, in threads, while this process does other things: what
    ``launching`` needs is built, and Triton reads itself."""
    _building(cache, os.getpid())
    threading.Thread(target=read_triton, daemon=True).start()


def launching(cache: Path | None = None) -> Make:
    """What makes kernels; its compiled code is kept below ``cache``. Raises ``CompileFailed`` where
    it can be neither loaded nor built."""
    try:
        return _building(cache, os.getpid()).result()
    except CompileFailed:
        _building.cache_clear()  # the next launch tries again
        raise


@functools.cache
def _building(cache: Path | None, process: int) -> Future[Make]:
    """What ``launching`` gives, to be built; a fork has none of the threads of its parent."""
    del process
    thread = ThreadPoolExecutor(1)
    made = thread.submit(_built, cache)
    thread.shutdown(wait=False)
    return made


def _built(cache: Path | None) -> Make:
    from triton.runtime.build import compile_module_from_src

    try:
        with triton_cache(cache):
            built: Any = compile_module_from_src(src=_SOURCE.read_text(), name=_NAME)
    except Exception as error:
        raise CompileFailed(
            "the extension that launches kernels cannot be built",
            where=_SOURCE.name,
            got=reason(error),
            expected="a C compiler and Python's headers, which Triton's own launcher needs too",
            remedy="install gcc and the headers of this Python (python3-dev)",
        ) from error
    return built.Kernel


MOST_VARIANTS = 1024
"""Sizes and alignments that a launcher remembers."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class LoadedBinaries:
    """Binaries loaded on devices, for as long as this object lives."""

    driver: Driver
    _loaded: dict[tuple[int, KernelBinary], Loaded] = field(default_factory=dict)

    def load(self, binary: KernelBinary, device: int) -> Loaded:
        """``binary`` on the CUDA device number ``device``. Raises ``CompileFailed`` if it does
        not fit, ``NoDevice`` if the device does not answer."""
        if (found := self._loaded.get((device, binary))) is None:
            shape = (binary.name, binary.shared, binary.threads, device)
            found = self._loaded[device, binary] = self.driver.load(binary.cubin, *shape)
            # At the end of the process the device forgets by itself, maybe before us.
            weakref.finalize(self, _unload, self.driver, found, os.getpid()).atexit = False
        return found

    def bind(
        self, kernel: Kernel, binary: KernelBinary, device: int, grid: Counts | None = None
    ) -> None:
        """Make ``kernel`` launch ``binary`` on ``device``, with the binary's own grid if None is
        given. This object must outlive its use. Raises ``InvalidProgram`` for a binary whose
        grid depends on sizes that only a launch knows."""
        if grid is None and binary.grid == ASKED:
            raise InvalidProgram(
                "the number of programs depends on sizes that only a launch knows",
                where=binary.name,
                expected="a launch through the kernel's module, which computes it",
                remedy="call the module, or a Launcher, with the arguments",
            )
        kernel.bind(
            function=self.load(binary, device).function,
            launch=self.driver.address(binary.cooperative),
            grid=grid or binary.grid,
            **fields(binary, "threads shared kinds cooperative"),
        )


def _unload(driver: Driver, loaded: Loaded, owner: int) -> None:
    """Unload, unless this is a forked child, whose parent goes on using it."""
    if os.getpid() == owner:
        driver.unload(loaded)


@dataclass(eq=False, slots=True)
class Launcher:
    """One module under one configuration. Calling it enqueues the kernel on the current
    stream of the current device; ``args`` are as the module's ``call`` takes them. Binaries
    are kept below ``cache``; with ``triton`` only one that this version compiled will do."""

    loaded: modules.LoadedModule
    config: Config
    target: Target
    cache: Path | None = None
    driver: Driver | None = None
    triton: str = ""
    _stream: Callable[[int], int] = field(default_factory=raw_stream)
    _kernels: dict[tuple[object, ...], Kernel] = field(default_factory=dict)
    _compiled: dict[tuple[tuple[str, ...], Config], KernelBinary] = field(default_factory=dict)
    _loaded: LoadedBinaries | None = None

    def __call__(self, args: Sequence[Any]) -> None:
        """Enqueue the kernel. Raises ``CompileFailed`` (out of resources included) the
        first time."""
        device = torch.cuda.current_device()
        self._variant(device, (), args)(self._stream(device), *args)

    def launch(self, device: int, stream: int, *args: Any) -> None:
        """Enqueue on ``stream`` of ``device``, which is current; the grid may depend on sizes
        among the arguments."""
        self._variant(device, (), args)(stream, *args)

    def bind(self, kernel: Kernel, device: int) -> None:
        """Make ``kernel``, which the caller made, launch this. This object must outlive it."""
        self._binaries().bind(kernel, self.binary(), device)

    def misaligned(self, device: int, stream: int, *args: Any) -> None:
        """Launch with arguments of which some are not aligned."""
        aligned = binaries.pointers_aligned(self.loaded)
        places = tuple(
            at
            for at, name in enumerate(self.loaded.signature)
            if name in aligned and _address(args[at]) % 16
        )
        self._variant(device, places, args)(stream, *args)

    def binary(
        self, unaligned: Collection[str] = (), args: Sequence[Any] | None = None
    ) -> KernelBinary:
        """The kernel compiled for the sizes in ``args`` (None: those that the configuration was
        made for), from the cache or now. Raises ``CompileFailed``."""
        names, config = tuple(unaligned), self.loaded.fitted(self.config, args)
        if (found := self._compiled.get((names, config))) is None:
            found = compiled_binary(
                self.loaded, self.target, config, names, self.cache, self.triton
            )
            self._compiled[names, config] = found
        return found

    def resources(self) -> Loaded:
        """Compile and load for aligned arguments; registers and spills as the driver says."""
        return self._binaries().load(self.binary(), torch.cuda.current_device())

    def _binaries(self) -> LoadedBinaries:
        if self._loaded is None:
            self._loaded = LoadedBinaries(self.driver or cuda())
        return self._loaded

    def _variant(self, device: int, misaligned: tuple[int, ...], args: Sequence[Any]) -> Kernel:
        key = (device, misaligned, sizes := self.loaded.sizes(args))
        if (found := self._kernels.get(key)) is None:
            if len(self._kernels) >= MOST_VARIANTS:
                self._kernels.clear()  # of ever new sizes; what is compiled and loaded stays
            known = args if sizes else None
            binary = self.binary([list(self.loaded.signature)[at] for at in misaligned], known)
            config = self.loaded.fitted(self.config, known)
            grid = None if known is None else self.loaded.grid(config, known)
            own, misaligned_at = self._binaries(), functools.partial(self.misaligned, device)
            recover = functools.partial(own.driver.recover, name=self.loaded.name, device=device)
            found = launching(self.cache)(_not_bound, misaligned_at, recover)
            own.bind(found, binary, device, grid)
            self._kernels[key] = found
        return found


def _not_bound(*_: Any) -> None:
    raise CompileFailed("a kernel was launched before it was bound")


def _address(argument: Any) -> int:
    return argument if isinstance(argument, int) else int(argument.data_ptr())
