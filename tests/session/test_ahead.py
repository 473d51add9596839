"""Code of the next graphs is generated, and compiled by all compilers, beside what is timed."""

from __future__ import annotations

import functools
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from harness.codegen.source import EmittedModule
from harness.errors import CompileFailed, HarnessError, WorkerDied
from harness.heuristics.facts import Config
from harness.measure.jobs import Timing
from harness.measure.peers.jobs import Comparable
from harness.records.run import GraphRecord, KernelRecord
from harness.session import ahead
from harness.session.entries import FileEntry, GraphFile, UserEntry
from harness.session.model import Compiled
from harness.target import H100, H200
from tests.measure.fakes import FakeDevice, FakeEntry, FakePeers, compiled, module, session
from tests.session.test_session import SMALL_A, A, B, finished

ROOT = Path(__file__).resolve().parents[2]


def test_the_next_graphs_are_compiled_while_one_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    compiling, seen = threading.Event(), []

    class Device(FakeDevice):
        def compile(self, jobs: Sequence[str]) -> None:
            super().compile(jobs)
            if jobs == [B.name]:
                compiling.wait(60)  # goes on until the first graph has been timed

        def time(self, module: EmittedModule) -> Timing:
            seen.append((module.name, A.name in self.prepared))
            compiling.set()
            return super().time(module)

    entries = [FakeEntry("x", compiled(A)), FakeEntry("bad", CompileFailed("no"))]
    run = session(*entries, FakeEntry("y", compiled(B)), device=Device())
    assert list(finished(run)) == ["x", "bad", "y"] and compiling.is_set()
    assert seen == [(A.name, True), (B.name, True)]


def test_code_is_generated_while_a_block_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    generated, seen = threading.Event(), []

    class Last(FakeEntry):
        def compile(self) -> Compiled:
            generated.set()
            return super().compile()

    class Device(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            seen.append((module.name, generated.wait(300)))
            return super().time(module)

    entries = [FakeEntry("x", compiled(A)), FakeEntry("y", compiled(B))]
    run = session(*entries, Last("z", compiled(SMALL_A)), device=Device())
    assert list(finished(run)) == ["x", "y", "z"]
    assert seen == [(A.name, True), (B.name, True), (SMALL_A.name, True)]


def test_two_blocks_are_begun_beside_the_one_that_is_examined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    begun: list[int] = []
    third = threading.Event()

    class Device(FakeDevice):
        def missing(self, modules: Sequence[EmittedModule], given: Any) -> Any:
            begun.append(len(modules))
            if len(begun) == 3:
                third.set()
            return super().missing(modules, given)

    entries = [FakeEntry(str(n), compiled(*[A] * (1 + n))) for n in range(4)]
    blocks = cast(Any, ahead.compiled_ahead(entries, cast(Any, Device()), None))
    assert [entry.name for entry, _ in next(blocks)[0]] == ["0"]
    assert third.wait(300), "nobody asks for the second block yet"
    blocks.close()
    assert begun[:3] == [1, 2, 3]


def test_past_its_end_no_compiler_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling, left, ended = threading.Event(), threading.Event(), threading.Event()

    class Device(FakeDevice):
        def compile(self, jobs: Sequence[str]) -> None:
            compiling.set()
            left.wait(300)
            ended.set()

    def waited(*given: Any) -> Any:
        assert compiling.wait(300)
        return wait(*given)

    monkeypatch.setattr(ahead, "wait", waited)
    run = session(FakeEntry("x", compiled(A)), device=Device())
    run.until = time.monotonic() + 0.2
    assert finished(run) == {}
    assert not ended.is_set()
    left.set()


def test_the_first_blocks_are_smaller_so_that_timing_begins_sooner() -> None:
    entries = [FakeEntry(str(n), compiled(A)) for n in range(150)]
    blocks = ahead.compiled_ahead(entries, cast(Any, FakeDevice()), None)
    assert [len(block) for block, _ in blocks] == [16, 32, 64, 38]


def test_after_leaving_early_no_code_is_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 2)
    began, left, made = threading.Event(), threading.Event(), []

    class Slow(FakeEntry):
        def compile(self) -> Compiled:
            made.append(self.name)
            if self.name == "3":  # of the block that is generated while the first is examined
                began.set()
                left.wait(300)
            return super().compile()

    entries = [Slow(str(n), compiled(A)) for n in range(9)]
    before = {*threading.enumerate()}
    blocks = cast(Any, ahead.compiled_ahead(entries, cast(Any, FakeDevice()), None))
    assert [entry.name for entry, _ in next(blocks)[0]] == ["0"]
    assert began.wait(300)
    blocks.close()
    left.set()
    for thread in {*threading.enumerate()} - before:
        thread.join(300)
    assert made == ["0", "1", "2", "3"]


def test_other_compilers_compile_the_next_graphs_while_one_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    comparing, prepared, log = threading.Event(), set[str](), []

    class Peers(FakePeers):
        def prepare(self, work: Sequence[Comparable]) -> None:
            if work and work[0].name == "y":
                comparing.wait(60)  # goes on until the first graph is compared
            prepared.update(one.name for one in work)

        def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[Any, ...]:
            log.append((one.name, one.name in prepared))
            comparing.set()
            return super().compare(one, configs)

    entries = [
        FakeEntry(name, replace(compiled(made), regions=(Comparable(name, made.text),)))
        for name, made in (("x", A), ("y", B), ("z", SMALL_A))
    ]
    graphs = finished(session(*entries, device=FakeDevice(), peers=Peers()))
    assert log == [("x", True), ("y", True), ("z", True)] and comparing.is_set()
    assert [len(graph.regions) for graph in graphs.values()] == [3, 3, 3]


def test_kernels_are_timed_while_other_compilers_are_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They take longer to start. Three blocks that wait for them are enough."""
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    third, log = threading.Event(), list[str]()

    class Device(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            log.append(f"time {module.name}")
            if len(log) == 4:  # the third block: they have one kernel, two, one, one
                third.set()
            return super().time(module)

    class Peers(FakePeers):
        def prepare(self, work: Sequence[Comparable]) -> None:
            assert third.wait(60)

        def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[Any, ...]:
            log.append(f"compare {one.name}")
            return super().compare(one, configs)

    names = [f"k{n}" for n in range(5)]
    entries = [
        FakeEntry(n, replace(compiled(module(n)), regions=(Comparable(n, "text"),))) for n in names
    ]
    graphs = finished(session(*entries, device=Device(), peers=Peers()))
    assert sorted(graphs) == names and all(len(g.regions) == 3 for g in graphs.values())
    order = [log.index(f"time {module(n).name}") for n in names]
    compared = [number for number, line in enumerate(log) if "compare" in line]
    assert order[:4] == [0, 1, 2, 3] and compared[0] < order[4]
    assert sorted(log[number] for number in compared) == [f"compare {n}" for n in names]


def test_a_graph_that_takes_other_compilers_long_holds_up_no_other_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 1)
    monkeypatch.setattr(ahead, "_KERNELS", 1)
    compared, others = list[str](), threading.Event()

    class Peers(FakePeers):
        def prepare(self, work: Sequence[Comparable]) -> None:
            assert "k0" not in {one.name for one in work} or others.wait(60)

        def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[Any, ...]:
            compared.append(one.name)
            if one.name == "k3":  # three blocks after the one that waits
                others.set()
            return super().compare(one, configs)

    entries = [
        FakeEntry(n, replace(compiled(module(n)), regions=(Comparable(n, "text"),)))
        for n in (f"k{n}" for n in range(7))
    ]
    graphs = finished(session(*entries, device=FakeDevice(), peers=Peers()))
    assert len(graphs) == 7 and all(len(g.regions) == 3 for g in graphs.values())
    assert compared.index("k3") < compared.index("k0")


def test_a_block_is_compared_while_the_next_is_timed_once_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that is cut short then has few graphs that were timed and not compared."""
    monkeypatch.setattr(ahead, "_FIRST_KERNELS", 2)  # so that the second block has four
    second, ready, log = threading.Event(), threading.Event(), list[str]()

    class Watched(ThreadPoolExecutor):
        def submit(self, work: Any, /, *given: Any, **named: Any) -> Any:
            future = super().submit(work, *given, **named)
            if isinstance(work, functools.partial) and "k0" in {r.name for r in work.args[0]}:
                future.add_done_callback(lambda _: ready.set())
            return future

    class Device(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            if module.name == "k2":
                second.set()
            if module.name == "k3":
                assert ready.wait(60)
            log.append(f"time {module.name}")
            return super().time(module)

    class Peers(FakePeers):
        def prepare(self, work: Sequence[Comparable]) -> None:
            assert "k0" not in {one.name for one in work} or second.wait(60)

        def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[Any, ...]:
            log.append(f"compare {one.name}")
            return super().compare(one, configs)

    monkeypatch.setattr(ahead, "ThreadPoolExecutor", Watched)
    entries = [
        FakeEntry(n, replace(compiled(module(n)), regions=(Comparable(n, "text"),)))
        for n in (f"k{n}" for n in range(6))
    ]
    assert len(finished(session(*entries, device=Device(), peers=Peers()))) == 6
    assert log.index("compare k0") < log.index("time k4") < log.index("compare k2")


@pytest.mark.parametrize("ended", [True, False])
def test_at_the_end_no_compiler_that_is_waited_for_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, *, ended: bool
) -> None:
    """A cancelled one is never done: whoever compares would wait for ever."""
    cancelled = []

    class Watched(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            cancelled.append((self._max_workers, cancel_futures))
            super().shutdown(wait, cancel_futures=cancel_futures)

    monkeypatch.setattr(ahead, "ThreadPoolExecutor", Watched)
    blocks: Any = ahead.compiled_ahead([FakeEntry("x", compiled(A))], FakeDevice(), FakePeers())
    next(blocks)
    if ended:
        assert next(blocks, None) is None
    else:
        blocks.close()
    assert cancelled == [(1, True), (8, not ended)]


def test_past_its_end_what_waits_for_other_compilers_is_kept_as_it_was_timed() -> None:
    left = threading.Event()

    class Device(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            run.until = 0.0
            return super().time(module)

    class Peers(FakePeers):
        def prepare(self, work: Sequence[Comparable]) -> None:
            left.wait(300)

    full = replace(compiled(A), regions=(Comparable("x", "text"),))
    run = session(FakeEntry("x", full), device=Device(), peers=Peers())
    run.until = time.monotonic() + 600
    graph = finished(run)["x"]
    left.set()
    assert graph.kernels[0].ms and not graph.regions


def test_a_compiler_that_cannot_start_ends_the_session() -> None:
    class Device(FakeDevice):
        def compile(self, _: Sequence[str]) -> None:
            raise WorkerDied("a worker process could not start")

    with pytest.raises(WorkerDied):
        finished(session(FakeEntry("x", compiled(A)), device=Device()))


def test_what_is_above_code_generation_is_above_this_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [
        one.strip("()").removeprefix("harness.") for one in contracts["contracts"][0]["layers"]
    ]
    above = layers[: layers.index("session")]
    assert sorted(name.removesuffix(".py") for name in ahead.ABOVE) == sorted(above)


def test_a_graph_is_known_by_its_text_and_by_what_is_asked_of_it(tmp_path: Path) -> None:
    path = tmp_path / "g.py"
    path.write_text("x\n")
    entry = FileEntry(GraphFile("g", path, None), H100)
    known = ahead.key(entry)
    assert known == ahead.key(FileEntry(GraphFile("g", path, None), H100))
    assert known != ahead.key(replace(entry, target=H200)) != ahead.key(replace(entry, only=("k",)))
    path.write_text("y\n")
    assert known != ahead.key(entry)
    assert not ahead.key(replace(entry, decides=True)), "times decide"
    assert not ahead.key(UserEntry(path)), "it may import anything"
    path.unlink()
    assert not ahead.key(entry)


def test_what_a_compiler_made_is_known_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = GraphRecord(
        "g", kernels=(KernelRecord("k", "poi", 8, origins=("add_0",), module="x"),)
    )
    with ahead.kept_graphs(tmp_path, "corpus:kind=scatter") as graphs:
        graphs["a"] = record
    with ahead.kept_graphs(tmp_path, "corpus") as graphs:
        assert graphs["a"] == record
    with ahead.kept_graphs(tmp_path, "default") as graphs:
        assert "a" not in graphs
    monkeypatch.setattr(ahead, "generator", lambda: "another")
    with ahead.kept_graphs(tmp_path, "corpus") as graphs:
        assert "a" not in graphs
    (left,) = tmp_path.glob("generated/corpus-*")
    assert "another" in left.name, "one compiler's graphs are kept"


def test_every_file_that_generates_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("codegen/body.py", "heuristics/learned.json", "report/night.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("1\n")
    monkeypatch.setattr(ahead.harness, "__path__", [str(tmp_path)])
    seen = [ahead.generator()]
    for name in ("codegen/body.py", "heuristics/learned.json"):
        (tmp_path / name).write_text("2\n")
        seen.append(ahead.generator())
    (tmp_path / "codegen/body.py").rename(tmp_path / "codegen/other.py")
    seen.append(ahead.generator())
    assert len(set(seen)) == 4
    (tmp_path / "report/night.py").write_text("2\n")
    assert ahead.generator() == seen[-1]


def test_whoever_asks_for_code_generates_it_unless_another_thread_has() -> None:
    given = [FakeEntry(name, compiled()) for name in "abcd"]
    made = list[str]()

    def generating() -> Iterator[Any]:
        for entry in given:
            made.append(entry.name)
            yield entry, HarnessError("no") if entry.name == "b" else entry.full

    entries = ahead.shared(given, generating())  # type: ignore[arg-type]
    assert made == []
    assert entries["c"].compile() is given[2].full and made == ["a", "b", "c"]
    with pytest.raises(HarnessError, match="no"):
        entries["b"].compile()

    with ThreadPoolExecutor(4) as threads:
        assert len(list(threads.map(lambda name: entries[name].compile(), "adcddaad"))) == 8
    assert made == ["a", "b", "c", "d"]
