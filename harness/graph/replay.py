"""Running a graph with torch, and writing the same calls down as Python text. This is the meaning
of a graph: every kernel is compared with it. ``float64`` means that everything floating is computed
in float64, which serves as the reference for rounding errors."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import sympy
import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch._prims_common import compute_required_storage_length

from harness.dtypes import DType
from harness.errors import GraphError, UnsupportedOperator
from harness.graph.bounds import distinct_indices
from harness.graph.calltext import call_kwargs, combine_graph, is_factory
from harness.graph.model import Arg, Graph, Input, Node, Ref, TensorType, Token, ValueType
from harness.graph.own_operators import register  # which has others

K = TypeVar("K", bound=Hashable)


def torch_dtype(dtype: DType, float64: bool = False) -> torch.dtype:
    """The object of torch for ``dtype``; float64 for every floating type when ``float64``."""
    if float64 and dtype.is_float:
        return torch.float64
    return getattr(torch, dtype.torch_name)


def operator_function(op: str) -> Callable[..., Any]:
    """The operator overload that torch has registered as ``op`` (``aten.add.Tensor``).

    The name comes from a file, and ``torch.ops`` has attributes that load libraries and import
    modules: nothing but a registered overload, looked up step by step, is ever answered.
    Raises ``UnsupportedOperator`` when this torch has none of that name, or one that opens files.
    """
    if op == "getitem":
        return operator.getitem
    namespace, name, overload = (op.split(".") + ["", "", ""])[:3]
    found = _member(_member(_member(torch.ops, namespace), name), overload)
    if not isinstance(found, OpOverload) or str(found) != op or op.startswith(_OPEN_FILES):
        raise UnsupportedOperator(
            "torch has no such operator",
            got=op,
            expected="namespace.name.overload of a registered operator that reads no files",
            remedy="import the package that registers it, or capture again with this torch",
        )
    return found


def _member(of: Any, name: str) -> Any:
    """``of.name`` for the three kinds of thing that lead to an operator; None for anything else."""
    if not isinstance(of, _OPERATORS) or not name.isidentifier():
        return None
    found = getattr(of, name, None)
    return found if isinstance(found, _OPERATORS) else None


_OPERATORS = (type(torch.ops), type(torch.ops.aten), OpOverloadPacket, OpOverload)
_OPEN_FILES = ("aten.from_file.", "debugprims.load_tensor.")


def torch_constant(name: str) -> Any:
    """The element type, layout or memory format that torch calls ``name``; ``GraphError`` for
    anything else that is an attribute of torch."""
    found = getattr(torch, name, None) if name.isidentifier() else None
    if not isinstance(found, torch.dtype | torch.layout | torch.memory_format):
        raise GraphError(
            "not a constant of torch",
            got=f"torch.{name}",
            expected="an element type, a layout or a memory format",
            remedy="capture the graph again, or undo the edit",
        )
    return found


def size_value(expr: sympy.Expr, node: Node) -> int:
    """A constant size as an int; ``GraphError`` for one that is not known."""
    if not expr.is_Integer:
        raise GraphError(
            "a size is not a number",
            where=node.name,
            got=str(expr),
            remedy="specialise the graph to concrete sizes before running it",
        )
    return int(expr)


def bound(
    node: Node, values: Mapping[str, Any], device: torch.device, float64: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The call that ``node`` is, with ``values`` (by name, whatever stands for them) in place:
    function, arguments, keyword arguments. Raises ``UnsupportedOperator`` and ``GraphError`` as
    ``operator_function`` and ``size_value`` do."""

    def value(arg: Arg) -> Any:
        match arg:
            case Ref(name=name):
                return values[name]
            case Token(name=name):
                return torch_constant(name)
            case DType():
                return torch_dtype(arg, float64)
            case sympy.Expr():
                return size_value(arg, node)
            case tuple():
                return [value(item) for item in arg]
            case _:
                return arg

    kwargs = {key: value(arg) for key, arg in call_kwargs(node)}
    if is_factory(node):
        kwargs["device"] = device
    return operator_function(node.op), tuple(map(value, node.args)), kwargs


def call_node(
    node: Node, values: Mapping[str, Any], device: torch.device, float64: bool = False
) -> Any:
    """The result of one node as torch computes it, on ``values`` by name."""
    function, args, kwargs = bound(node, values, device, float64)
    return function(*args, **kwargs)


def associative_scan(
    xs: Sequence[torch.Tensor], combine: str, captured: Sequence[torch.Tensor] | None = None
) -> list[torch.Tensor]:
    """Tensors of one shape scanned along their first dimension, laid out as they are, by the text
    of a graph: from an element of each, a later one of each and ``captured`` to what follows."""
    function = combine_graph(combine)

    def joined(*given: torch.Tensor) -> list[torch.Tensor]:
        values: dict[str, Any] = dict(zip(function.given, given, strict=True))
        for node in function.nodes:
            values[node.name] = call_node(node, values, given[0].device)
        return [values[name].expand_as(given[0]) for name in function.results]

    own = importlib.import_module("torch._higher_order_ops.associative_scan")
    found = own.generic_associative_scan(joined, list(xs), additional_inputs=tuple(captured or ()))
    return [torch.empty_like(x).copy_(one) for x, one in zip(xs, found, strict=True)]


def xor_sum(x: torch.Tensor, dim: Sequence[int], keepdim: bool) -> torch.Tensor:
    """The exclusive or of 64-bit integers along the dimensions, of all if none is named."""
    return torch.hash_tensor(x, tuple(dim), keepdim=keepdim).view(torch.int64)


register("wide(Tensor self) -> Tensor", torch.Tensor.long, torch.Tensor.long)
"""A conversion that the partitioner cannot undo."""
register("xor_sum(Tensor self, int[] dim, bool keepdim) -> Tensor", xor_sum, torch.sum)
register(
    "associative_scan(Tensor[] xs, str combine, Tensor[]? captured=None) -> Tensor[]",
    associative_scan,
    lambda xs, *_: list(map(torch.empty_like, xs)),
)

META = torch.device("meta")
"""Where tensors have sizes, strides and types, and no data."""


def stand_in(kind: ValueType, device: torch.device | str = META) -> Any:
    """A tensor of that type, whatever it holds, a tuple of them; None for none, or one of unknown
    size."""
    if isinstance(kind, tuple):
        return tuple(stand_in(one, device) for one in kind)
    if kind is None or kind.layout is None:
        return None
    return torch.empty_strided(*kind.layout, dtype=torch_dtype(kind.dtype), device=device)


def same_layout(value: torch.Tensor, stride: Sequence[int]) -> bool:
    """Whether the strides agree in every dimension longer than 1."""
    pairs = zip(value.shape, value.stride(), stride, strict=True)
    return value.numel() == 0 or all(n == 1 or a == b for n, a, b in pairs)


def laid_out(
    value: torch.Tensor, shape: tuple[int, ...], stride: tuple[int, ...], where: str
) -> torch.Tensor:
    """``value`` if it lies at these strides, else a copy that does. Raises ``GraphError`` if it
    has another shape; ``where`` names the operator."""
    if value.shape != shape:
        raise GraphError(
            "an operator's result has other sizes than recorded",
            where=where,
            got=str(list(value.shape)),
            expected=str(list(shape)),
            remedy="capture the graph again with this torch",
        )
    if value.stride() == stride or same_layout(value, stride):
        return value
    return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device).copy_(value)


def copied(value: Any, dtype: torch.dtype | None = None) -> Any:
    """A copy of a tensor in the same layout, also where that has gaps or several elements in one
    place, of another element type if one is given; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return memory(value).to(dtype or value.dtype, copy=True).as_strided(value.shape, value.stride())


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """What lies from a tensor's first element to its last, each place once."""
    extent = compute_required_storage_length(tensor.shape, tensor.stride(), 0)
    return tensor.as_strided((extent,), (1,))


def materialise(value: Any, node: Node) -> Any:
    """``value`` in the layout that the graph recorded for ``node``. Raises ``GraphError`` if the
    sizes are not the recorded ones."""
    if not isinstance(node.type, TensorType) or not isinstance(value, torch.Tensor):
        return value
    both = (node.type.shape, node.type.stride)
    shape, stride = (tuple(size_value(n, node) for n in sizes) for sizes in both)
    return laid_out(value, shape, stride, f"{node.name} = {node.op}")


def last_uses(used: Sequence[Iterable[K]], keep: Iterable[K] = ()) -> list[list[K]]:
    """For each step, which uses so much, what no later one does (``keep`` is always needed)."""
    seen, freed = set(keep), []
    for one in reversed(used):
        freed.append([thing for thing in dict.fromkeys(one) if thing not in seen])
        seen.update(freed[-1])
    return freed[::-1]


def replay(
    graph: Graph, tensors: Sequence[torch.Tensor], device: torch.device | str, float64: bool = False
) -> list[torch.Tensor | None]:
    """The graph's outputs, computed node by node with torch on ``tensors`` (one per
    graph input, on ``device``).

    Mutations are applied to ``tensors`` at the end (with ``float64``, to float64 copies, so that
    the caller's tensors stay as they are). Intermediate values are freed after their last use.
    """
    where = torch.device(device)
    check_inputs(graph, tensors)
    if float64:
        tensors = [copied(t, torch.float64 if t.is_floating_point() else t.dtype) for t in tensors]
    values: dict[str, Any] = {i.name: t for i, t in zip(graph.inputs, tensors, strict=True)}
    types, keep = graph.types(), [*graph.results]
    keep.extend(name for m in graph.mutations for name in (m.input, m.value))
    freed = last_uses([(*node.refs(), node.name) for node in graph.nodes], keep)
    for node, dead in zip(graph.nodes, freed, strict=True):
        bits = float64 and node.op == "aten.view.dtype"
        made = _bits(node, values, types) if bits else call_node(node, values, where, float64)
        values[node.name] = materialise(made, node)
        for name in dead:
            del values[name]
    outputs = [None if name is None else values[name] for name in graph.outputs]
    return apply_mutations(graph, values, outputs)


def _bits(node: Node, values: Mapping[str, Any], types: Mapping[str, ValueType]) -> torch.Tensor:
    """A view of bits, those of the recorded type, for the float64 form."""
    (operand,) = node.refs()
    kinds = (kind for kind in (types[operand], node.type) if isinstance(kind, TensorType))
    source, target = (torch_dtype(kind.dtype) for kind in kinds)
    found: torch.Tensor = values[operand].to(source).view(target)
    return found.double() if found.is_floating_point() else found


def apply_mutations(
    graph: Graph, values: Mapping[str, Any], outputs: list[torch.Tensor | None]
) -> list[torch.Tensor | None]:
    """Copy each mutation's value into its input; ``outputs`` as they were before."""
    changing = [values[m.input] for m in graph.mutations]
    storages = {tensor.untyped_storage().data_ptr() for tensor in changing}

    def kept_from(value: Any) -> Any:
        shared = value is not None and value.untyped_storage().data_ptr() in storages
        return value.clone() if shared else value

    kept = list(map(kept_from, (*outputs, *(values[m.value] for m in graph.mutations))))
    for tensor, value in zip(changing, kept[len(outputs) :], strict=True):
        tensor.copy_(value)
    return kept[: len(outputs)]


def check_inputs(graph: Graph, given: Sequence[Any], unknown: Sequence[sympy.Symbol] = ()) -> None:
    """``GraphError`` unless there is one tensor per input, of the recorded sizes, followed by the
    sizes ``unknown``."""
    if len(given) != len(graph.inputs) + len(unknown):
        raise GraphError(
            "the number of tensors is not the number of inputs",
            where=graph.name,
            got=str(len(given)),
            expected=str(len(graph.inputs) + len(unknown)),
        )
    pairs = list(zip(graph.inputs, given, strict=False))
    numbers = zip(unknown, given[len(pairs) :], strict=True)
    sizes = {s: n for s, n in numbers if isinstance(n, int)}  # no ragged one
    for item, tensor in pairs:
        for size, number in zip(item.type.shape, tensor.shape, strict=False):
            if isinstance(size, sympy.Symbol):
                sizes.setdefault(size, number)
    for item, tensor in pairs:
        if [sympy.Integer(n) for n in tensor.shape] != [n.subs(sizes) for n in item.type.shape]:
            raise GraphError(
                "a tensor has other sizes than the graph's input",
                where=f"{graph.name}, input {item.name}",
                got=str(list(tensor.shape)),
                expected=str(list(item.type.shape)),
            )


def random_inputs(graph: Graph, device: torch.device | str, seed: int = 0) -> list[torch.Tensor]:
    """Fresh random tensors for the graph's inputs, in the recorded layout.

    Floats are normal for data and gradients; around 1 for one-dimensional parameters
    (scales), small for the others; positive for buffers (variances, step counts) and for
    saved statistics (a saved value whose last size is 1, or of rank below 2). Integers are
    below the input's bound, or below 8 if it has none; no two are equal where they say to which
    places a scatter writes, if there are so many. Gaps between elements are random too.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    made, distinct = [], distinct_indices(graph)
    for item in graph.inputs:
        shape, stride = (list(map(int, sizes)) for sizes in (item.type.shape, item.type.stride))
        extent = compute_required_storage_length(shape, stride, 0)
        storage = _random_storage(item, extent, device, generator)
        made.append(storage.as_strided(shape, stride))
        if shape and item.name in distinct and item.bound is not None:
            _make_distinct(made[-1], distinct[item.name], int(item.bound), generator)
    return made


def _make_distinct(
    index: torch.Tensor, dim: int | None, bound: int, chance: torch.Generator
) -> None:
    """Integers below ``bound``, no two equal along ``dim`` (None: of all), as modules make them."""
    for at, step in enumerate(index.stride()):  # of what is repeated, one copy
        index = index if step else index.narrow(at, 0, min(1, index.shape[at]))
    along = index.reshape(-1) if dim is None else index.movedim(dim, -1)
    if 1 < along.shape[-1] <= bound:
        drawn = torch.rand((*along.shape[:-1], bound), generator=chance, device=index.device)
        places = drawn.argsort(-1)[..., : along.shape[-1]]
        index.copy_(places.view(index.shape) if dim is None else places.movedim(-1, dim))


def _random_storage(
    item: Input, extent: int, device: torch.device | str, generator: torch.Generator
) -> torch.Tensor:
    dtype = torch_dtype(item.type.dtype)
    if not item.type.dtype.is_float:
        bound = 2 if item.type.dtype is DType.BOOL else 8
        if item.bound is not None and item.bound.is_Integer:
            bound = max(1, int(item.bound))
        return torch.randint(0, bound, (extent,), generator=generator, device=device).to(dtype)
    normal = torch.randn(extent, generator=generator, device=device)
    rank = item.type.rank
    if item.role == "buffer" or (item.role == "saved" and (rank < 2 or item.type.shape[-1] == 1)):
        normal = normal.abs() * 0.5 + 0.5
    elif item.role == "parameter":
        normal = normal * 0.1 + 1.0 if rank < 2 else normal * 0.05
    return normal.to(dtype)
