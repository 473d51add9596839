"""The cache folder: what lies in it can be made again, so a run must not fail for want of it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NEEDED = 1 << 20
"""Bytes that must fit: about what one kernel's binaries take."""


@contextlib.contextmanager
def usable(folder: Path | None) -> Iterator[tuple[Path, str]]:
    """``folder`` if it can be written, else a temporary one that goes away afterwards; and, for
    the latter, a sentence that says why. None asks for a temporary one: nothing found, nothing
    kept (HARNESS_NO_CACHE).
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as other:
            yield Path(other), ""
        return
    reason = refusal(folder)
    if not reason:
        yield folder, ""
        return
    with tempfile.TemporaryDirectory(prefix="harness-cache-", ignore_cleanup_errors=True) as other:
        note = f"the cache {folder} cannot be written ({reason}); nothing is cached for this run"
        yield Path(other), note


def refusal(folder: Path) -> str:
    """Why nothing can be written below ``folder``; empty if something can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_NEEDED))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""
