"""A commit's kernels without checking it out: its compiler, exported, on today's graphs.

The graphs are those of the working tree, so that two commits are asked the same question. The
commit's package runs in a process of its own from a temporary folder; what it emits comes
back as text.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.history.commits import tree as asv_tree
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.session.entries import GraphFile
from harness.verdicts.comparing import Side

_PACKAGE = "harness"


def commit_side(
    repository: Path, commit: str | None, label: str, graphs: Sequence[GraphFile], target: str
) -> Side:
    """What the package of ``commit`` in ``repository`` emits for ``graphs`` at ``target``; the
    package of the checkout itself for None.

    A graph it cannot compile is a graph with a reason. Raises ``CommitUnusable`` for a commit that
    cannot be exported or whose package does not import.
    """
    if commit is None:
        answer = _export(repository, str(repository), graphs, target)
        origin = str(repository)
    else:
        with tempfile.TemporaryDirectory(prefix="harness-commit-") as name:
            tree = asv_tree.unpack(repository, commit, _PACKAGE, Path(name))
            answer = _export(tree, commit, graphs, target)
        origin = f"commit {commit[:12]}"
    found = tuple(_graph(name, graph) for name, graph in answer["graphs"].items())
    run = Run("", "", Machine(""), target, commit=commit or "", graphs=found)
    return Side(label, run, f"{origin}, compiled for {target}")


def _export(tree: Path, named: str, graphs: Sequence[GraphFile], target: str) -> dict[str, Any]:
    files = {graph.name: graph.path.resolve() for graph in graphs}
    path = [entry for entry in sys.path if entry]
    return asv_tree.export(tree, named, files, target, path=path)


def _graph(name: str, found: dict[str, Any]) -> GraphRecord:
    kernels = tuple(
        KernelRecord(
            name=kernel["name"],
            kind=kernel["kind"],
            bytes=kernel["bytes"],
            launches=kernel["launches"],
            region=kernel["region"],
            origins=tuple(kernel["origins"]),
            module=kernel["text"],
        )
        for kernel in found.get("kernels", ())
    )
    reason = found["reason"] or "; ".join(found.get("failures", ()))[:500]
    return GraphRecord(name, kernels=kernels, reason=reason)
