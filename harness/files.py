"""Files that are there whole or not at all: the one place where the package writes one. A file is
written to a temporary one beside it and renamed, so a reader sees all of it or the old one, and an
interrupted writer leaves nothing half-written under the name."""

from __future__ import annotations

import errno
import itertools
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from harness.errors import HarnessError, RecordError

T = TypeVar("T")
_LONGEST = 100
"""Characters of a folder's name; file systems end at 255 bytes."""
_CAUSES = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "the folder may not be written",
    errno.EPERM: "the folder may not be written",
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EEXIST: "a file stands where a folder should be",
    errno.EAGAIN: "another process is writing it",
}
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def write_atomically(
    path: Path,
    data: bytes | memoryview,
    *,
    mode: int | None = None,
    durable: bool = False,
    own: bool = True,
) -> None:
    """Write ``data`` to ``path``, whose folder is made if it is missing; ``durable``: on disk when
    this returns. The harness's ``own`` file is the user's alone to read, unless ``mode`` says
    otherwise, and a folder that stands in its place is moved aside. Raises ``RecordError`` when the
    folder cannot be written or the disk is full."""
    try:
        with _written(path, data, mode or (0o600 if own else 0o644), durable) as temporary:
            try:
                temporary.replace(path)
            except IsADirectoryError:
                if not own:
                    raise
                aside = (path.with_name(f"{path.name}.aside{n or ''}") for n in itertools.count())
                path.rename(next(name for name in aside if not name.exists()))
                temporary.replace(path)
    except OSError as error:
        raise write_error(path, error) from error


def publish(path: Path, data: bytes | memoryview, is_same: Callable[[Path], bool]) -> Path | None:
    """Write ``data`` under the first free name from ``path`` on (a number goes behind it), on disk
    when this returns, replacing nothing; where it is. None if a file there ``is_same``, nothing is
    written then. Raises ``OSError``."""
    numbered = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in itertools.count(2))
    with _written(path, data, 0o644, True) as temporary:
        for final in itertools.chain((path,), numbered):
            try:
                os.link(temporary, final)
                return final
            except OSError as error:
                if error.errno not in (errno.EEXIST, *_NO_LINKS):
                    raise
                # A file system without hard links: somebody could take the name between looking
                # and renaming, but identifiers hold the second and the process.
                if error.errno != errno.EEXIST and not final.exists():
                    return temporary.rename(final)
                if is_same(final):
                    return None
    raise AssertionError("itertools.count ended")


def write_error(
    path: Path, error: OSError, what: str = "a file could not be written", remedy: str = ""
) -> RecordError:
    """The ``RecordError`` for a failed write at ``path``: ``what``, and why."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    cause = _CAUSES.get(error.errno or 0, f"writing failed ({error.strerror or error})")
    return RecordError(
        f"{what}: {cause}",
        where=str(path),
        got=error.strerror or str(error),
        expected="a folder that can be written, on a disk with space left",
        remedy="free some space" if full else remedy or "name another folder",
    )


def read_error(path: Path, error: Exception, what: str, remedy: str) -> RecordError:
    """The ``RecordError`` for ``what`` the file at ``path`` should hold, and does not or cannot be
    read."""
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    got = lines[0] if lines else type(error).__name__
    return RecordError(f"{what} cannot be read", str(path), got, remedy=remedy)


def holds(path: Path, data: bytes) -> bool:
    """Whether there is a file at ``path`` that holds just that."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def readable(
    load: Callable[[Path], T], paths: Iterable[Path], tell: Callable[[str], object] = lambda _: None
) -> Iterator[T]:
    """What ``load`` makes of each of ``paths``; those that cannot be read are passed over, and why
    is for ``tell``."""
    for path in paths:
        try:
            yield load(path)
        except RecordError as error:
            tell(f"{path.name}: {error.what}" + f" ({error.got})" * bool(error.got))


def read_text(
    path: Path, kind: type[HarnessError], what: str, expected: str, remedy: str = ""
) -> str:
    """The text in the file at ``path``, in UTF-8. Raises a ``kind`` that says why ``what`` cannot
    be read, or which line is no such text."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        got = error.strerror or str(error)
        raise kind(f"{what} cannot be read", str(path), got, expected, remedy) from error
    except UnicodeDecodeError as error:
        where = f"{path}:{1 + error.object.count(10, 0, error.start)}"
        got = f"byte 0x{error.object[error.start]:02x}"
        raise kind(f"{what} is not UTF-8", where, got, expected, remedy) from error


def slug(*words: str) -> str:
    """Words as the name of a folder: plain characters only."""
    text = " ".join(word for word in words if word)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:_LONGEST].strip("-.") or "unknown"


@contextmanager
def _written(path: Path, data: bytes | memoryview, mode: int, durable: bool) -> Iterator[Path]:
    """A temporary file beside ``path`` with ``data`` in it, gone afterwards."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:40]}-", suffix=".tmp"
        )
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(mode)
        yield temporary
        if durable:
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
