"""A queue: jobs go in at any time, answers come out as they come, a pool works in between. The pool
is used by the queue's own thread alone. Equal jobs are done once. Stopping a queue does not wait:
its thread ends after the answer it is waiting for, and the pool's processes end with it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from harness.errors import HarnessError, WorkerDied

J = TypeVar("J")
"""A job; hashable, equal jobs have equal answers."""
P = TypeVar("P")
"""A pool."""

Key = tuple[str, int]
"""What an answer belongs to: a graph's name and a kernel's position."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the queue called ``queue``; ``value`` is that job's ``HarnessError`` if it
    failed."""

    queue: str
    key: Key
    value: Any


Inbox: TypeAlias = "queue.SimpleQueue[Answer]"
"""Where the answers of several queues meet."""


@dataclass(eq=False)
class Queue(Generic[J, P]):
    """``open_pool`` opens the pool when the first job arrives, in the queue's thread; ``each``
    does jobs with it, as ``Pool.each`` does. Answers go to ``inbox``."""

    name: str
    inbox: Inbox
    open_pool: Callable[[], AbstractContextManager[P]]
    each: Callable[[P, Sequence[J]], Iterator[tuple[int, Any]]]
    _jobs: queue.SimpleQueue[tuple[J] | None] = field(default_factory=queue.SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: dict[J, list[Key]] = field(default_factory=dict)
    _known: dict[J, Any] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    def put(self, key: Key, job: J) -> None:
        """Have ``job`` done for ``key``."""
        with self._lock:
            if job in self._known:
                self.inbox.put(Answer(self.name, key, self._known[job]))
            elif job in self._waiting:
                self._waiting[job].append(key)
            else:
                self._waiting[job] = [key]
                self._jobs.put((job,))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Take no more jobs and give up those not yet done. Does not wait."""
        self._stopped.set()
        self._jobs.put(None)

    def _work(self) -> None:
        try:
            with self.open_pool() as pool:
                while batch := self._next_batch():
                    for index, value in self.each(pool, batch):
                        self._answer(batch[index], value)
                        if self._stopped.is_set():
                            return
                return
        except HarnessError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - else the thread dies and its caller waits for ever
            failure = WorkerDied("a worker pool failed", self.name, got=f"{error!r}")
        while not self._stopped.is_set():  # what waits, and what is still to come
            with self._lock:
                waiting = list(self._waiting)
            for job in waiting:
                self._answer(job, failure)
            self._jobs.get()

    def _answer(self, job: J, value: Any) -> None:
        with self._lock:
            self._known[job] = value
            keys = self._waiting.pop(job, [])
        for key in keys:
            self.inbox.put(Answer(self.name, key, value))

    def _next_batch(self) -> list[J]:
        """Everything that waits now, at least one job; nothing once stopped."""
        batch: list[J] = []
        while not self._stopped.is_set():
            try:
                item = self._jobs.get(block=not batch)
            except queue.Empty:
                return batch
            if item is not None:
                batch.append(item[0])
        return []
