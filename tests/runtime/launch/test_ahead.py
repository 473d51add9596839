"""A kernel is compiled once: by a worker, or by the launch that takes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.devices.job import Closing
from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.runtime.compile.static import CompileJob
from harness.runtime.launch.selecting import Ahead, SelectedKernels
from harness.target import H100
from tests.runtime import emitted

JOBS = [CompileJob(f"kernel {n}", H100, Config((), 1)) for n in range(6)]


class Workers:
    """All that there are. They end jobs when they are told to, or are lost."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.changed = threading.Condition()
        self.ended = 0
        self.lost: Exception | None = None

    def tell(self, ended: int = 0, lost: Exception | None = None) -> None:
        with self.changed:
            self.ended, self.lost = ended, lost
            self.changed.notify_all()

    def wait_for(self, began: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: len(self.began) >= began)


class Pool(Closing):
    """One of them."""

    all: Workers

    def __init__(self, _workers: int, _cache: Path) -> None: ...

    def close(self) -> None: ...

    def each(self, jobs: list[CompileJob]) -> list[tuple[int, None]]:
        (job,) = jobs
        with self.all.changed:
            self.all.began.append(job.module_text)
            number = len(self.all.began)
            self.all.changed.notify_all()
            self.all.changed.wait_for(lambda: self.all.ended >= number or self.all.lost is not None)
        if self.all.lost:
            raise self.all.lost
        return [(0, None)]


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    made = Workers()
    monkeypatch.setattr(Pool, "all", made, raising=False)
    monkeypatch.setattr("harness.runtime.launch.selecting.CompilePool", Pool)
    return made


@pytest.fixture
def ahead(workers: Workers, tmp_path: Path) -> Iterator[Ahead]:
    made = Ahead(tmp_path, 1)
    made.begin(JOBS)
    workers.wait_for(1)
    yield made
    workers.tell(99)
    made.close()


def compiled(ahead: Ahead) -> None:
    """Wait until everything is, that can be."""
    with ahead._changed:
        ahead._changed.wait_for(
            lambda: not ahead._begun and not (ahead._waiting and ahead._workers)
        )


def taken(ahead: Ahead, text: str) -> threading.Thread:
    thread = threading.Thread(target=ahead.take, args=(text,), daemon=True)
    thread.start()
    return thread


def test_no_worker_begins_what_a_launch_has_taken(ahead: Ahead, workers: Workers) -> None:
    for number in (4, 1):
        ahead.take(f"kernel {number}")
    workers.tell(6)
    compiled(ahead)
    assert workers.began == [f"kernel {number}" for number in (0, 2, 3, 5)]


def test_a_launch_waits_for_the_worker_that_compiles_its_kernel(
    ahead: Ahead, workers: Workers
) -> None:
    launch = taken(ahead, "kernel 0")
    ahead.take("kernel 1")  # which nobody has begun
    assert launch.is_alive()
    workers.tell(1)
    launch.join()
    ahead.take("kernel 0")  # again: for other sizes


@pytest.mark.parametrize("error", [HarnessError("no workers"), OSError("too many open files")])
def test_a_launch_goes_on_when_workers_are_lost(
    ahead: Ahead, workers: Workers, error: Exception
) -> None:
    """Whatever a worker's start raises: a launch waited for ever where the system refused it."""
    launch = taken(ahead, "kernel 0")
    workers.tell(lost=error)
    launch.join()
    ahead.take("kernel 5")
    compiled(ahead)


def test_a_fork_waits_for_no_worker(ahead: Ahead) -> None:
    if (child := os.fork()) == 0:
        ahead.take("kernel 0")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_graph_waits_for_no_end_of_an_earlier_one(workers: Workers, tmp_path: Path) -> None:
    """Its kernels have workers of their own, while those of the earlier graph are at work."""
    ahead = Ahead(tmp_path, 5)
    ahead.begin(JOBS[:4])
    workers.wait_for(2)
    more = [CompileJob(f"backward {n}", H100, Config((), 1)) for n in range(6)]
    ahead.begin(more)
    workers.wait_for(4)
    assert len(ahead._workers) == 4  # one for each two that wait
    assert workers.began == [f"kernel {number}" for number in range(4)]  # which run first
    workers.tell(99)
    compiled(ahead)
    ahead.begin(more * 4)
    assert len(ahead._workers) == 5
    ahead.close()


def test_what_takes_long_to_compile_is_begun_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[CompileJob] = []
    monkeypatch.setattr(Ahead, "begin", lambda _, jobs: seen.extend(jobs))
    texts = [emitted.POINTWISE, emitted.SPILLING, emitted.ROW_SUM]
    SelectedKernels(H100, cache=tmp_path, jobs=2).prefetch(texts)
    assert [job.module_text for job in seen] == [texts[1], texts[2], texts[0]]


def test_workers_that_have_started_compile_few_kernels_too(
    workers: Workers, tmp_path: Path
) -> None:
    ahead = Ahead(tmp_path, 2)
    workers.tell(99)
    ahead.begin(JOBS[:1])
    assert not ahead._workers
    ahead.begin(JOBS[2:])
    ahead.begin(JOBS[:1])
    compiled(ahead)
    ahead.close()
    assert sorted(workers.began) == [f"kernel {number}" for number in (0, 2, 3, 4, 5)]


def test_nothing_is_begun_once_it_is_closed(ahead: Ahead, workers: Workers) -> None:
    closing = threading.Thread(target=ahead.close)
    closing.start()
    while not ahead._closed:
        pass
    workers.tell(6)
    closing.join()
    assert workers.began == ["kernel 0"]
