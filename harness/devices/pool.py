"""The engine: jobs go to worker processes, one for each device, that may hang, crash or lose
their device without costing anything but the job they had.

A worker that is lost is replaced; its job is answered with ``WorkerDied`` and the others go on.
A worker takes its device before its first job; a device that cannot be taken is tried again, and
then its jobs are answered with ``NoDevice``, unless another device can do them.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait as ready
from pathlib import Path
from typing import Any, ClassVar

from harness.devices.job import Closing, Device, Job
from harness.devices.process import START_SECONDS, Process
from harness.errors import HarnessError, NoDevice, WorkerDied, reason

Answer = tuple[int, Any]
"""A job's index and its answer, which is a ``HarnessError`` where it failed."""

_TRIES = 3
"""How often a worker is started, or a device taken, before that is given up."""
_PAUSE_SECONDS = 2.0
"""Between tries to take a device: a process that is gone gives it back with a delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Idle(Job):
    handler: ClassVar[str] = "harness.devices.process:idle"


@dataclass(eq=False, slots=True)
class _Place:
    """A device and its worker. ``spares`` are processes that have been started and have not touched
    the device; ``facts`` is the first answer to the device's opening."""

    device: Device
    worker: Process | None = None
    spares: list[Process] = field(default_factory=list)
    facts: Any = None
    tries: int = 0
    paused_until: float = 0.0
    gone: HarnessError | None = None

    @property
    def processes(self) -> list[Process]:
        return [*([self.worker] if self.worker else []), *self.spares]

    def drop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.end()
            self.worker = None


@dataclass(eq=False, slots=True)
class _Batch:
    """Jobs in hand. ``resent`` are those whose worker had ended before it could read them."""

    jobs: Sequence[Job]
    waiting: list[int]
    resent: set[int] = field(default_factory=set)
    unchecked: bool = True

    def fits(self, index: int, place: _Place) -> bool:
        """Whether a job may be done at ``place``."""
        return self.jobs[index].place in (None, place.device.name)


class Pool(Closing):
    """A worker process for each of ``devices``; ``seconds`` is the limit for one job that sets
    none, ``cache`` the folder that workers may keep things in. Workers start with the first job.

    ``started`` are workers of the first devices that have been started already. Use it as a context
    manager, or call ``close``. One thread uses it at a time; others wait. In a fork of its process
    it starts workers of its own: pipes belong to the process that made them."""

    def __init__(
        self,
        devices: Sequence[Device],
        seconds: float,
        cache: Path | None = None,
        started: Sequence[Process] = (),
    ) -> None:
        self.seconds = seconds
        self.cache = cache
        self._places = [_Place(device) for device in devices]
        for place, process in zip(self._places, started, strict=False):
            place.worker = process
        # Held from one answer to the next alone: whichever thread collects an iteration that was
        # left may end its list.
        self._lock = threading.Condition()
        self._closed = False
        self._serving: int | None = None
        self._owner = os.getpid()

    @property
    def workers(self) -> int:
        """How many jobs are done at a time."""
        return len(self._places)

    def start(self) -> None:
        """Start the workers without waiting for them; the first job would do it as well."""
        with self._claimed():
            for place in self._places:
                self._require_worker(place)

    def close(self) -> None:
        """End every worker, and what a thread waits for with them. The pool cannot be used
        afterwards."""
        self._closed = True
        self._require_own()
        self.interrupt()
        with self._lock:
            for place in self._places:
                for process in place.processes:
                    process.end()
                place.worker, place.spares = None, []
            self._lock.notify_all()

    def open(self) -> list[Any]:
        """What the devices' opening jobs answered first, in the order of the devices; those that
        cannot be taken are left out. Raises ``NoDevice`` if none can."""
        jobs = [_Idle(place=place.device.name) for place in self._places]
        failed = [e for e in self.all(jobs) if isinstance(e, HarnessError)]
        if len(failed) == len(self._places):
            raise failed[0]
        return [place.facts for place in self._places if place.gone is None]

    @property
    def found(self) -> list[Any]:
        """What those devices that have been taken answered first."""
        return [place.facts for place in self._places if place.facts is not None]

    def interrupt(self) -> None:
        """From another thread than the one that waits for answers: the jobs in hand are lost."""
        for place in self._places:
            for process in place.processes:
                process.kill()

    def spare(self, restarts: int = 1) -> None:
        """Start the processes that so many times ``restart`` goes on in, without waiting for them.
        They do their imports meanwhile and leave the devices alone."""
        with self._claimed():
            for place in self._places:
                with contextlib.suppress(NoDevice):  # said when it is needed
                    while len(place.spares) < restarts:
                        place.spares.append(Process.started(place.device, self.cache))

    def restart(self) -> None:
        """Go on in fresh processes."""
        with self._claimed():
            for place in self._places:
                place.drop()
                place.worker = place.spares.pop(0) if place.spares else None

    def run(self, job: Job) -> Any:
        """One job's answer; raises what the job failed with."""
        ((_, answer),) = self.each([job])
        if isinstance(answer, HarnessError):
            raise answer
        return answer

    def all(self, jobs: Sequence[Job]) -> list[Any]:
        """Every job's answer in order; a failed job's answer is its ``HarnessError``."""
        return [answer for _, answer in sorted(self.each(jobs), key=lambda found: found[0])]

    def each(self, jobs: Sequence[Job]) -> Iterator[Answer]:
        """(index, answer) of every job as they finish; a failed job's answer is its
        ``HarnessError``. Jobs still running when the iteration is left are abandoned."""
        with self._claimed():
            for place in self._places:
                place.gone, place.tries = None, 0
            batch = _Batch(jobs, list(range(len(jobs))))
            left = len(jobs)
            while left:
                with self._lock:
                    self._require_open()
                    found = self._impossible(batch) or self._hand_out(batch) or self._collect(batch)
                for answer in found:
                    left -= 1
                    yield answer

    @contextlib.contextmanager
    def _claimed(self) -> Iterator[None]:
        """Have no other thread begin anything meanwhile, except to close."""
        self._require_own()
        with self._lock:
            if self._serving == threading.get_ident():
                raise HarnessError("the worker pool is in the middle of a list of jobs")
            self._lock.wait_for(lambda: self._closed or self._serving is None)
            self._require_open()
            self._serving = threading.get_ident()
        try:
            yield
        finally:
            with self._lock:
                self._serving = None
                # The answers of workers that still have a job belong to nobody.
                for place in self._places:
                    if place.worker is not None and place.worker.busy:
                        place.drop()
                self._lock.notify()

    def _require_open(self) -> None:
        if self._closed:
            raise HarnessError("the worker pool is closed")

    def _require_own(self) -> None:
        """In a fork of the process that started them, the workers are somebody else's."""
        if self._owner == os.getpid():
            return
        for place in self._places:
            for process in place.processes:
                process.forget()
            place.worker, place.spares = None, []
        self._lock = threading.Condition()
        self._serving = None
        self._owner = os.getpid()

    def _require_worker(self, place: _Place) -> Process:
        if place.worker is None:
            place.worker = Process.started(place.device, self.cache)
        return place.worker

    def _impossible(self, batch: _Batch) -> list[Answer]:
        """Answers for jobs that no device is left for: why the first that could do them is gone."""
        if not batch.unchecked:
            return []
        batch.unchecked = False
        gone = {i: [p.gone for p in self._places if batch.fits(i, p)] for i in batch.waiting}
        hopeless = {index: errors[0] for index, errors in gone.items() if all(errors)}
        batch.waiting = [index for index in batch.waiting if index not in hopeless]
        return list(hopeless.items())

    def _hand_out(self, batch: _Batch) -> list[Answer]:
        """Give every idle worker a job, and start as many more as there is work for. Answers the
        jobs that cannot be sent at all."""
        failures: list[Answer] = []
        claimed: set[int] = set()
        now = time.monotonic()
        for place in sorted(self._places, key=lambda p: p.worker is None or not p.worker.ready):
            busy = place.worker is not None and place.worker.busy
            if busy or place.gone is not None or now < place.paused_until:
                continue
            fitting = (i for i in batch.waiting if i not in claimed and batch.fits(i, place))
            index = next(fitting, None)
            if index is None:
                continue
            claimed.add(index)
            try:
                worker = self._require_worker(place)
            except NoDevice as error:
                self._not_opened(batch, place, error)
                continue
            if not worker.ready:
                continue
            opening = place.device.opening
            if opening is not None and not worker.opened:
                worker.opening = True
                failures += self._sent(batch, place, replace(opening, known=place.facts), None)
                continue
            batch.waiting.remove(index)
            worker.job = index
            failures.extend(self._sent(batch, place, batch.jobs[index], index))
        return failures

    def _sent(self, batch: _Batch, place: _Place, job: Job, index: int | None) -> list[Answer]:
        """Send a job; its answer if it cannot be sent."""
        worker = self._require_worker(place)
        try:
            worker.send(job, self._limit(batch, place))
        except OSError:
            return self._ended(batch, place)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            worker.job, worker.opening = None, False
            failure = HarnessError("a job cannot be sent", got=reason(error))
            if index is None:
                raise failure from error
            return [(index, failure)]
        return []

    def _collect(self, batch: _Batch) -> list[Answer]:
        """Wait for something to happen; the answers that have arrived."""
        active = [p for p in self._places if (w := p.worker) and (w.busy or not w.ready)]
        now = time.monotonic()
        moments = [p.worker.deadline for p in active if p.worker is not None]
        moments += [p.paused_until for p in self._places if p.paused_until > now]
        wait = max(0.0, min(moments, default=now) - now)
        answering: dict[Any, _Place] = {p.worker.answers: p for p in active if p.worker is not None}
        spoke = [answering[each] for each in ready(answering, wait)]
        answers = [answer for place in spoke for answer in self._hear(batch, place)]
        now = time.monotonic()
        for place in active:
            worker = place.worker
            if place not in spoke and worker is not None and now >= worker.deadline:
                limit = self._limit(batch, place)
                answers.extend(self._lost(batch, place, f"no answer within {limit:g} s"))
        return answers

    def _limit(self, batch: _Batch, place: _Place) -> float:
        """Seconds for what the worker has to do. Taking a device belongs to starting."""
        index = None if place.worker is None else place.worker.job
        job = place.device.opening if index is None else batch.jobs[index]
        if job is not None and job.seconds is not None:
            return job.seconds
        return START_SECONDS if index is None else self.seconds

    def _hear(self, batch: _Batch, place: _Place) -> list[Answer]:
        worker = self._require_worker(place)
        try:
            kind, value = worker.receive()
        except EOFError:
            if worker.job is not None and not worker.begun:
                return self._ended(batch, place)
            return self._lost(batch, place, "its process ended")
        except Exception as error:  # noqa: BLE001 - an answer that cannot be read is no answer
            return self._lost(batch, place, f"its answer: {reason(error)}")
        return self._told(batch, place, kind, value)

    def _told(self, batch: _Batch, place: _Place, kind: str, value: Any) -> list[Answer]:
        """What follows from one message of a worker."""
        worker = self._require_worker(place)
        if kind == "step":
            worker.begun, worker.step = True, value
            return []
        if kind == "ready":
            worker.ready = True
            return []
        if kind == "broken":
            place.drop()
            raise WorkerDied(
                "a worker process could not start",
                where=place.device.name,
                got=value.got,
                expected="a process that can import torch and triton",
                remedy="run `harness doctor`",
            )
        if worker.opening:
            worker.opening = False
            if kind == "done":
                worker.opened = True
                place.tries = 0
                place.facts = value if place.facts is None else place.facts
            else:
                self._not_opened(batch, place, value)
            return []
        index, worker.job = worker.job, None
        if isinstance(value, HarnessError):
            value.step = worker.step
        if kind == "last":
            place.drop()
        return [] if index is None else [(index, value)]

    def _not_opened(self, batch: _Batch, place: _Place, error: HarnessError) -> None:
        """The device is gone; if it has been taken before, only once fresh processes have tried
        again for a while."""
        place.drop()
        place.tries += 1
        if place.facts is not None and place.tries < _TRIES:
            place.paused_until = time.monotonic() + _PAUSE_SECONDS
            return
        place.gone = error
        if not isinstance(error, NoDevice):
            got = f"{error.what}: {error.got}" if error.got else error.what
            place.gone = NoDevice("a device cannot be taken", where=place.device.name, got=got)
        batch.unchecked = True

    def _ended(self, batch: _Batch, place: _Place) -> list[Answer]:
        """A worker had ended before it began its job. The first time that costs nothing: another
        gets the job."""
        index = self._require_worker(place).job
        if index is None or index in batch.resent:
            return self._lost(batch, place, "it ended before it began its job")
        batch.resent.add(index)
        batch.waiting.insert(0, index)
        place.drop()
        return []

    def _lost(self, batch: _Batch, place: _Place, why: str) -> list[Answer]:
        """Drop a worker (the next hand-out starts another) and answer its job."""
        worker = self._require_worker(place)
        tail = worker.log_tail()
        index = worker.job
        place.drop()
        code = worker.process.returncode
        job = "" if index is None else f": {type(batch.jobs[index]).__name__}"
        error = WorkerDied(
            f"a worker process was lost: {why}",
            where=f"{place.device.name}{job}",
            got=f"exit status {code}" + (f"; {tail}" if tail else ""),
            expected="an answer",
            remedy="the other jobs go on; run this one alone to see why",
            step=worker.step,
        )
        if index is not None:
            return [(index, error)]
        if worker.opening:
            self._not_opened(batch, place, error)
        elif not worker.ready:
            place.tries += 1
            if place.tries >= _TRIES:
                raise error
        return []
