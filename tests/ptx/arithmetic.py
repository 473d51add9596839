"""Instructions of floating-point numbers, and comparisons."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx import integers
from tests.ptx.floats import ROUNDINGS, flushed, fused, narrowed, sum_of, widened
from tests.ptx.machine import Do, Launch, Unsupported, type_of
from tests.ptx.memory import Array, unsigned
from tests.ptx.operands import reader
from tests.ptx.parsing import Instruction

_APPROXIMATE: dict[str, Any] = {
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x), "rcp": lambda x: 1 / x, "sqrt": np.sqrt,
}  # fmt: skip


def computed(name: str, modes: Sequence[str], kind: str, given: Sequence[Array]) -> Array:
    """An instruction's result; numbers of 16 bits are given and made as bits."""
    mode = next((m for m in modes if m in ROUNDINGS), "rn")
    if kind in ("f16", "bf16"):
        return _of_16_bits(name, modes, kind, mode, given)
    if "ftz" in modes and kind == "f32":
        given = [flushed(x) for x in given]
    made = _of_full_size(name, modes, kind, mode, given)
    if "ftz" in modes and kind == "f32":
        made = flushed(made)
    if "sat" in modes:
        made = np.clip(np.where(np.isnan(made), made.dtype.type(0), made), 0, 1)
    return made


def _of_full_size(
    name: str, modes: Sequence[str], kind: str, mode: str, given: Sequence[Array]
) -> Array:
    bits = type_of(kind)
    a, b = given[0], given[1] if len(given) > 1 else given[0]
    if name in ("fma", "mad"):
        return fused(*(np.asarray(x).astype(np.float64) for x in given), kind, mode).view(bits)
    if name in ("add", "sub", "mul", "div") and mode == "rn":
        return _plain(name, modes, a, b)
    if name in ("add", "sub", "mul"):
        if kind == "f64":
            raise Unsupported(f"{name}.{mode}.f64")
        x, y = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)
        if name == "mul":
            return narrowed(x * y, kind, mode).view(bits)
        return sum_of(x, -y if name == "sub" else y, kind, mode).view(bits)
    if name in ("sqrt", "rcp") and mode == "rn" and "approx" not in modes:
        return np.sqrt(a) if name == "sqrt" else a.dtype.type(1) / a
    return _other(name, modes, kind, a, b)


def _plain(name: str, modes: Sequence[str], a: Array, b: Array) -> Array:
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul":
        return a * b
    made = a / b
    if "approx" in modes:  # the reciprocal of the largest divisors is 0
        size = np.abs(b)
        far = (size > np.float32(2.0**126)) & (size < np.inf)
        made = np.where(far, a * np.copysign(np.float32(0), b), made)
    return made


def _other(name: str, modes: Sequence[str], kind: str, a: Array, b: Array) -> Array:
    if name in ("max", "min"):
        return _extreme(name, modes, a, b)
    if name == "neg":
        return -a
    if name == "abs":
        return np.abs(a)
    if name == "copysign":
        return np.copysign(b, a)
    if name in _APPROXIMATE and ("approx" in modes or name in ("sin", "cos")):
        return _APPROXIMATE[name](np.asarray(a).astype(np.float64)).astype(type_of(kind))
    raise Unsupported(f"{name}.{'.'.join(modes)}")


def _extreme(name: str, modes: Sequence[str], a: Array, b: Array) -> Array:
    """The larger or smaller; of two zeros too."""
    if "xorsign" in modes or "abs" in modes:
        raise Unsupported(f"{name}.{'.'.join(modes)}")
    names = ("maximum", "minimum") if "NaN" in modes else ("fmax", "fmin")
    made = getattr(np, names[name == "min"])(a, b)
    whole = unsigned(made.dtype.itemsize)
    x, y = (np.asarray(n).view(whole) for n in (a, b))
    return np.where(a == b, (x & y if name == "max" else x | y).view(made.dtype), made)


def _of_16_bits(
    name: str, modes: Sequence[str], kind: str, mode: str, given: Sequence[Array]
) -> Array:
    if name in ("neg", "abs"):
        mask = np.uint16(0x8000)
        return given[0] ^ mask if name == "neg" else given[0] & ~mask
    values = [widened(np.asarray(x), kind) for x in given]
    if name in ("add", "sub"):
        return sum_of(values[0], values[1] if name == "add" else -values[1], kind, mode)
    if name == "mul":
        return narrowed(values[0] * values[1], kind, mode)
    if name == "fma":
        return fused(*values, kind, mode)
    return narrowed(_other(name, modes, "f64", values[0], values[-1]), kind)


def _build(one: Instruction, launch: Launch) -> Do:
    name, modes, kind = one.name, one.modes[:-1], one.kind
    if kind.endswith("x2"):
        return _pairs(one, launch)
    if modes and modes[-1] == "f32":
        return _mixed(one, launch)
    reads = [reader(n, kind, launch) for n in one.operands[1:]]

    def made(threads: Any) -> None:
        given = [read(threads) for read in reads]
        if name in ("max", "min"):  # of three for compute capability 10.0
            result = functools.reduce(lambda a, b: computed(name, modes, kind, [a, b]), given)
        else:
            result = computed(name, modes, kind, given)
        threads.write(one.operands[0], result)

    return made


def _mixed(one: Instruction, launch: Launch) -> Do:
    """``sub.rn.f32.bf16`` and the like, of compute capability 10.0: all operands but the last have
    16 bits, the result has 32."""
    *narrow, last = one.operands[1:]
    reads = [reader(n, one.kind, launch) for n in narrow]
    read = reader(last, "f32", launch)

    def made(threads: Any) -> None:
        given = [widened(np.asarray(r(threads)), one.kind).astype(np.float32) for r in reads]
        result = computed(one.name, one.modes[:-2], "f32", [*given, np.asarray(read(threads))])
        threads.write(one.operands[0], result)

    return made


def _pairs(one: Instruction, launch: Launch) -> Do:
    """Two numbers in one register, of 16 bits or, for compute capability 10.0, of 32."""
    kind = one.kind.removesuffix("x2")
    part, whole = (unsigned(n * type_of(kind).itemsize) for n in (1, 2))
    half = whole.type(8 * part.itemsize)
    reads = [reader(n, f"u{2 * half}", launch) for n in one.operands[1:]]

    def made(threads: Any) -> None:
        given = [np.asarray(read(threads)) for read in reads]
        low, high = (
            computed(
                one.name,
                one.modes[:-1],
                kind,
                [(x >> shift).astype(part).view(type_of(kind)) for x in given],
            )
            .view(part)
            .astype(whole)
            for shift in (whole.type(0), half)
        )
        threads.write(one.operands[0], low | (high << half))

    return made


def compared(how: str, a: Array, b: Array) -> Array:
    """``lt``, ``ltu`` (or one is no number), ``nan`` …"""
    if how in ("nan", "num"):
        nan = np.isnan(a) | np.isnan(b)
        return nan if how == "nan" else ~nan
    how = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)
    signs = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
             "gt": np.greater, "ge": np.greater_equal}  # fmt: skip
    made = signs[how[:2]](a, b)
    if np.asarray(a).dtype.kind != "f":
        return made
    nan = np.isnan(a) | np.isnan(b)
    return made | nan if how.endswith("u") else made & ~nan


def _comparison(one: Instruction, launch: Launch) -> Any:
    """What tells, for each thread, whether ``setp`` or ``set`` holds."""
    how, kind = one.modes[0], one.kind
    reads = [reader(n, kind, launch) for n in one.operands[1:3]]
    with_ = next((m for m in one.modes[1:] if m in ("and", "or", "xor")), "")
    more = reader(one.operands[3], "pred", launch) if with_ else None

    def made(threads: Any) -> tuple[Array, Any]:
        a, b = (read(threads) for read in reads)
        if kind in ("f16", "bf16"):
            a, b = widened(np.asarray(a), kind), widened(np.asarray(b), kind)
        if "ftz" in one.modes:
            a, b = flushed(a), flushed(b)
        return compared(how, a, b), None if more is None else more(threads)

    return made, {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.get(with_)


def _predicate(one: Instruction, launch: Launch) -> Do:
    target, _, other = str(one.operands[0]).partition("|")
    if one.kind.endswith("x2"):
        return _predicates(one, launch, target.strip(), other.strip())
    holds, join = _comparison(one, launch)

    def made(threads: Any) -> None:
        found, more = holds(threads)
        if other:
            threads.write(other.strip(), ~found if join is None else join(~found, more))
        threads.write(target.strip(), found if join is None else join(found, more))

    return made


def _predicates(one: Instruction, launch: Launch, low: str, high: str) -> Do:
    """Of two numbers of 16 bits each: a predicate for the lower ones, one for the upper ones."""
    kind = one.kind.removesuffix("x2")
    if len(one.operands) > 3 or "ftz" in one.modes:
        raise Unsupported(one.text)
    reads = [reader(n, "u32", launch) for n in one.operands[1:]]

    def made(threads: Any) -> None:
        given = [np.asarray(read(threads)) for read in reads]
        for target, shift in ((low, 0), (high, 16)):
            a, b = (widened((x >> np.uint32(shift)).astype(np.uint16), kind) for x in given)
            threads.write(target, compared(one.modes[0], a, b))

    return made


def _number(one: Instruction, launch: Launch) -> Do:
    """``set``: the same as a number."""
    kind = one.modes[-2]
    rest = Instruction(one.name, (*one.modes[:-2], one.kind), one.operands, "", one.text)
    holds, join = _comparison(rest, launch)
    true: Any = np.float32(1) if kind == "f32" else ~np.zeros((), type_of(kind))

    def made(threads: Any) -> None:
        found, more = holds(threads)
        found = found if join is None else join(found, more)
        threads.write(one.operands[0], np.where(found, true, true.dtype.type(0)))

    return made


def _kind_of_number(one: Instruction, launch: Launch) -> Do:
    """``testp``."""
    read = reader(one.operands[1], one.kind, launch)
    tests: dict[str, Any] = {
        "finite": np.isfinite, "infinite": np.isinf, "notanumber": np.isnan,
        "number": lambda x: ~np.isnan(x),
    }  # fmt: skip
    if one.modes[0] not in tests:
        raise Unsupported(one.text)
    return lambda threads: threads.write(one.operands[0], tests[one.modes[0]](read(threads)))


_SHARED = ("add", "sub", "mul", "div", "mad", "min", "max", "abs", "neg")
BUILDERS: dict[str, Any] = {
    **integers.both(dict.fromkeys(_SHARED, _build)),
    **dict.fromkeys(("fma", "copysign", *_APPROXIMATE), _build),
    "setp": _predicate, "set": _number, "testp": _kind_of_number,
}  # fmt: skip
