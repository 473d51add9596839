"""An asv environment for many commits in the one Python at hand.

Nothing is installed. A commit's compiler runs in a process of its own that sees the commit's tree
first and leaves emitted modules behind as data; asv's benchmarks, and with them everything that
measures, run with the working tree's package.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from asv import util
from asv.console import log
from asv.environment import Environment

from harness import options as settings
from harness.errors import HarnessError
from harness.files import write_atomically
from harness.history.commits import tree
from suites.tracking import measure
from suites.tracking.measure import NOTE, TOOK, Wanted
from suites.tracking.overlay import Overlay, search_path

DECLARED = "declared.py"
"""The file of the benchmark folder that says what is measured (``WANTED``)."""
SERIES = "kernels.txt"
"""The file of the results folder that lists every kernel ever tracked, one label a line."""
_PACKAGES = ("torch", "triton")


class Site:
    """What asv's own process knows of this checkout and machine; asked once, when needed.

    ``tolerant``: a commit that cannot be used fails its benchmarks instead of the command.
    ``metrics`` are what the selected benchmarks look up (empty: everything is measured),
    ``selection`` the rows of each that were selected, ``machine`` what asv calls this machine.
    """

    def __init__(self, conf: Any) -> None:
        self.folder = Path.cwd()
        self.package = str(conf.project)
        self.series = self.folder / conf.results_dir / SERIES
        self.scratch = self.folder / conf.env_dir
        self.options = settings.current()
        self.wanted: Wanted = runpy.run_path(str(self.folder / conf.benchmark_dir / DECLARED))[
            "WANTED"
        ]
        self.graphs = measure.chosen_graphs(self.wanted)
        self.search = tuple(p for p in search_path() if p != str(self.folder))
        self.tolerant = False
        self.metrics: tuple[str, ...] = ()
        self.selection: dict[str, Any] = {}
        self.machine = ""

    @functools.cached_property
    def described(self) -> dict[str, Any]:
        """The machine as ``suites.tracking.machine`` prints it. Raises asv's ``UserError``."""
        command = [sys.executable, "-m", "suites.tracking.machine"]
        done = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in self.paths().items()), *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise util.UserError(f"this machine cannot be described: {last}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def paths(self) -> dict[str, str]:
        """Variables by which a process finds the working tree's package first. asv takes
        ``PYTHONPATH`` away from what it starts unless the other one is there too."""
        listed = os.pathsep.join((str(self.folder), *self.search))
        return {"PYTHONPATH": listed, "ASV_PYTHONPATH": listed}

    @functools.cached_property
    def overlay(self) -> Overlay:
        """What measuring processes are told, before a commit is chosen."""
        method = self.described["method"]
        named = [self.described["machine"]["machine"], *map(_version, _PACKAGES), method]
        return Overlay(
            folder=str(self.folder),
            series=str(self.series),
            target=self.described["target"] or self.options.target,
            method=method,
            series_of=util.sanitize_filename("-".join(named)),
            search=self.search,
        )

    def export(self, repository: Path, commit: str) -> Overlay:
        """The overlay of ``commit``, unpacked and compiled. Raises ``CommitUnusable``,
        ``UnknownName`` for a declared graph that does not exist."""
        unpacked = self._unpacked(repository, commit)
        target = self.overlay.target
        exported = self.scratch / "exports" / f"{commit[:16]}-{target}-{self._graphs_key}.json"
        if not exported.is_file():
            answer = tree.export(unpacked, commit[:12], self._files, target, path=self.search)
            write_atomically(exported, json.dumps(answer).encode())
        return replace(self.overlay, commit=commit, tree=str(unpacked), exported=str(exported))

    def _unpacked(self, repository: Path, commit: str) -> Path:
        """The tree of ``commit``, once for all processes that ask for it."""
        trees = self.scratch / "trees"
        known = trees / commit[:16]
        if not (known / self.package).is_dir():
            trees.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=trees) as temporary:
                made = tree.unpack(repository, commit, self.package, Path(temporary))
                # Two processes may unpack the same commit: the loser takes the winner's.
                shutil.rmtree(known, ignore_errors=True)
                made.replace(known)
        return known

    @functools.cached_property
    def _files(self) -> dict[str, Path]:
        return measure.graph_files(self.options, self.graphs)

    @functools.cached_property
    def _graphs_key(self) -> str:
        """Changes when a graph file or the choice of graphs does."""
        found = hashlib.sha256()
        for name, path in self._files.items():
            found.update(name.encode() + b"\0" + path.read_bytes())
        return found.hexdigest()[:12]

    def announce(self, repository: Path, commits: Iterable[str]) -> None:
        """Put the kernels of ``commits`` into the list of series, which asv needs before it
        measures the first. A commit that cannot be compiled is reported when its turn comes."""

        def labels(commit: str) -> list[str]:
            try:
                exported = Path(self.export(repository, commit).exported)
            except HarnessError:
                return []
            graphs = json.loads(exported.read_text(encoding="utf-8"))["graphs"]
            return [x for g in graphs for x in measure.labels(g, graphs[g].get("kernels", []))]

        with ThreadPoolExecutor(self.options.jobs) as pool:
            new = {label for found in pool.map(labels, dict.fromkeys(commits)) for label in found}
        known = set(self.series.read_text("utf-8").split()) if self.series.is_file() else set()
        if not new <= known:
            text = "".join(f"{label}\n" for label in sorted(new | known))
            write_atomically(self.series, text.encode(), mode=0o644)


class CommitOverlay(Environment):
    """The current interpreter, a commit's package exported beside it. Its name carries the
    versions of torch and triton, so that an upgrade starts new series."""

    tool_name = "overlay"

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        versions = {name: _version(name) for name in _PACKAGES}
        # asv's own constructor reads these two before it sets them.
        self._python, self._requirements = python, {**requirements, **versions}
        super().__init__(conf, python, self._requirements, tagged_env_vars)
        self._site = getattr(conf, "site", None) or Site(conf)
        self._overlay: Overlay | None = None

    @classmethod
    def matches(cls, python: str) -> bool:
        """Whether ``python`` is the one at hand."""
        return python in ("same", f"{sys.version_info[0]}.{sys.version_info[1]}")

    @property
    def installed_commit_hash(self) -> None:
        """None: every commit is exported anew, which takes no time where it is known."""
        return

    def check_presence(self) -> bool:
        """There is nothing to create."""
        return True

    def create(self) -> None:
        """There is nothing to create."""

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:  # noqa: ARG002
        """Export ``commit_hash``. A commit that cannot be used is reported and, in asv's
        way, skipped: it raises ``ProcessError``."""
        try:
            self._overlay = self._site.export(Path(repo._path), commit_hash)
        except HarnessError as error:
            log.error(str(error))
            if not self._site.tolerant:
                raise util.ProcessError(["overlay", commit_hash], 1, "", str(error)) from error
            self._overlay = replace(self._site.overlay, commit=commit_hash)
        self._set_commit_hash(commit_hash)

    def find_executable(self, executable: str) -> str:
        """The interpreter, for ``python``."""
        return sys.executable if executable == "python" else str(util.which(executable))

    def run(self, args: list[str], **kwargs: Any) -> Any:
        """Start the interpreter with ``args``, the working tree's package first on its path.
        What a measuring process wants to tell the user is printed."""
        overlay = replace(self._overlay or self._site.overlay, metrics=self._site.metrics)
        given = dict(kwargs.pop("env", None) or os.environ)
        variables = self._global_env_vars | self._site.paths() | overlay.to_environment()
        done = util.check_output([sys.executable, *args], env=given | variables, **kwargs)
        for line in done[0].splitlines() if args[1:2] == ["setup_cache"] else ():
            if line.startswith(TOOK):
                log.info(line.removeprefix(TOOK))
            elif line.startswith(NOTE):
                log.warning(line.removeprefix(NOTE))
        return done


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
