"""Every row of the operator table: lowered, verified, interpreted, compared with torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from harness.dtypes import DType
from harness.graph.lowering import lower, supports
from harness.ir.verify import verify
from tests.ir.oracle import interpret
from tests.operator_cases import Case, expected, graph_of, inputs_of, tolerance_of
from tests.operator_table import CASES


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's values; 16-bit and smaller floats as float32."""
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()
    return tensor.numpy()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lowered_operator_computes_what_torch_computes(case: Case) -> None:
    program = lower(graph_of(case))
    verify(program)
    inputs = inputs_of(case, seed=1)
    results = interpret(program, {f"a{k}": as_numpy(t) for k, t in enumerate(inputs)})
    references = expected(case, inputs)
    assert len(references) == len(program.outputs)
    for name, reference in zip(program.outputs, references, strict=True):
        buffer = next(b for b in program.buffers if b.name == name)
        got = results[name]
        wanted = as_numpy(reference)
        assert got.shape == wanted.shape
        allowed = tolerance_of(case, buffer.dtype)
        if buffer.dtype is DType.BOOL or buffer.dtype.is_integer:
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=allowed, atol=allowed)


def test_every_case_names_a_supported_operator() -> None:
    assert [c.op for c in CASES if not supports(c.op)] == []
