"""Calls of compiled graphs, and sizes that only they tell: where not every size can be compiled at
once, and where an operator gives others than it said."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch import fx
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch._dynamo.symbolic_convert import TensorifyState
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.value_ranges import ValueRanges

from harness.errors import GraphError, HarnessError
from harness.graph.capture import tangents
from harness.graph.capture.fx import Conversion
from harness.graph.model import FAMILIAR, Graph, HostCall, Partition, tensors_of
from harness.graph.replay import check_inputs, torch_dtype
from harness.graph.views import inputs_shared
from harness.runtime.launch.host import on_device

Run = Callable[..., Any]


class NotForEverySize(Exception):
    """A graph of unknown sizes, of which not all could be generated."""


def specialised(compile_for: Callable[[list[Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """A graph of unknown sizes: one compilation per combination of sizes that occurs."""
    variants: dict[tuple[object, ...], Callable[..., Any]] = {}

    def run(*args: Any) -> Any:
        key = (torch.is_grad_enabled(), *map(_size_key, tree_leaves(args)))
        if key not in variants:
            variants[key] = compile_for(list(args))
        return variants[key](*args)

    return run


def counted(
    compile_for: Callable[[bool], Callable[..., Any]], inputs: Sequence[Any]
) -> Callable[..., Any]:
    """A graph of fake ``inputs``, some sizes of which only data tell: one compilation for all but
    0, and others, late (True), with those that are 0 when they are met."""
    places: dict[sympy.Symbol, tuple[int, int]] = {}
    ranges: dict[sympy.Symbol, Any] = {}
    for n, value in enumerate(inputs):
        for axis, size in enumerate(_sizes(value)):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                symbol, ranges = size.node.expr, size.node.shape_env.var_to_range
                if symbol.name.startswith("u") and ranges[symbol].lower == 0:
                    places[symbol] = n, axis

    @functools.cache
    def variant(*empty: sympy.Symbol) -> Callable[..., Any]:
        with patch.dict(ranges, dict.fromkeys(empty, ValueRanges(0, 0))):
            return compile_for(bool(empty))

    def run(args: list[Any]) -> Any:
        return variant(*(s for s, (n, axis) in places.items() if not _sizes(args[n])[axis]))(args)

    some = variant()
    return tangents.boxed(run) if places else some


def _sizes(value: Any) -> Sequence[Any]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)


def bases(graph: Graph) -> list[tuple[int, int]]:
    """Inputs that stand for memory that several of the caller's tensors share, and how much of it
    was seen while tracing: AOTAutograd hands in all there is."""
    found = inputs_shared(graph)
    if not all(numel.is_Integer for _, numel in found):
        raise NotForEverySize("inputs of unknown sizes share memory")
    return [(number, int(numel)) for number, numel in found]


def guard_sizes(gm: fx.GraphModule) -> None:
    """Have torch compile anew for zero, and for numbers below, where one that the caller passes,
    such as a position in a cache, has part in a layout or selects: of sizes it is known that they
    are at least one, of a position it has to be known from which end it counts."""
    values = {node: node.meta.get("val") for node in gm.graph.nodes}
    given = [values[node] for node in gm.graph.find_nodes(op="placeholder")]
    known = (n for n in given if isinstance(n, torch.SymInt) and n.node.hint is not None)
    numbers = [n for n in known if n.node.hint >= 0]
    if not numbers:
        return
    tensors = [one for one in tree_leaves([*values.values()]) if isinstance(one, torch.Tensor)]
    selects = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.select.int)
    places = [values.get(node.args[2], 0) for node in selects]
    counts = free_symbols([places, *((*one.shape, *one.stride()) for one in tensors)])
    for number in (n for n in numbers if n.node.expr in counts):
        if number.node.hint:
            bool(number >= 1)
        else:
            int(number)


def require_sizes(graph: Graph) -> None:
    """Raise ``NotForEverySize`` if a number that may be negative has part in a layout: what
    is known of sizes is not known of it."""
    for kind in tensors_of(*graph.types().values()):
        symbols = (s for n in (*kind.shape, *kind.stride) for s in n.free_symbols)
        if odd := sorted(str(s) for s in symbols if not s.is_positive):
            raise NotForEverySize(f"{odd[0]}, which may be any number, is part of a size")


def is_dynamic(value: Any) -> bool:
    """Whether a call tells a size of ``value``; what only data tells (``u0``) it does not."""
    kinds = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
    symbols = free_symbols(value) if isinstance(value, kinds) else ()
    return any(not str(symbol).startswith(("u", "zuf")) for symbol in symbols)


def fix_floats() -> None:
    """Have Dynamo trace anew, with numbers for the floats that it gives as tensors, if it does."""
    env = getattr(torch._guards.detect_fake_mode(), "shape_env", None)
    floats = [one for one in map(str, getattr(env, "var_to_range", ())) if one.startswith("zf")]
    if new := [one for one in floats if not TensorifyState.should_specialize(one)]:
        for one in new:
            TensorifyState.specialize(one)
        raise TensorifyScalarRestartAnalysis


def _size_key(arg: Any) -> object:
    if isinstance(arg, torch.Tensor):
        return (arg.dtype, arg.device, tuple(arg.shape), arg.stride(), arg.requires_grad)
    return (type(arg).__name__, arg)


def _check_types(partition: Partition, tensors: Sequence[torch.Tensor]) -> None:
    """Kernels read what was traced, themselves or through views. Autograd hands gradients on as
    eager mode has them, and torch mistakes types that its own operators alone read."""
    read = {item.name for region in partition.regions for item in region.graph.inputs}
    for step in reversed(partition.steps):
        if isinstance(step, HostCall) and step.is_view and step.node.name in read:
            read.update(step.node.refs())
    graph = partition.graph
    for item, tensor in zip(graph.inputs, tensors, strict=False):
        wanted, found = torch_dtype(item.type.dtype), tensor.dtype
        if item.name in read and item.role != "gradient" and found is not wanted:
            what = "a tensor has another type than the graph's input"
            raise GraphError(what, f"{graph.name}, input {item.name}", str(found), str(wanted))


def boxed(
    converted: Conversion,
    partition: Partition,
    run_graph: Run,
    device: torch.device,
    rescue: Callable[[HarnessError], Run],
    shared: Sequence[tuple[int, int]],
    launched: Callable[[], None],
) -> Run:
    """A function of a list of arguments, which it empties, as AOTAutograd calls it; ``launched`` is
    called once it has run. Of inputs that are ``shared`` memory it takes so much (``bases``).

    A user's operator may give other sizes than it said, torch's ``_embedding_bag`` of bfloat16 too,
    and torch 2.11's ``unique`` other types. What ``rescue`` gives runs such a graph, or one after
    it, from the first call on, which holds its inputs to the end for that only if its caller does
    or it calls a user's operator; and not if it changes them, which may have happened in part."""
    positions, numbers = converted.positions, tuple(converted.sizes.values())
    constants: list[torch.Tensor] = []
    held = converted.graph.name.endswith(("_forward", "_inference"))  # whole, no part of one
    held |= not all(node.op.startswith(FAMILIAR) for node in converted.graph.nodes)
    check = functools.partial(check_inputs, converted.graph, unknown=tuple(converted.sizes))
    runs: list[Run] = []

    def first(args: list[Any]) -> list[Any]:
        kept, tensors = list(args), taken(args)
        try:
            if FakeTensor in map(type, tensors):  # Dynamo compiles others apart from these
                raise GraphError("a tensor is fake: it has no memory", converted.graph.name)
            check(tensors)
            _check_types(partition, tensors)
            if converted.graph.mutations or not held:
                kept.clear()
            outputs = run_graph(tensors)
        except GraphError as error:
            if not kept:
                raise
            runs.append(rescue(error))
            return run(kept)
        runs.append(lambda args: run_graph(taken(args)))
        launched()
        return outputs

    def run(args: list[Any]) -> list[Any]:
        return runs[0](args) if runs else first(args)

    def taken(args: list[Any]) -> list[Any]:
        if len(constants) < len(converted.constants):
            constants[:] = [constant.to(device) for constant in converted.constants]
        tensors = [args[position] for position in positions]
        tensors.extend(constants)
        tensors.extend([args[position] for position in numbers])
        args.clear()
        for number, length in shared:
            tensors[number] = tensors[number][:length]
        return tensors

    return tangents.boxed(on_device(run, device))
