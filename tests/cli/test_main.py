from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

COMMANDS = ("run", "emit", "capture", "list", "show", "doctor", "explain")


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


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ([], {"torch", "triton", "sympy", "pandas", "pyarrow", "numpy"}),
        (["compare"], {"torch", "triton", "sympy", "pandas", "scipy.special"}),
        (["confirm"], {"torch", "triton", "sympy", "pandas", "scipy.special"}),
    ],
)
def test_help_is_quick_because_nothing_heavy_is_imported(
    command: list[str], heavy: set[str]
) -> None:
    code = (
        "import sys\n"
        "from harness.cli.main import main\n"
        f"sys.argv = ['harness', *{command}, '-h']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"heavy = {heavy} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_characters_shows_question_marks(encoding: str) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", "from harness.cli.main import main; main()"]
        + ["compare", "20261121-070533", "20261121-071108"],
        check=False,
        capture_output=True,
        encoding=encoding,
        cwd=root,
        env={**os.environ, "PYTHONIOENCODING": encoding, "HARNESS_RESULTS": str(root / "results")},
    )
    assert done.returncode == 0, done.stderr
    assert "B?A" in done.stdout.replace("B\xf7A", "B?A")
    assert "XBLOCK 16 ? 32" in done.stdout


RECORDED = (
    ("list",),
    ("list", "--runs"),
    ("show", "20261121-094132"),
    ("compare", "20261121-070533", "20261121-071108"),
    ("compare", "harness", "inductor", "--run", "20261121-121544"),
    ("changes",),
    ("calibrate", "--show"),
    ("tune", "llama_block_forward", "--run", "20261121-094132"),
    ("gc",),
)


def test_what_prints_recorded_figures_does_without_torch() -> None:
    """Importing torch takes seconds; a recorded run needs none of it."""
    code = (
        "import json, sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        assert name not in ('torch', 'triton'), name\n"
        "sys.meta_path.insert(0, Without())\n"
        "from typer.testing import CliRunner\n"
        "from harness.cli.app import app\n"
        "import harness.pytest.plugin\n"  # which every pytest loads where the harness is installed
        "for arguments in json.loads(sys.argv[1]):\n"
        "    done = CliRunner().invoke(app, arguments)\n"
        "    assert done.exit_code in (0, 1, 4), (arguments, done.output, done.exception)\n"
        "    assert 'does not expect' not in done.output, (arguments, done.output)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(RECORDED)],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_usage_lines_have_no_doubled_brackets(harness: Command) -> None:
    for command in COMMANDS:
        usage = harness(command, "-h").out.splitlines()[0]
        assert "...]" not in usage, usage
        assert "...}" not in usage, usage


def test_a_reader_that_goes_away_is_no_failure() -> None:
    """Neither 1, a kernel that failed, nor a word: as the shell says of any other command."""
    command = f"'{sys.executable}' -c 'from harness.cli.main import main; main()' {{}} | head -c 1"
    shell = ["bash", "-o", "pipefail", "-c", command.format("list --suite corpus --json")]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (141, "{", "")
