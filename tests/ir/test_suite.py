"""Every region of the small suite, lowered and interpreted in float64, against torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.dtypes import DType
from harness.graph import text
from harness.graph.lowering import lower
from harness.graph.model import Input
from harness.graph.partition.regions import partition
from harness.graph.passes.split import split_reductions
from harness.graph.replay import replay
from harness.ir.printer import dump
from harness.ir.program import Role
from harness.ir.verify import verify
from harness.target import H100
from tests.ir.oracle import interpret

GRAPHS = sorted((Path(__file__).resolve().parents[2] / "suites/graphs/small").glob("*.py"))


def tensor(item: Input, generator: torch.Generator) -> torch.Tensor:
    """Random contents in the input's layout; positive, because some are variances."""
    shape = [int(n) for n in item.type.shape]
    stride = [int(n) for n in item.type.stride]
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    kind = getattr(torch, item.type.dtype.torch_name)
    if item.type.dtype.is_float:
        flat = torch.rand(extent, generator=generator).add(0.1).to(kind)
    elif item.type.dtype is DType.BOOL:
        flat = torch.rand(extent, generator=generator) > 0.5
    else:
        bound = 4 if item.bound is None else int(item.bound)
        flat = torch.randint(0, bound, (extent,), generator=generator).to(kind)
    return torch.as_strided(flat, shape, stride)


def wide_array(value: torch.Tensor) -> np.ndarray:
    return (value.double() if value.is_floating_point() else value).detach().numpy()


@pytest.mark.parametrize("path", GRAPHS, ids=lambda p: p.stem)
def test_lowered_regions_mean_what_torch_computes(path: Path) -> None:
    generator = torch.Generator().manual_seed(3)
    compared = 0
    for region in partition(text.load(path)).regions:
        program = lower(split_reductions(region.graph, H100))
        verify(program)
        assert dump(program).count("\n  nest ") == len(program.nests)
        tensors = [tensor(item, generator) for item in region.graph.inputs]
        names = {b.node: b.name for b in program.buffers if b.role is Role.INPUT}
        given = {
            names[item.name]: wide_array(value)
            for item, value in zip(region.graph.inputs, tensors, strict=True)
            if item.name in names
        }
        got = interpret(program, given, float64=True)
        changed = region.graph.mutations
        wanted = [n for n in region.graph.outputs if n is not None]
        pure = replace(region.graph, outputs=(*wanted, *(m.value for m in changed)), mutations=())
        expected = replay(pure, tensors, "cpu", float64=True)
        holders = (*program.outputs, *(names[m.input] for m in changed))
        for name, value in zip(holders, expected, strict=True):
            assert value is not None
            want = wide_array(value).astype(np.float64)
            scale = np.abs(want[np.isfinite(want)]).mean() if np.isfinite(want).any() else 1.0
            np.testing.assert_allclose(
                got[name], want, rtol=1e-6, atol=1e-6 * scale, err_msg=f"{region.name}: {name}"
            )
            compared += 1
    assert compared


def test_the_suite_is_there() -> None:
    assert len(GRAPHS) >= 12
