"""The files for continuous integration: every command in them exists with its options, and they run
as a runner and cron run them, in a clone of a repository, with a GPU that is made up."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from harness.cli.app import app
from tests import fork_server

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "ci"
MAKEFILE = """\
setup:
	mkdir -p .venv/bin
	cp $(FAKE) .venv/bin/harness
"""


def commands(text: str) -> list[list[str]]:
    found = re.findall(r"\.venv/bin/harness ([^>;|\n]+)", text)
    return [line.split() for line in found]


def parsed(words: list[str]) -> dict[str, Any]:
    """What the command line makes of ``words``; fails as it does where they are no command."""
    group: Any = typer.main.get_command(app)
    name, command, rest = group.resolve_command(group.make_context("harness", words), words)
    return dict(command.make_context(name, rest).params)


@pytest.mark.parametrize("name", ["nightly.yml", "nightly.cron"])
def test_every_command_in_a_ci_file_is_one(name: str) -> None:
    lines = commands((FOLDER / name).read_text())
    assert {words[0] for words in lines} == {"nightly", "report"}
    given = {words[0]: parsed(words) for words in lines}
    assert given["nightly"]["budget"] == 60
    assert given["nightly"]["metrics"] is not None
    assert given["report"]["output"] is not None


@pytest.mark.parametrize(
    "words", [["nightly", "--budge", "60"], ["nightly", "--budget", "soon"], ["report"], ["night"]]
)
def test_a_command_that_is_none_does_not_pass(words: list[str]) -> None:
    (usage_error, *_) = typer.BadParameter.__bases__
    with pytest.raises(usage_error):
        parsed(words)


def test_the_workflow_is_one() -> None:
    """What a service reads of the file: when it runs, where, for how long, and its steps."""
    whole = yaml.safe_load((FOLDER / "nightly.yml").read_text())
    started = whole[True]  # YAML 1.1 takes the key `on` for a truth value
    (timer,) = started["schedule"]
    limits = (60, 24, 32, 13, 8)
    fields = timer["cron"].split()
    for field, limit in zip(fields, limits, strict=True):
        assert field == "*" or int(field) < limit
    assert "workflow_dispatch" in started
    assert whole["concurrency"] and whole["permissions"] == {"contents": "read"}
    (job,) = whole["jobs"].values()
    assert "gpu" in job["runs-on"]
    (night,) = [words for words in commands(str(job["steps"])) if words[0] == "nightly"]
    assert job["timeout-minutes"] > parsed(night)["budget"]
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert step.keys() <= {"run", "uses", "with", "name", "if"}
        assert step.get("if", "always()") == "always()"
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))
    checkout = job["steps"][0]
    assert checkout["uses"].startswith("actions/checkout@")
    assert checkout["with"]["fetch-depth"] == 0, "the commits since the baseline are named"
    after = job["steps"][job["steps"].index(next(s for s in job["steps"] if "name" in s)) + 1 :]
    assert all("if" in step for step in after), "a red night is shown, too"


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A harness with a GPU that is made up, as a program."""
    begins = "from tests.cli.made_up_night import main; main()"
    folder = tmp_path_factory.mktemp("made-up")
    with fork_server.commands(folder, begins, "tests.cli.made_up_night") as command:
        yield fork_server.script(command)


@pytest.fixture
def checkout(tmp_path: Path, made_up: str) -> Path:
    """A clone of a repository whose ``make setup`` makes a harness with a GPU that is made up."""
    fake = tmp_path / "made-up"
    fake.write_text(made_up)
    fake.chmod(0o755)
    (tmp_path / "origin").mkdir()
    (tmp_path / "origin/Makefile").write_text(MAKEFILE)
    git = "git -c user.name=a -c user.email=a@b.c -c init.defaultBranch=main"
    made = f"cd origin && {git} init -q && {git} add -A && {git} commit -qm one"
    cloned = ["sh", "-c", f"{made} && cd .. && git clone -q origin clone"]
    subprocess.run(cloned, cwd=tmp_path, check=True)
    return tmp_path / "clone"


def ran(command: list[str], where: Path, **given: str) -> int:
    """The exit status of ``command`` where little more than a path is set."""
    home = where.parent
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(home), "FAKE": str(home / "made-up"), **given}
    return subprocess.run(command, cwd=where, env=bare, check=False, timeout=500).returncode


def failed(steps: list[dict[str, Any]], where: Path, **given: str) -> list[str]:
    """Run a job's steps as a runner does: after one that fails, only those that always run. The
    names of those that failed."""
    names: list[str] = []
    for step in steps:
        if "run" in step and (not names or step.get("if") == "always()"):
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            names += [step.get("name", step["run"])] * bool(ran(shell, where, **given))
    return names


def test_the_workflow_runs(checkout: Path) -> None:
    job = yaml.safe_load((FOLDER / "nightly.yml").read_text())["jobs"]["nightly"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(job["env"]["HARNESS_EXTRAS"].split(",")) <= extras["optional-dependencies"].keys()
    summary = checkout.parent / "summary.md"
    given = {k: text.replace("/var/lib", str(checkout.parent)) for k, text in job["env"].items()}
    steps, given = job["steps"], {**given, "GITHUB_STEP_SUMMARY": str(summary)}
    assert failed(steps, checkout, **given) == []
    assert "GREEN" in summary.read_text()
    assert failed(steps, checkout, **given, SLOWER="k3") == ["night"]
    assert "RED" in summary.read_text()
    uploaded = steps[-1]["with"]["path"].split()
    assert uploaded == ["nightly.md", "nightly.prom", "pages"]
    assert all((checkout / path).exists() for path in uploaded)
    metrics = (checkout / "nightly.prom").read_text()
    assert re.search(r"^harness_night_status\{.*\} 1", metrics, re.MULTILINE)
    assert "k3" in (checkout / "pages/index.html").read_text()


def test_the_line_for_cron_runs(checkout: Path) -> None:
    text = (FOLDER / "nightly.cron").read_text().replace("/var", str(checkout.parent / "var"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    settings = dict(line.split("=") for line in lines if re.match(r"\w+=", line))
    (entry,) = [line for line in lines if not re.match(r"\w+=", line)]
    found = re.fullmatch(r"(?:[\d*]+ ){5}(cd .*)", entry)
    assert found
    assert "%" not in entry, "cron takes it for a new line"
    assert not any("$" in value for value in settings.values()), "cron does not look into these"
    for folder in ("lib/harness", "lib/node_exporter", "www"):
        (checkout.parent / "var" / folder).mkdir(parents=True)
    assert ran(["make", "-s", "setup"], checkout) == 0
    assert ran(["sh", "-c", found[1]], checkout.parent, **{**settings, "HARNESS": "clone"}) == 0
    assert "GREEN" in (checkout.parent / "var/lib/harness/nightly.txt").read_text()
    assert (checkout.parent / "var/lib/node_exporter/harness.prom").exists()
    assert (checkout.parent / "var/www/harness/index.html").exists()
