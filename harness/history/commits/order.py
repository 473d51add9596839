"""The order of commits: what came after what, from git's history, never from a clock.

The line that counts is HEAD's first parents: what the branch held, in the order in which it held
it. Where history cannot say, of all commits or of some, the runs' time of creation is used, and a
sentence says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.records import git
from harness.records.names import DIGITS, some
from harness.table import plural

_BY_TIME = "runs are in the order of their time"


@dataclass(frozen=True, slots=True)
class Order:
    """Positions of the commits that were asked for (by the names they were asked by) on the
    ``line``, oldest first. None where only the runs' time can order them; ``notes`` are sentences
    about that, and about commits that are not on the line."""

    positions: dict[str, int] = field(default_factory=dict)
    line: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_line(repository: Path) -> tuple[dict[str, int], str]:
    """Where each commit of HEAD's first-parent line in ``repository`` stands, oldest first; why
    there is none."""
    asked = ("--first-parent", "--topo-order", "--reverse", "--format=%H", "HEAD")
    text, error = git.ask(repository, "log", *asked)
    return {commit: place for place, commit in enumerate(text.split())}, error


def order(since: Mapping[str, str], repository: Path) -> Order:
    """Where each commit stands on the first-parent line of ``repository``. ``since``: when each
    (names, possibly abbreviated, no empty one) was measured first. One that git does not know there
    (a shallow clone, a rewritten branch, another project) stands behind the furthest commit of the
    line that had been measured by then. None stands anywhere if none is on the line."""
    places, error = read_line(repository)
    if error or not since:
        why = f"no history of commits ({error})" if since else "no run names its commit"
        return Order(notes=(f"{why}: {_BY_TIME}",))
    names = sorted(since)
    asked = "".join(f"{name}^{{commit}}\n" for name in names)
    text, _ = git.ask(repository, "cat-file", "--batch-check=%(objectname)", given=asked)
    full = dict(zip(names, text.splitlines(), strict=False))
    # Of what it does not know, git says so in two words.
    unknown = [name for name in names if " " in full.get(name, " ")]
    found = {name: places[full[name]] for name in names if full.get(name) in places}
    missing = [name for name in names if name not in found and name not in unknown]
    elsewhere = "another branch, or one that was rewritten; "
    off = "not on HEAD's first-parent line", elsewhere, "left out (--order time takes all runs)"
    here = where_commits_are(repository) if unknown else ""
    new = "unknown to git here", here, "placed by time among those that are known"
    notes = tuple(
        f"{plural(len(which), 'commit of the runs is', 'commits of the runs are')} {what} "
        f"({some([name[:DIGITS] for name in which])}): {why}{fate if found else _BY_TIME}"
        for which, (what, why, fate) in ((unknown, new), (missing, off))
        if which
    )
    if not found:
        return Order(notes=notes)
    keys: dict[str, tuple[int, str, str]] = {name: (n, "", "") for name, n in places.items()}
    for name in unknown:
        # What a clock that was wrong dates (no date) says nothing about the others.
        measured = (n for other, n in found.items() if "" < since[other] <= since[name])
        keys[name] = (max(measured, default=-1), since[name], name)
    line = sorted(keys, key=keys.__getitem__)
    at = {name: place for place, name in enumerate(line)}
    positions = {name: at[full[name] if name in found else name] for name in (*found, *unknown)}
    return Order(positions, tuple(line), notes)


def where_commits_are(folder: Path) -> str:
    """What to do about a commit that the checkout in ``folder`` does not have."""
    shallow, silent = git.ask(folder, "rev-parse", "--is-shallow-repository")
    if silent:
        return "commits are known inside a checkout only; "
    if shallow.strip() == "true":
        return "this clone lacks a part of its history (git fetch --unshallow); "
    return "git fetch the branch that it is on, unless that was rewritten; "
