"""Decisions by measurement: what is compiled both ways, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.backend import Compiler, Devices
from harness.decisions import UNDECIDED
from harness.graph.model import Graph
from harness.graph.replay import random_inputs, replay
from harness.graph.text import load
from harness.measure.deciding import NOTHING_TIMED, decided
from harness.pipeline import compile_graph
from harness.records.run import GraphRecord, from_json, to_json
from harness.records.timing import Launch, Samples, Work
from harness.records.trials import Outcome, Way
from harness.report.kernels import graph_blocks
from harness.runtime import module as modules
from harness.runtime.tune.autotune import Settings
from harness.runtime.tune.choosing import Chooser
from harness.runtime.tune.tuning_cache import TuningCache
from harness.session.entries import FileEntry, GraphFile
from harness.target import H100, Target
from harness.tiling.plan import Category
from tests.graph.building import GraphBuilder
from tests.running import run_graph
from tests.test_whole_graphs import GRAPHS


def normalised(rows: int, columns: int) -> Graph:
    """Each row over its sum, and what that is on average: one kernel."""
    build = GraphBuilder()
    x = build.input("x", (rows, columns))
    total = build.call("aten.sum.dim_IntList", x, (1,), True)
    ratio = build.call("aten.div.Tensor", x, total)
    return build.graph(ratio, build.call("aten.amax.default", ratio, (1,)))


def taken(place: int) -> Any:
    return lambda ways: Outcome(place, "timed", tuple(0.001 * (n + 1) for n in range(len(ways))))


def test_a_block_and_a_loop_are_both_compiled_and_the_answer_decides() -> None:
    graph = normalised(64, 2048)
    asked: list[Sequence[Way]] = []

    def loop(ways: Sequence[Way]) -> Outcome:
        asked.append(ways)
        return Outcome(1, "timed", (0.002, 0.001))

    decisions, told = decided(graph, H100, loop, loops=True, fusion=False)
    assert [[way.name for way in ways] for ways in asked] == [["one block", "loop"]]
    assert "one block 2.0 µs or loop 1.0 µs: loop (timed)" in told[0]
    kinds = [la.plan.category for la in compile_graph(graph, H100, decisions).launches]
    assert kinds == [Category.REDUCTION]
    assert decided(graph, H100, taken(0), loops=True, fusion=True)[0] is UNDECIDED


@pytest.mark.parametrize(
    ("columns", "turned", "questions"),
    [
        (100, False, 0),
        (300, False, 1),
        (12000, False, 1),
        (20000, False, 0),
        (300, True, 1),
        (64, True, 0),
        (3000, True, 0),
    ],
)
def test_what_is_obvious_is_not_timed(columns: int, turned: bool, questions: int) -> None:
    """Short rows fit a loop's smallest block; of long ones a block would hold too much."""
    build = GraphBuilder()
    x = build.input("x", (columns, 100_000) if turned else (640, columns))
    graph = build.graph(build.call("aten.sum.dim_IntList", x, (0 if turned else 1,)))
    _, told = decided(graph, H100, taken(0), loops=True, fusion=False)
    assert len(told) == questions


def test_kernels_are_taken_apart_as_far_as_that_is_faster() -> None:
    graph = load(GRAPHS / "small" / "bert_layer_backward.py")
    rounds: list[int] = []

    def once(ways: Sequence[Way]) -> Outcome:
        rounds.append(len(ways[1].module_texts))
        return Outcome(int(len(rounds) == 1), "timed", (0.002, 0.001))

    decisions, _ = decided(graph, H100, once, loops=False, fusion=True)
    before, after = (len(compile_graph(graph, H100, d).launches) for d in (UNDECIDED, decisions))
    assert after == before + 1
    assert set(rounds) == {2}


@dataclass
class Timed:
    """A timer that is told how long launches take, and which tensors they got."""

    ms: dict[str, float]
    width: float = 0.01
    stopped: str = "width"
    seen: dict[str, list[Any]] = field(default_factory=dict)

    def compare(self, launches: Mapping[str, Launch], _budget: float) -> dict[str, Samples]:
        for name, launch in launches.items():
            assert isinstance(launch, Work)
            self.seen[name] = list(launch.args)
            launch()
        half = self.width / 2
        return {
            name: Samples(
                (ms,) * 5, low=ms * (1 - half), high=ms * (1 + half), stopped=self.stopped
            )
            for name, ms in self.ms.items()
        }


def both_ways(graph: Graph) -> list[Way]:
    """Fused and apart."""
    asked: list[Sequence[Way]] = []
    decided(graph, H100, lambda ways: asked.append(ways) or Outcome(0, ""), False, True)
    return list(asked[0])


@dataclass
class Kernels:
    """Kernels that do nothing when they are launched, and spill so many registers one by one."""

    spills: list[int]
    target: Target = H100
    timer: None = None
    settings: Settings = field(default_factory=Settings)
    seen: list[str] = field(default_factory=list)

    def prefetch(self, texts: Iterable[str]) -> None:
        self.seen.extend(texts)

    def get(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(loaded=modules.load(text), chosen=lambda _args: Idle(self.spills))


@dataclass
class Idle:
    spills: list[int]

    def resources(self) -> SimpleNamespace:
        return SimpleNamespace(spills=self.spills.pop(0))

    def __call__(self, args: Sequence[Any]) -> None:
        assert all(isinstance(arg, torch.Tensor) for arg in args)


def chooser(timer: Any, folder: Path, spills: Sequence[int] = (0, 0, 0)) -> Chooser:
    kernels: Any = Kernels(list(spills))
    return Chooser(kernels, timer, TuningCache(folder, (("name", "none"),)), "cpu")


def test_the_faster_way_is_taken_and_remembered(tmp_path: Path) -> None:
    ways = both_ways(normalised(64, 512))
    assert [len(way.module_texts) for way in ways] == [1, 2]
    timer = Timed({"0": 0.2, "1": 0.1})
    assert chooser(timer, tmp_path).choose(ways) == Outcome(1, "timed", (0.2, 0.1))
    assert chooser(Timed({}), tmp_path).choose(ways) == Outcome(1, "timed", (0.2, 0.1))
    # What the first kernel writes is what the second one reads.
    apart = timer.seen["1"]
    assert len({t.data_ptr() for t in apart}) < len(apart)


@pytest.mark.parametrize(
    ("timer", "spills", "place", "why"),
    [
        (Timed({"0": 0.2, "1": 0.199}), (0, 0, 0), 0, "timed"),
        (Timed({"0": 0.2, "1": 0.1}, stopped="disturbed"), (0, 0, 0), 0, "disturbed"),
        (Timed({"0": 0.1, "1": 0.2}), (400, 0, 0), 1, "spills"),
        (Timed({"0": 0.2, "1": 0.1}), (0, 0, 400), 0, "spills"),
    ],
    ids=["within the noise", "disturbed", "fused spills", "apart spills"],
)
def test_what_is_not_faster_for_sure_is_not_taken(
    timer: Timed, spills: Sequence[int], place: int, why: str, tmp_path: Path
) -> None:
    found = chooser(timer, tmp_path, spills).choose(both_ways(normalised(64, 512)))
    assert found.taken == place
    assert why in found.why


def test_the_backend_decides_on_real_tensors_before_it_compiles(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = Timed({"0": 0.2, "1": 0.1})
    given = chooser(timer, tmp_path, (0,) * 12)
    monkeypatch.setattr(Devices, "chooser", lambda _self, _device: given.choose)
    torch._dynamo.reset()
    compiler = Compiler(devices=devices, multi_kernel=True, timed_fusion=True)
    x = torch.randn(4, 300)
    made = torch.compile(lambda t: (t.softmax(1), t.sum(0)), backend=compiler)(x)
    torch.testing.assert_close(made, (x.softmax(1), x.sum(0)))
    assert all(type(t) is torch.Tensor for seen in timer.seen.values() for t in seen)
    assert "apart (timed)" in "".join(compiler.reports[0].choices)
    before = Compiler(devices=devices)
    torch._dynamo.reset()
    torch.compile(lambda t: (t.softmax(1), t.sum(0)), backend=before)(x)
    assert compiler.reports[0].launches > before.reports[0].launches


@pytest.mark.parametrize("place", [0, 1])
def test_whatever_is_decided_the_results_are_the_graphs(place: int, devices: Devices) -> None:
    graph = normalised(6, 300)
    decisions, _ = decided(graph, H100, taken(place), loops=True, fusion=True)
    made = compile_graph(graph, H100, decisions)
    kinds = [la.plan.category for la in made.launches]
    assert kinds == (
        [Category.REDUCTION, Category.POINTWISE, Category.REDUCTION] if place else [kinds[0]]
    )
    inputs, own = (random_inputs(graph, torch.device("cpu")) for _ in range(2))
    found = run_graph(made, inputs, devices._on_cpu, "cpu")
    want = replay(graph, own, torch.device("cpu"))
    torch.testing.assert_close(found, want, rtol=2e-5, atol=1e-4)


def test_a_reduction_into_an_input_is_decided_like_others() -> None:
    build = GraphBuilder()
    x = build.input("x", (64, 2048))
    total = build.call("aten.sum.dim_IntList", x, (1,), True)
    graph = build.graph(total, mutations=((x, build.call("aten.div.Tensor", x, total)),))
    decisions, told = decided(graph, H100, taken(1), loops=True, fusion=False)
    assert decisions.loops == {total.name: True, x.name: True} and told


def test_without_a_gpu_the_report_says_that_nothing_was_timed(devices: Devices) -> None:
    torch._dynamo.reset()
    compiler = Compiler(devices=devices, multi_kernel=True, timed_fusion=True)
    x = torch.randn(4, 300)
    torch.testing.assert_close(
        torch.compile(lambda t: t.softmax(1), backend=compiler)(x), x.softmax(1)
    )
    assert compiler.reports[0].choices == (NOTHING_TIMED,)
    assert NOTHING_TIMED in str(compiler.reports[0])


def test_nothing_is_made_to_time_where_nothing_is_asked(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Devices, "chooser", lambda *_: pytest.fail("a timer nobody asked for"))
    run = torch.compile(lambda x: x * 2, backend=Compiler(devices=devices, fail_on_fallback=True))
    x = torch.randn(8)
    torch.testing.assert_close(run(x), x * 2)


def test_a_timer_made_while_compiling_has_real_memory(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is traced are tensors without memory; the timer empties the cache with its own."""
    made: list[torch.Tensor] = []
    monkeypatch.setattr("harness.backend.CudaTimer", lambda: made.append(torch.zeros(3)))
    monkeypatch.setattr("harness.backend.device_identity", lambda _index: ())
    monkeypatch.setattr(Devices, "_on_cuda", lambda _self, _device: None)
    with FakeTensorMode():
        assert devices.chooser(torch.device("cuda:0")) is not None
    assert [type(tensor) for tensor in made] == [torch.Tensor]
    assert Devices(tuning=Settings(deterministic=True)).chooser(torch.device("cuda:0")) is None


def test_a_run_decides_and_its_record_says_so() -> None:
    """``harness run --decide``: an entry asks the device, the table shows what came of it."""
    file = GraphFile("norm", GRAPHS / "bert_layer_forward.py", None)
    entry = FileEntry(file, H100, taken(1), decides=True)
    made, plain = entry.compile(), FileEntry(file, H100).compile()
    assert len(made.kernels) > len(plain.kernels)
    assert not plain.choices
    assert any("or apart" in choice for choice in made.choices)
    record = GraphRecord("norm", choices=made.choices)
    assert from_json(GraphRecord, to_json(record), "here") == record
    shown = "".join(str(block) for block in graph_blocks([record], timed=False))
    assert "timed both ways" in shown
    assert FileEntry(file, H100, None, decides=True).compile().choices == (NOTHING_TIMED,)
