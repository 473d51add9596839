"""Which configurations there are, and that what tuning adds to them is compiled ahead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.codegen.source import EmittedModule
from harness.devices.job import Context
from harness.graph.text import loads
from harness.heuristics.facts import Config
from harness.pipeline import compile_graph
from harness.runtime.compile import disassembly
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.module import load
from harness.runtime.tune.space import CandidateJob, Space, warm
from harness.target import H100
from tests.runtime.modules import with_configs


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
    kept = [KernelBinary.from_bytes(f.read_bytes()) for f in (tmp_path / "binaries").glob("*/*")]
    assert sorted(dict(one.config)["R0_BLOCK"] for one in kept) == blocks


def given(block: int, warps: int, stages: int = 1) -> dict[str, int]:
    return {"XBLOCK": block, "num_warps": warps, "num_stages": stages}


def test_stages_are_tried_where_candidates_differ_in_them(tmp_path: Path) -> None:
    several = with_configs(tmp_path, [given(64, 4, 3), given(64, 4, 2)])
    assert dict(Space.of(several, H100).values)["num_stages"] == (1, 2, 3, 4)
    one = with_configs(tmp_path, [given(64, 4, 2), given(128, 4, 2)])
    assert dict(Space.of(one, H100).values)["num_stages"] == (2,)


@pytest.mark.parametrize(
    ("block", "warps", "points", "allowed"),
    [
        (1024, 4, 1 << 20, True),
        (1024, 8, 1 << 20, True),
        (512, 1, 1 << 20, True),
        (1024, 1, 1 << 20, False),  # more elements than a thread may have
        (1024, 64, 1 << 20, False),  # more threads than a block may have
        (96, 1, 1 << 20, False),  # no power of two
        (32, 2, 1 << 20, False),  # threads without an element
        (64, 2, 1 << 20, True),
        (16, 1, 1 << 20, True),  # of which one warp may have some
        (4, 1, 1 << 32, True),
        (2, 1, 1 << 32, False),  # more programs than a grid has places
    ],
)
def test_what_is_allowed(
    tmp_path: Path, block: int, warps: int, points: int, allowed: bool
) -> None:
    loaded = with_configs(tmp_path, [given(1024, 4)], points={"x": points})
    config = Config((("XBLOCK", block),), warps)
    assert replace(Space.of(loaded, H100), most_per_thread=16).allows(config) == allowed
