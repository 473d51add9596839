"""Arithmetic of floating-point numbers as PTX rounds it, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
LEAST = np.float32(2.0**-126)
"""Least normal number of float32."""
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")


def flushed(x: Array) -> Array:
    """Zero, with the sign, in the place of subnormal numbers of float32."""
    small = np.abs(x) < LEAST
    return np.where(small, np.copysign(np.float32(0), x), x) if small.any() else x


def to_odd(near: Array, error: Array) -> Array:
    """``near + error`` in float64, whose last bit is 1 wherever it is inexact: rounding that again,
    to fewer bits, is rounding once."""
    move = (error != 0) & np.isfinite(near) & (near.view(np.int64) & 1 == 0)
    if not move.any():
        return near
    return np.where(move, np.nextafter(near, np.copysign(np.inf, error)), near)


def summed(a: Array, b: Array) -> tuple[Array, Array]:
    """A sum in float64, and what it lacks."""
    near = a + b
    other = near - a
    return near, (a - (near - other)) + (b - other)


def multiplied(a: Array, b: Array) -> tuple[Array, Array]:
    """A product in float64, and what it lacks."""
    near = a * b
    with_many = np.float64(2**27 + 1)
    upper_a, upper_b = a * with_many, b * with_many
    upper_a, upper_b = upper_a - (upper_a - a), upper_b - (upper_b - b)
    low_a, low_b = a - upper_a, b - upper_b
    error = low_a * low_b - (((near - upper_a * upper_b) - low_a * upper_b) - upper_a * low_b)
    return near, np.where(np.isfinite(error), error, 0.0)


def directed(near: Array, exact: Array, mode: str) -> Array:
    """``near``, the nearest numbers of a type to ``exact``, rounded by ``mode`` instead."""
    if mode == "rn":
        return near
    back = near.astype(np.float64)
    zero = np.zeros_like(near)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(exact), np.nextafter(near, zero), near)
    end, wrong = (-np.inf, back > exact) if mode == "rm" else (np.inf, back < exact)
    return np.where(wrong, np.nextafter(near, zero + near.dtype.type(end)), near)


def widened(bits: Array, kind: str) -> Array:
    """Float64 of bits that are numbers of the type ``kind``."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind in _EIGHT:
        values = torch.from_numpy(bits.astype(np.uint8)).view(_EIGHT[kind])
        return values.to(torch.float64).numpy()
    own = {"f16": np.float16, "f64": np.float64}.get(kind, np.float32)
    return bits.view(own).astype(np.float64)


_EIGHT = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def narrowed(exact: Array, kind: str, mode: str = "rn") -> Array:
    """Float64 (rounded to odd) as bits of the type ``kind``."""
    if kind == "f64":
        return exact.view(np.uint64)
    if kind == "f32":
        return directed(exact.astype(np.float32), exact, mode).view(np.uint32)
    if kind == "f16":
        return directed(exact.astype(np.float16), exact, mode).view(np.uint16)
    if kind in _EIGHT:
        values = torch.from_numpy(exact)
        most = torch.finfo(_EIGHT[kind]).max
        return values.clamp(-most, most).float().to(_EIGHT[kind]).view(torch.uint8).numpy()
    near = exact.astype(np.float32)
    bits = near.view(np.uint32)
    error = np.where(np.isfinite(near), exact - near.astype(np.float64), 0)
    inexact = (error != 0) & (bits & 1 == 0)
    odd = np.nextafter(near, np.copysign(np.float32(np.inf), error).astype(np.float32))
    bits = np.where(inexact, odd.view(np.uint32), bits)
    drop = 16 if kind == "bf16" else 13
    return (
        _cut(bits, drop, mode) if drop == 13 else (_cut(bits, drop, mode) >> 16).astype(np.uint16)
    )


def _cut(bits: Array, drop: int, mode: str) -> Array:
    """Bits of float32 without the last ``drop``, which are 0."""
    mask = np.uint32((1 << drop) - 1)
    half = np.uint32((1 << drop - 1) - 1)
    if mode == "rn":
        made = bits + half + ((bits >> drop) & np.uint32(1))
    elif mode == "rna":
        made = bits + half + np.uint32(1)
    else:
        away = {"rz": False, "rm": bits >> 31 == 1, "rp": bits >> 31 == 0}[mode]
        made = np.where(away, bits + mask, bits)
    nan = bits & np.uint32(0x7FFFFFFF) > 0x7F800000
    return np.where(nan, np.uint32(0x7FFF0000 if drop == 16 else 0x7FFFFFFF), made) & ~mask


def fused(a: Array, b: Array, c: Array, kind: str, mode: str = "rn") -> Array:
    """``a * b + c`` of float64 numbers, which are numbers of the type ``kind``, rounded once; as
    bits."""
    product, lacking = (a * b, None) if kind != "f64" else multiplied(a, b)
    near, error = summed(product, c)
    if lacking is not None:
        return np.where(np.isfinite(near), near + (error + lacking), near).view(np.uint64)
    return narrowed(to_odd(near, error), kind, mode)


def sum_of(a: Array, b: Array, kind: str, mode: str) -> Array:
    """``a + b`` of float64 numbers as bits of ``kind``."""
    return narrowed(to_odd(*summed(a, b)), kind, mode)
