"""Finishing runs that were interrupted without a chance to do so themselves."""

from __future__ import annotations

from pathlib import Path

from harness.errors import RecordError
from harness.report import output


def recover(results: Path) -> None:
    """Make run files of the journals that interrupted runs left, and say so.

    A journal that cannot be finished stays; it must not keep the command from its work.
    """
    from harness.history import journal

    def warn(error: RecordError) -> None:
        output.note(f"an interrupted run could not be recorded: {error}")

    for path in journal.recover(results, warn):
        output.note(f"an interrupted run is now recorded: {path}")
