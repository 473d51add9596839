"""Combos of kernels whose sizes only a launch knows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.backend import Compiler
from harness.combos.choosing import combined
from harness.combos.emitting import Part, emit_combo
from harness.executor import prepare_graph
from harness.graph.model import Graph
from harness.heuristics.facts import Config
from harness.measure.deciding import faster_joined
from harness.pipeline import compile_graph
from harness.records.metrics import StaticMetrics
from harness.records.trials import Outcome, Way
from harness.runtime import module as loading
from harness.runtime.compile import static
from harness.runtime.compile.static import CompileJob
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.target import H100
from tests.codegen.kernels import loads
from tests.codegen.test_unknown_sizes import ADDED, ROWS, SOFTMAX, TURNED, graph
from tests.combos.test_emitting import parts, pointwise, rows
from tests.test_executor import launches_of_torch

NORM = graph("""def norm(
    x: "bf16[s0, s2]",
    w: "f32[s2]",
):
    wide: "f32[s0, s2]" = aten._to_copy.default(x, dtype=torch.float32)
    square: "f32[s0, s2]" = aten.mul.Tensor(wide, wide)
    mean: "f32[s0, 1]" = aten.mean.dim(square, [1], True)
    add: "f32[s0, 1]" = aten.add.Tensor(mean, 1e-05)
    root: "f32[s0, 1]" = aten.rsqrt.default(add)
    mul: "f32[s0, s2]" = aten.mul.Tensor(wide, root)
    by: "f32[s0, s2]" = aten.mul.Tensor(mul, w)
    return (by,)
""")

KINDS: Mapping[str, Sequence[tuple[Graph, int]]] = {
    "pointwise, of known sizes too": ((pointwise(300), 2), (ADDED, 3), (pointwise(7), 1)),
    "rows": ((SOFTMAX, 2), (ROWS, 1), (rows(5, 100), 2), (NORM, 2)),
    "two tiles": ((TURNED, 2), (TURNED, 1)),
}
SIZES = (
    (0, 0, 5),
    (1, 1, 1),
    (0, 7, 3),
    (33, 7, 129),
    (64, 64, 64),
    (3, 1100, 2048),
    (2, 9001, 70),
)


def parts_of(name: str) -> list[Part]:
    return parts(*KINDS[name])


def wrong(jobs: Sequence[CheckJob], interpreter: InterpreterPool) -> list[object]:
    """What is wrong, and for which sizes."""
    answers = [(jobs[n].sizes, answer) for n, answer in interpreter.each(jobs)]
    assert len(answers) == len(jobs)
    return [one for one in answers if not (isinstance(one[1], CheckResult) and one[1].passed)]


def blocks_of(config: Config) -> Config:
    """Without what follows from the sizes."""
    rest = tuple(pair for pair in config.blocks if "BLOCK" in pair[0])
    return replace(config, blocks=rest)


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_is_right_for_every_size(
    kind: str, interpreter: InterpreterPool, tmp_path: Path
) -> None:
    loaded = loading.load(emit_combo(parts_of(kind), 0, H100).text, tmp_path)
    drawn = random.Random(5)
    every = [*SIZES, *(tuple(drawn.randrange(1, 300) for _ in range(3)) for _ in range(5))]
    jobs: list[CheckJob] = []
    for values in every:
        sizes = {n: values[int(n[1:])] for n in loaded.unknown_sizes}
        chosen = loaded.at(loaded.only_sizes(sizes), H100).configs
        configs = dict.fromkeys((blocks_of(chosen[0]), blocks_of(chosen[-1]), loaded.configs[0]))
        jobs += [CheckJob(loaded.text, config, sizes=tuple(sizes.items())) for config in configs]
    assert wrong(jobs, interpreter) == []


def test_sizes_are_arguments_once_and_the_grid_follows_them(tmp_path: Path) -> None:
    loaded = loading.load(emit_combo(parts_of("rows"), 0, H100).text, tmp_path)
    assert [name for name in loaded.signature if name.startswith("ks")] == ["ks0", "ks1", "ks2"]
    assert list(loaded.signature)[-3:] == ["ks0", "ks1", "ks2"]
    assert loaded.unknown_sizes == {"s0": 1024, "s1": 1024, "s2": 1024}
    config = loaded.configs[0]
    blocks = [config.block(f"XBLOCK_{n}") for n in range(4)]
    for s0 in (0, 1, 999):
        points = zip((2, 1, 2, 2), (s0, s0, 5, s0), blocks, strict=True)
        total = sum(count * -(-n // block) for count, n, block in points)
        args = loaded.only_sizes({"s0": s0, "s1": 9, "s2": 9})
        assert loaded.grid(config, args) == (total, 1, 1)
    assert "first_1 = " in loaded.text and "blocks_2: tl.constexpr = " in loaded.text


def test_sizes_of_a_launch_have_the_candidates_of_known_ones(tmp_path: Path) -> None:
    loaded = loading.load(emit_combo(parts((ROWS, 2)), 0, H100).text, tmp_path)
    for s0, s1 in ((8192, 1000), (4096, 4096), (300, 30000)):
        text = f'# harness graph 1\ndef rows(\n    x: "f32[{s0}, {s1}]",\n):\n'
        text += f'    total: "f32[{s0}]" = aten.sum.dim_IntList(x, [1])\n    return (total,)\n'
        alone = emit_combo(parts((loads(text, "test graph"), 2)), 0, H100)
        known = loading.load(alone.text, tmp_path).configs
        chosen = loaded.at(loaded.only_sizes({"s0": s0, "s1": s1}), H100).configs
        assert [blocks_of(c) for c in chosen] == list(known)


SPREAD = graph("""def spread(
    x: "f32[s2, s1]",
):
    both: ("f32[s2]", "f32[s2]") = aten.var_mean.correction(x, [1], correction=0)
    var: "f32[s2]" = getitem(both, 0)
    mean: "f32[s2]" = getitem(both, 1)
    return (var, mean)
""")


def test_few_long_rows_are_shared_in_a_combo_too(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    """By as many programs each; launches, which run at once, have words of their own."""
    loaded = loading.load(emit_combo(parts((ROWS, 2), (SPREAD, 1)), 0, H100).text, tmp_path)
    jobs = []
    for s0, s1, s2 in (
        (3, 20_011, 1),
        (1, 12_288, 4),
        (2, 9000, 300),
        (2, 8192, 3),
        (0, 30_000, 1),
    ):
        sizes = {"s0": s0, "s1": s1, "s2": s2}
        args = loaded.only_sizes(sizes)
        config = loaded.at(args, H100).configs[0]
        chunks = [config.block(f"CHUNKS_{n}") for n in range(2)]
        assert (chunks[0] > 1, chunks[1] > 1) == (s1 > 8192, s1 > 8192 and s2 < 66)
        assert chunks[0] == chunks[1] or 1 in chunks
        rows = [-(-n // config.block(f"XBLOCK_{part}")) for part, n in enumerate((s0, s2))]
        assert loaded.grid(config, args)[0] == 2 * rows[0] * chunks[0] + rows[1] * chunks[1]
        jobs.append(CheckJob(loaded.text, blocks_of(config), sizes=tuple(sizes.items())))
    assert wrong(jobs, interpreter) == []
    assert "workspace_0 + (0 + copy_0) * 43690," in loaded.text  # of 65536 words and one each
    assert "workspace_1_0 + 2 * 65536," in loaded.text


def test_few_texts_are_compiled_however_sizes_are_combined(tmp_path: Path) -> None:
    """What is compiled for a launch is what holds of all kernels, not a combination of each's."""
    many = [
        graph(f'def one(\n    x: "f32[s{n}]",\n):\n    y: "f32[s{n}]" = aten.exp.default(x)\n'
              "    return (y,)\n")
        for n in range(6)
    ]  # fmt: skip
    loaded = loading.load(emit_combo(parts(*((g, 1) for g in many)), 0, H100).text, tmp_path)
    drawn = random.Random(3)
    found = set()
    for _ in range(200):
        sizes = {n: drawn.choice((1, 16, 100, 4096, 5000, 65536)) for n in loaded.unknown_sizes}
        args = loaded.only_sizes(sizes)
        found.add(loaded.at(args, H100).configs[0])
    assert 1 < len(found) <= 12


def test_it_compiles_for_a_device_with_whole_vectors(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    made = [loading.load(emit_combo(parts_of(kind), 0, H100).text, tmp_path) for kind in KINDS]
    jobs = [CompileJob(loaded.text, H100, loaded.configs[0]) for loaded in made]
    measured = static.measure(jobs, tmp_path)
    assert all(isinstance(one, StaticMetrics) for one in measured), measured
    flat = made[0]
    args = flat.only_sizes(dict.fromkeys(flat.unknown_sizes, 4096))
    config = flat.at(args, H100).configs[0]
    ptx = static.compile_for(flat, H100, config, cache=tmp_path).asm["ptx"]
    assert ".v4" in ptx and ".v2" not in ptx


STATES = graph("""def states(
    a: "f32[s0, 4] buffer",
    b: "f32[s1] buffer",
    c: "f32[s0, 4] buffer",
    k: "f32[9] buffer",
    p: "f32[s0, 4]",
    q: "f32[s1]",
    r: "f32[s0, 4]",
    t: "f32[9]",
):
    new_a: "f32[s0, 4]" = aten.add.Tensor(a, p)
    new_b: "f32[s1]" = aten.mul.Tensor(b, q)
    new_c: "f32[s0, 4]" = aten.add.Tensor(c, r)
    new_k: "f32[9]" = aten.add.Tensor(k, t)
    a[...] = new_a
    b[...] = new_b
    c[...] = new_c
    k[...] = new_k
    return ()
""")


def states_at(s0: int, s1: int) -> list[torch.Tensor]:
    shapes = [(s0, 4), (s1,), (s0, 4), (9,)]
    return [torch.randn(shape) for shape in shapes * 2]


def test_launches_of_known_and_unknown_sizes_are_one() -> None:
    compiled = combined(compile_graph(STATES, H100), H100)
    assert len(compiled.launches) == 4 and compiled.report().launches == 1
    ((combo,),) = (bundle.combos for bundle in compiled.bundles)
    assert combo.module.signature[-2:] == (("ks0", "i64"), ("ks1", "i64"))
    run: Any = prepare_graph(compiled, launches_of_torch(), "cpu")
    for s0, s1 in ((3, 5), (0, 7), (1, 1), (40, 0)):
        given = states_at(s0, s1)
        a, b, c, k, p, q, r, t = (one.clone() for one in given)
        run([*given])
        torch.testing.assert_close(given[:4], [a + p, b * q, c + r, k + t])


LENGTHS = ("s0", "s1", "s0")


def test_a_kernel_for_other_sizes_is_another_part() -> None:
    """The number of rows is known, and so is the grid: their length alone tells launches apart."""
    text = "def sums(\n"
    text += "".join(f'    {x}: "f32[2048, {n}]",\n' for x, n in zip("xyz", LENGTHS, strict=True))
    text += "):\n"
    text += "".join(f'    {x}s: "f32[2048]" = aten.sum.dim_IntList({x}, [1])\n' for x in "xyz")
    compiled = compile_graph(graph(f"{text}    return (xs, ys, zs)\n"), H100)
    assert len(compiled.kernels) == 1 and len(compiled.launches) == 3
    made = combined(compiled, H100)
    assert made.report().launches == 1
    run: Any = prepare_graph(made, launches_of_torch(), "cpu")
    x, y, z = (torch.randn(2048, n) for n in (5, 70, 5))
    torch.testing.assert_close(run([x, y, z]), [x.sum(1), y.sum(1), z.sum(1)])


def test_a_combo_is_timed_on_the_sizes_of_its_parts() -> None:
    seen: list[Sequence[Way]] = []

    def choose(ways: Sequence[Way]) -> Outcome:
        seen.append(ways)
        return Outcome(1, "timed", (1.0, 0.5))

    compiled = combined(compile_graph(STATES, H100), H100, faster_joined(choose))
    ((apart, joined),) = seen
    module = loading.load(joined.steps[0])
    assert len(joined.arguments[0]) == len(module.signature) == 8 + 2
    sizes = [names[0].rpartition(".")[2] for names in joined.arguments[0][-2:]]
    assert sizes == ["s0", "s1"]
    assert sum(len(names) for names in apart.arguments) == 8 + 3  # s0 twice
    assert compiled.report().launches == 1


def test_foreach_over_unknown_sizes_by_torch_compile(compiler: Compiler) -> None:
    def step(parameters: list[torch.Tensor], gradients: list[torch.Tensor]) -> None:
        torch._foreach_mul_(gradients, 0.5)
        torch._foreach_add_(parameters, gradients, alpha=-0.1)

    run: Any = torch.compile(step, backend=compiler, dynamic=True)
    for sizes in ((5, 9, 20), (7, 300, 3), (2, 65, 4097)):
        ours, theirs = ([torch.ones(n, 3) * n for n in sizes] for _ in range(2))
        gradients = [torch.randn(n, 3) for n in sizes]
        run(ours, [g.clone() for g in gradients])
        step(theirs, gradients)
        torch.testing.assert_close(ours, theirs)
    assert len(compiler.compiled) == 1
    assert len(compiler.compiled[0].launches) > 1 == compiler.reports[0].launches


def test_two_reductions_of_a_dynamic_batch_by_torch_compile(compiler: Compiler) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.softmax(-1), y.square().sum(-1)

    run: Any = torch.compile(both, backend=compiler)
    for batch in (4, 1, 7, 33):
        x, y = torch.randn(batch, 40), torch.randn(batch, 24)
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_dynamic(y, 0)
        torch.testing.assert_close(run(x, y), both(x, y))
    assert compiler.reports[0].launches == 1
