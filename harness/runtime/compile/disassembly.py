"""What a compiled kernel's binary says: resources, instructions, spills, what it executes. The
tools that Triton's wheel ships read it. The disassembler takes a third of a second to start and
next to nothing per kernel, so many kernels are given to it at once, as one piece of raw code."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed
from harness.records.metrics import StaticMetrics

_TOOL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Binary:
    """A kernel as compiled: ``cubin``, the ``ptx`` it was assembled from, and how (``asked`` of
    the assembler besides)."""

    name: str
    cubin: bytes
    ptx: str
    capability: int
    fused: bool
    asked: str = ""

    @classmethod
    def of(cls, compiled: Any, name: str) -> Binary:
        """What Triton's compiled kernel holds."""
        meta = compiled.metadata
        asm = compiled.asm
        return cls(
            name,
            bytes(asm["cubin"]),
            str(asm["ptx"]),
            int(meta.target.arch),
            bool(meta.enable_fp_fusion),
            meta.ptx_options or "",
        )

    def code(self) -> bytes:
        """Its machine code. Raises ``CompileFailed`` for a file that has none."""
        try:
            return code(self.cubin)
        except ValueError as error:
            raise CompileFailed(
                "a kernel's binary cannot be read",
                where=self.name,
                got=str(error),
                expected="a 64-bit ELF file with a section .text",
                remedy="report the Triton version in use",
            ) from error

    @property
    def architecture(self) -> str:
        """What the assembler was told to assemble for (``sm_90a``)."""
        found = re.search(r"^\.target (\w+)", self.ptx, re.MULTILINE)
        return found.group(1) if found else f"sm_{self.capability}"


def facts(binaries: Sequence[Binary]) -> list[StaticMetrics | CompileFailed]:
    """Each binary's facts. Those of one architecture are disassembled together; where that
    fails, each is tried alone, so that a failure stays with the kernel it belongs to."""
    answers: dict[int, StaticMetrics | CompileFailed] = {}
    by_architecture: dict[str, list[int]] = {}
    for number, binary in enumerate(binaries):
        by_architecture.setdefault(binary.architecture, []).append(number)
    for members in by_architecture.values():
        chosen = [binaries[n] for n in members]
        try:
            found: list[StaticMetrics | CompileFailed] = list(_facts(chosen))
        except CompileFailed as error:
            found = [error] if len(chosen) == 1 else [facts([one])[0] for one in chosen]
        answers.update(zip(members, found, strict=True))
    return [answers[n] for n in range(len(binaries))]


def _facts(binaries: Sequence[Binary]) -> list[StaticMetrics]:
    """Facts of binaries of one architecture."""
    pieces = [binary.code() for binary in binaries]
    listing = _listing(binaries, b"".join(pieces))
    return [parse(lines) for lines in _cut(listing, [len(piece) for piece in pieces])]


def _listing(binaries: Sequence[Binary], code: bytes) -> str:
    """The machine ``code`` of binaries of one architecture, one after the other, as text."""
    from triton import knobs

    where = ", ".join(binary.name for binary in binaries[:3])
    architecture = binaries[0].architecture.replace("sm_", "SM")
    return _tool([knobs.nvidia.nvdisasm.path, "-b", architecture], code, where)


def lacks_addend(binary: Binary) -> bool:
    """Whether a sum of two 16-bit halves adds 0, which no program asks for: where one half is not
    used, ptxas before 13 loses the number (https://github.com/triton-lang/triton/issues/11581)."""
    packed = any(name in binary.ptx for name in ("add.s16x2", "add.u16x2"))
    return packed and _NOTHING_ADDED.search(_listing([binary], binary.code())) is not None


def _cut(listing: str, sizes: Sequence[int]) -> list[list[str]]:
    """The lines of each of several pieces of code that follow one another."""
    parts: list[list[str]] = [[] for _ in sizes]
    ends = list(accumulate(sizes))
    for line in listing.splitlines():
        if found := _ADDRESS.match(line):
            parts[bisect_right(ends, int(found.group(1), 16))].append(line)
    return parts


def resources(cubin: bytes, name: str) -> tuple[int, int]:
    """Registers, and bytes of stack, per thread of kernel ``name``. Raises ``CompileFailed``."""
    from triton import knobs

    text = _tool([knobs.nvidia.cuobjdump.path, "-res-usage"], cubin, name)
    found = re.search(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:\d+\s+LOCAL:(\d+)", text)
    if found is None:
        raise CompileFailed(
            "the resource report of a kernel cannot be read",
            where=name,
            got=text[-200:],
            expected="a line with REG, STACK, SHARED and LOCAL",
            remedy="report the Triton version in use",
        )
    return int(found.group(1)), max(int(found.group(2)), int(found.group(3)))


def spills(binary: Binary) -> int:
    """Bytes spilled, from the assembler's own report. A stack alone does not say: some
    device-library functions keep tables in local memory without spilling anything."""
    fused = [] if binary.fused else ["--fmad=false"]
    # Line information keeps the assembler's choices as they were in the first run.
    command = [_assembler(binary.capability), "-lineinfo", "-v", *fused]
    command += [*binary.asked.split(), f"--gpu-name={binary.architecture}", "-o", "again.cubin"]
    report = _tool(command, binary.ptx.encode(), binary.name)
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    return int(found.group(1)) + int(found.group(2)) if found else 0


def _assembler(capability: int) -> str:
    """The assembler Triton used: since 3.9 the newer of its two for capability 90 as well."""
    from triton.backends.nvidia import compiler

    return str(compiler.get_ptxas(capability).path)


def _tool(command: list[str], contents: bytes, where: str) -> str:
    """What ``command`` prints of a file with such ``contents``. Raises ``CompileFailed``."""
    tool, *options = [str(Path(command[0]).absolute()), *command[1:]]
    given: dict[str, Any] = {"capture_output": True, "text": True, "timeout": _TOOL_SECONDS}
    with tempfile.TemporaryDirectory(prefix="harness-sass-") as folder:
        (Path(folder) / "kernel").write_bytes(contents)
        try:  # in the folder, where the assembler writes, too
            done = subprocess.run([tool, *options, "kernel"], cwd=folder, check=True, **given)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or ""
            raise CompileFailed(
                "a tool of the Triton wheel failed",
                where=where,
                got=f"{Path(tool).name}: {error} {said}".strip()[:500],
                expected="cuobjdump, nvdisasm and ptxas as shipped with Triton",
                remedy="install triton again",
            ) from error
    return done.stdout + done.stderr


# -- the disassembly (NVIDIA's SASS) ------------------------------------------------------

_ADDRESS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/")
"""The start of a line with an instruction: its address in bytes, in hexadecimal."""
_INSTRUCTION = re.compile(
    r"\s+(@!?U?P[T0-9]+\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)(?:\s+0x([0-9a-f]+))?"
)
_NOTHING_ADDED = re.compile(r"\bVIADD\.16x2 [^;]*, 0x0 ?;")

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


def group(opcode: str) -> str:
    """Which group an opcode without its modifiers (``LDG``, ``FFMA``) belongs to."""
    floats = ((_FLOAT64, "float64"), (_FLOAT16, "float16"), (_FLOAT32, "float32"))
    matching = (name for pattern, name in floats if pattern.match(opcode))
    return _GROUP_OF.get(opcode) or next(matching, "integer")


def width(modifiers: Iterable[str]) -> int:
    """Bytes one thread moves, from a memory opcode's modifiers; 4 where none says."""
    widths = [int(found.group(1)) for found in map(_WIDTH.match, modifiers) if found]
    return (widths or [32])[-1] // 8


def parse(lines: Iterable[str]) -> StaticMetrics:
    """What the lines of a raw disassembly (``nvdisasm -b``) say of one kernel, and 0 for the rest.
    The padding after the last ``EXIT`` (a branch to itself and ``NOP``) is not counted."""
    counts: Counter[str] = Counter()
    load = store = 0
    for line in lines:
        address = _ADDRESS.match(line)
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
    mix = tuple(sorted(counts.items()))
    return StaticMetrics(0, 0, 0, 0, sum(counts.values()), load, store, mix)


# -- the file: a cubin is an ELF file of 64 bits ------------------------------------------

_SECTION = struct.Struct("<IIQQQQIIQQ")
"""An ELF64 section header: name, type, flags, address, offset, size, link, info, alignment,
entry size."""
_NOTHING_STORED = 8
"""The type of a section without contents in the file (``SHT_NOBITS``)."""
CODE = ".text"
_CONSTANTS = (".nv.constant", ".nv.global", ".rodata")
"""What instructions read besides arguments, by the beginning of the sections' names."""


def sections(cubin: bytes) -> list[tuple[str, bytes]]:
    """Name and contents of each section of an ELF file of 64 bits; empty contents for a section
    that has none in the file. Raises ``ValueError`` for anything else."""
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError(f"the file begins with {cubin[:5]!r}")
    try:
        (start,) = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
        headers = [_SECTION.unpack_from(cubin, start + i * size) for i in range(count)]
        labels = headers[names][4]
        found = []
        for name, kind, _, _, place, length, *_ in headers:
            end = cubin.index(b"\0", labels + name)
            stored = b"" if kind == _NOTHING_STORED else cubin[place : place + length]
            found.append((cubin[labels + name : end].decode("ascii", "replace"), stored))
    except (struct.error, IndexError) as error:
        raise ValueError(str(error)) from error
    return found


def code(cubin: bytes) -> bytes:
    """The machine code: its sections ``.text…`` one after the other. Raises ``ValueError`` where
    there is none."""
    if not (pieces := [stored for name, stored in sections(cubin) if name.startswith(CODE)]):
        raise ValueError("no section with code")
    return b"".join(pieces)


def code_hash(cubin: bytes) -> str:
    """Names what ``cubin`` executes, in 32 hexadecimal digits: the same for two cubins that differ
    in source lines, file names or the kernel's name alone. Of anything else than a cubin, all
    bytes count."""
    try:
        every, parts = sections(cubin), [code(cubin)]
        for kind in _CONSTANTS:
            parts += sorted(stored for name, stored in every if name.startswith(kind))
    except ValueError:
        parts = [cubin]
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:32]
