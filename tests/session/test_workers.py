"""GPUs of other machines, by dask.distributed: workers in this process, with fake boards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness.errors import NoDevice, UsageError
from harness.measure.jobs import Effort
from harness.session import workers
from harness.session.model import BoardLost, GraphDone
from harness.session.spread import time_spread
from harness.session.workers import remote_boards
from tests.session.test_spread import FakePlace, fleet, heard, pairs, records

distributed = pytest.importorskip("distributed", reason="needs harness[workers]")


def fake_board(kernel_seconds: float) -> FakePlace:
    """Named after its worker: ``slow`` ones wait at the worker's ``gate``, ``small`` ones die,
    ``none`` have no GPU, ``other`` ones are of another kind."""
    worker = distributed.get_worker()
    name = str(worker.name)
    if "none" in name:
        raise NoDevice("the GPU cannot be used", got="no device found")
    kind = "other" if "other" in name else "fake-gpu"
    dies = 1 if "small" in name else 10**9
    return FakePlace(f"GPU-{name}", dies, kind, worker.gate if "slow" in name else None)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(workers, "_ASK_SECONDS", 0.2)
    with distributed.LocalCluster(
        n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None
    ) as made:
        made.started = {}
        yield made
        for name in made.started:
            end(made, name)


def start(cluster: Any, *names: str) -> None:
    async def each() -> list[Any]:
        found = [distributed.Worker(cluster.scheduler.address, name=n, nthreads=1) for n in names]
        return [await worker for worker in found]

    cluster.started |= dict(zip(names, cluster.sync(each), strict=True))
    for name in names:
        cluster.started[name].gate = threading.Semaphore(0)


def end(cluster: Any, name: str) -> None:
    """Close a worker, and let what waits at its gate end."""
    cluster.sync(cluster.started[name].close, nanny=False, executor_wait=False)
    cluster.started[name].gate.release(1000)


def test_sixteen_workers_with_losses_and_stragglers(cluster: Any) -> None:
    named = {3: "small-3", 7: "slow-7", 11: "small-11"}
    start(cluster, *(named.get(n, f"w{n}") for n in range(16)))
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        assert len(places) == 16
        assert {place.name for place in places} >= {"GPU-w0", "GPU-small-3", "GPU-slow-7"}
        made = fleet(places, 64, processes=2)  # type: ignore[arg-type]
        events = []
        for event in made.events():
            events.append(event)
            if sum(isinstance(e, GraphDone) for e in events) == 20:
                cluster.started["slow-7"].gate.release(1000)
    assert len(records(iter(events))) == 64
    lost = {e.board for e in events if isinstance(e, BoardLost)}
    assert lost == {"GPU-small-3", "GPU-small-11"}
    assert made.machine().gpu_uuid is not None
    assert made.machine().gpu_uuid.endswith("moved")  # type: ignore[union-attr]


def test_a_worker_that_is_killed_in_the_middle_costs_nothing_but_time(cluster: Any) -> None:
    start(cluster, "slow-0", "w1")
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        events = []
        cluster.started["slow-0"].gate.release()
        for event in fleet(places, 8).events():  # type: ignore[arg-type]
            events.append(event)
            if sum(isinstance(e, GraphDone) for e in events) == 5:  # w1's own, and one of its own
                end(cluster, "slow-0")
        assert len(records(iter(events))) == 8
        assert [e.board for e in events if isinstance(e, BoardLost)] == ["GPU-slow-0"]


def test_results_come_as_they_are_known(cluster: Any) -> None:
    start(cluster, "slow-0")
    gate, heard = cluster.started["slow-0"].gate, 0
    gate.release()
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        for event in fleet(places, 4).events():  # type: ignore[arg-type]
            if isinstance(event, GraphDone):
                heard += 1
                gate.release()  # it begins none before the last was heard of
    assert heard == 4


def test_a_worker_that_is_cut_off_is_a_lost_one(cluster: Any) -> None:
    start(cluster, "slow-0", "w1")
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        # It says nothing any more, and the scheduler takes it for alive.
        (silent,) = (place for place in places if place.name == "GPU-slow-0")
        silent.kernel_seconds = (1.0 - workers.START_SECONDS) / 2  # type: ignore[attr-defined]
        events = list(fleet(places, 20).events())  # type: ignore[arg-type]
    assert len(records(iter(events))) == 20
    (lost,) = (e for e in events if isinstance(e, BoardLost))
    assert "silent for" in lost.reason


def test_pairs_are_timed_on_workers(cluster: Any) -> None:
    start(cluster, "w0", "small-1", "w2")
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        found = time_spread(places, pairs(9), Effort(2), heard)
    assert [len(outcomes) for outcomes in found.outcomes] == [2] * 9
    assert [note.split()[0] for note in found.notes] == ["GPU-small-1"]


def test_workers_without_a_gpu_and_schedulers_that_do_not_answer(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(cluster, "none-0", "w1")
    with remote_boards(cluster.scheduler.address, 60.0, fake_board) as places:
        assert [place.name for place in places] == ["GPU-w1"]
    end(cluster, "w1")
    none = pytest.raises(NoDevice, match="no worker has a GPU")
    with none as error, remote_boards(cluster.scheduler.address, 60.0, fake_board):
        pass
    assert "none-0: NoDevice: the GPU cannot be used" in error.value.got
    monkeypatch.setattr(workers, "START_SECONDS", 0.5)
    silent = pytest.raises(UsageError, match="no scheduler answers")
    with silent, remote_boards("tcp://127.0.0.1:9", 60.0, fake_board):
        pass
