"""``harness show`` and ``harness list``: a recorded run, and what can be named."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.arguments import Sample, Seed, Suite, Where, queried
from harness.cli.command import FAILED, FINE, Answer, command, only_one
from harness.corpus import rollup, selecting
from harness.corpus import store as corpora
from harness.corpus.model import CORPUS
from harness.corpus.store import Corpus
from harness.errors import RecordError, UsageError, unknown
from harness.graph.suite import load_suite
from harness.history import accumulated, index, store
from harness.options import Options
from harness.records.names import find, is_chosen
from harness.records.run import Run, fields
from harness.report import output
from harness.report.corpus import (
    captures_report,
    coverage_report,
    patterns_report,
    standings_report,
)
from harness.report.kernels import run_report
from harness.report.output import Report
from harness.session.entries import corpus_folder
from harness.table import Column, Fit, Row, Table, Text, clean, columns, plural, shorten
from harness.target import TARGETS, of_board


@command(table=True, only=True, cases=True)
def show(
    answer: Answer,
    run: Annotated[
        str, "`latest`, a run file, or the beginning of a run's or commit's name.", typer.Argument()
    ] = "latest",
    kernel: Annotated[
        str | None, "Print the emitted module of this kernel instead.", typer.Option("--module")
    ] = None,
    by: Annotated[rollup.By | None, "Sum a run of the corpus up."] = None,
    baseline: Annotated[str | None, "With --by: another run, or a compiler of --against."] = None,
    unchanged: Annotated[
        bool,
        "With --by: of all runs on such a machine, the newest that has a pattern's kernels as they "
        "are generated now.",
        typer.Option("--unchanged"),
    ] = False,
) -> int:
    """Print a recorded run.

    Exit status 1 if a kernel in it failed.

    \b
    harness show
    harness show 20260102 -k var_mean
    harness show latest --csv > run.csv
    harness show latest --module triton_poi_fused_add_6 > kernel.py
    harness show latest --by model --baseline inductor
    harness show --by all --baseline inductor --unchanged
    """
    answer.recover()
    path = store.find(answer.options.results, run)
    found = chosen(store.load(path), answer.only)
    answer.note_nothing_like(found.graphs, "graph or kernel of the run")
    if kernel is not None:
        text = _module(found, kernel)  # as it is for a file or a program, cleaned for a terminal
        output.emit(clean(text) if sys.stdout.isatty() else text)
        return FINE
    if by is None and (baseline is not None or unchanged):
        what = "--baseline and --unchanged are of a sum"
        raise UsageError(what, expected="--by all, kind …")
    if by is not None:
        answer.tell(_summed_up(answer, found, by, baseline, unchanged))
        return FINE
    answer.tell(run_report(found, str(path)))
    return FAILED if found.failed else FINE


def _summed_up(answer: Answer, run: Run, by: str, baseline: str | None, unchanged: bool) -> Report:
    """A run of the corpus by model, family or kind, against a run or a compiler."""
    options = answer.options
    with answer.progress("reading the corpus"):
        corpus = corpora.load(corpus_folder(options, run.suite) or options.suites / CORPUS)
        if unchanged:
            run = chosen(_unchanged(options, corpus, run, baseline), answer.only)
        else:
            run = _with_others(options, run)
    output.note(*(f"error: {note}" for note in corpus.notes))
    known = {pattern.name for pattern in corpus.patterns}
    if lost := [graph.name for graph in run.graphs if graph.name not in known]:
        output.note(
            f"left out, the corpus lacks {plural(len(lost), 'graph')}: {', '.join(lost[:5])}"
        )
    compilers = {row.compiler for graph in run.graphs for row in graph.regions}
    other: Run | str | None = baseline
    if baseline is not None and baseline not in compilers:
        other = store.load(store.find(options.results, baseline))
    return standings_report(rollup.standings(corpus, run, by, other), by, baseline or "")


def _with_others(options: Options, run: Run) -> Run:
    """``run`` and, of graphs that it lacks, what other runs of its commit on its machine found: a
    corpus is run bit by bit, within a budget or until it is interrupted."""
    graphs = {graph.name: graph for graph in run.graphs}
    own = (run.commit, run.dirty, run.machine.key, run.method, run.suite.partition(":")[0])
    for one in reversed(index.refresh(options.results).readable if run.commit else ()):
        its = (one.commit, one.dirty, one.machine, one.method, one.suite.partition(":")[0])
        if its == own and one.id != run.id:
            other = store.load(options.results / one.file)
            graphs = {graph.name: graph for graph in other.graphs} | graphs
            output.note(f"with the graphs of run {one.id}, of the same commit and machine")
    return replace(run, graphs=tuple(graphs.values()))


def _unchanged(options: Options, corpus: Corpus, run: Run, baseline: str | None) -> Run:
    """Of all runs like ``run`` the patterns whose kernels are generated now as they were, if
    ``baseline`` is a compiler those that were compared with it."""
    every = accumulated.measured(options.results, run, () if baseline is None else (baseline,))
    every = every or accumulated.measured(options.results, run)  # the baseline is a run
    own = run.machine.multiprocessors, run.machine.l2_bytes
    target = of_board(run.machine.gpu or "", int(run.target.removeprefix("sm_")), *own)
    names = [pattern.name for pattern in corpus.patterns]
    same, changed = accumulated.unchanged(every, names, options, CORPUS, target)
    for source, count in sorted(Counter(source for _, source in same.values()).items()):
        output.note(f"{plural(count, 'pattern')} of run {source}")
    output.note(f"left out, their kernels have changed since: {plural(len(changed), 'pattern')}")
    return replace(run, graphs=tuple(graph for graph, _ in same.values()))


def chosen(run: Run, only: Sequence[str]) -> Run:
    """``run`` with the graphs and kernels that the patterns ``only`` choose."""
    if not only:
        return run
    graphs = []
    for graph in run.graphs:
        kernels = tuple(k for k in graph.kernels if is_chosen(only, graph.name, k.name))
        if kernels or is_chosen(only, graph.name):
            regions = graph.regions if is_chosen(only, graph.name) else ()
            graphs.append(replace(graph, kernels=kernels, regions=regions))
    return replace(run, graphs=tuple(graphs))


def _module(run: Run, name: str) -> str:
    modules = {k.name: k.module for g in run.graphs for k in g.kernels}
    found = find(name, modules)
    if len(found) == 1:
        return modules[found[0]].rstrip("\n")
    what = "several kernels of the run are called so" if found else "the run has no such kernel"
    raise unknown(what, name, found[:5] or sorted(modules), run.id, "see the names: harness show")


@command(table=True, only=True)
def list_(
    answer: Answer,
    suite: Suite = "default",
    where: Where = None,
    sample: Sample = None,
    seed: Seed = 0,
    models: Annotated[bool, "List what a corpus was captured from instead."] = False,
    coverage: Annotated[bool, "List which parts of torch a corpus covers instead."] = False,
    runs: Annotated[bool, "List recorded runs instead."] = False,
    targets: Annotated[bool, "List targets instead."] = False,
) -> None:
    """List the graphs of a suite, the recorded runs, or the targets.

    \b
    harness list
    harness list -k llama
    harness list --runs --csv
    harness list --suite corpus --where 'model=llama* kind=reduction bytes>1MB'
    harness list --suite corpus --models
    """
    options, kinds = answer.options, {"models": models, "coverage": coverage}
    asked = only_one({**kinds, "runs": runs, "targets": targets}, "a list is of one kind")
    if runs:
        answer.recover()
        rows = [
            {"run": Path(run.file).stem, "machine": run.gpu or run.machine}
            | fields(run, "graphs kernels failed suite")
            | {"file": str(options.results / run.file)}
            for run in indexed(options.results).readable
        ]
        answer.tell(_table(rows, answer, "runs", _RUN_COLUMNS))
    elif targets:
        known = [
            {"name": name, "device": target.name, "capability": f"{target.capability / 10:.1f}"}
            | {"multiprocessors": target.multiprocessors, "gbps": target.memory_gbps}
            for name, target in TARGETS.items()
        ]
        answer.tell(_table(known, answer, "targets", _TARGET_COLUMNS))
    else:
        suite = queried(suite, where, sample, seed)
        found = _corpus(answer, suite, models, coverage)
        if found is None and asked is not None:
            raise UsageError(f"--{asked} is of a corpus", got=suite, expected="--suite corpus")
        answer.tell(found or _suite(options, suite, answer))


def _corpus(answer: Answer, suite: str, models: bool, coverage: bool) -> Report | None:
    """The patterns or captures of a suite that is a corpus, None for one that is declared."""
    folder, only = corpus_folder(answer.options, suite), answer.only
    if folder is None:
        return None
    with answer.progress("reading the corpus"):
        found = corpora.load(folder)
    output.note(*(f"error: {note}" for note in found.notes))
    query = suite.partition(":")[2]
    if models:
        captures = [c for c in selecting.captures(found, query) if is_chosen(only, c.name)]
        return captures_report(found, captures)
    chosen = [p for p in selecting.select(found, query) if is_chosen(only, p.name)]
    answer.note_nothing_like(chosen, "pattern of the corpus")
    if coverage:
        from harness.graph.lowering.operators import RULES

        return coverage_report(found, chosen, (op.split(".")[1].strip("_") for op in RULES))
    return patterns_report(found, chosen)


def _suite(options: Options, suite: str, answer: Answer) -> Report:
    document: list[dict[str, Any]] = []
    for entry in load_suite(suite, options.suites).entries:
        paths = {name: entry.path(name) for name in entry.graph_names}
        graphs = [
            {"name": name, "file": str(path), "captured": path.is_file()}
            for name, path in paths.items()
            if is_chosen(answer.only, name, entry.name)
        ]
        if graphs:
            known, named = asdict(entry), {"real": "sizes", "small": "small_sizes"}
            known |= {"dtype": entry.dtype.short, "tags": list(entry.tags)}
            del known["folder"]
            document.append({named.get(k, k): v for k, v in known.items()} | {"graphs": graphs})
    answer.note_nothing_like(document, "graph of the suite")
    rows: list[Row] = [
        {**{name: value for name, value in entry.items() if name != "graphs"}, **graph}
        for entry in document
        for graph in entry["graphs"]
    ]

    def lines() -> list[Text]:
        found = []
        for entry in document:
            found.append(Text(entry["title"]))
            for graph in entry["graphs"]:
                missing = "" if graph["captured"] else "  (not captured)"
                found.append(Text(f"  {graph['name']}{missing}"))
        total = f"suite {suite}: {len(document)} entries, {len(rows)} graphs in {options.suites}"
        return [*found, Text(), Text(total)]

    return Report(lines, lambda: {"suite": suite, "entries": document}, lambda: rows)


_RUN_COLUMNS = (
    *columns("run"),
    Column("machine", lambda row: row["machine"], fit=Fit.SHORTEN),
    *columns("graphs", "kernels", "failed", right=True),
    Column("suite", lambda row: shorten(row["suite"], _LONGEST_SUITE), fit=Fit.SHORTEN),
)
_LONGEST_SUITE = 60  # characters: a query may list every pattern that it leaves out
_TARGET_COLUMNS = (
    *columns("name", "device", least=8),
    *columns("capability", "multiprocessors", "gbps", right=True),
)


def _table(rows: Sequence[Row], answer: Answer, what: str, shown: tuple[Column, ...]) -> Report:
    names = ("run", "machine", "suite", "name", "device")
    kept = [row for row in rows if is_chosen(answer.only, *(row[n] for n in names if n in row))]
    missing = f"no {what} like that" if rows else f"no {what} yet"
    return Report(
        lambda: [Table(shown, kept) if kept else Text(missing)], lambda: {what: kept}, lambda: kept
    )


def indexed(results: Path) -> index.Index:
    """The runs below ``results``. Says which files cannot be read; raises ``RecordError`` if none
    can."""
    found = index.refresh(results)
    output.note(*found.notes, *(f"error: {run.unreadable}" for run in found.unreadable))
    if found.runs and not found.readable:
        raise RecordError(
            f"none of the {len(found.runs)} run files can be read",
            str(results),
            remedy="the lines above say why, file by file",
        )
    return found


def require_runs(results: Path) -> index.Index:
    """As ``indexed``; raises ``UnknownName`` too where there are no runs at all."""
    found = indexed(results)
    if not found.runs:
        raise store.no_runs(results)
    return found
