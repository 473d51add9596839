"""Our own decompositions, where torch's say it in a way that is bad to compile. Each is a function
of tensors with the signature of the operator it stands for."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch._prims_common import (
    ELEMENTWISE_TYPE_PROMOTION_KIND,
    compute_required_storage_length,
    elementwise_dtypes,
    make_contiguous_strides_for,
    suggest_memory_format,
)
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._sympy.symbol import SymT, symbol_is_type

from harness.graph.capture.libraries.calls import MARKED
from harness.graph.capture.strides import image_stride, laid_out

_aten = torch.ops.aten
BATCH_NORMS = (
    "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
    "_native_batch_norm_legit_no_training _batch_norm_with_update batch_norm_backward "
    "_batch_norm_with_update_functional native_batch_norm_backward"
).split()
_UNWRITTEN = "empty_like empty_permuted empty_strided new_empty new_empty_strided".split()


def own_rules() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Operator overload → decomposition."""
    return {
        _aten._conj.default: _conjugate,
        _aten._neg_view.default: _aten.neg,
        _aten._unique.default: lambda x, *how: _aten._unique2(x, *how)[:2],  # of traceable sizes
        _aten.any.dims: lambda x, dim=None, *_, **__: (  # of no dimensions: of each one
            NotImplemented if dim is None or len(dim) else _aten.any.dim(x.unsqueeze(0), 0)
        ),
        _aten.channel_shuffle.default: channel_shuffle,
        _aten.dist.default: lambda x, other, p=2: torch.linalg.vector_norm(x - other, p),
        _aten._cdist_forward.default: cdist,
        **{o: functools.partial(_filled, o) for o in (_aten.full.default, _aten.full_like.default)},
        _aten.scalar_tensor.default: _number,
        **{op: functools.partial(_scaled, op) for op in (_aten.add.Tensor, _aten.sub.Tensor)},
        **{
            packet.Scalar: functools.partial(_by_tensors, packet.Tensor)
            for packet in (getattr(_aten, n) for n in "eq fmod ge gt le lt ne remainder".split())
        },
        _aten.clamp.default: _clamped,
        _aten.pow.Tensor_Scalar: functools.partial(_by_tensors, _aten.pow.Tensor_Tensor),
        _aten.cumsum.default: _cumsum,
        _aten.embedding_dense_backward.default: embedding_dense_backward,
        _aten.native_group_norm.default: native_group_norm,
        _aten.native_layer_norm.default: native_layer_norm,
        _aten.hash_tensor.default: hash_tensor,
        # (Torch's own convert before they decide.)
        _aten.heaviside.default: lambda x, at: torch.where(x == 0, at, (x > 0).to(x.dtype)),
        _aten.sgn.default: lambda x: NotImplemented if x.is_complex() else _aten.sign(x),
        _aten.index_add.default: index_add,
        _aten.index_put.default: lambda x, at, values, accumulate=False: (
            _added_up(_aten.index_put, 1, x, at, values, True) if accumulate else NotImplemented
        ),
        **{
            op: functools.partial(_unwritten, op)
            for op in (_aten.empty.memory_format, *(getattr(_aten, n).default for n in _UNWRITTEN))
        },
        **_around(_linspace, "linspace"),
        **_around(block_diag, "block_diag"),
        **_around(
            lambda rule, *args: rule(*args) + 0.0,  # as in eager mode, so that no sum is -0.0
            *(f"reflection_pad{n}d_backward" for n in (1, 2, 3)),
        ),
        **_around(_sampled, "grid_sampler_2d"),
        **_around(lambda op, x, *n: NotImplemented if x.is_complex() else op(x, *n), "nan_to_num"),
        **_around(  # torch's rule takes NaN for a number that is cut off
            lambda rule, grad, x, *eps: torch.where(x.isnan(), torch.nan, rule(grad, x, *eps)),
            "logit_backward",
        ),
        _aten.nll_loss_backward.default: _loss_backward,
        _aten.nll_loss2d_backward.default: _loss_backward,
        _aten.scatter_add.default: functools.partial(_added_up, _aten.scatter_add, 2),
        _aten.select_scatter.default: select_scatter,
        _aten.soft_margin_loss_backward.default: _soft_margin_backward,
        _aten.split.Tensor: split,
        _aten.take.default: lambda x, at: _aten.index.Tensor(x.reshape(-1), [at]),
        _aten.split_with_sizes.default: split_with_sizes,
        _aten.unbind.int: lambda x, dim=0: [_aten.select(x, dim, k) for k in range(x.shape[dim])],
    }


def rules_of_device() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Rules for running on the tensors' own device, instead of writing down what a GPU does:
    eager mode on a CPU rounds the statistics of a norm to its weight's type, and lays out the
    result of a roll and a shuffle of channels as it does that of a convolution."""
    rules = _around(_rolled, "roll") | _around(_batch_norm, *BATCH_NORMS)
    rules[_aten.channel_shuffle.default] = _shuffled
    rules |= _around(lambda rule, x: rule(x.contiguous() if x.is_cpu else x), "log_sigmoid_forward")
    rules |= _around(
        lambda f, x, *n: f(x, *(n if x.is_floating_point() else map(int, n))), "threshold"
    )
    rules |= _around(_with_lost_infinities, "std_mean")
    rules[_aten.var_mean.correction] = _var_mean
    rules[_aten.native_group_norm.default] = native_group_norm
    rules[_aten.native_layer_norm.default] = native_layer_norm
    norms = [op for op in rules if "norm" in op.name() and "backward" not in op.name()]
    return rules | {op: functools.partial(_norm_of_device, rules[op]) for op in norms}


def _cumsum(x: Tensor, dim: int, **options: Any) -> Any:
    """Eager mode adds to 0.0, so no sum is -0.0, unless one row is all there is on a GPU."""
    mode = get_proxy_mode()
    alone = x.device.type != "cpu" and sum(type(n) is not int or n != 1 for n in x.shape) <= 1
    if mode is None or mode.decomp_layers > 1 or alone or not x.is_floating_point():
        return NotImplemented
    return _aten.cumsum(x + 0.0, dim, **options)


def _around(own: Callable[..., Any], *names: str) -> dict[Any, Callable[..., Any]]:
    """``own``, whose first argument is torch's rule, for operators that this torch has."""
    found = get_decompositions([getattr(_aten, n) for n in names if hasattr(_aten, n)])
    return {op: functools.partial(own, rule) for op, rule in found.items()}


def _loss_backward(grad: Tensor, x: Tensor, target: Tensor, *args: Any) -> Tensor:
    """The gradient of ``nll_loss``, 0.0 but at targets. Torch's rule multiplies zeros by ``grad``,
    which gives NaN and zeros of the other sign there."""
    weight, reduction, ignored, total = args
    axis = min(x.dim() - 1, 1)
    place = (target.reshape(()) if x.dim() == 1 else target).unsqueeze(axis)
    classes = torch.arange(x.shape[axis], device=x.device).view(-1, *[1] * (x.dim() - 2))
    if reduction == 1:  # the mean
        grad = grad / total
    elif grad.dim():
        grad = grad.unsqueeze(axis)
    if weight is not None:
        grad = grad * weight.view(classes.shape)
    return torch.where((place == classes) & (place != ignored), -grad, 0.0)


def margin_loss(
    x: Tensor, target: Tensor, reduction: str, p: int, margin: float, weight: Tensor | None
) -> Tensor:
    """``torch.nn.functional.multi_margin_loss``, or, without a ``p``, ``multilabel_margin_loss``,
    whose labels end at the first -1. Margins that are just kept, or NaN, count for nothing."""
    x = x if x.dim() else x[None]
    labels = target.reshape(*x.shape[:-1], 1 if p else x.shape[-1])
    there = ((labels < 0).cumsum(-1) == 0) | (p > 0)
    labels = torch.where(there, labels, 0)
    own = labels[..., None] == torch.arange(x.shape[-1], device=x.device)
    wrong = ~(own & there[..., None]).any(-2)
    above = margin - x.gather(-1, labels)[..., None] + x[..., None, :]
    counted = there[..., None] & wrong[..., None, :] & (above > 0)
    above = torch.where(counted, above, 0)
    above = above.square() if p == 2 else above
    if weight is not None:  # which may be infinite
        above = above * torch.where(counted, weight[labels][..., None], 0)
    loss = (above.sum((-1, -2)) / x.shape[-1]).reshape(target.shape[: None if p else -1])
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _sampled(
    rule: Callable[..., Any], x: Tensor, grid: Tensor, mode: int, padding: int, *rest: Any
) -> Any:
    """As in eager mode a zero beside the image, and a cubic sum, is not -0.0."""
    found = rule(x, grid, mode, padding, *rest)
    return found if padding and mode != 2 else found + 0.0


def _soft_margin_backward(grad: Tensor, x: Tensor, target: Tensor, reduction: int) -> Tensor:
    """As eager mode computes it; torch's rule subtracts 1 from a number near 1."""
    wrong = torch.exp(-target * x)
    share = 1.0 / (x.numel() or 1) if reduction == 1 else 1.0  # of the mean
    return target * wrong * -share / (wrong + 1) * grad


def _var_mean(x: Tensor, *args: Any, **options: Any) -> Any:
    """For a call of the program itself: a norm made of it keeps the mean, as in eager mode."""
    mode = get_proxy_mode()
    if mode is None or mode.decomp_layers > 1:
        return NotImplemented
    return _with_lost_infinities(_aten.var_mean.correction, x, *args, **options)


def _with_lost_infinities(
    rule: Callable[..., Any], x: Tensor, dim: Sequence[int] | None = None, **options: Any
) -> Any:
    """``rule``, and NaN where the mean is infinite. Eager mode adds element by element
    ``(x - mean) / count`` to the mean, which an infinity does not survive unless it comes last:
    on a CPU the last in memory, on a GPU the last in an order that threads make."""
    spread, mean = rule(x, dim, **options)
    dims = list(dim) if dim else list(range(x.dim()))
    sizes = [x.shape[d] for d in dims] if x.dim() else []
    known = [n for n in sizes if type(n) is int]
    if x.is_complex() or 0 in known or (len(known) == len(sizes) and set(known) <= {1}):
        return spread, mean
    lost = mean.isinf()
    if x.device.type == "cpu":
        infinite = last = x.isinf()
        for d in dims:
            last = last.narrow(d, x.shape[d] - 1, 1)
        lost = lost & (infinite.sum(dims, keepdim=True) > last.long()).view(mean.shape)
    return spread, torch.where(lost, math.nan, mean)


def _rolled(rule: Callable[..., Tensor], x: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """A CPU puts two pieces behind each other: one of nothing puts all in order."""
    made, size = rule(x, shifts, dims), x.shape[dims[0]] if len(dims) == 1 and x.dim() else 0
    if x.device.type != "cpu" or not size:
        return made  # of several dimensions each is rolled by itself, of none all as one row
    start = -shifts[0] % size
    with torch.fx.experimental.proxy_tensor.disable_proxy_modes_tracing():
        pieces = x.narrow(dims[0], start, size - start), x.narrow(dims[0], 0, start)
    return laid_out(made, image_stride(made, *pieces))


def _shuffled(x: Tensor, groups: int) -> Tensor:
    made = channel_shuffle(x, groups)
    return laid_out(made, image_stride(made, x)) if x.device.type == "cpu" else made


def _batch_norm(rule: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """On a CPU the images ``x`` are followed in memory, whatever strides dimensions of one element
    have, if they and all else have no gaps (and a gradient is in the same order)."""
    (out, *rest), backward = rule(*args), isinstance(args[1], Tensor) and args[1].dim() > 1
    x, others = args[backward], args[:1] if backward else args[1:]
    if x.device.type != "cpu":
        return out, *rest
    order = suggest_memory_format(x)
    alike = not backward or suggest_memory_format(others[0]) == order
    if alike and all(_dense_format(one) for one in others if isinstance(one, Tensor)):
        order = _dense_format(x) or order
    return out.clone(memory_format=order), *rest


def _dense_format(x: Tensor) -> torch.memory_format | None:
    formats = (torch.contiguous_format, torch.channels_last_3d, torch.channels_last)
    return next((one for one in formats if x.is_contiguous(memory_format=one)), None)


def _norm_of_device(rule: Callable[..., Any], x: Tensor, *args: Any) -> tuple[Tensor, ...]:
    out, mean, rstd, *rest = rule(x, *args)
    if x.device.type == "cpu":  # the type of the parameters, if it has any
        kept = next((one.dtype for one in args if isinstance(one, Tensor)), x.dtype)
        mean, rstd = mean.to(kept), rstd.to(kept)
    return out, mean, rstd, *rest


def vector_norm(
    rule: Callable[..., Tensor],
    x: Tensor,
    order: float = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    **options: Any,
) -> Tensor:
    """Torch's ``rule``, which before 2.13 leaves dimensions of size 1 in place."""
    dims = list(range(x.dim())) if dim is None else list(dim)
    if keepdim or not x.dim() or all(x.shape[d] != 1 for d in dims):
        return rule(x, order, dim, keepdim, **options)
    return rule(x, order, dim, True, **options).squeeze(dims)


def select_scatter(x: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A slice of length 1 is written: the result has the type and the memory layout of ``x``."""
    size = x.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"{index} is out of range of dimension {dim} of {size} elements")
    start = index + size if index < 0 else index
    return _aten.slice_scatter(x, src.to(x.dtype).unsqueeze(dim), dim, start, start + 1)


def block_diag(rule: Callable[..., Tensor], parts: Sequence[Tensor]) -> Tensor:
    """Torch's, of one type: it takes a number among ``parts`` for a matrix."""
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    dtype = elementwise_dtypes(*parts, type_promotion_kind=kind)[1]
    return rule([part.to(dtype) for part in parts])


def _conjugate(x: Any) -> Any:
    """In memory: that is what kernels read. (Of a number in a gradient, too.)"""
    if not isinstance(x, Tensor):  # one without dimensions leaves the others' type alone
        return torch.scalar_tensor(x.conjugate(), dtype=torch.complex128)
    made, mode = _aten._conj_physical(x), get_proxy_mode()
    if mode and (slot := get_proxy_slot(made, mode.tracer, None)):
        slot.proxy.node.meta[MARKED] = True
    return made


def _filled(op: Callable[..., Tensor], like: Any, value: Any, **options: Any) -> Any:
    """With a number that follows from unknown sizes: by a product (of integers in float64). Raises
    what eager mode does of a number that the type has not; fake tensors take any."""
    if not isinstance(value, torch.SymFloat):
        kind = options.get("dtype") or getattr(like, "dtype", None)
        some = [min(n, 2) if type(n) is int else 2 for n in getattr(like, "shape", like)]
        if (mode := get_proxy_mode()) and mode.decomp_layers == 1 and type(value) in (int, float):
            with _disable_current_modes():  # one element it makes infinite
                torch.full(some, value, dtype=kind)
        return NotImplemented
    ones = op(like, 1.0, **options)
    wide = ones if ones.is_floating_point() or ones.is_complex() else ones.double()
    return _aten.mul.Tensor(wide, value).to(ones.dtype)


def _number(value: Any, **options: Any) -> Any:
    """Of a float that a caller gives: by a product. Torch compiles each that more would read."""
    symbols = value.node.expr.free_symbols if isinstance(value, torch.SymFloat) else ()
    given = any(symbol_is_type(one, SymT.FLOAT) for one in symbols)
    return _filled(_aten.full.default, (), value, **options) if given else NotImplemented


def _scaled(op: Callable[..., Any], x: Tensor, other: Any, *, alpha: Any = 1) -> Any:
    """A sum with a factor that follows from unknown sizes: of a product, which kernels have."""
    if not isinstance(alpha, torch.SymFloat | torch.SymInt):
        return NotImplemented
    wide: Any = other.to(torch.result_type(x, other)) if isinstance(other, Tensor) else other
    return op(x, wide * alpha)


def _by_tensors(op: Callable[..., Any], x: Tensor, *given: Any) -> Any:
    """``op`` of numbers that follow from unknown sizes, which kernels read as tensors."""
    if x.is_complex() or not any(isinstance(one, torch.SymFloat) for one in given):
        return NotImplemented
    kind = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    number = functools.partial(_aten.scalar_tensor, dtype=kind, device=x.device)
    return op(x, *(one if one is None else number(one) for one in given))


def _clamped(x: Tensor, *bounds: Any) -> Any:
    """Bounds that an integer type has not are what this version of torch makes of them: what its
    ends become, or what it raises."""
    if not (x.is_floating_point() or x.is_complex() or x.dtype is torch.bool):
        kind, given = torch.iinfo(x.dtype), [one for one in bounds if one is not None]
        if all(type(n) is int for n in given) and not all(kind.min <= n <= kind.max for n in given):
            with _disable_current_modes():
                ends = torch.tensor([kind.min, kind.max], dtype=x.dtype).clamp(*bounds).tolist()
            return _aten.clamp(x, *ends)
    return _by_tensors(_aten.clamp.Tensor, x, *bounds)


def _unwritten(op: Callable[..., Tensor], *args: Any, **options: Any) -> Any:
    """Memory that nobody writes (other rules write theirs): among deterministic algorithms eager
    mode fills it."""
    mode, deterministic = get_proxy_mode(), torch.are_deterministic_algorithms_enabled()
    filled: bool = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    if not (deterministic and filled) or mode is None or mode.decomp_layers > 1:
        return NotImplemented
    made = op(*args, **options)
    with _disable_current_modes():
        value = torch.empty((), dtype=made.dtype).item()
    extent = compute_required_storage_length(made.shape, made.stride(), 0)
    full = torch.full((extent,), value, dtype=made.dtype, device=made.device)
    return full.as_strided(made.shape, made.stride())


def _linspace(rule: Callable[..., Any], *given: Any, dtype: Any = None, **options: Any) -> Any:
    """Integers are the library's: how a device rounds decides which of two one of them is."""
    whole = dtype is not None and not (dtype.is_floating_point or dtype.is_complex)
    return NotImplemented if whole else rule(*given, dtype=dtype, **options)


def hash_tensor(x: Tensor, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0) -> Any:
    """``hash_tensor``: the exclusive or of the elements' bits as float64 or int64."""
    if mode or x.is_complex() or x.dtype is torch.uint64 or not x.numel():
        return NotImplemented
    if x.is_floating_point() and x.dtype.itemsize == 2:  # rounded, as its bits are
        x = x.view(torch.int16).view(x.dtype)
    wide = x.double().view(torch.int64) if x.is_floating_point() else x.to(torch.int64)
    return torch.ops.harness.xor_sum(wide, dim, keepdim).view(torch.uint64)


def cdist(x: Tensor, other: Tensor, p: float, mode: int | None) -> Any:
    """``_cdist_forward``: the norm of every difference of rows, unless Euclidean distances are to
    come from a matrix product (``mode`` 1, and by itself from 26 rows on)."""
    rows = (x.shape[-2], other.shape[-2])
    known = all(isinstance(n, int) for n in (*rows, x.shape[-1]))
    if not known or (p == 2 and (mode == 1 or (mode != 2 and max(rows) > 25))):
        return NotImplemented
    return torch.linalg.vector_norm(x.unsqueeze(-2) - other.unsqueeze(-3), p, -1)


def widened(x: Tensor) -> Tensor:
    """``x`` in the type that sums over it are carried out in."""
    kind = torch.float32 if x.is_floating_point() else torch.int32
    return x.to(kind) if x.dtype.itemsize < 4 else x


def _added_up(op: Callable[..., Tensor], place: int, x: Tensor, *args: Any, **options: Any) -> Any:
    """``op``, which adds the argument at that ``place``: sums of narrow numbers, which nothing adds
    atomically, are carried in 32 bits, and rounded once."""
    if x.dtype.itemsize >= 4 or x.dtype is torch.bool:
        return NotImplemented
    wide = (*args[:place], widened(args[place]), *args[place + 1 :])
    return op(widened(x), *wide, **options).to(x.dtype)


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    """Of numbers and lines alike."""
    if not x.dim() or not index.dim():
        lines, whole = (x, source) if x.dim() else (x.view(1), source.reshape(-1))
        return _aten.index_add(lines, dim, index.reshape(-1), whole, alpha=alpha).view_as(x)
    return _added_up(_aten.index_add, 2, x, dim, index, source, alpha=alpha)


def native_layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer norm whose statistics stay in float32, as on a GPU. torch's rule, traced on a CPU,
    rounds mean and reciprocal deviation to the input's 16-bit type before they are kept for the
    backward pass."""
    dims = list(range(x.dim() - len(shape), x.dim()))
    wide = widened(x)
    variance, mean = torch.var_mean(wide, dims, correction=0, keepdim=True)
    rstd = torch.rsqrt(variance + eps)
    out = (wide - mean) * rstd
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return laid_out(out.to(x.dtype), make_contiguous_strides_for(x.shape)), mean, rstd


def native_group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, *args: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Group norm as (x - mean) · rstd · weight + bias, as on a GPU. torch's rule, traced on a CPU,
    folds weight and deviation into one factor per channel through ``as_strided``."""
    batch, channels, inner, groups, eps = args
    x = x.contiguous(memory_format=suggest_memory_format(x))  # it is before torch 2.14
    grouped = widened(x).reshape(batch, groups, channels // groups, inner)
    variance, mean = torch.var_mean(grouped, [2, 3], correction=0, keepdim=True)
    rstd = torch.rsqrt(variance + eps)
    out = ((grouped - mean) * rstd).reshape(x.shape)
    per_channel = [1, channels] + [1] * (x.dim() - 2)
    if weight is not None:
        out = out * weight.reshape(per_channel)
    if bias is not None:
        out = out + bias.reshape(per_channel)
    out, shape = laid_out(out.to(x.dtype), image_stride(x, x)), [batch, groups]
    return out, mean.reshape(shape).to(x.dtype), rstd.reshape(shape).to(x.dtype)


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, by_frequency: bool
) -> Tensor:
    """Rows of the gradient added up by index, in float32 for 16-bit gradients. torch's own rule
    also guards against indices out of range, which an embedding cannot have been given."""
    if by_frequency:
        return NotImplemented
    rows = widened(grad_output)
    if padding_idx >= 0:
        rows = torch.where((indices == padding_idx).unsqueeze(-1), 0.0, rows)
    table = rows.new_zeros((num_weights, grad_output.shape[-1]))
    return _aten.index_put(table, [indices], rows, True).to(grad_output.dtype)


def split(x: Tensor, size: int, dim: int = 0) -> list[Tensor]:
    """Consecutive slices of ``size``; torch's rule uses ``as_strided``."""
    length = x.shape[dim]
    if length == 0 or size == 0:
        return [_aten.alias(x)]
    pieces = (length + size - 1) // size  # a guard on their number alone
    ends = [*(size * k for k in range(1, pieces)), length]
    return [_aten.slice(x, dim, k * size, end) for k, end in enumerate(ends)]


def split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Consecutive slices of the given sizes."""
    ends = zip(sizes, itertools.accumulate(sizes), strict=True)
    return [_aten.slice(x, dim, end - size, end) for size, end in ends]


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The first channel of every group, then the second ones …"""
    n, c, *rest = x.shape
    turned = x.reshape(n, groups, c // groups, *rest).transpose(1, 2)
    # Eager mode's rule for a GPU leaves what this does not move in its memory. (Where a gradient
    # goes torch would take the result for a view of an argument, which nobody may change.)
    kept = x.is_cuda and turned.is_contiguous() and torch._C._current_autograd_node() is None
    if not kept or (x.requires_grad and torch.is_grad_enabled()):
        turned = turned.clone(memory_format=torch.contiguous_format)
    return turned.view(x.shape)
