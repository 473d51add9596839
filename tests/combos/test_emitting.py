"""Combos: modules of several kernels, checked in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.combos.emitting import Part, can_combine, emit_combo
from harness.dtypes import DType
from harness.errors import IndexOutOfRange, InvalidProgram
from harness.graph.model import CHECKED, Graph
from harness.heuristics.facts import Config
from harness.records.metrics import StaticMetrics
from harness.runtime import module as loading
from harness.runtime.compile import static
from harness.runtime.compile.static import CompileJob
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.target import H100
from harness.tiling.plan import Category
from tests.codegen.kernels import sources
from tests.codegen.test_interpreted import failures
from tests.graph.building import GraphBuilder
from tests.operator_cases import graph_of
from tests.operator_table import CASES


def pointwise(n: int) -> Graph:
    b = GraphBuilder()
    x, y = b.input("x", (n,)), b.input("y", (n,))
    return b.graph(b.call("aten.add.Tensor", b.call("aten.mul.Tensor", x, y), 1.5))


def rows(m: int, n: int) -> Graph:
    """Mixed types, a sum along rows."""
    b = GraphBuilder()
    x, y = b.input("x", (m, n), DType.BF16), b.input("y", (m, n))
    total = b.call("aten.sum.dim_IntList", b.call("aten.exp.default", y), (1,), True)
    wide = b.call("aten._to_copy.default", x, dtype=DType.F32)
    return b.graph(b.call("aten.div.Tensor", wide, total))


def transposed(m: int, n: int) -> Graph:
    """Two tiles."""
    b = GraphBuilder()
    x, y = b.input("x", (m, n)), b.input("y", (n, m))
    return b.graph(b.call("aten.add.Tensor", b.call("aten.permute.default", x, (1, 0)), y))


def parts(*graphs: tuple[Graph, int], looped: bool | None = None) -> list[Part]:
    return [Part(s.plan, g, count) for g, count in graphs for s in sources(g, looped)]


def checked(
    found: Sequence[Part], interpreter: InterpreterPool, cache: Path
) -> loading.LoadedModule:
    """The module of ``found``, right in each of its configurations."""
    module = emit_combo(found, 0, H100)
    loaded = loading.load(module.text, cache)
    jobs = [CheckJob(module.text, config) for config in loaded.configs]
    for _, answer in interpreter.each(jobs):
        assert isinstance(answer, CheckResult) and answer.passed, answer
    return loaded


def test_pointwise_kernels_of_many_sizes_keep_their_blocks(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    graphs = [(pointwise(n), count) for n, count in ((3000, 1), (8, 5), (777, 3), (1, 2))]
    loaded = checked(parts(*graphs), interpreter, tmp_path)
    assert len(loaded.signature) == 3 * (1 + 5 + 3 + 2)
    assert loaded.bytes_moved == 12 * (3000 + 5 * 8 + 3 * 777 + 2)
    names = [name for name, _ in loaded.configs[0].blocks]
    assert names == ["XBLOCK_0", "XBLOCK_1", "XBLOCK_2", "XBLOCK_3"]
    blocks = dict(loaded.configs[0].blocks)
    programs = -(-3000 // blocks["XBLOCK_0"]) + 5 * -(-8 // blocks["XBLOCK_1"])
    programs += 3 * -(-777 // blocks["XBLOCK_2"]) + 2 * -(-1 // blocks["XBLOCK_3"])
    assert loaded.grid(loaded.configs[0]) == (programs, 1, 1)


@pytest.mark.parametrize("looped", [False, True])
def test_reductions_and_pointwise_kernels_together(
    looped: bool, interpreter: InterpreterPool, tmp_path: Path
) -> None:
    reduced = [(rows(5, 100), 2), (rows(3, 33), 1)]
    found = [*parts(*reduced, looped=looped), *parts((pointwise(500), 2))]
    kind = Category.REDUCTION if looped else Category.PERSISTENT
    assert [part.plan.category for part in found] == [kind, kind, Category.POINTWISE]
    checked(found, interpreter, tmp_path)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 23))]
)
def test_operators_in_combos_compute_what_torch_does(
    first: int, interpreter: InterpreterPool
) -> None:
    """A dozen kernels of the operator table at a time, each launched once or twice."""
    fit = [
        Part(source.plan, graph, 1 + n % 2)
        for n, case in enumerate(CASES[first::23])
        for graph in [graph_of(case)]
        for source in sources(graph)
        if can_combine(source.plan)
    ]
    assert len(fit) > 12
    found = [emit_combo(fit[n : n + 12], n, H100) for n in range(0, len(fit), 12)]
    assert failures({m.name: m for m in found}, interpreter) == []


def test_a_program_reads_its_own_pointers_and_no_others(tmp_path: Path) -> None:
    """Compiled without a GPU: the kernel is no longer for more launches, and its accesses as wide;
    with a pointer at an odd address they are single."""
    pytest.importorskip("triton")
    texts = [emit_combo(parts((pointwise(4096), count)), 0, H100).text for count in (2, 90)]
    config = Config((("XBLOCK_0", 1024),), 4)
    few, many = static.measure([CompileJob(text, H100, config) for text in texts], tmp_path)
    assert isinstance(few, StaticMetrics) and isinstance(many, StaticMetrics)
    assert many.instructions <= few.instructions + 4
    assert many.widest_load == many.widest_store == 16
    loaded = loading.load(texts[1], tmp_path)
    odd = static.compile_for(loaded, H100, config, ["in_ptr0_0_7"])
    assert ".v4" in static.compile_for(loaded, H100, config).asm["ptx"]
    assert ".v4" not in odd.asm["ptx"] and ".v2" not in odd.asm["ptx"]


def looked_up() -> Graph:
    """Two tables' rows at positions that are checked."""
    b = GraphBuilder()
    table, at = b.input("t", (50, 24)), b.input("i", (37,), DType.I64)
    made = b.graph(b.call("aten.embedding.default", table, at))
    return replace(made, facts=(CHECKED,))


def test_two_tiles_and_checked_positions(interpreter: InterpreterPool, tmp_path: Path) -> None:
    found = parts((transposed(70, 96), 2), (transposed(33, 40), 1), (looked_up(), 2))
    shapes = [len([t for t in p.plan.tiles if not t.is_reduction]) for p in found]
    assert shapes == [2, 2, 1]
    loaded = checked(found, interpreter, tmp_path)
    assert "@triton.jit(debug=True)\ndef triton_for" in loaded.text
    module = emit_combo(found[2:], 0, H100)
    args = loading.load(module.text, tmp_path).get_args("cpu")
    next(a for a in args if not a.is_floating_point())[3] = 50
    with pytest.raises(IndexOutOfRange):
        interpreter.launch(module.text, args)


def test_what_cannot_be_in_a_combo_is_refused() -> None:
    b = GraphBuilder()
    scanned = b.graph(b.call("aten.cumsum.default", b.input("x", (2, 40000)), 1))
    shared = b.graph(b.call("aten.sum.dim_IntList", b.input("y", (2, 40009)), (1,)))
    for found in (*parts((scanned, 2)), *parts((shared, 2))):
        assert found.plan.workspace and not can_combine(found.plan)
        with pytest.raises(InvalidProgram, match="combo"):
            emit_combo([found], 0, H100)


def test_the_text_is_the_same_however_often_it_is_made() -> None:
    graphs = [(pointwise(n), 2) for n in (64, 48)]
    one, other = (emit_combo(parts(*graphs), 0, H100) for _ in range(2))
    assert one == other and one.code_hash in one.text


def test_loads_of_the_next_rows_are_under_way_in_combos(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    """A loop that stores at every point of columns that it sums: how far ahead is a parameter."""
    b = GraphBuilder()
    doubled = b.call("aten.mul.Tensor", b.input("x", (40, 300)), 2.0)
    total = b.call("aten.sum.dim_IntList", doubled, (0,))
    found = parts((b.graph(doubled, total), 2), looped=True)
    assert found[0].plan.facts.strips
    loaded = checked(found, interpreter, tmp_path)
    assert "STAGES_0" in dict(loaded.configs[0].blocks)


def test_rows_that_begin_anywhere_are_parts_of_combos(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    found = parts((rows(3, 2053), 2), (pointwise(300), 1), looped=True)
    loaded = checked(found, interpreter, tmp_path)
    assert "VECTOR: tl.constexpr = 8 if ALIGNED else 1" in loaded.text
    made = static.compile_for(loaded, H100, loaded.configs[0], cache=tmp_path)
    assert "tt.constancy = dense<8>" in made.asm["ttgir"]
