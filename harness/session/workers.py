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
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from harness import options
from harness.errors import HarnessError, NoDevice, UsageError
from harness.measure.jobs import DeviceFacts, Effort, Follow
from harness.measure.pairs import KernelPair, PairResults
from harness.measure.timer.state import Reading
from harness.records.run import one_line
from harness.session.entries import Entry
from harness.session.model import Event

if TYPE_CHECKING:
    from harness.session.spread import Place

START_SECONDS = 60.0
"""What a scheduler may take to answer."""
_LOOK_SECONDS = 0.2
_ASK_SECONDS = 2.0
"""Between looks at what has come, and whether a silent worker is still there."""
_HELD = "harness_place"
"""The attribute of a worker that holds its GPU between tasks."""

Open: TypeAlias = "Callable[[float], Place]"
"""Takes the GPU that a worker has; runs there, is given the limit for one kernel."""


def open_board(kernel_seconds: float) -> Place:
    """The current GPU of the process that this runs in."""
    from harness.measure.jobs import gpu
    from harness.session.cuda import CudaDevice
    from harness.session.queues import new_session
    from harness.session.session import Session
    from harness.session.spread import BoardHere

    found = options.current()

    def session(device: CudaDevice, entries: Sequence[Entry]) -> Session:
        return new_session(found, found.jobs, entries, device.target, device)

    device = CudaDevice(found.cache, found.jobs, kernel_seconds)
    return BoardHere(device, gpu(), session, found.cache, found.jobs)


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
class RemoteBoard:
    """The GPU of the worker called ``worker``."""

    client: Any
    worker: str
    facts: DeviceFacts
    open_place: Open
    kernel_seconds: float
    readings: list[Reading] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> str:
        """The board's identifier."""
        return self.facts.machine.gpu_uuid or self.worker

    def events(self, entries: Sequence[Entry], processes: int) -> Iterator[Event]:
        """Examine ``entries`` there. Raises ``NoDevice`` when the worker is lost."""
        answer = yield from self._told(_examine, entries, processes)
        self.readings.extend(answer)

    def pairs(self, pairs: Sequence[KernelPair], effort: Effort, follow: Follow) -> PairResults:
        """Time ``pairs`` there. Raises ``NoDevice`` when the worker is lost."""
        told = self._told(_time_pairs, pairs, effort)
        while True:
            try:
                follow(*next(told))
            except StopIteration as end:
                found: PairResults = end.value
                return found

    def interrupt(self) -> None:
        """Listen no more; the worker ends what it has in hand by itself."""
        self._stopped.set()

    def close(self) -> None:
        """Have the worker give its GPU back, if it can still be reached."""
        self.interrupt()
        with contextlib.suppress(Exception):
            self.client.submit(_release, workers=[self.worker], pure=False).result(timeout=5.0)

    def _told(self, work: Callable[..., Any], *given: Any) -> Generator[Any, None, Any]:
        """What ``work`` tells meanwhile, then what it answers."""
        topic = f"harness-{uuid.uuid4().hex}"
        heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.client.subscribe_topic(topic, lambda event: heard.put(pickle.loads(event[1])))  # noqa: S301
        asked = (self.open_place, self.kernel_seconds, topic, pickle.dumps(given))
        future = self.client.submit(work, *asked, workers=[self.worker], pure=False)
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
                yield message
            total, answer = _answer(future, self.worker, 1.0)
            for _ in range(total - told):  # the answer has overtaken them
                yield heard.get(timeout=START_SECONDS)
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


def _examine(
    open_place: Open, kernel_seconds: float, topic: str, given: bytes
) -> tuple[int, list[Reading]]:
    """How many events there were, and the GPU's state."""
    from distributed import get_worker

    place = _held(open_place, kernel_seconds)
    entries, processes = pickle.loads(given)  # noqa: S301 - from this package at the other end
    before, told = len(place.readings), 0
    try:
        for event in place.events(entries, processes):
            get_worker().log_event(topic, pickle.dumps(event))
            told += 1
    except NoDevice:
        _release()
        raise
    return told, list(place.readings)[before:]


def _time_pairs(
    open_place: Open, kernel_seconds: float, topic: str, given: bytes
) -> tuple[int, PairResults]:
    """How often it was said how far they are, and what was measured."""
    from distributed import get_worker

    worker, told = get_worker(), 0

    def follow(done: int, total: int) -> None:
        nonlocal told
        worker.log_event(topic, pickle.dumps((done, total)))
        told += 1

    pairs, effort = pickle.loads(given)  # noqa: S301 - from this package at the other end
    found = _held(open_place, kernel_seconds).pairs(pairs, effort, follow)
    return told, found
