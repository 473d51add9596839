"""What A and B mean: a run, a commit, a file or folder of emitted modules, or a compiler.

The runs of one commit are pooled. A commit without a run is compiled, for a comparison without
times, by its own package: exported into a temporary folder and run in a process of its own on the
working tree's graphs, so that two commits are asked the same question; what it emits comes back as
text.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import RecordError, UnknownName, UsageError, unknown
from harness.files import read_text, readable
from harness.history import store
from harness.history.commits import tree as commit_tree
from harness.history.commits.order import where_commits_are
from harness.ir.reach import grouped
from harness.measure.peers.jobs import SUBJECTS, parse
from harness.records import git, modules
from harness.records.run import (
    GraphRecord,
    KernelRecord,
    Machine,
    RegionRecord,
    Run,
    fields,
    from_json,
    region_of,
)
from harness.session.entries import GraphFile
from harness.verdicts.causes import settings
from harness.verdicts.comparing import Pool, Side

CompileAt = Callable[[str | None, str], Side]
"""Compiles the suite's graphs with a commit's compiler (None: the working tree's); the second
argument is the side's name."""


def find_sides(results: Path, names: Sequence[str], run: str = store.LATEST) -> list[Side]:
    """The sides called ``names``. Two compilers are taken from ``run``. Raises ``UnknownName`` for
    a name that is nothing of what a side can be, and for a compiler that the run has no regions of.
    """
    # Plain words that name no run; a folder of that name is not asked.
    plain = all(n.replace("-", "_").isidentifier() and n != store.LATEST for n in names)
    maybe = plain and not any(p.stem.startswith(tuple(names)) for p in store.runs(results))
    sure = maybe and _are_compilers(names)  # a checkout has a folder called harness, too
    if maybe and (sure or run != store.LATEST or store.runs(results)):
        path = store.find(results, run)
        try:
            whole = store.load(path)
        except RecordError:
            if sure or run != store.LATEST:
                raise  # else the names may be commits all the same
        else:
            if sure or set(names) & set(compilers(whole)):
                return [compiler_side(whole, name, str(path)) for name in names]
    return [find_side(results, name) for name in names]


def find_side(results: Path, name: str) -> Side:
    """The side called ``name``: modules where it is a Python file or a folder of them, else a run
    by any name that ``store.find`` takes, else the runs of the commit that git knows by it: the
    newest, and with it those that can be pooled with it."""
    path = Path(name)
    if path.suffix == ".py" or path.is_dir():
        return modules_side(path)
    if of_commit := store.of_commit(results, name):
        return _pooled(name, of_commit)
    try:
        found = store.find(results, name)
    except (UnknownName, UsageError) as unclear:
        return _of_commit(results, name, unclear)
    return Side(name, store.load(found), str(found))


WORKTREE = "worktree"
"""The name of the package in the folder at hand, changes that are not committed included."""


def find_static_side(results: Path, name: str, compile_at: CompileAt) -> Callable[[], Side]:
    """The side called ``name`` for a comparison without times: modules, a run by its own name, or a
    commit (or ``worktree``), compiled with ``compile_at`` once it is called."""
    by_run = name == store.LATEST or any(p.stem.startswith(name) for p in store.runs(results))
    known = Path(name).exists() or by_run
    commit = None if known or name == WORKTREE else resolve_commit(Path.cwd(), name)
    if commit or (name == WORKTREE and not known):
        return partial(compile_at, commit, name)
    found = find_side(results, name)
    return lambda: found


def _are_compilers(names: Sequence[str]) -> bool:
    others = [name for name in names if name not in SUBJECTS]
    try:
        return not others or bool(parse(",".join(others)))
    except UnknownName:
        return False


def _of_commit(results: Path, name: str, unclear: UsageError) -> Side:
    """The runs of the commit that git calls ``name``. ``unclear``: why no run is called so, or that
    several are, which stands where they are not of one commit."""
    commit = resolve_commit(Path.cwd(), name)
    several = not isinstance(unclear, UnknownName)
    if several and not (commit and store.of_commit(results, commit)):
        raise unclear
    if commit is None:
        raise UnknownName(
            "this is no run, commit, module file or compiler that is known here",
            where=unclear.where,
            got=name,
            expected=unclear.expected or unclear.what,
            remedy=f"{where_commits_are(Path.cwd())}list runs: harness list --runs; compilers: "
            "harness compare harness inductor",
        ) from unclear
    if not (found := store.of_commit(results, commit)):
        raise UnknownName(
            "no run of this commit is recorded here",
            where=str(results),
            got=f"{name} = {commit[:12]}",
            expected=unclear.expected,
            remedy=f"measure it: harness run at that commit; without times: harness compare "
            f"--static {name} …",
        )
    return _pooled(name, found)


def _pooled(name: str, paths: Sequence[Path]) -> Side:
    """The newest of a commit's runs, and those pooled with it. An older one that cannot be read is
    left out."""
    newest, unreadable = store.load(paths[-1]), list[str]()
    older = [*readable(store.load, reversed(paths[:-1]), unreadable.append)]
    run, made = pool(newest, older)
    made = replace(made, left_out=(*made.left_out, *unreadable))
    return Side(name, run, str(paths[-1]), pool=made)


def resolve_commit(folder: Path, name: str) -> str | None:
    """The full identifier of the commit that git calls ``name`` in ``folder``; None if it knows
    none, or there is no git or no repository."""
    wanted = f"{name}^{{commit}}"
    text, _ = git.ask(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
    return text.strip() or None


def modules_side(path: Path) -> Side:
    """Emitted modules as a run without times: one graph per graph named in their texts. Read as
    text, never executed. Raises ``UsageError`` for a file that is no emitted module and for a
    folder without one."""
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    graphs = grouped(map(_kernel, files), lambda kernel: region_of(kernel).rpartition(".")[0])
    if not graphs:
        raise UsageError(
            "a folder holds no emitted modules",
            where=str(path),
            expected="files that harness emit GRAPH -o FOLDER wrote",
            remedy="write some: harness emit GRAPH -o FOLDER",
        )
    found = tuple(GraphRecord(name, kernels=tuple(kernels)) for name, kernels in graphs.items())
    return Side(str(path), Run("", "", Machine(""), "", graphs=found), str(path))


def _kernel(file: Path) -> KernelRecord:
    remedy = "write it again: harness emit GRAPH -o FOLDER"
    text = read_text(file, UnknownName, "an emitted module", "a file of harness emit", remedy)
    stated = [modules.stated(text, name) for name in ("KERNEL", "CATEGORY", "BYTES")]
    if [type(value) for value in stated] != [str, str, int]:
        raise UsageError(
            "a file is no emitted module",
            where=str(file),
            got=f"KERNEL, CATEGORY, BYTES: {stated}",
            expected="a file that harness emit GRAPH -o FOLDER wrote",
            remedy=remedy,
        )
    # It may have been edited since: what it states of its code says nothing.
    module = re.sub(r"^CODE_HASH = .*\n", "", text, flags=re.MULTILINE)
    name, kind, moved = stated
    return KernelRecord(name, kind, moved, module=module)


def compilers(run: Run) -> list[str]:
    """The compilers that ``run`` has regions of."""
    return list(dict.fromkeys(one.compiler for graph in run.graphs for one in graph.regions))


def compiler_side(run: Run, compiler: str, origin: str = "") -> Side:
    """A run's regions as one compiler made them, each in a kernel's place."""
    own = ((g, tuple(_region(r) for r in g.regions if r.compiler == compiler)) for g in run.graphs)
    graphs = tuple(GraphRecord(graph.name, kernels=regions) for graph, regions in own if regions)
    if not graphs:
        known = compilers(run) or ["a run made with --against"]
        what = "the run has no regions of this compiler"
        remedy = "measure it: harness run --against COMPILER; another run: --run RUN"
        raise unknown(what, compiler, known, run.id, remedy, most=None)
    return Side(compiler, replace(run, graphs=graphs), origin, compiler)


def _region(found: RegionRecord) -> KernelRecord:
    same = fields(found, "check max_error ms low high sets reason")
    return KernelRecord(
        found.region, "region", 0, found.count, (found.region,), region=found.region, **same
    )


def pool(newest: Run, older: Sequence[Run]) -> tuple[Run, Pool]:
    """``newest`` with the samples of those ``older`` runs of its commit that can be pooled: clean,
    same machine, driver, method and versions; of a kernel, where code and configuration are the
    same. Processes are numbered on. Nothing else of the older runs is used."""
    merged, runs, starts, left_out = newest, [newest.id], [0], []
    for run in older:
        if why := _unlike(newest, run):
            left_out.append(f"{run.id} ({why})")
            continue
        start = 1 + max((s.process for k in merged.kernels for s in k.sets), default=-1)
        known = {(g.name, k.name, k.region): k for g in run.graphs for k in g.kernels}
        merged = merged.mapped(partial(_merge, known, start))
        runs.append(run.id)
        starts.append(start)
    if len(runs) > 1:
        merged = replace(merged, processes=len({s.process for k in merged.kernels for s in k.sets}))
    return merged, Pool(tuple(runs), tuple(starts), tuple(left_out))


def _unlike(newest: Run, run: Run) -> str:
    """Why ``run`` cannot be pooled with ``newest``; empty if it can."""
    one, other = newest.machine, run.machine
    differs = (
        ("made from a changed tree", newest.dirty or run.dirty, False),
        ("another machine", one.key, other.key),
        ("another GPU", one.gpu_uuid, other.gpu_uuid),
        ("another driver", one.driver, other.driver),
        ("another method of measuring", newest.method, run.method),
        ("another version of Triton", one.triton, other.triton),
        ("another version of torch", one.torch, other.torch),
        ("another target", newest.target, run.target),
    )
    found = [why for why, ours, theirs in differs if ours != theirs]
    timed = any(kernel.sets for kernel in run.kernels)
    return ", ".join(found) if found or timed else "without times"


def _merge(
    known: Mapping[tuple[str, str, str], KernelRecord], start: int, graph: str, kernel: KernelRecord
) -> KernelRecord:
    older = known.get((graph, kernel.name, kernel.region))
    if older is None or older.failed or older.module != kernel.module:
        return kernel
    if settings(older) != settings(kernel):
        return kernel
    more = tuple(replace(s, process=start + s.process) for s in older.sets)
    return replace(kernel, sets=(*kernel.sets, *more))


PACKAGE = "harness"


def commit_side(
    repository: Path,
    commit: str | None,
    label: str,
    graphs: Sequence[GraphFile],
    target: str,
    python: str = sys.executable,
    stages: Path | None = None,
) -> Side:
    """What the package of ``commit`` in ``repository`` emits for ``graphs`` at ``target``; the
    package of the checkout itself for None. It runs in the interpreter ``python``, and writes what
    its stages make of a graph to the folder ``stages``, if it is one that can.

    A graph it cannot compile is a graph with a reason. Raises ``CommitUnusable`` for a commit that
    cannot be exported or whose package does not import."""
    files = {graph.name: graph.path.resolve() for graph in graphs}
    # Another interpreter has its own packages.
    path = [entry for entry in sys.path if entry] if python == sys.executable else []
    named = commit[:12] if commit else str(repository)
    named += f" in {python}" * (python != sys.executable)
    with tempfile.TemporaryDirectory(prefix="harness-commit-") as name:
        tree = repository
        if commit is not None:
            tree = commit_tree.unpack(repository, commit, PACKAGE, Path(name))
        answer = commit_tree.export(tree, named, files, target, path, python, stages)
    origin = str(repository) if commit is None else f"commit {commit[:12]}"
    found = tuple(_exported_graph(name, graph) for name, graph in answer["graphs"].items())
    run = Run("", "", Machine(""), target, commit=commit or "", graphs=found)
    return Side(label, run, f"{origin}, compiled for {target}")


def _exported_graph(name: str, found: dict[str, Any]) -> GraphRecord:
    rows = [{**kernel, "module": kernel["text"]} for kernel in found.get("kernels", ())]
    reason = found["reason"] or "; ".join(found.get("failures", ()))[:500]
    return GraphRecord(name, kernels=from_json(tuple[KernelRecord, ...], rows, name), reason=reason)
