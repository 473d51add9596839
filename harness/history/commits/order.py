"""The order of commits: what came after what, from git's history, never from a clock.

The line that counts is HEAD's first parents: what the branch held, in the order in which it held
it. Where history cannot say, the runs' time of creation is used, and a sentence says why.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.records import git
from harness.table import plural


@dataclass(frozen=True, slots=True)
class Line:
    """Commits of a branch in order, oldest first. ``reason`` says why there are none."""

    commits: tuple[str, ...] = ()
    reason: str = ""

    @property
    def positions(self) -> dict[str, int]:
        """Where each commit stands."""
        return {commit: i for i, commit in enumerate(self.commits)}


@dataclass(frozen=True, slots=True)
class Order:
    """Positions of the commits that were asked for (by the names they were asked by).

    ``by_history`` is false when only the runs' time can order them; ``notes`` are sentences about
    that, and about commits that are not on the line, which names those between two positions."""

    positions: dict[str, int]
    by_history: bool
    notes: tuple[str, ...] = ()
    line: Line = Line()


def read_line(repository: Path) -> Line:
    """The first-parent line of HEAD in ``repository``."""
    asked = ("--first-parent", "--topo-order", "--reverse", "--format=%H", "HEAD")
    text, error = git.ask(repository, "log", *asked)
    return Line(tuple(text.split()), error)


def order(commits: Collection[str], repository: Path) -> Order:
    """Where each of ``commits`` (names, possibly abbreviated, no empty one) stands on the
    first-parent line of ``repository``.

    If some commit is unknown there (a shallow clone, a rewritten branch, another project), or none
    is on the line, ``by_history`` is false and the caller orders all runs by time."""
    line = read_line(repository)
    if not commits:
        return Order({}, not line.reason, line=line)
    if line.reason:
        note = f"no history of commits ({line.reason}): runs are in the order of their time"
        return Order({}, False, notes=(note,))
    found = _on_line(commits, line.commits)
    missing = sorted(set(commits) - set(found))
    known = _existing(missing, repository)
    if unknown := [commit for commit in missing if commit not in known]:
        return Order({}, False, notes=(_unknown_note(unknown, repository),))
    if missing and not found:
        note = (
            f"none of the {plural(len(missing), 'commit')} of the runs is on HEAD's first-parent "
            "line (another branch, or one that was rewritten): runs are in the order of their time"
        )
        return Order({}, False, notes=(note,))
    notes: tuple[str, ...] = ()
    if missing:
        notes = (
            f"left out: {plural(len(missing), 'commit')} that {_are(missing)} not on HEAD's "
            f"first-parent line ({_few(missing)}): another branch, or one that was rewritten; "
            "--order time takes all runs",
        )
    return Order(found, True, notes, line)


def _on_line(commits: Collection[str], line: tuple[str, ...]) -> dict[str, int]:
    ordered = sorted((commit, i) for i, commit in enumerate(line))
    found = {}
    for name in commits:
        place = bisect_left(ordered, (name, -1))
        hits = [i for full, i in ordered[place : place + 2] if full.startswith(name)]
        if len(hits) == 1:
            found[name] = hits[0]
    return found


def _existing(commits: list[str], repository: Path) -> set[str]:
    """Those of ``commits`` that the repository has, on whatever branch."""
    if not commits:
        return set()
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits)
    text, error = git.ask(repository, "cat-file", "--batch-check", given=asked)
    if error:
        return set()
    answers = text.splitlines()
    return {name for name, answer in zip(commits, answers, strict=False) if " commit " in answer}


def _unknown_note(unknown: list[str], repository: Path) -> str:
    shallow, _ = git.ask(repository, "rev-parse", "--is-shallow-repository")
    if shallow.strip() == "true":
        why, remedy = "this is a clone without its whole history", "git fetch --unshallow"
    else:
        why = "the branch was rewritten, or the runs are of another repository"
        remedy = "fetch the branch they are on"
    return (
        f"{plural(len(unknown), 'commit')} of the runs {_are(unknown)} unknown to git here "
        f"({_few(unknown)}): {why}; runs are in the order of their time instead ({remedy})"
    )


def _few(commits: list[str]) -> str:
    shown = ", ".join(commit[:10] for commit in commits[:3])
    return shown if len(commits) <= 3 else f"{shown}, …"


def _are(items: Collection[str]) -> str:
    return "is" if len(items) == 1 else "are"
