"""An interpreter of PTX, of one thread: what a GPU makes of subnormal numbers, where there is none.

Arithmetic of float32 is rounded once, approximations are rounded to nearest. A register holds bits,
as an integer."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

LEAST = 2.0**-126
"""Least normal number of float32."""


def number(bits: int) -> float:
    """The float32 that has these bits."""
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0])


def bits_of(value: float) -> int:
    """The bits of a float32."""
    return int(np.array(value, np.float32).view(np.uint32))


def flushed(value: float) -> float:
    """Zero, with the sign, in the place of a subnormal number."""
    return math.copysign(0.0, value) if abs(value) < LEAST else value


def rounded(exact: Fraction, mode: str) -> float:
    """A number that is not zero as float32, to nearest (``rn``), towards 0 (``rz``) or down."""
    shift = max(math.frexp(float(abs(exact)))[1] - 24, -149) if abs(exact) > 2**-1000 else -149
    scaled = exact / Fraction(2) ** shift
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor}[mode](scaled)
    size = abs(whole) * Fraction(2) ** shift
    value = math.inf if size >= 2**128 else float(size)
    return math.copysign(value, exact)


def _fused(a: float, b: float, c: float, mode: str) -> float:
    with np.errstate(all="ignore"):
        plain = float(np.float64(a) * np.float64(b) + np.float64(c))
    if not all(map(math.isfinite, (a, b, c))):
        return plain
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return rounded(exact, mode) if exact else plain


def _whole(value: float, mode: str) -> float:
    if not math.isfinite(value):
        return value
    made = {"rni": round, "rmi": math.floor, "rpi": math.ceil, "rzi": math.trunc}[mode](value)
    return math.copysign(float(made), value)


def _divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float((np.float64(a) / np.float64(b)).astype(np.float32))


def _approximate(function: Callable[[Any], Any]) -> Callable[[float], float]:
    def made(value: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.float64(function(np.float64(value))).astype(np.float32))

    return made


_UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "neg": lambda x: -x,
    "ex2": _approximate(np.exp2),
    "lg2": _approximate(np.log2),
    "rsqrt": _approximate(lambda x: 1 / np.sqrt(x)),
    "rcp": _approximate(lambda x: 1 / x),
    "sqrt": _approximate(np.sqrt),
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "min": min, "max": max,
}  # fmt: skip


def _float(name: str, modes: Sequence[str], given: Sequence[float]) -> float:
    """The instruction ``name`` of float32."""
    mode = next((m for m in modes if m in ("rn", "rz", "rm")), "rn")
    a, b, c = (*given, 0.0, 0.0)[:3]
    if name == "fma":
        return _fused(a, b, c, mode)
    if name in ("add", "sub"):
        return _fused(a, 1.0, b if name == "add" else -b, mode)
    if name == "mul":
        return _fused(a, b, math.copysign(0.0, a) * math.copysign(1.0, b), mode)
    if name == "div":  # an approximate one's reciprocal of the largest divisors is 0
        far = "approx" in modes and 2.0**126 < abs(b) < math.inf
        return _fused(a, math.copysign(0.0, b), -0.0, mode) if far else _divided(a, b)
    if name in ("max", "min"):
        if math.isnan(a) or math.isnan(b):
            return math.nan if "NaN" in modes else b if math.isnan(a) else a
        return (max if name == "max" else min)(a, b)
    if name == "copysign":
        return math.copysign(b, a)
    return _UNARY[name](a)


def _compared(how: str, kind: str, a: int, b: int) -> bool:
    if kind == "f32":
        x, y = number(a), number(b)
        nan = math.isnan(x) or math.isnan(y)
        if how in ("nan", "num"):
            return nan == (how == "nan")
        return how.endswith("u") if nan else _COMPARE[how[:2]](x, y)
    return _COMPARE[how](_integer(a, kind), _integer(b, kind))


def _integer(value: int, kind: str) -> int:
    """The bits ``value`` as a number of the type ``kind``: ``s32``, ``u64``, ``pred`` …"""
    width = int(re.sub(r"\D", "", kind) or 1)
    value &= (1 << width) - 1
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def _converted(modes: Sequence[str], value: int) -> int:
    """``cvt``: of float32 to integers and back, to whole numbers, to [0, 1], or of integers."""
    target, source = modes[-2:]
    if source != "f32":
        whole = _integer(value, source)
        if target != "f32":
            return whole
        return bits_of(rounded(Fraction(whole), "rn") if whole else 0.0)
    x = flushed(number(value)) if "ftz" in modes else number(value)
    if "sat" in modes:
        return bits_of(min(max(x, 0.0), 1.0))
    x = _whole(x, next(m for m in modes if m.endswith("i")))
    if target == "f32":
        return bits_of(x)
    most = 1 << int(target[1:]) - 1
    return 0 if math.isnan(x) else int(min(max(x, -most), most - 1))


class Thread:
    """One thread, number 0, of a kernel. ``memory`` has words by address: parameter ``n`` is the
    address ``n << 20``."""

    def __init__(self, text: str, memory: Mapping[int, int]) -> None:
        self.memory, self.registers = dict(memory), dict[str, int]()
        body = text[text.index("%bb.0") : text.index("$L__func_end")].replace("ret;", "bra end;")
        body = re.sub(r"//.*|^\s*\.(loc|file).*", "", body, flags=re.MULTILINE)
        parts = (re.sub(r"\s+", " ", one).strip() for one in re.split(r"[;\n]", body))
        self.lines = [one for one in parts if one]
        self.labels = {one[:-1]: n for n, one in enumerate(self.lines) if one.endswith(":")}
        self.labels["end"] = len(self.lines)

    def value(self, text: str) -> int:
        """The bits of an operand."""
        if text.startswith("0f"):
            return int(text.replace("0f", "0x"), 16)
        if text[0] == "%":
            return 0 if text.startswith(("%tid", "%ctaid")) else self.registers[text]
        if text.startswith("__local_depot"):
            return 1 << 40
        return int(text, 0)

    def address(self, text: str) -> int:
        """Where ``[register + offset]`` or ``[parameter]`` is."""
        name, _, offset = text.strip("[] ").partition("+")
        return self.value(name.strip()) + int(offset or 0)

    def run(self) -> None:
        """Every instruction up to the return."""
        at = 0
        while at < len(self.lines):
            line, at = self.lines[at], at + 1
            if line.endswith(":"):
                continue
            if line[0] == "@":
                test, line = line[1:].split(" ", 1)
                if bool(self.registers[test.lstrip("!")]) == (test[0] == "!"):
                    continue
            name, _, rest = line.partition(" ")
            if name.startswith("bra"):
                at = self.labels[rest.strip()]
                continue
            parts = [one.strip(" {}") for one in rest.split(",")]
            self.execute(*name.split("."), operands=parts)

    def execute(self, name: str, *modes: str, operands: list[str]) -> None:
        """One instruction that does not jump."""
        if name == "st":
            self.memory[self.address(operands[0])] = self.value(operands[1])
        elif name == "ld" and modes[0] == "param":
            self.registers[operands[0]] = int(operands[1].strip("[]").rpartition("_")[2]) << 20
        elif name == "ld":
            self.registers[operands[0]] = self.memory[self.address(operands[1])]
        else:
            given = [self.value(one) for one in operands[1:]]
            self.registers[operands[0]] = self.computed(name, modes, given)

    def computed(self, name: str, modes: Sequence[str], given: list[int]) -> int:
        """The result of an instruction that has one."""
        kind = modes[-1]
        if name == "setp":
            a, b = (bits_of(flushed(number(v))) if "ftz" in modes else v for v in given)
            return _compared(modes[0], kind, a, b)
        if name == "cvt":
            return _converted(modes, given[0]) & 0xFFFFFFFFFFFFFFFF
        if name == "selp":
            return given[0] if given[2] else given[1]
        if name == "mov":
            return given[0]
        if kind == "f32":
            numbers = [number(v) for v in given]
            if "ftz" in modes:
                return bits_of(flushed(_float(name, modes, [flushed(x) for x in numbers])))
            return bits_of(_float(name, modes, numbers))
        return self.integer(name, modes, given)

    def integer(self, name: str, modes: Sequence[str], given: list[int]) -> int:
        """An instruction of integers, bits or predicates."""
        if modes[0] == "wide":
            return given[0] * given[1] + (given[2] if name == "mad" else 0)
        width = int(re.sub(r"\D", "", modes[-1]) or 1)
        values = [_integer(v, modes[-1]) for v in given]
        if name in ("not", "neg"):
            made = ~values[0] if name == "not" else -values[0]
        elif name == "shl":
            made = values[0] << min(given[1], width)  # a count that is larger counts as the width
        elif name == "shr":
            made = values[0] >> min(given[1], width)
        elif name == "mad":
            made = values[0] * values[1] + values[2]
        else:
            made = _BITWISE[name](*values)
        return made & ((1 << width) - 1)


def evaluated(text: str, operands: Sequence[float]) -> float:
    """What a kernel of two parameters (operands, 128 apart, and a result) gives for these."""
    memory = {512 * n: bits_of(x) for n, x in enumerate(operands)}
    thread = Thread(text, memory)
    thread.run()
    return number(thread.memory[1 << 20])
