"""An asv environment for many commits in the one Python at hand.

Nothing is installed: a commit's package is laid over the installed ones. Its compiler runs in a
process of its own that sees the commit's tree first and leaves emitted modules behind as data;
asv's benchmarks, and with them everything that measures, run with the working tree's package.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from asv import util
from asv.console import log
from asv.environment import Environment

from harness import options as settings
from harness.asv import measure as asv_measure
from harness.asv.measure import NOTE, TOOK, Wanted
from harness.errors import HarnessError
from harness.history.commits import tree as asv_tree
from harness.options import Overlay

DECLARED = "declared.py"
"""The file of the benchmark folder that says what is measured (``WANTED``)."""
SERIES = "kernels.txt"
"""The file of the results folder that lists every kernel ever tracked, one label a line."""
_PACKAGES = ("torch", "triton")


class Site:
    """What asv's own process knows of this checkout and machine; asked once, when needed."""

    def __init__(self, conf: Any) -> None:
        self.folder = Path.cwd()
        self.package = str(conf.project)
        self.results = self.folder / conf.results_dir
        self.scratch = self.folder / conf.env_dir
        self._declared = self.folder / conf.benchmark_dir / DECLARED
        here = str(self.folder)
        self.search = tuple(p for p in settings.search_path() if p != here)
        self.tolerant = False
        """Whether a commit that cannot be used fails its benchmarks instead of the command."""
        self.metrics: tuple[str, ...] = ()
        """What the selected benchmarks look up; empty: everything is measured."""

    @functools.cached_property
    def options(self) -> settings.Options:
        """The user's options."""
        return settings.current()

    @functools.cached_property
    def wanted(self) -> Wanted:
        """What the suite declares."""
        wanted: Wanted = runpy.run_path(str(self._declared))["WANTED"]
        return wanted

    @functools.cached_property
    def described(self) -> dict[str, Any]:
        """The machine as ``asv_machine`` prints it. Raises asv's ``UserError``."""
        command = [sys.executable, "-m", "harness.asv.machine"]
        done = subprocess.run(
            ["env", *_assignments(self.paths()), *command],
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
        """The overlay before a commit is chosen."""
        return Overlay(
            folder=str(self.folder),
            series=str(self.results / SERIES),
            target=self.described["target"] or self.options.target,
            method=self.described["method"],
            series_of=self._series_of(),
            search=self.search,
        )

    def _series_of(self) -> str:
        named = [self.described["machine"]["machine"], *map(_version, _PACKAGES)]
        return util.sanitize_filename("-".join([*named, self.described["method"]]))

    def lay(self, repository: Path, commit: str) -> Overlay:
        """The overlay of ``commit``: unpacked, compiled, its kernels in the list of series.

        Raises ``CommitUnusable``, ``UnknownName`` for a declared graph that does not exist.
        """
        tree = asv_tree.unpack(repository, commit, self.package, self.scratch / "trees")
        target = self.overlay.target
        exported = self.scratch / "exports" / f"{commit[:16]}-{target}-{self._graphs_key}.json"
        if not exported.is_file():
            answer = asv_tree.export(tree, commit, self._files, target, path=self.search)
            exported.parent.mkdir(parents=True, exist_ok=True)
            write_whole(exported, json.dumps(answer))
        return replace(self.overlay, commit=commit, tree=str(tree), exported=str(exported))

    @functools.cached_property
    def _files(self) -> dict[str, Path]:
        chosen = asv_measure.chosen_graphs(self.options, self.wanted)
        return asv_measure.graph_files(self.options, chosen)

    @functools.cached_property
    def _graphs_key(self) -> str:
        """Changes when a graph file or the choice of graphs does."""
        import hashlib

        found = hashlib.sha256()
        for name, path in self._files.items():
            found.update(name.encode() + b"\0" + path.read_bytes())
        return found.hexdigest()[:12]

    def announce(self, repository: Path, commits: Iterable[str]) -> None:
        """Put the kernels of ``commits`` into the list of series, which asv needs before it
        measures the first. A commit that cannot be compiled is reported when its turn comes."""
        wanted = list(dict.fromkeys(commits))
        with ThreadPoolExecutor(self.options.jobs) as pool:
            laid = [overlay for overlay in pool.map(self._try(repository), wanted) if overlay]
        known = read_series(self.results / SERIES)
        new = {label for overlay in laid for label in self._labels(overlay)}
        if not new <= set(known):
            path = self.results / SERIES
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, "".join(f"{label}\n" for label in sorted(new | set(known))))

    def _try(self, repository: Path) -> Any:
        def lay(commit: str) -> Overlay | None:
            try:
                return self.lay(repository, commit)
            except HarnessError:
                return None

        return lay

    def _labels(self, overlay: Overlay) -> list[str]:
        answer = json.loads(Path(overlay.exported).read_text(encoding="utf-8"))
        return [
            label
            for graph, found in answer["graphs"].items()
            for label in asv_measure.labels(graph, found.get("kernels", []))
        ]


def _assignments(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def read_series(path: Path) -> list[str]:
    """The labels in the file at ``path``, none if there is no file."""
    try:
        return path.read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def write_whole(path: Path, text: str) -> None:
    """Write ``path`` so that a reader sees all of it or the old one."""
    from harness.runtime.module import write_atomically

    write_atomically(path, text.encode())
    path.chmod(0o644)


class CommitOverlay(Environment):
    """The current interpreter with a commit's package laid over. Its name carries the versions
    of torch and triton, so that an upgrade starts new series."""

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
        """None: every commit is laid anew, which takes no time where it is known."""
        return

    def check_presence(self) -> bool:
        """There is nothing to create."""
        return True

    def create(self) -> None:
        """There is nothing to create."""

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:  # noqa: ARG002
        """Lay ``commit_hash`` over. A commit that cannot be used is reported and, in asv's
        way, skipped: it raises ``ProcessError``."""
        try:
            self._overlay = self._site.lay(Path(repo._path), commit_hash)
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
        if args[1:2] == ["setup_cache"]:
            for line in done[0].splitlines():
                if line.startswith(NOTE):
                    log.warning(line.removeprefix(NOTE))
                elif line.startswith(TOOK):
                    log.info(line.removeprefix(TOOK))
        return done


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
