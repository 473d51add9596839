"""Every operator case and every graph of this room, run in Triton's interpreter."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.runtime.interpret.interpreter import CheckJob, InterpreterPool
from tests.codegen.graphs import GRAPHS
from tests.codegen.kernels import loads, modules
from tests.operator_cases import graph_of
from tests.operator_table import CASES


def failures(
    found: dict[str, EmittedModule], interpreter: InterpreterPool, config: Config | None = None
) -> list[str]:
    """Check all modules, in ``config`` or the first of their own; a line for each that fails."""
    names = list(found)
    jobs = [CheckJob(found[n].text, config) for n in names]
    lines: list[str] = []
    for position, answer in interpreter.each(jobs):
        if isinstance(answer, HarnessError):
            lines.append(f"{names[position]}: {answer}")
        elif not answer.passed:
            lines.append(f"{names[position]}: {answer.max_error} > {answer.allowed}")
    return lines


# A few of each kind, spread over the table by name, for every run of the tests.
_STEP = len(CASES) // 24


def test_a_sample_of_operator_cases_computes_what_torch_does(interpreter: InterpreterPool) -> None:
    chosen = [*CASES[::_STEP], *(case for case in CASES if case.op.startswith("prims.iota"))]
    found = {f"{c.name} {m.name}": m for c in chosen for m in modules(graph_of(c))}
    assert len(found) >= 24
    assert failures(found, interpreter) == []


def test_a_factory_that_names_a_device_gets_one(interpreter: InterpreterPool) -> None:
    graph = graph_of(next(case for case in CASES if case.op.startswith("prims.iota")))
    (node,) = graph.nodes
    placed = dataclasses.replace(node, kwargs=(*node.kwargs, ("device", None)))
    (module,) = modules(dataclasses.replace(graph, nodes=(placed,)))
    assert failures({"iota": module}, interpreter) == []


@pytest.mark.slow
def test_every_other_operator_case_computes_what_torch_does(interpreter: InterpreterPool) -> None:
    others = [case for number, case in enumerate(CASES) if number % _STEP]
    found = {f"{c.name} {m.name}": m for c in others for m in modules(graph_of(c))}
    assert len(found) > len(others) * 0.9
    assert failures(found, interpreter) == []


@pytest.mark.parametrize("looped", [True, False])
def test_graphs_compute_what_torch_does_in_loops_and_in_blocks(
    interpreter: InterpreterPool, looped: bool
) -> None:
    found = {}
    for graph in GRAPHS:
        for module in modules(graph, looped):
            found[f"{graph.name} {module.name}"] = module
    assert failures(found, interpreter) == []


def test_a_wrong_kernel_fails_its_check(interpreter: InterpreterPool) -> None:
    (module,) = modules(GRAPHS[3])
    wrong = dataclasses.replace(module, text=module.text.replace("tmp0 + tmp1", "tmp0 - tmp1"))
    assert wrong.text != module.text
    assert len(failures({"wrong": wrong}, interpreter)) == 1


def test_writing_beyond_the_output_fails_the_check(interpreter: InterpreterPool) -> None:
    (module,) = modules(GRAPHS[3])
    text = module.text.replace("xmask = xindex < xnumel", "xmask = xindex < xnumel + 1")
    assert text != module.text
    lines = failures({"beyond": dataclasses.replace(module, text=text)}, interpreter)
    assert len(lines) == 1


_ROWS = """# harness graph 1
def rows(
    x: "f32[6, {n}]",
):
    amax: "f32[6, 1]" = aten.amax.default(x, [-1], True)
    sub: "f32[6, {n}]" = aten.sub.Tensor(x, amax)
    exp: "f32[6, {n}]" = aten.exp.default(sub)
    total: "f32[6, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    return (amax, total)
"""


@pytest.mark.parametrize(
    ("columns", "block"), [(20000, 16384), (20000, 1024), (300, 2), (20001, 4096), (3001, 512)]
)
def test_an_online_softmax_in_a_loop_is_right_where_infinities_are(
    interpreter: InterpreterPool, columns: int, block: int
) -> None:
    (module,) = modules(loads(_ROWS.format(n=columns)), looped=True)
    assert "SIDE: tl.constexpr = 4" in module.text
    rows = torch.randn(6, columns) * 30
    rows[1, : columns * 9 // 10] = -torch.inf  # whole blocks without a finite value
    rows[2, 5], rows[3, -1] = torch.inf, torch.nan
    rows[4] = -torch.inf
    top, total = torch.empty(6, 1), torch.empty(6, 1)
    config = Config((("XBLOCK", 1), ("R0_BLOCK", block)), 4)
    interpreter.launch(module.text, [rows, top, total], config)
    wanted = rows.amax(-1, True)
    torch.testing.assert_close(top, wanted, equal_nan=True, rtol=0, atol=0)
    sums = (rows.double() - wanted.double()).exp().sum(-1, True)
    torch.testing.assert_close(total.double(), sums, equal_nan=True, rtol=1e-5, atol=0)


@pytest.mark.parametrize("columns", [1000, 1024, 1601])
def test_a_softmax_of_rows_in_one_block_is_right_where_infinities_are(
    interpreter: InterpreterPool, columns: int
) -> None:
    div = f'    div: "f32[6, {columns}]" = aten.div.Tensor(exp, total)\n    return (amax, div)'
    graph = _ROWS.format(n=columns).replace("    return (amax, total)", div)
    (module,) = modules(loads(graph))
    assert ", 0, _larger)" in module.text
    rows = torch.randn(6, columns) * 30
    rows[1, : columns * 9 // 10] = -torch.inf
    rows[2, 5], rows[3, -1] = torch.inf, torch.nan
    rows[4] = -rows[4].abs()
    rows[4, 6], rows[4, 5] = 0.0, -0.0
    rows[5] = -torch.inf
    top, shares = torch.empty(6, 1), torch.empty(6, columns)
    interpreter.launch(module.text, [rows, top, shares])
    wanted = rows.amax(-1, True)
    torch.testing.assert_close(top, wanted, equal_nan=True, rtol=0, atol=0)
    assert not torch.signbit(top[4]).any()
    exact = torch.softmax(rows.double(), -1)
    torch.testing.assert_close(shares.double(), exact, equal_nan=True, rtol=2e-5, atol=1e-38)


_LOGARITHM = """# harness graph 1
def rows(
    x: "f32[7, {n}]",
):
    amax: "f32[7, 1]" = aten.amax.default(x, [-1], True)
    abs: "f32[7, 1]" = aten.abs.default(amax)
    eq: "b8[7, 1]" = aten.eq.Scalar(abs, float("inf"))
    zero: "f32[]" = aten.scalar_tensor.default(0.0, dtype=torch.float32)
    where: "f32[7, 1]" = aten.where.self(eq, zero, amax)
    sub: "f32[7, {n}]" = aten.sub.Tensor(x, where)
    exp: "f32[7, {n}]" = aten.exp.default(sub)
    total: "f32[7, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    log: "f32[7, 1]" = aten.log.default(total)
    add: "f32[7, 1]" = aten.add.Tensor(log, where)
    sub_1: "f32[7, {n}]" = aten.sub.Tensor(x, add)
    exp_1: "f32[7, {n}]" = aten.exp.default(sub_1)
    return (add, exp_1)
"""


@pytest.mark.parametrize(("columns", "looped"), [(700, False), (3000, False), (20001, True)])
def test_a_logarithm_of_a_sum_and_its_gradient_are_right_where_infinities_are(
    interpreter: InterpreterPool, columns: int, looped: bool
) -> None:
    (module,) = modules(loads(_LOGARITHM.format(n=columns)), looped=looped)
    # In a loop one pass for maximum and sum, one for what is stored; a block has one exponential.
    assert module.text.count("for r0_offset in") == 2 * looped
    assert ("1.0 / " in module.text) == (columns == 3000)
    rows = torch.randn(7, columns) * 30
    rows[1, : columns * 9 // 10] = -torch.inf
    rows[2, 5], rows[3, -1] = torch.inf, torch.nan
    rows[4] = -torch.inf
    rows[5, 1], rows[5, 2] = torch.inf, torch.nan
    rows[6] = 100.0
    logarithm, gradient = torch.empty(7, 1), torch.empty(7, columns)
    interpreter.launch(module.text, [rows, logarithm, gradient])
    wanted = torch.logsumexp(rows.double(), -1, True)
    assert wanted[2] == torch.inf and wanted[4] == -torch.inf
    torch.testing.assert_close(logarithm.double(), wanted, equal_nan=True, rtol=1e-6, atol=1e-6)
    exact = (rows.double() - wanted).exp()
    torch.testing.assert_close(gradient.double(), exact, equal_nan=True, rtol=2e-5, atol=1e-38)


def test_short_rows_that_share_a_program_are_right(interpreter: InterpreterPool) -> None:
    div = '    div: "f32[6, 300]" = aten.div.Tensor(exp, total)\n    return (amax, div)'
    graph = _ROWS.format(n=300).replace("    return (amax, total)", div).replace("[6,", "[4097,")
    (module,) = modules(loads(graph))
    assert "xindex < xnumel" in module.text
    assert (
        failures({"rows": module}, interpreter, Config((("XBLOCK", 64), ("R0_BLOCK", 512)), 4))
        == []
    )
