"""CUDA's driver: binaries loaded and unloaded, errors. Called through ctypes, so that Triton's own
driver is not needed. Kernels are launched by ``launch.c``, which takes the addresses from here."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.runtime.compile.binary import too_large

_LIBRARY = "libcuda.so.1"
_STATIC_SHARED = 48 << 10
"""Bytes of shared memory a block may have without asking (CUDA programming guide)."""

# Numbers from cuda.h.
_DEVICE_SHARED_OPTIN, _DEVICE_MAJOR, _DEVICE_MINOR = 97, 75, 76
_FUNCTION_THREADS, _FUNCTION_LOCAL, _FUNCTION_REGISTERS, _FUNCTION_DYNAMIC = 0, 3, 4, 8
_PREFER_SHARED = 1
INVALID_CONTEXT = 201
_DOES_NOT_FIT = {
    1: "an argument of the launch is out of range (a grid too large, say)",
    701: "too many resources",
}
_BINARY_OF_ANOTHER = {200, 209, 218, 222, 223, 300}
_BYTES_A_REGISTER = 4


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel on a device. ``registers`` per thread, ``spills`` registers that local memory
    of a thread stands for, ``threads`` the most a block may have."""

    module: int
    function: int
    registers: int
    spills: int
    threads: int


@functools.cache
def cuda() -> Driver:
    """The driver of this machine. Raises ``NoDevice`` if it has none."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NoDevice(
            "CUDA's driver cannot be opened",
            got=str(error),
            expected=f"{_LIBRARY}, which comes with NVIDIA's driver",
            remedy="run on a machine with an NVIDIA GPU and its driver",
        ) from error
    return Driver(library)


@dataclass(frozen=True, eq=False, slots=True)
class Driver:
    """What loads and launches kernels on the current device, by way of the driver's library."""

    library: Any

    def load(self, cubin: bytes, name: str, shared: int, threads: int, device: int) -> Loaded:
        """The kernel ``name`` of ``cubin`` on ``device``, ready for blocks of ``threads`` threads
        with ``shared`` bytes; makes the device's context current if the thread has none. Raises
        ``CompileFailed`` if it does not fit, and ``NoDevice`` if the device does not answer."""
        self.ensure_context(device)
        limit = self._device_attribute(_DEVICE_SHARED_OPTIN, device)
        if shared > limit:
            raise too_large(name, f"{shared} bytes of shared memory", f"at most {limit}")
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        code = self.library.cuModuleLoadData(ctypes.byref(module), cubin)
        if code in _BINARY_OF_ANOTHER:
            raise CompileFailed(
                "the device cannot run a binary",
                where=name,
                got=self.text(code),
                expected=f"a binary for capability {self.capability(device)}",
                remedy="compile the kernel for this device",
            )
        self._require(code, f"loading {name}")
        made = Loaded(module.value or 0, 0, 0, 0, 0)
        try:
            found = self.library.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
            self._require(found, f"finding {name} in its binary")
            made = Loaded(
                module.value or 0,
                function.value or 0,
                self._attribute(_FUNCTION_REGISTERS, function),
                self._attribute(_FUNCTION_LOCAL, function) // _BYTES_A_REGISTER,
                self._attribute(_FUNCTION_THREADS, function),
            )
            if threads > made.threads:
                raise too_large(name, f"{threads} threads in a block", f"at most {made.threads}")
            if shared > _STATIC_SHARED:
                self._allow_shared(function, shared, name)
        except HarnessError:
            self.unload(made)
            raise
        return made

    def _allow_shared(self, function: ctypes.c_void_p, shared: int, name: str) -> None:
        prefer = self.library.cuFuncSetCacheConfig(function, _PREFER_SHARED)
        self._require(prefer, f"preferring shared memory for {name}")
        code = self.library.cuFuncSetAttribute(function, _FUNCTION_DYNAMIC, shared)
        self._require(code, f"{shared} bytes of shared memory for {name}")

    def unload(self, loaded: Loaded) -> None:
        """Give back what ``load`` took. Never fails: the device may be gone."""
        if loaded.module:
            self.library.cuModuleUnload(ctypes.c_void_p(loaded.module))

    def address(self, cooperative: bool) -> int:
        """The address of the function that launches."""
        name = "cuLaunchCooperativeKernel" if cooperative else "cuLaunchKernel"
        return int(ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0)

    def recording(self, stream: int) -> int:
        """Which recording of a CUDA graph ``stream`` is part of; 0 if none."""
        status, number = ctypes.c_int(), ctypes.c_uint64()
        asked = ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number)
        code = self.library.cuStreamGetCaptureInfo_v2(*asked, None, None, None)
        self._require(code, "asking a stream what it records")
        return number.value if status.value else 0

    def recover(self, code: int, tries: int, name: str, device: int) -> None:
        """Called when a launch of ``name`` answered ``code``: returns if it should be tried once
        more (a thread that had no context is given one), or raises what went wrong."""
        if code == INVALID_CONTEXT and tries == 0:
            self.ensure_context(device)
            return
        raise launch_error(code, self.text(code), name)

    def ensure_context(self, device: int) -> None:
        """Make the primary context of ``device`` current if the thread has none."""
        context = ctypes.c_void_p()
        self._require(self.library.cuInit(0), "starting CUDA")
        self._require(self.library.cuCtxGetCurrent(ctypes.byref(context)), "finding a context")
        if context.value:
            return
        handle = self._device(device)
        retained = self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
        self._require(retained, f"taking device {device}")
        self._require(self.library.cuCtxSetCurrent(context), f"using device {device}")

    def capability(self, device: int) -> int:
        """The compute capability, as 90 for 9.0."""
        major, minor = (self._device_attribute(n, device) for n in (_DEVICE_MAJOR, _DEVICE_MINOR))
        return 10 * major + minor

    def text(self, code: int) -> str:
        """The driver's name and words for ``code``."""
        parts = []
        for ask in (self.library.cuGetErrorName, self.library.cuGetErrorString):
            found = ctypes.c_char_p()
            ask(code, ctypes.byref(found))
            parts.append((found.value or b"unknown").decode(errors="replace"))
        return f"{parts[0]} ({code}): {parts[1]}"

    def _device(self, device: int) -> ctypes.c_int:
        return self._answer(self.library.cuDeviceGet, f"finding device {device}", device)

    def _device_attribute(self, which: int, device: int) -> int:
        ask, handle = self.library.cuDeviceGetAttribute, self._device(device)
        return self._answer(ask, f"asking device {device}", which, handle).value

    def _attribute(self, which: int, function: ctypes.c_void_p) -> int:
        ask = self.library.cuFuncGetAttribute
        return self._answer(ask, "asking a kernel", which, function).value

    def _answer(self, ask: Any, doing: str, *about: Any) -> ctypes.c_int:
        found = ctypes.c_int()
        self._require(ask(ctypes.byref(found), *about), doing)
        return found

    def _require(self, code: int, doing: str) -> None:
        if code:
            raise launch_error(code, self.text(code), doing)


def launch_error(code: int, text: str, where: str) -> HarnessError:
    """What a driver's answer other than success means."""
    if code in _DOES_NOT_FIT:
        within = "grid, threads and memory within the device's limits"
        return too_large(where, f"{_DOES_NOT_FIT[code]}: {text}", within)
    return NoDevice(
        "the GPU did not carry out what it was asked",
        where=where,
        got=text,
        expected="a device that works; an earlier kernel may have ruined this process's context",
        remedy="start a new process; `nvidia-smi` says whether the device is still there, "
        "compute-sanitizer finds a kernel that writes outside its memory",
    )
