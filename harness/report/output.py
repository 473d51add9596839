"""Printing: aligned rows that fit a terminal, JSON, and progress on standard error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from harness.options import Options

NARROWEST, WIDEST = 80, 120


def width() -> int:
    """Columns to print in: the terminal's, within reason; 100 where there is none."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))


def plural(quantity: int, noun: str, several: str = "") -> str:
    """``1 kernel``, ``2 kernels``; ``several`` is the plural where it is not the noun and an s."""
    return f"{quantity} {noun if quantity == 1 else several or noun + 's'}"


def emit(line: str = "") -> None:
    """Print a line of the command's answer."""
    print(line)  # noqa: T201


def emit_json(document: Any) -> None:
    """Print the command's answer as one JSON document; not-a-number becomes null."""
    emit(json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False))


def note(line: str) -> None:
    """Say something beside the answer."""
    print(line, file=sys.stderr)  # noqa: T201


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column; the one of width 0 takes what is left."""

    title: str
    width: int
    right: bool = False


def row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    """``cells`` aligned under ``columns``; what does not fit is cut in the middle, because
    both ends of a kernel's name tell it apart.
    """
    fixed = sum(column.width for column in columns) + len(columns) - 1
    texts = []
    for column, cell in zip(columns, cells, strict=True):
        room = column.width or width() - fixed
        text = shorten(cell, room)
        texts.append(text.rjust(room) if column.right else text.ljust(room))
    return " ".join(texts).rstrip()


def heading(columns: Sequence[Column]) -> str:
    """The titles of ``columns``, aligned."""
    return row(columns, [column.title for column in columns])


def shorten(text: str, room: int) -> str:
    """``text`` in at most ``room`` characters."""
    if len(text) <= room:
        return text
    end = (room - 1) // 3
    return f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def count(number: float | None) -> str:
    """A number of bytes or elements in four or five characters: ``12.6M``."""
    if number is None:
        return "–"
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            value = number / scale
            return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.1f}{unit}"
    return f"{number:.0f}"


def number(value: float | None, digits: int = 0) -> str:
    """``value`` with ``digits`` decimals, a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}"


class Progress:
    """A bar on standard error, or nothing where nobody watches."""

    def __init__(self, console: Console | None, title: str) -> None:
        """A bar that is not shown yet; None: never."""
        self._bar: Any = None
        if console is not None:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(bar_width=24),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(title, total=None)

    def update(self, title: str, done: int, total: int) -> None:
        """Say what is being done and how far it is."""
        if self._bar is not None:
            self._bar.update(self._task, description=title, completed=done, total=total)

    def print(self, lines: Sequence[str]) -> None:
        """Print lines of the answer, the bar out of the way meanwhile."""
        self.stop()
        for line in lines:
            emit(line)
        sys.stdout.flush()
        self.start()

    def start(self) -> None:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(title: str, options: Options, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on standard error while the block runs, unless ``quiet`` or nobody
    watches. Lines printed meanwhile appear above it.
    """
    console = None
    if options.interactive and not quiet and sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, no_color=not options.color)
    bar = Progress(console, title)
    bar.start()
    try:
        yield bar
    finally:
        bar.stop()
