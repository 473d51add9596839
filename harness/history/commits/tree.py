"""A commit exported: its package in a folder of its own, and what its compiler emits. Nothing is
built or installed. The folder comes from ``git archive``, so it needs neither a second clone nor a
working tree, and a bare, shallow or linked repository will do."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import CommitUnusable
from harness.history.commits import export as exporter
from harness.records import git

_SECONDS = 900.0
"""What exporting all graphs of a commit may take; some seconds are usual."""


def unpack(repository: Path, commit: str, package: str, folder: Path) -> Path:
    """The tree that holds ``package`` as of ``commit``, in the temporary ``folder``. Raises
    ``CommitUnusable`` for a commit that is not there or has no such package."""
    tree, archive = folder / "tree", folder / "tree.tar"
    options = ("--format=tar", f"--output={archive}")
    _, error = git.ask(repository, "archive", *options, commit, "--", package)
    if error:
        raise CommitUnusable(
            "a commit cannot be unpacked",
            where=commit[:12],
            got=error,
            expected=f"a commit of {repository} with the package {package}",
            remedy="choose a later commit, or fetch the missing history",
        )
    with tarfile.open(archive) as opened:
        opened.extractall(tree, filter="data")
    return tree


def export(
    tree: Path,
    named: str,
    graphs: Mapping[str, Path],
    target: str,
    path: Sequence[str] = (),
    python: str = sys.executable,
    stages: Path | None = None,
) -> dict[str, Any]:
    """What ``export.py`` answers, run by ``python`` with ``tree``'s package and ``path`` after it;
    with ``stages``, a folder, the compiler's stages write there what they make. Raises
    ``CommitUnusable``, of what is ``named``, where it cannot be imported or its process dies."""
    request = {
        "tree": str(tree),
        "graphs": {name: str(file) for name, file in graphs.items()},
        "target": target,
        "stages": None if stages is None else str(stages),
    }
    return answered(request, [str(tree), *path], python, named)


def answered(
    request: Mapping[str, Any], path: Sequence[str], python: str, named: str
) -> dict[str, Any]:
    """What ``export.py`` answers to ``request`` when ``python`` runs it with ``path``. Raises
    ``CommitUnusable``, where ``named`` says of whom, for an error and a process that dies."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        said = _run(json.dumps({**request, "out": str(out)}), path, python)
        try:
            answer: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unusable(named, "its process ended without an answer", said) from error
    if answer["error"]:
        raise _unusable(named, str(answer["error"]), "")
    return answer


def _run(request: str, path: Sequence[str], python: str) -> str:
    """Runs the script with ``request``; the last line of what it printed."""
    # -P: the script's own folder is the working tree's and must not be searched.
    command = ["env", f"PYTHONPATH={':'.join(path)}", python, "-P", exporter.__file__]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {_SECONDS:.0f} s"
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"exit status {done.returncode}" + (f": {lines[-1]}" if lines else "")


def _unusable(named: str, got: str, said: str) -> CommitUnusable:
    return CommitUnusable(
        "the compiler cannot be used",
        where=named,
        got=f"{got} ({said})" if said else got,
        expected="a package that imports with this Python, torch and triton",
        remedy="nothing of it is measured; leave it out, or take one that works",
    )
