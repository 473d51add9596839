"""A lane: jobs go in, answers come out, a pool of processes works in between.

The pool is used by the lane's own thread alone. Equal jobs are done once. Stopping a
lane does not wait: its thread ends after the answer it is waiting for, and the
pool's processes end with it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from harness.errors import HarnessError, WorkerDied

J = TypeVar("J")
"""A job; hashable, equal jobs have equal answers."""
V = TypeVar("V", covariant=True)
"""A good answer."""

Key = tuple[str, int]
"""What an answer belongs to: a graph's name and a kernel's position."""


class Pool(Protocol[J, V]):
    """What does the jobs: yields (index, answer) in the order they finish."""

    def each(self, jobs: Sequence[J]) -> Iterator[tuple[int, V | HarnessError]]:
        """Do ``jobs``; a job that fails is answered with its error."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[V]):
    """An answer, or the error of that job alone."""

    key: Key
    value: V | HarnessError


class Lane(Generic[J, V]):
    """``open_pool`` makes the pool; it is called when the first job arrives."""

    def __init__(self, open_pool: Callable[[], AbstractContextManager[Pool[J, V]]]) -> None:
        """A lane without jobs."""
        self._open_pool = open_pool
        self._jobs: queue.SimpleQueue[J | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[J, V | HarnessError]] = queue.SimpleQueue()
        self._waiting: dict[J, list[Key]] = {}
        self._known: dict[J, V | HarnessError] = {}
        self._repeats: list[Answer[V]] = []
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def put(self, key: Key, job: J) -> None:
        """Have ``job`` done for ``key``."""
        if job in self._known:
            self._repeats.append(Answer(key, self._known[job]))
        elif job in self._waiting:
            self._waiting[job].append(key)
        else:
            self._waiting[job] = [key]
            self._jobs.put(job)
            self._start()

    @property
    def busy(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._waiting or self._repeats)

    def answers(self, wait: bool) -> list[Answer[V]]:
        """The answers that have arrived; with ``wait``, at least one if the lane is busy."""
        found, self._repeats = self._repeats, []
        while self._waiting:
            try:
                job, value = self._done.get(timeout=None if wait and not found else 0)
            except queue.Empty:
                break
            self._known[job] = value
            found.extend(Answer(key, value) for key in self._waiting.pop(job))
        return found

    def stop(self) -> None:
        """Take no more jobs and give up those not yet done. Does not wait."""
        self._stopped.set()
        self._jobs.put(None)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        batch: list[J] = []
        try:
            with self._open_pool() as pool:
                while batch := self._next_batch():
                    self._do(pool, batch)
        except HarnessError as error:
            self._fail(batch, error)
        except Exception as error:
            # A thread's exception would be lost and its caller would wait for ever.
            self._fail(batch, WorkerDied("a worker pool failed", got=f"{error!r}"))

    def _do(self, pool: Pool[J, V], batch: list[J]) -> None:
        left = list(batch)
        for index, value in pool.each(tuple(batch)):
            self._done.put((left[index], value))
            batch.remove(left[index])
            if self._stopped.is_set():
                return

    def _next_batch(self) -> list[J]:
        """Everything that waits now, at least one job; nothing once stopped."""
        batch: list[J] = []
        while not self._stopped.is_set():
            try:
                job = self._jobs.get(timeout=0 if batch else None)
            except queue.Empty:
                break
            if job is None:
                return []
            batch.append(job)
        return [] if self._stopped.is_set() else batch

    def _fail(self, batch: list[J], error: HarnessError) -> None:
        """Answer what was taken, and everything still to come, with ``error``."""
        for job in batch:
            self._done.put((job, error))
        while not self._stopped.is_set():
            job = self._jobs.get()
            if job is None:
                return
            self._done.put((job, error))
