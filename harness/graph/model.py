"""The graph: a functional ATen program as plain data.

A graph is what a model becomes once captured: a list of operator calls on
tensors whose sizes, strides and element types are known. It has no device and
no weights, needs neither torch nor the model's library to exist, can be
pickled, and is saved as readable Python text (``harness.graph.text``).

Sizes are sympy expressions throughout; a constant size is a ``sympy.Integer``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy

from harness.dtypes import DType
from harness.table import html, plural


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type, sizes and strides (in elements) of one tensor value."""

    dtype: DType
    shape: tuple[sympy.Expr, ...]
    stride: tuple[sympy.Expr, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> sympy.Expr:
        """Number of elements."""
        return sympy.Mul(*self.shape)

    @property
    def layout(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Sizes and strides as numbers; None if one of them is not known."""
        if not all(n.is_Integer for n in (*self.shape, *self.stride)):
            return None
        return tuple(map(int, self.shape)), tuple(map(int, self.stride))


ValueType: TypeAlias = "TensorType | tuple[TensorType | None, ...] | None"
"""What a node yields: a tensor, several tensors (some absent), or nothing tensor-like."""


def tensors_of(*kinds: ValueType) -> Iterator[TensorType]:
    """The tensors among values of these ``kinds``."""
    for kind in kinds:
        yield from filter(None, kind if isinstance(kind, tuple) else (kind,))


@dataclass(frozen=True, slots=True)
class Ref:
    """A use of the value called ``name``: a graph input or an earlier node."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """A torch constant that is not a number: a memory format or a layout. ``name`` is the attribute
    of ``torch``, e.g. ``channels_last``."""

    name: str


Arg: TypeAlias = (
    "Ref | Token | DType | sympy.Expr | bool | int | float | complex | str | None | tuple[Arg, ...]"
)
"""An operator argument. Lists are tuples; a size expression may stand where an int does."""


def leaves(args: tuple[Arg, ...]) -> Iterator[Arg]:
    """Arguments, and those in tuples, in their order."""
    for arg in args:
        if isinstance(arg, tuple):
            yield from leaves(arg)
        else:
            yield arg


@dataclass(frozen=True, slots=True)
class Node:
    """One operator call.

    ``op`` is the full overload name (``aten.add.Tensor``); the element access of a node with
    several results is ``getitem`` with ``(Ref, int)`` as arguments. ``source`` is the model's
    source line (``modeling_llama.py:73 in forward: x * w``), ``module`` the path of the module it
    came from; both may be empty. Device arguments are left out.
    """

    name: str
    op: str
    args: tuple[Arg, ...]
    kwargs: tuple[tuple[str, Arg], ...]
    type: ValueType
    source: str = ""
    module: str = ""
    _used: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Every pass asks, and a graph of thousands of nodes goes through dozens of them.
        object.__setattr__(
            self,
            "_used",
            tuple(a.name for a in leaves((self.args, self.kwargs)) if isinstance(a, Ref)),
        )

    @property
    def packet(self) -> str:
        """The operator without namespace and overload: ``add`` of ``aten.add.Tensor``."""
        return self.op.split(".")[1] if "." in self.op else self.op

    def argument(self, position: int, name: str, default: Any = None) -> Arg:
        """An argument by position or by name, ``default`` if the call leaves it out."""
        if position < len(self.args):
            return self.args[position]
        return dict(self.kwargs).get(name, default)

    def refs(self) -> Iterator[str]:
        """Names of the values used, in argument order, repeats included."""
        return iter(self._used)


@dataclass(frozen=True, slots=True)
class Input:
    """A graph input. ``role`` is ``data``, ``parameter``, ``buffer``, ``gradient`` or ``saved``
    (kept by the forward graph for the backward one); ``bound`` is the exclusive upper bound of an
    integer input that indexes something, if known."""

    name: str
    type: TensorType
    role: str = "data"
    bound: sympy.Expr | None = None


@dataclass(frozen=True, slots=True)
class Mutation:
    """At the end of the graph the input called ``input`` holds the value ``value``."""

    input: str
    value: str


DIFFERENTIABLE = "differentiable"
"""A forward graph's fact: the places of outputs with a gradient, if some float output has none."""
CHECKED = ("indices", "checked")
"""The fact of a graph whose kernels assert that indices are in range."""
DIVISORS = ("divisors", "checked")
"""And of one for a CPU, where dividing an integer by zero raises."""
TEMPLATES = ("products", "generated")
"""And of one whose matrix products are kernels, and no library calls."""
MANY_TILES = ("tiles", "many")
"""And of one whose pointwise kernels have as many tiles as they can, whatever that gains."""
FAMILIAR = ("aten.", "getitem", "harness.", "prims.")
"""How operators begin that are no user's: their results have the sizes that tracing found."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A functional graph. ``nodes`` are in execution order; ``outputs`` name inputs or nodes
    (``None`` for an absent output); ``facts`` are pairs of text (where it was captured from, with
    which versions and options), in file order."""

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str | None, ...]
    mutations: tuple[Mutation, ...] = ()
    facts: tuple[tuple[str, str], ...] = field(default=())

    def __repr__(self) -> str:
        ends = f"{plural(len(self.inputs), 'input')}, {plural(len(self.outputs), 'output')}"
        return f"<graph {self.name}: {plural(len(self.nodes), 'node')}, {ends}>"

    def _repr_html_(self) -> str:
        counts = Counter(node.op for node in self.nodes)
        return html([{"operator": op, "nodes": n} for op, n in counts.most_common()])

    @property
    def given(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return tuple(item.name for item in self.inputs)

    @property
    def results(self) -> tuple[str, ...]:
        """Its outputs, without those that are absent."""
        return tuple(name for name in self.outputs if name is not None)

    def types(self) -> dict[str, ValueType]:
        """The type of every value, by name."""
        table: dict[str, ValueType] = {i.name: i.type for i in self.inputs}
        table.update((n.name, n.type) for n in self.nodes)
        return table

    def node(self, name: str) -> Node:
        """The node called ``name``; ``KeyError`` if there is none."""
        return {node.name: node for node in self.nodes}[name]


@dataclass(frozen=True, slots=True)
class Region:
    """A largest fusible piece: a graph of its own, compiled as one unit. The names of ``graph``'s
    inputs and outputs are the names of values in the graph it was cut from."""

    name: str
    graph: Graph


@dataclass(frozen=True, slots=True)
class HostCall:
    """A node the host executes with torch: a library call, or a view (``is_view``,
    free of work) that only rearranges sizes and strides between regions."""

    node: Node
    is_view: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A graph cut into regions and host calls, in an order they can run in."""

    graph: Graph
    steps: tuple[Region | HostCall, ...]

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions alone, in order."""
        return tuple(s for s in self.steps if isinstance(s, Region))

    @property
    def library_calls(self) -> tuple[HostCall, ...]:
        """The host calls that do work."""
        return tuple(s for s in self.steps if isinstance(s, HostCall) and not s.is_view)
