"""Text of single values: literals, and the variables that hold computed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import nodes as ir
from harness.ir.nodes import Constant, ReduceKind
from harness.ir.op_triton import minus_zero, triton_type

INDENT = "    "
KEYS = {
    DType.F32: ("tl.int32", 31, "0x7FFFFFFF"),
    DType.F64: ("tl.int64", 63, "0x7FFFFFFFFFFFFFFF"),
}
"""Of a float type: the integer type of its bits, the sign's place, all bits but the sign."""
HIGHEST = {False: "0x7FFFFFFF", True: "0x7FFFFFFFFFFFFFFF"}
LOWEST = {False: "(-0x7FFFFFFF - 1)", True: "(-0x7FFFFFFFFFFFFFFF - 1)"}
"""The largest and the smallest integer as text, of 64 bits or of 32."""


@dataclass(frozen=True, slots=True)
class Var:
    """A computed value: its text (a name or a literal), its type, and the tiles it varies
    over (by prefix)."""

    text: str
    dtype: DType
    tiles: frozenset[str]
    literal: bool = False


def literal_text(constant: Constant) -> str:
    """A Python literal that Triton reads as this number."""
    number = constant.number
    if isinstance(number, float):
        if math.isnan(number):
            return 'float("nan")'
        if math.isinf(constant.dtype.nearest(number)):
            return 'float("inf")' if number > 0 else 'float("-inf")'
        if number == 0 and math.copysign(1, number) < 0:
            return minus_zero(constant.dtype)
        as_read = {  # Triton takes a literal for float32, or below 2^-126 for float64
            DType.F32: number == 0 or abs(number) >= 2**-126,
            DType.F64: DType.F32.nearest(number) == number,
        }
        whole = as_read.get(constant.dtype, True)
        text = repr(number) if whole else f"tl.full([], {number!r}, {triton_type(constant.dtype)})"
    else:
        text = str(number)
    return f"({text})" if text.startswith("-") else text


def remark(node: str | None) -> str:
    """The comment at a line that computes or loads the graph value ``node``."""
    return f"  # {node}" if node else ""


def constant_var(constant: Constant) -> Var:
    """A constant as an operand."""
    return Var(literal_text(constant), constant.dtype, frozenset(), literal=True)


def materialised(var: Var, shape: str = "[]") -> str:
    """A literal as a tensor of its own type; what is none as it is."""
    if not var.literal:
        return var.text
    if var.dtype is DType.BF16:  # of which Triton's constants have six digits after the point
        return f"tl.full({shape}, {var.text}, tl.float32).to(tl.bfloat16)"
    return f"tl.full({shape}, {var.text}, {triton_type(var.dtype)})"


def neutral(kind: ReduceKind, dtype: DType) -> str:
    """The element that changes nothing, as text. Integers other than int64 are reduced as int32."""
    zero, one = ("0.0", "1.0") if dtype.is_float else ("0", "1")
    match kind:
        case ReduceKind.SUM | ReduceKind.ANY | ReduceKind.XOR | ReduceKind.DOT:
            return zero
        case ReduceKind.PROD:
            return one
        case ReduceKind.MAX:
            return 'float("-inf")' if dtype.is_float else LOWEST[dtype is DType.I64]
        case ReduceKind.MIN:
            return 'float("inf")' if dtype.is_float else HIGHEST[dtype is DType.I64]
        case ReduceKind.ARGMAX | ReduceKind.ARGMIN | ReduceKind.WELFORD | ReduceKind.SOFTMAX:
            raise InvalidProgram("a reduction without a neutral element", got=kind.value)


@dataclass(slots=True)
class Scope:
    """Where lines and known values go. ``known`` maps (identity of the value, identities
    of the masks it was computed under) to its variable; a loop's scope is dropped when the
    loop closes; so are ``rows``, the names of all components of a scan or a sort. ``stores`` are
    written after everything else."""

    lines: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    known: dict[tuple[int, tuple[int, ...]], Var] = field(default_factory=dict)
    rows: dict[tuple[object, ...], tuple[str, ...]] = field(default_factory=dict)


def columns(index: str, mask: str, count: int) -> tuple[str, str]:
    """An index and the ``count`` places from there on, a column each, and their mask."""
    index = f"{operand(index)}[:, None] + tl.arange(0, {count})"
    return index, mask if mask == "None" else f"{operand(mask)}[:, None]"


def operand(text: str) -> str:
    """An expression as one operand."""
    return text if text.isidentifier() else f"({text})"


def summand(text: str) -> str:
    """An expression as one summand."""
    return f"({text})" if " " in text else text


def needed(
    value: ir.Value, masks: tuple[ir.Value, ...], dtypes: Mapping[str, DType]
) -> list[tuple[ir.Value, tuple[ir.Value, ...]]]:
    """What ``value`` under ``masks`` is written from, with the masks each is under."""
    match value:
        case ir.Masked(mask=mask, body=body):
            inner = (*masks, mask)
            if isinstance(body, ir.Load) and dtypes[body.buffer].keeps(value.other.number):
                return [(mask, masks), *((v, inner) for _, v in body.indirect)]
            return [(mask, masks), (body, inner)]
        case ir.Constant() | ir.Load() | ir.IndexValue() | ir.Compute():
            return [(o, masks) for o in ir.operands(value)]
        case ir.Reduce() | ir.Scan() | ir.Sort():
            return [(o, masks) for o in value.args]
