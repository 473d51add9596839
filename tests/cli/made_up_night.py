"""The command line on a machine whose GPU and suite are made up: what ``SLOWER`` names is slower
than in the baseline."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.cli.main import main as run
from tests.verdicts.night_world import machine, made


def main() -> None:
    """Be harness."""
    results = Path(os.environ["HARNESS_RESULTS"])
    world = machine(results, pytest.MonkeyPatch())
    if not results.exists():
        world.start()
    slower = os.environ.get("SLOWER", "")
    kernels = [kernel.name for kernel, _ in world.suite["g"]]
    for number in [kernels.index(slower)] if slower else []:
        changed = made(slower, f"n{number}", 0.03, f"n{number} = 2")
        world.suite["g"][number] = (changed, 1)
    run()
