"""A pool of persistent worker processes with a time limit for each job.

A worker that dies or hangs is replaced; the job it had is answered with ``WorkerDied``
and the others go on. Workers run in sessions of their own, so that Ctrl-C reaches only
the parent, which ends them; they also end by themselves when the parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import harness
from harness.devices.closing import Closing
from harness.devices.worker import read_message, write_message
from harness.errors import HarnessError, WorkerDied

Job = tuple[str, object]
"""The job's kind and its argument (picklable)."""

_START_SECONDS = 120.0
_LOG_CHARACTERS = 1500


@dataclass(eq=False, slots=True)
class _Worker:
    """One process. ``job`` is the index of the job it has, None when idle."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]
    deadline: float
    ready: bool = False
    job: int | None = None

    def send(self, job: Job) -> None:
        assert self.process.stdin is not None
        write_message(self.process.stdin, job)  # type: ignore[arg-type]

    def receive(self) -> tuple[str, Any]:
        assert self.process.stdout is not None
        kind, value = read_message(self.process.stdout)  # type: ignore[arg-type]
        return str(kind), value

    def log_tail(self) -> str:
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - _LOG_CHARACTERS))
        return self.log.read().decode(errors="replace").strip()

    def end(self) -> None:
        """Kill the process and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@dataclass(eq=False, slots=True)
class WorkerPool(Closing):
    """Workers of one role: ``interpret``, ``compile``, or ``module:function`` that makes the
    handlers of its jobs from the cache folder.

    ``environment`` is added to the workers' environment; ``cache`` is the folder they may
    keep things in; ``seconds`` is the limit for one job. Use it as a context manager, or
    call ``close``. One thread uses it at a time; others wait.
    """

    role: str
    workers: int
    seconds: float
    cache: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    _workers: list[_Worker] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _closed: bool = False
    _serving: bool = False

    def start(self) -> None:
        """Start the workers without waiting for them; the first job would do it as well."""
        with self._lock:
            while len(self._workers) < self.workers:
                self._workers.append(self._started())

    def close(self) -> None:
        """End every worker. The pool cannot be used afterwards."""
        self._closed = True
        with self._lock:
            for worker in self._workers:
                worker.end()
            self._workers.clear()

    def run(self, kind: str, payload: object) -> Any:
        """One job's answer; raises what the job failed with."""
        for _, answer in self.each([(kind, payload)]):
            if isinstance(answer, HarnessError):
                raise answer
            return answer
        raise WorkerDied("a job was not answered", where=kind)

    def all(self, jobs: Sequence[Job]) -> list[Any]:
        """Every job's answer in order; a failed job's answer is its ``HarnessError``."""
        answers: list[Any] = [None] * len(jobs)
        for index, answer in self.each(jobs):
            answers[index] = answer
        return answers

    def each(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """(index, answer) of every job as they finish; a failed job's answer is its
        ``HarnessError``. Jobs still running when the iteration is left are abandoned."""
        with self._lock:
            if self._closed:
                raise HarnessError("the worker pool is closed", where=self.role)
            if self._serving:
                raise HarnessError("the worker pool is in the middle of a list of jobs")
            waiting = list(range(len(jobs)))[::-1]
            left = len(jobs)
            self._serving = True
            try:
                while left:
                    failures = self._hand_out(jobs, waiting)
                    for index, answer in (*failures, *self._collect(jobs)):
                        left -= 1
                        yield index, answer
            finally:
                self._serving = False
                self._abandon()

    def _hand_out(self, jobs: Sequence[Job], waiting: list[int]) -> list[tuple[int, Any]]:
        """Give every idle worker a job. Answers the jobs that cannot be sent at all."""
        failures: list[tuple[int, Any]] = []
        busy = sum(1 for w in self._workers if w.job is not None)
        while len(self._workers) < min(self.workers, busy + len(waiting)):
            self._workers.append(self._started())
        for worker in list(self._workers):
            if not waiting:
                break
            if worker.job is not None or not worker.ready:
                continue
            index = waiting.pop()
            worker.job = index
            worker.deadline = time.monotonic() + self.seconds
            try:
                worker.send(jobs[index])
            except OSError:
                failures.extend(self._lost(worker, jobs, "it ended before its job"))
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                worker.job = None
                text = f"{type(error).__name__}: {error}"
                failures.append((index, HarnessError("a job cannot be sent", got=text)))
        return failures

    def _collect(self, jobs: Sequence[Job]) -> list[tuple[int, Any]]:
        """Wait for something to happen; the answers that have arrived."""
        active = [w for w in self._workers if w.job is not None or not w.ready]
        if not active:
            return []
        answers: list[tuple[int, Any]] = []
        wait = max(0.0, min(w.deadline for w in active) - time.monotonic())
        with selectors.DefaultSelector() as selector:
            for worker in active:
                assert worker.process.stdout is not None
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            spoke = [key.data for key, _ in selector.select(wait)]
        for worker in spoke:
            answers.extend(self._hear(worker, jobs))
        now = time.monotonic()
        for worker in active:
            if worker not in spoke and worker in self._workers and now >= worker.deadline:
                limit = self.seconds if worker.ready else _START_SECONDS
                answers.extend(self._lost(worker, jobs, f"no answer within {limit:g} s"))
        return answers

    def _hear(self, worker: _Worker, jobs: Sequence[Job]) -> list[tuple[int, Any]]:
        try:
            kind, value = worker.receive()
        except Exception as error:  # noqa: BLE001 - an answer that cannot be read is no answer
            what = "" if isinstance(error, EOFError) else f": {type(error).__name__}: {error}"
            return self._lost(worker, jobs, f"its process ended{what}")
        if kind == "ready":
            worker.ready = True
            return []
        if kind == "broken":
            self._drop(worker)
            raise WorkerDied(
                "a worker process could not start",
                where=self.role,
                got=value.got,
                expected="a process that can import torch and triton",
                remedy="run `harness doctor`",
            )
        index = worker.job
        worker.job = None
        if kind == "last":
            self._drop(worker)
        return [] if index is None else [(index, value)]

    def _lost(self, worker: _Worker, jobs: Sequence[Job], why: str) -> list[tuple[int, Any]]:
        """Drop a worker (the next hand-out starts another) and answer its job."""
        tail = worker.log_tail()
        index = worker.job
        started = worker.ready
        self._drop(worker)
        code = worker.process.returncode
        error = WorkerDied(
            f"a worker process was lost: {why}",
            where=self.role if index is None else f"{self.role}: {jobs[index][0]}",
            got=f"exit status {code}" + (f"; {tail}" if tail else ""),
            expected="an answer",
            remedy="the other jobs go on; run this one alone to see why",
        )
        if index is not None:
            return [(index, error)]
        if not started:
            raise error
        return []

    def _drop(self, worker: _Worker) -> None:
        worker.end()
        if worker in self._workers:
            self._workers.remove(worker)

    def _abandon(self) -> None:
        """End workers that still have a job: their answers belong to nobody."""
        for worker in [w for w in self._workers if w.job is not None]:
            self._drop(worker)

    def _started(self) -> _Worker:
        root = str(Path(harness.__path__[0]).parent)
        cache = None if self.cache is None else str(self.cache)
        call = f"main({self.role!r}, {cache!r}, {dict(self.environment)!r}, {os.getpid()})"
        code = (
            f"import sys; sys.path.insert(0, {root!r})\n"
            f"from harness.devices.worker import main\n{call}"
        )
        log = tempfile.TemporaryFile()  # noqa: SIM115
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        return _Worker(process, log, time.monotonic() + _START_SECONDS)
