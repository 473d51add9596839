"""What can go from the results folder, and what has to stay: ``harness gc``.

Nothing is decided by age alone: a complete run of a commit stays. What can go is what is left of
writers that died, runs of trees with uncommitted changes and interrupted runs once they are old,
and repeats of a commit beyond the newest few. What version control holds, a page names, an
waived change speaks of, or nobody can read, stays in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.files import write_error
from harness.history import index, journal
from harness.history.changes.waivers import Waiver
from harness.history.index import IndexedRun
from harness.history.nights import BASELINE, read_baseline
from harness.records import git
from harness.records.lines import locked

_DEAD = 3600.0
"""Seconds after which a temporary file's writer is taken for dead."""


@dataclass(frozen=True, slots=True)
class Rules:
    """``days``: age from which a run that is no commit's, or was interrupted, can go; ``repeats``:
    runs of one commit, machine, suite and method that stay, the newest ones."""

    days: float = 90.0
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A file and what becomes of it: it goes if ``keep`` is empty, else that says why it stays.
    ``reason`` says why it was looked at."""

    file: Path
    size: int
    reason: str
    keep: str = ""


def survey(
    results: Path, rules: Rules, waived: Sequence[Waiver] = (), now: datetime | None = None
) -> list[Finding]:
    """What can go from ``results``, and what could but stays. Removes nothing."""
    now = now or datetime.now(UTC)
    found = [*_remains(results, now.timestamp())]
    known = index.refresh(results)
    for run in known.unreadable:
        said = "cannot be read", "perhaps it can be restored"
        found.append(Finding(results / run.file, run.size, *said))
    if not (candidates := _candidates(known.readable, rules, now)):
        return found
    held = _in_version_control(results, [run for run, _ in candidates])
    # RecordError where a file is damaged: any run may be the accepted one.
    baselines = [read_baseline(at.parent) for at in results.glob(f"*/{BASELINE}")]
    accepted = {one.run for one in baselines if one is not None}
    for run, reason in candidates:
        night = "nights are compared with it" if run.id in accepted else ""
        keep = night or _why_kept(run, held, waived)
        found.append(Finding(results / run.file, run.size, reason, keep))
    return found


def remove(findings: Iterable[Finding]) -> list[Path]:
    """Remove what can go; the files that are gone. Raises ``RecordError`` for the first that
    cannot be removed."""
    gone = []
    for finding in findings:
        if finding.keep:
            continue
        try:
            finding.file.unlink()
        except FileNotFoundError:
            continue  # somebody else's gc
        except OSError as error:
            remedy = "look at its permissions; the files before it are gone"
            raise write_error(finding.file, error, "a file cannot be removed", remedy) from error
        gone.append(finding.file)
    return gone


def _remains(results: Path, now: float) -> Iterator[Finding]:
    """Temporary files and journals that are still there although their writers are gone."""
    for file in sorted(results.glob("*/.*.tmp")):
        with suppress(OSError):
            status = file.stat()
            keep = "" if now - status.st_mtime > _DEAD else "its writer may still be at it"
            yield Finding(file, status.st_size, "left by a writer that died", keep)
    for path in sorted(results.glob(f"*/*{journal.SUFFIX}")):
        with locked(path) as free:
            writing = not free and path.exists()
        keep = "the run is in progress" if writing else "what it holds is in no run file yet"
        yield Finding(path, path.stat().st_size, "a journal", keep)


def _candidates(
    runs: Sequence[IndexedRun], rules: Rules, now: datetime
) -> list[tuple[IndexedRun, str]]:
    found = []
    repeats: Counter[tuple[str, ...]] = Counter()
    for run in reversed(runs):  # the newest first
        age = run.days(now)
        if run.dirty or not run.complete:
            what = "of a tree with uncommitted changes" if run.dirty else "interrupted"
            if age > rules.days:
                found.append((run, f"{what}, {age:.0f} days old"))
        elif run.commit:
            key = (run.commit, run.machine, run.suite, run.method, run.target, run.triton)
            repeats[key] += 1
            if repeats[key] > rules.repeats:
                why = f"more than {rules.repeats} newer ones of commit {run.commit[:10]}"
                found.append((run, why))
    return found[::-1]


def _why_kept(run: IndexedRun, held: Collection[str] | str, waived: Sequence[Waiver]) -> str:
    if isinstance(held, str):
        return f"whether version control holds it cannot be told: {held}"
    if run.file in held:
        return "it is under version control"
    if run.id in held:
        return "a file under version control names it"
    for each in waived:
        if run.commit.startswith(tuple(filter(None, (each.first, each.last)))):
            return f"a waived change names its commit (line {each.line})"
    return ""


def _in_version_control(results: Path, runs: Sequence[IndexedRun]) -> Collection[str] | str:
    """What version control has of some runs: files that it tracks, and identifiers that a tracked
    file names; or why git, which is responsible for the folder, cannot be asked."""
    place = results.resolve()
    if not any((above / ".git").exists() for above in (place, *place.parents)):
        return ()
    top, silent = git.ask(results, "rev-parse", "--show-toplevel")
    files, silent = ("", silent) if silent else git.ask(results, "ls-files", "-z", "--", ".")
    if silent:
        # No git, somebody else's checkout ("dubious ownership"), a damaged one, a time-out.
        return silent
    patterns = "\n".join(run.id for run in runs)
    wanted = ("-I", "-h", "-o", "-F", "-f", "-")
    text, silent = git.ask(Path(top.strip()), "grep", *wanted, given=patterns)
    return silent or {*files.split("\0"), *text.split("\n")} - {""}
