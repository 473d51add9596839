"""A graph's calls as Python source lines, for the reference inside emitted modules. No torch here:
code generation writes these lines without importing it."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Iterable, Sequence, Set

import sympy

from harness.dtypes import DType
from harness.errors import GraphError
from harness.graph.model import Arg, Graph, Node, Ref, TensorType, leaves
from harness.graph.reader import loads
from harness.graph.text import print_argument
from harness.ir.index_text import size_text

FACTORY_DTYPE = frozenset(
    (
        "aten.empty.memory_format aten.empty_strided.default aten.full.default aten.ones.default "
        "aten.rand.default aten.randn.default aten.scalar_tensor.default aten.zeros.default"
    ).split()
)
"""Factories whose element type has a default that ``wide`` must override."""

SCAN_BY_FUNCTION = "harness.associative_scan.default"
_PLACES = frozenset({"device", "pin_memory"})

_RESERVED = frozenset(
    {"args", "device", "float", "math", "nudge", "scanned", "torch", "wide"}
    | {dtype.torch_name for dtype in DType}
)


def local_name(name: str, reserved: Set[str] = _RESERVED) -> str:
    """The Python variable that holds the graph value ``name`` in text that reserves others."""
    clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    if not clean or clean[0].isdigit() or clean in reserved or keyword.iskeyword(clean):
        return f"v_{clean}"
    return clean


def is_factory(node: Node) -> bool:
    """Whether ``node`` makes a tensor out of numbers alone and so needs a device."""
    return node.op != "getitem" and next(node.refs(), None) is None


def needed(
    graph: Graph, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[list[Node], set[str]]:
    """The nodes that compute ``outputs`` from ``inputs``, in graph order, and what they need
    besides."""
    given = set(inputs)
    wanted = set(outputs) - given
    found: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in wanted:
            found.append(node)
            wanted.discard(node.name)
            wanted.update(name for name in node.refs() if name not in given)
    return found[::-1], wanted


def needed_nodes(graph: Graph, inputs: Iterable[str], outputs: Iterable[str]) -> list[Node]:
    """The nodes that compute ``outputs`` from ``inputs``, in graph order. Raises ``GraphError``
    when a graph input that is not among ``inputs`` is needed."""
    given = sorted(inputs)
    found, missing = needed(graph, given, outputs)
    if missing:
        raise GraphError(
            "values cannot be computed from the given ones",
            where=graph.name,
            got=f"given {', '.join(given)}",
            expected=f"also {', '.join(sorted(missing))}",
        )
    return found


@functools.cache
def combine_graph(text: str) -> Graph:
    """The function that a scan by a function brings along, a graph of numbers."""
    return loads(text, "the combine function of a scan")


def combine_of(node: Node) -> Graph | None:
    """The function of ``node``, if it is a scan by a function."""
    text = node.args[1] if node.op == SCAN_BY_FUNCTION else None
    return combine_graph(text) if isinstance(text, str) else None


def float_names(nodes: Sequence[Node]) -> list[str]:
    """The floating type names in the text of ``nodes``, sorted."""
    functions = filter(None, map(combine_of, nodes))
    every = (*nodes, *(inner for function in functions for inner in function.nodes))
    args = (arg for n in every for arg in leaves((*n.args, *(v for _, v in call_kwargs(n)))))
    return sorted({arg.torch_name for arg in args if isinstance(arg, DType) and arg.is_float})


def call_kwargs(node: Node) -> list[tuple[str, Arg]]:
    """Keyword arguments, with the element type that a factory leaves to torch's default. A graph
    has no device; one that is written down all the same is left out, because whoever runs the call
    says where."""
    kwargs = [(key, value) for key, value in node.kwargs if key not in _PLACES]
    given = dict(kwargs).get("dtype") is not None
    if node.op not in FACTORY_DTYPE or given or not isinstance(node.type, TensorType):
        return kwargs
    return [*((k, v) for k, v in kwargs if k != "dtype"), ("dtype", node.type.dtype)]


def node_text(node: Node) -> str:
    """One node as an assignment; before a scan by a function, as ``scanned`` takes it, that.

    A value ``v`` lives in the variable ``local_name(v)``; whoever runs the text binds the inputs.
    Free names besides these are ``torch``, ``device`` (for factories), and torch's names of the
    floating types that occur (``bfloat16``, see ``float_names``), which are bound to torch's
    types, or all to ``torch.float64`` for a wide reference.
    """
    if node.op == "getitem":
        return f"{local_name(node.name)} = {_text(node.args[0])}[{_text(node.args[1])}]"
    if node.op == "harness.random_bits.default":
        # By ``philox``: the operator is registered by this package alone.
        assert isinstance(node.type, TensorType)
        seed, size = (_text(arg) for arg in node.args)
        index = f"torch.arange({size_text(node.type.numel)}, device={seed}.device).view({size})"
        return f"{local_name(node.name)} = philox({seed}, {index}).to(torch.int32)"
    if (function := combine_of(node)) is not None:
        return _scan_text(node, function)
    parts = [_text(arg) for arg in node.args]
    if node.op == "harness.xor_sum.default":  # which this package alone registers
        hashed = f"torch.hash_tensor({parts[0]}, {parts[1]}, keepdim={parts[2]})"
        return f"{local_name(node.name)} = {hashed}.view(torch.int64)"
    if node.op == "prims.fma.default":  # not every torch that runs modules has it
        return f"{local_name(node.name)} = torch.addcmul({parts[2]}, {parts[0]}, {parts[1]})"
    parts.extend(f"{key}={_text(value)}" for key, value in call_kwargs(node))
    if is_factory(node):
        parts.append("device=device")
    return f"{local_name(node.name)} = torch.ops.{node.op}({', '.join(parts)})"


def _scan_text(node: Node, function: Graph) -> str:
    name = f"combine_{local_name(node.name)}"
    given = ", ".join(map(_text, (node.args[0], *leaves(node.args[2:]))))
    results = map(local_name, function.results)
    return "\n".join(
        (
            f"def {name}({', '.join(local_name(item.name) for item in function.inputs)}):",
            *(f"    {node_text(inner)}" for inner in function.nodes),
            f"    return [{', '.join(results)}]",
            f"{local_name(node.name)} = scanned({name}, {given})",
        )
    )


def _text(arg: Arg) -> str:
    match arg:
        case Ref(name=name):
            return local_name(name)
        case DType() if arg.is_float:
            return arg.torch_name
        case tuple():
            return f"[{', '.join(_text(item) for item in arg)}]"
        case str() | complex():
            return repr(arg)
        case sympy.Expr():
            return size_text(arg)
        case _:
            return print_argument(arg)
