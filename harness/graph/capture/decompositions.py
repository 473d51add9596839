"""Which ATen operators are taken apart when a graph is captured.

The starting point is torch's own core table. It is then changed in two directions:
norms, softmax, activations and losses that the core set keeps whole are taken apart as
well, because the compiler fuses their pieces; operators that a library runs better
than generated code stay whole, and so does everything that would draw random numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._higher_order_ops import effects

from harness.graph.capture.pooling import pooling_rules
from harness.graph.capture.random import random_rules
from harness.graph.capture.rules import own_rules, rules_of_device, vector_norm
from harness.graph.capture.scattering import scattering_rules
from harness.graph.capture.sorting import sorting_rules
from harness.graph.capture.strides import layout_rules

DECOMPOSED = tuple(
    (
        "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
        "_native_batch_norm_legit_no_training _batch_norm_with_update "
        "_batch_norm_with_update_functional batch_norm_backward _softmax _log_softmax gelu elu "
        "leaky_relu hardtanh upsample_nearest1d upsample_bilinear2d linalg_vector_norm std "
        "std_mean logsumexp grid_sampler_2d"
    ).split()
)
"""Packets of ``aten`` every overload of which is taken apart, besides torch's core table."""

KEPT = tuple(
    (
        # a library runs these better
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_attention_math "
        "_scaled_dot_product_flash_attention_for_cpu_backward scaled_dot_product_attention baddbmm "
        "addmm mm bmm dot vdot mv convolution convolution_backward _convolution "
        "max_pool2d_with_indices max_pool2d_with_indices_backward _fft_c2c "
        # one conversion operator is enough
        "_to_copy"
    ).split()
)
"""Packets of ``aten`` that stay whole even though torch could take them apart."""

RANDOM = tuple(
    (
        "bernoulli native_dropout rrelu rrelu_with_noise rrelu_with_noise_functional normal "
        "uniform rand_like randn_like"
    ).split()
)
"""Packets that draw random numbers: taken apart by ``capture.random`` alone."""

_convert, _to_copy = torch.ops.prims.convert_element_type.default, torch.ops.aten._to_copy.default
_NARROW = (torch.float16, torch.bfloat16)
_WRITTEN = {f"aten::{name}" for name in ("_to_copy", "copy", "_foreach_copy")}
_TYPED = {f"aten::{name}" for name in ("sum", "mean", "prod", "cumsum", "cumprod")}
_BOOL = frozenset((torch.bool,))
_CLASSES = frozenset((torch.int64, torch.uint8))
_WHOLE = _BOOL | _CLASSES | {torch.int8, torch.int16, torch.int32}


def _of(kinds: frozenset[torch.dtype], *places: int) -> Callable[[Any], bool]:
    return lambda args: kinds.issuperset(args[place].dtype for place in places)


def _several(*places: int) -> Callable[[Any], bool]:
    return lambda args: len({args[place].dtype for place in places}) > 1


def _norm(args: Any) -> bool:
    """Of whole numbers, or with parameters of another type (but of float32 for 16-bit floats)."""
    own, kinds = args[0].dtype, {one.dtype for one in args[1:] if isinstance(one, torch.Tensor)}
    wide = own.itemsize == 2 and kinds == {torch.float32}
    return own in _WHOLE or not (wide or kinds <= {own})


_REFUSED = (
    (_several(0, 1), "_cdist_forward binary_cross_entropy grid_sampler_2d heaviside linalg_cross"),
    (_several(0, 2), "index_put put"),
    (_several(0, 3), "index_add index_reduce"),
    (_several(1, 2), "huber_loss_backward"),
    (lambda args: args[1].dtype not in _CLASSES, "nll_loss_forward nll_loss2d_forward"),
    (
        _of(_BOOL, 0),
        "addcmul avg_pool2d avg_pool3d kthvalue linalg_cross max_pool2d_with_indices median "
        "nanmedian reflection_pad1d reflection_pad2d threshold topk",
    ),
    (
        _of(_WHOLE, 0),
        "_adaptive_avg_pool2d _adaptive_avg_pool3d _log_softmax _log_softmax_backward_data "
        "_prelu_kernel _softmax _softmax_backward_data binary_cross_entropy elu frac glu "
        "hardsigmoid hardswish huber_loss lerp log_sigmoid_forward max_unpool2d max_unpool3d "
        "mish silu soft_margin_loss",
    ),
    (_of(_WHOLE, 0, 1), "logaddexp logaddexp2 smooth_l1_loss"),
    (_of(_WHOLE, 1, 2), "addcdiv"),
    (
        _norm,
        "native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit "
        "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training",
    ),
)
"""What eager mode refuses of which packets of ``aten``: then torch is called, which says so."""

_NORM = torch.ops.aten.linalg_vector_norm.default
if torch.__version__ < "2.13":
    # Traced, it keeps dimensions of size 1 that are counted from behind.
    _traced = functools.partial(vector_norm, torch._decomp.decomposition_table[_NORM])
    torch._decomp.decomposition_table[_NORM] = _traced
    _META: Any = torch.library.Library("aten", "IMPL", "Meta")  # type: ignore[no-untyped-call]
    _META.impl(_NORM, _traced, allow_override=True)
    _NORM.py_kernels[torch._C.DispatchKey.Meta] = _traced
    # It drops the check of a matrix, which nobody reads.
    effects._register_effectful_op("aten::_linalg_check_errors", effects._EffectType.ORDERED)


@functools.cache
def decompositions(eager_random: bool, on_device: bool = False) -> dict[Any, Callable[..., Any]]:
    """The table, keyed by overload, for ``make_fx`` and AOTAutograd. With ``eager_random`` every
    operator that draws random numbers stays whole: torch draws them, as in eager mode. With
    ``on_device`` what is traced is run on the tensors' own device (``rules_of_device``)."""
    core: Any = core_aten_decompositions()  # which takes torch a third of a second
    table = dict(core.items())
    # an older torch lacks some of them; it does not trace them either
    packets = [getattr(torch.ops.aten, n) for n in DECOMPOSED if hasattr(torch.ops.aten, n)]
    table.update(get_decompositions(packets))
    table.update(own_rules())
    table[_NORM] = get_decompositions([_NORM])[_NORM]
    table.update(pooling_rules())
    table.update(scattering_rules())
    table.update(sorting_rules())
    kept = {f"aten::{name}" for name in (*KEPT, *RANDOM)}
    table = {op: rule for op, rule in table.items() if _packet(op) not in kept}
    table |= layout_rules(table)
    if on_device:
        table |= rules_of_device()
    for op, rule in table.items():
        name = _packet(op).removeprefix("aten::")
        tests = [refused for refused, packets in _REFUSED if name in packets.split()]
        if tests:
            table[op] = functools.partial(_checked, rule, tests)
    return table if eager_random else table | random_rules()


def _checked(rule: Callable[..., Any], tests: list[Any], *args: Any, **options: Any) -> Any:
    """``rule``, left to torch where it would take operands that eager mode refuses."""
    return NotImplemented if any(refused(args) for refused in tests) else rule(*args, **options)


def _packet(op: object) -> str:
    if isinstance(op, torch._ops.OpOverload):
        return op._schema.name
    return str(op)


def spell_conversions(node: torch.fx.Node) -> None:
    """What a program converts to 16 bits is rounded, as in eager mode: ``_to_copy``. An operator
    that was taken apart ends with such a conversion, too, but stays in float32 inside a kernel:
    ``convert_element_type``. A reduction or a scan that is given such a type gets elements of it:
    eager mode converts them before."""
    x: Any = next(iter(node.args), None)
    dtype = node.args[1] if node.target is _convert else node.kwargs.get("dtype")
    if node.target is _convert or (node.target is _to_copy and node.kwargs.keys() == {"dtype"}):
        origin = node.meta.get("original_aten")
        inserted = dtype in _NARROW and origin is not None and _packet(origin) not in _WRITTEN
        node.target = _convert if inserted else _to_copy
        node.args, node.kwargs = ((x, dtype), {}) if inserted else ((x,), {"dtype": dtype})
    elif dtype in _NARROW and _packet(node.target) in _TYPED and x.meta["val"].dtype is not dtype:
        with node.graph.inserting_before(node):
            made = node.graph.call_function(_to_copy, (x,), {"dtype": dtype})
        made.meta = {**node.meta, "val": x.meta["val"].to(dtype), "original_aten": _to_copy}
        node.args = (made, *node.args[1:])
