"""Calibrations on disk: one JSON file each beside a machine's runs, a journal while they last.

``results/<machine>/calibration-<id>.json`` is a finished one; ``calibration-<id>.jsonl`` holds the
cells of one in progress, a line each, written before the next is measured. An interrupted
one keeps its journal, from which it can be resumed. Repeated measurements that slow nothing down
lie in ``sessions/`` beside them: they say nothing of power, and are never resumed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.calibration.record import SCHEMA_VERSION, Calibration, Cell, Subject
from harness.devices.closing import Closing
from harness.errors import RecordError
from harness.files import read_error, write_atomically
from harness.history import store
from harness.history.lines import LineWriter, known_version, read_lines
from harness.records.run import from_json, to_json

PREFIX, SUFFIX, JOURNAL = "calibration-", ".json", ".jsonl"
SESSIONS = "sessions"


@dataclass(eq=False, slots=True)
class CalibrationJournal(Closing):
    """Cells of one calibration as they are measured, in a file of lines. ``header`` is the
    calibration without its findings. Made by ``start`` or ``open``."""

    path: Path
    header: Calibration
    subjects: dict[str, Subject]
    cells: list[Cell]
    _lines: LineWriter

    @classmethod
    def start(cls, results: Path, header: Calibration, folder: str = "") -> CalibrationJournal:
        """A new journal below ``results``, in the machine's ``folder``. Raises ``RecordError`` if
        it cannot be written."""
        path = results / header.machine.key / folder / f"{PREFIX}{header.id}{JOURNAL}"
        with _writing(path.parent):
            LineWriter.start(path, {"calibration": to_json(header)}).close()
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> CalibrationJournal:
        """The journal at ``path``, to be added to; a torn last line is dropped. Raises
        ``RecordError``, also for a damaged line before the last and for a later schema version."""
        header: Calibration | None = None
        subjects: dict[str, Subject] = {}
        cells: list[Cell] = []
        try:
            for where, line in read_lines(path):
                if "calibration" in line:
                    header = _header(line["calibration"], where)
                if "subject" in line:
                    one = from_json(Subject, line["subject"], where)
                    subjects[one.key] = one
                if "cell" in line:
                    cells.append(from_json(Cell, line["cell"], where))
        except OSError as error:
            raise _unreadable(path, error) from error
        if header is None:
            raise RecordError(
                "a journal does not say which calibration it is",
                str(path),
                expected="the calibration in its first line",
                remedy="remove the file and calibrate anew",
            )
        with _writing(path.parent):
            return cls(path, header, subjects, cells, LineWriter.resume(path))

    @property
    def done(self) -> set[tuple[int, str]]:
        """(process, key) of every cell."""
        return {(cell.process, cell.kernel) for cell in self.cells}

    @property
    def durations(self) -> dict[str, float]:
        """Milliseconds of one launch of every kernel that has been timed once."""
        return {s.key: s.ms for s in self.subjects.values() if s.ms is not None}

    @property
    def failures(self) -> dict[str, str]:
        """Why kernels have no figures, by name."""
        names = {one.key: f"{one.graph}: {one.name}" for one in self.subjects.values()}
        return {names.get(c.kernel, c.kernel): c.reason for c in self.cells if c.reason}

    def add(self, found: Subject | Cell) -> None:
        """Keep what was measured; it is on disk when this returns."""
        if isinstance(found, Subject):
            self.subjects[found.key] = found
        else:
            self.cells.append(found)
        with _writing(self.path):
            self._lines.append({type(found).__name__.lower(): to_json(found)})

    def close(self) -> None:
        """Stop writing; the file stays."""
        self._lines.close()

    def finish(self, found: Calibration) -> Path:
        """Write ``found`` as the calibration's file; the journal goes if it is complete."""
        self.close()
        path = self.path.with_suffix(SUFFIX)
        write_atomically(path, (json.dumps(to_json(found)) + "\n").encode())
        if found.complete:
            self.path.unlink(missing_ok=True)
        return path


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise store.write_error(path, error) from error


def _unreadable(path: Path, error: Exception) -> RecordError:
    remedy = "check its permissions, or remove it and calibrate again"
    return read_error(path, error, "a calibration", remedy)


def load(path: Path) -> Calibration:
    """The calibration in the file at ``path``. Raises ``RecordError``."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return _header(value, str(path))


def _header(value: Any, where: str) -> Calibration:
    version = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(version, int):
        raise RecordError(
            "a file is no calibration",
            where,
            got="no schema version",
            expected="a file that harness calibrate wrote",
            remedy="remove it and calibrate again",
        )
    known_version(version, SCHEMA_VERSION, "a calibration", where)
    return from_json(Calibration, value, where)


def newest(results: Path, machine: str, method: str) -> Calibration | None:
    """The newest calibration of the machine called ``machine`` that was made by ``method``; None if
    there is none. Files that cannot be read are passed over."""
    for path in sorted((results / machine).glob(f"{PREFIX}*{SUFFIX}"), reverse=True):
        try:
            found = load(path)
        except RecordError:
            continue
        # How slowdowns were injected has no part in the noise, which is what is asked for here.
        if found.method == method and found.noise:
            return found
    return None


def latest(results: Path) -> Path | None:
    """The file of the newest calibration of whatever machine; None if there is none."""
    found = results.glob(f"*/{PREFIX}*{SUFFIX}")
    return max(found, key=lambda path: path.name, default=None)


def unfinished(results: Path) -> list[Path]:
    """Journals of calibrations below ``results``, newest last."""
    found = results.glob(f"*/{PREFIX}*{JOURNAL}")
    return sorted(found, key=lambda path: path.name)
