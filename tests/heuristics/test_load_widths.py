"""What candidates' machine code loads at once: 16 bytes where a thread has that many side by side.

Compiled for an H100 without one. A reduction whose direction were mistaken shows here as
narrow loads.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harness.graph.model import Graph
from harness.graph.text import loads
from harness.heuristics.facts import Config, Family, Hint
from harness.heuristics.registry import candidates
from harness.pipeline import compile_graph
from harness.target import H100
from tests.runtime.measured import metrics


def graph(text: str) -> Graph:
    return loads(f"# harness graph 1\n{text}", "test graph")


def summed(dtype: str, rows: int, columns: int, dim: int) -> Graph:
    left = rows if dim else columns
    return graph(f"""def summed(
    x: "{dtype}[{rows}, {columns}]",
):
    total: "{dtype}[{left}]" = aten.sum.dim_IntList(x, [{dim}])
    return (total,)
""")


def scaled(dtype: str) -> Graph:
    return graph(f"""def scaled(
    x: "{dtype}[4194304]",
    y: "{dtype}[4194304]",
):
    mul: "{dtype}[4194304]" = aten.mul.Tensor(x, y)
    return (mul,)
""")


CASES = [
    ("one tile", scaled("bf16"), Family.POINTWISE, Hint.DEFAULT),
    ("one tile", scaled("f32"), Family.POINTWISE, Hint.DEFAULT),
    ("rows, looped", summed("bf16", 2048, 65536, 1), Family.REDUCTION, Hint.INNER),
    ("rows, looped", summed("f32", 2048, 65536, 1), Family.REDUCTION, Hint.INNER),
    ("rows that begin anywhere", summed("bf16", 2048, 50257, 1), Family.REDUCTION, Hint.INNER),
    ("rows that begin anywhere", summed("f32", 2048, 50257, 1), Family.REDUCTION, Hint.INNER),
    ("rows, in one block", summed("bf16", 16384, 1024, 1), Family.PERSISTENT, Hint.INNER),
    ("short rows", summed("bf16", 65536, 64, 1), Family.PERSISTENT, Hint.INNER),
    ("columns, looped", summed("bf16", 8192, 65536, 0), Family.REDUCTION, Hint.OUTER),
    ("columns, looped", summed("f32", 8192, 65536, 0), Family.REDUCTION, Hint.OUTER),
    ("few of them", summed("f32", 128, 65536, 0), Family.REDUCTION, Hint.OUTER),
    ("columns, in one block", summed("bf16", 32, 65536, 0), Family.PERSISTENT, Hint.OUTER),
]


@pytest.mark.parametrize(
    ("one", "family", "hint"),
    [case[1:] for case in CASES],
    ids=[f"{name}, {one.inputs[0].type.dtype.short}" for name, one, *_ in CASES],  # type: ignore[union-attr]
)
def test_candidates_load_side_by_side(
    one: Graph, family: Family, hint: Hint, tmp_path: Path
) -> None:
    module = compile_graph(one, H100).kernels[0].module
    facts = module.facts
    assert (facts.family, facts.hint) == (family, hint)
    listed = candidates(facts, H100)
    most = max(listed, key=elements_per_thread)
    first, wide = (metrics(module.text, H100, c, tmp_path) for c in (listed[0], most))
    assert first.widest_load is not None
    assert first.widest_load >= 8
    assert wide.widest_load == 16
    assert first.spills == 0


def elements_per_thread(config: Config) -> float:
    """Elements that one thread owns, at most 16: beyond that registers are what counts."""
    elements = math.prod(size for _, size in config.blocks)
    return min(16.0, elements / (32 * config.num_warps))
