"""What is in a cubin, and what of it the GPU sees.

A cubin carries the name of its source file and a table of line numbers, so two compilations of the
same kernel differ as soon as a line is added above it. The GPU sees nothing of that.
"""

from __future__ import annotations

import hashlib
import struct

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
    return _code(sections(cubin))


def _code(found: list[tuple[str, bytes]]) -> bytes:
    pieces = [stored for name, stored in found if name.startswith(CODE)]
    if not pieces:
        raise ValueError("no section with code")
    return b"".join(pieces)


def code_hash(cubin: bytes) -> str:
    """Names what ``cubin`` executes, in 32 hexadecimal digits: the same for two cubins that differ
    in source lines, file names or the kernel's name alone. Of anything else than a cubin, all
    bytes count."""
    try:
        every = sections(cubin)
        parts = [_code(every)]
        for kind in _CONSTANTS:
            parts += sorted(stored for name, stored in every if name.startswith(kind))
    except ValueError:
        parts = [cubin]
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:32]
