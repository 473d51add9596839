from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command

COMMANDS = ("run", "emit", "capture", "list", "show", "doctor", "explain-fusion")


def test_help_names_every_command(harness: Command) -> None:
    answer = harness("-h")
    assert answer.status == 0
    for name in COMMANDS:
        assert f"\n  {name} " in answer.out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help_with_examples(harness: Command, command: str, flag: str) -> None:
    answer = harness(command, flag)
    assert answer.status == 0
    assert f"\n  harness {command}" in answer.out
    assert "--json" in answer.out
    assert "--debug" in answer.out


def test_help_fits_a_terminal(harness: Command) -> None:
    for command in COMMANDS:
        for line in harness(command, "-h").out.splitlines():
            assert len(line) <= 100, line


def test_no_command_is_wrong_usage(harness: Command) -> None:
    assert harness().status == 2


@pytest.mark.parametrize(
    "arguments", [["rnu"], ["run", "--nope"], ["run", "--jobs", "0"], ["emit"]]
)
def test_wrong_usage_ends_with_2(harness: Command, arguments: list[str]) -> None:
    answer = harness(*arguments)
    assert answer.status == 2
    assert "Usage:" in answer.err


def test_version(harness: Command) -> None:
    answer = harness("--version")
    assert answer.status == 0
    assert answer.out.startswith("harness 0.")


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\n"
        "from harness.cli.main import main\n"
        "sys.argv = ['harness', '-h']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'triton', 'sympy', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 5  # 0.1 s alone; the machine may be busy


def test_usage_lines_have_no_doubled_brackets(harness: Command) -> None:
    for command in COMMANDS:
        usage = harness(command, "-h").out.splitlines()[0]
        assert "...]" not in usage, usage
        assert "...}" not in usage, usage
