"""Calibrations on disk: one JSON file each beside a machine's runs.

``results/<machine>/calibration-<id>.json`` is a finished one; ``calibration-<id>.jsonl`` holds the
cells of one in progress, from which it can be resumed. Repeated measurements that slow nothing down
lie in ``sessions/`` beside them: they say nothing of power, and are never resumed.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from harness.calibration.record import SCHEMA_VERSION, Calibration, Cell
from harness.errors import RecordError, UsageError
from harness.files import read_error, write_atomically
from harness.records.lines import Kept, known_version
from harness.records.run import from_json, to_json

PREFIX, SUFFIX, JOURNAL = "calibration-", ".json", ".jsonl"
SESSIONS = "sessions"


def kept(folder: Path, resume: bool) -> Kept[Cell]:
    """A file for the cells of a calibration that begins now on the machine of ``folder``, or that
    of the last one that was interrupted. Raises ``UsageError`` if there is none."""
    if not resume:
        now = dt.datetime.now(dt.UTC)
        return Kept(folder / f"{PREFIX}{now:%Y%m%d-%H%M%S}{JOURNAL}", Cell)
    found = sorted(folder.glob(f"{PREFIX}*{JOURNAL}"))
    if not found:
        raise UsageError(
            "there is no interrupted calibration of this machine",
            where=str(folder),
            remedy="leave --resume out to begin one",
        )
    return Kept(found[-1], Cell)


def save(folder: Path, found: Calibration) -> Path:
    """Write ``found`` as a calibration's file in ``folder``. Raises ``RecordError``."""
    path = folder / f"{PREFIX}{found.id}{SUFFIX}"
    write_atomically(path, (json.dumps(to_json(found)) + "\n").encode())
    return path


def load(path: Path) -> Calibration:
    """The calibration in the file at ``path``. Raises ``RecordError``."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        remedy = "check its permissions, or remove it and calibrate again"
        raise read_error(path, error, "a calibration", remedy) from error
    where = str(path)
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
