from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli.app import app


@dataclass(frozen=True)
class Answer:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Answer]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def harness(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line, with folders of its own."""
    monkeypatch.setenv("HARNESS_RESULTS", str(results))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_JOBS", "1")
    for name in ("HARNESS_TARGET", "HARNESS_SUITES"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Answer:
        done = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="harness")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    return call
