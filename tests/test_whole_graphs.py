"""Small captures of the suite as whole graphs: regions through kernels, the rest through
torch, compared with plain torch and with float64."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.graph.replay import random_inputs, replay
from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import H100
from tests.running import run_graph

GRAPHS = Path(__file__).parent.parent / "suites" / "graphs"
# Without the library calls that exist for CUDA only (attention).
NAMES = (
    "adamw_step",
    "channels_last_forward",
    "fp8_rowwise_forward",
    "image_preprocess_forward",
    "moe_router_backward",
    "moe_router_forward",
    "t5_block_backward",
    "t5_block_forward",
    "unet_up_block_forward",
)


@pytest.mark.parametrize("name", NAMES)
def test_as_exact_as_torch(name: str, interpreter: InterpreterPool) -> None:
    """The error against float64 is within four times that of plain torch, which rounds
    after every operator, or within three units in the last place of the largest value."""
    full = compile_graph(load(GRAPHS / f"{name}.py"), H100)
    compiled = compile_graph(load(GRAPHS / "small" / f"{name}.py"), H100, full.decisions)
    assert not compiled.failures, compiled.report()
    graph = compiled.partition.graph
    inputs = random_inputs(graph, "cpu", 11)
    plain, ours = [t.clone() for t in inputs], [t.clone() for t in inputs]
    exact = replay(graph, inputs, "cpu", float64=True)
    wanted = replay(graph, plain, "cpu")
    got = run_graph(compiled, ours, lambda m, args: interpreter.launch(m.text, args), "cpu")
    for value, eager, wide in zip(got, wanted, exact, strict=True):
        if eager is None:
            assert value is None
            continue
        assert value is not None and wide is not None
        assert (value.dtype, value.shape, value.stride()) == (
            eager.dtype,
            eager.shape,
            eager.stride(),
        )
        if not value.is_floating_point():
            assert torch.equal(value, eager)
            continue
        unit = torch.finfo(value.dtype).eps * float(wide.abs().max())
        error = float((value.double() - wide).abs().max())
        assert error <= max(4 * float((eager.double() - wide).abs().max()), 3 * unit)
    for changed, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(changed.float(), expected.float(), rtol=1e-4, atol=1e-5)
