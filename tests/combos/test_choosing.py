"""Which launches become one, and graphs that run so."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.backend import Compiler, Devices
from harness.codegen.source import EmittedModule
from harness.combos import choosing
from harness.combos.choosing import MOST_ARGUMENTS, MOST_KERNELS, combined
from harness.compiled import Combo, CompiledGraph, Failure, Launch
from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.executor import Launches, prepare_graph
from harness.graph.model import Graph
from harness.graph.replay import random_inputs, replay
from harness.measure.deciding import faster_joined
from harness.pipeline import compile_graph
from harness.records.trials import Outcome, Way
from harness.target import H100
from harness.tiling.plan import Argument, ArgumentKind
from tests.graph.building import GraphBuilder
from tests.test_executor import launches_of_torch

Sizes = list[tuple[int, ...]]


def states(sizes: Sizes, shared: bool = False, allocates: int = 0) -> Graph:
    """States of ``sizes``, each changed by its own input. ``shared``: two of them meet;
    ``allocates``: one makes so many numbers besides."""
    b = GraphBuilder()
    mutations, outputs = [], []
    inputs = [
        (b.input(f"s{n}", size, role="buffer"), b.input(f"c{n}", size))
        for n, size in enumerate(sizes)
    ]
    for n, (state, change) in enumerate(inputs):
        new = b.call("aten.add.Tensor", state, change, name=f"new{n}")
        mutations.append((state, new))
    if shared:
        outputs.append(b.call("aten.exp.default", inputs[0][0], name="e"))
        outputs.append(b.call("aten.mul.Tensor", inputs[0][1], inputs[1][1], name="t"))
    if allocates:
        wide = b.input("w", (allocates,))
        outputs.append(b.call("aten.exp.default", wide, name="out"))
    return b.graph(*outputs, mutations=tuple(mutations))


def run_both(graph: Graph, turned: bool = False) -> tuple[CompiledGraph, list[str]]:
    """``graph`` with its launches combined, which computes what torch does; what was launched."""
    compiled = combined(compile_graph(graph, H100), H100)
    seen: list[str] = []
    kernel = launches_of_torch().kernel

    def on(module: EmittedModule) -> Any:
        launch = kernel(module)

        def run(*given: Any) -> None:
            seen.append(module.name)
            launch(*given)

        return run

    run = prepare_graph(compiled, Launches(on), "cpu")
    inputs = random_inputs(graph, "cpu", 4)
    wanted = [t.clone() for t in inputs]
    outputs = replay(graph, wanted, "cpu")
    given = [t.t().contiguous().t() if turned and t.dim() == 2 else t.clone() for t in inputs]
    torch.testing.assert_close(run([*given]), outputs)
    torch.testing.assert_close(given, wanted)
    assert len(seen) == sum(count for _, count in compiled.distinct())
    assert compiled.report().launches == len(seen)
    return compiled, seen


@pytest.mark.parametrize("turned", [False, True])
def test_states_of_many_sizes_change_in_one_launch(turned: bool) -> None:
    compiled, seen = run_both(states([(4, 3), (5, 6), (4, 3), (7, 7), (4, 3)]), turned)
    assert len(compiled.launches) == 5
    assert len(seen) == 1


def test_layers_that_are_alike_share_one_combo() -> None:
    b = GraphBuilder()
    x, w, mutations = b.input("x", (4, 4)), b.input("w", (4, 4)), []
    for layer in range(3):
        x = b.call("aten.mm.default", x, w)
        for n, size in enumerate([(3, 4), (2, 4)]):
            state = b.input(f"s{layer}{n}", size, role="buffer")
            rows = b.call("aten.slice.Tensor", x, 0, 0, size[0])
            mutations.append((state, b.call("aten.add.Tensor", state, rows)))
    compiled, seen = run_both(b.graph(x, mutations=tuple(mutations)))
    assert [len(combo.launches) for found in compiled.bundles for combo in found.combos] == [2] * 3
    assert len(seen) == 3 and len({*seen}) == 1


def test_a_combo_has_so_many_arguments_and_no_more() -> None:
    compiled, seen = run_both(states([(4, 3)] * 250))
    assert len(seen) == 2
    assert all(len(m.signature) <= MOST_ARGUMENTS for m, _ in compiled.distinct())


def test_a_combo_has_so_many_kernels_and_no_more() -> None:
    compiled, _ = run_both(states([(n + 2,) for n in range(MOST_KERNELS + 2)]))
    (bundle,) = compiled.bundles
    assert [len(combo.launches) for combo in bundle.combos] == [MOST_KERNELS, 2]


def test_a_launch_alone_has_as_many_arguments_as_it_needs() -> None:
    b = GraphBuilder()
    parts = [b.input(f"x{n}", (3,)) for n in range(MOST_ARGUMENTS + 1)]
    _, seen = run_both(b.graph(b.call("aten.cat.default", tuple(parts))))
    assert len(seen) == 1


def test_regions_on_both_sides_of_a_library_call_are_not_side_by_side() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4, 4)), b.input("w", (4, 4))
    product = b.call("aten.mm.default", b.call("aten.exp.default", x), w)
    state = b.input("s", (4, 4), role="buffer")
    view = b.call("aten.view.default", state, (2, 8))
    seen = b.call("aten.mul.Tensor", view, 2.0)
    new = b.call("aten.add.Tensor", state, product)
    other = b.call("aten.relu.default", b.input("y", (3,)))
    compiled, _ = run_both(b.graph(seen, other, mutations=((state, new),)))
    where = {
        r.name: n
        for n, b in enumerate(compiled.bundles)
        for r in compiled.partition.regions
        if r.name in b.regions
    }
    for region in compiled.partition.regions:
        changed = {m.input for m in region.graph.mutations}
        for one in compiled.partition.regions:
            if one is not region and changed & {i.name for i in one.graph.inputs}:
                assert where.get(region.name, -1) != where.get(one.name, -2)


def test_a_region_that_reads_what_another_makes_is_not_beside_it() -> None:
    """With no library call between."""
    b = GraphBuilder()
    product = b.call("aten.mm.default", b.input("x", (4, 4)), b.input("w", (4, 4)))
    made = b.call("aten.exp.default", b.input("y", (4, 4)))
    compiled, _ = run_both(b.graph(made, b.call("aten.add.Tensor", made, product)))
    assert len(compiled.regions) == 2 and compiled.bundles == ()


def test_a_region_that_reads_a_view_of_what_another_changes_is_not_beside_it() -> None:
    b = GraphBuilder()
    state = b.input("s", (4, 4), role="buffer")
    seen = b.call("aten.as_strided.default", state, (3,), (5,))  # which the host makes
    out = b.call("aten.exp.default", seen)
    changed = b.call("aten.add.Tensor", state, 1.0)
    compiled, _ = run_both(b.graph(out, mutations=((state, changed),)))
    assert len(compiled.regions) == 2 and compiled.bundles == ()


def test_a_region_that_torch_runs_is_in_no_bundle() -> None:
    whole = compile_graph(states([(4, 3), (5, 6), (7, 2)]), H100)
    first, *others = whole.regions
    failure = Failure(first.region.name, "plan", (), InvalidProgram("nothing"))
    failed = dataclasses.replace(first, program=None, launches=(), failures=(failure,))
    compiled = combined(dataclasses.replace(whole, regions=(failed, *others)), H100)
    assert [b.regions for b in compiled.bundles] == [tuple(r.region.name for r in others)]


def test_launches_of_one_kind_are_together() -> None:
    """Reductions, pointwise kernels by tiles; what programs share rows of is alone."""
    b = GraphBuilder()
    outs = [b.call("aten.argmax.default", b.input("shared", (2, 1 << 20)), 1)]
    for k in (7, 9):
        outs.append(b.call("aten.sum.dim_IntList", b.input(f"rows{k}", (5, k)), (1,)))
        outs.append(b.call("aten.exp.default", b.input(f"all{k}", (40, k))))
        turned = b.call("aten.permute.default", b.input(f"turned{k}", (300, 40 * k)), (1, 0))
        outs.append(b.call("aten.add.Tensor", b.input(f"lies{k}", (40 * k, 300)), turned))
    (bundle,) = combined(compile_graph(b.graph(*outs), H100), H100).bundles
    where = [{place.partition(".")[2] for place, _ in c.launches} for c in bundle.combos]
    assert where == [{"r0"}, {"r1", "r4"}, {"r2", "r5"}, {"r3", "r6"}]


def test_memory_of_what_nobody_reads_again_is_not_allocated() -> None:
    b = GraphBuilder()
    made = b.input("x", (2048, 96))
    for n in range(6):
        made = b.call("aten.add.Tensor", made, b.input(f"x{n}", (2048, 96)))
    made = b.call("aten.exp.default", made)
    total = b.call("aten.sum.dim_IntList", made, (0,))
    other = b.call("aten.sum.dim_IntList", b.input("y", (5, 7)), (1,))
    graph = b.graph(b.call("aten.div.Tensor", made, total), other)
    compiled = combined(compile_graph(graph, H100), H100)
    assert any(len(names) > 1 for launch in compiled.launches for names in launch.arguments)
    assert [len(bundle.regions) for bundle in compiled.bundles] == [2]


def test_regions_that_share_inputs() -> None:
    run_both(states([(4, 3)] * 4, shared=True))


def test_memory_in_quantity_keeps_a_region_alone() -> None:
    few, _ = run_both(states([(4, 3)] * 3, allocates=1 << 10))
    many, _ = run_both(states([(4, 3)] * 3, allocates=1 << 20))
    assert max(len(bundle.regions) for bundle in few.bundles) == 4
    assert max(len(bundle.regions) for bundle in many.bundles) == 3


def test_a_launch_that_moves_little_is_combined_whatever_is_allocated() -> None:
    compiled, seen = run_both(states([(4, 3)] * 3, allocates=3 << 17))  # 1.5 MiB, 3 MiB moved
    assert max(len(bundle.regions) for bundle in compiled.bundles) == 4
    assert len(seen) == 1


def norms(sizes: Sizes) -> Graph:
    """Gradients divided by the norm of them all: a region whose launches depend on each other."""
    b = GraphBuilder()
    gradients = [b.input(f"g{n}", size) for n, size in enumerate(sizes)]
    squares = [b.call("aten.mul.Tensor", g, g) for g in gradients]
    sums = [b.call("aten.sum.default", s) for s in squares]
    total = sums[0]
    for one in sums[1:]:
        total = b.call("aten.add.Tensor", total, one)
    root = b.call("aten.sqrt.default", total)
    return b.graph(*(b.call("aten.div.Tensor", g, root) for g in gradients))


def test_launches_of_a_region_wait_for_those_they_need() -> None:
    compiled, seen = run_both(norms([(40, 30), (500,), (30, 30), (20, 10)]))
    assert len(compiled.launches) == 8  # the last sum makes the total too
    assert len(seen) < 5 and "_for_" in seen[-1]


def test_launches_wait_for_those_whose_memory_they_take() -> None:
    """What each reads and writes; what has two names is written over the first."""
    steps = [
        ([], [("a",)]),
        ([("x",)], [("e",)]),
        ([("a",)], [("b",)]),
        ([("x",)], [("a", "c")]),
        ([("c",), ("x",)], [("f",)]),
        ([("x",)], [("g",)]),
        ([], [("c", "d")]),
        ([], [("x", "h")]),
    ]
    names = {1: ArgumentKind.OUTPUT, 2: ArgumentKind.IN_OUT}
    launches = []
    for read, written in steps:
        arguments = [Argument("in", ArgumentKind.INPUT, DType.F32, at) for at in read]
        arguments += [Argument("out", names[len(at)], DType.F32, at) for at in written]
        arguments.append(Argument("size", ArgumentKind.SIZE, DType.I64, ("s0",)))
        launches.append(SimpleNamespace(plan=SimpleNamespace(arguments=arguments)))
    region: Any = SimpleNamespace(launches=launches)
    assert choosing._levels(region) == [0, 0, 1, 2, 3, 0, 4, 4]


def test_sums_of_any_length_are_side_by_side() -> None:
    compiled, seen = run_both(norms([(7,)] * 9 + [(3000,)] * 3 + [(300, 40)]))
    levels = [len(combo.launches) for bundle in compiled.bundles for combo in bundle.combos]
    assert levels[0] == 13 and len(seen) <= 4  # each sum by programs of its own
    assert {len(launch.arguments) for launch in compiled.launches[:12]} == {2}


def test_an_optimizer_by_torch_compile(compiler: Compiler) -> None:
    torch.manual_seed(0)
    sizes = [(3, 5), (7,), (3, 5), (64, 2)]
    parameters, twins = ([torch.nn.Parameter(torch.ones(s) * 2) for s in sizes] for _ in range(2))
    optimizers = [
        torch.optim.AdamW(group, lr=0.1, capturable=False, foreach=True)
        for group in (parameters, twins)
    ]
    run: Any = torch.compile(optimizers[0].step, backend=compiler)
    for _ in range(3):
        for ours, theirs in zip(parameters, twins, strict=True):
            ours.grad = torch.randn_like(ours)
            theirs.grad = ours.grad.clone()
        run()
        optimizers[1].step()
    for ours, theirs in zip(parameters, twins, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert compiler.compiled[-1].bundles


def test_combos_can_be_left_out(devices: Devices) -> None:
    compiler = Compiler(devices=devices, combo_kernels=False)
    a, b = torch.ones(5), torch.ones(9)

    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, y * 2

    run: Any = torch.compile(both, backend=compiler)
    torch.testing.assert_close(run(a, b), (a + 1, b * 2))
    assert compiler.reports[-1].launches == 2


@pytest.mark.parametrize("faster", [True, False])
def test_a_combo_is_kept_if_it_is_timed_faster(faster: bool) -> None:
    graph = states([(4, 3), (5, 6), (4, 3)])
    asked: list[tuple[int, int]] = []

    def answer(combo: Combo, launches: Sequence[Launch]) -> bool:
        kinds = [len(launch.kernel.module.signature) for launch in launches]
        asked.append((len(combo.module.signature), sum(kinds)))
        return faster

    compiled = combined(compile_graph(graph, H100), H100, answer)
    assert asked == [(6, 6)]
    assert bool(compiled.bundles) == faster
    assert compiled.report().launches == (1 if faster else 3)


def test_a_partition_of_ones_own_takes_the_place_of_ours(devices: Devices) -> None:
    compiled = compile_graph(states([(4, 3)] * 6), H100)
    kinds: list[int] = []

    def pairs(found: Mapping[tuple[str, int], Launch]) -> list[list[tuple[str, int]]]:
        kinds.append(len(found))
        return [list(found)[n : n + 2] for n in range(0, len(found), 2)]

    made = combined(compiled, H100, partition=pairs)
    assert kinds == [6] and made.report().launches == 3
    compiler = Compiler(
        devices=devices, fail_on_fallback=True, combo_partition=lambda found: [[p] for p in found]
    )
    run: Any = torch.compile(lambda x, y: (x + 1, y * 2), backend=compiler)
    torch.testing.assert_close(run(torch.ones(5), torch.ones(9))[1], torch.full((9,), 2.0))
    assert compiler.reports[-1].launches == 2


def test_launches_of_one_kernel_need_not_follow_each_other_in_a_partition() -> None:
    b = GraphBuilder()
    first, second, third = (b.input(name, (4, 3)) for name in "xyz")
    made = [b.call("aten.exp.default", first), b.call("aten.neg.default", second)]
    graph = b.graph(*made, b.call("aten.exp.default", third))
    compiled = combined(compile_graph(graph, H100), H100, partition=lambda found: [list(found)])
    assert compiled.report().launches == 1
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    x, y, z = random_inputs(graph, "cpu", 4)
    torch.testing.assert_close(run([x, y, z]), [x.exp(), -y, z.exp()])


def test_a_partition_that_is_none_is_refused() -> None:
    compiled = compile_graph(states([(4, 3)] * 3), H100)
    for wrong in (lambda f: [list(f)[1:]], lambda f: [[p] for p in f] + [list(f)[:1]]):
        with pytest.raises(InvalidProgram, match="every launch once"):
            combined(compiled, H100, partition=wrong)
    many = compile_graph(states([(4, 3)] * 250), H100)
    with pytest.raises(InvalidProgram, match="too many arguments"):
        combined(many, H100, partition=lambda found: [list(found)])


@pytest.mark.parametrize("joined", [0.5, 2.0])
def test_a_combo_is_timed_against_its_parts_on_the_same_arguments(joined: float) -> None:
    graph = compile_graph(states([(4, 3), (5, 6)]), H100)
    seen: list[Sequence[Way]] = []

    def choose(ways: Sequence[Way]) -> Outcome:
        assert type(torch.ones(1)) is torch.Tensor
        seen.append(ways)
        return Outcome(int(joined < 1), "timed", (1.0, joined))

    with FakeTensorMode():  # as while torch traces
        compiled = combined(graph, H100, faster_joined(choose))
    ((apart, whole),) = seen
    assert [apart.name, whole.name] == ["apart", "joined"]
    assert [m.text for m in modules_of(compiled)] == [*(whole if joined < 1 else apart).steps]
    assert whole.arguments == (tuple(n for names in apart.arguments for n in names),)
    assert [len(names) for names in apart.arguments] == [2, 2] and len(whole.arguments[0]) == 4
    assert not {*sum(apart.arguments[0], ())} & {*sum(apart.arguments[1], ())}


@pytest.mark.parametrize("taken", [0, 1])
def test_the_backend_asks_about_its_combos(
    taken: int, devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = lambda _ways: Outcome(taken, "timed", (1.0, 1.0))  # noqa: E731
    monkeypatch.setattr(Devices, "chooser", lambda _self, _device: choose)
    torch._dynamo.reset()
    compiler = Compiler(devices=devices, timed_combos=True, fail_on_fallback=True)
    x, y = torch.randn(4, 3), torch.randn(5, 6)
    made = torch.compile(lambda x, y: (x + 1, y + 1), backend=compiler)(x, y)
    torch.testing.assert_close(made, (x + 1, y + 1))
    assert compiler.reports[0].launches == 2 - taken


def modules_of(compiled: CompiledGraph) -> list[EmittedModule]:
    """What is launched, in order."""
    bundled = [combo.module for bundle in compiled.bundles for combo in bundle.combos]
    return bundled or [launch.kernel.module for launch in compiled.launches]
