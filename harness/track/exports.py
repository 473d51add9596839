"""A commit's kernels without checking it out: its compiler, exported, on today's graphs.

The graphs are those of the working tree, so that two commits are asked the same question. The
commit's package runs in a process of its own from a temporary folder; what it emits comes
back as text.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.bench.entries import GraphFile
from harness.bench.record import GraphRecord, KernelRecord, Machine, Run
from harness.errors import CompileFailed, HarnessError
from harness.track.comparing import Side

_PACKAGE = "harness"
_SECONDS = 900.0
_CHILD = """
import json, sys
from pathlib import Path

from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.target import TARGETS

target = TARGETS[sys.argv[1]]
for line in sys.stdin:
    name, path = json.loads(line)
    kernels, reason = [], ""
    try:
        compiled = compile_graph(load(Path(path)), target)
        launches = {}
        for region in compiled.regions:
            for launch in region.launches:
                launches.setdefault(launch.kernel.name, []).append(region.region.name)
        for kernel in compiled.kernels:
            module, found = kernel.module, launches.get(kernel.name, [""])
            kernels.append(
                {
                    "name": module.name,
                    "kind": module.category,
                    "bytes": module.bytes_moved,
                    "launches": len(found),
                    "region": found[0],
                    "origins": list(module.origins),
                    "module": module.text,
                }
            )
        reason = "; ".join(str(failure.error) for failure in compiled.failures)[:500]
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps([name, kernels, reason]), flush=True)
"""


def commit_side(
    repository: Path, commit: str | None, label: str, graphs: Sequence[GraphFile], target: str
) -> Side:
    """What the compiler of ``commit`` makes of ``graphs`` for the target called ``target``; that in
    the folder ``repository`` itself if ``commit`` is None.

    A graph it cannot compile is a graph with a reason. Raises ``HarnessError`` for a commit that
    cannot be exported or whose package does not import.
    """
    if commit is None:
        answers = _compile(repository, str(repository), graphs, target)
        origin = str(repository)
    else:
        with tempfile.TemporaryDirectory(prefix="harness-commit-") as name:
            _export(repository, commit, Path(name))
            answers = _compile(Path(name), commit[:12], graphs, target)
        origin = f"commit {commit[:12]}"
    found = tuple(_graph(*answer) for answer in answers)
    run = Run("", "", Machine(""), target, commit=commit or "", graphs=found)
    return Side(label, run, f"{origin}, compiled for {target}")


def _export(repository: Path, commit: str, folder: Path) -> None:
    """The package as it was at ``commit``, below ``folder``."""
    done = subprocess.run(
        ["git", "-C", str(repository), "archive", "--format=tar", commit, "--", _PACKAGE],
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise HarnessError(
            "a commit cannot be exported",
            where=f"{repository}: {commit[:12]}",
            got=done.stderr.decode(errors="replace").strip()[-300:],
            expected=f"a commit that holds the folder {_PACKAGE}",
            remedy="fetch the history (git fetch --unshallow), or name another commit",
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _compile(
    folder: Path, where: str, graphs: Sequence[GraphFile], target: str
) -> list[tuple[str, list[dict[str, Any]], str]]:
    asked = "".join(json.dumps([g.name, str(g.path.resolve())]) + "\n" for g in graphs)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{_CHILD}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, target],
            input=asked,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileFailed(
            "a commit's compiler did not come to an end",
            where=where,
            got=f"nothing within {_SECONDS:.0f} s",
            remedy="name fewer graphs",
        ) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise CompileFailed(
            "a commit's compiler does not run here",
            where=where,
            got=lines[-1][:300],
            expected="a commit whose package imports with the torch and triton at hand",
            remedy="name another commit, or give the run file or the emitted modules of this one",
        )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def _graph(name: str, kernels: list[dict[str, Any]], reason: str) -> GraphRecord:
    found = tuple(
        KernelRecord(**{**kernel, "origins": tuple(kernel["origins"])}) for kernel in kernels
    )
    return GraphRecord(name, kernels=found, reason=reason)
