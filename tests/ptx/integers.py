"""Instructions of integers, bits and predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ptx.machine import Do, Launch, Unsupported, type_of
from tests.ptx.memory import Array, unsigned
from tests.ptx.operands import reader, writer
from tests.ptx.parsing import Instruction

FLOATS = ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2")


def plain(function: Callable[..., Any], kinds: dict[int, str] | None = None) -> Any:
    """A builder of instructions that make a number of numbers of their type; ``kinds`` are types of
    other operands, by position."""

    def build(one: Instruction, launch: Launch) -> Do:
        reads = [
            reader(operand, (kinds or {}).get(n, one.kind), launch)
            for n, operand in enumerate(one.operands[1:])
        ]
        write = writer(one.operands[0], one.kind)
        return lambda threads: write(threads, function(*(read(threads) for read in reads)))

    return build


def high(a: Array, b: Array) -> Array:
    """The upper half of products."""
    kind = np.asarray(a).dtype
    if kind.itemsize < 8:
        wide = np.dtype(f"{kind.kind}{2 * kind.itemsize}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(8 * kind.itemsize)).astype(kind)
    x, y = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    made = x1 * y1 + (middle >> half) + (other >> half)
    if kind.kind == "i":
        made = made - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return made.view(kind)


def quotient(a: Array, b: Array) -> Array:
    """Towards 0; all bits where the divisor is 0."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    made = a // safe
    made = made + ((a - made * safe != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, ~np.zeros((), b.dtype), made.astype(b.dtype))


def _product(one: Instruction, launch: Launch) -> Do:
    """``mul``, ``mad``, with carries or without."""
    kind, modes = type_of(one.kind), one.modes
    wide = np.dtype(f"{kind.kind}{2 * kind.itemsize}") if "wide" in modes else kind
    reads = [reader(n, one.kind, launch) for n in one.operands[1:3]]
    added = one.kind[0] + str(16 * kind.itemsize) if "wide" in modes else one.kind
    more = reader(one.operands[3], added, launch) if len(one.operands) > 3 else None

    def made(threads: Any) -> None:
        a, b = (read(threads) for read in reads)
        if "wide" in modes:
            value = a.astype(wide) * b.astype(wide)
        else:
            value = high(a, b) if "hi" in modes else a * b
        if more is not None:
            value = _added(threads, value, more(threads), "cc" in modes, one.name == "madc")
        threads.write(one.operands[0], value)

    return made


def _added(threads: Any, a: Array, b: Array, sets: bool, uses: bool) -> Array:
    kind = np.asarray(a).dtype
    if not (sets or uses):
        return a + b
    whole = unsigned(kind.itemsize)
    a, b = np.asarray(a).view(whole), np.asarray(b).view(whole)
    first = a + b
    made = first
    if uses:
        made = first + threads.carry.astype(whole)
    if sets:
        threads.carry = (first < a) | (made < first)
    return made.view(kind)


def _sum(one: Instruction, launch: Launch) -> Do:
    reads = [reader(n, one.kind, launch) for n in one.operands[1:]]
    sets, uses = "cc" in one.modes, one.name in ("addc", "subc")
    minus = one.name.startswith("sub")
    if "sat" in one.modes:
        raise Unsupported(one.text)

    def made(threads: Any) -> None:
        a, b = (read(threads) for read in reads)
        if not (sets or uses):
            return threads.write(one.operands[0], a - b if minus else a + b)
        if minus:  # a - b - borrow = a + ~b + 1 - borrow; the flag is kept as that carry
            kept = threads.carry
            threads.carry = np.ones(threads.size(), bool) if not uses else kept
            value = _added(threads, a, ~b, True, True)
            threads.carry = threads.carry if sets else kept
        else:
            value = _added(threads, a, b, sets, uses)
        return threads.write(one.operands[0], value)

    return made


def shifted(a: Array, b: Array, left: bool) -> Array:
    """A count beyond the width counts as the width."""
    kind = np.asarray(a).dtype
    width = 8 * kind.itemsize
    count = np.minimum(b, width - 1).astype(kind)
    made = a << count if left else a >> count
    if not left and kind.kind == "i":
        return made
    return np.where(b >= width, kind.type(0), made)


def _field(a: Array, at: Array, length: Array) -> Array:
    """``bfe``: bits of ``a``, extended as the type says."""
    kind = np.asarray(a).dtype
    width = 8 * kind.itemsize
    at, length = (np.asarray(n & 255).astype(np.int64) for n in (at, length))
    wide = np.asarray(a).view(unsigned(kind.itemsize)).astype(np.uint64)
    mask = (np.uint64(1) << np.minimum(length, 63).astype(np.uint64)) - np.uint64(1)
    mask = np.where(length >= 64, ~np.uint64(0), mask)
    made = (
        np.where(at >= width, np.uint64(0), (wide >> np.minimum(at, 63).astype(np.uint64))) & mask
    )
    if kind.kind == "i":
        last = np.minimum(at + length - 1, width - 1)
        sign = (wide >> np.maximum(last, 0).astype(np.uint64)) & np.uint64(1)
        kept = np.minimum(np.maximum(width - at, 0), length)
        upper = ~np.uint64(0) << np.minimum(kept, 63).astype(np.uint64)
        made = np.where((sign == 1) & (length > 0) & (kept < 64), made | upper, made)
    return made.astype(unsigned(kind.itemsize)).view(kind)


def _inserted(a: Array, b: Array, at: Array, length: Array) -> Array:
    """``bfi``: ``a`` put into ``b``."""
    kind = np.asarray(a).dtype
    width = 8 * kind.itemsize
    at, length = (np.asarray(n & 255).astype(np.uint64) for n in (at, length))
    top = np.uint64(63)
    ones = (np.uint64(1) << np.minimum(length, top)) - np.uint64(1)
    ones = np.where(length >= width, ~np.uint64(0), ones)
    mask = np.where(at >= width, np.uint64(0), ones << np.minimum(at, top))
    moved = np.asarray(a).astype(np.uint64) << np.minimum(at, top)
    return ((b.astype(np.uint64) & ~mask) | (moved & mask)).astype(kind)


def _bytes(a: Array, b: Array, c: Array) -> Array:
    """``prmt``."""
    both = np.asarray(a).astype(np.uint64) | (np.asarray(b).astype(np.uint64) << np.uint64(32))
    made: Any = np.uint32(0)
    for n in range(4):
        which = (c >> np.uint32(4 * n)) & np.uint32(15)
        byte = ((both >> ((which & 7) * 8).astype(np.uint64)) & np.uint64(255)).astype(np.uint32)
        sign = np.where(byte >> 7 == 1, np.uint32(255), np.uint32(0))
        made = made | (np.where(which >> 3 == 1, sign, byte) << np.uint32(8 * n))
    return made


def _funnel(one: Instruction, launch: Launch) -> Do:
    """``shf``."""
    left, wraps = one.modes[0] == "l", "wrap" in one.modes

    def function(a: Array, b: Array, c: Array) -> Array:
        count = (c & 31 if wraps else np.minimum(c, 32)).astype(np.uint64)
        both = np.asarray(a).astype(np.uint64) | (np.asarray(b).astype(np.uint64) << np.uint64(32))
        if left:
            return ((both << count) >> np.uint64(32)).astype(np.uint32)
        return (both >> count).astype(np.uint32)

    return plain(function)(one, launch)


def _logic(one: Instruction, launch: Launch) -> Do:
    """``lop3``: any function of three bits."""
    table = int(str(one.operands[4]), 0)

    def function(a: Array, b: Array, c: Array) -> Array:
        made: Any = np.uint32(0)
        for n in range(8):
            if table >> n & 1:
                x, y, z = (v if n >> k & 1 else ~v for v, k in ((a, 2), (b, 1), (c, 0)))
                made = made | (x & y & z)
        return made

    return plain(function)(_first(one, 4), launch)


def _first(one: Instruction, count: int) -> Instruction:
    return Instruction(one.name, one.modes, one.operands[:count], one.guard, one.text)


def _count(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _leading(a: Array) -> Array:
    """``clz``."""
    width = 8 * np.asarray(a).dtype.itemsize
    value = np.asarray(a).copy()
    for shift in (1, 2, 4, 8, 16, 32)[: width.bit_length() - 1]:
        value |= value >> value.dtype.type(shift)
    return (width - np.bitwise_count(value)).astype(np.uint32)


def _reversed(a: Array) -> Array:
    kind = np.asarray(a).dtype
    octets = np.ascontiguousarray(np.atleast_1d(a)).view(np.uint8).reshape(-1, kind.itemsize)
    turned = np.packbits(np.unpackbits(octets, axis=1, bitorder="little"), axis=1)
    return turned[:, ::-1].copy().view(kind).reshape(np.shape(a)) if kind.itemsize else a


def _highest(a: Array) -> Array:
    """``bfind``."""
    value = np.where(a < 0, ~a, a).view(unsigned(np.asarray(a).dtype.itemsize))
    return (8 * value.dtype.itemsize - 1 - _leading(value).astype(np.int32)).astype(np.uint32)


def _either(whole: Any, floating: Any) -> Any:
    """A builder for both kinds of numbers."""

    def build(one: Instruction, launch: Launch) -> Do:
        if one.kind in ("s16x2", "u16x2"):
            return _pairs(one, launch)
        return (floating if one.kind in FLOATS else whole)(one, launch)

    return build


_PAIRS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "neg": np.negative,
}  # fmt: skip


def _pairs(one: Instruction, launch: Launch) -> Do:
    """Two integers of 16 bits in each register."""
    reads = [reader(n, "u32", launch) for n in one.operands[1:]]
    function, kind = _PAIRS[one.name], type_of(one.kind.removesuffix("x2"))

    def made(threads: Any) -> None:
        size = threads.size()
        given = [np.broadcast_to(read(threads), (size,)).copy().view(kind) for read in reads]
        threads.write(one.operands[0], function(*given).view(np.uint32))

    return made


def both(table: dict[str, Any]) -> dict[str, Any]:
    """Builders of names that integers and floats share."""
    return {n: _either(WHOLE[n], make) if n in WHOLE else make for n, make in table.items()}


WHOLE: dict[str, Any] = {
    "add": _sum, "sub": _sum, "addc": _sum, "subc": _sum,
    "mul": _product, "mad": _product, "madc": _product,
    "div": plain(quotient),
    "rem": plain(lambda a, b: a - quotient(a, b) * b),
    "min": plain(np.minimum), "max": plain(np.maximum),
    "abs": plain(np.abs), "neg": plain(lambda a: -a),
}  # fmt: skip
BUILDERS: dict[str, Any] = {
    **WHOLE,
    "and": plain(lambda a, b: a & b), "or": plain(lambda a, b: a | b),
    "xor": plain(lambda a, b: a ^ b), "not": plain(lambda a: ~a),
    "cnot": plain(lambda a: (a == 0).astype(a.dtype)),
    "shl": plain(lambda a, b: shifted(a, b, True), {1: "u32"}),
    "shr": plain(lambda a, b: shifted(a, b, False), {1: "u32"}),
    "bfe": plain(_field, {1: "u32", 2: "u32"}),
    "bfi": plain(_inserted, {2: "u32", 3: "u32"}),
    "prmt": plain(_bytes), "shf": _funnel, "lop3": _logic,
    "popc": plain(_count), "clz": plain(_leading), "brev": plain(_reversed),
    "bfind": plain(_highest),
    "selp": plain(lambda a, b, p: np.where(p, a, b), {2: "pred"}),
}  # fmt: skip
