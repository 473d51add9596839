"""Small graphs for tests: types are what torch infers on meta tensors."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from harness.dtypes import DType, from_torch_name
from harness.graph.model import Arg, Graph, Input, Mutation, Node, Ref, TensorType, ValueType
from harness.graph.replay import call_node, torch_dtype
from harness.ir.index import integers


def type_of(value: Any) -> ValueType:
    """The recorded type of a torch result."""
    if isinstance(value, torch.Tensor):
        dtype = from_torch_name(str(value.dtype))
        return TensorType(dtype, integers(value.shape), integers(value.stride()))
    if isinstance(value, tuple | list):
        return tuple(type_of(item) for item in value)  # type: ignore[misc]
    return None


class GraphBuilder:
    """Adds inputs and calls one by one; names are ``v0``, ``v1`` … unless given."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []
        self.values: dict[str, Any] = {}

    def input(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: DType = DType.F32,
        role: str = "data",
        stride: tuple[int, ...] | None = None,
        bound: int | None = None,
    ) -> Ref:
        if stride is None:
            stride = torch.empty(shape, device="meta").stride()
        meta = torch.empty_strided(shape, stride, dtype=torch_dtype(dtype), device="meta")
        limit = None if bound is None else sympy.Integer(bound)
        kind = TensorType(dtype, integers(shape), integers(stride))
        self.inputs.append(Input(name, kind, role, limit))
        self.values[name] = meta
        return Ref(name)

    def call(self, op: str, *args: Arg, name: str = "", **kwargs: Arg) -> Ref:
        name = name or f"v{len(self.nodes)}"
        node = Node(name, op, args, tuple(kwargs.items()), None)
        result = call_node(node, self.values, torch.device("meta"))
        self.values[name] = result
        self.nodes.append(Node(name, op, args, tuple(kwargs.items()), type_of(result)))
        return Ref(name)

    def graph(
        self, *outputs: Ref, mutations: tuple[tuple[Ref, Ref], ...] = (), name: str = "g"
    ) -> Graph:
        return Graph(
            name,
            tuple(self.inputs),
            tuple(self.nodes),
            tuple(output.name for output in outputs),
            tuple(Mutation(a.name, b.name) for a, b in mutations),
        )


LIBRARY = ("aten.mm", "aten.addmm", "aten.bmm", "aten.convolution", "aten.sort")


def supports(node: Node) -> bool:
    """Everything has a lowering except matrix products, convolutions and sorts."""
    return not node.op.startswith(LIBRARY)


def assert_close(got: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    """Equal types and sizes, and values within ``tolerance``; NaN equals NaN."""
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        if b is None:
            assert a is None
            continue
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
