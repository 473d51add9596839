"""Reading a journal: a JSON object a line, the last of which may be torn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import RecordError


def journal_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Each whole line's place (``file:number``) and value; a torn last line is left out.

    Raises ``RecordError`` for a damaged line before that, ``OSError`` for an unreadable file.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, text in enumerate(lines, start=1):
        where = f"{path}:{number}"
        try:
            value = json.loads(text)
        except ValueError as error:
            if number == len(lines):
                return
            raise RecordError(
                "a journal has a damaged line",
                where,
                got=text[:60],
                expected="a JSON object",
                remedy="remove the line, or the file, and try again",
            ) from error
        yield where, value
