"""Facts read from a disassembled kernel (NVIDIA's SASS)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

ADDRESS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/")
"""The start of a line with an instruction: its address in bytes, in hexadecimal."""
_INSTRUCTION = re.compile(
    r"\s+(@!?U?P[T0-9]+\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)(?:\s+0x([0-9a-f]+))?"
)

_GROUPS: dict[str, str] = {
    "load_global": "LDG LD LDGSTS UTMALDG UBLKCP",
    "store_global": "STG ST UTMASTG",
    "load_shared": "LDS LDSM",
    "store_shared": "STS STSM",
    "load_local": "LDL",
    "store_local": "STL",
    "load_constant": "LDC ULDC LDCU",
    "atomic": "ATOM ATOMG ATOMS RED REDG REDUX CREDUX",
    "barrier": "BAR WARPSYNC DEPBAR MEMBAR BSYNC BSSY SYNCS LDGDEPBAR",
    "shuffle": "SHFL VOTE VOTEU MATCH",
    "special": "MUFU",
    "convert": "F2F F2I I2F I2FP F2FP FRND I2I F2IP I2IP",
    "matrix": "HMMA IMMA DMMA QGMMA HGMMA IGMMA UTCHMMA UTCQMMA",
    "control": "BRA EXIT CALL RET BRX JMP BREAK NANOSLEEP YIELD KILL BPT",
    "move": "MOV UMOV SEL USEL PRMT UPRMT S2R S2UR CS2R R2UR FSEL P2R R2P PLOP3 UPLOP3",
}
_GROUP_OF = {op: group for group, ops in _GROUPS.items() for op in ops.split()}
_FLOAT64 = re.compile(r"^D(ADD|MUL|FMA|SETP|MNMX|SET)$")
_FLOAT16 = re.compile(r"^H(ADD|MUL|FMA|SETP|MNMX|SET)2?$")
_FLOAT32 = re.compile(r"^F(ADD|MUL|FMA|SETP|MNMX|SET|CHK|SWZADD|MNMX3|ADD2|MUL2|FMA2)$")
_WIDTH = re.compile(r"^(?:U|S)?(8|16|32|64|128|256)$")


@dataclass(frozen=True, slots=True)
class SassFacts:
    """Instruction counts of one kernel: all of them, padding not counted; the widest
    global load and store in bytes per thread (0 if there is none); counts by group."""

    instructions: int
    widest_load: int
    widest_store: int
    mix: tuple[tuple[str, int], ...]


def group(opcode: str) -> str:
    """Which group an opcode without its modifiers (``LDG``, ``FFMA``) belongs to."""
    known = _GROUP_OF.get(opcode)
    if known is not None:
        return known
    for pattern, name in ((_FLOAT64, "float64"), (_FLOAT16, "float16"), (_FLOAT32, "float32")):
        if pattern.match(opcode):
            return name
    return "integer"


def width(modifiers: Iterable[str]) -> int:
    """Bytes one thread moves, from a memory opcode's modifiers; 4 where none says."""
    bits = 32
    for modifier in modifiers:
        found = _WIDTH.match(modifier)
        if found:
            bits = int(found.group(1))
    return bits // 8


def parse(lines: Iterable[str]) -> SassFacts:
    """Facts from the lines of a raw disassembly (``nvdisasm -b``) of one kernel.

    The padding after the last ``EXIT`` (a branch to itself and ``NOP``) is not counted.
    """
    counts: Counter[str] = Counter()
    load = store = 0
    for line in lines:
        address = ADDRESS.match(line)
        found = None if address is None else _INSTRUCTION.match(line, address.end())
        if address is None or found is None:
            continue
        predicate, opcode, modifiers, operand = found.groups()
        here = operand is not None and int(operand, 16) == int(address.group(1), 16)
        if opcode == "NOP" or (opcode == "BRA" and here and not predicate):
            continue
        kind = group(opcode)
        counts[kind] += 1
        if kind == "load_global":
            load = max(load, width(modifiers.split(".")))
        elif kind == "store_global":
            store = max(store, width(modifiers.split(".")))
    return SassFacts(sum(counts.values()), load, store, tuple(sorted(counts.items())))
