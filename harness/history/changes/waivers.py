"""Known changes: a small text file that says which change is meant, and why it is accepted.

    # commit    metric  series                       reason, to the end of the line
    4f2a9c1     ms      llama_block_forward/*        softmax in float32 on purpose (issue 12)
    4f2a9c1..8d00e21  *  */triton_red_*              the new tiling costs small rows

``commit`` is where the level changed, or a range that it lies in (``A..B``: after A, up to B);
``metric`` is a metric's name or ``*``; ``series`` is ``graph/kernel`` with ``*``, ``?`` and
``[...]`` (a graph's own figures are ``graph/``). Empty lines and what follows ``#`` at the
beginning of a line are left alone. Nothing in the file is executed.

A reason may begin with ``up-to=5%`` (more than that is not waived) and ``until=2026-12-31`` (the
last day, UTC, on which it is), for a loss that is put up with for a while:

    4f2a9c1     ms      gpt2_forward/softmax    up-to=5% until=2026-12-31 waits for issue 12
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from harness.errors import UsageError
from harness.files import read_text
from harness.records import metrics

FILE = "acknowledged.txt"
COMMIT = re.compile(r"[0-9a-f]{7,64}")
_LIMITS = re.compile(r"(?:up-to=([\d.]+)%\s*)?(?:until=(\S+)\s*)?(.*)")
_FIELDS = "commit, metric, series, reason"


@dataclass(frozen=True, slots=True)
class Waiver:
    """One line of the file. ``first`` is empty unless a range is given; ``bound`` is the largest
    relative change that is waived, ``until`` the last day; None where none is given."""

    line: int
    first: str
    last: str
    metric: str
    series: str
    reason: str
    bound: float | None = None
    until: dt.date | None = None

    def allows(self, ratio: float | None, today: dt.date) -> bool:
        """Whether it still holds on ``today`` for a change by ``ratio`` (after ÷ before)."""
        if self.until is not None and today > self.until:
            return False
        return self.bound is None or (ratio is not None and ratio <= 1 + self.bound)

    def covers(
        self, metric: str, names: Iterable[str], commits: Sequence[str], places: Mapping[str, int]
    ) -> bool:
        """Whether it speaks of a change of ``metric`` in the series of these ``names``
        (``graph/kernel``) that lies at one of ``commits``. ``places`` are positions in history,
        empty without it."""
        named = any(fnmatchcase(name, self.series) for name in names)
        if self.metric not in ("*", metric) or not named:
            return False
        if any(commit.startswith(self.last) for commit in commits):
            return True
        end = _place(self.last, places)
        start = _place(self.first, places) if self.first else end
        if start is None or end is None:
            return False
        span = range(start + 1 if self.first else end, end + 1)
        return any(_place(commit, places) in span for commit in commits)


def _place(commit: str, places: Mapping[str, int]) -> int | None:
    if commit in places:
        return places[commit]
    hits = [place for name, place in places.items() if name.startswith(commit)]
    return hits[0] if len(hits) == 1 else None


def of_results(given: Path | None, results: Path) -> tuple[Waiver, ...]:
    """What the file of waived changes says: the ``given`` one, else the one in the results
    folder, if there is one."""
    path = given or results / FILE
    return () if given is None and not path.is_file() else read(path)


def read(path: Path) -> tuple[Waiver, ...]:
    """The waivers in the file at ``path``. Raises ``UsageError`` with the line's number for one
    that cannot be understood, and for a file that cannot be read or is not UTF-8."""
    remedy = "name another one (--ack FILE), or make it"
    text = read_text(path, UsageError, "the file of waived changes", "text in UTF-8", remedy)
    lines = enumerate(text.splitlines(), start=1)
    told = ((n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#"))
    return tuple(_parse(line, number, f"{path}:{number}") for number, line in told)


def _parse(line: str, number: int, where: str) -> Waiver:
    def require(holds: bool, what: str, got: str, expected: str, remedy: str) -> None:
        if not holds:
            raise UsageError(what, where, got=got, expected=expected, remedy=remedy)

    fields = line.split(None, 3)
    missing = [*_FIELDS.split(", "), ""][len(fields)]
    what = f"a line of waived changes has no {missing}"
    remedy = "say which change is meant and why it is accepted"
    require(not missing, what, line.strip(), _FIELDS, remedy)
    commit, metric, series, reason = fields
    first, dots, last = commit.rpartition("..")
    named = all(COMMIT.fullmatch(n.lower()) for n in ((first, last) if dots else (last,)))
    expected = "7 to 64 hexadecimal digits, or two of those with .. between"
    remedy = "take the commit from `harness changes`; the reason comes last in the line"
    require(named, "a waived change names no commit", commit, expected, remedy)
    known = ("*", *metrics.names())
    what, remedy = "a waived change names no metric", "name one of these; * means all of them"
    require(metric in known, what, metric, ", ".join(known), remedy)
    what, expected = "a waived change names no series", "graph/kernel; * stands for anything"
    remedy = "take the series from `harness changes`; a graph's own figures are GRAPH/"
    require("/" in series, what, series, expected, remedy)
    bound, until, reason = _limits(reason.strip(), where)
    return Waiver(number, first.lower(), last.lower(), metric, series, reason, bound, until)


def _limits(reason: str, where: str) -> tuple[float | None, dt.date | None, str]:
    """The bound and the last day that a reason begins with, and the rest of it."""
    found = _LIMITS.match(reason)
    bound, until, rest = found.groups() if found else (None, None, reason)
    try:
        last = None if until is None else dt.date.fromisoformat(until)
        if rest and not rest.startswith(("up-to=", "until=")):
            return None if bound is None else float(bound) / 100, last, rest
    except ValueError:
        pass
    raise UsageError(
        "a waived change has a limit that cannot be read, or no reason",
        where=where,
        got=reason,
        expected="up-to=5%, then until=2026-12-31 (or one of them), then the reason",
    )
