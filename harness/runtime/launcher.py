"""Launch compiled kernels on a CUDA device without Triton's per-call dispatch.

A kernel is compiled once per configuration for the device's target and kept as a file, so
that the next process loads it without compiling. Compiled code may assume that the pointers
in the module's DIVISIBLE_BY_16 are aligned; arguments that are not get a variant of their own.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.errors import CompileFailed
from harness.heuristics.facts import Config
from harness.runtime import binary as binaries
from harness.runtime import module as modules
from harness.runtime.binary import KernelBinary
from harness.runtime.driver import Driver, Loaded, cuda
from harness.runtime.host import raw_stream
from harness.runtime.module import USER
from harness.runtime.native import Kernel, launching
from harness.runtime.static import compile_for
from harness.target import Target

Grid = tuple[int, int, int]
LaunchOn = Callable[..., object]
"""``launch(stream, *args)`` enqueues a kernel."""


def compiled_binary(
    loaded: modules.LoadedModule,
    target: Target,
    config: Config,
    unaligned: Collection[str] = (),
    cache: Path | None = None,
) -> KernelBinary:
    """The kernel of ``loaded`` under ``config``: the one kept in ``cache``, or compiled and
    kept there. ``unaligned`` names pointers that may have any address. Needs no GPU.

    Raises ``CompileFailed``.
    """
    name = binaries.artifact(loaded.text, config, target, unaligned)
    found = None if cache is None else binaries.find(cache, name)
    if found is None:
        numbers = {n for n, kind in loaded.signature.items() if not kind.startswith("*")}
        if loaded.category == USER:
            numbers = set()  # its arguments are always the same
        compiled = compile_for(loaded, target, config, {*unaligned, *numbers}, cache)
        found = binaries.of_compiled(compiled, loaded, config, unaligned)
        if cache is not None:
            binaries.keep(cache, name, found)
    return found


@dataclass(eq=False, slots=True, weakref_slot=True)
class LoadedBinaries:
    """Binaries loaded on devices, for as long as this object lives."""

    driver: Driver
    _loaded: dict[tuple[int, KernelBinary], Loaded] = field(default_factory=dict)

    def load(self, binary: KernelBinary, device: int) -> Loaded:
        """``binary`` on the CUDA device number ``device``. Raises ``CompileFailed`` if it does
        not fit, ``NoDevice`` if the device does not answer."""
        found = self._loaded.get((device, binary))
        if found is None:
            shape = (binary.name, binary.shared, binary.threads, device)
            found = self._loaded[device, binary] = self.driver.load(binary.cubin, *shape)
            # At the end of the process the device forgets by itself, maybe before us.
            weakref.finalize(self, self.driver.unload, found).atexit = False
        return found

    def bind(
        self, kernel: Kernel, binary: KernelBinary, device: int, grid: Grid | None = None
    ) -> None:
        """Make ``kernel`` launch ``binary`` on ``device``, with ``grid`` where the binary has
        none of its own. This object must outlive its use."""
        loaded = self.load(binary, device)
        chosen = grid or binary.grid
        assert chosen is not None, f"{binary.name} needs a grid"
        kernel.bind(
            function=loaded.function,
            launch=self.driver.address(binary.cooperative),
            grid=chosen,
            threads=binary.threads,
            shared=binary.shared,
            kinds=binary.kinds,
            cooperative=binary.cooperative,
        )


@dataclass(eq=False, slots=True)
class Launcher:
    """One module under one configuration. Calling it enqueues the kernel on the current
    stream of the current device; ``args`` are as the module's ``call`` takes them. Binaries
    are kept below ``cache``."""

    loaded: modules.LoadedModule
    config: Config
    target: Target
    cache: Path | None = None
    driver: Driver | None = None
    _stream: Callable[[int], int] = field(default_factory=raw_stream)
    _kernels: dict[tuple[int, tuple[int, ...]], LaunchOn] = field(default_factory=dict)
    _compiled: dict[tuple[str, ...], KernelBinary] = field(default_factory=dict)
    _loaded: LoadedBinaries | None = None

    def __call__(self, args: Sequence[Any]) -> None:
        """Enqueue the kernel. Raises ``CompileFailed`` (out of resources included) the
        first time."""
        device = torch.cuda.current_device()
        kernel = self._kernels.get((device, ())) or self.kernel(device)
        kernel(self._stream(device), *args)

    def kernel(self, device: int) -> LaunchOn:
        """What launches on the CUDA device number ``device``: ``kernel(stream, *args)``.
        Raises ``CompileFailed``."""
        return self._variant(device, ())

    def bind(self, kernel: Kernel, device: int) -> bool:
        """Make ``kernel``, which the caller made, launch this, and whether that can be: not
        where the grid depends on the arguments. This object must outlive it."""
        if self.binary().grid is None:
            return False
        self._binaries().bind(kernel, self.binary(), device)
        return True

    def crooked(self, device: int, stream: int, *args: Any) -> None:
        """Launch with arguments of which some are not aligned."""
        aligned = self.binary().aligned
        places = tuple(
            at
            for at, (name, _) in enumerate(self.binary().signature)
            if name in aligned and _address(args[at]) % 16
        )
        self._variant(device, places)(stream, *args)

    def binary(self, unaligned: Collection[str] = ()) -> KernelBinary:
        """The compiled kernel, from the cache or compiled now. Raises ``CompileFailed``."""
        names = tuple(unaligned)
        found = self._compiled.get(names)
        if found is None:
            found = compiled_binary(self.loaded, self.target, self.config, names, self.cache)
            self._compiled[names] = found
        return found

    @property
    def artifact(self) -> str:
        """The name of the binary that ``prepare`` loads (see ``binary.artifact``)."""
        return binaries.artifact(self.loaded.text, self.config, self.target)

    def prepare(self) -> int:
        """Compile and load for aligned arguments; the number of spilled registers."""
        return self.resources().spills

    def resources(self) -> Loaded:
        """Compile and load; registers and spills as the driver reports them."""
        device = torch.cuda.current_device()
        self.kernel(device)
        return self._binaries().load(self.binary(), device)

    def _binaries(self) -> LoadedBinaries:
        if self._loaded is None:
            self._loaded = LoadedBinaries(self.driver or cuda())
        return self._loaded

    def _variant(self, device: int, crooked: tuple[int, ...]) -> LaunchOn:
        found = self._kernels.get((device, crooked))
        if found is None:
            names = [name for name, _ in self.binary().signature] if crooked else []
            binary = self.binary([names[at] for at in crooked])
            found = self._kernels[device, crooked] = self._made(binary, device)
        return found

    def _made(self, binary: KernelBinary, device: int) -> LaunchOn:
        if binary.grid is not None:
            made = self._empty(device)
            self._binaries().bind(made, binary, device)
            return made
        self._binaries().load(binary, device)
        by_grid: dict[Grid, Kernel] = {}

        def launch(stream: int, *args: Any) -> None:
            grid = self.loaded.grid(self.config, args)
            kernel = by_grid.get(grid)
            if kernel is None:
                kernel = self._empty(device)
                self._binaries().bind(kernel, binary, device, grid)
                by_grid[grid] = kernel
            kernel(stream, *args)

        return launch

    def _empty(self, device: int) -> Kernel:
        """A kernel to which nothing is bound yet."""
        driver = self.driver or cuda()

        def failed(code: int, tries: int) -> None:
            driver.recover(code, tries, self.loaded.name, device)

        crooked = functools.partial(self.crooked, device)
        return launching(self.cache).make(_not_bound, crooked, failed)


@dataclass(frozen=True, eq=False, slots=True)
class SavedKernel:
    """A saved kernel on one device: call it with its arguments (tensors and numbers) in the
    order of its signature. It runs on the current stream."""

    binary: KernelBinary
    device: int
    _kernel: Kernel
    _loaded: LoadedBinaries
    _stream: Callable[[int], int] = field(default_factory=raw_stream)

    def __call__(self, args: Sequence[Any], grid: Grid | None = None) -> None:
        """Enqueue the kernel. ``grid`` must be given if the binary has none, because it depends
        on the arguments. Raises ``CompileFailed`` if it is missing, and for an address that is
        not aligned as the binary needs it."""
        if self.binary.grid is None:
            if grid is None:
                raise CompileFailed(
                    "the grid of a saved kernel depends on its arguments",
                    where=self.binary.name,
                    expected="the number of programs in x, y, z, as the module's `grid` gives it",
                    remedy="pass grid=(x, y, z)",
                )
            self._loaded.bind(self._kernel, self.binary, self.device, grid)
        self._kernel(self._stream(self.device), *args)


def open_binary(
    where: Path, cache: Path | None = None, driver: Driver | None = None
) -> SavedKernel:
    """The kernel in the file ``where``, loaded on the current CUDA device without compiling:
    neither Triton nor the module that it was compiled from is needed.

    Raises ``DamagedBinary``, ``RecordError`` (no such file), ``CompileFailed`` for a binary of
    another kind of device or one that does not fit.
    """
    binary = binaries.load(where)
    chosen = driver or cuda()
    device = torch.cuda.current_device()
    binaries.require_target(binary, chosen.capability(device), str(where))

    def crooked(stream: int, *args: Any) -> None:
        del stream
        names = [name for name, _ in binary.signature]
        odd = [n for n, a in zip(names, args, strict=True) if _odd(binary, n, a)]
        raise CompileFailed(
            "an argument of a saved kernel is not aligned",
            where=f"{where}: {', '.join(odd)}",
            expected="addresses that are multiples of 16",
            remedy="pass a copy, or compile the kernel for unaligned arguments",
        )

    def failed(code: int, tries: int) -> None:
        chosen.recover(code, tries, binary.name, device)

    owner = LoadedBinaries(chosen)
    kernel = launching(cache).make(_not_bound, crooked, failed)
    owner.load(binary, device)
    if binary.grid is not None:
        owner.bind(kernel, binary, device)
    return SavedKernel(binary, device, kernel, owner)


def _odd(binary: KernelBinary, name: str, argument: Any) -> bool:
    return name in binary.aligned and bool(_address(argument) % 16)


def _not_bound(*_: Any) -> None:
    raise CompileFailed("a kernel was launched before it was bound")


def _address(argument: Any) -> int:
    return argument if isinstance(argument, int) else int(argument.data_ptr())


@dataclass(eq=False, slots=True)
class LauncherCache:
    """Launchers by module text and configuration, for as long as the cache lives."""

    target: Target
    cache: Path | None = None
    _launchers: dict[tuple[str, Config], Launcher] = field(default_factory=dict)

    def get(self, loaded: modules.LoadedModule, config: Config | None = None) -> Launcher:
        """The launcher of ``loaded`` under ``config`` (its best guess if None)."""
        chosen = loaded.configs[0] if config is None else config
        key = (modules.text_hash(loaded.text), chosen)
        found = self._launchers.get(key)
        if found is None:
            found = self._launchers[key] = Launcher(loaded, chosen, self.target, self.cache)
        return found

    def clear(self) -> None:
        """Forget all of them, which unloads their binaries."""
        self._launchers.clear()
