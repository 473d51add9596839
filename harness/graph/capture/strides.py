"""Strides of elementwise results as eager mode has them.

Tracing on fake tensors gets some of them wrong: the shape functions of a few operators
(``logical_and``, ``copysign``, ``xlogy`` …) take operands of several layouts apart otherwise
than their kernels do, and a caller sees strides.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._prims_common import make_contiguous_strides_for, suggest_memory_format
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.fx.experimental.symbolic_shapes import (
    free_symbols,
    free_unbacked_symbols,
    statically_known_true,
)
from torch.utils._pytree import tree_leaves, tree_map_only

from harness.graph.capture.libraries.calls import MARKED, is_view, traced

Sizes = Sequence[int]

IN_ORDER = (
    "_fused_rms_norm_backward _log_softmax _log_softmax_backward_data _softmax diag_embed "
    "huber_loss_backward im2col index_reduce kthvalue masked_fill median mse_loss_backward "
    "mvlgamma nanmedian native_layer_norm_backward renorm scatter_reduce take topk tril triu"
).split()
"""Packets of ``aten`` whose results are contiguous whatever the operands are."""

UNTAGGED = (
    "_prelu_kernel elu_backward floor_divide hardsigmoid_backward hardswish_backward "
    "hardtanh_backward leaky_relu_backward mish_backward mse_loss rsub smooth_l1_loss "
    "softplus_backward"
).split()
"""Elementwise packets that torch does not tag as such."""

_NEGATIVE = torch.ops.aten.neg.default
_SECOND_FIRST = ("aten::leaky_relu_backward", "aten::rsub", "aten::threshold_backward")
"""Elementwise operators whose kernels take their operands in the other order."""

_OF_IMAGES = (
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward adaptive_max_pool2d "
    "adaptive_max_pool2d_backward upsample_nearest2d upsample_nearest2d_backward"
).split()
_ON_A_CPU = (
    "max_unpool2d reflection_pad2d reflection_pad2d_backward reflection_pad3d "
    "reflection_pad3d_backward replication_pad2d replication_pad3d"
).split()

MISTRACED = (
    "copysign.Tensor div.Tensor_mode logical_and.default logical_or.default logical_xor.default "
    "pow.Scalar"
).split()
"""Elementwise operators that stay whole, and that fake tensors lay out wrongly."""

_LIKE = [
    getattr(torch.ops.aten, name) for name in "_to_copy clone flip full_like index_put sort".split()
]
"""Packets whose results are laid out as their first operand if that is dense."""


def layout_rules(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """The decompositions of ``table`` whose results have to be laid out as the operators themselves
    do it: elementwise ones, those in ``IN_ORDER``, and those like their first operand."""
    rules: dict[Any, Callable[..., Any]] = {torch.ops.prims.copy_strided.default: laid_out}
    for op, rule in table.items():
        if not isinstance(op, torch._ops.OpOverload):
            continue
        name = op._schema.name.removeprefix("aten::")
        if name in _WAYS:
            rules[op] = functools.partial(_WAYS[name], rule)
        elif torch.Tag.pointwise in op.tags or name in UNTAGGED:
            rules[op] = functools.partial(_elementwise, Whole(op), rule)
    mistraced = [operator.attrgetter(name)(torch.ops.aten) for name in MISTRACED]
    whole = {op: functools.partial(kernel_stride, op) for op in mistraced}
    return rules | {op: Whole(op, stride) for op, stride in (whole | _STRIDES).items()}


class Whole:
    """An operator that stays whole, then laid out by the ``stride`` that eager mode gives it: a
    rule made from it here may rely on that. (Tracing asks the rule again for the call inside.)
    Elementwise ones that name none are laid out by ``follow_eager``."""

    def __init__(self, op: Any, stride: Callable[..., Sizes | None] | None = None) -> None:
        self.op, self.inside = op, False
        self.stride = stride or functools.partial(_read_ones, op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The call laid out; ``NotImplemented`` where tracing lays it out right."""
        tensors = [t for t in tree_leaves(args) if isinstance(t, Tensor)]
        if self.inside or not _are_known(tensors) or _are_in_order(tensors):
            return NotImplemented
        self.inside = True
        try:
            made = self.op(*args, **kwargs)
        finally:
            self.inside = False
        stride = self.stride(made, *args)
        return made if stride is None else laid_out(made, stride)


def laid_out(x: Tensor, stride: Sequence[int]) -> Tensor:
    """``x`` in dense memory, its dimensions in the order of ``stride``. (Strides of dimensions of
    one element, which decide how a convolution lays its result out, are noted for ``_mend``.)"""
    if x.stride() != tuple(stride) and not _is_same(x.shape, x.stride(), stride):
        order = sorted(range(x.dim()), key=lambda d: -stride[d])
        dense = x.permute(order).clone(memory_format=torch.contiguous_format)
        x = dense.permute([order.index(d) for d in range(x.dim())])
    if (mode := get_proxy_mode()) and (slot := get_proxy_slot(x, mode.tracer, None)):
        slot.proxy.node.meta["stride"] = tuple(stride)
        _read_with(x, stride)
    return x


def image_stride(x: Tensor, *like: Tensor) -> Sizes:
    """Strides of ``x`` in order, or with channels last where all that is ``like`` it has them.
    (``contiguous`` leaves those of dimensions of one element as they are.)"""
    in_order = torch.contiguous_format in map(suggest_memory_format, like)
    return _packed(x.shape, range(x.dim()) if in_order else [0, *range(2, x.dim()), 1])


def _read_with(x: Tensor, stride: Sizes) -> None:
    """Tracing reads ``stride`` of ``x`` from now on if only dimensions of one element have another:
    they may decide how an operator of several tensors lays its result out."""
    ones = any(statically_known_true(n == 1) for n in x.shape)
    if ones and tuple(stride) != x.stride() and _is_same(x.shape, x.stride(), stride):
        with fx.experimental.proxy_tensor.disable_proxy_modes_tracing():
            x.as_strided_(x.shape, stride)


def _in_order(rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return tree_map_only(
        Tensor, lambda t: laid_out(t, make_contiguous_strides_for(t.shape)), rule(*args, **kwargs)
    )


def _looked_up(rule: Callable[..., Any], x: Any, y: Any, **kwargs: Any) -> Any:
    """``isin``. Torch looks many numbers up by halving, which NaN among them leads astray: in their
    places stands the largest number, if there is one."""
    if not isinstance(y, Tensor) or not y.is_floating_point() or y.numel() <= 8:
        return _in_order(rule, x, y, **kwargs)
    some = ~y.isnan()
    largest = torch.where(some, y, -torch.inf).amax()
    found = rule(x, torch.where(some, y, largest)) & some.any()
    return (~found if kwargs.get("invert") else found).contiguous()


def _filled(x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``index_fill``; torch 2.11 takes it apart into a copy in place, which no graph may hold."""
    if not x.dim():
        return _filled(x[None], 0, index, value).squeeze(0).clone()
    if not isinstance(value, Tensor):
        value = torch.scalar_tensor(value, dtype=x.dtype, device=x.device)
    whole = [None] * (dim % x.dim())
    return torch.ops.aten.index_put.default(x, [*whole, index.reshape(-1)], value.to(x.dtype))


def _like(number: int, rule: Callable[..., Any], *args: Any) -> Any:
    """Laid out as a copy of the argument of this ``number``, and of its type: torch traces losses
    of two types as of another one, and what stays whole is read as that."""
    made, x = rule(*args), args[number]
    made = made.to(x.dtype) if isinstance(made, Tensor) else made
    if made is NotImplemented or not _are_known([x]) or made.dim() != x.dim():
        return made  # in the last case a loss that is added up
    dense = _is_dense(x.shape, x.stride())
    return laid_out(made, x.stride() if dense else kernel_stride(_NEGATIVE, made, x))


def _in_a_copy_of_the_first(rule: Callable[..., Any], x: Tensor, *args: Any) -> Any:
    """Eager mode copies all the memory that ``x`` lies in, gaps too, and writes into that."""
    made = rule(x, *args)
    return made if made is NotImplemented else torch.ops.aten.slice_scatter(x, made)


def _channels_last(
    backward: bool, on_cpu: bool, rule: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """What eager mode lays out as images with their channels last where the first argument is one,
    ``backward`` the second if that is a tensor; some ``on_cpu``, and in order on a GPU."""
    if on_cpu and args[0].is_cuda:
        return _in_order(rule, *args)
    like = args[1] if backward and isinstance(args[1], Tensor) else args[0]
    made = rule(*args, **kwargs)
    if made is NotImplemented or like.dim() not in (4, 5) or not _are_known([like]):
        return made
    return tree_map_only(Tensor, lambda t: laid_out(t, image_stride(t, like)), made)


def _elementwise(op: Any, rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    made = rule(*args, **kwargs)
    if made is NotImplemented:
        return op(*args, **kwargs)
    stride = _wanted(made, _operands(op.op, args, kwargs))
    return made if stride is None else laid_out(made, stride)


_WAYS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(IN_ORDER, _in_order),
    **dict.fromkeys(("binary_cross_entropy", "huber_loss", "put"), functools.partial(_like, 0)),
    "binary_cross_entropy_backward": functools.partial(_like, 1),
    "binary_cross_entropy_with_logits": functools.partial(_like, 1),
    "soft_margin_loss": lambda rule, x, *args: laid_out(  # which negates ``x``
        made := rule(x, *args).to(x.dtype), kernel_stride(_NEGATIVE, made, x)
    ),
    **dict.fromkeys(("deg2rad", "rad2deg"), lambda rule, x: rule(x)),  # products with a number
    "diagonal_scatter": _in_a_copy_of_the_first,
    "index_fill": lambda _, *args: _like(0, _filled, *args),
    "isin": _looked_up,
    **{
        name: functools.partial(_channels_last, name.endswith("backward"), name in _ON_A_CPU)
        for name in (*_OF_IMAGES, *_ON_A_CPU)
    },
    "pixel_unshuffle": lambda rule, x, *args: (
        _in_order(rule, x, *args) if x.is_cuda else rule(x, *args) if x.numel() else x.clone()
    ),
    "smooth_l1_loss_backward": lambda rule, grad, x, y, *args: torch.where(  # as torch's does not
        (x - y).isnan(), torch.nan, rule(grad, x, y, *args)
    ).contiguous(),
}


def follow_eager(gm: fx.GraphModule) -> None:
    """Put the strides that eager mode gives elementwise results into ``gm``'s ``meta``, and
    trace what is made from them again. (What depends on unknown sizes becomes a guard.) Operands of
    calls with graphs, which are not traced again, keep theirs."""
    changed: set[fx.Node] = set()
    kept = {u for n in gm.graph.find_nodes(op="get_attr") if "val" not in n.meta for u in n.users}
    for node in reversed(gm.graph.nodes):
        kept.update(node.all_input_nodes if node in kept else ())
    for node in (n for n in gm.graph.nodes if n.op == "call_function"):
        if changed.intersection(node.all_input_nodes):
            try:
                made = traced(node)
            except (RuntimeError, ValueError):
                return  # a view that this layout does not allow: eager mode copies there
            if isinstance(made, int) and statically_known_true(made == node.meta["val"]):
                continue  # the partitioner of torch 2.11 knows sizes that are symbols only
            node.meta["val"] = made
            changed.add(node)
        if node not in kept:
            _mend(node, changed)


def _mend(node: fx.Node, changed: set[fx.Node]) -> None:
    """(Where operands are compared, even strides of dimensions of one element count.)"""
    for stride in _eager_strides(node):
        value = node.meta["val"]
        pairs = zip(value.stride(), stride, strict=True)
        if not all(statically_known_true(one == other) for one, other in pairs):
            made = node.meta["val"] = value.new_empty_strided(value.shape, stride)
            changed.add(node)
            if node.target is operator.getitem:  # what gives it is laid out as it is
                parts = enumerate((source := node.all_input_nodes[0]).meta["val"])
                source.meta["val"] = [made if n == node.args[1] else one for n, one in parts]


def _eager_strides(node: fx.Node) -> Iterator[Sizes]:
    """What is known of the strides that eager mode gives ``node``, by rules one after the other."""
    value: Any = node.meta.get("val")
    if node.target is operator.getitem:
        (node,) = node.all_input_nodes  # one result of several
    target = node.target
    strided = isinstance(value, Tensor) and value.layout is torch.strided
    if not (strided and isinstance(target, torch._ops.OpOverload)):
        return
    if target is torch.ops.aten.slice_scatter.default:
        yield from _kept_strides(node)
    if target in _STRIDES:
        given: Any = fx.map_arg(node.args, lambda n: n.meta["val"])
        yield _STRIDES[target](value, *given)
    if target.overloadpacket in _LIKE:
        x = node.all_input_nodes[0].meta["val"]
        kept = node.kwargs.get("memory_format") in (None, torch.preserve_format)
        if kept and not free_symbols((x.shape, x.stride())) and _is_dense(x.shape, x.stride()):
            yield x.stride()
    elif torch.Tag.pointwise in target.tags:
        tensors = _operands(target, node.args, node.kwargs)
        yield _wanted(value, tensors, target is torch.ops.aten.where.self) or value.stride()
    yield from [node.meta["stride"]] if "stride" in node.meta else []


def _operands(
    target: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Tensor]:
    """The tensors that an elementwise kernel gets: in the order of the arguments, each as often as
    it stands there, and one without dimensions for a number that is an operand."""
    found = []
    names = [one.name for one in target._schema.arguments]
    for name, given in (*zip(names, args, strict=False), *kwargs.items()):
        for leaf in tree_leaves(given):
            value = leaf.meta.get("val") if isinstance(leaf, fx.Node) else leaf
            if isinstance(value, Tensor):
                found.append(value)
            elif name in ("self", "other") and isinstance(value, int | float):
                found.append(torch.empty((), device="meta"))
    powers = target is torch.ops.aten.pow.Scalar
    if target is torch.ops.aten.ldexp.Tensor:  # of other types it takes a tensor to that power
        x, exponent = found
        floats = x.dtype is torch.float32 and exponent.is_floating_point()
        powers = floats or not x.is_floating_point()
    if powers:  # of a number: in order, whatever the tensor's strides are
        found[-1:] = [found[-1].new_empty(found[-1].shape)] * 2
    return found[::-1] if target._schema.name in _SECOND_FIRST else found


def _kept_strides(node: fx.Node) -> Iterator[Sizes]:
    """Eager mode copies all the memory of what is written into, gaps too (unless several elements
    are one); traced for unknown sizes the result is contiguous. Gaps of unknown sizes are compiled
    size by size: whether elements overlap has to be known."""
    into, value = node.all_input_nodes[0].meta["val"], node.meta["val"]
    if free_symbols(into.stride()) - free_symbols(into.shape):
        for number in (*into.shape, *into.stride()):
            int(number)  # which becomes a guard
    pairs = list(zip(into.shape, into.stride(), value.stride(), strict=True))
    shared = any(step == 0 and n != 1 for n, step, _ in pairs)  # a size may have no number
    if not shared and any(step != other for _, step, other in pairs):
        yield into.stride()


def kernel_stride(op: Any, value: Tensor, *args: Any) -> Sizes:
    """The strides that eager mode gives ``value``, made by the elementwise ``op`` of ``args``."""
    chosen = op is torch.ops.aten.where.self
    return _wanted(value, _operands(op, args, {}), chosen) or value.stride()


def _read_ones(op: Any, made: Any, *args: Any) -> None:
    """What ``follow_eager`` lays out is read with eager mode's strides of one element before."""
    for value in (made,) if isinstance(made, Tensor) else made:
        _read_with(value, kernel_stride(op, value, *args))


def _index_stride(value: Tensor, x: Tensor, indices: Any) -> Sizes:
    """Eager mode's kernel walks over what is read, not moving where an index stands for a
    dimension, and the index tensors, their dimensions between those that are taken whole."""
    given = [d for d, one in enumerate(indices) if one is not None]
    known = [indices[d] for d in given]
    every = (x, value, *known)
    masked = known[0].dtype is torch.bool
    if masked or not _are_known(every) or not value.numel() or _are_in_order(every):
        return value.stride()
    front = given[0] if given == list(range(given[0], given[-1] + 1)) else 0
    whole = [step for d, step in enumerate(x.stride()) if d not in given]
    rank, after = value.dim() - len(whole), (1,) * (len(whole) - front)
    if rank < max(one.dim() for one in known):
        return value.stride()  # traced wrongly for an index without dimensions: torch's own
    laid = [one.expand(value.shape[front : front + rank]) for one in known]
    laid = [one.reshape((1,) * front + one.shape + after) for one in laid]
    if x.device.type != "cpu" and any(one.stride() != laid[0].stride() for one in laid):
        laid = [one.contiguous() for one in laid]
    operands = [(value.shape, (*whole[:front], *(0,) * rank, *whole[front:]))]
    operands += [(one.shape, one.stride()) for one in laid]
    return elementwise_strides(value.shape, operands)


def _fourier_stride(value: Tensor, x: Tensor, named: Sizes, *_: Any) -> Sizes:
    """A Fourier transform on a CPU with MKL, which torch before 2.13 traces otherwise: the
    transformed dimensions are innermost, both kinds in the order of the argument's strides, and
    the last one of real numbers last of all."""
    if x.device.type != "cpu" or not torch._C.has_mkl or not _are_known([x]) or not named:
        return value.stride()
    dims = [d % x.dim() for d in named]
    last = [] if x.is_complex() else dims[-1:]
    sorted_dims = sorted(set(range(x.dim())) - set(last), key=lambda d: (d in dims, -x.stride()[d]))
    return _packed(value.shape, [*sorted_dims, *last])


def _solved_stride(value: Tensor, a: Tensor, *_: Any) -> Sizes:
    """Eager mode lays the solution of triangular equations out in columns, or, where a matrix in
    columns is marked as conjugated, in rows. A graph computes such a conjugate."""
    mode = get_proxy_mode()
    slot = get_proxy_slot(a, mode.tracer, None) if mode else None
    node, marked = slot.proxy.node if slot else None, False
    while node and (is_view(node) or MARKED in node.meta):
        marked ^= MARKED in node.meta  # a conjugate's is not marked
        node = node.all_input_nodes[0]
    in_rows = marked and a.mT.is_contiguous()
    return make_contiguous_strides_for(value.shape) if in_rows else value.stride()


def _image_stride(value: Tensor, _: Tensor, x: Tensor, *__: Any) -> Sizes:
    """Traced in order, as a GPU's kernel lays it out; a CPU's as it does ``x``."""
    return make_contiguous_strides_for(value.shape) if x.is_cuda else image_stride(value, x)


_STRIDES: dict[Any, Callable[..., Sizes]] = {
    torch.ops.aten.replication_pad2d_backward.default: _image_stride,
    torch.ops.aten.replication_pad3d_backward.default: _image_stride,
    torch.ops.aten.index.Tensor: _index_stride,
    torch.ops.aten.linalg_solve_triangular.default: _solved_stride,
    torch.ops.aten._fft_c2c.default: _fourier_stride,
    torch.ops.aten._fft_r2c.default: _fourier_stride,
}


def _wanted(value: Any, tensors: Sequence[Tensor], chosen: bool = False) -> tuple[int, ...] | None:
    """The strides that eager mode gives an elementwise ``value`` of ``tensors`` (the first of which
    they are ``chosen`` by); None if it has them, or nothing is known."""
    if not isinstance(value, Tensor) or not tensors or not _are_known((*tensors, value)):
        return None
    if not value.numel() or value.dim() < max(t.dim() for t in tensors):  # a loss that is added up
        return None
    if _are_in_order((*tensors, value)):
        return None
    shape, operands = tuple(value.shape), [(tuple(t.shape), t.stride()) for t in tensors]
    if tensors[0].device.type == "cpu":
        # Eager mode copies those of another type than the common one, which leaves no gaps. (What
        # is chosen by keeps its type.)
        typed = range(chosen, len(tensors))
        types = [tensors[n].dtype for n in typed if tensors[n].dim()]
        common = functools.reduce(torch.promote_types, types or [torch.bool])
        for n in typed:
            if tensors[n].dtype is not common and not _is_dense(*operands[n]):
                operands[n] = operands[n][0], elementwise_strides(operands[n][0], [operands[n]])
    return elementwise_strides(shape, operands)


def _are_in_order(tensors: Iterable[Tensor]) -> bool:
    """Whether all are contiguous, and dimensions of size one have the strides that follow."""
    return all(t.stride() == _packed(t.shape, range(t.dim())) for t in tensors)


def _are_known(tensors: Sequence[Tensor]) -> bool:
    """Not so where sizes depend on data."""
    return not any(free_unbacked_symbols(t) for t in tensors)


def elementwise_strides(shape: Sizes, operands: Sequence[tuple[Sizes, Sizes]]) -> tuple[int, ...]:
    """The strides that eager mode gives an elementwise result of ``shape`` over ``operands``
    (sizes and strides of each).

    Operands of one dense layout hand it on, rows and images with their channels last as tensors
    that are made so. Otherwise dimensions are sorted by the strides of
    the first operand that tells two of them apart; what no operand decides stays in order. (The
    rule is that of ATen's ``TensorIterator``.)
    """
    first, rank = operands[0][1], len(shape)
    if all(tuple(sizes) == tuple(shape) for sizes, _ in operands):
        for outermost in (range(rank), *[(0, 2, 3, 1)] * (rank == 4)):
            packed = _packed(shape, outermost)
            if all(_is_same(shape, stride, packed) for _, stride in operands):
                return packed
        if all(tuple(stride) == tuple(first) for _, stride in operands) and _is_dense(shape, first):
            return tuple(first)
    steps = [_broadcast(shape, *operand) for operand in operands]
    order = list(reversed(range(rank)))  # innermost first
    for start in range(1, rank):
        at = start
        for before in range(start - 1, -1, -1):
            verdict = _compare(shape, steps, order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return _packed(shape, order[::-1])


def _packed(shape: Sizes, outermost: Sizes) -> tuple[int, ...]:
    """Strides without gaps, of dimensions in this order."""
    stride, step = [0] * len(shape), 1
    for dim in reversed(outermost):
        stride[dim], step = step, step * shape[dim]
    return tuple(stride)


def _is_same(shape: Sizes, stride: Sizes, other: Sizes) -> bool:
    """Whether strides agree in every dimension longer than 1."""
    return all(n == 1 or a == b for n, a, b in zip(shape, stride, other, strict=True))


def _broadcast(shape: Sizes, sizes: Sizes, strides: Sizes) -> list[int]:
    """An operand's strides along the dimensions of the result, 0 where it is repeated."""
    missing = len(shape) - len(sizes)
    pairs = zip(sizes, strides, shape[missing:], strict=True)
    return [0] * missing + [0 if n == 1 and n != full else step for n, step, full in pairs]


def _compare(shape: Sizes, steps: Sequence[Sizes], inner: int, outer: int) -> int:
    """Whether dimension ``inner`` has to lie outside ``outer`` (1), inside it (-1), or either."""
    for stride in steps:
        a, b = stride[inner], stride[outer]
        if a != 0 and b != 0 and (a != b or shape[inner] > shape[outer]):
            return -1 if a < b else 1
    return 0


def _is_dense(shape: Sizes, stride: Sizes) -> bool:
    """Whether elements lie side by side, in any order of the dimensions."""
    found = sorted((s, n) for s, n in zip(stride, shape, strict=True) if n != 1)
    wanted = itertools.accumulate((n for _, n in found), operator.mul, initial=1)
    return all(step == other for (step, _), other in zip(found, wanted, strict=False))
