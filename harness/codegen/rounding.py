"""Where a kernel rounds values on the way, and where LLVM would leave that out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op

_CHOOSING = (Op.ABS, Op.MAXIMUM, Op.MINIMUM, Op.NEG, Op.WHERE)


def as_rounded(value: ir.Value, dtype: DType) -> ir.Compute | None:
    """What ``value`` is, of ``dtype``, but for being widened."""
    narrow = value.args[0] if isinstance(value, ir.Compute) and value.op is Op.CAST else None
    return narrow if isinstance(narrow, ir.Compute) and narrow.dtype is dtype else None


def products_added_in_16_bits(
    stores: Iterable[ir.Store], dtypes: Mapping[str, DType]
) -> frozenset[int]:
    """Ids of the products that are rounded to 16 bits, widened, and added to a number of 16 bits:
    LLVM does both in 16 bits, fused. ``dtypes``: of the buffers."""
    values = (v for v in ir.walk(s.value for s in stores) if isinstance(v, ir.Compute))
    sums = (v.args for v in values if v.op in (Op.ADD, Op.SUB))
    return frozenset(id(p) for args in sums for p in _all(args, dtypes) or () if _is_product(p))


def short_exponentials(stores: Sequence[ir.Store], dtypes: Mapping[str, DType]) -> frozenset[int]:
    """Ids of the float32 exponentials that only stores of 16-bit floats take, not a reduction."""
    kinds = [(s, dtypes[s.buffer]) for s in stores]
    wide = [s for s, kind in kinds if kind.itemsize > 2 or not kind.is_float]
    ends = [v for v in ir.values(stores) if isinstance(v, ir.Reduce | ir.Scan | ir.Sort)]
    taken = {id(v) for v in ir.walk([*ir.store_roots(wide), *(a for v in ends for a in v.args)])}
    powers = (v for v in ir.values(stores) if isinstance(v, ir.Compute) and v.op is Op.EXP)
    return frozenset(id(v) for v in powers if v.dtype is DType.F32 and id(v) not in taken)


def normal_roots(stores: Sequence[ir.Store]) -> Iterator[int]:
    """Ids of the reciprocal square roots of float32 sums that are no subnormal numbers: with a
    constant of 2^-70 on one is 0 or not below 2^-119, also of a product of 48 bits."""
    for value in ir.values(stores):
        total = value.args[0] if isinstance(value, ir.Compute) and value.op is Op.RSQRT else None
        terms = total.args if isinstance(total, ir.Compute) and total.op is Op.ADD else ()
        if any(isinstance(t, ir.Constant) and t.number >= 2.0**-70 for t in terms):
            yield id(value)


def _all(values: Iterable[ir.Value], dtypes: Mapping[str, DType]) -> list[ir.Value] | None:
    """The parts of all of ``values``; None if one has none."""
    found = [_parts(value, dtypes) for value in values]
    return None if None in found else [part for some in found for part in some or ()]


def _parts(value: ir.Value, dtypes: Mapping[str, DType]) -> list[ir.Value] | None:
    """The widened values that ``value`` may be; None if 16 bits may not hold it."""
    match value:
        case ir.Constant():
            return []
        case ir.Load():  # an argument of a user's function, of which no buffer is known, may be
            kind = dtypes.get(value.buffer)
            return [] if kind is None or kind.itemsize <= 2 else None
        case ir.Masked():
            return _parts(value.body, dtypes)
        case ir.Compute(op=Op.CAST):
            return [value] if value.args[0].dtype.itemsize <= 2 else None
        case ir.Compute():
            if value.op not in _CHOOSING:
                return None
            return _all((a for a in value.args if a.dtype is value.dtype), dtypes)
        case ir.IndexValue() | ir.Reduce() | ir.Scan() | ir.Sort():
            return None


def _is_product(value: ir.Value) -> bool:
    narrow = as_rounded(value, DType.BF16) or as_rounded(value, DType.F16)
    whole: ir.Value | None = narrow.args[0] if narrow and narrow.op is Op.CAST else None
    while isinstance(whole, ir.Compute) and whole.op is Op.NEG:
        (whole,) = whole.args
    return isinstance(whole, ir.Compute) and whole.op is Op.MUL and value.dtype is DType.F32
