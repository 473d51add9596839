"""Graphs as readable Python text, written here and read by ``harness.graph.reader``.

One statement per line::

    # harness graph 1
    # captured: transformers:LlamaForCausalLM
    def llama_block_forward(
        hidden_states: "bf16[1, 2048, 4096]",
        ids: "i64[1, 2048] bound=128256",
        weight: "bf16[4096] parameter",
    ):
        # [model.norm] modeling_llama.py:66 in forward: return self.weight * x
        mul: "bf16[1, 2048, 4096]" = aten.mul.Tensor(weight, hidden_states)
        topk: ("bf16[1, 2048, 2]", "i64[1, 2048, 2]") = aten.topk.default(mul, 2)
        running_mean[...] = add                 # the input holds this value at the end
        return (mul, None)

A type is ``dtype[sizes]``, followed by ``{strides}`` (in elements) unless they are
row-major; an input's role and bound follow unless they are the defaults. A comment
with a source line holds until the next one. Element types and memory formats in
arguments are ``torch.<name>``, floats that have no literal ``float("inf")``, size
expressions ``sym("2*s0 + 1")``. Nothing in a file is ever executed.
"""

from __future__ import annotations

import json
import keyword
import math
import os
from collections.abc import Iterator
from pathlib import Path

import sympy

from harness.dtypes import DType
from harness.errors import GraphError
from harness.files import write_atomically
from harness.graph.model import Arg, Graph, Input, Node, Ref, Token
from harness.graph.reader import FORMAT, is_graph, load, loads
from harness.graph.sizes import print_size, print_type, print_types

__all__ = ["FORMAT", "dumps", "is_graph", "load", "loads", "save"]

_LINE = 100


def dumps(graph: Graph) -> str:
    """The text of ``graph``; ``loads`` gives an equal graph back. Raises ``GraphError`` for what
    has no text: a name that is no Python identifier, a source or fact that spans lines, an argument
    of another type than the model's."""
    return "\n".join(_lines(graph)) + "\n"


def save(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write ``graph`` to ``path``: a reader sees the old file or the new. Raises ``RecordError``
    where it cannot be written."""
    write_atomically(Path(path), dumps(graph).encode(), own=False)


def _lines(graph: Graph) -> Iterator[str]:
    yield f"# harness graph {FORMAT}"
    for key, value in graph.facts:
        if ":" in key or not key.strip() or key != key.strip():
            raise GraphError("a fact's key has no text", where=graph.name, got=repr(key))
        yield _one_line(f"# {key}: {value}", graph.name).rstrip()
    yield f"def {_identifier(graph.name)}("
    yield from (f"    {_identifier(item.name)}: {_input_type(item)}," for item in graph.inputs)
    yield "):"
    origin = ("", "")
    for node in graph.nodes:
        if (node.module, node.source) != origin:
            origin = (node.module, node.source)
            yield _origin(node)
        yield _statement(node)
    for mutation in graph.mutations:
        yield f"    {_identifier(mutation.input)}[...] = {_identifier(mutation.value)}"
    yield from _return(graph.outputs)


def _one_line(text: str, where: str) -> str:
    if len(text.splitlines()) > 1:
        raise GraphError("a comment of a graph spans lines", where=where, got=repr(text))
    return text


def _identifier(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise GraphError(
            "a name in a graph is not a Python identifier",
            got=repr(name),
            remedy="rename the value before saving",
        )
    return name


def _input_type(value: Input) -> str:
    text = print_type(value.type)
    if value.role != "data":
        text += f" {value.role}"
    if value.bound is not None:
        text += f" bound={print_size(value.bound)}"
    return f'"{text}"'


def _origin(node: Node) -> str:
    text = node.source
    if "]" in node.module:
        raise GraphError("a module path has no text", where=node.name, got=repr(node.module))
    if node.module or text.startswith("["):
        text = f"[{node.module}] {text}"
    return _one_line(f"    # {text}", node.name).rstrip()


def _statement(node: Node) -> str:
    parts = [print_argument(a) for a in node.args]
    parts += [f"{_identifier(key)}={print_argument(value)}" for key, value in node.kwargs]
    kind = print_types(node.type, '"')
    return f"    {_identifier(node.name)}: {kind} = {node.op}({', '.join(parts)})"


def _return(outputs: tuple[str | None, ...]) -> Iterator[str]:
    names = ["None" if name is None else _identifier(name) for name in outputs]
    line = f"    return ({', '.join(names)}{',' * (len(names) == 1)})"
    if len(line) <= _LINE:
        yield line
        return
    yield "    return ("
    yield from (f"        {name}," for name in names)
    yield "    )"


def print_argument(value: Arg) -> str:
    """The text of one operator argument."""
    match value:
        case Ref():
            return _identifier(value.name)
        case Token(name=name) | DType(torch_name=name):
            return f"torch.{name}"
        case None | bool() | int() | sympy.Integer():
            return repr(value)
        case float() | complex():
            plain = isinstance(value, float) and math.isfinite(value)
            return repr(value) if plain else f'{type(value).__name__}("{value}")'
        case str():
            return json.dumps(value)
        case tuple():
            return f"[{', '.join(print_argument(v) for v in value)}]"
        case sympy.Expr():
            return f'sym("{print_size(value)}")'
        case _:
            got = f"{value!r} ({type(value).__name__})"
            raise GraphError("an operator argument has no text", got=got)
