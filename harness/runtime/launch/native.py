"""How kernels are launched: ``launch.c``, compiled once and kept in the cache folder. It is built
with the compiler that Triton builds its own parts with."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import platform
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from harness.errors import CompileFailed, RecordError, reason
from harness.files import write_atomically
from harness.runtime.compile.static import triton_cache

_SOURCE = Path(__file__).with_name("launch.c")
_NAME = "harness_launch"
_SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


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
def launching(cache: Path | None = None) -> Make:
    """What makes kernels; its compiled code is kept below ``cache``. Raises ``CompileFailed`` where
    it can be neither loaded nor built."""
    try:
        made: Make = _compiled(cache).Kernel
    except Exception as error:
        raise CompileFailed(
            "the extension that launches kernels cannot be built",
            where=_SOURCE.name,
            got=reason(error),
            expected="a C compiler and Python's headers, which Triton's own launcher needs too",
            remedy="install gcc and the headers of this Python (python3-dev)",
        ) from error
    return made


def _compiled(cache: Path | None) -> Any:
    """The extension. One that lies in ``cache`` is loaded without Triton, if its contents are
    what its name says."""
    source = _SOURCE.read_text()
    folder, key = None if cache is None else cache / "native", _key(source)
    for kept in () if folder is None else sorted(folder.glob(f"{key}-*{_SUFFIX}")):
        with contextlib.suppress(ImportError, OSError):  # torn or foreign: built again
            if kept.name == _file_name(key, kept.read_bytes()):
                return _loaded(kept)
    from triton.runtime.build import compile_module_from_src

    with triton_cache(cache):
        made = compile_module_from_src(src=source, name=_NAME)
    if folder is not None:
        data = Path(made.__file__).read_bytes()
        with contextlib.suppress(RecordError):
            write_atomically(folder / _file_name(key, data), data)
    return made


def _file_name(key: str, data: bytes) -> str:
    return f"{key}-{hashlib.sha256(data).hexdigest()[:32]}{_SUFFIX}"


def _key(source: str) -> str:
    """What a compiled extension depends on: its text, the Python it is for, the processor."""
    parts = (source, sys.implementation.cache_tag, platform.machine())
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(_NAME, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
