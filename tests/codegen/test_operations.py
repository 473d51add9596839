"""Floating-point operations of kernels whose arithmetic can be counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

from harness.graph.text import load
from harness.pipeline import compile_graph
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
