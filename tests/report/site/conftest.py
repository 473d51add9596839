from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.records.run import Run
from tests.report.site import nights

COMMITS = 14


@dataclass(frozen=True)
class World:
    """A repository with a history of runs, and the site made of them."""

    repository: Path
    results: Path
    commits: list[str]
    runs: list[Run]
    site: Path

    def report(self, *more: str) -> Any:
        """Make the site; what the command answered."""
        given = ["report", str(self.results), "-o", str(self.site)]
        given += ["--repository", str(self.repository), "--debug", *more]
        return CliRunner().invoke(app, given, prog_name="harness")

    def text(self, page: str) -> str:
        return (self.site / page).read_text(encoding="utf-8")


def make(folder: Path, **options: Any) -> World:
    commits = nights.repository(folder / "repository", COMMITS)
    runs = nights.plant(folder / "results", commits, **options)
    return World(folder / "repository", folder / "results", commits, runs, folder / "site")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Fourteen nights of two graphs, the last two with a regression."""
    pytest.importorskip("plotly", reason="pages need plotly: pip install 'harness[report]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        made = make(
            tmp_path_factory.mktemp("world"), graphs=("llama_block_forward", "llama_block_backward")
        )
    done = made.report()
    assert done.exit_code == 0, done.output
    return made
