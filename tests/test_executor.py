"""Memory of a compiled graph: what takes over whose, and how long inputs are held."""

from __future__ import annotations

import dataclasses
import traceback
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.dtypes import DType
from harness.errors import GraphError
from harness.executor import Launches, graphs, hosttext, prepare_graph
from harness.executor.graphs import spare_inputs
from harness.executor.hosttext import Host
from harness.executor.views import ViewPlan
from harness.graph.model import Graph, Ref
from harness.graph.replay import random_inputs, replay
from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.runtime.launch.host import reinterpreter
from harness.target import H100
from tests.graph.building import GraphBuilder, type_of
from tests.running import NOT_LAUNCHED, launched
from tests.test_whole_graphs import GRAPHS


def small(name: str) -> CompiledGraph:
    return compile_graph(load(GRAPHS / "small" / f"{name}.py"), H100)


def test_what_is_returned_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at every library call and every view: models have hundreds of each."""
    asked: list[str] = []
    root_name = graphs.root_name
    counted = lambda name, nodes: asked.append(name) or root_name(name, nodes)  # noqa: E731
    monkeypatch.setattr(graphs, "root_name", counted)
    b = GraphBuilder()
    x, w = b.input("x", (4, 4)), b.input("w", (4, 4))
    outputs = []
    for _ in range(20):
        x = b.call("aten.mm.default", x, w)
        outputs += [x, b.call("aten.t.default", x)]
    prepare_graph(compile_graph(b.graph(*outputs), H100), NOT_LAUNCHED, "cpu")
    assert len(asked) < 4 * len(outputs)


def test_an_input_is_freed_after_its_last_use() -> None:
    compiled = small("t5_block_forward")
    graph = compiled.partition.graph
    tensors = [
        torch.zeros([int(n) for n in i.type.shape], dtype=getattr(torch, i.type.dtype.torch_name))
        for i in graph.inputs
    ]
    held = [weakref.ref(t) for t in tensors]
    alive: list[int] = []
    run = prepare_graph(
        compiled, launched(lambda *_: alive.append(sum(r() is not None for r in held))), "cpu"
    )
    run(tensors)
    assert not tensors
    assert alive[-1] < alive[0]


# -- host functions ------------------------------------------------------------------------


def host_graph(b: GraphBuilder) -> Graph:
    """A kernel, a chain of views of its result, a library call, views of an input."""
    x, w = b.input("x", (4, 6)), b.input("w", (2, 12))
    a = b.call("aten.exp.default", x, name="a")
    v = b.call("aten.view.default", a, (2, 12), name="v")
    s = b.call("aten.slice.Tensor", v, 1, 4, 12, name="s")
    t = b.call("aten.permute.default", s, (1, 0), name="t")
    u = b.call("aten.slice.Tensor", w, 1, 2, 8, name="u")
    m = b.call("aten.mm.default", t, u, name="m")
    out = b.call("aten.relu.default", m, name="out")
    return b.graph(out)


def launches_of_torch() -> Launches:
    """Kernels as the modules' own references compute them."""

    def kernel(module: EmittedModule) -> Callable[..., None]:
        loaded = modules.load(module.text)

        def launch(_stream: int, *args: Any) -> None:
            found = loaded.reference(args)
            for place, value in zip(loaded.outputs, found, strict=True):
                args[place].copy_(value)

        return launch

    return Launches(kernel)


def test_chains_of_views_are_one_and_launches_are_calls() -> None:
    graph = host_graph(GraphBuilder())
    compiled = compile_graph(graph, H100)
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    assert " reinterpret(a, (8, 2), (1, 12), 4)" in run.text
    assert run.text.count("reinterpret(w, (2, 6), (12, 1), 2) if fine else slice") == 1
    assert "view(" not in run.text and "permute(" not in run.text
    assert "triton_poi_fused_a_0(stream, x_here, a)" in run.text
    inputs = random_inputs(graph, "cpu", 2)
    wanted = replay(graph, inputs, "cpu")
    torch.testing.assert_close(run([*inputs]), wanted)


def test_single_numbers_beside_tensors_of_a_library_call_may_lie_anywhere() -> None:
    """Where attention draws no random numbers its seeds lie on a CPU: kernels read everything else
    in place all the same. Not what a kernel reads, or a library call of single numbers."""
    b = GraphBuilder()
    x, w = b.input("x", (4, 6)), b.input("w", (6, 8))
    seed, read, alone = b.input("seed", ()), b.input("read", ()), b.input("alone", ())
    m = b.call("aten.addmm.default", seed, x, w, name="m")
    other = b.call("aten.median.default", alone, name="other")
    compiled = compile_graph(b.graph(b.call("aten.mul.Tensor", m, read, name="out"), other), H100)
    run: Any = prepare_graph(compiled, NOT_LAUNCHED, "cpu")
    assert run.text.count("median(alone)") == 1
    assert [f"{name}.is_cpu" in run.text for name in ("x", "w", "seed", "read", "alone")] == [
        True, True, False, True, True
    ]  # fmt: skip


@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
def test_inputs_in_other_layouts(turned: tuple[bool, bool]) -> None:
    graph = host_graph(GraphBuilder())
    compiled = compile_graph(graph, H100)
    run = prepare_graph(compiled, launches_of_torch(), "cpu")
    inputs = random_inputs(graph, "cpu", 3)
    wanted = replay(graph, inputs, "cpu")
    given = [t.t().contiguous().t() if odd else t for t, odd in zip(inputs, turned, strict=True)]
    torch.testing.assert_close(run(given), wanted)


def test_views_that_are_no_other_sizes_and_strides_of_their_root_are_calls() -> None:
    """Bits as another type, what is negated when it is read, places counted from where the memory
    begins, and a recorded layout that the operator does not give."""
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (4, 6)), b.input("w", (6, 6)), name="m")
    made = [
        b.call("aten.view.dtype", m, DType.I32, name="bits"),
        b.call("aten._neg_view.default", m, name="negated"),
        b.call("aten.as_strided.default", m, (2,), (3,), 1, name="placed"),
        b.call("aten.as_strided.default", m, (6, 4), (1, 6), name="turned"),
        b.call("aten.as_strided.default", m, (6, 4), (1, 6), name="wrong"),
    ]
    b.nodes[-1] = dataclasses.replace(b.nodes[-1], type=type_of(torch.empty(6, 4)))
    assert [*ViewPlan(compile_graph(b.graph(*made), H100).partition).views] == ["turned"]


def test_what_lies_as_its_root_is_that() -> None:
    """A part of it does not, nor does what begins elsewhere; the caller's views are views."""
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (4, 6)), b.input("w", (6, 6)), name="m")
    for name, shape, strides, start in (
        ("same", (4, 6), (6, 1), 0),
        ("turned", (6, 4), (1, 6), 0),
        ("part", (2, 6), (6, 1), 0),
        ("later", (2, 6), (6, 1), 2),
    ):
        rows = b.call("aten.slice.Tensor", m, 0, start, 4) if start else m
        b.call("aten.as_strided.default", rows, shape, strides, name=name)
    graph = b.graph(*map(Ref, ("same", "turned", "part", "later")))
    plan = ViewPlan(compile_graph(graph, H100).partition)
    assert {n: v.is_all for n, v in plan.views.items() if n in graph.outputs} == {
        "same": True,
        "turned": False,
        "part": False,
        "later": False,
    }
    assert plan.shared == {"same", "turned", "part", "later"}


def test_what_lies_as_its_root_is_the_same_variable_until_both_are_over() -> None:
    b = GraphBuilder()
    w = b.input("w", (6, 6))
    m = b.call("aten.mm.default", b.input("x", (4, 6)), w)
    same = b.call("aten.as_strided.default", m, (4, 6), (6, 1))
    graph = b.graph(b.call("aten.mm.default", same, b.call("aten.mm.default", w, w)))
    run: Any = prepare_graph(compile_graph(graph, H100), NOT_LAUNCHED, "cpu")
    inputs = random_inputs(graph, "cpu", 1)
    torch.testing.assert_close(run([*inputs]), replay(graph, inputs, "cpu"))
    assert "as_strided" not in run.text


def test_outputs_that_lie_alike_are_two_tensors() -> None:
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (4, 6)), b.input("w", (6, 6)))
    graph = b.graph(m, b.call("aten.as_strided.default", m, (4, 6), (6, 1)))
    run = prepare_graph(compile_graph(graph, H100), NOT_LAUNCHED, "cpu")
    one, other = run(random_inputs(graph, "cpu", 1))
    assert one is not None and other is not None and one is not other
    other.add_(1)
    assert torch.equal(one, other)


def test_an_output_that_is_a_view_of_an_input_shares_its_memory() -> None:
    b = GraphBuilder()
    turned = b.call("aten.permute.default", b.input("x", (4, 6)), (1, 0), name="turned")
    plan = ViewPlan(compile_graph(b.graph(turned), H100).partition)
    assert plan.shared == {"x", "turned"}


def test_inputs_of_other_sizes_and_numbers_are_errors() -> None:
    graph = host_graph(GraphBuilder())
    run = prepare_graph(compile_graph(graph, H100), NOT_LAUNCHED, "cpu")
    with pytest.raises(GraphError, match="number of tensors"):
        run([torch.zeros(4, 6)])
    with pytest.raises(GraphError, match="input w"):
        run([torch.zeros(4, 6), torch.zeros(12, 2)])


@pytest.mark.parametrize("stride", [(6, 1), (1, 4)])
def test_an_output_that_is_a_view_can_be_changed_in_place(stride: tuple[int, int]) -> None:
    """Also where the product does not lie as it was recorded."""
    b = GraphBuilder()
    x = b.input("x", (4, 6))
    m = b.call("aten.mm.default", x, b.input("w", (6, 6)), name="m")
    b.values["m"] = torch.empty_strided((4, 6), stride, device="meta")
    b.nodes[-1] = dataclasses.replace(b.nodes[-1], type=type_of(b.values["m"]))
    graph = b.graph(m, b.call("aten.permute.default", m, (1, 0), name="t"))
    run = prepare_graph(compile_graph(graph, H100), NOT_LAUNCHED, "cpu")
    whole, turned = run(random_inputs(graph, "cpu", 1))
    assert whole is not None and turned is not None
    before = whole._version
    turned.add_(1)
    assert whole._version > before
    assert torch.equal(turned, whole.t())


def test_an_output_that_is_a_part_of_an_input_that_changes_is_what_it_was() -> None:
    b = GraphBuilder()
    s = b.input("s", (4, 6))
    part = b.call("aten.as_strided.default", s, (2,), (5,), 1)
    graph = b.graph(part, mutations=((s, b.call("aten.add.Tensor", s, 1.0)),))
    compiled = compile_graph(graph, H100)
    (given,) = random_inputs(graph, "cpu", 1)
    before = given.clone()
    (found,) = prepare_graph(compiled, launches_of_torch(), "cpu")([given])
    assert found is not None and torch.equal(given, before + 1)
    assert torch.equal(found, before.as_strided((2,), (5,), 1))


def test_an_output_that_shares_its_memory_with_no_other_needs_no_view() -> None:
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (4, 6)), b.input("w", (6, 6)), name="m")
    graph = b.graph(b.call("aten.permute.default", m, (1, 0), name="t"))
    run: Any = prepare_graph(compile_graph(graph, H100), NOT_LAUNCHED, "cpu")
    assert "reinterpret(m, (6, 4), (1, 6), 0)" in run.text and "as_strided" not in run.text
    inputs = random_inputs(graph, "cpu", 1)
    torch.testing.assert_close(run([*inputs]), replay(graph, inputs, "cpu"))


def test_values_may_be_called_like_anything() -> None:
    b = GraphBuilder()
    x = b.input("tensors", (4, 6))
    low = b.call("aten.clamp.default", x, float("-inf"), 1.0, name="len")
    m = b.call("aten.mm.default", low, b.input("class", (6, 6)), name="mm")
    graph = b.graph(m, b.call("aten.exp.default", m, name="float"))
    compiled = compile_graph(graph, H100)
    inputs = random_inputs(graph, "cpu", 1)
    run = prepare_graph(compiled, launches_of_torch(), "cpu")
    torch.testing.assert_close(run([*inputs]), replay(graph, inputs, "cpu"))


def test_the_end_of_a_graph_is_announced() -> None:
    graph = host_graph(GraphBuilder())
    seen: list[str] = []
    launches = Launches(
        lambda module: lambda stream, *args: seen.append(f"{module.name} {stream}"),
        lambda device: 40 + device,
        lambda: seen.append("end"),
    )
    prepare_graph(compile_graph(graph, H100), launches, "cpu")(random_inputs(graph, "cpu", 1))
    assert seen == ["triton_poi_fused_a_0 40", "triton_poi_fused_out_1 40", "end"]


def test_a_traceback_shows_the_line_of_the_host_function() -> None:
    graph = host_graph(GraphBuilder())

    def refuse(*_: Any) -> None:
        raise ValueError("no")

    run = prepare_graph(compile_graph(graph, H100), Launches(lambda _: refuse), "cpu")
    with pytest.raises(ValueError, match="no") as caught:
        run(random_inputs(graph, "cpu", 1))
    lines = "".join(traceback.format_exception(caught.value))
    assert "triton_poi_fused_a_0(stream, x_here, a)" in lines


# -- memory --------------------------------------------------------------------------------


def products_graph(b: GraphBuilder) -> Graph:
    """Two products, each with a kernel after it that reads its result as another shape."""
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    first = b.call("aten.mm.default", x, w, name="first")
    wide = b.call("aten.view.default", first, (2, 4, 8), name="wide")
    active = b.call("aten.sigmoid.default", wide, name="active")
    again = b.call("aten.view.default", active, (8, 8), name="again")
    second = b.call("aten.mm.default", again, w, name="second")
    out = b.call("aten.add.Tensor", second, x, name="out")
    return b.graph(out)


def test_a_kernel_writes_into_the_memory_of_what_nobody_reads_again() -> None:
    graph = products_graph(GraphBuilder())
    compiled = compile_graph(graph, H100)
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    assert " empty(" not in run.text, "both kernels have the memory of a product"
    tensors = random_inputs(graph, "cpu", 3)
    kept = [tensor.clone() for tensor in tensors]
    wanted = replay(graph, [tensor.clone() for tensor in tensors], "cpu")
    (got,) = run(list(tensors))
    torch.testing.assert_close(got, wanted[0])
    assert all(map(torch.equal, tensors, kept)), "inputs are the caller's"
    assert got.untyped_storage().nbytes() == 4 * 64


def _beside(change: str) -> Graph:
    """``out`` could be written into ``m``, if it were not for ``change``."""
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    m = b.call("aten.mm.default", x, w, name="m")
    if change == "an input":
        m = x
    if change == "read at another place":
        turned = b.call("aten.permute.default", m, (1, 0), name="turned")
        return b.graph(b.call("aten.add.Tensor", m, turned, name="sum"))
    if change == "read by strides too":
        turned = b.call("aten.as_strided.default", m, (8, 8), (1, 8), name="turned")
        return b.graph(b.call("aten.add.Tensor", m, turned, name="sum"))
    parts = b.call("aten.split.Tensor", m, 4, name="parts")
    part = b.call("getitem", parts, 1, name="part")
    out = b.call("aten.exp.default", m, name="out")
    if change == "a view of a library call":
        return b.graph(out, b.call("aten.mm.default", part, w, name="later"))
    if change == "read later":
        return b.graph(b.call("aten.mm.default", out, m, name="later"))
    if change == "returned":
        return b.graph(out, m)
    if change == "a view returned":
        return b.graph(out, b.call("aten.view.default", m, (64,), name="flat"))
    if change == "another type":
        return b.graph(b.call("aten._to_copy.default", m, dtype=DType.F16, name="half"))
    return b.graph(out)


CHANGES = [
    "an input",
    "read later",
    "returned",
    "a view returned",
    "a view of a library call",
    "another type",
    "read at another place",
    "read by strides too",
]


@pytest.mark.parametrize("change", CHANGES)
def test_memory_that_something_else_reads_is_left_alone(change: str) -> None:
    graph = _beside(change)
    compiled = compile_graph(graph, H100)
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    assert " empty((8, 8)" in run.text
    tensors = random_inputs(graph, "cpu", 3)
    wanted = replay(graph, [tensor.clone() for tensor in tensors], "cpu")
    for got, right in zip(run(list(tensors)), wanted, strict=True):
        torch.testing.assert_close(got, right)
    assert " empty(" not in _text(_beside("nothing"))


def _text(graph: Graph) -> str:
    compiled = compile_graph(graph, H100)
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    return str(run.text)


def test_a_part_of_memory_does_not_keep_the_whole() -> None:
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (8, 8)), b.input("w", (8, 8)))
    some = b.call("aten.as_strided.default", m, (4, 8), (8, 1))
    assert " empty((4, 8)" in _text(b.graph(b.call("aten.exp.default", some)))


@pytest.mark.parametrize("again", [False, True])
def test_each_of_several_results_of_a_call_has_memory_of_its_own(again: bool) -> None:
    """Unless it is taken twice; a call of that kind returns nothing of what it reads."""
    b = GraphBuilder()
    how = None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1
    x, w = b.input("x", (2, 2, 2, 2)), b.input("w", (2, 2, 1, 1))
    m = b.call("aten.convolution.default", x, w, *how, name="m")
    asked = True, False, False
    both = b.call("aten.convolution_backward.default", m, x, w, *how, asked)
    one = b.call("getitem", both, 0, name="one")
    other = b.call("getitem", both, 0, name="other") if again else m
    outs = [b.call("aten.exp.default", one, name="of_one")]
    outs.append(other if again else b.call("aten.exp.default", m, name="of_m"))
    partition = compile_graph(b.graph(*outs), H100).partition
    spare = spare_inputs(partition, ViewPlan(partition), {}, ())
    assert [*spare.values()] == ([set()] if again else [{"one"}, {"m"}])


@pytest.mark.parametrize("lent", [False, True])
def test_what_may_be_something_elses_memory_is_left_alone(lent: bool) -> None:
    partition = compile_graph(_beside("nothing"), H100).partition
    (spare,) = spare_inputs(partition, ViewPlan(partition), {}, ["m"] * lent).values()
    assert spare == (set() if lent else {"m"})


@pytest.mark.parametrize("beside", [False, True])
def test_a_region_leaves_alone_what_one_beside_it_reads(beside: bool) -> None:
    b = GraphBuilder()
    m = b.call("aten.mm.default", b.input("x", (1, 8)), b.input("w", (8, 1)), name="m")
    first = b.call("aten.mul.Tensor", b.input("y", (4, 4)), m)
    partition = compile_graph(b.graph(first, b.call("aten.exp.default", m)), H100).partition
    names = [region.name for region in partition.regions]
    together = dict.fromkeys(names, names) if beside else {}
    spare = spare_inputs(partition, ViewPlan(partition), together, ())
    assert spare == {names[0]: set(), names[1]: set() if beside else {"m"}}


def test_each_recording_has_a_workspace_that_no_replay_clears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cleared: list[torch.Tensor] = []
    recording = 0

    def made(self: Host, count: int) -> torch.Tensor:
        cleared.append(torch.zeros(count))
        return cleared[-1]

    monkeypatch.setattr(Host, "_cleared", made)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: recording > 0)
    monkeypatch.setattr(hosttext, "cuda", lambda: SimpleNamespace(recording=lambda _: recording))
    host = Host(torch.device("cuda"), torch.empty_strided, reinterpreter())
    eager = host.zeros(8, 5)
    assert host.zeros(8, 5) is eager and host.zeros(8, 6) is not eager
    before = len(cleared)
    for recording in (1, 2, 3):
        own = host.zeros(8, 5)
        assert host.zeros(8, 5) is own and own is not eager
        assert len(cleared) == before + (recording > 1)  # the one that was spare, then new ones
        assert host.zeros(9, 5) is not own
        before = len(cleared)
    recording = 0
    assert host.zeros(8, 5) is eager
    while recording < 40:
        recording += 1
        host.zeros(8, 5)
    assert len(host.workspaces) == hosttext.MOST_WORKSPACES
