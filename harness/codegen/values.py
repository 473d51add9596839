"""Text of single values: literals, and the variables that hold computed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from harness.dtypes import DType
from harness.ir.nodes import Constant
from harness.ir.op_triton import triton_type


@dataclass(frozen=True, slots=True)
class Var:
    """A computed value: its text (a name or a literal), its type, and the tiles it varies
    over (by prefix)."""

    text: str
    dtype: DType
    tiles: frozenset[str]
    literal: bool = False


@dataclass(slots=True)
class Names:
    """Hands out ``tmp0``, ``tmp1`` …, and ``sum0``, ``max0`` … for accumulators."""

    _next: dict[str, int] = field(default_factory=dict)

    def fresh(self, what: str = "tmp") -> str:
        """The next unused name for ``what``."""
        number = self._next[what] = self._next.get(what, -1) + 1
        return f"{what}{number}"


def literal_text(constant: Constant) -> str:
    """A Python literal that Triton reads as this number."""
    number = constant.number
    if isinstance(number, float):
        if math.isnan(number):
            return 'float("nan")'
        if math.isinf(number):
            return 'float("inf")' if number > 0 else 'float("-inf")'
        text = repr(number)
    else:
        text = str(number)
    return f"({text})" if text.startswith("-") else text


def constant_var(constant: Constant) -> Var:
    """A constant as an operand."""
    return Var(literal_text(constant), constant.dtype, frozenset(), literal=True)


def materialised(var: Var, shape: str = "[]") -> str:
    """A literal as a tensor of its own type."""
    return f"tl.full({shape}, {var.text}, {triton_type(var.dtype)})"


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
