"""Code generation in several processes, before the GPU is needed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.devices.pool import Pool
from harness.devices.process import Process
from harness.errors import DamagedGraph, NoDevice, WorkerDied
from harness.measure import jobs
from harness.measure.jobs import DeviceFacts
from harness.options import Options
from harness.records.run import Machine
from harness.runtime import device as devices
from harness.session import ahead, cuda, plan, spread
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry, FileEntry, GraphFile, MadeEntry, find_graphs
from harness.session.model import Compiled, GraphDone
from harness.session.session import Session
from harness.session.spread import Fleet, Homes
from harness.target import H100
from tests.devices.standing_in import stand_in
from tests.measure import fake_device
from tests.measure.fakes import FakeEntry, compiled, module
from tests.session.test_spread import FakeBoard, fleet

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "suites" / "graphs" / "small"


def entries(tmp_path: Path) -> list[Entry]:
    names = ("channels_last_forward", "fp8_rowwise_forward", "image_preprocess_forward")
    files = [GraphFile(name, GRAPHS / f"{name}.py", None) for name in names]
    damaged = tmp_path / "damaged.py"
    damaged.write_text("this is no graph\n")
    files.insert(1, GraphFile("damaged", damaged, None))
    return [FileEntry(file, H100) for file in files]


def test_many_graphs_are_generated_in_parallel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = list(ahead.all_generated(entries(tmp_path), 2, tmp_path, compared=True))
    monkeypatch.setattr(ahead, "FEW", 2)
    work = entries(tmp_path)
    made = list(ahead.all_generated(work, 2, tmp_path, compared=True))
    found = sorted(made, key=lambda one: work.index(one[0]))
    assert [entry for entry, _ in found] == work
    assert isinstance(found[1][1], DamagedGraph)
    for (_, one), (_, other) in zip(alone, found, strict=True):
        if not isinstance(one, DamagedGraph):
            assert [k.module for k in one.kernels] == [k.module for k in other.kernels]  # type: ignore[union-attr]
            assert one.nodes == other.nodes  # type: ignore[union-attr]
            assert [r.name for r in one.regions] == [r.name for r in other.regions]  # type: ignore[union-attr]
            assert one.regions, "other compilers are given them"  # type: ignore[union-attr]


def test_processes_that_cannot_generate_code_say_so(tmp_path: Path) -> None:
    def generate(work: Sequence[Entry]) -> Iterator[ahead.Made]:
        yield ahead.generated(work[0])
        raise WorkerDied("a worker process could not start", remedy="run `harness doctor`")

    def never(*_: object) -> Session:
        raise AssertionError("nothing is timed")

    boards: list[Any] = [SimpleNamespace(name="GPU-a"), SimpleNamespace(name="GPU-b")]
    fleet = Fleet(entries(tmp_path), H100, boards, Homes(None), never, generate)
    with pytest.raises(WorkerDied, match="could not start"):
        list(fleet.events())


def test_boards_do_not_wait_until_many_graphs_are_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(spread, "FEW", 8)
    timed, ended = threading.Event(), list[bool]()

    def generate(work: Sequence[Any]) -> Iterator[Any]:
        for entry in work:
            assert entry.name != "g11" or timed.wait(60), "all code is generated first"
            yield ahead.generated(entry)
        ended.append(True)

    boards = [FakeBoard("GPU-a"), FakeBoard("GPU-b")]
    made, names = fleet(boards, 12, tmp_path / "boards.json"), list[str]()
    made.generate = generate
    for event in made.events():
        if isinstance(event, GraphDone):
            timed.set()
            names.append(event.record.name)
    assert sorted(names) == sorted(f"g{n}" for n in range(12))
    assert [len(board.had) for board in boards] == [6, 6] and ended == [True]
    for board in boards:
        assert board.had == sorted(board.had, key=lambda name: int(name[1:])), "in their order"


def test_what_another_process_generated_has_its_small_sizes(tmp_path: Path) -> None:
    (entry,) = (e for e in entries(tmp_path) if e.name == "fp8_rowwise_forward")
    assert isinstance(entry, FileEntry)
    elsewhere = ahead.generate(None, ahead.Generate(entry=FileEntry(entry.file, H100)))  # type: ignore[arg-type]
    assert entry._full is None
    assert MadeEntry(entry.name, lambda: elsewhere, entry).compile_small() is not None


def test_patterns_of_the_corpus_are_written_once_they_are_asked_for(tmp_path: Path) -> None:
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    suite = "corpus:kind=pointwise nodes<9 small=yes sample=3"
    first, *rest = find_graphs(options, suite, ())
    assert not options.cache.exists() and all(file.bytes for file in rest)
    assert FileEntry(first, H100).compile().kernels
    assert [*options.cache.rglob("*.py")] == [first.path]
    assert first.path.stat().st_size == first.bytes
    assert FileEntry(first, H100).compile_small() is not None
    assert {*options.cache.rglob("*.py")} == {first.path, first.small}


def test_a_gpu_that_was_seen_is_taken_by_its_first_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, fake_device.HANDLERS)
    seen = DeviceFacts(H100, Machine("fake", gpu="seen"), "fake/1")
    with CudaDevice(tmp_path, 1, seen=seen) as made:
        assert made.facts.machine.gpu == "seen"
        assert not (tmp_path / "taken").exists()
        made.check(module("k"))
        assert (tmp_path / "taken").read_text() == "x"
        assert made.facts.machine.gpu is None
        assert made.facts.roofline and made.facts.roofline.copy_gbps == 1000.0


def test_a_patient_plan_leaves_the_gpu_alone_until_something_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "require", lambda: None)
    monkeypatch.setattr(plan, "seen", lambda: DeviceFacts(H100, Machine("fake"), "fake/1"))
    made: list[dict[str, object]] = []

    class Device(CudaDevice):
        def __init__(self, *given: object, **more: object) -> None:
            made.append(more)
            super().__init__(*given, **more)  # type: ignore[arg-type]

    stand_in(monkeypatch, fake_device.HANDLERS)
    monkeypatch.setattr(cuda, "CudaDevice", Device)
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    asked = plan.Request(names=("fp8_rowwise_forward",), patient=True)
    with plan.prepare(options, asked) as found:
        assert found.timed
        assert found.run.copy_gbps is None
        assert found.ended(found.run).copy_gbps is None
        assert not (tmp_path / "cache" / "taken").exists()
        found.session.device.check(module("k"))  # type: ignore[union-attr]
        assert found.ended(found.run).copy_gbps == 1000.0
    assert made[0]["seen"] is not None


def test_code_is_generated_while_the_gpu_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The GPU's process, which imports for seconds, has been asked; nobody waits for it."""
    made = threading.Event()
    taking = Pool.open

    def opened(pool: Pool) -> list[object]:
        assert made.wait(300)
        return taking(pool)

    class Noted(FakeEntry):
        def compile(self) -> Compiled:
            made.set()
            return super().compile()

    monkeypatch.setattr(Pool, "open", opened)
    monkeypatch.setattr(devices, "require", lambda: None)
    monkeypatch.setattr(plan, "seen", lambda: DeviceFacts(H100, Machine("fake"), "fake/1"))
    monkeypatch.setattr(plan, "find_entries", lambda *_: [Noted("x", compiled(module("k")))])
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    stand_in(monkeypatch, fake_device.HANDLERS)
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    with plan.prepare(options, plan.Request()) as found:
        (done,) = (e for e in found.session.events() if isinstance(e, GraphDone))
        assert done.record.kernels[0].ms == 0.002
        found.session.device.worker.open()  # type: ignore[union-attr]
    assert (tmp_path / "cache" / "taken").read_text() == "x", "it was taken once"


def test_what_starts_a_gpus_process_imports_little() -> None:
    """What generates code is imported while that process imports torch."""
    code = (
        "import sys\n"
        "import harness.session.plan\n"
        "assert not {'sympy', 'torch', 'triton'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_listed_gpus_process_is_started_before_this_one_imports_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both take seconds to do so, and only torch says whether there is a GPU."""
    started: list[Process] = []
    start = Process.started

    def starting(*given: object) -> Process:
        started.append(start(*given))  # type: ignore[arg-type]
        return started[-1]

    def absent() -> None:
        raise NoDevice("a GPU is needed and none can be used")

    def looked() -> None:
        assert len(started) == listed
        if not listed:
            absent()

    monkeypatch.setattr(Process, "started", starting)
    monkeypatch.setattr(devices, "require", looked)
    monkeypatch.setattr(plan, "seen", lambda: DeviceFacts(H100, Machine("fake"), "fake/1"))
    monkeypatch.setattr(jobs, "_WORKER", fake_device.HERE)
    stand_in(monkeypatch, fake_device.HANDLERS)
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    monkeypatch.setattr(plan, "_DEVICES", tmp_path / "dev")
    for listed, timing, timed in ((0, None, False), (1, None, True), (1, False, False)):
        started.clear()
        for number in range(listed):
            (tmp_path / "dev" / f"nvidia{number}").mkdir(parents=True, exist_ok=True)
        asked = plan.Request(names=("adamw_step",), timing=timing)
        with plan.prepare(options, asked) as found:
            assert found.timed == timed
            if timed:
                found.session.device.worker.open()  # type: ignore[union-attr]
            assert len(started) == int(timed), "the process that was started is the device's"
    monkeypatch.setattr(devices, "require", absent)
    with plan.prepare(options, plan.Request(names=("adamw_step",))) as found:
        assert not found.timed
    assert started[-1].log.closed, "nobody took it"


def test_chosen_kernels_are_decided_as_others_are(tmp_path: Path) -> None:
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    asked = plan.Request(names=("moe_router_forward",), only=("red_",), timing=False, decide=True)
    with plan.prepare(options, asked) as found:
        (entry,) = found.session.entries
        assert isinstance(entry, FileEntry)
        assert (entry.decides, entry.only, found.whole) == (True, ("red_",), False)
