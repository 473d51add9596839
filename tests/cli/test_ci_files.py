"""The files for continuous integration: they parse, and every command in them exists with its
options."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from harness.cli.app import COMMANDS

yaml = pytest.importorskip("yaml")

FOLDER = Path(__file__).parents[2] / "docs" / "ci"


def commands(text: str) -> list[list[str]]:
    found = re.findall(r"\.venv/bin/harness ([^>;|\n]+)", text)
    return [line.split() for line in found]


@pytest.mark.parametrize("name", ["nightly.yml", "nightly.cron"])
def test_every_command_in_a_ci_file_exists(name: str) -> None:
    lines = commands((FOLDER / name).read_text())
    assert lines
    for command, *words in lines:
        (place,) = (place for known, place, _ in COMMANDS if known == command)
        module, _, function = place.partition(":")
        run = getattr(importlib.import_module(f"harness.cli.{module}"), function or module)
        offered = {
            option
            for parameter in run.__signature__.parameters.values()
            for made in getattr(parameter.annotation, "__metadata__", ())
            for option in (
                getattr(made, "default", ""),
                *(getattr(made, "param_decls", None) or ()),
            )
        } | {f"--{name.replace('_', '-')}" for name in run.__signature__.parameters}
        for word in words:
            assert not word.startswith("-") or word in offered, f"{command} {word}"


def test_the_workflow_is_one() -> None:
    found = yaml.safe_load((FOLDER / "nightly.yml").read_text())
    steps = found["jobs"]["nightly"]["steps"]
    assert all("run" in step or "uses" in step for step in steps)


def test_the_cron_line_has_five_fields_and_a_command() -> None:
    text = (FOLDER / "nightly.cron").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    (entry,) = [line for line in lines if not re.match(r"\w+=", line)]
    assert re.match(r"(\S+ ){5}cd ", entry)
