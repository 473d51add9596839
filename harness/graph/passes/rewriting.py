"""Writing new nodes in the place of one, with names, types and source lines kept."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import sympy

from harness.dtypes import DType
from harness.graph.model import Arg, Graph, Node, Ref, TensorType, ValueType
from harness.graph.passes.cleanup import remove_dead
from harness.graph.passes.reductions import TAKES_DTYPE
from harness.graph.sizes import contiguous_strides
from harness.ir.index import integers

Choose = Callable[[str, int], int]
"""Given a node's name and the default number of parts (1: as it stands; 0, of a scatter: as many as
it has points) the number wanted."""


def contiguous(dtype: DType, shape: Sequence[sympy.Expr | int]) -> TensorType:
    """The type of a tensor of ``shape`` in row-major order."""
    sizes = integers(shape)
    return TensorType(dtype, sizes, contiguous_strides(sizes))


def rewritten(graph: Graph, write: Callable[[Emitter], None]) -> Graph:
    """``graph`` with what ``write`` makes in the place of each node; the node where that is
    nothing."""
    types = graph.types()
    nodes: list[Node] = []
    for node in graph.nodes:
        emitter = Emitter(node, types)
        write(emitter)
        nodes += emitter.made or [node]
    return remove_dead(dataclasses.replace(graph, nodes=tuple(nodes)))


@dataclasses.dataclass(slots=True)
class Emitter:
    """Collects the nodes that replace ``node``, in order. A new node called ``label`` gets the name
    ``<node>_<label>`` (made unique against ``types``, which grows); the one with an empty label
    gets the old name and type."""

    node: Node
    types: dict[str, ValueType]
    made: list[Node] = dataclasses.field(default_factory=list)

    def type(self, ref: Ref) -> TensorType:
        """The type of a single tensor."""
        value = self.types[ref.name]
        assert isinstance(value, TensorType), f"{ref.name} is not a single tensor"
        return value

    def call(self, label: str, op: str, kind: ValueType, *args: Arg, **kwargs: Arg) -> Ref:
        """A call of ``op``; ``kind`` is its type unless the label is empty."""
        name, own = self._name(label), tuple(kwargs.items())
        kind = kind if label else self.node.type
        made = dataclasses.replace(self.node, name=name, op=op, args=args, kwargs=own, type=kind)
        self.made.append(made)
        self.types[name] = kind
        return Ref(name)

    def _name(self, label: str) -> str:
        if not label:
            return self.node.name
        wanted = f"{self.node.name}_{label}"
        names = itertools.chain((wanted,), (f"{wanted}_{n}" for n in itertools.count(1)))
        return next(name for name in names if name not in self.types)

    def full(self, shape: Sequence[sympy.Expr | int], fill: Arg, dtype: DType, label: str) -> Ref:
        """A row-major tensor that holds the number ``fill`` everywhere."""
        kind = contiguous(dtype, shape)
        return self.call(label, "aten.full.default", kind, kind.shape, fill, dtype=dtype)

    def cast(self, source: Ref, dtype: DType, label: str) -> Ref:
        """``source`` converted to ``dtype``, in its own layout; a kernel need not round it."""
        kind = dataclasses.replace(self.type(source), dtype=dtype)
        return self.call(label, "prims.convert_element_type.default", kind, source, dtype)

    def view(self, source: Ref, kind: TensorType, label: str) -> Ref:
        """``source`` seen with the sizes and strides of ``kind``."""
        return self.call(label, "aten.view.default", kind, source, kind.shape)

    def reduce(
        self, op: str, source: Ref, dims: tuple[int, ...], keepdim: bool, dtype: DType, label: str
    ) -> Ref:
        """A reduction over dimensions, to ``dtype``: given to it if it adds up narrower floats."""
        value = self.type(source)
        kind = reduced_type(value, dims, keepdim, dtype)
        over: Arg = dims[0] if op == "aten.prod.dim_int" else dims
        widens = op in TAKES_DTYPE and dtype.is_float and dtype is not value.dtype
        given: dict[str, Arg] = {"dtype": dtype} if widens else {}
        return self.call(label, op, kind, source, over, keepdim, **given)


def reduced_type(
    value: TensorType, dims: tuple[int, ...], keepdim: bool, dtype: DType
) -> TensorType:
    """The row-major type of a reduction of ``value`` over ``dims``."""
    sizes = [sympy.S.One if d in dims else n for d, n in enumerate(value.shape)]
    return contiguous(dtype, [n for d, n in enumerate(sizes) if keepdim or d not in dims])
