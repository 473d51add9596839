"""A kernel is compiled once: by a worker, or by the launch that takes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.runtime.compile.static import CompileJob
from harness.runtime.launch.selecting import Ahead
from harness.target import H100
from tests.runtime import emitted

JOBS = [CompileJob(f"kernel {n}", H100, Config((), 1)) for n in range(6)]


class Pool:
    """Begins jobs when it is told to, and ends them likewise."""

    def __init__(self, _workers: int, _cache: Path) -> None:
        self.began: list[int] = []
        self.changed = threading.Condition()
        self.allowed = self.ended = 0
        self.lost = False

    def widen(self, workers: int) -> None: ...

    def close(self) -> None: ...

    def each(
        self, jobs: Sequence[CompileJob], begin: Callable[[int], bool]
    ) -> Iterator[tuple[int, HarnessError | None]]:
        for index in range(len(jobs)):
            with self.changed:
                self.changed.wait_for(lambda index=index: self.allowed > index or self.lost)
            if begin(index):
                with self.changed:
                    self.began.append(index)
                    self.changed.notify_all()
                    self.changed.wait_for(lambda index=index: self.ended > index or self.lost)
            if self.lost:
                raise HarnessError("no workers")
            yield index, None

    def tell(self, allowed: int = 0, ended: int = 0, lost: bool = False) -> None:
        with self.changed:
            self.allowed, self.ended, self.lost = allowed, ended, lost
            self.changed.notify_all()

    def wait_for(self, began: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: began in self.began)


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Ahead]:
    monkeypatch.setattr("harness.runtime.launch.selecting.CompilePool", Pool)
    made = Ahead(tmp_path, 2)
    made.begin(JOBS)
    yield made
    if made._pool is not None:
        pool_of(made).tell(6, 6)
        made.close()


def pool_of(ahead: Ahead) -> Pool:
    assert isinstance(ahead._pool, Pool)
    return ahead._pool


def taken(ahead: Ahead, text: str) -> threading.Thread:
    thread = threading.Thread(target=ahead.take, args=(text,), daemon=True)
    thread.start()
    return thread


def test_no_worker_begins_what_a_launch_has_taken(ahead: Ahead) -> None:
    for number in (4, 1):
        ahead.take(f"kernel {number}")
    pool_of(ahead).tell(6, 6)
    ahead.wait()
    assert pool_of(ahead).began == [0, 2, 3, 5]


def test_a_launch_waits_for_the_worker_that_compiles_its_kernel(ahead: Ahead) -> None:
    pool = pool_of(ahead)
    pool.tell(1)
    pool.wait_for(0)
    launch = taken(ahead, "kernel 0")
    ahead.take("kernel 1")  # which nobody has begun
    assert launch.is_alive()
    pool.tell(1, 1)
    launch.join()
    ahead.take("kernel 0")  # again: for other sizes


def test_a_launch_goes_on_when_workers_are_lost(ahead: Ahead) -> None:
    pool = pool_of(ahead)
    pool.tell(1)
    pool.wait_for(0)
    launch = taken(ahead, "kernel 0")
    pool.tell(lost=True)
    launch.join()
    ahead.take("kernel 5")


def test_a_fork_waits_for_no_worker(ahead: Ahead) -> None:
    pool_of(ahead).tell(1)
    pool_of(ahead).wait_for(0)
    if (child := os.fork()) == 0:
        ahead.take("kernel 0")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_what_takes_long_to_compile_is_begun_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness.runtime.launch.selecting import SelectedKernels

    seen: list[CompileJob] = []
    monkeypatch.setattr(Ahead, "begin", lambda _, jobs: seen.extend(jobs))
    texts = [emitted.POINTWISE, emitted.SPILLING, emitted.ROW_SUM]
    SelectedKernels(H100, cache=tmp_path, jobs=2).prefetch(texts)
    assert [job.module_text for job in seen] == [texts[1], texts[2], texts[0]]


def test_nothing_is_begun_once_it_is_closed(ahead: Ahead, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, wait = pool_of(ahead), Ahead.wait
    pool.tell(1)
    pool.wait_for(0)

    def end_jobs_and_wait(self: Ahead) -> None:
        pool.tell(6, 6)
        wait(self)

    with monkeypatch.context() as while_closing:
        while_closing.setattr(Ahead, "wait", end_jobs_and_wait)
        ahead.close()
    assert pool.began == [0]
