"""Simulated histories: run files of commits with known truth."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.history import store
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.records.timing import Samples
from tests.history.examples import KERNEL, MACHINE

Edit = Callable[[KernelRecord, int, int], KernelRecord]

COMMITS = 30


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(folder: Path, commits: int) -> list[str]:
    """A repository of that many empty commits; their names, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    return git(folder, "log", "--reverse", "--format=%H").splitlines()


def noise(rng: np.random.Generator, rows: int, points: int, phi: float) -> NDArray[np.float64]:
    """Rows of a first-order autoregression of unit variance."""
    drawn = rng.normal(size=(rows, points + 60)) * np.sqrt(1 - phi * phi)
    for i in range(1, points + 60):
        drawn[:, i] += phi * drawn[:, i - 1]
    return drawn[:, 60:]


def save_history(
    results: Path,
    commits: Sequence[str],
    values: NDArray[np.float64],
    *,
    machines: Mapping[int, Machine] | None = None,
    edit: Edit = lambda kernel, row, point: kernel,
    a_day: int = 10**6,
    coded: bool = True,
    **changes: object,
) -> list[Path]:
    """A run per commit, ``a_day`` of them, a kernel per row of ``values`` (milliseconds), in one
    graph. A kernel that jumps alone has other code from there on, unless not ``coded``. From the
    points that ``machines`` names on, runs are made there; ``edit`` changes single kernels.
    """
    paths = []
    codes = _codes(values) if coded else np.zeros(values.shape, int)
    machine = MACHINE
    for point, commit in enumerate(commits):
        machine = (machines or {}).get(point, machine)
        kernels = tuple(
            edit(_kernel(f"k{row}", float(values[row, point]), codes[row, point]), row, point)
            for row in range(len(values))
        )
        whole = Run(
            id=f"20260101-{point:06d}-{commit[:12]}",
            created=f"2026-01-{1 + point // a_day:02d}T{point // 60:02d}:{point % 60:02d}:00+00:00",
            machine=machine,
            target="sm_90",
            commit=commit,
            method="1",
            graphs=(GraphRecord("block", kernels=kernels, codegen_seconds=1.0),),
        )
        paths.append(store.save(results, dataclasses.replace(whole, **changes)))  # type: ignore[arg-type]
    return paths


_JUMP = 0.06
"""A jump of a kernel from one run to the next that noise does not make (logarithm)."""


def _codes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number for each kernel's code at each point: another one at each level between jumps."""
    logs = np.log(values)
    jumps = np.abs(np.diff(logs, axis=1)) > _JUMP
    jumps &= jumps.mean(axis=0) <= 1 / 3
    levels = np.cumsum(np.c_[np.zeros(len(logs), int), jumps], axis=1)
    found = np.zeros_like(levels)
    for row, (each, mine) in enumerate(zip(logs, levels, strict=True)):
        means = np.array([each[mine == n].mean() for n in range(mine[-1] + 1)])
        alike = np.abs(means[:, None] - means) < _JUMP / 2
        found[row] = alike.argmax(axis=1)[mine]
    return found


def _kernel(name: str, ms: float, code: int) -> KernelRecord:
    body = f"return {code}" if code else "pass"
    head = "SIGNATURE = {}\n@triton.jit\n"
    text = f"{head}def triton_poi_{name}_0(): {body}\ndef reference(): pass\n"
    return dataclasses.replace(
        KERNEL,
        name=f"triton_poi_{name}_0",
        origins=("x", name),
        ms=ms,
        module=text,
        sets=(Samples((ms, ms)),),
        trials=(),
    )
