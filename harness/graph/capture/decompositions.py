"""Which ATen operators are taken apart when a graph is captured.

The starting point is torch's own core table. It is then changed in two directions:
norms, softmax, activations and losses that the core set keeps whole are taken apart as
well, because the compiler fuses their pieces; operators that a library runs better
than generated code stay whole, and so does everything that would draw random numbers.

Fake tensors take operands of many types that eager mode rejects: before a call becomes kernels,
eager mode is asked.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from inspect import signature
from operator import attrgetter, itemgetter
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dispatch.python import no_python_dispatcher
from torch._higher_order_ops import effects
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    free_unbacked_symbols,
    statically_known_true,
)
from torch.nn import functional
from torch.nn._reduction import legacy_get_string
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from harness.graph.capture.pooling import pooling_rules
from harness.graph.capture.random import random_rules
from harness.graph.capture.rules import (
    BATCH_NORMS,
    margin_loss,
    own_rules,
    rules_of_device,
    vector_norm,
)
from harness.graph.capture.scattering import scattering_rules
from harness.graph.capture.sorting import sorting_rules
from harness.graph.capture.strides import UNTAGGED, Whole, kernel_stride, laid_out, layout_rules
from harness.graph.lowering.operators import RULES

DECOMPOSED = (
    "_softmax _log_softmax gelu elu leaky_relu hardtanh upsample_nearest1d upsample_bilinear2d "
    "linalg_vector_norm std std_mean logsumexp grid_sampler_2d as_strided_copy narrow_copy "
    "unbind_copy"
).split()
"""Packets of ``aten`` every overload of which is taken apart, besides batch norms and torch's
core table."""

KEPT = (
    # a library runs these better
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_attention_math "
    "_scaled_dot_product_flash_attention_for_cpu_backward scaled_dot_product_attention baddbmm "
    "addmm mm bmm dot vdot mv convolution convolution_backward _convolution "
    "max_pool2d_with_indices max_pool2d_with_indices_backward _fft_c2c "
    # one conversion operator is enough, and a loop's results must not become one
    "_to_copy detach "
    # what is left of a number is left of it as it was rounded
    "frac"
).split()
"""Packets of ``aten`` that stay whole even though torch could take them apart."""

RANDOM = (
    "bernoulli native_dropout rrelu rrelu_with_noise rrelu_with_noise_functional normal "
    "uniform rand_like randn_like"
).split()
"""Packets that draw random numbers: taken apart by ``capture.random`` alone."""

_convert, _to_copy = torch.ops.prims.convert_element_type.default, torch.ops.aten._to_copy.default
_copy = torch.ops.aten.copy.default
_DIV = torch.ops.aten.div.Tensor_mode
_NARROW = (torch.float16, torch.bfloat16)
_BARE = {torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz}
_WRITTEN = {f"aten::{name}" for name in ("_to_copy", "copy", "_foreach_copy", "renorm")}
_OPERANDS = "exponent other self weight"
_OF_DEVICE = {
    "cpu": {"add rsub sub": "alpha other self", "div floor_divide mul": "self"},
    "cuda": {
        "add mul rsub sub": "",
        "div floor_divide": "self",
        "softshrink": "lambd",
        "threshold threshold_backward": "threshold value",
    },
}
"""Which numbers eager mode rounds to the 16 bits of what they are combined with, if it is not just
the ``_OPERANDS``: others stay in float32. A tensor without dimensions on the CPU is such a number;
one on the GPU is always rounded."""
_TYPED = {f"aten::{name}" for name in ("sum", "mean", "prod", "cumsum", "cumprod")}
_LIMITS = (8, 64, 1 << 62)
"""Eager mode is asked with sizes up to the first, and where it raises, with larger ones."""

_FUNCTIONS = (
    "hardshrink interpolate multi_margin_loss multilabel_margin_loss softshrink upsample "
    "upsample_bilinear upsample_nearest"
).split()
_SMOOTH = ("aten::upsample_bilinear2d", "aten::upsample_bicubic2d")
_LACKING = dict.fromkeys(_SMOOTH, torch.uint8) | {"aten::_softmax": torch.bool}  # of nothing
_OPERATORS = [one[6:] + way for one in _SMOOTH for way in ("", ".default", ".vec")]
_NAMED = [f"nn.functional.{one}" for one in _FUNCTIONS] + [f"ops.aten.{one}" for one in _OPERATORS]
_TAKEN_APART = {attrgetter(name)(torch): name for name in _NAMED}
_FILLS = (torch.ops.aten.masked_fill.Tensor, torch.ops.aten.index_fill.int_Tensor)
_MASKS = (torch.bool, torch.uint8)
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Rejected(Exception):
    """Eager mode raises for a call of the graph."""

    def run(self, gm: fx.GraphModule, tell: Callable[[Rejected], Any]) -> Callable[..., Any]:
        """``gm`` run by torch, which raises in its own words. If it does not, because nobody asks
        for a gradient or takes a branch, this is told once."""
        left = [self]

        def run(*args: Any) -> Any:
            results = gm(*args)
            while left:
                tell(left.pop())
            return results

        return run


_NORM, _NANSUM = torch.ops.aten.linalg_vector_norm.default, torch.ops.aten.nansum.default
# It takes no dimensions for none; eager mode takes them for all.
_TRACED = {_NANSUM: torch._decomp.decomposition_table[_NANSUM]}
if torch.__version__ < "2.13":
    # It keeps dimensions of size 1 that are counted from behind.
    _TRACED[_NORM] = functools.partial(vector_norm, torch._decomp.decomposition_table[_NORM])
    # It drops the check of a matrix, which nobody reads.
    effects._register_effectful_op("aten::_linalg_check_errors", effects._EffectType.ORDERED)
_META: Any = torch.library.Library("aten", "IMPL", "Meta")  # type: ignore[no-untyped-call]
for _op, _rule in _TRACED.items():
    torch._decomp.decomposition_table[_op] = _rule
    _META.impl(_op, _rule, allow_override=True)
    _op.py_kernels[torch._C.DispatchKey.Meta] = _rule


@functools.cache
def decompositions(eager_random: bool, on_device: bool = False) -> dict[Any, Callable[..., Any]]:
    """The table, keyed by overload, for ``make_fx`` and AOTAutograd. With ``eager_random`` every
    operator that draws random numbers stays whole: torch draws them, as in eager mode. With
    ``on_device`` what is traced is run on the tensors' own device (``rules_of_device``), and raises
    ``Rejected`` where eager mode does there."""
    core: Any = core_aten_decompositions()  # which takes torch a third of a second
    table = dict(core.items())
    packets = [getattr(torch.ops.aten, name) for name in (*BATCH_NORMS, *DECOMPOSED)]
    table |= get_decompositions(packets) | own_rules() | get_decompositions([_NORM])
    table |= pooling_rules() | scattering_rules() | sorting_rules()
    kept = {getattr(torch.ops.aten, name, None) for name in (*KEPT, *RANDOM)}
    table = {op: r for op, r in table.items() if getattr(op, "overloadpacket", op) not in kept}
    ldexp = torch.ops.aten.ldexp.Tensor
    whole = Whole(ldexp, functools.partial(kernel_stride, ldexp))
    table[ldexp] = functools.partial(_ldexp, on_device, whole)
    for loss in (torch.ops.aten.huber_loss.default, torch.ops.aten.smooth_l1_loss.default):
        table[loss] = functools.partial(_loss, on_device, table[loss])
    table |= rules_of_device() if on_device else {}
    table |= layout_rules(table)
    table[_DIV] = functools.partial(_truncated, on_device, table[_DIV])
    for op in (getattr(torch.ops.aten, n).correction for n in "std std_mean var var_mean".split()):
        table[op] = functools.partial(_deviation, op, table.get(op))
    for name in ("arange.start_step", "linspace.default", "logspace.default"):
        op = attrgetter(name)(torch.ops.aten)
        table[op] = functools.partial(_ranged, op, table.get(op))
    with _disable_current_modes():
        if torch.tensor(1e3, device="cpu").to(torch.float8_e4m3fn).isnan():  # before torch 2.13
            table |= {op: functools.partial(_to_float8, op) for op in (_to_copy, _copy)}
    table = _as_called(table, on_device)
    return table if eager_random else table | random_rules()


def _as_called(table: dict[Any, Any], on_device: bool) -> dict[Any, Callable[..., Any]]:
    """``table``, and rules for operators that kernels compute whole: operands have the types that
    eager mode gives them, and ``on_device`` that is asked first. (Views take every type; asking
    must not draw random numbers.)"""
    names = (name.split(".")[1:] for name in RULES)
    whole = {getattr(getattr(torch.ops.aten, n, None), of, None): None for n, of in names}
    rules, known = dict(table), dict[str, str]()
    for op in whole | table:
        if not isinstance(op, torch._ops.OpOverload) or op.namespace != "aten":
            continue
        elementwise = torch.Tag.pointwise in op.tags or _packet(op)[6:] in UNTAGGED
        if elementwise and op not in table:
            rules[op] = Whole(op)
        several = len(op._schema.arguments) > 1 and op is not torch.ops.aten.ldexp.Tensor
        if several and elementwise:
            rules[op] = functools.partial(_in_common_type, on_device, op, rules.get(op))
        if on_device and not op.is_view and torch.Tag.nondeterministic_seeded not in op.tags:
            rules[op] = functools.partial(_asked, op, rules.get(op), op in whole, known)
    return rules


def _deviation(op: Any, rule: Any, x: Tensor, *args: Any, **options: Any) -> Any:
    """``rule`` if there is one. In a call of the program computed 16 bits are rounded before: a
    gradient asks whether a deviation is 0, as that of equal numbers is if so few bits add up."""
    mode = get_proxy_mode()
    if mode and mode.decomp_layers == 1 and x.dtype in _NARROW:
        return (rule or op)(_written(x.float(), x.dtype), *args, **options)
    return rule(x, *args, **options) if rule else NotImplemented


def _ranged(op: Any, rule: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
    """``rule`` if there is one. Numbers that the program wants in 16 bits are rounded to these. A
    library rounds the exponents of ``logspace`` as its device does."""
    if op is torch.ops.aten.arange.start_step:
        if dtype in _NARROW:
            return _written(op(*args, dtype=torch.float32, **options), dtype)
    elif (kind := dtype or torch.get_default_dtype()) in _NARROW:
        known = op is torch.ops.aten.linspace.default and type(args[2]) is int
        return _evenly(rule, *args, kind=kind, **options) if known else NotImplemented
    return rule(*args, dtype=dtype, **options) if rule else NotImplemented


def _evenly(rule: Any, *args: Any, kind: torch.dtype, **options: Any) -> Tensor:
    """``linspace`` in 16 bits. Eager mode before torch 2.15 rounds each step, from both ends."""
    with _disable_current_modes():
        first, last, gaps = torch.tensor([*args[:2], max(args[2] - 1, 1)], dtype=kind)
        step, steps, ends = ((last - first) / gaps).item(), args[2], (first.item(), last.item())
    if torch.__version__ >= "2.15":
        return _written(rule(*ends, steps, dtype=torch.float32, **options), kind)
    place = torch.arange(steps, dtype=torch.float32, **options)
    ways = ((ends[0], step, place), (ends[1], -step, steps - 1 - place))
    low, high = (a + _written(b * _written(n, kind).float(), kind).float() for a, b, n in ways)
    return _written(torch.where(place < max(steps // 2, 1), low, high), kind)


def _in_common_type(on_device: bool, op: Any, rule: Any, *args: Any, **options: Any) -> Any:
    """``rule`` if there is one. In a call of the program that computes with 16 bits, operands of
    other types are rounded to these as in eager mode. (Calls inside of rules are our own.)"""
    mode, changed = get_proxy_mode(), False
    tensors = [one for one in (*args, *options.values()) if isinstance(one, Tensor)]
    if mode and mode.decomp_layers == 1 and any(one.dtype in _NARROW for one in tensors):
        of_numbers = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
        kind = elementwise_dtypes(*tensors, type_promotion_kind=of_numbers)[1]
        of_device, packet = _OF_DEVICE[_device(on_device, *tensors)], _packet(op)[6:]
        names = next((of_device[k] for k in of_device if packet in k.split()), _OPERANDS)
        if changed := kind in _NARROW:
            rounded = functools.partial(_rounded, on_device, kind, names.split())
            args = tuple(map(rounded, (one.name for one in op._schema.arguments), args))
            options = {name: rounded(name, value) for name, value in options.items()}
    made = rule(*args, **options) if rule else NotImplemented
    return op(*args, **options) if changed and made is NotImplemented else made


def _rounded(on_device: bool, kind: torch.dtype, names: list[str], name: str, value: Any) -> Any:
    """An argument of an operator that computes with this ``kind`` of 16 bits, which has every
    number of 8. The weight of ``lerp`` is subtracted from one in float32."""
    if isinstance(value, Tensor):
        number = on_device and not value.dim() and value.device.type == "cpu"
        stays = number and name in _OPERANDS.split() and name not in names
        return value if stays or value.itemsize == 1 else _written(value, kind)
    if name not in names or type(value) not in (int, float):
        return value
    with _disable_current_modes():
        nearest = torch.tensor(value, dtype=torch.float32 if name == "weight" else kind).item()
    return value if nearest == value else nearest


def _device(on_device: bool, *tensors: Tensor) -> str:
    return "cpu" if on_device and all(one.device.type == "cpu" for one in tensors) else "cuda"


def _written(x: Tensor, kind: torch.dtype) -> Tensor:
    """``x`` converted as by the program itself: rounded."""
    if x.dtype is kind:
        return x
    meta = fx.traceback.current_meta
    origin, meta["original_aten"] = meta.get("original_aten"), _to_copy
    made: Tensor = _to_copy(x, dtype=kind)
    meta["original_aten"] = origin
    return made


def _to_float8(op: Any, *args: Any, **options: Any) -> Any:
    """A conversion or a copy that gives NaN beyond the numbers of ``float8_e4m3fn``, where kernels
    saturate. Beyond 464 they are nearer to 480, which it has not."""
    mode, n = get_proxy_mode(), int(op is _copy)
    made = args[0].dtype if n else options.get("dtype")
    if mode is None or mode.decomp_layers > 1 or made is not torch.float8_e4m3fn:
        return NotImplemented
    x = args[n] if args[n].dtype in _NARROW else args[n].float()  # what is compared is rounded
    return op(*args[:n], torch.where(x.abs() > 464, torch.nan, x), *args[n + 1 :], **options)


def _ldexp(on_device: bool, whole: Whole, x: Tensor, exponent: Tensor) -> Any:
    """``x * 2 ** exponent``, a power that eager mode rounds to 16 bits: one of a single exponent
    too, but on a CPU. Of integers torch's shape function takes it for one of float32. What has
    other types stays ``whole``."""
    if not x.is_floating_point():
        return x * torch.pow(2.0, exponent)
    kind = torch.result_type(x, exponent)
    if kind not in _NARROW or not exponent.is_floating_point():
        return whole(x, exponent)
    power = torch.pow(2.0, exponent.float())
    if exponent.dtype in _NARROW or _device(on_device, x) == "cuda":
        power = _written(power, kind)
    return _in_common_type(on_device, torch.ops.aten.mul.Tensor, None, x, power)


def _truncated(on_device: bool, whole: Any, x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    """Eager mode truncates a quotient of 16 bits that it has rounded, unless the divisor is a
    number (on a CPU a tensor of one element)."""
    single = isinstance(y, Tensor) and statically_known_true(y.numel() == 1)
    number = not isinstance(y, Tensor) or (single and _device(on_device, y) == "cpu")
    if number or rounding_mode != "trunc" or (kind := torch.result_type(x, y)) not in _NARROW:
        return whole(x, y, rounding_mode=rounding_mode)
    x = x.float() if isinstance(x, Tensor) else x
    made = torch.trunc(_written(x / y.float(), kind))
    return laid_out(made, kernel_stride(_DIV, made, x, y))


def _loss(on_device: bool, rule: Any, x: Tensor, y: Tensor, how: int = 1, turn: float = 1) -> Any:
    """A loss that is linear from ``turn`` on. Eager mode on a GPU rounds that, and the difference,
    to 16 bits."""
    if x.dtype in _NARROW and y.dtype is x.dtype and _device(on_device, x) == "cuda":
        turn = _rounded(on_device, x.dtype, ["turn"], "turn", turn)
        x, y = _written(x.float() - y.float(), x.dtype), torch.zeros_like(x)
    return rule(x, y, how, turn)


def _packet(op: object) -> str:
    return op._schema.name if isinstance(op, torch._ops.OpOverload) else str(op)


def spell_conversions(node: torch.fx.Node) -> None:
    """What a program converts to 16 bits is rounded, as in eager mode: ``_to_copy``. An operator
    that was taken apart ends with such a conversion, too, but stays in float32 inside a kernel:
    ``convert_element_type``. A reduction or a scan that is given such a type gets elements of it:
    eager mode converts them before. What ``torch.vmap`` converts may be a number."""
    x: Any = next(iter(node.args), None)
    if node.target is _to_copy and not isinstance(x, fx.Node):
        value = node.meta["val"]
        node.target, node.args = torch.ops.aten.full.default, ([], x)
        node.kwargs = {"dtype": value.dtype, "device": value.device}
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


def _asked(op: Any, rule: Any, whole: bool, known: Any, *args: Any, **options: Any) -> Any:
    """``rule`` if there is one, unless eager mode rejects this call of the program or its gradient.
    (Calls inside of rules are our own.) Torch runs a gradient that nobody may ask for, unless it is
    computed ``whole``, and types whose parts it may lack. ``known``: asked before."""
    mode = get_proxy_mode()
    if mode is not None and mode.decomp_layers == 1:
        if "rms_norm" in op.name():  # torch hands a symbol's bits on; rms_norm has compared sizes
            names = [a.name for a in op._schema.arguments]
            n, x = names.index("normalized_shape"), args[names.index("input")]
            args = (*args[:n], x.shape[x.dim() - len(args[n]) :], *args[n + 1 :])
        elementwise = torch.Tag.pointwise in op.tags
        sizes: Any = Tensor.dim if elementwise else attrgetter("shape")
        given = tree_map_only(Tensor, _number, (args, options))
        kinds = tree_map_only(Tensor, lambda t: (t.dtype, t.device, sizes(t)), given)
        key = f"{op} {torch.are_deterministic_algorithms_enabled()} {kinds}"
        if key not in known:
            known[key] = _error(op, elementwise, args, options)
        error = known[key]
        if error and (whole or torch._C._current_autograd_node() is None):
            raise Rejected(error)
        lacking = {*_BARE, _LACKING.get(_packet(op))}
        bare = any(getattr(one, "dtype", ...) in lacking for one in tree_leaves(given))
        rule = None if error or bare or op in _FILLS and _may_not_fit(*args) else rule
    try:
        return rule(*args, **options) if rule else NotImplemented
    except (ValueError, GuardOnDataDependentSymNode):  # torch takes apart less than eager mode does
        return NotImplemented


def _number(value: Any) -> Any:
    """The number in the program's text that a tensor without dimensions is, or ``value``."""
    constant = getattr(value, "constant", None)
    return value if constant is None or constant.dim() else constant.item()


def _may_not_fit(x: Tensor, *given: Any) -> bool:
    """Whether eager mode may raise for a number that is filled in: one that data tell, of a type
    with others than the integers of ``x``."""
    value = _number(given[-1])
    other = isinstance(value, Tensor) and torch.promote_types(x.dtype, value.dtype) is not x.dtype
    return other and not (x.is_floating_point() or x.is_complex())


def ask_early(gm: fx.GraphModule) -> None:
    """Raise ``Rejected`` for calls in a graph from ``torch.compile`` that eager mode raises for and
    torch takes apart before an operator is traced. ``softshrink`` of 16 bits is taken apart here:
    what torch makes of it jumps elsewhere. So are losses of margins: it counts label 0 for every
    one that is not there, and gives a margin that is just kept a gradient."""
    for target, name in _TAKEN_APART.items():
        for node in gm.graph.find_nodes(op="call_function", target=target):
            given: Any = fx.map_arg((node.args, node.kwargs), lambda n: n.meta["example_value"])
            if error := _error(target, False, *given):
                raise Rejected(error)
            x = node.all_input_nodes[0].meta["example_value"]
            words = f"{target} {[one for one in tree_leaves(given) if isinstance(one, str)]}"
            if target is functional.softshrink and x.dtype in _NARROW:
                node.target = _softshrink
            elif x.dtype is torch.uint8 and ("bilinear" in words or "bicubic" in words):
                node.target, node.args = _interpolated, (name, *node.args)
            elif "margin" in target.__name__:
                bound = signature(target).bind(*node.args, **node.kwargs)
                bound.apply_defaults()
                named = {"p": 0, "margin": 1.0, "weight": None, **bound.arguments}
                if (legacy := (named["size_average"], named["reduce"])) != (None, None):
                    named["reduction"] = legacy_get_string(*legacy)
                node.target, node.kwargs = margin_loss, {}
                node.args = itemgetter(*"input target reduction p margin weight".split())(named)
    gm.recompile()


def _softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:  # noqa: A002 - as torch calls it
    """``torch.nn.functional.softshrink`` of 16 bits. Eager mode rounds ``lambd`` to them for the
    gradient, and on a GPU (since torch 2.14 on a CPU, too) for the result."""
    x, near = input.float(), _rounded(True, input.dtype, ["lambd"], "lambd", lambd)
    lambd = near if input.device.type == "cuda" or torch.__version__ >= "2.14" else lambd
    x = torch.where(x.abs() > near, x, x.detach())
    return torch.where(x.abs() > lambd, x - x.sign() * lambd, x * 0).to(input.dtype)


def _interpolated(how: str, *args: Any, **options: Any) -> Any:
    """What that function of torch's makes of bytes, by a library: it rounds its weights, and rows
    before columns, where torch takes it apart without."""
    with no_python_dispatcher():
        return attrgetter(how)(torch)(*args, **options)


def _error(op: Callable[..., Any], elementwise: bool, *given: Any) -> str:
    """What eager mode says if it raises for ``op`` of tensors like the ``given`` ones, on the same
    device; nothing if it does not, or cannot be asked. Where it raises for small sizes larger ones
    decide. (How many elements a mask among indices chooses is not known: there are none.) What
    divides by these zeros has taken their types: it is asked as elementwise operators are."""
    leaves = [one for one in tree_leaves(given) if isinstance(one, (Tensor, *_SYMBOLIC))]
    there = {"cpu", "cuda"} if torch.cuda.is_available() else {"cpu"}
    devices = (one.device.type for one in leaves if isinstance(one, Tensor))
    indices = given[0][1] if "Tensor?[]" in str(getattr(op, "_schema", "")) else None
    masks = [one for one in tree_leaves(indices) if getattr(one, "dtype", 0) in _MASKS]
    error = ""
    if free_unbacked_symbols(leaves) or not there.issuperset(devices):
        return error
    with _disable_current_modes(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for limit in (0,) if elementwise or masks else _LIMITS:
            try:
                args, options = tree_map(functools.partial(_like, elementwise, limit), given)
                op(*_with_numbers(op, given[0], args), **options)
                return ""
            except torch.OutOfMemoryError:
                return ""
            except (RuntimeError, TypeError, ValueError, IndexError) as raised:
                if str(raised) == "ZeroDivisionError" and not elementwise:
                    return _error(op, True, *given)
                error = f"eager mode raises for {op}: {type(raised).__name__}: {raised}"
    return error


def _with_numbers(op: Any, given: Any, args: Any) -> list[Any]:
    """``args`` with the ``given`` numbers, which types may not have (``arange`` counts to them)."""
    known = op._schema.arguments if hasattr(op, "_schema") and "arange" not in str(op) else ()
    made = list(args)
    for n, (one, value) in enumerate(zip(known, given, strict=False)):
        if str(one.type) == "number" and type(value) is int:
            made[n] = value
        elif one.name in ("value", "values") and _number(value) is not value:
            made[n] = value.constant
    return made


def _like(elementwise: bool, limit: int, value: Any) -> Any:
    """A tensor of zeros, which are places in range, of sizes up to ``limit``. An elementwise
    operator needs no elements, and ones to divide by where there are no dimensions."""
    if isinstance(value, Tensor):
        sizes = [_like(False, limit, n) for n in value.shape]
        return torch.full(sizes, int(elementwise), dtype=value.dtype, device=value.device)
    if isinstance(value, _SYMBOLIC):  # one that data tell may have been told to be a number
        value = value.node.maybe_as_int() if value.node.hint is None else value.node.hint
    return min(value, limit) if type(value) is int and not elementwise else value
