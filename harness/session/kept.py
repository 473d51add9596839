"""The kernels of graphs as they were generated before: a graph is not generated again until the
compiler or its text changes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from pathlib import Path

import harness
from harness.records.lines import Kept
from harness.records.run import GraphRecord
from harness.session.entries import Entry, FileEntry

ABOVE = "calibration cli history imports pytest report verdicts".split()
"""Parts of the package that code generation cannot import: the layers above this one."""


def kept_graphs(cache: Path, suite: str) -> Kept[GraphRecord]:
    """What the compiler at hand made of the graphs of ``suite`` before, by ``key``, in a file below
    ``cache``; what other compilers made of them goes."""
    name = suite.partition(":")[0]
    path = cache / "generated" / f"{name}-{generator()[:16]}.jsonl"
    for other in path.parent.glob(f"{name}-*.jsonl"):
        if other != path:
            other.unlink(missing_ok=True)
    return Kept(path, GraphRecord)


def key(entry: Entry) -> str:
    """Equal for equal name, text, target and chosen kernels; empty for what depends on more: a file
    of Python, or choices by time."""
    if not isinstance(entry, FileEntry) or entry.decides or not entry.file.bytes:
        return ""
    asked = (entry.name, entry.target, entry.only, entry.file.path.read_bytes())
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def generator() -> str:
    """A digest of all that generated code depends on besides the graph: the package without what is
    ``ABOVE``, Python, and the libraries that it computes with."""
    root, digest = Path(harness.__path__[0]), hashlib.sha256(sys.version.encode())
    for name in ("torch", "triton", "sympy", "numpy"):
        digest.update(f"{name} {importlib.metadata.version(name)}\0".encode())
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if place.parts[0] not in ABOVE and "__pycache__" not in place.parts and path.is_file():
            data = path.read_bytes()
            digest.update(f"{place.as_posix()} {len(data)}\0".encode() + data)
    return digest.hexdigest()
