"""Size expressions and tensor types as text: ``2*s0 + 1``, ``bf16[4, s0]{1, 4}``. Expressions are
Python, read with ``ast`` and never evaluated: ``+ - *``, ``//`` and ``%`` (floor semantics),
``max(a, b)`` and ``min(a, b)``."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import sympy

from harness.dtypes import DType
from harness.errors import GraphError, InvalidProgram
from harness.graph.model import TensorType, ValueType
from harness.ir.affine import row_major
from harness.ir.index import FloorDiv, Mod, integers, size_symbol
from harness.ir.index_text import size_text

_TYPE = re.compile(r"^(?P<dtype>\w+)\[(?P<shape>[^\[\]{}]*)\](?:\{(?P<stride>[^\[\]{}]*)\})?$")
_INTEGER = re.compile(r"^-?\d+$")


def contiguous_strides(shape: Sequence[sympy.Expr]) -> tuple[sympy.Expr, ...]:
    """Row-major strides of ``shape`` as torch computes them: empty dimensions count as 1."""
    return integers(row_major(shape))


def overlap(dimensions: Iterable[tuple[int, int]]) -> bool:
    """Whether elements may share memory, by the stride and size of each dimension longer than 1."""
    reach = 0
    for stride, size in sorted(dimensions):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def broadcast(shapes: Sequence[Sequence[sympy.Expr]]) -> tuple[sympy.Expr, ...]:
    """The sizes that ``shapes`` broadcast to."""
    columns = zip_longest(*map(reversed, shapes), fillvalue=sympy.S.One)
    found = [([size for size in column if size != 1] or column)[-1] for column in columns]
    return tuple(found[::-1])


def print_type(kind: TensorType) -> str:
    """``bf16[4, 8]``, with strides in braces unless they are row-major."""
    text = f"{kind.dtype.short}[{_print_list(kind.shape)}]"
    if kind.stride == contiguous_strides(kind.shape):
        return text
    return f"{text}{{{_print_list(kind.stride)}}}"


def print_types(kind: ValueType, quote: str = "") -> str:
    """The types of a value that may be several, or none; each between ``quote``."""
    if isinstance(kind, tuple):
        parts = [print_types(part, quote) for part in kind]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return "None" if kind is None else f"{quote}{print_type(kind)}{quote}"


def parse_type(text: str) -> TensorType:
    """Inverse of ``print_type``; ``GraphError`` says what is wrong with the text."""
    if (match := _TYPE.match(text)) is None:
        raise GraphError(
            "not a tensor type",
            got=repr(text),
            expected='"dtype[sizes]" or "dtype[sizes]{strides}"',
        )
    try:
        dtype = DType(match["dtype"])
    except ValueError:
        raise GraphError(
            "unknown element type",
            got=repr(match["dtype"]),
            expected=", ".join(d.short for d in DType),
        ) from None
    shape = _parse_list(match["shape"])
    if match["stride"] is None:
        return TensorType(dtype, shape, contiguous_strides(shape))
    stride = _parse_list(match["stride"])
    if len(stride) != len(shape):
        raise GraphError(
            "sizes and strides differ in number",
            got=f"{len(shape)} sizes, {len(stride)} strides",
            expected="one stride per size",
        )
    return TensorType(dtype, shape, stride)


def _print_list(values: Sequence[sympy.Expr]) -> str:
    return ", ".join(print_size(v) for v in values)


def _parse_list(text: str) -> tuple[sympy.Expr, ...]:
    if not text.strip():
        return ()
    sizes = tuple(parse_size(part) for part in _split(text))
    for size in sizes:
        if size.is_negative:
            raise GraphError("negative size or stride", got=str(size), expected="0 or more")
    return sizes


def _split(text: str) -> list[str]:
    """Cut at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts]


def print_size(expr: sympy.Expr) -> str:
    """The text of a size expression; ``GraphError`` for what a size cannot be."""
    try:
        return size_text(expr)
    except InvalidProgram:
        raise GraphError(
            "a size has a form that graphs do not hold",
            got=str(expr),
            expected="+ - * // % max min over integers and named sizes",
        ) from None


_LONGEST = 1000
"""Characters of a size. Captured ones have a few dozen; without a limit a file could have the
reader work for ever."""
_MOST_TERMS = 1000
"""Terms that a size may have when it is multiplied out."""
_LARGEST = 2**63 - 1


def parse_size(text: str) -> sympy.Expr:
    """Inverse of ``print_size``. Raises ``GraphError`` for anything else, and for what is too
    long, too large or too deep to compute with."""
    if len(text) > _LONGEST:
        raise _not_a_size(f"{text[:40]}… ({len(text)} characters)", f"at most {_LONGEST} of them")
    if _INTEGER.match(text):
        return _checked(sympy.Integer(int(text)), text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if _terms(tree) > _MOST_TERMS:
            raise _not_a_size(repr(text), f"at most {_MOST_TERMS} terms")
        return _expression(tree, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _not_a_size(repr(text)) from None


def _not_a_size(got: str, expected: str = "e.g. 2*s0 + 1") -> GraphError:
    return GraphError("not a size expression", got=got[:200], expected=expected)


def _terms(node: ast.expr) -> int:
    """An upper bound on the terms of a size, before any of it is computed."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return min(_terms(left) * _terms(right), _MOST_TERMS + 1)
        case ast.BinOp(left=left, right=right):
            return _terms(left) + _terms(right)
        case ast.UnaryOp(operand=operand):
            return _terms(operand)
        case ast.Call(args=args):
            return sum(_terms(arg) for arg in args)
        case _:
            return 1


def _checked(expr: sympy.Expr, text: str) -> sympy.Expr:
    if expr.is_Integer and abs(int(expr)) > _LARGEST:
        raise _not_a_size(repr(text), f"numbers up to {_LARGEST}")
    return expr


_EXTREMES = {"max": sympy.Max, "min": sympy.Min}
_OPERATORS: dict[type[ast.operator], Callable[..., sympy.Expr]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: FloorDiv,
    ast.Mod: Mod,
}  # fmt: skip


def _expression(node: ast.expr, text: str) -> sympy.Expr:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return _checked(sympy.Integer(value), text)
        case ast.Name(id=name) if not name.startswith("_"):
            return size_symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_expression(operand, text)
        case ast.BinOp(left=left, op=op, right=right):
            sides = _expression(left, text), _expression(right, text)
            function = _OPERATORS.get(type(op))
            if function is None or (function in (FloorDiv, Mod) and sides[1].is_zero):
                raise _not_a_size(repr(text), "+ - * // %")
            return _checked(function(*sides), text)
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[_, *_] as args, keywords=[]):
            return _EXTREMES[name](*(_expression(a, text) for a in args))
        case _:
            raise _not_a_size(repr(text))
