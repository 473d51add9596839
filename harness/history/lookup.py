"""Finding runs: the latest, a path, or an unambiguous beginning of an identifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.errors import UnknownName, UsageError, unknown
from harness.history import store

LATEST = "latest"
_FEWEST = 4
"""Digits by which a commit may be named, as in git."""
_ABBREVIATED = 12
"""Digits of the commit in a run's identifier (``session.plan.new_run``)."""


def runs(results: Path, machine: str = "*") -> list[Path]:
    """All run files below ``results``, or a ``machine``'s, oldest first (``in_order``)."""
    return in_order(results.glob(f"{machine}/*{store.SUFFIX}"))


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Files of runs or nights, oldest first: their names begin with the time. Those of a clock that
    was ahead are older than all others: nobody knows when they were made."""
    return sorted(paths, key=lambda one: (not is_ahead(one.name), one.name, str(one.parent)))


def is_ahead(name: str) -> bool:
    """Whether a run's name begins with a time (UTC) that is more than a day from now."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return name[:8].isdigit() and name[:15] > f"{tomorrow:%Y%m%d-%H%M%S}"


def find(results: Path, name: str = LATEST) -> Path:
    """The run file that ``name`` means: ``latest`` (an imported one only where there is no other),
    a path, or the beginning of the identifier or of the commit of exactly one run. Raises
    ``UnknownName`` if there is none, ``UsageError`` if there are several."""
    if name.endswith(store.SUFFIX) or "/" in name:
        path = Path(name)
        if path.is_file():
            return path
    if not (known := runs(results)):
        raise no_runs(results)
    if name == LATEST:
        return ([path for path in known if not is_imported(path)] or known)[-1]
    matches = [path for path in known if path.stem.startswith(name)]
    given = name.lower()
    if not matches and len(given) >= _FEWEST:
        both = [(path, _commit(path)) for path in known]
        matches = [p for p, one in both if one.startswith(given) or given.startswith(one)]
    if matches:
        return the_one(matches, name)
    newest, remedy = [path.stem for path in reversed(known)], "list them: harness list --runs"
    raise unknown("there is no such run", name, newest, str(results), remedy)


def the_one(matches: Sequence[Path], name: str, kind: str = "runs") -> Path:
    """Of files of ``kind`` that begin with ``name`` the only one, or the one that is called
    so. Raises ``UsageError`` if there are several."""
    if len(matches) == 1 or any(path.stem == name for path in matches):
        return next((path for path in matches if path.stem == name), matches[0])
    raise UsageError(
        f"{len(matches)} {kind} begin like that",
        got=name,
        expected=", ".join(path.stem for path in matches[-5:]),
        remedy="give more of the identifier",
    )


def no_runs(results: Path) -> UnknownName:
    """That nothing is recorded."""
    return UnknownName("there are no runs yet", str(results), remedy="make one: harness run")


def is_imported(path: Path) -> bool:
    """Whether the run in the file at ``path`` was made by another tool (``harness import``)."""
    return "-imported" in path.stem


def of_commit(results: Path, commit: str) -> list[Path]:
    """The run files of the commit with this full identifier, oldest first."""
    return [path for path in runs(results) if _commit(path) == commit[:_ABBREVIATED]]


def _commit(path: Path) -> str:
    """The abbreviated commit at the end of a run's identifier."""
    return path.stem.rpartition("-")[2]
