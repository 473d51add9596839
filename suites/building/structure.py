"""Patterns: what many models have in common, found by the structure of their regions.

Two regions are one pattern if they have the same operators on the same element types and
layouts, up to names, to the values of floating constants, and to sizes of one class. A size up
to 8 is a class of its own; larger ones share one with those within a factor of four that agree
in being a multiple of 16: within it a compiler makes the same choices. Which sizes are equal to
one another is part of the structure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import sympy

from harness.corpus.model import Pattern, digest
from harness.graph.model import Arg, Graph, Mutation, Node, Ref, TensorType, ValueType
from harness.graph.passes.cleanup import rename_refs
from harness.graph.sizes import contiguous_strides
from harness.graph.views import VIEW_OPS

_EXACT = 8
"""Sizes up to this one are classes of their own: groups, heads, halves, kernel windows."""
_TELLING = (0.0, 1.0, -1.0, float("inf"), float("-inf"))
"""Floating constants that a compiler may treat in their own way."""
_REDUCTIONS = frozenset(
    "sum mean amax amin max min argmax argmin var var_mean prod any all logsumexp cumsum cumprod "
    "linalg_vector_norm norm std".split()
)
_SCATTERS = frozenset("scatter scatter_add scatter_reduce index_put index_add".split())
_GATHERS = frozenset("embedding gather index index_select".split())
_MOVES = frozenset("cat clone copy constant_pad_nd flip roll slice_scatter select_scatter".split())
_PLAIN = frozenset(
    "to_copy convert_element_type full full_like arange scalar_tensor expand where iota".split()
)


def canonical(graph: Graph) -> Graph:
    """``graph`` with its values named after what they are, inputs in the order of their use, and
    nothing said of the model it was cut from but its source lines."""
    order: dict[str, None] = {}
    for node in graph.nodes:
        order.update(dict.fromkeys(node.refs()))
    given = {item.name: item for item in graph.inputs}
    inputs = [
        given[name] for name in (*order, *(n for n in given if n not in order)) if name in given
    ]
    renamed = {item.name: f"{item.role}{number}" for number, item in enumerate(inputs)}
    counts: Counter[str] = Counter()
    for node in graph.nodes:
        short = node.packet.strip("_")
        renamed[node.name] = f"{short}_{counts[short]}"
        counts[short] += 1
    nodes = (replace(rename_refs(n, renamed), name=renamed[n.name]) for n in graph.nodes)
    return Graph(
        "pattern",
        tuple(replace(item, name=renamed[item.name]) for item in inputs),
        tuple(nodes),
        tuple(None if name is None else renamed[name] for name in graph.outputs),
        tuple(Mutation(renamed[m.input], renamed[m.value]) for m in graph.mutations),
    )


@dataclass(slots=True)
class _Sizes:
    """Numbers the distinct sizes of a graph in the order in which they come."""

    known: dict[int, int] = field(default_factory=dict)

    def of(self, size: int) -> str:
        """The class of a size, and which of the graph's sizes it is."""
        if abs(size) <= _EXACT:
            return str(size)
        number = self.known.setdefault(size, len(self.known))
        aligned = "a" if size % 16 == 0 else "u"
        return f"{number}{aligned}{size.bit_length() // 2}"

    def type(self, kind: ValueType) -> str:
        match kind:
            case TensorType():
                sizes = ",".join(self.of(int(n)) for n in kind.shape)
                return f"{kind.dtype.short}[{sizes}]{layout(kind)}"
            case tuple():
                return f"({' '.join(self.type(one) for one in kind)})"
            case None:
                return "-"

    def argument(self, arg: Arg) -> str:
        match arg:
            case tuple():
                return f"({' '.join(self.argument(one) for one in arg)})"
            case bool() | str() | None:
                return repr(arg)
            case float():
                return repr(arg) if arg in _TELLING else "float"
            case Ref(name=name):
                return name
            case int() | sympy.Integer():
                return self.of(int(arg))
            case _:
                return repr(arg)


def layout(kind: TensorType) -> str:
    """The order of the dimensions in memory, and whether there are gaps or repeats; nothing for
    row-major."""
    if kind.stride == contiguous_strides(kind.shape):
        return ""
    strides, shape = [int(s) for s in kind.stride], [int(n) for n in kind.shape]
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    repeats = [d for d in order if strides[d] == 0 and shape[d] > 1]
    step, gaps = 1, []
    for d in reversed(order):
        if shape[d] > 1 and strides[d]:
            gaps += [d] if strides[d] != step else []
            step = strides[d] * shape[d]
    return f"{{{order}{repeats}{gaps}}}"


def structure(graph: Graph) -> tuple[str, tuple[int, ...]]:
    """The structure of a canonical graph as a digest, and its distinct sizes in order. Raises
    ``TypeError`` for a graph with unknown sizes."""
    sizes = _Sizes()
    lines = [f"{i.name} {sizes.type(i.type)} {i.bound is not None}" for i in graph.inputs]
    for node in graph.nodes:
        args = [sizes.argument(a) for a in node.args]
        args += [f"{key}={sizes.argument(value)}" for key, value in node.kwargs]
        lines.append(f"{node.name} {node.op}({' '.join(args)}) {sizes.type(node.type)}")
    lines += [str(graph.outputs), str([(m.input, m.value) for m in graph.mutations])]
    return digest("\n".join(lines)), tuple(sizes.known)


def pattern_of(graph: Graph) -> tuple[Pattern, Graph, tuple[int, ...]]:
    """The pattern that a region is an instance of, without text and uses; the region under its
    name; and its sizes."""
    plain = canonical(graph)
    key, sizes = structure(plain)
    operators = tuple(sorted({n.packet.strip("_") for n in plain.nodes}))
    types = [kind for _, kind in plain.types().items() if isinstance(kind, TensorType)]
    found = Pattern(
        name=f"{_title(plain.nodes)}_{key[:10]}",
        kind=_kind(operators, plain),
        bytes=_moved(plain),
        nodes=len(plain.nodes),
        rank=max((kind.rank for kind in types), default=0),
        operators=operators,
        dtypes=tuple(sorted({kind.dtype.short for kind in types})),
        text="",
    )
    return found, replace(plain, name=found.name), sizes


def _title(nodes: Iterable[Node]) -> str:
    """Up to three operators that tell most: those that are neither views nor conversions."""
    working = [n.packet.strip("_").lower() for n in nodes if n.op not in VIEW_OPS]
    telling = list(dict.fromkeys(op for op in working if op not in _PLAIN and op != "getitem"))
    telling.sort(key=lambda op: (op not in _SCATTERS, op not in _REDUCTIONS, op not in _GATHERS))
    return "_".join(telling[:3] or working[:1] or ["view"])


def _kind(operators: Iterable[str], graph: Graph) -> str:
    names = {op.lower() for op in operators}
    for kind, those in (("scatter", _SCATTERS), ("reduction", _REDUCTIONS), ("gather", _GATHERS)):
        if names & those:
            return kind
    views = {n.packet.strip("_").lower() for n in graph.nodes if n.op in VIEW_OPS}
    return "layout" if names <= views | _MOVES | _PLAIN else "pointwise"


def _moved(graph: Graph) -> int:
    """Bytes that one call moves at least: every output written once, every input read once, of
    tables that are only looked up what is looked up."""
    types = graph.types()
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.refs():
            readers.setdefault(name, []).append(node)
    moved = 0
    for item in graph.inputs:
        nodes = readers.get(item.name, [])
        looked_up = nodes and all(
            n.packet in _GATHERS and n.args[0] == Ref(item.name) for n in nodes
        )
        read = sum(_bytes(n.type) for n in nodes) if looked_up else _bytes(item.type)
        moved += min(read, _bytes(item.type))
    written = [name for name in dict.fromkeys(graph.outputs) if name is not None]
    written += [m.value for m in graph.mutations]
    return moved + sum(_bytes(types[name]) for name in written)


def _bytes(kind: ValueType) -> int:
    return int(kind.numel) * kind.dtype.itemsize if isinstance(kind, TensorType) else 0
