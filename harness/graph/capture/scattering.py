"""Writing at computed positions, and extremes, means and products of what meets in one place. A
kernel adds up atomically or finds the largest of integers; everything else is made of these."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._C._dynamo.guards import compute_overlapping_tensors
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from harness.errors import HarnessError
from harness.graph.capture.fx import source_of
from harness.graph.capture.libraries.calls import MARKED, called, is_view, value
from harness.graph.capture.rules import widened
from harness.graph.sizes import overlap
from harness.ir.reach import gathered

_aten = torch.ops.aten

OVERLAPPING = "elements that overlap, some of which change, otherwise than it is compiled for"
MOST_PRODUCTS = 1 << 22
"""Factors, counted once for every element of the result, up to which products are taken by looking
at all of them: no device multiplies atomically. That many are read in some 10 µs."""


def scattering_rules() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Operator overload → decomposition."""
    return {
        _aten.diagonal_scatter.default: diagonal_scatter,
        _aten.index_copy.default: index_copy,
        _aten.index_reduce.default: index_reduce,
        _aten.masked_scatter.default: masked_scatter,
        _aten.put.default: put,
        _aten.scatter_reduce.two: scatter_reduce,
    }


def overlaps(args: Sequence[Any], changed: frozenset[int]) -> list[tuple[Any, ...]]:
    """Where those of ``args`` lie that overlap, with one of them ``changed``, and in how many
    bytes; AOTAutograd takes all tensors in such memory for views of one, whose layout it does not
    guard, nor, unless sizes are symbols, that others do not overlap."""
    tensors = ((n, arg) for n, arg in enumerate(args) if isinstance(arg, Tensor))
    within = gathered((arg.untyped_storage()._cdata, n) for n, arg in tensors)
    found: list[tuple[Any, ...]] = []
    for numbers in within.values():
        if len(numbers) > 1 and not changed.isdisjoint(numbers):
            each = [args[n] for n in numbers]
            places = [(*_place(x), *_place(x._base)) for x in each]
            known = all(isinstance(n, int) for place in places for n in place)
            if known and len(compute_overlapping_tensors(each, symbolic=False)) > 1:
                found.append((numbers, places, each[0].untyped_storage().nbytes()))
    return found


def covers_itself(x: Any) -> bool | None:
    """Whether elements of ``x`` may share memory; None where sizes are symbols."""
    if not isinstance(x, Tensor) or x.layout is not torch.strided:
        return False
    dims = [(stride, n) for stride, n in zip(x.stride(), x.shape, strict=True) if n != 1]
    return overlap(dims) if all(type(n) is int for dim in dims for n in dim) else None


def addresses(args: Sequence[Any]) -> list[Any]:
    """Where tensors begin, and sizes; nothing if some tensor has no address."""
    try:
        return [arg if type(arg) is int else arg.data_ptr() for arg in args]
    except (AttributeError, RuntimeError):
        return []


def _place(x: Any) -> tuple[Any, ...]:
    return () if x is None else (*x.shape, *x.stride(), x.storage_offset())


def writes(gm: fx.GraphModule) -> None:
    """Have ``x[mask] = value`` choose by the mask where one value goes to all places: autograd
    would gather a row for each, and not knowing how many there are stops tracing. And have
    windows that may be written be views by strides: tracing puts a zero wherever no window is. In
    an index a tensor without dimensions is the number for which Dynamo has read it, in a guard.
    What is marked as conjugated or negated is computed, so eager mode's resolving it is a copy."""
    expanded = _expanded(gm)
    written: set[fx.Node] = set()  # what is written, or something made of it
    for node in reversed(gm.graph.nodes):
        name = str(getattr(node.target, "__name__", node.target))
        changes = name.endswith("_") or bool(node.kwargs.keys() & {"inplace", "out"})
        if name.endswith("__") or getattr(node.target, "__module__", "") == "_operator":
            changes = name == "setitem" or (name[0] == "i" and hasattr(operator, f"__{name[1:]}__"))
        first = next(iter(node.all_input_nodes), None)
        if changes and node.kwargs.get("out", first) in expanded:
            raise HarnessError(OVERLAPPING, where=source_of(node))
        if changes or not written.isdisjoint(node.users):
            written.add(node)
        if node.target in (operator.getitem, operator.setitem):
            where = fx.map_arg(node.args[1], _number)
            if isinstance(where, list) and any(map(_memory, node.args[1])):
                where = tuple(where)
            node.args = (node.args[0], where, *node.args[2:])
        if node.target is operator.setitem:
            node.target = _assign
        elif node.op == "call_method" and name == "unfold" and node in written:
            node.op, node.target = "call_function", _windows
        elif name in _MARKS and _MARKS[name](node.all_input_nodes[0].meta["example_value"]):
            node.op, node.target = "call_function", torch.clone
    gm.recompile()


def _expanded(gm: fx.GraphModule) -> set[Any]:
    """What the graph expands, and views of it: AOTAutograd adds by how much it has changed, and
    of strides whose places overlap it writes all back, old ones over those that have changed."""
    found: set[Any] = set()
    for node in gm.graph.nodes:
        name = str(getattr(node.target, "__name__", node.target))
        given = [x for x in node.all_input_nodes if _memory(x) & _memory(node)]
        if isinstance(node.meta.get("example_value"), Tensor):
            del given[1:]  # it is the first, or a view of it, whatever else is read there
        begins = name.startswith(("broadcast_", "expand", "meshgrid"))
        if name.startswith("as_strided"):
            x = node.meta["example_value"]
            begins = overlap((s, n) for s, n in zip(x.stride(), x.shape, strict=True) if n > 1)
        found.update([node] if given and (begins or not found.isdisjoint(given)) else ())
    return found


def _memory(node: Any) -> set[int]:
    found = tree_leaves(getattr(node, "meta", {}).get("example_value"))
    return {_storage(x) for x in found if getattr(x, "layout", 0) is torch.strided}


def _storage(x: Tensor) -> int:
    while is_functorch_wrapped_tensor(x):  # inside of ``vmap`` and gradients
        x = get_unwrapped(x)
    return x.untyped_storage()._cdata


_MARKS = {"resolve_conj": Tensor.is_conj, "resolve_neg": Tensor.is_neg}


def _number(node: fx.Node) -> Any:
    place = node.meta.get("example_value")
    if not isinstance(place, Tensor) or place.dim() or place.dtype in (torch.bool, torch.uint8):
        return node
    number: Any = getattr(place, "item_memo", None)
    found = number is not None and not free_unbacked_symbols(number)
    return int(number) if found else node  # which guards it since torch 2.14; before, Dynamo has


def _windows(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    seen, strides = x.unfold(dimension, size, step), x.stride()
    if not strides or size > step:  # tracing refuses to write where windows overlap
        return seen
    at = dimension % x.dim()
    number = seen.shape[at]
    if size == 1:
        return x[(slice(None),) * at + (slice(None, None, step),)].unsqueeze(-1)
    if size == step or statically_known_true(number * step <= x.shape[at]):
        cut = torch.unflatten(x.narrow(at, 0, number * step), at, (number, step))
        return cut.narrow(at + 1, 0, size).movedim(at + 1, -1)
    strides = (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at])
    return x.as_strided(seen.shape, strides, x.storage_offset())  # no view of which may be written


def _assign(x: Any, index: Any, value: Any) -> None:
    masks = isinstance(index, Tensor) and index.dtype is torch.bool and index.device == x.device
    after = x.dim() - index.dim() if masks and index.shape == x.shape[: index.dim()] else -1
    if isinstance(value, Tensor) and 0 <= after < value.dim():
        leading = value.shape[: value.dim() - after]
        if all(statically_known_true(n == 1) for n in leading):
            value = value.view(value.shape[len(leading) :])
    if isinstance(value, Tensor) and value.dtype is x.dtype and value.dim() <= after:
        x.copy_(torch.where(index[(..., *[None] * after)], value, x))
    else:
        x[index] = value


def counted_masks(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """``table`` for one trace. The gradient of ``x[mask] = rows`` are the rows where the mask is
    true: as many as were written, which tracing alone does not know."""
    put_op, index_op = _aten.index_put.default, _aten.index.Tensor
    counts = WeakIdKeyDictionary()

    def put(x: Tensor, indices: Any, values: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = [one for one in indices if one is not None]
        behind = x.dim() - list(indices).index(given[0]) - given[0].dim()
        if len(given) == 1 and given[0].dtype is torch.bool and values.dim() > behind:
            rows = values.shape[-1 - behind]
            if not free_unbacked_symbols(rows) and rows != 1:
                counts[given[0]] = rows
        return table[put_op](x, indices, values, *args, **kwargs)

    def index(x: Tensor, indices: Any) -> Any:
        if not any(one in counts for one in indices):
            return table[index_op](x, indices)
        found = [torch.nonzero_static(i, size=counts[i]).T if i in counts else [i] for i in indices]
        return index_op(x, [one for places in found for one in places])

    return {**table, put_op: put, index_op: index}


def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``put``: ``index`` counts the elements of ``x`` in row-major order."""
    places, values = index.reshape(-1), source.reshape(-1)
    return _aten.index_put(x.reshape(-1), [places], values, accumulate).reshape(x.shape)


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Any:
    """``masked_scatter``: the elements of ``source``, in order, to where ``mask`` is true."""
    if source.numel() == 0:
        return NotImplemented
    x, mask = _aten.broadcast_tensors([x, mask])
    shape, mask = x.shape, mask.reshape(-1)
    place = torch.where(mask, mask.cumsum(0) - 1, 0)
    return torch.where(mask, source.reshape(-1)[place], x.reshape(-1)).reshape(shape)


def diagonal_scatter(x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """``diagonal_scatter``: ``src``, whose last dimension runs along the diagonal."""
    if src.shape != x.diagonal(offset, dim1, dim2).shape:
        return NotImplemented  # which raises
    along = torch.arange(src.shape[-1], device=x.device)
    at = [along + max(-offset, 0), along + max(offset, 0)]
    values = src.movedim(-1, 0).to(x.dtype)
    put_in = _aten.index_put(x.movedim((dim1, dim2), (0, 1)).contiguous(), at, values)
    return put_in.movedim((0, 1), (dim1, dim2)).contiguous()


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    """``index_copy``: whole slices, which is a ``scatter`` of an expanded index. torch's own rule
    makes an ``index_put`` of it, where negative indices count from the end."""
    if not (index.dtype is torch.int64 and x.dtype is source.dtype and x.dim() and index.dim()):
        return NotImplemented
    return _aten.scatter.src(x, dim, _places(x, dim, index, source), source)


def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """``index_reduce``: whole slices, which is a ``scatter_reduce`` of an expanded index."""
    if not x.dim() or not index.dim() or index.dtype not in (torch.int32, torch.int64):
        return NotImplemented
    places = _places(x, dim, index, source)
    return _aten.scatter_reduce.two(x, dim, places, source, reduce, include_self=include_self)


def _places(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``index`` along ``dim`` of ``x``, for every element of ``source``."""
    shape = [index.shape[0] if d == dim % x.dim() else 1 for d in range(x.dim())]
    return index.long().view(shape).expand_as(source)


def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """``scatter_reduce.two``. What is left of it is the largest integer of each place, which is
    one atomic operation; floating-point numbers are put into integers of the same order."""
    if x.dtype is torch.bool or x.is_complex() or not x.dim() or not index.dim():
        return NotImplemented
    if reduce in ("amax", "amin"):
        return _extreme(x, dim, index, src, include_self, least=reduce == "amin")
    src = src[tuple(slice(n) for n in index.shape)]
    if reduce == "prod":
        return _product(x, dim, index, src, include_self)
    start = x if include_self else _aten.scatter.value(x, dim, index, 0)
    total = _aten.scatter_add(start, dim, index, src)
    if reduce == "sum":
        return total
    ones = torch.ones(index.shape, dtype=torch.int32, device=x.device)
    count = torch.full(x.shape, int(include_self), dtype=torch.int32, device=x.device)
    count = _aten.scatter_add(count, dim, index, ones)
    if x.is_floating_point():
        return (total / count.clamp(min=1)).to(x.dtype)
    count = count.to(x.dtype)  # eager mode counts in that type: 128 of int8 are -128, 256 are none
    return torch.div(total, torch.where(count == 0, 1, count), rounding_mode="floor").to(x.dtype)


def _extreme(
    x: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, *, least: bool
) -> Any:
    if x.dtype in (torch.int32, torch.int64) and include_self and not least:
        return NotImplemented  # as it stands
    keys, values = _key(x, least), _key(src, least)
    if not include_self:
        keys = _aten.scatter.value(keys, dim, index, torch.iinfo(keys.dtype).min)
    made = _aten.scatter_reduce.two(keys, dim, index, values, "amax")
    if not x.is_floating_point():
        return (~made if least else made).to(x.dtype)
    wide = torch.float32 if made.dtype is torch.int32 else torch.float64
    found = torch.where(made < 0, made ^ torch.iinfo(made.dtype).max, made).view(wide)
    return (-found if least else found).to(x.dtype)


def _key(x: Tensor, reverse: bool) -> Tensor:
    """Signed integers in the order of ``x``, NaN the largest of them; in the reverse order with
    ``reverse``, NaN the largest again."""
    x = widened(x)
    if not x.is_floating_point():
        return ~x if reverse else x
    kind = torch.int32 if x.dtype is torch.float32 else torch.int64
    top = torch.iinfo(kind).max
    bits = (-x if reverse else x).view(kind)
    return torch.where(x.isnan(), top, torch.where(bits < 0, bits ^ top, bits))


def _product(x: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Any:
    """Every element of the result looks at all factors along ``dim``."""
    dim %= x.dim()
    alike = [*x.shape[:dim], index.shape[dim], *x.shape[dim + 1 :]] == [*index.shape]
    known = all(type(n) is int for n in (*x.shape, index.shape[dim]))
    if not (alike and known and x.numel() * index.shape[dim] <= MOST_PRODUCTS):
        return NotImplemented
    wide = src.float() if src.is_floating_point() and src.dtype.itemsize < 4 else src
    place = torch.arange(x.shape[dim], device=x.device).view([-1, *[1] * (x.dim() - dim)])
    product = torch.where(index.unsqueeze(dim) == place, wide.unsqueeze(dim), 1).prod(dim + 1)
    # and says which places are met, with the check that none is out of range
    none = torch.zeros(x.shape, dtype=torch.int32, device=x.device)
    met = _aten.scatter.value(none, dim, index, 1) != 0
    return torch.where(met, product * x if include_self else product, x).to(x.dtype)


def views_of_inputs(gm: fx.GraphModule) -> Callable[..., Sequence[Any]] | None:
    """A function of the arguments of ``gm``: its outputs that are views of what an input becomes
    and differ in strides from such views of the input, as these, and None for others.
    AOTAutograd makes such outputs again from the input, by their strides where sizes are symbols,
    and an operator in place (``cumsum_``) keeps strides that its functional form does not."""
    copies = gm.graph.find_nodes(op="call_function", target=_aten.copy_.default)
    written: dict[Any, Any] = {node.args[1]: node.args[0] for node in copies}
    graph, made = fx.Graph(), dict[fx.Node, fx.Node]()

    def again(node: fx.Node) -> fx.Node:
        node = written.get(node, node)
        kind = node.meta.get("val")
        if node.op == "call_function" and isinstance(kind, Tensor) and not is_view(node):
            # Only its size is asked for.
            node = next(n for n in written.values() if value(n).shape == kind.shape)
        if node not in made:
            made[node] = graph.node_copy(node, again)
            if is_view(node):
                view: Any = node.target
                given: Any = fx.map_arg((made[node].args, made[node].kwargs), value)
                made[node].meta["val"] = view(*given[0], **given[1])
        return made[node]

    def view_of(output: Any) -> fx.Node | None:
        root = output
        while root not in written and isinstance(root, fx.Node) and is_view(root):
            root = root.args[0]
        if root is output or root not in written:
            return None
        try:
            found = again(output)
        except (RuntimeError, ValueError, StopIteration):
            return None
        pairs = zip(value(output).stride(), value(found).stride(), strict=True)
        return None if all(statically_known_true(a == b) for a, b in pairs) else found

    for placeholder in gm.graph.find_nodes(op="placeholder") if written else ():
        again(placeholder)
    outputs: Any = gm.graph.output_node().args[0]
    views = [view_of(output) for output in outputs]
    graph.output(tuple(views))
    graph.eliminate_dead_code()
    return fx.GraphModule(gm, graph) if any(views) else None


def require_own_types(gm: fx.GraphModule) -> None:
    """Raises ``HarnessError`` if an output is a view, in elements of another type, that unknown
    sizes cut: of an input AOTAutograd makes it again by strides, in elements of the input's."""
    for output in gm.graph.output_node().all_input_nodes:
        chain = [output]
        while is_view(chain[-1]):
            chain.append(chain[-1].all_input_nodes[0])
        *views, root = chain
        bits = any(view.target is _aten.view.dtype for view in views)
        cut = any(len(view.all_input_nodes) > 1 for view in views)  # sizes are nodes
        if bits and cut and value(root).dtype != value(output).dtype:
            raise HarnessError("a result is a view of a tensor of another type")


def share_conjugates(gm: fx.GraphModule) -> None:
    """Return what eager mode only marks as conjugated, or as the negative of such a number's second
    part, in the memory that it is a view of. (That is complex: no kernel makes or reads it.)"""
    output, parts = gm.graph.output_node(), set[fx.Node]()

    with gm.graph.inserting_before(output):
        for node in output.all_input_nodes:
            if isinstance(value(node), Tensor):
                output.replace_input_with(node, _lazily(gm.graph, node, parts))
            left = node
            while not left.users and (is_view(left) or MARKED in left.meta):
                dead, left = left, left.all_input_nodes[0]
                gm.graph.erase_node(dead)
    gm.recompile()


def _lazily(graph: fx.Graph, node: fx.Node, parts: set[fx.Node]) -> fx.Node:
    """A view, marked as eager mode marks it; ``parts`` are both parts of what is conjugated."""
    if not is_view(node) and MARKED not in node.meta:
        return node
    mark, halves = _aten._conj.default, _aten.view_as_real.default
    target: Any = mark if MARKED in node.meta else node.target
    made = _lazily(graph, whole := node.all_input_nodes[0], parts)
    if target is node.target and made is whole:
        return node
    if target is halves and value(made).is_conj():
        made = called(graph, node, mark, made)  # once more, which takes it back
        parts.add(found := called(graph, node, halves, made))
        return found
    found = called(graph, node, target, made, *node.args[1:])
    negative = made in parts and node.args[2]
    return called(graph, node, _aten._neg_view.default, found) if negative else found
