"""A journal's file: a JSON object a line, each on disk before the next, the last perhaps torn. Runs
in progress are journals, and what other measurements have so far. The writer holds a lock on the
file for as long as it lives, so that another process can tell a journal that is being written from
one that was left."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from harness.devices.job import Closing
from harness.errors import RecordError
from harness.files import write_error
from harness.records.run import from_json, to_json

T = TypeVar("T")


class LineWriter(Closing):
    """Appends to the journal at ``path``. Made by ``start`` or ``resume``; both raise
    ``OSError``."""

    def __init__(self, path: Path, mode: str) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open(mode, encoding="utf-8")
        # One that is there may be another process's, at work; a new one is nobody else's for long.
        fcntl.flock(self._file, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode == "a" else 0))

    @classmethod
    def start(cls, path: Path, head: Any) -> LineWriter:
        """A new journal whose first line is ``head``; ``FileExistsError`` if there is one."""
        writer = cls(path, "x")
        try:
            writer.append(head)
        except OSError:
            writer.remove()  # else each later command meets a journal of nothing
            raise
        return writer

    @classmethod
    def resume(cls, path: Path) -> LineWriter:
        """The journal that is there, to be added to; a torn last line goes."""
        writer = cls(path, "a")
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
        return writer

    def append(self, line: Any) -> None:
        """Add ``line``; it is on disk when this returns. Raises ``OSError``."""
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Stop writing; the file stays."""
        with contextlib.suppress(OSError):  # a full disk refuses the last buffer again
            self._file.close()

    def remove(self) -> None:
        """Stop writing; the file goes."""
        self.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


class Kept(UserDict[Any, T], Closing):
    """What was measured, records of a ``kind`` by what was asked, in the file ``path`` until all of
    it is: a measurement that was killed goes on from there. What cannot be read or written is
    measured again. With ``asked``, which says of a record what it answers, the file is the user's
    own, a record a line: ``RecordError`` where it holds anything else or cannot be written."""

    def __init__(self, path: Path, kind: Any, asked: Callable[[T], Any] | None = None) -> None:
        super().__init__()
        self.path = path
        self._lines: LineWriter | None = None
        self._asked = asked
        try:
            with contextlib.suppress(*() if asked else (OSError, RecordError, KeyError)):
                for where, line in read_lines(path) if path.exists() else ():
                    found = from_json(kind, line if asked else line["found"], where)
                    self.data[asked(found) if asked else line["asked"]] = found
            self._lines = LineWriter.resume(path)
        except OSError as error:
            if asked:
                raise write_error(path, error) from error

    def __setitem__(self, asked: Any, found: T) -> None:
        super().__setitem__(asked, found)
        if self._lines is not None:
            line = to_json(found)
            with contextlib.suppress(OSError):  # a full disk: measuring goes on
                self._lines.append(line if self._asked else {"asked": asked, "found": line})

    def close(self) -> None:
        """Stop writing; the file stays."""
        if self._lines is not None:
            self._lines.close()

    def clear(self) -> None:
        """All is measured: the file goes, too."""
        self.data.clear()
        if self._lines is not None:
            self._lines.remove()


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each whole line's place (``file:number``) and value; a torn last line is left out: the
    beginning of an object, or what a disk makes of one. Raises ``RecordError`` for any other
    damaged line, ``OSError`` for an unreadable file."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, text in enumerate(lines, start=1):
        try:
            value = json.loads(text)
        except ValueError:
            if number == len(lines) and text.startswith(("{", "\0")):
                return
            value = None
        if not isinstance(value, dict):
            raise RecordError(
                "a journal has a damaged line",
                f"{path}:{number}",
                got=text[:60],
                expected="a JSON object",
                remedy="remove the line, or the file, and try again",
            )
        yield f"{path}:{number}", value


def known_version(version: Any, newest: int, what: str, where: str) -> int:
    """``version`` of a file format, if it is one up to ``newest``. Raises ``RecordError``."""
    if isinstance(version, int) and 1 <= version <= newest:
        return version
    raise RecordError(
        f"{what} was written by a newer harness",
        where,
        got=f"schema version {version}",
        expected=f"schema version {newest} or older",
        remedy="update this checkout of the harness",
    )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether nobody writes the journal at ``path``, which stays so meanwhile; false also for one
    that is gone."""
    try:
        file = path.open("r+b")
    except OSError:  # finished in the meantime, or not ours to touch
        yield False
        return
    with file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
