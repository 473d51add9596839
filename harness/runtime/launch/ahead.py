"""Kernels that worker processes compile before they are launched."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError
from harness.runtime import module as modules
from harness.runtime.compile.compiling import CompileJob, CompilePool

_FEW = 3
"""So few are left to their launches if there is no worker yet: starting one takes as long."""
_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Ahead:
    """Compiles into ``cache``, in at most ``jobs`` processes, while this process does other things.
    A kernel is compiled once, by a worker or by its launch: that takes the kernel (``take``)."""

    cache: Path | None
    jobs: int
    _pool: CompilePool | None = None
    _threads: list[threading.Thread] = field(default_factory=list)
    _closed: bool = False
    _taken: set[str] = field(default_factory=set)
    _begun: dict[str, threading.Event] = field(default_factory=dict)
    _owner: int = field(default_factory=os.getpid)

    def begin(self, jobs: Sequence[CompileJob]) -> None:
        """Compile ``jobs``, which are in the order in which workers should begin them."""
        if not jobs or (self._pool is None and len(jobs) <= _FEW):
            return
        if self._pool is None:
            self._pool = CompilePool(min(self.jobs, len(jobs) // 2), self.cache)
        # A daemon, so that the end of the program waits for nothing that is compiled ahead.
        thread = threading.Thread(target=self._compile, args=(self._pool, jobs), daemon=True)
        self._threads.append(thread)
        thread.start()

    def take(self, module_text: str) -> None:
        """Leave a kernel to this process: no worker begins it any more, and one that has begun it
        is waited for, which ends sooner than what would begin only now."""
        self._taken.add(module_text)
        begun = self._begun.get(module_text)
        if begun is not None and os.getpid() == self._owner:  # a fork has no thread that hears it
            begun.wait()

    def wait(self) -> None:
        """Wait until everything is compiled. What could not be is compiled again by its launch,
        which says why it fails."""
        while self._threads:
            self._threads.pop().join()

    def close(self) -> None:
        """End the worker processes."""
        self._closed = True
        self.wait()
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _compile(self, pool: CompilePool, jobs: Sequence[CompileJob]) -> None:
        texts = [job.module_text for job in jobs]
        ends = {text: threading.Event() for text in texts}

        def begin(index: int) -> bool:
            # In this order: ``take`` says that it takes a kernel before it looks here.
            self._begun[texts[index]] = ends[texts[index]]
            return texts[index] not in self._taken

        try:
            pool.widen(min(self.jobs, len(jobs) // 2))
            for index, error in pool.each(jobs, begin):
                ends[texts[index]].set()
                if error is not None:
                    _log.info("%s: %s", modules.text_hash(texts[index]), error)
                if self._closed:
                    return
        except HarnessError as error:  # no workers: every launch compiles for itself
            _log.warning("kernels are not compiled ahead: %s", error)
        finally:
            for end in ends.values():
                end.set()
