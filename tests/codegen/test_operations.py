"""Floating-point operations of kernels whose arithmetic can be counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

from harness.codegen.operations import floating_operations
from harness.graph.text import load, loads
from harness.pipeline import compile_graph
from harness.schedule.group import SegmentKind
from harness.target import H100

GRAPH = Path(__file__).parents[2] / "suites" / "graphs" / "llama_block_forward.py"
ROWS, WIDTH = 2048, 4096


def test_a_norm_and_an_addition_are_counted() -> None:
    texts = [k.module.text for k in compile_graph(load(GRAPH), H100).kernels]
    found = {
        name: int(number)
        for text in texts
        for name, number in re.findall(r'KERNEL = "([^"]+)".*?FLOPS = (\d+)', text, re.DOTALL)
    }
    (add,) = (n for name, n in found.items() if "fused_add_6" in name)
    assert add == ROWS * WIDTH
    (norm,) = (n for name, n in found.items() if name.endswith("rsqrt_mul_1"))
    # Square, sum, times the root, times the weight; per row: mean, epsilon, root.
    assert norm == ROWS * (4 * WIDTH + 3)


def test_what_a_loop_has_reduced_later_loops_do_not_do_again() -> None:
    rows, width = 2048, 50_000
    text = f"""# harness graph 1
def norm(x: "f32[{rows}, {width}]"):
    m: "f32[{rows}, 1]" = aten.amax.default(x, [1], True)
    d: "f32[{rows}, {width}]" = aten.sub.Tensor(x, m)
    t: "f32[{rows}, 1]" = aten.sum.dim_IntList(d, [1], True)
    r: "f32[{rows}, 1]" = aten.rsqrt.default(t)
    q: "f32[{rows}, {width}]" = aten.mul.Tensor(d, r)
    return (q,)
"""
    (kernel,) = compile_graph(loads(text), H100).kernels
    plan = kernel.source.plan
    assert [segment.kind for segment in plan.segments] == [SegmentKind.LOOP] * 3
    # The maximum; the distance and its sum; the distance again, times the root of each row.
    assert floating_operations(plan) == rows * ((1 + 2 + 2) * width + 1)
