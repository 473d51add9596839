"""Decisions by measurement: what is compiled both ways, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.backend import Compiler, Devices
from harness.decisions import UNDECIDED
from harness.dtypes import DType
from harness.graph.model import TEMPLATES, Graph
from harness.graph.replay import random_inputs, replay
from harness.graph.text import load
from harness.measure.deciding import NOTHING_TIMED, decided
from harness.pipeline import compile_graph
from harness.records.run import GraphRecord, from_json, to_json
from harness.records.timing import Launch, Samples, Work
from harness.records.trials import LibraryCall, Outcome, Way
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


def test_kernels_that_no_decision_concerns_are_not_timed() -> None:
    """Several kernels of an accumulating scatter write one buffer."""
    build = GraphBuilder()
    x, rows = build.input("x", (8, 64)), build.input("rows", (4096, 64))
    total = build.call("aten.sum.dim_IntList", build.input("y", (64, 2048)), (1,))
    places = build.input("places", (4096,), DType.I64)
    added = build.call("aten.index_add.default", x, 0, places, rows)
    asked: list[str] = []

    def choose(ways: Sequence[Way]) -> Outcome:
        asked.extend(way.name for way in ways)
        return Outcome(0, "timed", (0.001, 0.002))

    decided(build.graph(added, total), H100, choose, loops=True, fusion=True)
    assert asked == ["one block", "loop"]


def test_kernels_are_taken_apart_as_far_as_that_is_faster() -> None:
    graph = load(GRAPHS / "small" / "bert_layer_backward.py")
    rounds: list[int] = []

    def once(ways: Sequence[Way]) -> Outcome:
        rounds.append(len(ways[1].steps))
        return Outcome(int(len(rounds) == 1), "timed", (0.002, 0.001))

    decisions, _ = decided(graph, H100, once, loops=False, fusion=True)
    before, after = (len(compile_graph(graph, H100, d).launches) for d in (UNDECIDED, decisions))
    assert after == before + 1
    assert set(rounds) == {2}


def generated() -> Graph:
    """A product that may be a kernel, a residual added to it, and the sums of the rows."""
    build = GraphBuilder()
    x, w = (build.input(n, s, DType.F16) for n, s in (("x", (2, 512, 96)), ("w", (96, 512))))
    b, c = build.input("b", (512,), DType.F16), build.input("c", (2, 512, 512))
    flat = build.call("aten.view.default", x, (1024, 96))
    made = build.call("aten.addmm.default", b, flat, w)
    apart = build.call("aten.view.default", made, (2, 512, 512))
    moved = build.call("aten.add.Tensor", apart, c)
    graph = build.graph(moved, build.call("aten.sum.dim_IntList", moved, (2,)))
    return replace(graph, facts=(TEMPLATES,))


@pytest.mark.parametrize("place", [0, 1])
def test_products_are_kernels_where_that_is_faster_with_all_that_it_changes(place: int) -> None:
    asked: list[Sequence[Way]] = []
    choose = taken(place)
    graph = generated()
    decisions, told = decided(
        graph, H100, lambda w: asked.append(w) or choose(w), False, False, products=True
    )
    ((library, kernel),) = asked
    assert [type(step) for step in library.steps] == [LibraryCall, str]
    call = library.steps[0]
    assert isinstance(call, LibraryCall) and call.operator == "addmm"
    assert call.tensors[1] == ("float16", (1024, 96), (96, 1))
    assert call.tensors[-1] == ("float16", (1024, 512), (512, 1))
    # What the call wrote, the kernel after it reads; the sums of the rows are timed, too.
    assert library.arguments[0][-1] in library.arguments[1]
    assert [step.split("CATEGORY")[1][4:7] for step in kernel.steps] == ["tem", "per"]
    assert f"{library.name} 1.0 µs or kernel 2.0 µs: {asked[0][place].name} (timed)" in told[0]
    made = compile_graph(graph, H100, decisions)
    assert [c.node.packet for c in made.library_calls] == ["addmm"] * (not place)
    assert compile_graph(graph, H100, made.decisions).library_calls == made.library_calls


def test_products_whose_kernels_cannot_be_generated_stay_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "harness.measure.deciding.compile_graph",
        lambda graph, _: SimpleNamespace(failures=("why",) * (TEMPLATES in graph.facts)),
    )
    decisions, told = decided(generated(), H100, pytest.fail, False, False, products=True)
    assert len(decisions.library) == 1
    assert told == ("products: library (some kernels cannot be generated)",)


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_products_of_both_kinds_follow_each_other(
    places: tuple[int, int], devices: Devices
) -> None:
    """The second reads what the first one's kernels have made of it."""
    build = GraphBuilder()
    x, w, v = (
        build.input(name, shape, DType.F16)
        for name, shape in (("x", (512, 64)), ("w", (64, 256)), ("v", (256, 256)))
    )
    y = build.call("aten.mm.default", x, w)
    scaled = build.call("aten.mul.Tensor", build.call("aten.erf.default", y), y)
    z = build.call("aten.mm.default", scaled, v)
    graph = build.graph(build.call("aten.relu.default", z), scaled)
    graph = replace(graph, facts=(TEMPLATES,))
    answers = iter(places)
    decisions, told = decided(
        graph, H100, lambda _: Outcome(next(answers), "timed"), False, False, products=True
    )
    assert len(told) == 2
    made = compile_graph(graph, H100, decisions)
    assert len(made.library_calls) == 1
    assert sum(la.plan.category is Category.TEMPLATE for la in made.launches) == 1
    inputs = random_inputs(graph, torch.device("cpu"))
    found = run_graph(made, inputs, devices._on_cpu, "cpu")
    want = replay(graph, inputs, torch.device("cpu"), float64=True)
    for one, right in zip(found, want, strict=True):
        assert one is not None and right is not None
        torch.testing.assert_close(one.double(), right, rtol=4e-3, atol=0.2)


def test_layers_that_are_alike_are_asked_about_once_what_is_not_generated_never() -> None:
    build = GraphBuilder()
    x = build.input("x", (1024, 512), DType.BF16)
    for number in range(5):  # those in the middle are alike
        w = build.input(f"w{number}", (512, 512), DType.BF16)
        x = build.call("aten.relu.default", build.call("aten.mm.default", x, w))
    graph = replace(build.graph(x), facts=(TEMPLATES,))
    asked: list[Sequence[Way]] = []
    choose = taken(1)
    args = (H100, lambda w: asked.append(w) or choose(w), False, False)
    assert decided(graph, *args, products=True)[0].library == frozenset()
    assert len(asked) == 3
    assert decided(replace(graph, facts=()), *args, products=True) == (UNDECIDED, ())
    assert len(asked) == 3


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
    assert [len(way.steps) for way in ways] == [1, 2]
    timer = Timed({"0": 0.2, "1": 0.1})
    assert chooser(timer, tmp_path).choose(ways) == Outcome(1, "timed", (0.2, 0.1))
    assert chooser(Timed({}), tmp_path).choose(ways) == Outcome(1, "timed", (0.2, 0.1))
    # What the first kernel writes is what the second one reads.
    apart = timer.seen["1"]
    assert len({t.data_ptr() for t in apart}) < len(apart)


def test_a_library_call_is_timed_in_the_memory_of_what_follows(tmp_path: Path) -> None:
    asked: list[Sequence[Way]] = []
    choose = taken(0)
    decided(generated(), H100, lambda w: asked.append(w) or choose(w), False, False, True)
    timer, seen = Timed({"0": 0.2, "1": 0.1}), torch.get_rng_state()
    assert chooser(timer, tmp_path).choose(asked[0]).taken == 1
    assert torch.equal(torch.get_rng_state(), seen)  # a program's random numbers are its own
    bias, x, w, made, *kernel = timer.seen["0"]
    torch.testing.assert_close(made, torch.addmm(bias, x, w))
    assert made.data_ptr() in {tensor.data_ptr() for tensor in kernel}
    # Kept by its contents: another call is another question.
    assert chooser(Timed({}), tmp_path).choose(asked[0]).ms == (0.2, 0.1)
    call, *rest = asked[0][0].steps
    assert isinstance(call, LibraryCall)
    other = replace(asked[0][0], steps=(replace(call, numbers=(("beta", 0.0),)), *rest))
    asked_again = chooser(Timed({"0": 0.1, "1": 0.2}), tmp_path).choose([other, asked[0][1]])
    assert asked_again == Outcome(0, "timed", (0.1, 0.2))


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


@pytest.mark.parametrize("place", [0, 1, None])
def test_products_are_the_librarys_unless_timing_says_otherwise(
    place: int | None, devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = None if place is None else taken(place)
    monkeypatch.setattr(Devices, "chooser", lambda _self, _device: choose)
    torch._dynamo.reset()
    compiler = Compiler(devices=devices, templates="timed")
    torch.manual_seed(0)
    x, w = torch.randn(1024, 64).bfloat16(), torch.randn(64, 512).bfloat16()
    made = torch.compile(lambda x, w: (x @ w).float().relu() + 1, backend=compiler)(x, w)
    right = (x.double() @ w.double()).relu() + 1
    torch.testing.assert_close(made.double(), right, rtol=1e-2, atol=1e-2)
    (report,) = compiler.reports
    assert report.library_call_count == (place != 1)
    told = "library (timed)" if place == 0 else "kernel (timed)" if place else NOTHING_TIMED
    assert told in report.choices[0]


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
