"""Histories in which graphs are renamed: their series go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.history import index, store
from harness.history.changes import waivers
from harness.history.changes.changes import Change, Report, find
from harness.history.changes.fitting import Settings
from harness.history.changes.series import History, arrange, series_of
from harness.records.metrics import named
from harness.records.run import GraphRecord, KernelRecord, Run
from tests.history.examples import MACHINE
from tests.history.histories import repository
from tests.history.kernels import kernel, module

Graphs = Mapping[str, tuple[str, str]]
"""Of a run, by name: which operators a graph has, and what of it executes something else."""

NONE: Mapping[str, int] = {}


def operators(of: str) -> list[str]:
    return [f"{of}{n}" for n in range(3)]


def record(graph: str, operator: str, ms: float, code: str) -> KernelRecord:
    one = kernel(f"k_{operator}", f"n_{operator}", region=f"{graph}.r0", ms=(ms, ms))
    return replace(one, module=module(one.name, code, operator, computes=operator))


def recorded(name: str, of: str, other: str, ms: Mapping[str, float]) -> GraphRecord:
    kernels = (record(name, o, ms[o], f"{o}{other}") for o in operators(of))
    return GraphRecord(name, kernels=tuple(kernels), codegen_seconds=1.0)


class World:
    """Run files of commits, in which graphs that compute a, b, … have names."""

    def __init__(self, folder: Path) -> None:
        self.results, self.repository = folder / "results", folder / "repository"
        self.rng = np.random.default_rng()
        self.commits: list[str] = []

    def write(self, *runs: Graphs, slower: Mapping[str, int] = NONE, **changes: object) -> None:
        """A run per commit; from the point on that ``slower`` names an operator takes twice as
        long, by other code."""
        self.commits = repository(self.repository, len(runs))
        for point, graphs in enumerate(runs):
            self.save(point, graphs, slower, **changes)

    def save(self, point: int, graphs: Graphs, slower: Mapping[str, int], **changes: object) -> Run:
        noise = np.exp(0.001 * self.rng.normal(size=100))
        late = {o for o, at in slower.items() if point >= at}
        ms = {
            o: 0.02 * float(noise[n]) * (2 if o in late else 1)
            for n, o in enumerate(o for of in "abcdefgh" for o in operators(of))
        }
        made = tuple(
            recorded(name, of, other + str(sorted(late & {*operators(of)})), ms)
            for name, (of, other) in graphs.items()
        )
        commit = self.commits[point]
        run = Run(
            f"20260101-{point:06d}-{commit[:12]}",
            f"2026-01-01T00:{point // 60:02d}:{point % 60:02d}+00:00",
            MACHINE,
            "sm_90",
            suite="default",
            commit=commit,
            method="1",
            graphs=made,
        )
        run = replace(run, **changes)  # type: ignore[arg-type]
        store.save(self.results, run)
        return run

    def history(self) -> History:
        return arrange(index.refresh(self.results), self.repository)

    def report(self, *lines: str) -> Report:
        path = self.results / waivers.FILE
        path.write_text("\n".join(lines))
        return find(self.history(), [named("ms")], Settings(), waivers.read(path))


def slowed(report: Report) -> list[Change]:
    """The regressions that were put there: of twenty reports of noise one may hold another."""
    return [
        change for change in report.regressions if change.size is not None and change.size > 0.1
    ]


def graphs(**of: str) -> Graphs:
    return {name: (what[0], what[1:]) for name, what in of.items()}


def lengths(known: History) -> dict[str, int]:
    """Points of each whole graph's series."""
    return {s.graph: len(s.values) for s in series_of(known, named("ms")) if not s.kernel}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


KEPT = {"kept": "e", "also": "f"}


def test_a_series_goes_on_under_the_new_name(world: World) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a", **KEPT)
    world.write(*[old] * 6, *[new] * 6, slower={"a1": 9})
    known = world.history()
    assert lengths(known) == {"new": 12, "kept": 12, "also": 12}
    kernels = [s for s in series_of(known, named("ms")) if s.graph == "new" and s.kernel]
    assert [len(s.values) for s in kernels] == [12, 12, 12]
    assert [len(s.values) for s in series_of(known, named("codegen"))] == [12, 12, 12]
    assert known.notes == (f"1 graph renamed at {world.commits[6][:10]}: old → new",)
    (found,) = (c for c in slowed(world.report()) if c.series.kernel)
    assert (found.series.graph, found.commit) == ("new", world.commits[9])
    assert (found.points_before, found.points_after) == (9, 3)


def test_a_change_at_the_commit_that_renames_is_found(world: World) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a", **KEPT)
    world.write(*[old] * 6, *[new] * 6, slower={"a1": 6})
    (found,) = (c for c in slowed(world.report()) if c.series.kernel)
    assert found.commit == world.commits[6]
    assert "code" in found.causes


def test_three_names_and_one_of_them_again(world: World) -> None:
    names = [*["one"] * 3, *["two"] * 3, *["three"] * 3, *["one"] * 3]
    world.write(*(graphs(**{name: "a"}, **KEPT) for name in names))
    assert lengths(world.history()) == {"one": 12, "kept": 12, "also": 12}


def test_two_graphs_that_exchange_their_names(world: World) -> None:
    before, after = graphs(one="a", two="b", **KEPT), graphs(one="b", two="a", **KEPT)
    world.write(*[before] * 6, *[after] * 6, slower={"a1": 3})
    known = world.history()
    assert lengths(known) == {"one": 12, "two": 12, "kept": 12, "also": 12}
    (found,) = (c for c in slowed(world.report()) if c.series.kernel)
    assert found.series.graph == "two"


def test_a_name_that_another_graph_takes(world: World) -> None:
    before, after = graphs(one="a", two="b", **KEPT), graphs(one="b", **KEPT)
    world.write(*[before] * 3, *[after] * 3)
    until = f"one (until {world.commits[3][:10]})"
    assert lengths(world.history()) == {until: 3, "one": 6, "kept": 6, "also": 6}


def test_twins_that_exchange_what_they_execute_go_on_under_their_names(world: World) -> None:
    before, after = graphs(one="a!", two="a?", **KEPT), graphs(one="a?", two="a!", **KEPT)
    world.write(*[before] * 3, *[after] * 3)
    known = world.history()
    assert lengths(known) == {"one": 6, "two": 6, "kept": 6, "also": 6}
    assert known.notes == ()


def test_a_name_given_to_another_graph_beside_the_renamed_one_is_said(world: World) -> None:
    before, after = graphs(one="a", two="b", **KEPT), graphs(two="a", one="c", **KEPT)
    world.write(*[before] * 3, *[after] * 3)
    known = world.history()
    at = world.commits[3][:10]
    until = f"two (until {at})"
    assert lengths(known) == {until: 3, "two": 6, "one": 3, "kept": 6, "also": 6}
    said = "one: another graph since, with its own series"
    assert known.notes == (f"1 graph renamed at {at}: one → two; {said}",)


def test_graphs_that_may_be_one_begin_anew_and_are_named(world: World) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a!", copy="a?", **KEPT)
    world.write(*[old] * 3, *[new] * 3)
    known = world.history()
    assert lengths(known) == {"old": 3, "new": 3, "copy": 3, "kept": 6, "also": 6}
    (said,) = known.notes
    assert said.startswith("1 ended and 2 new graphs look alike: old; ")
    assert said.endswith(f" at {world.commits[3][:10]}: the series begin anew")


def test_a_run_of_named_graphs_ends_none(world: World) -> None:
    whole, rest = graphs(one="a", twin="a", **KEPT), graphs(one="a", **KEPT)
    world.write(*[rest] * 2, graphs(twin="a"), *[whole] * 2, graphs(one="a"), rest)
    known = world.history()
    assert lengths(known) == {"one": 6, "twin": 3, "kept": 5, "also": 5}
    assert known.notes == ()


def test_a_run_of_one_renamed_graph_waits_for_a_whole_one(world: World) -> None:
    more = KEPT | {"more": "g"}
    old, new = graphs(old="a", **more), graphs(new="a", **more)
    world.write(*[old] * 3, graphs(new="a"))
    known = world.history()
    assert lengths(known)["old"] == 3
    assert known.notes[0].startswith("1 ended and 1 new graph look alike: old; new at ")
    world.commits = repository(world.repository, 1)
    world.save(4, new, {})
    known = world.history()
    assert lengths(known)["new"] == 5
    assert known.notes == (f"1 graph renamed at {world.commits[4][:10]}: old → new",)


def test_two_graphs_of_one_structure_that_are_measured_in_turn_are_two(world: World) -> None:
    world.write(*[graphs(one="a"), graphs(two="a")] * 3)
    known = world.history()
    assert lengths(known) == {"one": 3, "two": 3}
    assert known.notes == ("one and two compute the same, in turn: each has a series of its own",)


def test_a_waiver_speaks_of_a_graph_by_any_of_its_names(world: World) -> None:
    names = [*["one"] * 4, *["two"] * 4, *["three"] * 4]
    world.write(*(graphs(**{n: "a"}, **KEPT) for n in names), slower={"a1": 6})
    for name in ("one", "two", "three"):
        report = world.report(f"{world.commits[6]} ms {name}/* on purpose")
        assert not slowed(report)
        assert not report.stale
    report = world.report(f"{world.commits[6]} ms other/* on purpose")
    assert len(slowed(report)) == 2
    assert len(report.stale) == 1


def test_a_waiver_of_an_exchanged_name_speaks_of_one_graph(world: World) -> None:
    before, after = graphs(one="a", two="b", **KEPT), graphs(one="b", two="a", **KEPT)
    world.write(*[before] * 8, *[after] * 4, slower={"a1": 4, "b1": 4})
    report = world.report(f"{world.commits[4]} ms one/* on purpose")
    assert {c.series.graph for c in slowed(report)} == {"one"}  # which was two then


def test_only_files_of_runs_that_rename_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a", **KEPT)
    world.write(*[old] * 6, *[new] * 6, slower={"a1": 4})
    read: list[tuple[str, Sequence[str]]] = []
    load = store.load_modules

    def counted(path: Path, graphs: Sequence[str]) -> list[GraphRecord]:
        read.append((path.stem[9:15], sorted(graphs)))
        return load(path, graphs)

    monkeypatch.setattr(store, "load_modules", counted)
    world.history()
    assert read == [("000005", ["old"]), ("000006", ["new"])]


def test_each_graph_s_record_is_read_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [graphs(**{f"of_{of}": of}, **KEPT) for of in "abcdgh"]  # what ended stays in question
    world.write(*runs)
    read: list[tuple[str, str]] = []
    load = store.load_modules

    def counted(path: Path, graphs: Sequence[str]) -> list[GraphRecord]:
        read.extend((path.stem, graph) for graph in graphs)
        return load(path, graphs)

    monkeypatch.setattr(store, "load_modules", counted)
    world.history()
    assert len(read) == len({*read}) == 6


def test_a_graph_that_does_not_compile_has_not_ended(world: World) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a", **KEPT)
    world.write(*[old] * 3)
    world.commits = repository(world.repository, 1)
    run = world.save(3, new, {})
    store.run_path(world.results, run).unlink()
    broken = GraphRecord("old", reason="no kernel can be written")
    store.save(world.results, replace(run, graphs=(*run.graphs, broken)))
    known = world.history()
    assert lengths(known) == {"old": 3, "new": 1, "kept": 4, "also": 4}
    assert known.notes == ()


def test_a_waiver_after_an_exchange_speaks_of_what_has_the_name_then(world: World) -> None:
    before, after = graphs(one="a", two="b", **KEPT), graphs(one="b", two="a", **KEPT)
    world.write(*[before] * 4, *[after] * 8, slower={"a1": 8, "b1": 8})
    report = world.report(f"{world.commits[8]} ms one/* on purpose")
    assert {c.series.graph for c in slowed(report)} == {"two"}


def test_a_file_without_modules_or_that_is_torn_renames_nothing(world: World) -> None:
    old, new = graphs(old="a", **KEPT), graphs(new="a", **KEPT)
    world.write(*[old] * 3, *[new] * 3)
    path = store.runs(world.results)[2]
    pq.write_table(pq.read_table(path).drop_columns(["module"]), path)
    assert lengths(world.history()) == {"old": 3, "new": 3, "kept": 6, "also": 6}
    found = index.refresh(world.results)
    path.write_bytes(path.read_bytes()[:-100])
    known = arrange(found, world.repository)
    assert lengths(known) == {"old": 3, "new": 3, "kept": 6, "also": 6}
    (said,) = known.notes
    assert path.name in said
