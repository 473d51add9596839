"""``scripts/asv_backlog run`` on a machine without network, with a stand-in for Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """#!/usr/bin/env bash
case "$*" in
*pip*) ;;
*)
    cat <<'LOG'
[ 0.00%] · For harness commit aaaaaaaa (round 1/2):
[ 1.00%] ··· Setting up fused:32
[ 1.00%] ··· 25.1 s for 19 kernels: compiled for static metrics 2.0 s, tuned              ok
[ 2.00%] · For harness commit bbbbbbbb (round 1/2):
[ 2.00%] ··· 24.9 s for 19 kernels: compiled for static metrics 2.0 s, tuned              ok
[50.00%] · For harness commit bbbbbbbb (round 2/2):
[51.00%] ··· 24.8 s for 19 kernels: compiled for static metrics 2.0 s, tuned              ok
[52.00%] · For harness commit aaaaaaaa (round 2/2):
[52.00%] ··· Setting up fused:32
LOG
    exit ${ENDS:-0}
    ;;
esac
"""


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """What ``pack`` makes, as far as ``run`` looks at it."""
    folder = tmp_path / "un packed"
    for name in ("scripts/asv_backlog", "suites/asv/declared.py", "asv.conf.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "results" / "asv").mkdir(parents=True)
    (folder / "wheels").mkdir()
    (folder / "wheels" / "asv.whl").touch()
    (folder / "python").write_text(STAND_IN)
    (folder / "python").chmod(0o755)
    (tmp_path / "out").mkdir()
    origin = tmp_path / "origin"
    author = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    git(tmp_path, "init", "-q", "-b", "main", "origin")
    for message in ("One", "Two"):
        git(origin, *author, "commit", "-q", "--allow-empty", "-m", message)
    git(origin, "checkout", "-q", "-b", "side")
    bundle = str(folder / "history.bundle")
    git(origin, "bundle", "create", "-q", bundle, "HEAD", "--branches", "--tags")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def run(folder: Path, *commits: str, ends: int = 0) -> subprocess.CompletedProcess[str]:
    out = str(folder.parent / "out")
    return subprocess.run(
        ["bash", "scripts/asv_backlog", "run", out, "60", *commits],
        cwd=folder,
        env=os.environ | {"PYTHON": str(folder / "python"), "ENDS": str(ends)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_that_its_time_ends_says_how_far_it_came(unpacked: Path) -> None:
    done = run(unpacked, "main", "main~1", ends=124)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "round 1: 2 of 2 commits measured",
        "round 2: 1 of 2 commits measured",
        "stopped after 60 s",
    ]
    origin = unpacked.parent / "origin"
    hashes = [git(origin, "rev-parse", name) for name in ("main", "main~1")]
    assert (unpacked / "commits.txt").read_text().split() == hashes, "names are resolved"
    assert (unpacked.parent / "out" / "results.tgz").is_file()


def test_a_commit_that_is_not_in_the_bundle_is_refused_before_anything_is_measured(
    unpacked: Path,
) -> None:
    done = run(unpacked, "main", "gone")
    assert done.returncode == 2
    assert "gone is no commit of history.bundle; nothing was measured" in done.stderr
    assert not (unpacked.parent / "out" / "run.txt").exists()


def test_another_end_is_told_with_its_status(unpacked: Path) -> None:
    assert "asv ended with status 3" in run(unpacked, "side", ends=3).stdout
