"""How kernels are launched: ``launch.c``, which Triton builds, and keeps in the cache folder, as it
does its own parts."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from harness.errors import CompileFailed, reason
from harness.runtime.compile.static import read_triton, triton_cache

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
    made: Make = built.Kernel
    return made
