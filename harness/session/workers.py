"""GPUs of other machines: one worker of dask.distributed on each, addressed by its name.

A worker checks and times what it is sent, in processes of its own; what it finds comes back event
by event. It needs this package and writes nothing but its cache. A worker that is gone, cut off or
silent for too long is a lost GPU: others get its graphs.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness import options
from harness.errors import HarnessError, NoDevice, UsageError
from harness.measure.jobs import DeviceFacts
from harness.records.run import one_line
from harness.session.spread import Board, Examine, Place, Tell, TimePairs

START_SECONDS = 60.0
"""What a scheduler may take to answer."""
_LOOK_SECONDS = 0.2
_ASK_SECONDS = 2.0
"""Between looks at what has come, and whether a silent worker is still there."""
_HELD = "harness_place"
"""The attribute of a worker that holds its GPU between tasks."""

Open: TypeAlias = Callable[[float], Place]
"""Takes the GPU that a worker has; runs there, is given the limit for one kernel."""


def open_board(kernel_seconds: float) -> Place:
    """The current GPU of the process that this runs in."""
    found = options.current()
    return Board.taken(found, found.jobs, kernel_seconds)


@contextlib.contextmanager
def remote_boards(
    address: str, kernel_seconds: float, open_place: Open = open_board
) -> Iterator[list[Place]]:
    """The GPUs of the workers of the scheduler at ``address``, by name. Raises ``UsageError`` where
    nobody answers or distributed is not installed, ``NoDevice`` where no worker has a GPU."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(
            "work is spread over machines by dask.distributed, which is not installed",
            where="--workers",
            remedy="pip install 'harness[workers]', here and where the workers run",
        )
    from distributed import Client

    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=START_SECONDS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise UsageError(
            "no scheduler answers",
            where="--workers",
            got=f"{address}: {error}",
            expected="the address of a running `dask scheduler`, tcp://HOST:8786",
        ) from error
    with contextlib.closing(client), contextlib.ExitStack() as stack:
        opening = {
            name: client.submit(_facts, open_place, kernel_seconds, workers=[name], pure=False)
            for name in sorted(_names(client))
        }
        found: list[Place] = []
        reasons = []
        for name, future in opening.items():
            try:
                facts = _answer(future, name, START_SECONDS * 5)
                board = RemoteBoard(client, name, facts, open_place, kernel_seconds)
                found.append(stack.enter_context(contextlib.closing(board)))
            except HarnessError as error:
                reasons.append(f"{name}: {one_line(error)}")
        if not found:
            raise NoDevice(
                "no worker has a GPU that can be used",
                where=address,
                got="; ".join(reasons) or "no workers",
                expected="a `dask worker --nthreads 1` on each GPU, with this package",
            )
        yield found


@dataclass(eq=False, slots=True)
class RemoteBoard(Place):
    """The GPU of the worker called ``worker``."""

    client: Any
    worker: str
    facts: DeviceFacts
    open_place: Open
    kernel_seconds: float
    name: str = field(init=False)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.name = self.facts.machine.gpu_uuid or self.worker

    def interrupt(self) -> None:
        """Listen no more; the worker ends what it has in hand by itself."""
        self._stopped.set()

    def close(self) -> None:
        """Have the worker give its GPU back, if it can still be reached."""
        self.interrupt()
        with contextlib.suppress(Exception):
            self.client.submit(_release, workers=[self.worker], pure=False).result(timeout=5.0)

    def do(self, work: Examine | TimePairs, tell: Tell) -> Any:
        """What ``work`` answers, done there. Raises ``NoDevice`` when the worker is lost."""
        topic = f"harness-{uuid.uuid4().hex}"
        heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.client.subscribe_topic(topic, lambda event: heard.put(pickle.loads(event[1])))  # noqa: S301
        asked = (self.open_place, self.kernel_seconds, topic, pickle.dumps(work))
        future = self.client.submit(_do, *asked, workers=[self.worker], pure=False)
        told, last, looked = 0, time.monotonic(), time.monotonic()
        try:
            while not future.done() or not heard.empty():
                try:
                    message = heard.get(timeout=_LOOK_SECONDS)
                except queue.Empty:
                    if time.monotonic() - looked > _ASK_SECONDS:
                        self._require_there(time.monotonic() - last)
                        looked = time.monotonic()
                    continue
                told, last = told + 1, time.monotonic()
                tell(message)
            total, answer = _answer(future, self.worker, 1.0)
            for _ in range(total - told):  # the answer has overtaken them
                tell(heard.get(timeout=START_SECONDS))
            return answer
        finally:
            future.cancel()
            self.client.unsubscribe_topic(topic)

    def _require_there(self, silent: float) -> None:
        limit = 2 * self.kernel_seconds + START_SECONDS  # a check and a timing, in a fresh process
        if self._stopped.is_set() or silent > limit or self.worker not in _names(self.client):
            raise _lost(self.worker, f"silent for {silent:.0f} s" if silent > limit else "gone")


def _names(client: Any) -> list[str]:
    """The workers that the scheduler has, by name."""

    def names(dask_scheduler: Any) -> list[str]:
        return [str(state.name) for state in dask_scheduler.workers.values()]

    found: list[str] = client.run_on_scheduler(names)
    return found


def _answer(future: Any, worker: str, seconds: float) -> Any:
    """What a task answers; ``NoDevice`` where its worker is lost, else what it raised."""
    try:
        return future.result(timeout=seconds)
    except HarnessError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        raise _lost(worker, f"{type(error).__name__}: {error}") from error


def _lost(worker: str, why: str) -> NoDevice:
    return NoDevice("a worker was lost", where=worker, got=why, expected="an answer")


# What follows runs in a worker.


def _held(open_place: Open, kernel_seconds: float) -> Place:
    """The worker's GPU, taken by its first task."""
    from distributed import get_worker

    worker = get_worker()
    if not hasattr(worker, _HELD):
        setattr(worker, _HELD, open_place(kernel_seconds))
    found: Place = getattr(worker, _HELD)
    return found


def _release() -> None:
    from distributed import get_worker

    worker = get_worker()
    if hasattr(worker, _HELD):
        getattr(worker, _HELD).close()
        delattr(worker, _HELD)


def _facts(open_place: Open, kernel_seconds: float) -> DeviceFacts:
    return _held(open_place, kernel_seconds).facts


def _do(open_place: Open, kernel_seconds: float, topic: str, work: bytes) -> tuple[int, Any]:
    """How often something was told, and what the work answers."""
    from distributed import get_worker

    worker, told = get_worker(), 0

    def tell(said: Any) -> None:
        nonlocal told
        worker.log_event(topic, pickle.dumps(said))
        told += 1

    try:
        # pickled by this package at the other end
        answer = _held(open_place, kernel_seconds).do(pickle.loads(work), tell)  # noqa: S301
    except NoDevice:
        _release()
        raise
    return told, answer
