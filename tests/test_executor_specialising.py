"""The first call of a compiled graph, and those after it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from harness.backend import Compiler, Devices
from harness.errors import FallbackWarning, GraphError, HarnessError
from harness.executor.specialising import NotForEverySize, bases, boxed, specialised
from harness.graph.capture.fx import Conversion, convert
from harness.graph.model import Graph, Mutation, Partition
from harness.graph.partition.regions import partition
from harness.graph.text import loads

CPU = torch.device("cpu")


def conversion(op: str = "", name: str = "graph0") -> Conversion:
    """Of a graph of one node, which calls ``op``, of three elements."""
    x = torch.ones(3)
    made = convert(make_fx(torch.sin, tracing_mode="fake")(x), name)
    (node,) = made.graph.nodes
    return replace(made, graph=replace(made.graph, nodes=(replace(node, op=op or node.op),)))


def run_by(
    kernels: Callable[[list[Any]], Any],
    op: str,
    rescued: list[HarnessError],
    read: bool = False,
    name: str = "graph0",
    change: Callable[[Graph], Graph] = lambda graph: graph,
) -> Any:
    def rescue(error: HarnessError) -> Callable[[list[Any]], Any]:
        rescued.append(error)
        return lambda args: [args[0] * 2]

    made = conversion(op, name)
    made = replace(made, graph=change(made.graph))
    regions = partition(change(conversion().graph)) if read else Partition(made.graph, ())
    return boxed(made, regions, kernels, CPU, rescue, (), lambda: None)


@pytest.mark.parametrize("op", ["", "mine.twice.default"])
def test_the_first_call_holds_inputs_of_users_operators_alone(op: str) -> None:
    def kernels(tensors: list[Any]) -> list[bool]:
        tensors.clear()
        return [given() is not None]

    args = [torch.ones(3)]
    given, run = weakref.ref(args[0]), run_by(kernels, op, [])
    assert run(args) == [bool(op)]
    args.append(torch.ones(3))
    given = weakref.ref(args[0])
    assert run(args) == [False]


def test_torch_runs_a_graph_whose_operator_gives_other_sizes() -> None:
    def kernels(tensors: list[Any]) -> list[Any]:
        tensors.clear()
        raise GraphError("an operator's result has other sizes than recorded")

    rescued: list[HarnessError] = []
    for op, name in (("mine.twice.default", "graph0_backward"), ("", "graph0_forward")):
        run = run_by(kernels, op, rescued, name=name)
        for _ in range(2):
            assert run([torch.ones(3)])[0].tolist() == [2, 2, 2]
    assert len(rescued) == 2
    with pytest.raises(GraphError):  # nothing is left to run it with
        run_by(kernels, "", rescued, name="graph0_backward")([torch.ones(3)])


def test_a_graph_that_may_have_changed_its_inputs_runs_once() -> None:
    def changed(graph: Graph) -> Graph:
        (item,), (node,) = graph.inputs, graph.nodes
        return replace(graph, mutations=(Mutation(item.name, node.name),))

    def kernels(_: list[Any]) -> list[Any]:
        raise GraphError("an operator's result has other sizes than recorded")

    rescued: list[HarnessError] = []
    run = run_by(kernels, "mine.twice.default", rescued, name="graph0_forward", change=changed)
    with pytest.raises(GraphError):
        run([torch.ones(3)])
    assert not rescued


def test_gradients_may_have_other_types_than_those_traced() -> None:
    def handed_on(graph: Graph) -> Graph:
        return replace(graph, inputs=(replace(graph.inputs[0], role="gradient"),))

    rescued: list[HarnessError] = []
    run = run_by(lambda given: given, "", rescued, read=True, change=handed_on)
    assert run([torch.ones(3).double()])[0].dtype is torch.float64 and not rescued


def test_calls_that_need_not_compute_the_same_way_are_compiled_apart() -> None:
    """Sizes, layouts, types and whether there are gradients; numbers that are equal, too."""
    made: list[list[Any]] = []

    def compile_for(args: list[Any]) -> Callable[..., int]:
        made.append(args)
        number = len(made)
        return lambda *_: number

    run, x = specialised(compile_for), torch.ones(2, 2)
    with torch.no_grad():
        kinds = (x, x.t().contiguous(), x.double(), x[:1], x.expand(3, 2, 2)[1].t())
        assert [run(kind) for kind in kinds] == [1, 1, 2, 3, 4]
        assert [run(number) for number in (1, 1.0, True, 1)] == [5, 6, 7, 5]
    assert [run(x), run(x.clone().requires_grad_()), run(x)] == [8, 9, 8]
    assert [run([one, 2], 1) for one in (x, x[:1], x)] == [10, 11, 10]  # as compiled autograd calls


def test_torch_runs_a_graph_that_is_given_other_sizes() -> None:
    rescued: list[HarnessError] = []
    run = run_by(lambda _: pytest.fail("kernels of other sizes"), "", rescued)
    assert run([torch.ones(5)])[0].tolist() == [2] * 5 and len(rescued) == 1


def test_torch_runs_a_graph_that_is_given_other_types() -> None:
    """Torch 2.11 says of the positions that ``unique`` gives that they have its input's type."""
    rescued: list[HarnessError] = []
    run = run_by(lambda _: pytest.fail("kernels of other types"), "", rescued, True)
    for _ in range(2):
        assert run([torch.ones(3, dtype=torch.int64)])[0].tolist() == [2] * 3
    (error,) = rescued
    assert "torch.int64" in str(error)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_torch_runs_a_graph_that_is_given_fake_tensors(
    devices: Devices, dynamic: bool, inside: bool
) -> None:
    """Which have sizes, and those known or not, but no memory; it raised."""
    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None)
    sizes = [DimDynamic.DYNAMIC if dynamic else DimDynamic.STATIC] * 2
    context = StatelessSymbolicContext(dynamic_sizes=sizes) if dynamic else None
    x = mode.from_tensor(torch.randn(3, 4), symbolic_context=context)
    torch.compiler.reset()
    run = torch.compile(torch.sin, backend=Compiler(devices=devices))
    with mode if inside else contextlib.nullcontext(), pytest.warns(FallbackWarning, match="fake"):
        found = run(x)
    assert type(found) is type(x)
    assert found.shape == x.shape
    real = torch.randn(3, 4)
    torch.testing.assert_close(run(real), real.sin())
    torch.compiler.reset()


def test_types_of_what_only_library_calls_read_need_not_be_the_traced() -> None:
    rescued: list[HarnessError] = []
    assert run_by(lambda given: given, "", rescued)([torch.ones(3, dtype=torch.int64)])
    assert not rescued


def test_types_of_what_kernels_read_views_of_are_checked() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.t()[1:].sin() + y.t().matmul(y)

    given = [torch.ones(4, 5), torch.ones(4, 4)]
    made, rescued = convert(make_fx(function, tracing_mode="fake")(*given), "graph0"), []

    def rescue(error: HarnessError) -> Callable[[list[Any]], Any]:
        rescued.append(error)
        return lambda args: [args[0]]

    for number in (1, 0):
        others = [one.double() if n == number else one for n, one in enumerate(given)]
        run = boxed(made, partition(made.graph), lambda a: a, CPU, rescue, (), lambda: None)
        run(others)
        assert len(rescued) == (number == 0)


def test_memory_that_inputs_of_unknown_sizes_share_has_no_one_size() -> None:
    text = """# harness graph 1
def part(
    base: "f32[{size}]",
):
    first: "f32[4]" = aten.as_strided.default(base, [4], [1], 0)
    return (first,)
"""
    assert bases(loads(text.format(size=9), "known")) == [(0, 9)]
    with pytest.raises(NotForEverySize, match="inputs of unknown sizes share memory"):
        bases(loads(text.format(size="s0"), "unknown"))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_float_that_torch_cannot_carry_is_a_number_of_the_graph(
    compiler: Compiler, dynamic: bool | None
) -> None:
    """A remainder of an angle: torch makes tensors of floats that change, but not of every
    expression, and says so in an error."""
    torch.compiler.reset()

    def turned(x: torch.Tensor, angle: float) -> torch.Tensor:
        return (x * (angle % 360)).sin() + angle

    run = torch.compile(turned, backend=compiler, dynamic=dynamic)
    for angle in (33.5, -30.25, 400.0):
        x = torch.randn(3, 4, dtype=torch.float64)
        torch.testing.assert_close(run(x, angle), turned(x, angle))
    assert not compiler.eager and compiler.compiled
