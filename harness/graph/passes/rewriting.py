"""Writing new nodes in the place of one, with names, types and source lines kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import sympy

from harness.dtypes import DType
from harness.graph.model import Arg, Node, Ref, TensorType, ValueType
from harness.graph.passes.reductions import TAKES_DTYPE
from harness.graph.sizes import contiguous_strides
from harness.ir.index import integers


def contiguous(dtype: DType, shape: Sequence[sympy.Expr | int]) -> TensorType:
    """The type of a tensor of ``shape`` in row-major order."""
    sizes = integers(shape)
    return TensorType(dtype, sizes, contiguous_strides(sizes))


class Emitter:
    """Collects the nodes that replace ``node``. A new node called ``label`` gets the name
    ``<node>_<label>`` (made unique against ``taken``, which grows); the one with an empty label
    gets the old name and type."""

    def __init__(self, node: Node, types: dict[str, ValueType], taken: set[str]) -> None:
        self._node = node
        self._types = types
        self._taken = taken
        self._made: list[Node] = []

    def take(self) -> list[Node]:
        """The nodes made so far, in order."""
        return self._made

    def on(self, node: Node) -> Emitter:
        """An emitter for another node of the same graph."""
        return Emitter(node, self._types, self._taken)

    def type(self, ref: Ref) -> TensorType:
        """The type of a single tensor."""
        value = self._types[ref.name]
        assert isinstance(value, TensorType), f"{ref.name} is not a single tensor"
        return value

    def call(self, label: str, op: str, kind: ValueType, *args: Arg, **kwargs: Arg) -> Ref:
        """A call of ``op``; ``kind`` is its type unless the label is empty."""
        name = self._name(label)
        made = dataclasses.replace(
            self._node,
            name=name,
            op=op,
            args=args,
            kwargs=tuple(kwargs.items()),
            type=kind if label else self._node.type,
        )
        self._made.append(made)
        self._types[name] = made.type
        return Ref(name)

    def _name(self, label: str) -> str:
        if not label:
            return self._node.name
        wanted = name = f"{self._node.name}_{label}"
        number = 1
        while name in self._taken:
            name = f"{wanted}_{number}"
            number += 1
        self._taken.add(name)
        return name

    def cast(self, source: Ref, dtype: DType, label: str) -> Ref:
        """``source`` converted to ``dtype``, in its own layout."""
        kind = dataclasses.replace(self.type(source), dtype=dtype)
        return self.call(label, "aten._to_copy.default", kind, source, dtype=dtype)

    def view(self, source: Ref, kind: TensorType, label: str) -> Ref:
        """``source`` seen with the sizes and strides of ``kind``."""
        return self.call(label, "aten.view.default", kind, source, kind.shape)

    def reduce(
        self,
        op: str,
        source: Ref,
        dims: tuple[int, ...],
        keepdim: bool,
        dtype: DType | None,
        label: str,
    ) -> Ref:
        """A reduction over dimensions; ``dtype`` is given to it where it takes one."""
        value = self.type(source)
        kind = reduced_type(value, dims, keepdim, dtype or self._result_dtype(op, value))
        over: Arg = dims[0] if op == "aten.prod.dim_int" else dims
        if dtype is not None and op in TAKES_DTYPE:
            return self.call(label, op, kind, source, over, keepdim, dtype=dtype)
        return self.call(label, op, kind, source, over, keepdim)

    @staticmethod
    def _result_dtype(op: str, value: TensorType) -> DType:
        if op == "aten.any.dims":
            return DType.BOOL
        whole = op.startswith(("aten.sum", "aten.prod")) and not value.dtype.is_float
        return DType.I64 if whole else value.dtype


def reduced_type(
    value: TensorType, dims: tuple[int, ...], keepdim: bool, dtype: DType
) -> TensorType:
    """The row-major type of a reduction of ``value`` over ``dims``."""
    shape = [
        sympy.S.One if d in dims else n
        for d, n in enumerate(value.shape)
        if keepdim or d not in dims
    ]
    return contiguous(dtype, shape)
