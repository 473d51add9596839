"""Conversion to 8-bit floats beyond their range: torch (2.13), the kernel, the interpreter of
programs and the module's check say the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from harness.dtypes import DType
from harness.graph.lowering import lower
from harness.graph.model import Graph
from harness.graph.text import loads
from harness.runtime.interpret.interpreter import InterpreterPool
from tests.codegen.kernels import modules
from tests.ir.oracle import interpret

TYPES = {DType.F8E4M3: torch.float8_e4m3fn, DType.F8E5M2: torch.float8_e5m2}
# Around the largest numbers (448, 57344), the ties behind them (464, 61440), and far beyond.
VALUES = [
    *(447.0, 448.0, 463.0, 464.0, 465.0, 481.0, 57344.0, 61439.0, 61440.0, 61441.0, 65536.0),
    *(1e30, float("inf"), float("nan"), 0.0, 3.3, 1e-9, 1e-4),
]
BOTH = torch.tensor(VALUES + [-v for v in VALUES])


def expected(values: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Torch's conversion; torch before 2.13 does not saturate to float8_e4m3fn."""
    if dtype is DType.F8E4M3:
        values = values.clamp(-448.0, 448.0)
    return values.to(TYPES[dtype])


def graph(dtype: DType, back: bool) -> Graph:
    count, name = BOTH.numel(), dtype.torch_name
    text = f"""# harness graph 1
def narrow(
    x: "f32[{count}]",
):
    double: "f32[{count}]" = aten.add.Tensor(x, 0.0)
    small: "{dtype.short}[{count}]" = aten._to_copy.default(double, dtype=torch.{name})
"""
    if back:
        wide = f'    wide: "f32[{count}]" = aten._to_copy.default(small, dtype=torch.float32)\n'
        return loads(text + wide + "    return (wide,)\n", "test graph")
    return loads(text + "    return (small,)\n", "test graph")


@pytest.mark.parametrize("back", [False, True], ids=["stored", "inside"])
@pytest.mark.parametrize("dtype", list(TYPES), ids=lambda d: d.short)
def test_overflow_is_torchs_everywhere(
    interpreter: InterpreterPool, dtype: DType, back: bool
) -> None:
    made = graph(dtype, back)
    wanted = expected(BOTH, dtype).float()
    (module,) = modules(made)
    out = torch.empty(BOTH.numel(), dtype=torch.float32 if back else TYPES[dtype])
    interpreter.launch(module.text, [BOTH.clone(), out])
    assert interpreter.check(module.text).passed
    torch.testing.assert_close(out.float(), wanted, rtol=0, atol=0, equal_nan=True)
    program = lower(made)
    found = interpret(program, {program.buffers[0].name: BOTH.numpy()})
    np.testing.assert_array_equal(np.asarray(next(iter(found.values()))), wanted.numpy())


@pytest.mark.parametrize("dtype", list(TYPES), ids=lambda d: d.short)
def test_the_check_accepts_overflow_and_no_other_large_number(
    interpreter: InterpreterPool, dtype: DType
) -> None:
    (module,) = modules(graph(dtype, back=False))
    largest = torch.finfo(TYPES[dtype]).max
    large = module.text.replace("= torch.randn(extent,", f"= {largest} * torch.randn(extent,")
    wrong = large.replace("tmp0 + 0.0", "tmp0 * 0.25")
    assert module.text != large != wrong
    assert interpreter.check(large).passed
    assert not interpreter.check(wrong).passed
