"""When a value is worth a buffer of its own."""

from __future__ import annotations

from dataclasses import dataclass

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op

# A nest that reads more, or computes more, than this gains nothing from growing further:
# the scheduler can still put neighbouring nests in one kernel, but not take one apart.
MOST_LOADS = 16
MOST_OPS = 64

# What an operation costs per element, in bytes of memory traffic that take the same time.
# A GPU of compute capability 8.0 to 10.0 finishes 16 special-function operations per clock
# and multiprocessor (CUDA programming guide, table of arithmetic throughput); an H100 moves
# about 15 bytes per clock and multiprocessor, so one such operation is worth about a byte.
_ONE_SPECIAL = frozenset(
    {
        Op.EXP, Op.EXP2, Op.LOG, Op.LOG2, Op.LOG10, Op.SQRT, Op.RSQRT, Op.RECIPROCAL,
        Op.TRUE_DIV,
    }
)  # fmt: skip
_SEVERAL_SPECIAL = frozenset({Op.SIGMOID, Op.EXPM1, Op.LOG1P, Op.TANH, Op.RANDOM_BITS})
# Polynomials with range reduction, loops of subtractions and integer divisions: tens of
# ordinary instructions. So are float64 operations on GPUs that have few units for them.
_LONG = frozenset(
    {
        Op.FLOOR_DIV, Op.TRUNC_DIV, Op.REMAINDER, Op.FMOD, Op.SIN, Op.COS, Op.TAN, Op.ASIN,
        Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.ERF, Op.ERFC,
        Op.ERFCX, Op.NDTRI, Op.ZETA, Op.BESSEL_I0, Op.BESSEL_I1, Op.BESSEL_J0, Op.BESSEL_J1,
        Op.BESSEL_Y0, Op.BESSEL_Y1, Op.ERFINV, Op.LGAMMA, Op.POW, Op.ATAN2, Op.HYPOT, Op.NEXTAFTER,
        Op.IGAMMA, Op.IGAMMAC, Op.INTEGER_POWER, Op.GCD, Op.ONE_PLUS_ERF,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """What one element of a value takes to compute. ``short`` and ``long`` are the costs,
    in bytes of traffic, of its special functions and of its long computations."""

    loads: tuple[ir.Load, ...]
    ops: int
    short: int
    long: int


def profile(value: ir.Value) -> Profile:
    """Distinct loads, operations and their cost."""
    loads: list[ir.Load] = []
    ops = short = long = 0
    for part in ir.walk([value]):
        match part:
            case ir.Load():
                loads.append(part)
            case ir.Compute(op=op, dtype=dtype):
                ops += op is not Op.CAST
                short += (op in _ONE_SPECIAL) + 3 * (op in _SEVERAL_SPECIAL)
                long += 8 * (op in _LONG or (dtype is DType.F64 and op is not Op.CAST))
            case (
                ir.Constant() | ir.IndexValue() | ir.Masked() | ir.Reduce() | ir.Scan() | ir.Sort()
            ):
                pass
    return Profile(tuple(loads), ops, short, long)


def oversized(found: Profile) -> bool:
    """Whether a nest of this value is as large as it should get."""
    return len(found.loads) > MOST_LOADS or found.ops > MOST_OPS


@dataclass(frozen=True, slots=True)
class Demand:
    """How a value is used: by how many users, and how often they evaluate an element in
    all (a user that broadcasts it evaluates each element many times)."""

    users: int
    evaluations: int


def worth_storing(
    found: Profile, demand: Demand, numel: int, read_bytes: int, own_bytes: int
) -> bool:
    """Whether a value should be stored once instead of recomputed by every user.

    ``read_bytes`` is what computing all of it reads, ``own_bytes`` what it occupies. The
    choice is the one that costs less if no two users share a kernel (if they do, both are
    nearly free). Values made from nothing are recomputed unless that takes long. Special
    functions of a broadcast value count once per user: kernels keep it unbroadcast. A
    single number is always recomputed: that costs nothing, a kernel of its own does.
    """
    users = demand.users
    if numel <= 1:
        return False
    if not found.loads and not found.long:
        return False
    if users <= 1 and (not found.long or demand.evaluations < 8):
        return False
    once = read_bytes + (found.short + found.long) * numel
    again = users * (read_bytes + found.short * numel)
    again += demand.evaluations * found.long * numel
    return again > once + (1 + users) * own_bytes
