"""Sizes for the interpreter: captured beside a graph, or derived from the graph's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import GraphError
from harness.session.entries import FileEntry, GraphFile
from harness.session.model import Compiled
from harness.session.session import match_small
from harness.target import H100

GRAPHS = Path(__file__).parents[2] / "suites" / "graphs"
LARGE = """# harness graph 1
def large(
    x: "f32[4096, 4096]{%s}",
):
    y: "f32[4096, 4096]" = aten.exp.default(x)
    return (y,)
"""


def both(path: Path, small: Path | None = None) -> tuple[Compiled, Compiled | None]:
    entry = FileEntry(GraphFile(path.stem, path, small), H100)
    return entry.compile(), entry.compile_small()


def origins(compiled: Compiled) -> list[tuple[tuple[str, ...], ...]]:
    return [kernel.launches for kernel in compiled.kernels]


@pytest.mark.parametrize("name", ["llama_block_forward", "bert_layer_backward"])
def test_every_kernel_has_stand_ins_at_derived_sizes(name: str) -> None:
    full, small = both(GRAPHS / f"{name}.py")
    assert small is not None
    assert max(kernel.module.bytes_moved for kernel in small.kernels) < 1 << 19
    assert all(match_small(origins(full), origins(small), full.nodes))


def test_sizes_captured_beside_come_first(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text(LARGE % "4096, 1")
    beside = tmp_path / "small.py"
    beside.write_text(path.read_text().replace("4096", "17"))
    _, derived = both(path)
    _, captured = both(path, beside)
    assert derived is not None and captured is not None
    assert [k.module.bytes_moved for k in captured.kernels] == [2 * 4 * 17 * 17]
    assert 0 < derived.kernels[0].module.bytes_moved < 1 << 19


def test_why_no_sizes_can_be_derived_is_said(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text(LARGE % "1, 1")
    with pytest.raises(GraphError, match="no small sizes can be derived") as caught:
        both(path)
    assert caught.value.got == "an input overlaps itself"


def test_combos_are_kernels_of_a_run_and_stood_in_for_by_small_ones() -> None:
    full, small = both(GRAPHS / "adamw_step.py", GRAPHS / "small" / "adamw_step.py")
    assert small is not None
    assert [k.module.category for k in (*full.kernels, *small.kernels)] == ["for"] * 4
    assert match_small(origins(full), origins(small), full.nodes) == ((0,), (1,))
    assert sum(k.module.bytes_moved for k in full.kernels) > 1 << 30
