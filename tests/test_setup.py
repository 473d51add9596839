"""``make`` on a machine whose python already has torch: nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYTHON = f"PYTHON={sys.executable}"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What set-up needs of this checkout, below a path with spaces, set up."""
    place = tmp_path_factory.mktemp("a path with spaces") / "harness"
    for name in ("harness", "scripts"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, place / name, ignore=ignored)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / name)
    done = make(place, "setup", PYTHON)
    assert done.returncode == 0, done.stderr
    assert "downloading nothing" in done.stdout
    return place


def make(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MAKEFLAGS")}
    # A package index that cannot answer, so that a download would be an error.
    environment["PIP_NO_INDEX"] = "1"
    return subprocess.run(
        ["make", "-C", str(place), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_second_time_does_nothing(checkout: Path) -> None:
    stamp = checkout / ".venv" / ".stamp"
    before = stamp.stat().st_mtime_ns
    assert make(checkout, "setup", PYTHON).returncode == 0
    assert stamp.stat().st_mtime_ns == before


def test_the_command_runs_from_anywhere(checkout: Path, tmp_path: Path) -> None:
    command = str(checkout / ".venv" / "bin" / "harness")
    done = subprocess.run(
        [command, "list", "--targets"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "sm_90" in done.stdout


def test_the_command_is_written_where_no_other_checkout_is_installed(tmp_path: Path) -> None:
    """As on a GPU machine that has torch and has never seen the package."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    subprocess.run([str(bare / "bin" / "python"), str(ROOT / "scripts" / "link.py")], check=True)
    assert (bare / "bin" / "harness").exists()
    assert not (bare / "bin" / "asv").exists()  # not installed there, so not offered


def test_packages_are_borrowed_and_the_package_is_this_checkout(
    checkout: Path, tmp_path: Path
) -> None:
    code = (
        "import harness, torch, triton\n"
        "from importlib.metadata import entry_points, version\n"
        "(point,) = entry_points(group='torch_dynamo_backends', name='harness')\n"
        "print(harness.__file__, version('harness') == harness.__version__, point.value, sep='\\n')"
    )
    python = str(checkout / ".venv" / "bin" / "python")
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    file, same_version, backend = done.stdout.split("\n")[:3]
    assert file == str(checkout / "harness" / "__init__.py")
    assert same_version == "True"
    assert backend == "harness.backend:backend"


def test_borrowed_commands_run_in_this_environment(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): import harness.pytest.plugin\n")
    done = subprocess.run(
        [str(checkout / ".venv" / "bin" / "pytest"), "-q", "-W", "error"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_python_that_is_not_there(checkout: Path) -> None:
    (checkout / ".venv" / ".stamp").unlink()
    done = make(checkout, "setup", "PYTHON=/no/such/python")
    assert done.returncode != 0
    assert "there is no '/no/such/python' here" in done.stderr
    assert "what to do" in done.stderr
