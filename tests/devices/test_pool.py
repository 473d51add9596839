"""The engine on fake devices: kills, hangs, stragglers, lost devices, forks."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Collection, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from harness.devices import pool as pools
from harness.devices.job import Device, Job, cores
from harness.devices.pool import Pool
from harness.devices.process import Process
from harness.errors import HarnessError, NoDevice, WorkerDied
from tests.devices.fake_jobs import Do, EndsItsReader, Missing, gpus
from tests.devices.limits import limit_hangs_alone

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_PAUSE_SECONDS", 0.05)


@pytest.fixture(scope="module")
def two() -> Iterator[Pool]:
    with Pool(cores(2), 600.0) as made:
        yield made


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def all_end(pids: Collection[int], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(alive(pid) for pid in pids):
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def test_answers_come_as_they_finish_or_in_order(two: Pool, tmp_path: Path) -> None:
    told, made = str(tmp_path / "told"), str(tmp_path / "made")
    found = []
    for answer in two.each([Do(("after", told)), Do("a"), Do("b")]):
        found.append(answer)
        if len(found) == 2:
            Path(told).touch()
    assert found == [(1, "a"), (2, "b"), (0, ("after", told))]
    crossed = two.all([Do(("after", made)), Do(("make", made))])
    assert crossed == [("after", made), ("make", made)]
    assert two.all([Do(n) for n in range(20)]) == list(range(20))


def test_a_bad_job_costs_itself_alone(two: Pool) -> None:
    bad = ["crash", "fail", "unpicklable", "lose"]
    answers = two.all([Do("before"), *map(Do, bad), Missing(), Do(lambda: 0), Do("after")])
    assert (answers[0], answers[-1]) == ("before", "after")
    kinds = [type(answer) for answer in answers[1:-1]]
    assert kinds == [WorkerDied, *[HarnessError] * 5]
    assert "exit status 7" in str(answers[1])
    assert "ValueError: no" in str(answers[2])
    assert "cannot be sent" in str(answers[6])
    steps = [answer.step for answer in answers[1:5]]
    assert steps == [f"about to {what}" for what in bad], "what it was about to do"


def test_a_hanging_job_ends_at_its_own_limit(two: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_hangs_alone(monkeypatch)
    hung, fine = two.all([Do("hang", seconds=1.0), Do("fine")])
    assert "no answer within 1 s" in str(hung)
    assert hung.step == "about to hang"
    assert fine == "fine"


def test_a_worker_killed_while_idle_costs_nothing(two: Pool) -> None:
    answers = two.all([Do("where", takes=0.3), Do("where", takes=0.3)])
    workers = {pid for _, pid in answers}  # one, if it was ready long before the other
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    assert all_end(workers)
    assert two.all([Do(n) for n in range(4)]) == list(range(4))


def test_a_job_that_its_worker_never_read_costs_nothing(two: Pool) -> None:
    """A process that is ending takes what is written to it and does not read it."""
    workers = {pid for _, pid in two.all([Do("where", takes=0.3), Do("where", takes=0.3)])}
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    ends = threading.Timer(0.5, lambda: [os.kill(pid, signal.SIGKILL) for pid in workers])
    ends.start()
    assert two.all([Do(n) for n in range(4)]) == list(range(4))
    ends.join()


def test_a_job_that_its_worker_read_and_did_not_begin_costs_nothing(
    two: Pool, tmp_path: Path
) -> None:
    assert two.run(Do(EndsItsReader(str(tmp_path / "read"), times=1))) == "read at last"
    with pytest.raises(WorkerDied, match="before it began its job"):
        two.run(Do(EndsItsReader(str(tmp_path / "again"), times=2)))


@pytest.mark.slow
def test_sixteen_devices_with_kills_and_stragglers(tmp_path: Path) -> None:
    """Every job is answered once; only the jobs of killed workers are lost; a job that asks for
    a device by name is done there."""
    chance = random.Random(0)
    jobs: list[Job] = []
    for n in range(240):
        what: object = "crash" if n % 40 == 39 else "where"
        takes = 1.5 if n % 60 == 5 else chance.random() * 0.02
        jobs.append(Do(what, takes, place=f"gpu {n // 2 % 16}" if n % 3 else None))
    killed: list[int] = []
    with Pool(gpus(16), 600.0, tmp_path) as pool:
        pool.open()
        answers: dict[int, object] = {}
        for index, answer in pool.each(jobs):
            assert index not in answers
            answers[index] = answer
            if len(answers) in (50, 100, 150) and isinstance(answer, tuple):
                killed.append(answer[1])
                os.kill(answer[1], signal.SIGKILL)
    assert len(answers) == len(jobs)
    lost = [n for n, answer in answers.items() if isinstance(answer, HarnessError)]
    assert {n for n in range(240) if n % 40 == 39} <= set(lost)
    assert len(lost) <= 6 + len(killed)
    for n, answer in answers.items():
        if isinstance(answer, tuple):
            assert jobs[n].place in (None, f"gpu {answer[0]}")
    assert len({a[0] for a in answers.values() if isinstance(a, tuple)}) > 8, "work is spread"


def test_a_device_can_be_asked_for_by_its_name(tmp_path: Path) -> None:
    with Pool([*cores(1), *gpus(2)], 600.0, tmp_path) as pool:
        jobs = [Do("where", place="gpu 1"), Do("where", place="cpu 0")]
        on_gpu, on_cpu = pool.all(jobs)
    assert (on_gpu[0], on_cpu[0]) == ("1", "")


def test_a_device_is_taken_by_every_fresh_process(tmp_path: Path) -> None:
    with Pool(gpus(1), 600.0, tmp_path) as pool:
        ((name, first),) = pool.open()
        assert (name, pool.run(Do("where"))) == ("gpu 0", ("0", first))
        pool.spare()
        pool.restart()
        _, second = pool.run(Do("where"))
        assert not alive(first)
        with pytest.raises(WorkerDied):
            pool.run(Do("crash"))
        _, third = pool.run(Do("where"))
        assert len({first, second, third}) == 3
        assert pool.open() == [("gpu 0", first)]
    assert (tmp_path / "taken").read_text() == "gpu 0\n" * 3
    assert all_end([third])


def test_several_processes_start_ahead_and_are_gone_with_the_pool(tmp_path: Path) -> None:
    with Pool(gpus(1), 600.0, tmp_path) as pool:
        pool.spare(2)
        pool.spare(2)
        started = [process.process for process in pool._places[0].spares]
        assert len(started) == 2
        first = pool.run(Do("where"))[1]
        assert first not in [process.pid for process in started]
        pool.restart()
        assert pool.run(Do("where"))[1] == started[0].pid
        assert alive(started[1].pid)
    assert all_end([process.pid for process in started])


def test_taking_a_device_is_not_limited_by_what_a_job_may_take(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    with Pool(gpus(1), 0.1, tmp_path) as pool:
        assert pool.run(Do("where", seconds=600.0))[0] == "0"


def test_a_device_that_is_gone_leaves_its_work_to_the_others(tmp_path: Path) -> None:
    (tmp_path / "gpu 0").touch()
    with Pool(gpus(2), 600.0, tmp_path) as pool:
        assert {where for where, _ in pool.all([Do("where")] * 6)} == {"1"}
        (tmp_path / "gpu 1").touch()
        with pytest.raises(HarnessError, match="context was lost"):
            pool.run(Do("lose"))
        with pytest.raises(NoDevice, match="cannot be used"):
            pool.run(Do("where"))
        with pytest.raises(NoDevice):
            pool.open()
        (tmp_path / "gpu 1").unlink()
        assert pool.run(Do("where"))[0] == "1", "it is tried again when there is new work"


def test_a_process_that_is_good_for_nothing_more_still_answers_its_job(tmp_path: Path) -> None:
    with Pool(gpus(1), 600.0, tmp_path) as pool:
        what, first = pool.run(Do("last"))
        assert what == "last"
        assert pool.run(Do("where"))[1] != first, "another process has the next job"


def test_a_worker_that_cannot_start_says_why() -> None:
    pool = Pool([Device("cpu 0", imports=("no_such_module",))], 600.0)
    with pytest.raises(WorkerDied, match="could not start") as caught:
        pool.run(Do("x"))
    assert "no_such_module" in str(caught.value)


def test_a_closed_pool_says_so_and_a_left_iteration_is_abandoned() -> None:
    pool = Pool(cores(1), 600.0)
    for _ in pool.each([Do("a"), Do("hang")]):
        break
    assert pool.run(Do("b")) == "b"
    pool.close()
    with pytest.raises(HarnessError, match="closed"):
        pool.run(Do("a"))


def test_a_pool_that_is_closed_gives_up_its_list_of_jobs(tmp_path: Path) -> None:
    made, told, never = (tmp_path / name for name in ("made", "told", "never"))
    jobs = [Do(("make", str(made))), Do(("after", str(told))), Do(("make", str(never)))]
    said: list[str] = []

    def work(pool: Pool) -> None:
        try:
            pool.all(jobs)
        except HarnessError as error:
            said.append(error.what)

    pool = Pool(cores(1), 600.0)
    working = threading.Thread(target=work, args=(pool,))
    closing = threading.Thread(target=pool.close)
    working.start()
    while not made.exists():
        time.sleep(0.01)
    closing.start()
    while not pool._closed:
        time.sleep(0.01)
    told.touch()
    working.join()
    closing.join()
    assert said == ["the worker pool is closed"] and not never.exists()


def test_a_device_may_stand_back() -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with Pool(cores(1, Device("", niceness=3)), 600.0) as pool:
        _, pid = pool.run(Do("where"))
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(usual + 3, 19)


def test_threads_wait_for_each_other(two: Pool) -> None:
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(two.run(Do(n, 0.02)))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))  # type: ignore[type-var]


def test_a_list_that_one_thread_began_ends_where_it_is_collected() -> None:
    with Pool(cores(2), 600.0) as pool:
        lists = [pool.each([Do(n) for n in range(4)])]
        first = threading.Thread(target=lambda: next(lists[0]))
        first.start()
        first.join()
        lists.clear()
        assert pool.run(Do("next")) == "next"


def test_a_fork_has_workers_of_its_own(two: Pool) -> None:
    """Four children and their parent use a pool at the same time: every answer is its asker's."""
    two.open()  # while one of its workers is still starting, the other gets all jobs
    parents = {two.run(Do("where"))[1] for _ in range(3)}
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                answers = [two.run(Do((child, n))) for n in range(15)]
                own = two.run(Do("where"))[1]
                right = answers == [(child, n) for n in range(15)]
                status = 0 if right and own not in parents else 2
            finally:
                os._exit(status)
        children.append(pid)
    assert [two.run(Do(("parent", n))) for n in range(60)] == [("parent", n) for n in range(60)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert statuses == [0] * 4
    assert {two.run(Do("where"))[1] for _ in range(2)} <= parents, "the parent keeps its workers"


def test_a_fork_that_closes_a_pool_leaves_the_parents_workers_alone(two: Pool) -> None:
    before = two.run(Do("where"))[1]
    pid = os.fork()
    if pid == 0:
        two.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert alive(before)
    assert two.run(Do("still there")) == "still there"


SCRIPT = """
import os, signal, sys, time
from harness.devices.job import cores
from harness.devices.pool import Pool
from tests.devices.fake_jobs import Do
pool = Pool(cores(2), 600.0)
print(*[pid for _, pid in pool.all([Do("where", 0.5), Do("where", 0.5)])], flush=True)
if sys.argv[1] == "exit":
    os._exit(0)
pool.run(Do(("stay", sys.argv[2])))
"""


@pytest.mark.parametrize("how", ["exit", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_workers_end_with_their_parent_in_the_middle_of_a_job(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, how, str(tmp_path / "stays")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if how != "exit":
        while not (tmp_path / "stays").exists():
            time.sleep(0.01)
        process.send_signal(getattr(signal, how))
    process.wait(120)
    process.stdout.close()
    assert all_end(pids)


def test_workers_do_not_search_the_current_folder(tmp_path: Path) -> None:
    """A user's own ``multiprocessing.py``, or ``harness``, is not what a worker runs."""
    for name in ("multiprocessing", "pickle", "selectors", "harness"):
        (tmp_path / f"{name}.py").write_text("import os\nopen('ran', 'w').close()\nos._exit(5)\n")
    code = f"""
    import sys
    sys.path.insert(0, {str(ROOT)!r})
    import os
    from harness.devices.job import Device, cores
    from harness.devices.pool import Pool
    from tests.devices.fake_jobs import Do
    os.chdir({str(tmp_path)!r})
    with Pool(cores(1, Device("", imports=("multiprocessing",))), 600.0) as pool:
        path = pool.run(Do("path"))
    assert "" not in path and {str(tmp_path)!r} not in path, path
    standard = path.index(os.path.dirname(os.__file__))
    assert standard < path.index({str(ROOT)!r}), path
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},  # which may ask for it
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_process_that_ends_in_the_middle_of_an_answer_has_ended() -> None:
    here, there = os.pipe()
    with tempfile.TemporaryFile() as log:
        process = Process(None, Connection(os.dup(there)), Connection(here), log, 0.0)
        process.jobs.close()
        os.write(there, struct.pack("!i", 100) + b"the first half of an answer")
        os.close(there)
        with pytest.raises(EOFError):
            process.receive()
