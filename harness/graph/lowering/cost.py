"""When a value is worth a buffer of its own."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from harness.ir.nodes import Compute, Load, Value, walk
from harness.ir.ops import Op

# A nest that reads more, or computes more, than this gains nothing from growing further:
# the scheduler can still put neighbouring nests in one kernel, but not take one apart.
MOST_LOADS = 16
MOST_OPS = 64

# Operations that take several instructions each; recomputing one for every user costs
# more than reading a stored result inside a fused kernel (where that read is free).
_COSTLY = frozenset(
    {
        Op.TRUE_DIV, Op.FLOOR_DIV, Op.TRUNC_DIV, Op.REMAINDER, Op.FMOD, Op.EXP, Op.EXP2,
        Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P, Op.SQRT, Op.RSQRT, Op.RECIPROCAL,
        Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.TANH,
        Op.ASINH, Op.ACOSH, Op.ATANH, Op.ERF, Op.ERFC, Op.ERFINV, Op.LGAMMA, Op.SIGMOID,
        Op.POW, Op.ATAN2, Op.HYPOT, Op.NEXTAFTER,
    }
)  # fmt: skip

# The size assumed for a dimension that is not known when compiling.
_TYPICAL_SIZE = 4096


@dataclass(frozen=True, slots=True)
class Profile:
    """What one element of a value takes to compute."""

    loads: tuple[Load, ...]
    ops: int
    costly: bool


def profile(value: Value) -> Profile:
    """Distinct loads, operations and whether any of them is costly."""
    loads: list[Load] = []
    ops = 0
    costly = False
    for part in walk([value]):
        match part:
            case Load():
                loads.append(part)
            case Compute(op=op):
                ops += op is not Op.CAST
                costly = costly or op in _COSTLY
            case _:
                pass
    return Profile(tuple(loads), ops, costly)


def typical(size: sympy.Expr) -> int:
    """A size as a number; an unknown one as a typical number."""
    if size.is_Integer:
        return int(size)
    return int(size.xreplace({s: sympy.Integer(_TYPICAL_SIZE) for s in size.free_symbols}))


def oversized(found: Profile) -> bool:
    """Whether a nest of this value is as large as it should get."""
    return len(found.loads) > MOST_LOADS or found.ops > MOST_OPS


def worth_storing(found: Profile, uses: int, read_bytes: int, own_bytes: int) -> bool:
    """Whether a value with ``uses`` users should be stored once instead of recomputed.

    ``read_bytes`` is what computing all of it reads, ``own_bytes`` what it occupies.
    Values made from nothing are always recomputed; costly ones never; of the rest the
    choice is the one that moves fewer bytes if no two users share a kernel.
    """
    if uses <= 1 or not found.loads:
        return False
    if found.costly:
        return True
    return uses * read_bytes > read_bytes + (1 + uses) * own_bytes
