"""The cache folder: what lies in it can be made again, so a run must not fail for want of it. Files
in it are executed (kernels, the launcher), so it must be nobody else's to write in."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_NEEDED = 1 << 20
"""Bytes that must fit: about what one kernel's binaries take."""
_ROOT = 0
_FOLDERS = ("binaries", "modules", "static", "triton", "tuned")


@contextlib.contextmanager
def usable(folder: Path | None) -> Iterator[tuple[Path, str]]:
    """``folder`` if it can be used, else a temporary one that goes away afterwards; and, for the
    latter, a sentence that says why. None asks for a temporary one: nothing found, nothing kept
    (HARNESS_NO_CACHE)."""
    reason = "" if folder is None else refusal(folder)
    if folder is not None and not reason:
        yield folder, ""
        return
    note = f"the cache {folder} cannot be used ({reason}); nothing is cached for this run"
    with tempfile.TemporaryDirectory(prefix="harness-cache-", ignore_cleanup_errors=True) as other:
        yield Path(other), note if reason else ""


def trusted(folder: Path) -> Path:
    """As ``usable`` for as long as the process runs; a warning says why, once."""
    with usable(folder) as (_, note):
        if not note:
            return folder
    warnings.warn(note, RuntimeWarning, stacklevel=2)
    return process_folder()


def refusal(folder: Path) -> str:
    """Why nothing may be kept below ``folder``, which is made if it is missing; empty if
    something may."""
    if odd := [c for c in str(folder) if c in '"\\' or not c.isprintable()]:
        return f"NVIDIA's assembler reads no path with {odd[0]!r} in it"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = [each for each in _FOLDERS if (folder / each).is_file()]
        reason = exposure(folder) or (files and f"{files[0]} in it is a file, not a folder")
        if reason:
            return reason
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_NEEDED))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def exposure(folder: Path) -> str:
    """Which other user could put a file below ``folder``, or another folder in its place; empty
    if none could (but root)."""
    trusted = (_ROOT, os.geteuid())
    place = folder.resolve()
    found = place.stat()
    if found.st_uid not in trusted:
        return f"{place} belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write to {place}: chmod go-w"
    for parent in place.parents:
        found = parent.stat()
        own = found.st_mode & stat.S_ISVTX and found.st_uid in trusted
        if found.st_mode & stat.S_IWOTH and not own:
            return f"other users may replace what is in {parent}"
    return ""


def sealed(body: Mapping[str, Any]) -> bytes:
    """A cache file's contents: ``body`` (JSON's types) and what tells whether it is whole."""
    return json.dumps({"checksum": checksum(body), "body": body}, sort_keys=True).encode()


def unsealed(data: bytes) -> dict[str, Any]:
    """What ``sealed`` made into ``data``; ``ValueError`` for anything else."""
    try:
        document = json.loads(data)
        body: dict[str, Any] = document["body"]
        stated = document["checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("it is not complete") from error
    if stated != checksum(body):
        raise ValueError("its checksum is wrong")
    return body


def checksum(parts: object) -> str:
    """64 hexadecimal digits that stand for ``parts`` (JSON's types), whatever order keys have."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def process_folder() -> Path:
    """A folder that only this user may enter, for as long as this process runs."""
    made = Path(tempfile.mkdtemp(prefix="harness-"))
    atexit.register(_remove, made, os.getpid())
    return made


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a process forked off this one ends first
        shutil.rmtree(folder, ignore_errors=True)
