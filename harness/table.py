"""Tables as data, and the forms they are printed in: text, Markdown, HTML, CSV; numbers as text. A
row is a mapping; a column says what stands in its cell. Nothing here knows what is tabulated. What
comes from a file may hold anything: control characters are made visible on the way out."""

from __future__ import annotations

import csv
import enum
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
Span: TypeAlias = tuple[str, str]
"""Text and its style (``bold red``, empty: plain)."""
Line: TypeAlias = list[Span]

NOTHING = "–"
"""A cell without a value."""
_SHORTEST = 12
"""Characters of a shortened cell from which it still tells what it is."""
_LEAST_BESIDE = 24
"""Characters that a column of sentences needs to stand beside the others."""
_PROSE = 120
"""Characters of a line of prose, at most."""
_INDENT = 13
"""Characters that lines below a row are set in by, at most."""


class Fit(enum.Enum):
    """What becomes of a column where there is little room."""

    KEEP = "keep"
    SHORTEN = "shorten"
    """Cells are cut in the middle: both ends of a name tell it apart."""
    BELOW = "below"
    """Sentences: in what room is left, else on lines below the row."""


@dataclass(frozen=True, slots=True)
class Column:
    """``text`` is the cell of a row, ``style`` its colour; ``least`` the characters it is given
    at least. ``once``: a cell like the one above stays empty."""

    head: str
    text: Callable[[Row], str]
    right: bool = False
    fit: Fit = Fit.KEEP
    least: int = 0
    once: bool = False
    style: Callable[[Row], str] | None = None


def columns(
    *keys: str, right: bool = False, least: int = 0, text: Callable[[Any], str] = str
) -> tuple[Column, ...]:
    """A column for each of ``keys``: the ``text`` of what a row has under it, a dash for None."""

    def of(key: str) -> Callable[[Row], str]:
        return lambda row: NOTHING if row[key] is None else text(row[key])

    return tuple(Column(key, of(key), right, least=least) for key in keys)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; tables that share ``columns`` are aligned with each other. ``notes``
    are lines below a row."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    title: str = ""
    notes: Callable[[Row], Sequence[str]] | None = None
    headed: bool = True


@dataclass(frozen=True, slots=True)
class Text:
    """A line, or a paragraph that is ``wrapped`` where words end."""

    text: str = ""
    wrapped: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """What a reader need not see at once: a ``summary``, and ``blocks`` that a page folds away and
    a terminal leaves out."""

    summary: str
    blocks: Sequence[Table | Text]


Block: TypeAlias = Table | Text | Details


MOST = 10
"""Lines of a list, or rows of what only deserves a look, that a reader sees at once."""


def paragraphs(lines: Iterable[str]) -> list[Text]:
    """``lines``, each wrapped where it does not fit."""
    return [Text(line, wrapped=True) for line in lines]


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """``text`` with control characters made visible: what a file says must not move the cursor,
    change colours or turn the direction of writing."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def shorten(text: str, room: int) -> str:
    """``text`` in at most ``room`` characters, cut in the middle."""
    if len(text) <= room:
        return text
    end = (room - 1) // 3
    return f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def plain(lines: Iterator[Line]) -> list[str]:
    """Lines without their styles."""
    return ["".join(text for text, _ in line) for line in lines]


def text_lines(blocks: Sequence[Block], width: int | None) -> Iterator[Line]:
    """``blocks`` for a terminal of ``width`` columns; None: nobody watches, nothing is cut."""
    layouts: dict[int, _Layout] = {}
    for block in blocks:
        if isinstance(block, Details):
            block = Text(block.summary, wrapped=True)
        if isinstance(block, Text):
            yield from _prose(block, width)
            continue
        if id(block.columns) not in layouts:
            alike = [b for b in blocks if isinstance(b, Table) and b.columns is block.columns]
            layouts[id(block.columns)] = _layout(alike, width)
        yield from layouts[id(block.columns)].lines(block)


def _prose(block: Text, width: int | None) -> Iterator[Line]:
    for line in clean(block.text).split("\n"):
        wrapped = _wrapped(line, min(width or _PROSE, _PROSE)) if block.wrapped else [line]
        yield from ([(part, block.style)] for part in wrapped or [""])


def _wrapped(text: str, room: int) -> list[str]:
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text, room, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def _cell(column: Column, row: Row) -> list[str]:
    return clean(column.text(row)).split("\n")


def _cells(table: Table) -> Iterator[list[list[str]]]:
    before: list[list[str]] | None = None
    for row in table.rows:
        cells = [_cell(column, row) for column in table.columns]
        yield [
            [""] if column.once and before is not None and before[n] == cells[n] else cells[n]
            for n, column in enumerate(table.columns)
        ]
        before = cells


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns that stand side by side with their widths, those below, and whether not even
    that fits (``stacked``)."""

    beside: Mapping[int, int]
    below: Sequence[int]
    stacked: bool
    width: int | None

    def lines(self, table: Table) -> Iterator[Line]:
        """A table's lines: its title, the heads, the rows with what is below them."""
        if table.title:
            yield from _indented([clean(table.title)], 0, self.width, "bold")
        if table.headed and table.rows and not self.stacked:
            yield self._joined(table, [[c.head] for c in table.columns], None, 0)
        for row, cells in zip(table.rows, _cells(table), strict=True):
            yield from (
                self._stacked(table, row, cells) if self.stacked else self._row(table, row, cells)
            )
            notes = () if table.notes is None else table.notes(row)
            yield from _indented([clean(note) for note in notes], 2, self.width, "")

    def _row(self, table: Table, row: Row, cells: list[list[str]]) -> Iterator[Line]:
        fitted = list(cells)
        for n, room in self.beside.items():
            match table.columns[n].fit:
                case Fit.SHORTEN:
                    fitted[n] = [shorten(text, room) for text in cells[n]]
                case Fit.BELOW:
                    fitted[n] = [part for text in cells[n] for part in _wrapped(text, room) or [""]]
                case Fit.KEEP:
                    pass
        for number in range(max((len(fitted[n]) for n in self.beside), default=0)):
            yield self._joined(table, fitted, row, number)
        indent = min(_INDENT, 1 + next(iter(self.beside.values()), 1))
        for n in self.below:
            yield from _indented(cells[n], indent, self.width, "dim")

    def _joined(self, table: Table, cells: list[list[str]], row: Row | None, number: int) -> Line:
        line: Line = []
        for n, room in self.beside.items():
            column = table.columns[n]
            text = cells[n][number] if number < len(cells[n]) else ""
            text = text.rjust(room) if column.right else text.ljust(room)
            styled = row is not None and column.style is not None
            line += [(text, column.style(row) if styled else ""), (" ", "")]  # type: ignore[misc, arg-type]
        return _stripped(line)

    def _stacked(self, table: Table, row: Row, cells: list[list[str]]) -> Iterator[Line]:
        """A row as a few lines: what it is, the figures with their heads, the sentences."""
        first = table.columns[0]
        name = ["  ".join(cells[0])]
        name = cells[0] if len(name[0]) > (self.width or _PROSE) else name
        yield from ([(line, first.style(row) if first.style else "")] for line in name)
        figures = [
            f"{table.columns[n].head} {' '.join(cells[n])}"
            for n in self.beside
            if n and any(cells[n])
        ]
        yield from _indented(["; ".join(figures)], 5, self.width, "")
        for n in self.below:
            yield from _indented(["; ".join(cells[n])], 5, self.width, "")


def _indented(texts: Sequence[str], indent: int, width: int | None, style: str) -> Iterator[Line]:
    for text in texts:
        room = max(_LEAST_BESIDE, (width or _PROSE) - indent)
        for part in _wrapped(text, room) if width else [text]:
            yield [(" " * indent + part, style)]


def _stripped(line: Line) -> Line:
    """``line`` without blanks at its end."""
    while line and not line[-1][0].strip():
        line.pop()
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else []


def _layout(tables: Sequence[Table], width: int | None) -> _Layout:
    columns = tables[0].columns
    shown = [cells for table in tables for cells in _cells(table)]
    widths = {
        n: max([len(c.head), c.least, *(len(text) for cells in shown for text in cells[n])])
        for n, c in enumerate(columns)
    }
    if width is None:
        return _Layout(widths, (), False, None)
    if sum(widths.values()) + len(widths) - 1 > width:  # what holds nothing gives up its room
        empty = [n for n in widths if all(cells[n] in ([""], [NOTHING]) for cells in shown)]
        widths = {n: room for n, room in widths.items() if n not in empty or not shown}
    below = [n for n in widths if columns[n].fit is Fit.BELOW]
    beside = {n: room for n, room in widths.items() if n not in below}
    left = width - sum(beside.values()) - len(beside)
    if below and left >= min(_LEAST_BESIDE, max(widths[n] for n in below)):
        each = (left - len(below) + 1) // len(below)
        return _Layout(beside | {n: min(widths[n], each) for n in below}, (), False, width)
    over = -(left + 1)
    shortened = (n for n in beside if columns[n].fit is Fit.SHORTEN)
    for n in sorted(shortened, key=lambda n: -beside[n]):  # the widest gives room first
        given = max(0, min(over, beside[n] - _SHORTEST))
        beside[n] -= given
        over -= given
    return _Layout(beside, below, over > 0, width)


def markdown(blocks: Sequence[Block], most: int | None = None) -> Iterator[str]:
    """``blocks`` as GitHub's Markdown, no cell shortened; rows that do not fit into ``most``
    characters are counted."""
    left = _Room(most)
    for block in blocks:
        if isinstance(block, Details) and left.has(_HEAD):
            yield from left.taken(f"<details><summary>{_escaped(block.summary)}</summary>", "")
            for each in block.blocks:
                yield from _markdown(each, left)
            yield from left.taken("", "</details>", "")
        else:
            for each in block.blocks if isinstance(block, Details) else [block]:
                yield from _markdown(each, left)
    if left.out:
        yield f"- {left.out} rows of further tables: --csv or --json has them"


class _Room:
    """What is left of the characters of a page."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self.out = 0

    def taken(self, *lines: str) -> Sequence[str]:
        """``lines``, which take their room."""
        if self._left is not None:
            self._left -= sum(len(line) + 1 for line in lines)
        return lines

    def has(self, text: str) -> bool:
        """Whether ``text`` fits, and what has to come after it."""
        return self._left is None or self._left > len(text) + _CLOSING


_CLOSING = 600
"""Characters that are kept for what closes a page: folds, and how many rows are not there."""
_HEAD = "-" * 200
"""As long as a table's title and heads: where no such thing fits, its rows are counted alone."""


def _markdown(block: Table | Text, room: _Room) -> Iterator[str]:
    if isinstance(block, Text):
        text = _escaped(block.text)
        text = f"**{text}**" if "bold" in block.style and text else text
        text += "  " if text else ""
        yield from room.taken(text) if room.has(text) and (text or not room.out) else ()
        return
    if not room.has(_HEAD):
        room.out += len(block.rows)
        return
    if block.title:
        yield from room.taken(f"**{_escaped(block.title)}**", "")
    elif block.rows:
        yield from room.taken("")
    if not block.rows:
        return
    heads = [_escaped(column.head) for column in block.columns]
    yield from room.taken(
        f"| {' | '.join(heads)} |",
        "|" + "|".join("---:" if column.right else "---" for column in block.columns) + "|",
    )
    remarks: list[str] = []
    for number, row in enumerate(block.rows):
        cells = ["<br>".join(map(_escaped, _cell(column, row))) for column in block.columns]
        notes = [f"- {cells[0]}: {_escaped(n)}" for n in (block.notes(row) if block.notes else ())]
        line = f"| {' | '.join(cells)} |"
        if not room.has("\n".join([line, *notes])):
            remarks.append(f"- {len(block.rows) - number} more rows: --csv or --json has them")
            break
        yield from room.taken(line)
        room.taken(*notes)
        remarks += notes
    yield from ["", *remarks] if remarks else []
    yield ""


def _escaped(text: str) -> str:
    """Without what Markdown would take for its own; underscores within words are no emphasis."""
    return re.sub(r"([\\|*<>`\[\]]|(?<![\w.])_|_(?!\w))", r"\\\1", clean(text).strip())


def html(rows: Sequence[Row]) -> str:
    """``rows`` as a table in HTML, for a notebook."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        return clean(pd.DataFrame(rows).to_html(index=False))


def csv_text(rows: Sequence[Row]) -> str:
    """``rows`` as CSV, figures in full: what is nested gets a name with a dot, a list of plain
    values is one cell, other lists are left out (they are in the JSON)."""
    flat = [dict(_flat(row)) for row in rows]
    written = io.StringIO()
    names = dict.fromkeys(name for row in flat for name in row)
    writer = csv.DictWriter(written, list(names), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(flat)
    return clean(written.getvalue())


def _flat(value: Row, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _flat(item, f"{prefix}{key}.")
        elif not isinstance(item, list | tuple):
            yield f"{prefix}{key}", item
        elif not any(isinstance(part, Mapping | list | tuple) for part in item):
            yield f"{prefix}{key}", "; ".join(str(part) for part in item)


def plural(quantity: int, noun: str, several: str = "") -> str:
    """``1 kernel``, ``2 kernels``, ``3 launches``; ``several`` is a plural that ends otherwise."""
    several = several or noun + ("es" if noun.endswith("ch") else "s")
    return f"{quantity} {noun if quantity == 1 else several}"


def count(number: float | None) -> str:
    """A number of bytes or elements in four or five characters: ``12.6M``."""
    if number is None:
        return NOTHING
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            value = number / scale
            return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.1f}{unit}"
    return f"{number:.0f}"


def number(value: float | None, digits: int = 0) -> str:
    """``value`` with ``digits`` decimals, a dash for None."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def milliseconds(value: float | None) -> str:
    """``value`` in at most seven characters up to ten seconds: 0.0140, 33.1420, 250.000."""
    if value is None:
        return number(value)
    return number(value, next((n for n, end in ((4, 100), (3, 1e3), (2, 1e4)) if value < end), 0))


def microseconds(ms: float | None) -> str:
    """``ms`` in µs, two decimals below 100."""
    return NOTHING if ms is None else f"{ms * 1000:.{2 if ms < 0.1 else 1}f}"


def ratio(value: float | None) -> str:
    """A ratio in at most five characters."""
    if value is None:
        return NOTHING
    return f"{value:.3f}" if value < 9.9995 else f"{value:.1f}" if value < 1000 else "1000+"
