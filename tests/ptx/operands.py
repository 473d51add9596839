"""What operands mean."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.ptx.machine import SPECIAL, Launch, Read, Unsupported, type_of
from tests.ptx.memory import unsigned


def reader(text: Any, kind: str, launch: Launch) -> Read:
    """What gives an operand as numbers of the type ``kind``."""
    if isinstance(text, tuple):
        return _packed(text, kind, launch)
    numpy_type = type_of(kind)
    if text in launch.kernel.widths:
        return lambda threads: threads.read(text, numpy_type)
    if text[0] == "!":
        read = reader(text[1:], kind, launch)
        return lambda threads: ~read(threads)
    if SPECIAL.match(text):
        unsigned_type = unsigned(numpy_type.itemsize)
        return lambda threads: threads.special(text).astype(unsigned_type).view(numpy_type)
    number = _number(text, launch)
    if kind == "pred":
        value: Any = np.bool_(number != 0)
    else:
        bits = 8 * numpy_type.itemsize
        value = np.array(number & (1 << bits) - 1, unsigned(bits // 8)).view(numpy_type)[()]
    return lambda _: value


def _number(text: str, launch: Launch) -> int:
    """The bits of a number or of a name."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int("0x" + text[2:], 16)
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        return int(text.rstrip("U"), 0)
    if text == "WARP_SZ":
        return 32
    name, _, offset = text.partition("+")
    if name.strip() in launch.names:
        return launch.names[name.strip()] + int(offset or 0)
    raise Unsupported(text)


def _packed(parts: tuple[str, ...], kind: str, launch: Launch) -> Read:
    """Several registers as one number, the first lowest."""
    width = int(re.sub(r"\D", "", kind)) // len(parts)
    reads = [reader(one, f"u{width}", launch) for one in parts]
    whole = unsigned(width * len(parts) // 8)

    def made(threads: Any) -> Any:
        value = whole.type(0)
        for n, read in enumerate(reads):
            value = value | (read(threads).astype(whole) << whole.type(n * width))
        return value.view(type_of(kind))

    return made


def address(text: str, launch: Launch) -> Read:
    """What gives ``[register + offset]`` for each active thread."""
    inside = text.strip("[] ")
    name, _, offset = (one.strip() for one in inside.partition("+"))
    more = np.int64(int(offset or "0", 0)).view(np.uint64)
    width = launch.kernel.widths.get(name, 64)
    read = reader(name, f"u{width}", launch)

    def made(threads: Any) -> Any:
        found = np.asarray(read(threads)).astype(np.uint64) + more
        return found if found.ndim else np.full(threads.size(), found)

    return made


def writer(text: Any, kind: str) -> Any:
    """What sets a register, or several from parts of a number, the lowest first."""
    if not isinstance(text, tuple):
        return lambda threads, value: threads.write(text, value)
    width = int(re.sub(r"\D", "", kind)) // len(text)
    part, whole = unsigned(width // 8), unsigned(width * len(text) // 8)

    def made(threads: Any, value: Any) -> None:
        bits = np.asarray(value).view(whole)
        for n, name in enumerate(text):
            threads.write(name, (bits >> whole.type(n * width)).astype(part))

    return made
