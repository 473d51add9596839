"""Printing: a report in the form that was asked for, remarks and progress on standard error."""

from __future__ import annotations

import enum
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.table import Block, Row, clean, csv_text, markdown, plain, text_lines

if TYPE_CHECKING:
    from rich.console import Console

    from harness.options import Options

NARROWEST = 40


class Form(enum.Enum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    JUNIT = "junit"


@dataclass(frozen=True, slots=True)
class Case:
    """A row as a test: of a ``suite``, with the reason of its ``failure`` or why it was
    ``skipped`` (empty: it passed), what ``text`` explains it, and its time."""

    suite: str
    name: str
    failure: str = ""
    skipped: str = ""
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A command's answer: ``blocks`` for readers, the same as a ``document`` (JSON), the ``rows``
    that make it a table for other programs (CSV), and ``cases`` for those that show tests (JUnit).
    Each is made when it is asked for. ``most``: characters that it may have as Markdown."""

    blocks: Callable[[], Sequence[Block]]
    document: Callable[[], Any]
    rows: Callable[[], Sequence[Row]] = tuple
    cases: Callable[[], Sequence[Case]] = tuple
    most: int | None = None


def emit(line: str = "") -> None:
    """Print a line of the command's answer."""
    print(line)  # noqa: T201


def note(*lines: str) -> None:
    """Say something beside the answer."""
    for line in lines:
        print(clean(line), file=sys.stderr)  # noqa: T201


def width(*, whole: bool = False) -> int | None:
    """Columns to print in: the terminal's, within reason; None where nobody watches or names are
    wanted ``whole``: nothing is cut then."""
    columns = shutil.get_terminal_size((0, 0)).columns
    return None if whole or not columns else max(NARROWEST, columns)


def print_blocks(blocks: Sequence[Block], options: Options, *, whole: bool = False) -> None:
    """Print ``blocks`` for people."""
    lines = text_lines(blocks, width(whole=whole))
    if not (options.color and sys.stdout.isatty()):
        for text in plain(lines):
            emit(text)
        return
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False, soft_wrap=True)
    for line in lines:
        out.print(Text.assemble(*line))


def print_report(report: Report, form: Form, options: Options, *, whole: bool = False) -> None:
    """Print ``report`` in a ``form``."""
    match form:
        case Form.TEXT:
            print_blocks(report.blocks(), options, whole=whole)
        case Form.JSON:
            emit(json_text(report.document()))
        case Form.CSV:
            rows = report.rows()
            sys.stdout.write(csv_text(rows) if rows else "")
        case Form.MARKDOWN:
            for line in markdown(report.blocks(), report.most):
                emit(line)
        case Form.JUNIT:
            emit(junit_text(report.cases()))


def junit_text(cases: Sequence[Case]) -> str:
    """``cases`` as JUnit's XML, a suite for each group."""
    from xml.etree import ElementTree as ET

    root = ET.Element("testsuites")
    for suite in dict.fromkeys(case.suite for case in cases):
        mine = [case for case in cases if case.suite == suite]
        counts = {"failures": sum(bool(c.failure) for c in mine), "errors": 0}
        counts |= {"tests": len(mine), "skipped": sum(bool(c.skipped) for c in mine)}
        group = ET.SubElement(root, "testsuite", {"name": clean(suite)})
        group.attrib |= {name: str(number) for name, number in counts.items()}
        for case in mine:
            one = ET.SubElement(group, "testcase", {"classname": clean(suite)})
            one.set("name", clean(case.name))
            one.set("time", f"{case.seconds or 0:.9f}")
            for kind, message in (("failure", case.failure), ("skipped", case.skipped)):
                if message:
                    ET.SubElement(one, kind, {"message": clean(message)}).text = clean(case.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON leaves as they are."""


def json_text(document: Any) -> str:
    """``document`` as JSON; not-a-number becomes null."""
    finite = json.loads(json.dumps(document, default=dict), parse_constant=lambda _: None)
    text = json.dumps(finite, indent=2, ensure_ascii=False)
    return _UNESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class Watch(enum.Enum):
    """How much a command says of what it is doing."""

    QUIET = "quiet"
    """Nothing: remarks are left out, too."""
    USUAL = "usual"
    """A bar where somebody watches."""
    VERBOSE = "verbose"
    """A line for each step, whether somebody watches or not."""


class Progress:
    """What is being done, how far it is, how long it goes on and what took longest so far: a bar on
    standard error, a line for each step, or nothing."""

    def __init__(self, title: str, console: Console | None = None, *, lines: bool = False) -> None:
        """A bar on ``console`` that is not shown yet (None: none); ``lines``: lines instead."""
        self._bar: Any = None
        self._lines = lines
        self._title, self._since = title, time.monotonic()
        self._began = self._since
        self._slowest = (0.0, "")
        if console is not None:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(bar_width=24),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("left"),
                progress.TimeRemainingColumn(elapsed_when_finished=False),
                progress.TextColumn("{task.fields[slowest]}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(title, total=None, slowest="")

    def update(self, title: str, done: int = 0, total: int | None = None) -> None:
        """Say what is being done and how far it is; of how much may not be known."""
        now = time.monotonic()
        if title != self._title:
            self._slowest = max(self._slowest, (now - self._since, self._title))
            self._title, self._since = title, now
            if self._lines:
                note(f"[{now - self._began:.1f} s] {title}" + f" ({done} of {total})" * bool(total))
        if self._bar is not None:
            took, what = self._slowest
            slowest = f"longest: {clean(what)} {took:.0f} s" if took >= _WORTH_NAMING else ""
            self._bar.update(
                self._task, description=clean(title), completed=done, total=total, slowest=slowest
            )

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The bar is out of the way while the block prints a part of the answer."""
        if self._bar is not None:
            self._bar.stop()
        yield
        sys.stdout.flush()
        if self._bar is not None:
            self._bar.start()

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """The bar is there while the block lasts."""
        with self._bar or nullcontext():
            yield self


_WORTH_NAMING = 5.0
"""Seconds from which a step is named as the longest."""


def progress(title: str, options: Options, watch: Watch) -> AbstractContextManager[Progress]:
    """The progress of the block; as a bar unless nobody watches. Lines printed meanwhile appear
    above it."""
    console = None
    if options.interactive and watch is Watch.USUAL and sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, no_color=not options.color)
    return Progress(title, console, lines=watch is Watch.VERBOSE).shown()
