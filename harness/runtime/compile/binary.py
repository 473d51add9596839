"""Compiled kernels with all that is needed to launch them again, as files.

A file is a zip archive of ``launch.json`` and ``kernel.cubin`` (so that ``unzip`` and
``cuobjdump`` can look into it), uncompressed and with fixed dates: equal kernels are equal
files. Reading one needs neither Triton nor torch.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import CompileFailed, DamagedBinary
from harness.heuristics.facts import Config
from harness.records import modules as stated
from harness.runtime import module as modules
from harness.runtime.compile.cache import checksum
from harness.target import Target

FORMAT = 3
SUFFIX = ".kernel"
_FACTS, _CUBIN = "launch.json", "kernel.cubin"
_DATE = (1980, 1, 1, 0, 0, 0)
_SCALARS = dict(
    zip("i1 u1 i8 i16 i32 i64 u8 u16 u32 u64 fp32 f32 fp64".split(), "??bhiqBHIQffd", strict=True)
)
"""Triton's scalar types as letters of ``launch.c``."""

_log = logging.getLogger(__name__)


ASKED = (0, 0, 0)
"""The grid of a kernel whose sizes only a launch knows: the module's ``grid`` is asked then."""


@dataclass(frozen=True, slots=True)
class KernelBinary:
    """One kernel under one configuration for one kind of device.

    ``signature`` are argument names and Triton's types, constants left out; ``aligned`` the
    pointers whose addresses must be multiples of 16; ``shared`` bytes per block; ``source`` the
    hash of the module text that was compiled and ``triton`` the compiler's version.
    """

    name: str
    backend: str
    capability: int
    warp_size: int
    num_warps: int
    shared: int
    cooperative: bool
    grid: tuple[int, int, int]
    config: tuple[tuple[str, int], ...]
    signature: tuple[tuple[str, str], ...]
    aligned: tuple[str, ...]
    source: str
    triton: str
    cubin: bytes

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return self.num_warps * self.warp_size

    @property
    def kinds(self) -> bytes:
        """How ``launch.c`` passes each argument, one letter each."""
        letters = []
        for name, kind in self.signature:
            pointer = "A" if name in self.aligned else "P"
            letters.append(pointer if kind.startswith("*") else _SCALARS[kind])
        return "".join(letters).encode()

    def to_bytes(self) -> bytes:
        """The contents of its file."""
        facts = {**dataclasses.asdict(self), "format": FORMAT}
        cubin = facts.pop("cubin")
        facts |= {key: dict(facts[key]) for key in ("config", "signature")}
        facts["sha256"] = _digest(facts, cubin)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(_FACTS, _DATE), json.dumps(facts, indent=1) + "\n")
            archive.writestr(zipfile.ZipInfo(_CUBIN, _DATE), cubin)
        return made.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "") -> KernelBinary:
        """What ``to_bytes`` made. Raises ``DamagedBinary`` for anything else."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                facts, cubin = json.loads(archive.read(_FACTS)), archive.read(_CUBIN)
            return cls._of_facts(facts, cubin)
        # A damaged archive makes zipfile raise almost anything; none of it is a binary.
        except Exception as error:
            raise DamagedBinary(
                "a file is not a saved kernel, or a damaged one",
                where=where,
                got=f"{type(error).__name__}: {error}"[:300],
                expected=f"an archive of {_FACTS} and {_CUBIN} in format {FORMAT}",
                remedy="delete it; it is compiled again when it is needed",
            ) from error

    @classmethod
    def _of_facts(cls, facts: dict[str, Any], cubin: bytes) -> KernelBinary:
        known = {"format", "sha256", *(one.name for one in dataclasses.fields(cls))}
        if facts["format"] != FORMAT or not facts.keys() <= known:
            raise ValueError("another format")
        if facts.pop("sha256") != _digest(facts, cubin):
            raise ValueError("it is not what was saved")
        pairs = {key: list(facts[key].items()) for key in ("config", "signature")}
        made = msgspec.convert({**facts, **pairs, "cubin": cubin}, cls)
        whole = made.grid == ASKED or min(made.grid) > 0
        if not (whole and made.kinds.isascii() and 0 < made.threads <= 1024 and made.shared >= 0):
            raise ValueError("launch parameters out of range")
        return made


def _digest(facts: Mapping[str, Any], cubin: bytes) -> str:
    """Of all that decides a launch: a grid that somebody changed runs as far as a binary."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + cubin).hexdigest()


def of_compiled(
    compiled: Any, loaded: modules.LoadedModule, config: Config, unaligned: Collection[str]
) -> KernelBinary:
    """Triton's compiled kernel of ``loaded`` under ``config`` as a binary of its own. Raises
    ``CompileFailed`` for one that cannot be launched so: scratch memory, clusters, arguments other
    than addresses and numbers."""
    facts = compiled.metadata
    target = facts.target
    signature = tuple((n, k) for n, k in loaded.signature.items() if k != "constexpr")
    _require_plain(loaded.name, facts, signature)
    return KernelBinary(
        name=str(facts.name),
        backend=str(target.backend),
        capability=int(target.arch),
        warp_size=int(target.warp_size),
        num_warps=int(facts.num_warps),
        shared=int(facts.shared),
        cooperative=bool(getattr(facts, "launch_cooperative_grid", False)),
        grid=ASKED if loaded.unknown_sizes else loaded.grid(config),
        config=tuple(modules.config_dict(config).items()),
        signature=signature,
        aligned=pointers_aligned(loaded, unaligned),
        source=modules.text_hash(loaded.text),
        triton=version("triton"),
        cubin=bytes(compiled.asm["cubin"]),
    )


def pointers_aligned(
    loaded: modules.LoadedModule, unaligned: Collection[str] = ()
) -> tuple[str, ...]:
    """The pointers that compiled code may take to be multiples of 16."""
    names = (n for n in loaded.divisible_by_16 if loaded.signature.get(n, "").startswith("*"))
    return tuple(n for n in names if n not in unaligned)


def _require_plain(name: str, facts: Any, signature: tuple[tuple[str, str], ...]) -> None:
    asked = {
        "scratch memory": getattr(facts, "global_scratch_size", 0),
        "profiling memory": getattr(facts, "profile_scratch_size", 0),
        "clusters of blocks": getattr(facts, "num_ctas", 1) > 1,
        "arguments that are neither addresses nor numbers": [
            kind for _, kind in signature if not kind.startswith("*") and kind not in _SCALARS
        ],
    }
    if needs := [what for what, found in asked.items() if found]:
        raise CompileFailed(
            "a kernel cannot be launched without Triton's own launcher",
            where=name,
            got=f"it needs {', '.join(needs)}",
            expected="addresses and numbers as arguments, and no memory besides",
            remedy="launch it through its own `call`",
        )


def artifact(
    module_text: str,
    config: Config,
    target: Target,
    unaligned: Collection[str] = (),
    triton: str = "",
) -> str:
    """The name of a binary, from everything that decides what it does: 40 hexadecimal digits.
    ``triton`` is the version that compiled it (empty: the one installed). Generated kernels that
    execute the same share it, whatever graphs they are of."""
    facts = stated.facts(module_text)
    if facts.nodes and facts.code_hash == stated.code_hash(module_text):
        module_text = stated.code(module_text)  # beside it are names and what checks it
    parts = (
        FORMAT,
        triton or version("triton"),
        (target.backend, target.capability, target.warp_size),
        modules.config_dict(config),
        sorted(unaligned),
        module_text,
    )
    return checksum(parts)[:40]


def path(cache: Path, name: str) -> Path:
    """Where the binary called ``name`` (as ``artifact`` gives it) is kept."""
    return cache / "binaries" / name[:2] / f"{name}{SUFFIX}"


def find(cache: Path, name: str) -> KernelBinary | None:
    """The kept binary called ``name``; None if there is none, or, with a warning, a damaged one."""
    where = path(cache, name)
    try:
        return KernelBinary.from_bytes(where.read_bytes(), str(where))
    except OSError:
        return None
    except DamagedBinary as error:
        _log.warning("%s", error)
        return None


def too_large(kernel: str, got: str, expected: str) -> CompileFailed:
    """The error for a kernel that needs more than a device has."""
    what = "a compiled kernel does not fit the device"
    return CompileFailed(what, kernel, got, expected, "another configuration may fit")
