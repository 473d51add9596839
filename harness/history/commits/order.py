"""The order of commits: what came after what, from git's history, never from a clock.

The line that counts is HEAD's first parents: what the branch held, in the order in which it held
it. Where history cannot say, the runs' time of creation is used, and a sentence says why.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from harness.records import git
from harness.records.names import DIGITS, some
from harness.table import plural


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


def order(commits: Collection[str], repository: Path) -> Order:
    """Where each of ``commits`` (names, possibly abbreviated, no empty one) stands on the
    first-parent line of ``repository``: nowhere, if some commit is unknown there (a shallow clone,
    a rewritten branch, another project), or none is on the line."""
    places, error = read_line(repository)
    if error:
        note = f"no history of commits ({error}): runs are in the order of their time"
        return Order(notes=(note,))
    names = sorted(commits)
    asked = "".join(f"{name}^{{commit}}\n" for name in names)
    text, _ = git.ask(repository, "cat-file", "--batch-check=%(objectname)", given=asked)
    full = dict(zip(names, text.splitlines(), strict=False))
    # Of what it does not know, git says so in two words.
    if unknown := [name for name in names if " " in full.get(name, " ")]:
        many = plural(len(unknown), "commit of the runs is", "commits of the runs are")
        which = some([name[:DIGITS] for name in unknown])
        note = (
            f"{many} unknown to git here ({which}): {where_commits_are(repository)}"
            "runs are in the order of their time"
        )
        return Order(notes=(note,))
    found = {name: places[full[name]] for name in names if full[name] in places}
    missing = [name for name in names if name not in found]
    if missing and not found:
        note = (
            f"none of the {plural(len(missing), 'commit')} of the runs is on HEAD's first-parent "
            "line (another branch, or one that was rewritten): runs are in the order of their time"
        )
        return Order(notes=(note,))
    note = (
        f"left out: {plural(len(missing), 'commit that is', 'commits that are')} not on HEAD's "
        f"first-parent line ({some([name[:DIGITS] for name in missing])}): another branch, or one "
        "that was rewritten; --order time takes all runs"
    )
    return Order(found, tuple(places), (note,) if missing else ())


def where_commits_are(folder: Path) -> str:
    """What to do about a commit that the checkout in ``folder`` does not have."""
    shallow, silent = git.ask(folder, "rev-parse", "--is-shallow-repository")
    if silent:
        return "commits are known inside a checkout only; "
    if shallow.strip() == "true":
        return "this clone lacks a part of its history (git fetch --unshallow); "
    return "git fetch the branch that it is on, unless that was rewritten; "
