"""Conversions (``cvt``) and addresses of other spaces (``cvta``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.floats import ROUNDINGS, flushed, narrowed, summed, to_odd, widened
from tests.ptx.machine import Do, Launch, Unsupported, type_of
from tests.ptx.memory import LOCAL, SHARED, Array
from tests.ptx.operands import reader
from tests.ptx.parsing import Instruction

_WHOLE = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc}
_EIGHT = ("e4m3x2", "e5m2x2")


def is_float(kind: str) -> bool:
    """Whether ``kind`` is a type of floating-point numbers."""
    return "f" in kind or kind[0] == "e"


def converted(modes: tuple[str, ...], target: str, source: str, value: Array) -> Array:
    """Numbers of the type ``source`` (16-bit floats: bits) as ``target``."""
    if not is_float(source):
        return _of_integer(modes, target, value)
    if source == "f32" and "ftz" in modes:
        value = flushed(value)
    exact = widened(np.asarray(value), source)
    if (name := next((m for m in modes if m in _WHOLE), None)) is not None:
        exact = _WHOLE[name](exact)
    if not is_float(target):
        return _to_integer(target, exact)
    if "sat" in modes:
        exact = np.clip(np.where(np.isnan(exact), 0, exact), 0, 1)
    if "relu" in modes:
        exact = np.where(exact <= 0, 0.0, exact)
    made = narrowed(exact, target, next((m for m in modes if m in ROUNDINGS), "rn"))
    return flushed(made.view(np.float32)) if "ftz" in modes and target == "f32" else made


def _to_integer(target: str, whole: Array) -> Array:
    kind = type_of(target)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    whole = np.where(np.isnan(whole), 0, whole)
    inside = np.clip(
        whole, float(least), np.nextafter(float(most) + 1, 0) if most > 2**53 else most
    )
    made = inside.astype(kind)
    return np.where(whole >= float(most), kind.type(most), made)


def _of_integer(modes: tuple[str, ...], target: str, value: Array) -> Array:
    if not is_float(target):
        if "sat" in modes:
            of, to = np.iinfo(value.dtype), np.iinfo(type_of(target))
            value = np.clip(value, max(of.min, to.min), min(of.max, to.max))
        return value.astype(type_of(target))
    near = value.astype(np.float64)
    if value.dtype.itemsize == 8 and target != "f64":  # what float64 does not hold
        upper = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
        near = to_odd(*summed(upper, (value & value.dtype.type(0xFFFFFFFF)).astype(np.float64)))
    return narrowed(near, target, next((m for m in modes if m in ROUNDINGS), "rn"))


def _conversion(one: Instruction, launch: Launch) -> Do:
    *modes, target, source = one.modes
    if target in _EIGHT or (target.endswith("x2") and source not in _EIGHT):
        return _to_pair(one, launch)
    if source in _EIGHT:
        return _from_pair(one, launch)
    if target.endswith("x2") or "pack" in modes:
        raise Unsupported(one.text)
    read = reader(one.operands[1], source, launch)
    kept = tuple(modes)

    def made(threads: Any) -> None:
        threads.write(one.operands[0], converted(kept, target, source, np.asarray(read(threads))))

    return made


def _to_pair(one: Instruction, launch: Launch) -> Do:
    """Two numbers into one register, the first above."""
    *modes, target, source = one.modes
    each, kept = target.removesuffix("x2"), tuple(modes)
    if source != "f32":
        raise Unsupported(one.text)
    reads = [reader(n, source, launch) for n in one.operands[1:3]]
    shift = 8 if target in _EIGHT else 16

    def made(threads: Any) -> None:
        upper, lower = (
            np.asarray(converted(kept, each, source, np.asarray(read(threads)))).astype(np.uint32)
            for read in reads
        )
        both = lower | (upper << np.uint32(shift))
        threads.write(one.operands[0], both.astype(np.uint16) if shift == 8 else both)

    return made


def _from_pair(one: Instruction, launch: Launch) -> Do:
    *_, target, source = one.modes
    read = reader(one.operands[1], "u16", launch)
    each, of = target.removesuffix("x2"), source.removesuffix("x2")

    def made(threads: Any) -> None:
        bits = np.asarray(read(threads))
        parts = [narrowed(widened(bits >> n & 255, of), each).astype(np.uint32) for n in (0, 8)]
        threads.write(one.operands[0], parts[0] | (parts[1] << np.uint32(16)))

    return made


def _address(one: Instruction, launch: Launch) -> Do:
    """Generic addresses of shared and local memory are in windows."""
    read = reader(one.operands[1], one.kind, launch)
    window = next((n for s, n in (("shared", SHARED), ("local", LOCAL)) if s in one.modes), 0)
    more = np.int64(-window if "to" in one.modes else window).view(np.uint64)
    return lambda threads: threads.write(one.operands[0], read(threads).astype(np.uint64) + more)


BUILDERS: dict[str, Any] = {"cvt": _conversion, "cvta": _address}
