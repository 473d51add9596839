"""What the tests of histories share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.history.histories import COMMITS, repository


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository and its commits, oldest first."""
    folder = tmp_path_factory.mktemp("repository")
    return folder, repository(folder, COMMITS)


@pytest.fixture
def quick_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of run files need not survive a power cut."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
