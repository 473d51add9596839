"""The table of rules as a whole."""

from __future__ import annotations

from typing import Any

import torch

from harness.graph.capture.decompositions import _in_common_type, decompositions
from harness.graph.capture.strides import MISTRACED, Whole, _read_ones
from harness.graph.lowering.operators import RULES
from harness.graph.replay import operator_function

SOMETIMES_WHOLE = {
    "aten.any.dims",
    "aten.cumsum.default",
    "aten._adaptive_avg_pool2d.default",
    "aten.add.Tensor",
    "aten.clamp.default",
    "aten.full.default",
    "aten.full_like.default",
    "aten.index_add.default",
    "aten.index_put.default",
    "aten.ldexp.Tensor",
    "aten.pow.Tensor_Scalar",
    "aten.scalar_tensor.default",
    "aten.scatter_add.default",
    "aten.scatter_reduce.two",
    "aten.sub.Tensor",
    *(f"aten.{name}.Scalar" for name in "eq fmod ge gt le lt ne remainder".split()),
}
"""Taken apart in some forms alone: with windows of several sizes, of integers, in 16 bits, with
numbers that follow from unknown sizes or are a caller's."""
WRITTEN_LATER = {
    "aten.reshape.default",
    "aten.square.default",
    "aten.true_divide.Tensor",
    "aten.zeros.default",
}
"""Torch computes with numbers made of sizes or taken from tensors in a graph that is traced, and a
gradient of zeros without memory is given some."""
NEWER = {"prims.fma.default"}
"""Not every torch has it."""


def _leaves(rule: Any) -> bool:
    inner = rule.args[2] if getattr(rule, "func", None) is _in_common_type else rule
    reads = isinstance(inner, Whole) and getattr(inner.stride, "func", None) is _read_ones
    return inner is None or reads


def test_every_rule_is_of_an_operator_that_a_captured_graph_may_hold() -> None:
    # A rule that only rounds operands, or only tells strides, leaves the operator as it is.
    table = {op: rule for op, rule in decompositions(False).items() if not _leaves(rule)}
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    # These stay, in another layout, or of numbers that are rounded first.
    relaid = {"aten.index.Tensor", *(f"aten.{name}" for name in MISTRACED)}
    rounded = {f"aten.{name}.correction" for name in ("std", "std_mean", "var", "var_mean")}
    # Positions of 16 bits are rounded, and memory is filled where results must be the same; before
    # torch 2.13 conversions give NaN of what 8 bits do not hold.
    rounded |= {
        "aten.arange.start_step",
        "aten._to_copy.default",
        *(name for name in RULES if "empty" in name),
    }
    for name in sorted(RULES.keys() - SOMETIMES_WHOLE - WRITTEN_LATER - NEWER - relaid - rounded):
        op = operator_function(name)
        assert op not in table, name
        assert not op.has_kernel_for_dispatch_key(composite), name
    assert {operator_function(name) for name in SOMETIMES_WHOLE} <= table.keys()
