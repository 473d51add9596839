"""Comparing providers on a region, without a GPU: a fake clock, kernels interpreted."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

from harness.codegen.source import EmittedModule
from harness.devices.job import Context, Unusable
from harness.dtypes import DType
from harness.errors import HarnessError
from harness.executor import Launches
from harness.graph.model import Graph
from harness.graph.partition.regions import partition
from harness.graph.replay import copied, random_inputs, replay, torch_dtype
from harness.graph.text import load
from harness.measure.peers import providers, worker
from harness.measure.peers.jobs import CompareJob, WarmJob, comparables
from harness.measure.peers.pool import PeerPool
from harness.measure.peers.providers import TUNED_OPTIONS, Make, graph_module, maker
from harness.measure.peers.worker import (
    Task,
    compare,
    distance,
    launched_alone,
    region_provider,
    region_task,
    warm,
)
from harness.measure.timer.graph_timer import METHOD_DIRECT
from harness.pipeline import compile_graph
from harness.records.metrics import StaticMetrics
from harness.records.run import Check, RegionRecord
from harness.records.timing import WIDTH
from harness.runtime import module as modules
from harness.runtime.compile.static import CompileJob, compiled_binary, measure
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import H100
from tests.devices.standing_in import stand_in
from tests.graph.building import GraphBuilder
from tests.measure.peers.cpu_worker import HANDLERS, FakeTimer
from tests.running import launched
from tests.runtime import emitted

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from codegen_time import inductor_codegen

SUITES = Path(__file__).parents[3] / "suites" / "graphs"
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """The first region of the smallest graph that has one."""
    return partition(load(SUITES / "small" / "llama_block_forward.py")).regions[0].graph


def compared(graph: Graph, **makers: Make) -> dict[str, RegionRecord]:
    return compare(region_task(graph, CPU), makers, FakeTimer())


def scaled(graph: Graph, factor: float) -> Make:
    """A provider whose results are off by ``factor``."""

    def run(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        return [None if t is None else t * factor for t in replay(graph, tensors, CPU)]

    return lambda _: run


def test_inductor_compiles_ahead_without_memory_for_the_inputs(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a device that this machine has not, and from nothing else when it is compared: what was
    compiled ahead is found again."""
    given: list[Any] = []

    def compiled(_: Any, inputs: list[Any], options: Any) -> Callable[..., Any]:
        given.append((inputs, options))
        return lambda *args: args

    monkeypatch.setattr("torch._inductor.compile", compiled)
    assert not warm(Context(), WarmJob(graph, tuned=True))
    maker("inductor", graph, torch.device("cuda"))([])
    (ahead, tuned), (then, plain) = given
    assert (tuned, plain) == (TUNED_OPTIONS, None)
    for inputs in (ahead, then):
        assert {(type(one), one.device.type) for one in inputs} == {(FakeTensor, "cuda")}
        found = [(list(one.shape), list(one.stride()), one.dtype) for one in inputs]
        kinds = [(item.type.shape, item.type.stride, item.type.dtype) for item in graph.inputs]
        assert found == [(list(a), list(b), torch_dtype(c)) for a, b, c in kinds]


def test_inductor_compiles_ahead_without_the_device(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Others are being timed on the device. What Inductor asks of a loaded kernel is known."""
    inductor = importlib.import_module("torch._inductor.runtime.triton_heuristics")
    loaded = modules.load(emitted.ROW_SUM)
    binary = compiled_binary(loaded, H100, loaded.configs[0])
    (tmp_path / "sum.cubin").write_bytes(binary.cubin)
    kernel = SimpleNamespace(hash="00" * 32, name="sum", cubin_path=str(tmp_path / "sum.cubin"))
    tuner: Any = inductor.CachingAutotuner.__new__(inductor.CachingAutotuner)
    tuner.lock, tuner.triton_meta, tuner.launchers = threading.Lock(), {}, []
    tuner._plugins = ()
    tuner.heuristic_type, registers = inductor.HeuristicType.REDUCTION, list[int]()
    tuner.compile_results = [SimpleNamespace(kernel=kernel)]  # no ``make_launcher``
    tuner._dynamic_scale_rblock = lambda: registers.append(kernel.n_regs)
    folding = importlib.import_module("torch._inductor.fx_passes.joint_graph")
    whole = torch.fx.Graph()
    on = {"dtype": torch.float32, "device": torch.device("cuda")}
    two = whole.call_function(torch.ops.aten.full.default, ([8], 2.0), on)
    whole.output(two)
    folder = folding.UniformValueConstantFolder(torch.fx.GraphModule(torch.nn.Module(), whole))
    folded = list[torch.Tensor]()

    def compiling(*_: Any, **__: Any) -> None:
        tuner.precompile()
        folded.append(folder._deduce_value(two))

    monkeypatch.setattr("torch._inductor.compile", compiling)
    loading = inductor.CachingAutotuner._make_launchers
    assert not warm(Context(), WarmJob(graph))
    (known,) = measure([CompileJob(emitted.ROW_SUM, H100, loaded.configs[0])])
    assert isinstance(known, StaticMetrics) and registers == [known.registers]
    assert not tuner.launchers
    assert [(one.item(), one.device) for one in folded] == [(2.0, CPU)]
    assert two.kwargs == on
    assert inductor.CachingAutotuner._make_launchers is loading, "this process may compare later"
    deducing = folding.UniformValueConstantFolder._deduce_value
    monkeypatch.delattr(inductor.CachingAutotuner, "_make_launchers")
    assert "_make_launchers" in warm(Context(), WarmJob(graph))
    assert folding.UniformValueConstantFolder._deduce_value is deducing, "nor in another torch"


def test_ours_is_compared_with_eager(graph: Graph, interpreter: InterpreterPool) -> None:
    (region,) = compile_graph(graph, H100).regions

    launches = launched(lambda module, args: interpreter.launch(module.text, args))
    found = compared(
        graph,
        harness=lambda _: region_provider(region, launches, CPU, H100),
        eager=maker("eager", graph, CPU),
    )
    assert found["harness"].check is Check.PASSED, found
    assert found["harness"].ms == 7.0
    assert found["eager"].ms == 5.0


def test_launches_are_combined_as_where_the_region_runs(interpreter: InterpreterPool) -> None:
    """Two rotary embeddings of one model: a launch more is what a small one takes."""
    b = GraphBuilder()
    scale = b.call("aten.neg.default", b.input("scale", (1,)))
    scaled = [b.call("aten.mul.Tensor", b.input(f"x{n}", (n,)), scale) for n in (40, 50)]
    (region,) = compile_graph(b.graph(*scaled), H100).regions
    prepared: list[str] = []

    def kernel(module: EmittedModule) -> Callable[..., None]:
        prepared.append(module.category)
        return lambda _stream, *args: interpreter.launch(module.text, args)

    found = compared(
        region.region.graph,
        harness=lambda _: region_provider(region, Launches(kernel), CPU, H100),
        eager=maker("eager", region.region.graph, CPU),
    )
    assert len(region.launches) == 2 and prepared == ["for"]
    assert all(row.check is Check.PASSED for row in found.values())
    ((joined, launches),) = launched_alone(region, H100).distinct()
    assert (joined.category, launches) == ("for", 1)


def test_wrong_and_failing_providers_are_rows(graph: Graph) -> None:
    def failing(_: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        raise HarnessError("no kernels here")

    found = compared(graph, harness=scaled(graph, 1.5), inductor=lambda _: failing)
    assert found["harness"].check is Check.FAILED
    assert found["harness"].max_error == pytest.approx(0.5, abs=0.05)
    assert found["inductor"].reason == "no kernels here"
    assert (found["inductor"].ms, found["inductor"].check) == (None, Check.SKIPPED)


def test_a_wrong_peer_is_named_and_does_not_excuse_us(graph: Graph) -> None:
    found = compared(graph, harness=scaled(graph, 1.0), inductor=scaled(graph, 2.0))
    assert found["harness"].check is Check.PASSED
    assert found["inductor"].check is Check.FAILED
    found = compared(graph, harness=scaled(graph, 1.5), inductor=scaled(graph, 1.0))
    assert found["harness"].check is Check.FAILED


def test_where_all_are_far_from_float64_it_is_the_region(graph: Graph) -> None:
    found = compared(graph, harness=scaled(graph, 1.3), inductor=scaled(graph, 1.25))
    assert found["harness"].check is Check.PASSED
    assert found["inductor"].check is Check.PASSED


def _unsteady(args: Sequence[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """A step of an optimizer, and numbers that 16 bits hold on the way."""
    v, g, x, y = (t.to(dtype) if t.dtype is torch.float32 else t for t in args)
    half = torch.float64 if dtype is torch.float64 else torch.bfloat16
    made = x.to(half).sigmoid().to(dtype) * y.to(half).sigmoid().to(dtype)
    return [g / ((v * 0.95 + g * 0.05 * g).sqrt() + 1e-8), made]


def _other_order(args: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """As a compiler may do it: another order, one rounding to 16 bits less."""
    v, g, x, y = args
    made = x.float().sigmoid() * y.sigmoid().float()
    return [g / ((v * 0.95 + g * g * 0.05).sqrt() + 1e-8), made]


@pytest.mark.parametrize("number", [0, 1])
def test_what_rounding_decides_does_not_count(number: int) -> None:
    """One quotient is what cancelling leaves, and most of the norm; wrong ones beside it are
    found."""
    v, g, x, y = torch.rand(1000) + 0.5, *torch.randn(3, 1000)
    x, y = x.bfloat16(), y.bfloat16()
    v[7] = -g[7].double().square() / 19 * (1 - 3e-6)
    task = Task(
        lambda: [v, g, x, y],
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args, wide: _unsteady(args, torch.float64 if wide else torch.float32),
    )

    def wrong(args: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        made = _other_order(args)
        made[number][::3] *= 1.1
        return made

    rounded = functools.partial(_unsteady, dtype=torch.float32)
    given = {"harness": rounded, "eager": _other_order, "inductor": wrong}
    makers: dict[str, Make] = {name: lambda _, way=way: way for name, way in given.items()}
    found = compare(task, makers, FakeTimer())
    checks = [found[name].check for name in given]
    assert checks == [Check.PASSED, Check.PASSED, Check.FAILED], found
    pairs = zip(rounded(task.inputs()), _other_order(task.inputs()), strict=True)
    assert max(itertools.starmap(distance, pairs)) > 1e-3


def _rotary(args: Sequence[torch.Tensor], dtype: torch.dtype, off: float) -> list[torch.Tensor]:
    """Values turned by angles of thousands, whose frequencies are ``off``."""
    exponent = torch.arange(64, dtype=dtype) / -64
    angle = torch.arange(4096, dtype=dtype)[:, None] * (torch.pow(10000.0, exponent) * (1 + off))
    return [args[0].to(dtype) * angle.cos()]


def test_functions_that_are_rounded_elsewhere_do_not_count() -> None:
    """A power is the same in every run of eager mode, and another library's is a unit off."""
    task = Task(
        lambda: [torch.randn(4096, 64)],
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args, wide: _rotary(args, torch.float64 if wide else torch.float32, 0.0),
    )
    off = {"harness": 2**-23, "eager": 0.0, "inductor": 2**-20}
    makers: dict[str, Make] = {
        name: lambda _, far=far: lambda args: list(_rotary(args, torch.float32, far))
        for name, far in off.items()
    }
    found = compare(task, makers, FakeTimer())
    checks = [found[name].check for name in off]
    assert checks == [Check.PASSED, Check.PASSED, Check.FAILED], found


def _over_the_largest(args: Sequence[torch.Tensor], to: torch.dtype) -> list[torch.Tensor]:
    """How far a row's largest score is above itself: nothing."""
    scores = args[0].to(to) * 3
    return [(scores - scores.amax(-1, keepdim=True)).amax(-1)]


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_what_one_use_rounds_and_another_does_not_is_no_error_where_all_cancels(off: float) -> None:
    """The reference is zero everywhere, so that any difference is the whole of it. A kernel that
    rounds scores for their maximum alone is half a unit off at most, as rounding is."""
    task = Task(
        lambda: [torch.randn(512, 64).bfloat16()],
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args, wide: _over_the_largest(args, torch.float64 if wide else torch.bfloat16),
    )

    def kept(args: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        scores = args[0].float() * 3
        most = scores.amax(-1, keepdim=True)
        return [(scores - most.bfloat16().float()).amax(-1).bfloat16() + off]

    makers: dict[str, Make] = {
        "harness": lambda _: kept,
        "eager": lambda _: lambda args: list(_over_the_largest(args, torch.bfloat16)),
    }
    found = compare(task, makers, FakeTimer())
    checks = [found[name].check for name in makers]
    assert checks == [Check.FAILED if off else Check.PASSED, Check.PASSED], found


def test_operators_that_change_memory_or_have_two_results_are_carried_out_once() -> None:
    x = torch.rand(8).bfloat16()
    with worker._Elsewhere(1, [x]):
        changed = torch.zeros(4).add(1).add_(1)
        mantissa, exponent = torch.frexp(x.float())
    assert torch.equal(changed, torch.full((4,), 2.0))
    assert torch.allclose(torch.ldexp(mantissa, exponent), x.float(), rtol=1e-2)


def test_where_a_function_ends_at_1_nothing_is_unsure() -> None:
    """A hyperbolic tangent beyond 1 would make a root of a negative number, beside which anything
    is right."""

    def root(args: Sequence[torch.Tensor], to: torch.dtype = torch.float32) -> list[torch.Tensor]:
        return [(1 - torch.tanh(args[0].to(to)) ** 2).sqrt()]

    task = Task(
        lambda: [torch.full((8,), 20.0)],
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args, wide: root(args, torch.float64 if wide else torch.float32),
    )
    makers: dict[str, Make] = {
        "harness": lambda _: lambda args: [root(args)[0] + 1000],
        "eager": lambda _: lambda args: list(root(args)),
    }
    found = compare(task, makers, FakeTimer())
    checks = [found[name].check for name in makers]
    assert checks == [Check.FAILED, Check.PASSED], found


def test_outputs_of_another_shape_are_wrong_and_say_so(graph: Graph) -> None:
    def short(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        return [None if t is None else t[..., :1] for t in replay(graph, tensors, CPU)]

    found = compared(graph, harness=lambda _: short)
    said = f"its results have the shapes {[[1, 12, 1]] * 3}, expected {[[1, 12, 8]] * 3}"
    wrong = found["harness"]
    assert (wrong.check, wrong.ms, wrong.reason) == (Check.FAILED, None, said)
    wrong = compared(graph, harness=lambda _: lambda _: [])["harness"]
    assert wrong.check is Check.FAILED and "have the shapes [], expected" in wrong.reason


def test_what_cannot_be_recorded_is_timed_with_a_remark(graph: Graph) -> None:
    timer = FakeTimer()
    timer.method = METHOD_DIRECT
    found = compare(region_task(graph, CPU), {"harness": maker("eager", graph, CPU)}, timer)
    assert found["harness"].ms == 7.0
    assert "its host's time is included" in found["harness"].reason


def test_one_that_fails_only_when_timed_costs_its_own_row(graph: Graph) -> None:
    calls: list[int] = []

    def tired(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("out of memory")
        return replay(graph, tensors, CPU)

    found = compared(graph, harness=maker("eager", graph, CPU), inductor=lambda _: tired)
    assert found["harness"].ms == 7.0
    assert found["inductor"].ms is None
    assert "out of memory" in found["inductor"].reason


def test_each_provider_is_announced_before_it_runs(graph: Graph) -> None:
    heard: list[str] = []
    makers = {n: maker("eager", graph, CPU) for n in ("harness", "eager")}
    compare(region_task(graph, CPU), makers, FakeTimer(), step=heard.append)
    assert heard == ["harness", "eager", "timing"]


def test_what_inductor_compiles_first_is_no_graph_of_a_suite() -> None:
    (got,) = providers.inductor(worker._small(), CPU)([torch.arange(8.0)])
    assert got is not None and torch.equal(got, 2 * torch.arange(8.0))


def test_compilers_are_timed_to_twice_the_width_of_kernels(graph: Graph) -> None:
    (work,) = comparables(compile_graph(graph, H100).regions)
    timer = FakeTimer()
    worker.compared(CompareJob(work.work, ("eager",), {}), Context(), timer, CPU)
    assert timer.width == 2 * WIDTH


def test_inputs_with_several_elements_in_one_place_are_compared() -> None:
    build = GraphBuilder()
    x = build.input("x", (8, 4), DType.BF16, stride=(0, 1))
    graph = build.graph(build.call("aten.neg.default", x))
    inputs = random_inputs(graph, CPU)
    for value in (copied(inputs[0]), worker._moved(inputs[0], 1, (torch.bfloat16,))):
        assert value.stride() == (0, 1) and torch.equal(value[0], value[7])
        assert torch.allclose(value, inputs[0], rtol=2**-7)
    makers = {name: maker("eager", graph, CPU) for name in ("harness", "eager")}
    found = compare(region_task(graph, CPU), makers, FakeTimer())
    assert [row.check for row in found.values()] == [Check.PASSED] * 2


def test_who_compares_has_the_modules_that_were_loaded_to_time_them(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[modules.LoadedModule] = []
    monkeypatch.setattr(worker, "current_target", lambda: H100)
    monkeypatch.setattr(worker, "Launcher", lambda loaded, *_: used.append(loaded))
    (work,) = comparables(compile_graph(graph, H100).regions)
    assert not isinstance(work.work, str)
    texts = [launch.kernel.module.text for launch in work.work.launches]
    context = Context(tmp_path)
    timed = [context.once(modules.keeping)(text, tmp_path) for text in texts]
    worker.compared(CompareJob(work.work, ("harness",), {}), context, FakeTimer(), CPU)
    assert used and all(any(one is other for other in timed) for one in used)


def test_backends_of_torch_compile_by_name_in_the_real_worker(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own: torch remembers there that it found no GPU."""
    stand_in(monkeypatch, HANDLERS)
    (work,) = comparables(compile_graph(graph, H100).regions)
    names = ("eager", "aot_eager", "eager_noexcept", "relu_compile_error_TESTING_ONLY")
    with PeerPool(names, tmp_path, 1) as pool:
        found = {row.compiler: row for row in pool.compare(work, {})}
    assert "a GPU is needed" in found["harness"].reason
    for name in names[:3]:
        assert (found[name].ms, found[name].check) == (len(name), Check.PASSED), found[name]


@pytest.mark.slow
def test_what_inductor_compiles_is_kept_for_the_process_that_compares(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if " " in sys.prefix:
        pytest.skip("Inductor does not quote the path of torch where it links")
    # Compiling a file to see whether vector instructions compile costs more than the rest, and so
    # do headers that are compiled for the next graph.
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "1")
    monkeypatch.setenv("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0")
    stand_in(monkeypatch, HANDLERS)
    (work,) = comparables(compile_graph(graph, H100).regions)
    with PeerPool(("inductor",), tmp_path, 1) as pool:
        (_, row) = pool.compare(work, {})
    assert row.check is Check.PASSED, row
    assert list((tmp_path / "inductor" / "fxgraph").glob("*/*/*"))


def test_torch_graph_computes_the_same(graph: Graph) -> None:
    inputs = random_inputs(graph, CPU)
    made = graph_module(graph, CPU)(*[t.clone() for t in inputs])
    want = replay(graph, [t.clone() for t in inputs], CPU)
    for a, b in zip(made, want, strict=True):
        torch.testing.assert_close(a, b)


def test_inductor_generates_code_for_a_gpu_that_is_not_there(graph: Graph) -> None:
    from torch.utils._triton import has_triton

    has_triton()  # torch remembers what it found
    found = inductor_codegen(graph, H100)
    assert 0 < found.seconds <= found.total_seconds
    if not torch.version.cuda:
        assert not torch.cuda.is_available()


def test_distance() -> None:
    a = torch.randn(1000, dtype=torch.float64)
    assert distance(a.float(), a) < 1e-6
    assert distance(a * 1.25, a) == pytest.approx(0.25)
    holed = a.clone()
    holed[3] = math.nan
    assert distance(holed, a) == math.inf
    assert distance(holed, holed) == 0.0
    assert distance(torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 5])) == 0.25


def test_a_comparison_that_loses_the_device_ends_its_process(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever asks such a device for something else fails, and must not be what is said."""

    def asserted(*_: Any) -> Any:
        raise torch.AcceleratorError("CUDA error: device-side assert triggered")

    for name in ("empty_cache", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, asserted)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.compiler, "reset", asserted)
    monkeypatch.setattr(worker, "region_task", lambda *_: Task(asserted, asserted, asserted))
    (region, *_) = compile_graph(graph, H100).regions
    job = CompareJob(region, ("eager",), {})
    with pytest.raises(Unusable, match="the device's context was lost"):
        worker.compared(job, Context(tmp_path), FakeTimer(), CPU)
