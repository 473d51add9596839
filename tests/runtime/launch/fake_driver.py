"""A driver without a device: what is loaded and launched is written down."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from harness.errors import CompileFailed, NoDevice
from harness.runtime.launch.driver import Loaded, launch_error

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_uint


@dataclass
class FakeDriver:
    """Answers as ``codes`` say (then success); ``launches`` are (function, grid, threads,
    shared, stream, first 8 bytes of every argument)."""

    arguments: int = 0
    spills: dict[str, int] = field(default_factory=dict)
    limit: int = 48 << 10
    lost: bool = False
    codes: list[int] = field(default_factory=list)
    launches: list[tuple[Any, ...]] = field(default_factory=list)
    loaded: list[tuple[str, int]] = field(default_factory=list)
    unloaded: list[int] = field(default_factory=list)
    recovered: list[int] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)

    def load(self, cubin: bytes, name: str, shared: int, threads: int, device: int) -> Loaded:
        if self.lost:
            raise NoDevice("the GPU did not carry out what it was asked", got="gone")
        if shared > self.limit:
            raise CompileFailed("a compiled kernel does not fit the device", got="OutOfResources")
        self.loaded.append((name, device))
        number = len(self.loaded)
        return Loaded(number, 100 + number, 16, self.spills.get(name, 0), 1024)

    def capability(self, device: int) -> int:
        del device
        return 90

    def unload(self, loaded: Loaded) -> None:
        self.unloaded.append(loaded.module)

    def address(self, cooperative: bool) -> int:
        kinds = [POINTER, *[NUMBER] * 7, POINTER, ctypes.POINTER(POINTER)]
        made = ctypes.CFUNCTYPE(ctypes.c_int, *kinds, *([] if cooperative else [POINTER]))

        def launch(function: int, *rest: Any) -> int:
            x, y, z, threads, _, _, shared, stream, params, *_ = rest
            values = [
                ctypes.cast(params[n], ctypes.POINTER(ctypes.c_uint64))[0]
                for n in range(self.arguments)
            ]
            if self.codes:
                return self.codes.pop(0)
            self.launches.append((function, (x, y, z), threads, shared, stream or 0, values))
            return 0

        self.callbacks.append(made(launch))
        return int(ctypes.cast(self.callbacks[-1], POINTER).value or 0)

    def recover(self, code: int, tries: int, name: str, device: int) -> None:
        self.recovered.append(code)
        if code == 201 and tries == 0:
            return
        raise launch_error(code, f"error {code}", name)
