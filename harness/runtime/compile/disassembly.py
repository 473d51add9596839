"""What a compiled kernel's binary says: resources, instructions, spills.

The tools that Triton's wheel ships read it. The disassembler takes a third of a second to
start and next to nothing per kernel, so many kernels are given to it at once, as one piece
of raw code.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed
from harness.runtime.compile import cubin as cubins
from harness.runtime.compile.sass import ADDRESS, SassFacts, parse

_TOOL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Binary:
    """A kernel as compiled: ``cubin``, the ``ptx`` it was assembled from, and how."""

    name: str
    cubin: bytes
    ptx: str
    capability: int
    fused: bool

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
        )

    @property
    def architecture(self) -> str:
        """What the assembler was told to assemble for (``sm_90a``)."""
        found = re.search(r"^\.target (\w+)", self.ptx, re.MULTILINE)
        return found.group(1) if found else f"sm_{self.capability}"


def code(cubin: bytes, name: str) -> bytes:
    """The machine code in ``cubin``, an ELF file: its sections ``.text…`` one after the other.

    Raises ``CompileFailed`` where it is not such a file.
    """
    try:
        return cubins.code(cubin)
    except ValueError as error:
        raise CompileFailed(
            "a kernel's binary cannot be read",
            where=name,
            got=str(error),
            expected="a 64-bit ELF file with a section .text",
            remedy="report the Triton version in use",
        ) from error


def facts(binaries: Sequence[Binary]) -> list[SassFacts | CompileFailed]:
    """Each binary's facts. Those of one architecture are disassembled together; where that
    fails, each is tried alone, so that a failure stays with the kernel it belongs to."""
    answers: dict[int, SassFacts | CompileFailed] = {}
    by_architecture: dict[str, list[int]] = {}
    for index, binary in enumerate(binaries):
        by_architecture.setdefault(binary.architecture, []).append(index)
    for members in by_architecture.values():
        try:
            found: list[SassFacts | CompileFailed] = list(_facts([binaries[i] for i in members]))
        except CompileFailed as error:
            if len(members) == 1:
                found = [error]
            else:
                found = [facts([binaries[i]])[0] for i in members]
        answers.update(zip(members, found, strict=True))
    return [answers[index] for index in range(len(binaries))]


def _facts(binaries: Sequence[Binary]) -> list[SassFacts]:
    """Facts of binaries of one architecture."""
    from triton import knobs

    pieces = [code(binary.cubin, binary.name) for binary in binaries]
    where = ", ".join(binary.name for binary in binaries[:3])
    architecture = binaries[0].architecture.replace("sm_", "SM")
    with tempfile.TemporaryDirectory(prefix="harness-sass-") as folder:
        raw = Path(folder) / "kernels.raw"
        raw.write_bytes(b"".join(pieces))
        listing = _tool([knobs.nvidia.nvdisasm.path, "-b", architecture, str(raw)], where)
    return [parse(lines) for lines in _cut(listing, [len(piece) for piece in pieces])]


def _cut(listing: str, sizes: Sequence[int]) -> list[list[str]]:
    """The lines of each of several pieces of code that follow one another."""
    parts: list[list[str]] = [[] for _ in sizes]
    number, end = 0, sizes[0]
    for line in listing.splitlines():
        found = ADDRESS.match(line)
        if found is None:
            continue
        while int(found.group(1), 16) >= end:
            number += 1
            end += sizes[number]
        parts[number].append(line)
    return parts


def resources(binary: Binary) -> tuple[int, int]:
    """Registers, and bytes of stack, per thread. Raises ``CompileFailed``."""
    from triton import knobs

    with tempfile.TemporaryDirectory(prefix="harness-sass-") as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(binary.cubin)
        text = _tool([knobs.nvidia.cuobjdump.path, "-res-usage", str(file)], binary.name)
    found = re.search(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:\d+\s+LOCAL:(\d+)", text)
    if found is None:
        raise CompileFailed(
            "the resource report of a kernel cannot be read",
            where=binary.name,
            got=text[-200:],
            expected="a line with REG, STACK, SHARED and LOCAL",
            remedy="report the Triton version in use",
        )
    return int(found.group(1)), max(int(found.group(2)), int(found.group(3)))


def spills(binary: Binary) -> int:
    """Bytes spilled, from the assembler's own report. A stack alone does not say: some
    device-library functions keep tables in local memory without spilling anything."""
    with tempfile.TemporaryDirectory(prefix="harness-sass-") as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(binary.ptx)
        fused = [] if binary.fused else ["--fmad=false"]
        # Line information keeps the assembler's choices as they were in the first run.
        command = [_assembler(binary.capability), "-lineinfo", "-v", *fused]
        command.append(f"--gpu-name={binary.architecture}")
        output = str(Path(folder) / "again.cubin")
        report = _tool([*command, str(source), "-o", output], binary.name)
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    return int(found.group(1)) + int(found.group(2)) if found else 0


def _assembler(capability: int) -> str:
    """The assembler Triton used: since 3.9 the newer of its two for capability 90 as well."""
    from triton.backends.nvidia import compiler

    return str(compiler.get_ptxas(capability).path)


def _tool(command: list[str], where: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TOOL_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or ""
        raise CompileFailed(
            "a tool of the Triton wheel failed",
            where=where,
            got=f"{Path(command[0]).name}: {error} {said}".strip()[:500],
            expected="cuobjdump, nvdisasm and ptxas as shipped with Triton",
            remedy="install triton again",
        ) from error
    return done.stdout + done.stderr
