"""Several GPUs: a graph keeps its board, lost boards cost nothing but time, kinds never mix."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.devices import pool
from harness.devices.process import Process
from harness.errors import HarnessError, NoDevice, UsageError
from harness.measure import jobs
from harness.measure.jobs import DeviceFacts, Effort, OpenDevice, PairSamples, TimedKernel, gpu
from harness.measure.pairs import KernelPair, time_pairs
from harness.measure.peers import pool as peers
from harness.measure.peers.jobs import Comparable
from harness.measure.peers.pool import PeerPool
from harness.measure.timer.state import Reading
from harness.options import Options
from harness.records.run import GraphRecord, Machine
from harness.runtime import device
from harness.runtime.compile.static import CompilePool
from harness.session import ahead, plan
from harness.session.ahead import all_generated, generated
from harness.session.cuda import CudaDevice
from harness.session.model import BoardLost, Event, GraphDone, GraphStarted, ProcessStarted
from harness.session.spread import Fleet, Homes, require_one_kind
from harness.target import H100
from tests.devices.standing_in import stand_in
from tests.measure import fake_device, fake_pairs
from tests.measure.fakes import FakeEntry, RepeatableDevice, compiled, module, session
from tests.measure.peers import fake_worker

ROOT = Path(__file__).resolve().parents[2]


@dataclass(eq=False)
class FakeBoard:
    """A board that is lost before its graph number ``dies``; it waits at its ``gate``, if it has
    one, before each graph."""

    name: str
    dies: int = 10**9
    kind: str = "fake-gpu"
    gate: threading.Semaphore | None = None
    had: list[str] = field(default_factory=list)
    interrupted: bool = False
    found: Sequence[object] = ("taken",)
    readings: tuple[Reading, ...] = (Reading(0.0, 1980.0),)
    facts: DeviceFacts = field(init=False)

    def __post_init__(self) -> None:
        machine = Machine(self.kind, gpu="g", gpu_uuid=self.name)
        self.facts = DeviceFacts(H100, machine, "fake/1")

    def events(self, entries: Sequence[Any], processes: int) -> Generator[Event, None, None]:
        again = RepeatableDevice()
        for event in session(*entries, device=again, processes=processes).events():
            if isinstance(event, GraphDone):
                if len(self.had) >= self.dies:
                    raise NoDevice("the GPU cannot be used", got="it fell off the bus")
                if self.gate is not None:
                    assert self.gate.acquire(timeout=300), "nobody heard of the graph before"
                self.had.append(event.record.name)
            yield event

    @property
    def worker(self) -> FakeBoard:
        """Itself."""
        return self

    def interrupt(self) -> None:
        self.interrupted = True


def examine(board: Any, work: Sequence[Any], processes: int) -> Any:
    return SimpleNamespace(events=lambda: board.events(work, processes))


def entries(count: int) -> list[FakeEntry]:
    def kernels(n: int) -> list[str]:
        return [f"triton_poi_fused_g{n}_{k}" for k in range(1 + n % 3)]

    return [FakeEntry(f"g{n}", compiled(*map(module, kernels(n)))) for n in range(count)]


def fleet(
    boards: Sequence[Any], graphs: int | Sequence[Any], path: Path | None = None, processes: int = 1
) -> Fleet:
    given = entries(graphs) if isinstance(graphs, int) else graphs
    how = examine, functools.partial(map, generated), processes
    return Fleet(given, H100, boards, Homes(path), *how)  # type: ignore[arg-type]


def test_past_its_end_nothing_is_shared_out_and_boards_know_that_end() -> None:
    late = fleet([FakeBoard("GPU-a")], 3)
    late.until = 0.0
    assert records(late.events()) == {}
    seen: list[Any] = []

    def noted(*given: Any) -> Any:
        seen.append(examine(*given))
        return seen[-1]

    early = fleet([FakeBoard("GPU-a")], 3)
    early.examine, early.until = noted, time.monotonic() + 600
    assert len(records(early.events())) == 3
    assert [one.until for one in seen] == [early.until]


def records(events: Iterator[Event]) -> dict[str, GraphRecord]:
    return {e.record.name: e.record for e in events if isinstance(e, GraphDone)}


def test_graphs_are_spread_evenly_and_stay_on_their_boards(tmp_path: Path) -> None:
    path = tmp_path / "boards.json"
    first = [FakeBoard("GPU-b"), FakeBoard("GPU-a")]
    assert len(records(fleet(first, 12, path).events())) == 12
    kernels = [sum(1 + int(g[1:]) % 3 for g in place.had) for place in first]
    assert sum(kernels) == 24
    assert abs(kernels[0] - kernels[1]) <= 1
    # In another order, with more graphs, and some alone: the same boards.
    again = [FakeBoard("GPU-a"), FakeBoard("GPU-b")]
    records(fleet(again, 14, path).events())
    assert set(first[1].had) <= set(again[0].had)
    assert set(first[0].had) <= set(again[1].had)
    alone = [FakeBoard("GPU-a"), FakeBoard("GPU-b")]
    records(fleet(alone, 1, path).events())
    assert alone["g0" in first[0].had].had == ["g0"]
    assert len(json.loads(path.read_text())["graphs"]) == 14


def test_a_new_board_shares_everything_out_anew_and_a_missing_one_lends(tmp_path: Path) -> None:
    homes = Homes(tmp_path / "boards.json")
    costs = {f"g{n}": 1.0 for n in range(6)}
    two = homes.shares(costs, ["GPU-a", "GPU-b"])
    assert homes.shares(costs, ["GPU-a"]) == {"GPU-a": list(costs)}
    assert homes.shares(costs, ["GPU-a", "GPU-b"]) == two
    three = homes.shares(costs, ["GPU-a", "GPU-b", "GPU-c"])
    assert [len(names) for names in three.values()] == [2, 2, 2]
    (tmp_path / "boards.json").write_text("{ damaged")
    assert sum(map(len, homes.shares(costs, ["GPU-a", "GPU-c"]).values())) == 6


def test_graphs_whose_boards_are_known_are_timed_while_others_are_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    path, timed = tmp_path / "boards.json", threading.Event()
    records(fleet([FakeBoard("GPU-a"), FakeBoard("GPU-b")], 6, path).events())

    def generate(work: Sequence[Any]) -> Iterator[Any]:
        for entry in work:
            assert entry.name != "g5" or timed.wait(60), "all code is generated first"
            yield generated(entry)

    for names in ("GPU-b", "GPU-a"), ("GPU-c",):  # and one that has no choice
        again, events = fleet([FakeBoard(name) for name in names], 6, path), list[Event]()
        again.generate = generate
        timed.clear()
        for event in again.events():
            events.append(event)
            if isinstance(event, GraphDone):
                timed.set()
        assert len(records(iter(events))) == 6
        started = sorted(e.name for e in events if isinstance(e, GraphStarted))
        assert started == [f"g{n}" for n in range(6)]


def test_every_process_is_announced_once_all_are_in_it() -> None:
    places = [FakeBoard("GPU-a", gate=threading.Semaphore(0)), FakeBoard("GPU-b")]
    made = fleet(places, 4, processes=3)
    events = []
    for event in made.events():
        events.append(event)
        if len(places[1].had) == 6:  # it is in its last process
            places[0].gate.release(6)  # type: ignore[union-attr]
    assert [e.process for e in events if isinstance(e, ProcessStarted)] == [1, 2]
    last = max(n for n, e in enumerate(events) if isinstance(e, ProcessStarted))
    final = {e.record.name for e in events[last:] if isinstance(e, GraphDone)}
    assert set(places[0].had) <= final
    once = [e.record for e in events if isinstance(e, GraphDone) and not e.again]
    assert sorted(graph.name for graph in once) == ["g0", "g1", "g2", "g3"]
    assert all(len(kernel.sets) == 3 for graph in once for kernel in graph.kernels)
    assert all(len(k.sets) == 3 for g in records(iter(events)).values() for k in g.kernels)
    assert made.machine().gpu_uuid == "GPU-a+GPU-b"


def test_a_lost_board_leaves_its_graphs_to_the_others() -> None:
    places = [FakeBoard("GPU-a", dies=2), FakeBoard("GPU-b")]
    made = fleet(places, 9)
    events = list(made.events())
    assert len(records(iter(events))) == 9
    (lost,) = (e for e in events if isinstance(e, BoardLost))
    assert "GPU-a was lost, the others go on" in str(lost)
    assert "fell off the bus" in lost.reason
    assert len(places[0].had) == 2
    # What was timed is on no board that another run could be on.
    assert made.machine().gpu_uuid == "GPU-a+GPU-b moved"
    with pytest.raises(NoDevice):
        list(fleet([FakeBoard("GPU-a", dies=1), FakeBoard("GPU-b", dies=0)], 5).events())


def test_a_board_lost_in_a_later_process_leaves_its_graphs_to_the_others() -> None:
    """They are begun anew: a kernel's processes are of one board."""
    places = [FakeBoard("GPU-a", dies=6), FakeBoard("GPU-b")]
    events = list(fleet(places, 9, processes=3).events())
    found = records(iter(events))
    assert [len(k.sets) for g in found.values() for k in g.kernels] == [3] * 18
    assert all(not e.again for e in events[-1:] if isinstance(e, GraphDone))


def test_sixteen_boards_with_losses_and_stragglers() -> None:
    gates = [threading.Semaphore(0) if n % 3 == 1 else None for n in range(16)]
    places = [
        FakeBoard(f"GPU-{n:02}", 1 if n % 5 == 0 else 10**9, gate=gate)
        for n, gate in enumerate(gates)
    ]
    events = []
    for event in fleet(places, 80, processes=2).events():
        events.append(event)
        if sum(isinstance(one, GraphDone) for one in events) == 20:
            for gate in filter(None, gates):
                gate.release(10**6)
    found = records(iter(events))
    assert sorted(found) == sorted(f"g{n}" for n in range(80))
    assert all(not k.failed for g in found.values() for k in g.kernels)
    assert all(len(k.sets) == 2 for g in found.values() for k in g.kernels), "of one board each"
    assert threading.active_count() < 40


def test_leaving_early_interrupts_the_boards() -> None:
    places = [FakeBoard("GPU-a"), FakeBoard("GPU-b")]
    events = fleet(places, 6).events()
    for event in events:
        if isinstance(event, GraphDone):
            break
    events.close()
    assert all(place.interrupted for place in places)
    broken = fleet(places, [FakeEntry("g", HarnessError("no"))])
    assert records(broken.events())["g"].reason == "HarnessError: no"


def test_kinds_are_never_mixed() -> None:
    with pytest.raises(UsageError, match="several kinds") as error:
        require_one_kind([FakeBoard("GPU-a"), FakeBoard("GPU-b", kind="other")])
    assert error.value.got == "fake-gpu: GPU-a; other: GPU-b"


def pair(name: str) -> KernelPair:
    kernel = TimedKernel(f"# {name}\n# ms 1\n")
    return KernelPair((kernel,), (kernel,))


BOARDS = tuple(gpu(OpenDevice(board=name)) for name in ("GPU-a", "GPU-b", "GPU-c"))


def test_a_pair_is_timed_on_one_board_and_those_of_a_lost_one_on_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, fake_pairs.ON_BOARDS)
    monkeypatch.setattr(CompilePool, "all", lambda *_: [])
    monkeypatch.setattr(pool, "_PAUSE_SECONDS", 0.0)
    given: Any = {"devices": BOARDS}
    (tmp_path / "GPU-b").write_text("3")  # jobs that it does, before it is gone
    (tmp_path / "GPU-c").write_text("0")
    work, done = [pair(f"k{n}") for n in range(7)], list[int]()
    found = time_pairs(work, Effort(2), tmp_path, 1, lambda n, _: done.append(n), **given)
    assert [len(outcomes) for outcomes in found.outcomes] == [2] * 7
    for outcomes in found.outcomes:
        assert len({samples.a.method for samples in outcomes}) == 1
    assert (found.lost, done[-1]) == ("", 14)
    assert sorted(note.split()[0] for note in found.notes) == ["GPU-b", "GPU-c"]
    assert all("fell off the bus" in note for note in found.notes)
    (tmp_path / "GPU-a").write_text("3")
    half = time_pairs(work[:2], Effort(2), tmp_path, 1, devices=BOARDS[:1])
    assert "fell off the bus" in half.lost
    assert sorted(len(outcomes) for outcomes in half.outcomes) == [1, 2]
    for name in ("GPU-a", "GPU-b"):
        (tmp_path / name).write_text("0")
    with pytest.raises(NoDevice):
        time_pairs(work, Effort(2), tmp_path, 1, **given)


def test_a_pair_in_hand_when_its_board_is_lost_is_timed_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is lost ends the process in the middle of a pair, which answers nothing."""
    stand_in(monkeypatch, fake_pairs.ON_BOARDS)
    monkeypatch.setattr(CompilePool, "all", lambda *_: [])
    monkeypatch.setattr(pool, "_PAUSE_SECONDS", 0.0)
    (tmp_path / "GPU-b").write_text("dies")
    given: Any = {"devices": BOARDS[:2]}
    text = "# crashes\n# ms 1\n"
    crashing = KernelPair((TimedKernel(text),), (TimedKernel(text),))
    found = time_pairs(
        [*(pair(f"k{n}") for n in range(4)), crashing], Effort(2), tmp_path, 1, **given
    )
    assert [len(outcomes) for outcomes in found.outcomes] == [2, 2, 2, 2, 0]
    assert found.reasons[:4] == ("",) * 4
    assert "process ended" in found.reasons[4], "one that ends every process is not tried for ever"
    assert [note.split()[0] for note in found.notes] == ["GPU-b"]


def test_what_a_board_kept_is_not_timed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, fake_pairs.ON_BOARDS)
    monkeypatch.setattr(CompilePool, "all", lambda *_: [])
    kept: dict[str, PairSamples] = {}
    given: Any = {"devices": BOARDS[:2], "kept": kept}
    work = [pair("k0"), pair("k1")]
    first = time_pairs(work, Effort(1), tmp_path, 1, **given)
    assert time_pairs(work, Effort(1), tmp_path, 1, **given).outcomes == first.outcomes
    assert (first.device.machine.gpu_uuid, len(kept)) == ("GPU-a+GPU-b", 2)
    assert len((tmp_path / "log").read_text().splitlines()) == 2
    # On other boards it is another measurement.
    time_pairs(work, Effort(1), tmp_path, 1, **given | {"devices": BOARDS[1:]})
    assert len((tmp_path / "log").read_text().splitlines()) == 4


def see(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """This machine has boards of these names."""
    facts = [DeviceFacts(H100, Machine("fake", gpu_uuid=name), "fake/1") for name in names]
    monkeypatch.setattr(plan, "seen", facts.__getitem__)
    monkeypatch.setattr(device, "boards", lambda asked: dict(enumerate(names)))


def test_a_run_over_the_boards_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "GPU-a", "GPU-b")
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    stand_in(monkeypatch, fake_device.HANDLERS)
    monkeypatch.setattr(plan, "find_entries", lambda *_: entries(3))
    options = Options(tmp_path / "cache", tmp_path / "results", tmp_path, 1)
    (tmp_path / "cache").mkdir()
    with plan.prepare(options, plan.Request(devices="all", processes=2)) as made:
        assert made.timed
        assert made.run.machine.gpu_uuid == "GPU-a+GPU-b"
        assert made.run.copy_gbps is None
        found = records(made.session.events())
        run = made.ended(made.run)
    # As the first process of the first board measured it, of this board or, where those of the
    # second were sooner, behind one or both of them.
    assert run.copy_gbps in {1000.0, 2000.0, 3000.0}
    assert [(d.name, d.opening) for d in made.devices] == [
        (name, OpenDevice()) for name in ("GPU-a", "GPU-b")
    ]
    assert sorted(found) == ["g0", "g1", "g2"]
    assert all([s.process for s in k.sets] == [0, 1] for g in found.values() for k in g.kernels)
    assert run.state is not None
    assert run.state.throttled
    kept = json.loads((tmp_path / "results" / "fake" / "boards.json").read_text())
    assert set(kept["graphs"].values()) == {"GPU-a", "GPU-b"}


def test_a_board_that_cannot_be_taken_ends_the_run() -> None:
    busy, other = FakeBoard("GPU-a", dies=0, found=()), FakeBoard("GPU-b")
    with pytest.raises(NoDevice, match="cannot be used"):
        records(fleet([busy, other], 4).events())


def test_boards_processes_are_started_before_their_names_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Process] = []
    start = Process.started

    def starting(*given: Any) -> Process:
        started.append(start(*given))
        return started[-1]

    def boards(asked: str) -> dict[int, str]:
        assert len(started) == 2
        return dict(enumerate(("GPU-a", "GPU-b", "GPU-c")))

    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).mkdir(parents=True)
    monkeypatch.setattr(plan, "_DEVICES", tmp_path / "dev")
    monkeypatch.setattr(Process, "started", starting)
    monkeypatch.setattr(jobs, "_WORKER", fake_device.HERE)
    see(monkeypatch, "GPU-a", "GPU-b", "GPU-c")
    monkeypatch.setattr(device, "boards", boards)
    stand_in(monkeypatch, fake_device.HANDLERS)
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    (tmp_path / "cache").mkdir()
    asked = plan.Request(names=("moe_router_forward",), devices="all")
    with plan.prepare(options, asked) as found:
        assert found.run.machine.gpu_uuid == "GPU-a+GPU-b+GPU-c"
        for board in found.session.boards:  # type: ignore[union-attr]
            board.worker.open()
        assert len(started) == 3, "of those that were not listed"
    started.clear()
    monkeypatch.setattr(device, "boards", lambda asked: {1: "GPU-b"})
    with plan.prepare(options, replace(asked, devices="1")) as found:
        assert (found.run.machine.gpu_uuid, len(started)) == ("GPU-b", 1)


def test_boards_are_taken_meanwhile_unless_that_has_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "GPU-a", "GPU-b")
    taken: list[str] = []
    monkeypatch.setattr(CudaDevice, "take", lambda board: taken.append(board.name))
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 1)
    (tmp_path / "cache").mkdir()
    asked = plan.Request(names=("moe_router_forward",), devices="all", patient=True)
    with plan.prepare(options, asked):
        assert not taken, "nights time pairs there, with processes of their own"
    with plan.prepare(options, replace(asked, patient=False)):
        assert taken == ["GPU-a", "GPU-b"]


def test_boards_compare_compilers_each_on_its_own_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = fake_device.HANDLERS | fake_worker.ON_BOARDS
    see(monkeypatch, "GPU-a", "GPU-b")
    monkeypatch.setattr(CudaDevice, "missing", lambda *_: [])
    stand_in(monkeypatch, handlers)
    order: list[str] = []

    def pool(*given: Any, **named: Any) -> PeerPool:
        order.append("other compilers start")
        assert named["on"].opening == OpenDevice(quick=True)
        return PeerPool(*given, **named)

    def generating(*given: Any, **named: Any) -> Any:
        order.append("code is generated")
        return all_generated(*given, **named)

    monkeypatch.setattr(peers, "PeerPool", pool)
    monkeypatch.setattr(ahead, "all_generated", generating)
    graphs = [
        replace(one, full=replace(one.full, regions=(Comparable(one.name, "# text"),)))
        for one in entries(4)
    ]
    monkeypatch.setattr(plan, "find_entries", lambda *_: graphs)
    options = Options(tmp_path / "cache", tmp_path / "results", tmp_path, 1)
    (tmp_path / "cache").mkdir()
    asked = plan.Request(devices="all", processes=2, against=("eager", "inductor"), quick=True)
    with plan.prepare(options, asked) as made:
        found = records(made.session.events())
        assert all(board.where.opening.quick for board in made.session.boards)
    assert order == ["other compilers start"] * 2 + ["code is generated"]
    homes = json.loads((tmp_path / "results/fake/boards.json").read_text())["graphs"]
    assert set(homes.values()) == {"GPU-a", "GPU-b"}
    for name, graph in found.items():
        assert [row.compiler for row in graph.regions] == ["user", "eager", "inductor"]
        for row in graph.regions:
            assert [s.process for s in row.sets] == [0, 1]
            assert {s.method for s in row.sets} == {homes[name]}, "timed on the graph's own board"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (plan.Request(devices="all", timing=False), "--no-timing"),
        (plan.Request(devices="0", workers="tcp://x:1"), "--devices with --workers"),
    ],
)
def test_what_several_boards_cannot_do(asked: plan.Request, said: str, tmp_path: Path) -> None:
    options = Options(tmp_path, tmp_path, ROOT / "suites", 1)
    failed = pytest.raises(UsageError, match="does not go with several GPUs")
    with failed as error, plan.prepare(options, asked):
        pass
    assert error.value.got == said


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_real_boards_time_graphs_and_pairs(tmp_path: Path) -> None:
    options = Options(tmp_path / "cache", tmp_path / "results", ROOT / "suites", 8)
    names = ("channels_last_forward", "fp8_rowwise_forward")
    with plan.prepare(options, plan.Request(names=names, devices="all", processes=2)) as made:
        found = records(made.session.events())
        kernels = [kernel for graph in found.values() for kernel in graph.kernels]
        assert all(k.check.name == "PASSED" and len(k.sets) == 2 for k in kernels)
        (path,) = options.results.glob("*/boards.json")
        assert len(set(json.loads(path.read_text())["graphs"].values())) == 2
        timed = [(TimedKernel(k.module, k.config),) for k in kernels]
        work = [KernelPair(one, one) for one in timed]
        paired = time_pairs(work, Effort(2), options.cache, 8, devices=made.devices)
    assert [len(outcomes) for outcomes in paired.outcomes] == [2] * len(work)
    assert paired.device.machine.gpu_uuid == made.run.machine.gpu_uuid
    for (a, b), kernel in zip(
        ((o[0].a.median, o[0].b.median) for o in paired.outcomes), kernels, strict=True
    ):
        assert a == pytest.approx(b, rel=0.2) and a == pytest.approx(kernel.ms, rel=0.5)
