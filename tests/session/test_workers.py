"""GPUs of other machines, by dask.distributed: workers in this process start fake boards."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from harness.devices import pool
from harness.errors import NoDevice, UsageError
from harness.measure import pairs as measured_pairs
from harness.measure.jobs import Effort, OpenDevice
from harness.measure.pairs import time_pairs
from harness.options import Options
from harness.session import cuda, plan, workers
from harness.session.ahead import generated
from harness.session.cuda import CudaDevice
from harness.session.model import BoardLost, GraphDone
from harness.session.spread import Fleet, Homes
from harness.session.workers import remote_gpus
from harness.target import H100
from tests.devices.standing_in import stand_in
from tests.measure import fake_device, fake_pairs
from tests.measure.fakes import session
from tests.session.test_spread import entries, pair, records

distributed = pytest.importorskip("distributed", reason="needs harness[workers]")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """``spawned`` are the processes of each worker."""
    monkeypatch.setattr(pool, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(workers, "_about", lambda: (str(tmp_path), 1))
    monkeypatch.setattr(measured_pairs, "CompilePool", MagicMock())
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    stand_in(monkeypatch, fake_pairs.HANDLERS | fake_device.HANDLERS)
    real, spawned = workers.spawn, dict[str, list[subprocess.Popen[bytes]]]()

    def spawn(*given: Any) -> subprocess.Popen[bytes]:
        made = real(*given)
        spawned.setdefault(str(distributed.get_worker().name), []).append(made)
        return made

    monkeypatch.setattr(workers, "spawn", spawn)
    with distributed.LocalCluster(
        n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None
    ) as made:
        made.spawned, made.started = spawned, {}
        yield made
        for name in list(made.started):
            close(made, name)


def start(cluster: Any, *names: str) -> None:
    async def each() -> list[Any]:
        found = [distributed.Worker(cluster.scheduler.address, name=n, nthreads=1) for n in names]
        return [await worker for worker in found]

    cluster.started |= dict(zip(names, cluster.sync(each), strict=True))


def close(cluster: Any, name: str) -> None:
    cluster.sync(cluster.started.pop(name).close, nanny=False, executor_wait=False)


def lose(cluster: Any, name: str) -> None:
    """Close a worker and kill what it started, as the end of its machine would."""
    close(cluster, name)
    for process in cluster.spawned[name]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


REAL_START = workers._start


def but_of_w0(*given: Any) -> None:
    if distributed.get_worker().name != "w0":
        REAL_START(*given)


def stranger_first(where: tuple[str, int], *given: Any) -> None:
    with socket.create_connection(where, 60) as connection:
        connection.sendall(b"x" * 32)
        assert connection.recv(1) == b"", "hung up"
    REAL_START(where, *given)


@contextlib.contextmanager
def boards(cluster: Any, tmp_path: Path) -> Iterator[list[CudaDevice]]:
    with remote_gpus(cluster.scheduler.address) as found, contextlib.ExitStack() as stack:
        made = [CudaDevice(tmp_path, jobs, where=where) for where, jobs in found]
        for one in made:
            stack.enter_context(one)
        yield made


def fleet(given: Sequence[CudaDevice], graphs: int, processes: int = 1) -> Fleet:
    made = entries(graphs)

    def examine(board: CudaDevice, work: Sequence[Any], processes: int) -> Any:
        return session(*work, device=board, processes=processes)  # type: ignore[arg-type]

    generate = functools.partial(map, generated)
    return Fleet(made, H100, given, Homes(None), examine, generate, processes)  # type: ignore[arg-type]


def test_sixteen_workers_with_losses_and_stragglers(cluster: Any, tmp_path: Path) -> None:
    start(cluster, *(f"w{n:02}" for n in range(16)))
    events, lost = [], {"w03", "w11"}
    with boards(cluster, tmp_path) as found:
        assert [board.name for board in found] == [f"w{n:02}" for n in range(16)]
        (slow,) = cluster.spawned["w07"]
        os.kill(slow.pid, signal.SIGSTOP)
        made = fleet(found, 80, processes=2)
        for event in made.events():
            events.append(event)
            if len(events) == 100:  # of 80 graphs begun
                for name in lost:
                    lose(cluster, name)
            if sum(isinstance(e, GraphDone) for e in events) == 60:
                os.kill(slow.pid, signal.SIGCONT)
    graphs = records(iter(events))
    assert len(graphs) == 80
    assert {e.board for e in events if isinstance(e, BoardLost)} == lost
    assert str(made.machine().gpu_uuid).endswith("moved")
    assert all(len(k.sets) == 2 for g in graphs.values() for k in g.kernels)


def test_a_worker_that_is_cut_off_is_a_lost_one(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler takes it for alive, and what it is to start never connects."""
    start(cluster, "w0", "w1")
    with boards(cluster, tmp_path) as found:
        monkeypatch.setattr(workers, "_start", but_of_w0)
        monkeypatch.setattr(workers, "START_SECONDS", 1.0)
        os.killpg(cluster.spawned["w0"][0].pid, signal.SIGKILL)
        events = list(fleet(found, 8).events())
    assert len(records(iter(events))) == 8
    (gone,) = (e for e in events if isinstance(e, BoardLost))
    assert (gone.board, "it does not connect" in gone.reason) == ("w0", True)


def test_a_worker_that_goes_while_its_process_is_waited_for_is_lost_at_once(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(cluster, "w0")
    monkeypatch.setattr(workers, "_start", but_of_w0)
    with remote_gpus(cluster.scheduler.address, quick=True) as ((device, _),):
        assert device.opening == OpenDevice(True, quick=True)
        monkeypatch.setattr(workers, "START_SECONDS", 600.0)  # nobody waits for that
        ends = threading.Timer(1.0, close, (cluster, "w0"))
        ends.start()
        assert device.host is not None
        with pytest.raises(NoDevice, match="a worker was lost") as error:
            device.host({"cache": None, "environment": {}, "imports": [], "niceness": 0})
        ends.join()
    assert error.value.got == "gone"


def test_a_connection_without_a_sign_of_life_is_closed(cluster: Any) -> None:
    start(cluster, "w0")
    with remote_gpus(cluster.scheduler.address) as ((device, _),):
        assert device.host is not None
        made = device.host({"cache": None, "environment": {}, "imports": [], "niceness": 0})
        ends = made.socket
        assert ends.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
        assert ends.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        made.kill()
        while "w0" not in cluster.spawned:
            time.sleep(0.01)
        (process,) = cluster.spawned["w0"]
        assert process.wait(300) is not None, "it ends with its connection"
        made.wait()


def test_who_does_not_know_the_secret_is_hung_up_on(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(cluster, "w0")
    monkeypatch.setattr(workers, "_start", stranger_first)
    with boards(cluster, tmp_path) as found:
        assert len(records(fleet(found, 2).events())) == 2


def test_pairs_are_timed_on_workers(cluster: Any, tmp_path: Path) -> None:
    start(cluster, "w0", "w1", "w2")
    with remote_gpus(cluster.scheduler.address) as found:
        devices, lost = [device for device, _ in found], []

        def follow(done: int, _total: int) -> None:
            if done == 4 and not lost:
                lose(cluster, "w1")
                lost.append("w1")

        work = [pair(f"k{n}") for n in range(9)]
        timed = time_pairs(work, Effort(2), tmp_path, 1, follow, devices)
    assert [len(outcomes) for outcomes in timed.outcomes] == [2] * 9
    assert [note.split()[0] for note in timed.notes] == ["w1"]


def test_a_plan_over_workers_leaves_out_those_without_a_gpu(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def device(*given: Any, where: Any, **_: Any) -> CudaDevice:
        if "none" in where.name:
            raise NoDevice("the GPU cannot be used", got="no device found")
        return CudaDevice(*given, where=where)

    monkeypatch.setattr(cuda, "CudaDevice", device)
    monkeypatch.setattr(plan, "find_entries", lambda *_: entries(3))
    options = Options(tmp_path / "cache", tmp_path / "results", tmp_path, 1)
    options.cache.mkdir()
    start(cluster, "none-0", "w1")
    asked = plan.Request(workers=cluster.scheduler.address)
    with plan.prepare(options, asked) as made:
        assert [d.name for d in made.devices] == ["w1"]
        assert len(records(made.session.events())) == 3
        assert made.run.machine.gpu_uuid == "w1"
    close(cluster, "w1")
    with pytest.raises(NoDevice, match="cannot be used"), plan.prepare(options, asked):
        pass
    close(cluster, "none-0")
    with pytest.raises(NoDevice, match="no worker can be used"), plan.prepare(options, asked):
        pass


def test_the_kind_of_the_workers_is_known_before_their_work_is_chosen(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU here; nothing holds theirs afterwards."""
    options = Options(tmp_path, tmp_path / "results", tmp_path, 1)
    start(cluster, "w1", "w2")
    found = plan.all_seen(options, plan.Request(workers=cluster.scheduler.address))
    assert [(one.target, one.machine.key) for one in found] == [(H100, "fake")] * 2
    ended = [p.wait(60) for name in ("w1", "w2") for p in cluster.spawned[name]]
    assert len(ended) == 2


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_SECONDS", 0.5)
    with pytest.raises(UsageError, match="no scheduler answers"), remote_gpus("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize("address", ["farm", "tcp://farm", "tcp://farm:x", "foo://farm:8786"])
def test_what_is_no_address_is_asked_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of it would take two minutes to end."""
    monkeypatch.setattr(distributed, "Client", None)
    with pytest.raises(UsageError, match="no scheduler answers"), remote_gpus(address):
        pass


def without_the_package() -> tuple[str, int]:
    if distributed.get_worker().name == "bare":
        raise ModuleNotFoundError("No module named 'harness'")
    return "/somewhere", 1


def test_a_worker_without_the_package_is_left_out(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(cluster, "bare", "w1")
    monkeypatch.setattr(workers, "_about", without_the_package)
    with remote_gpus(cluster.scheduler.address) as found:
        assert [device.name for device, _ in found] == ["w1"]
    close(cluster, "w1")
    none = pytest.raises(NoDevice, match="no worker can be used")
    with none as error, remote_gpus(cluster.scheduler.address):
        pass
    assert error.value.got == "bare: ModuleNotFoundError: No module named 'harness'"
