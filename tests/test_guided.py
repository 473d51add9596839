"""Small graphs compiled like their full-size ones have the same kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compiled import CompiledGraph
from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.target import H100

GRAPHS = Path(__file__).parent.parent / "suites" / "graphs"
NAMES = sorted(path.stem for path in GRAPHS.glob("*.py"))


def sizes_differ(compiled: CompiledGraph, origins: tuple[str, ...]) -> bool:
    """Whether the kernels that do this work reduce over different sizes: two reductions of
    equal sizes only by chance at full size, the chunks of two splits, for one."""
    groups = [launch.group for region in compiled.regions for launch in region.launches]
    parts = [g for g in groups if g.rnumel != 1 and set(g.origins) & set(origins)]
    return len({(g.numel, g.rnumel) for g in parts}) > 1


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_has_a_small_counterpart(name: str) -> None:
    """With the same origins, unless its region was split at sizes that do not divide small."""
    full = compile_graph(load(GRAPHS / f"{name}.py"), H100)
    small = compile_graph(load(GRAPHS / "small" / f"{name}.py"), H100, full.decisions)
    assert not small.failures, small.report()
    found = {launch.group.origins for region in small.regions for launch in region.launches}
    nodes = {region.region.name: {n.name for n in region.graph.nodes} for region in small.regions}
    for region in full.regions:
        if not {n.name for n in region.graph.nodes} <= nodes.get(region.region.name, set()):
            continue  # a split or a copy that the small sizes do not allow
        for launch in region.launches:
            origins = launch.group.origins
            assert origins in found or sizes_differ(small, origins), (region.region.name, origins)
