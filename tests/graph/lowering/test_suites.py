"""The suite's small graphs: every region lowered, interpreted and compared with torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.graph.lowering import supports
from harness.graph.partition.regions import partition
from harness.graph.text import load
from tests.graph.lowering.comparing import check

GRAPHS = Path(__file__).parents[3] / "suites" / "graphs"

# What stays a library call by intention; anything else in the suite must have a lowering.
LIBRARY_CALLS = {
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_efficient_attention_backward.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention_backward.default",
    "aten.addmm.default",
    "aten.bmm.default",
    "aten.convolution.default",
    "aten.convolution_backward.default",
    # Its check needs indices that some forward pass produced; torch adds atomically.
    "aten.max_pool2d_with_indices_backward.default",
    "aten.mm.default",
    "aten.topk.default",
}


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))


@pytest.mark.parametrize("path", files(GRAPHS / "small"), ids=lambda p: p.stem)
def test_every_region_computes_what_torch_computes(path: Path) -> None:
    for region in partition(load(path)).regions:
        check(region.graph)


@pytest.mark.parametrize("path", files(GRAPHS), ids=lambda p: p.stem)
def test_only_intended_library_calls_lack_a_lowering(path: Path) -> None:
    missing = {n.op for n in load(path).nodes if not supports(n.op)}
    assert sorted(missing - LIBRARY_CALLS) == []
