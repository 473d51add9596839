"""What asv meets in repositories and results folders that are not as it expects: sentences.

Results are written whole or not at all, and a part of a benchmark never replaces what was measured
of the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from asv import results, util
from asv.console import log
from asv.plugins.git import Git
from asv.repo import NoSuchNameError, get_repo

from harness.files import write_atomically
from harness.records import git
from suites.tracking.machine import machine_fields

_FETCH = "fetch the rest of the history (git fetch --unshallow) and try again"


def require_repository(conf: Any) -> None:
    """Raises ``UserError`` where the configured repository is a folder without git in it."""
    where = Path(str(conf.repo))
    if conf.dvcs == "git" and where.is_dir() and not Git.is_local_repo(str(where)):
        raise util.UserError(
            f"there is no git repository in {where.resolve()}, so there are no commits to measure. "
            "Where files travel without .git take the history along as a bundle: "
            "git bundle create history.bundle --all, there git clone --mirror history.bundle "
            'history.git, and "repo": "history.git" in asv.conf.json'
        )


def warn_of_history(repo: Any, measured: Collection[str]) -> None:
    """Say what of the history is missing, if something is."""
    if _is_shallow(repo):
        log.warning(
            "this clone has no full history: commits before its first one can be neither measured "
            f"nor placed; {_FETCH}"
        )
    reachable, _ = git.ask(Path(repo._path), "rev-list", "--all", "HEAD")
    gone = sorted(set(measured) - set(reachable.split()))
    if gone:
        named = ", ".join(commit[:8] for commit in gone[:5]) + (" …" if len(gone) > 5 else "")
        log.warning(
            f"results of {len(gone)} commits that no branch leads to any more ({named}): the "
            "branch was rewritten, or they are not fetched. They stay, but appear on no page; "
            f"asv rm commit_hash={gone[0][:8]} removes one"
        )


def require_common_line(repo: Any, branches: Sequence[Any], measured: Collection[str]) -> None:
    """Raises ``UserError`` where ``NEW`` would measure everything because none of what is
    measured is on a branch any more."""
    lines = [commit for branch in branches for commit in repo.get_branch_commits(branch)]
    if measured and set(measured).isdisjoint(lines):
        raise util.UserError(
            f"none of the {len(measured)} measured commits is on {', '.join(map(str, branches))} "
            f"(the branch was rewritten, or this clone lacks history), so NEW would measure all "
            f"{len(lines)} commits. Name a range instead: asv run A..B, or HEAD^! for one commit"
        )


def machine_with(conf: Any, names: Sequence[str]) -> str | None:
    """Of the machines that have results of all commits called ``names`` one with a GPU, the one at
    hand if it is among them; which one is said where there are several. None where no machine has
    them."""
    repo, results_dir = get_repo(conf), Path(str(conf.results_dir))
    commits = []
    for name in names:
        with contextlib.suppress(NoSuchNameError):  # asv says so
            commits.append(repo.get_hash_from_name(name)[:8])
    machines = {}
    for path in sorted(results_dir.glob("*/machine.json")):
        if all(any(path.parent.glob(f"{commit}*.json")) for commit in commits):
            machines[path.parent.name] = util.load_json(str(path))
    if not machines:
        return None
    here = machine_fields()["machine"]
    chosen = max(machines, key=lambda name: (bool(machines[name].get("gpu")), name == here))
    others = [name for name in machines if name != chosen]
    if others:
        log.info(f"results of {chosen}; -m chooses another machine: {', '.join(others)}")
        log.flush()
    return chosen


def _is_shallow(repo: Any) -> bool:
    said, _ = git.ask(Path(repo._path), "rev-parse", "--is-shallow-repository")
    return said.strip() == "true"


def telling_hashes(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Git.get_hashes_from_range`` with a sentence for a range that is not there."""

    def get_hashes_from_range(self: Any, range_spec: str) -> Any:
        try:
            return original(self, range_spec)
        except util.ProcessError as error:
            said = (str(error.stderr).strip().splitlines() or ["git failed"])[0]
            hint = _FETCH if _is_shallow(self) else "git log shows which commits there are"
            raise util.UserError(
                f"{range_spec} is no range of commits of this repository ({said}). If the branch "
                f"was rewritten or this clone lacks history, its ends may be gone: {hint}"
            ) from error

    return get_hashes_from_range


def telling_load(original: Callable[..., Any]) -> Callable[..., Any]:
    """``util.load_json`` with a sentence for a result file that is not whole."""

    def load_json(path: str, api_version: Any = None, js_comments: bool = False) -> Any:
        try:
            return original(path, api_version, js_comments=js_comments)
        except util.UserError as error:
            if "Error parsing JSON" not in str(error):
                raise
            name = Path(path).name
            mend = "measure a commit on that machine again"
            if re.match(r"[0-9a-f]{8}-", name):
                mend = f"measure its commit again (asv run {name[:8]}^!)"
            elif name == "benchmarks.json":
                mend = "write it again (asv run --bench just-discover)"
            raise util.UserError(
                f"{os.path.relpath(path)} is half-written or damaged and is left out "
                f"({str(error).split(': ', 1)[-1]}); {mend} or restore the file"
            ) from error

    return load_json


def setting_aside(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Results.load_data``; a file that cannot be read is moved aside and measured anew."""

    def load_data(self: Any, result_dir: str) -> None:
        try:
            original(self, result_dir)
        except util.UserError as error:
            path = Path(result_dir) / self._filename
            aside = path.with_name(path.name + ".damaged")
            path.replace(aside)
            log.warning(f"{error}. It is kept as {aside.name}, the commit is measured now")

    return load_data


def keeping(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Results.add_result``. asv merges some rows into a benchmark that was measured in the same
    way and drops the others of one that was measured in another way; here they all stay."""

    def add_result(self: Any, benchmark: Any, result: Any, *args: Any, **kwargs: Any) -> None:
        name, selected = benchmark["name"], kwargs.get("selected_idx")
        before = self.benchmark_version.get(name, benchmark["version"])
        partly = selected is not None and len(selected) < len(result.result)
        if partly and name in self.get_all_result_keys() and before != benchmark["version"]:
            log.warning(
                f"{name} keeps what was measured in another way ({before}): some rows of "
                f"{benchmark['version']} would replace all of it; measure it without a filter"
            )
            return
        original(self, benchmark, result, *args, **kwargs)

    return add_result


def write_json(path: str, data: Any, api_version: Any = None, compact: bool = False) -> None:
    """As asv's own, but a reader sees the whole file or the old one: an interrupted run leaves
    no half-written result."""
    whole = data if api_version is None else {**data, "version": api_version}
    layout: dict[str, Any] = {} if compact else {"indent": 4, "sort_keys": True}
    write_atomically(Path(path).absolute(), json.dumps(whole, **layout).encode(), mode=0o644)


def install() -> None:
    """Make asv say these sentences, and keep what is measured."""
    Git.get_hashes_from_range = telling_hashes(Git.get_hashes_from_range)
    util.load_json = telling_load(util.load_json)
    util.write_json = write_json
    results.Results.load_data = setting_aside(results.Results.load_data)
    results.Results.add_result = keeping(results.Results.add_result)
