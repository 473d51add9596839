"""16-bit floats that are moved and not computed with, as they are.

Arithmetic is carried out in float32, and a NaN may lose its bits on the way there and back. What
a kernel only moves, or views as integers, it leaves in its own type. (Not beside a constant: the
interpreter of Triton 3.6 has none of bfloat16.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from harness.dtypes import DType
from harness.ir.nodes import (
    Builder,
    Compute,
    Constant,
    IndexValue,
    Load,
    Made,
    Masked,
    Reduce,
    Scan,
    Sort,
    Store,
    StoreMode,
    Value,
    rewrite_stores,
    values,
)
from harness.ir.ops import Op


def with_exact_copies(
    stores: Sequence[Store], dtypes: Mapping[str, DType], builder: Builder
) -> Sequence[Store]:
    """``stores`` of a kernel that moves what it only moves as it is. ``dtypes``: of the buffers."""
    used = {v.dtype for v in values(stores)} | {dtypes[s.buffer] for s in stores}
    for dtype in (DType.F16, DType.BF16):
        if dtype in used:
            stores = _moved(stores, dtype, dtypes, builder)
    return stores


def _moved(
    stores: Sequence[Store], dtype: DType, dtypes: Mapping[str, DType], builder: Builder
) -> Sequence[Store]:
    copies: dict[int, Value] = {}
    for value in values(stores):
        copy = _copy(value, dtype, dtypes, copies, builder)
        if copy is not None:
            copies[id(value)] = copy

    def viewed(value: Value, _: Made) -> Value | None:
        return copies.get(id(_narrowed(value, dtype)))

    result = []
    for old, new in zip(stores, rewrite_stores(stores, builder, replace=viewed), strict=True):
        moves = old.mode is StoreMode.PLAIN and dtypes[old.buffer] is dtype
        copy = copies.get(id(old.value)) if moves else None
        result.append(new if copy is None else dataclasses.replace(new, value=copy))
    return result


def _copy(
    value: Value,
    dtype: DType,
    dtypes: Mapping[str, DType],
    copies: Mapping[int, Value],
    builder: Builder,
) -> Value | None:
    """A float32 ``value`` that is one of ``dtype``, widened, as the latter; ``copies`` are those of
    its operands."""
    match value:
        case Load() if dtypes[value.buffer] is dtype:
            return builder.load(value.buffer, value.index, dtype, value.indirect, stored=True)
        case Compute(op=Op.CAST, dtype=DType.F32, args=(narrow,)) if narrow.dtype is dtype:
            wide = _narrowed(narrow, dtype)
            return narrow if wide is None else copies.get(id(wide), narrow)
        case Compute(op=Op.WHERE, args=(condition, left, right)):
            pair = copies.get(id(left)), copies.get(id(right))
            if pair[0] is None or pair[1] is None:
                return None
            return builder.compute(Op.WHERE, condition, pair[0], pair[1], dtype=dtype)
        case Masked():
            body = copies.get(id(value.body))
            return builder.masked(value.mask, body, value.other) if isinstance(body, Load) else None
        case Constant() | Load() | IndexValue() | Compute() | Reduce() | Scan() | Sort():
            return None


def _narrowed(value: Value, dtype: DType) -> Value | None:
    """What is rounded to ``dtype`` here."""
    if isinstance(value, Compute) and value.op is Op.CAST and value.dtype is dtype:
        return value.args[0]
    return None
