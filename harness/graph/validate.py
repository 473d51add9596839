"""Whether a graph's operators exist and give the types that are written beside them.

Reading a graph file checks its grammar; here every node is run once on torch's ``meta``
device (sizes, strides and types, no data) from the types that the file records for its
arguments. So a size that was edited by hand is found on the line it stands on.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import DamagedGraph, GraphError, UnsupportedOperator, reason
from harness.graph.model import Graph, Node, TensorType, ValueType, tensors_of
from harness.graph.replay import META, call_node, operator_function, stand_in, torch_dtype
from harness.graph.sizes import print_type

_OURS = ("aten", "prims", "harness")
"""Namespaces that torch registers itself; others may need a library that is not here."""
_REMEDY = "capture the graph again, or undo the edit"


def validate(graph: Graph, text: str = "", path: str = "") -> None:
    """Raise for the first node that torch would not run, or not with that result.

    ``text`` and ``path`` are the file's, to name the line. Raises ``UnsupportedOperator``
    for an operator that torch does not have, ``DamagedGraph`` for arguments that it refuses
    or a result of other sizes or another type. Nodes with unknown sizes, and operators that
    have no meta implementation, are taken as they are.
    """
    lines = _lines(text)
    types: dict[str, ValueType] = {item.name: item.type for item in graph.inputs}
    for node in graph.nodes:
        where = f"{path}:{lines.get(node.name, 1)}" if path else f"{graph.name}.{node.name}"
        if node.op != "getitem":
            _validate_node(node, types, where)
        types[node.name] = node.type


def _lines(text: str) -> dict[str, int]:
    """The line of each statement, by the name it defines."""
    return {
        line.strip().partition(":")[0]: number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.startswith("    ") and ": " in line
    }


def _validate_node(node: Node, types: dict[str, ValueType], where: str) -> None:
    if not _is_registered(node, where) or any(k.layout is None for k in tensors_of(node.type)):
        return
    try:
        values = {name: stand_in(types[name]) for name in node.refs() if name in types}
        if any(value is None for value in values.values()):
            return
        result = call_node(node, values, META)
    except NotImplementedError:
        return
    except GraphError as error:
        raise DamagedGraph(error.what, where, error.got, error.expected, _REMEDY) from None
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise DamagedGraph(
            f"{node.op} does not take these arguments",
            where,
            got=reason(error),
            expected="a call that torch accepts",
            remedy=_REMEDY,
        ) from error
    _compare(node, result, where)


def _is_registered(node: Node, where: str) -> bool:
    try:
        operator_function(node.op)
    except UnsupportedOperator as error:
        namespace = node.op.partition(".")[0]
        if namespace not in _OURS and not hasattr(type(torch.ops), namespace):
            return False
        error.where = f"{where} ({node.source})" if node.source else where
        raise
    return True


def _compare(node: Node, result: Any, where: str) -> None:
    recorded = node.type if isinstance(node.type, tuple) else (node.type,)
    results = result if isinstance(result, tuple | list) else (result,)
    for kind, value in zip(recorded, results, strict=False):
        if not isinstance(kind, TensorType) or not isinstance(value, torch.Tensor):
            continue
        if list(value.shape) != list(kind.shape) or value.dtype != torch_dtype(kind.dtype):
            raise DamagedGraph(
                f"the type of {node.name} is not what {node.op} gives",
                where,
                got=print_type(kind),
                expected=f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}",
                remedy=_REMEDY,
            )
