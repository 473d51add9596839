"""What tuning adds to the candidates is compiled ahead with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.codegen.source import EmittedModule
from harness.devices.job import Context
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime.compile import binary, disassembly
from harness.runtime.module import load
from harness.runtime.tune.space import CandidateJob, warm
from harness.target import H100


def sums_of_rows(columns: int) -> EmittedModule:
    graph = loads(
        f"""# harness graph 1
def sums(x: "f32[100000, {columns}]"):
    total: "f32[100000]" = aten.sum.dim_IntList(x, [1])
    return (total,)
"""
    )
    (kernel,) = compile_graph(graph, H100).kernels
    return kernel.module


@pytest.mark.parametrize(
    ("columns", "registers", "blocks"),
    [(9000, 80, [1024, 2048]), (9000, 32, [2048]), (900, 80, [1024])],
    ids=["crowded", "few registers", "rows in one block"],
)
def test_the_halved_block_of_a_crowded_kernel_is_compiled_with_its_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, registers: int, blocks: list[int]
) -> None:
    monkeypatch.setattr(disassembly, "resources", lambda *_: (registers, 0))
    module = sums_of_rows(columns)
    first = load(module.text).configs[0]
    warm(Context(tmp_path), CandidateJob(module.text, H100, first))
    kept = [binary.load(file) for file in (tmp_path / "binaries").glob("*/*")]
    assert sorted(dict(one.config)["R0_BLOCK"] for one in kept) == blocks
