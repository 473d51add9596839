from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from harness.history.changes.waivers import Waiver
from harness.history.nights import Change, Light
from harness.history.renaming import Aligned, aligned
from harness.records.run import GraphRecord, KernelRecord, LibraryCall, Run, region_of
from harness.session.entries import GraphFile
from harness.verdicts import nightly
from harness.verdicts.pairing import pair
from tests.history.kernels import graph, kernel, module, side
from tests.verdicts import night_world
from tests.verdicts.night_world import World, made

machine = night_world.world


def computing(name: str, operator: str, *, code: str = "", args: str = "f32") -> KernelRecord:
    """A kernel of an operator, executing ``code``."""
    text = module(name, code or operator, args, computes=operator)
    return replace(kernel(name, f"{operator}_0"), module=text)


def model(name: str, operators: str, *, changed: str = "", args: str = "f32") -> GraphRecord:
    """A graph with a kernel for each of ``operators``; those in ``changed`` execute something else
    than elsewhere."""
    kernels = (
        computing(f"k{n}", one, code="other" if one in changed.split() else "", args=args)
        for n, one in enumerate(operators.split())
    )
    return graph(*kernels, name=name)


def run(*graphs: GraphRecord, suite: str = "default") -> Run:
    return replace(side(*graphs).run, suite=suite)


def names(found: Run) -> list[str]:
    return [one.name for one in found.graphs]


def test_a_graph_of_another_name_is_found_by_what_it_computes() -> None:
    kept, old = model("kept", "tan"), model("old", "mul add sum exp")
    new, other = model("new", "mul add sum exp", changed="sum"), model("other", "sin cos erf log")
    made = aligned(run(kept, old), run(other, kept, new))
    assert names(made.run) == ["kept", "new"]
    assert made.notes == ["graph old is called new now"]
    assert not made.doubts
    found = pair(made.run.graphs, (other, kept, new))
    assert [(m.graph, m.how) for m in found.matches] == [("kept", "nodes")] + [("new", "nodes")] * 4
    assert not found.vanished
    assert len(found.appeared) == 4


def test_its_regions_have_its_name_and_library_calls_are_of_it() -> None:
    calls = (LibraryCall("aten.mm", 3),)
    inside = replace(computing("k", "mul"), region="old.r3")
    old = replace(graph(inside, name="old"), library_calls=calls)
    new = replace(model("new", "mul"), library_calls=calls)
    assert region_of(aligned(run(old), run(new)).run.graphs[0].kernels[0]) == "new.r3"
    more = replace(new, library_calls=(LibraryCall("aten.mm", 30),))
    assert names(aligned(run(old), run(more)).run) == ["old"]


@pytest.mark.parametrize(
    "other",
    [
        model("new", "mul add sum exp", args="f16"),  # on other tensors
        model("new", "mul sin cos log"),
        model("new", "tan"),
    ],
)
def test_another_graph_is_not_the_one_that_ended(other: GraphRecord) -> None:
    found = aligned(run(model("old", "mul add sum exp")), run(other))
    assert names(found.run) == ["old"]
    assert not found.called
    assert not found.doubts


def test_graphs_that_are_alike_in_part_may_be_one() -> None:
    old, new = model("old", "mul add sum exp"), model("new", "mul add sum exp log tan")
    found = aligned(run(old), run(new))
    assert names(found.run) == ["old"]
    assert not found.called
    assert found.doubts == ["1 ended and 1 new graph look alike: old; new"]


def test_of_two_equal_graphs_that_execute_something_else_none_is_certain() -> None:
    old = model("old", "mul add")
    new = [
        graph(*(computing(f"k{one}", one, code=code) for one in ("mul", "add")), name=code)
        for code in ("n1", "n2")
    ]
    found = aligned(run(old), run(*new))
    assert names(found.run) == ["old"]
    assert found.doubts == ["1 ended and 2 new graphs look alike: old; n1, n2"]


def test_equal_graphs_are_told_apart_by_what_they_execute() -> None:
    same, other = model("s", "mul add"), model("o", "mul add", changed="mul")
    new = [replace(other, name="o2"), replace(same, name="s2")]
    assert names(aligned(run(same, other), run(*new)).run) == ["s2", "o2"]
    twins = [replace(same, name="t1"), replace(same, name="t2")]
    assert sorted(
        names(aligned(run(*twins), run(*(replace(t, name=t.name * 2) for t in twins))).run)
    ) == ["t1t1", "t2t2"]


def test_kernels_whose_modules_say_nothing_are_not_alike() -> None:
    known = computing("k", "mul")
    old, new = (
        graph(known, *(replace(kernel(f"{name}{n}", f"{name}_{n}"), module="") for n in range(3)))
        for name in ("cat", "sort")
    )
    found = aligned(run(replace(old, name="old")), run(replace(new, name="new")))
    assert found.called == {}
    assert found.doubts == ["1 ended and 1 new graph look alike: old; new"]


def test_patterns_of_a_corpus_are_called_by_what_they_compute() -> None:
    one, other = run(model("one", "mul"), suite="corpus"), run(model("two", "mul"), suite="corpus")
    assert aligned(one, other) == Aligned(one, {}, [])


def test_of_named_graphs_what_the_suite_still_has_has_not_ended() -> None:
    old, new, kept = model("old", "mul add"), model("new", "mul add"), model("kept", "tan")
    known = run(old, kept)
    assert aligned(known, run(new), ["new", "kept"]).called == {"old": "new"}
    assert aligned(known, run(new), ["new", "old", "kept"]) == Aligned(known, {}, [])
    found = aligned(known, run(new), ["new", "kept", "other"])
    assert found.called == {}
    said = "1 ended and 1 new graph look alike: old; new; a night of the whole suite tells"
    assert found.doubts == [said]
    assert aligned(run(old), run(new), None).doubts == [said]
    assert aligned(run(old), run(new, suite="mine")) == Aligned(run(old), {}, [])


def test_a_run_of_one_new_graph_does_not_say_that_the_others_ended() -> None:
    known = run(model("one", "mul add"), model("other", "sin cos"), model("third", "tan"))
    found = aligned(known, run(model("new", "mul add")))
    assert (names(found.run), found.called) == (["one", "other", "third"], {})
    assert found.doubts[0].startswith("1 ended and 1 new graph look alike: one; new")


def test_two_graphs_that_exchange_their_names_are_found_by_what_they_execute() -> None:
    one, other, kept = model("one", "mul add"), model("other", "sin cos"), model("kept", "tan")
    b = run(replace(one, name="other"), kept, replace(other, name="one"))
    found = aligned(run(one, other, kept), b)
    assert found.called == {"one": "other", "other": "one"}
    assert names(found.run) == ["other", "one", "kept"]
    assert not found.doubts


def test_twins_that_exchange_what_they_execute_keep_their_names() -> None:
    one, kept = model("one", "mul add"), model("kept", "tan")
    other = model("other", "mul add", changed="mul add")
    b = run(replace(other, name="one"), kept, replace(one, name="other"))
    found = aligned(run(one, other, kept), b)
    assert (found.called, found.doubts) == ({}, [])
    assert names(found.run) == ["one", "other", "kept"]


def test_the_name_of_a_graph_that_ended_may_be_another_one_s() -> None:
    one, other = model("one", "mul add"), model("other", "sin cos")
    found = aligned(run(one, other), run(replace(other, name="one")))
    assert found.called == {"other": "one"}
    assert names(found.run) == ["one (ended)", "one"]


def test_a_graph_whose_code_changes_keeps_its_name() -> None:
    one, other = model("one", "mul add"), model("other", "sin cos")
    after = run(model("one", "mul add", changed="mul add"), model("third", "sin mul"))
    assert aligned(run(one, other), after).called == {}


def test_many_graphs_renamed_at_once() -> None:
    rng = random.Random()
    words = [f"op{n}" for n in range(12)]
    old = {f"a{n}": " ".join(rng.sample(words, 8)) for n in range(20)}
    old = {name: ops for name, ops in old.items() if [*old.values()].count(ops) == 1}
    new = [model(name.replace("a", "b"), ops, changed=ops.split()[0]) for name, ops in old.items()]
    rng.shuffle(new)
    found = aligned(run(*(model(name, ops) for name, ops in old.items())), run(*new))
    # Some compute and execute the same in A: each of them is the one that is in B.
    same = {name: {*ops.split()} for name, ops in old.items()}
    for graph_, name in zip(found.run.graphs, old, strict=True):
        assert graph_.name == name or same[graph_.name.replace("b", "a")] == same[name]
    assert len(found.called) >= len({frozenset(ops.split()) for ops in old.values()}) // 2


def test_a_kernel_that_went_to_another_graph_is_the_one_that_computes_the_same() -> None:
    a = [model("g", "mul add"), model("h", "sum")]
    b = [model("g", "mul"), model("h", "sum add", changed="add")]
    found = pair(a, b)
    assert [(m.graph, m.how) for m in found.matches][1:2] == [("h", "operators")]
    assert not found.vanished
    assert not found.alike


def test_several_that_compute_the_same_are_not_paired_by_chance() -> None:
    a = [model("g", "mul add")]
    b = [model("g", "mul"), model("h", "add", changed="add"), model("i", "add", changed="add")]
    found = pair(a, b)
    assert len(found.matches) == 1
    assert found.alike == ["1 ended and 2 new kernels look alike: k1; k0, k0"]


def renamed(world: World, **changes: float) -> None:
    """The suite's graph under another name, some kernels with another text and time."""
    kernels = world.suite.pop("g")
    world.suite["renamed"] = [
        (made(m.name, m.origins[0], ms, f"{m.name} = 7") if (ms := changes.get(m.name)) else m, n)
        for m, n in kernels
    ]


def test_a_slower_kernel_in_a_renamed_graph_is_red(machine: World) -> None:
    machine.start()
    renamed(machine, k3=0.04)
    night = machine.night()
    assert night.light is Light.RED
    (found,) = night.regressions
    assert (found.graph, found.kernel, found.old_kernel) == ("renamed", "k3", "k3")
    assert night.counts == {"same": 11, "changed": 1}
    assert "graph g is called renamed now" in night.notes
    assert "note: graph g is called renamed now" in machine.lines


@pytest.mark.parametrize("name", ["g", "renamed"])
def test_a_waiver_of_either_name_waives(machine: World, name: str) -> None:
    machine.start()
    renamed(machine, k3=0.04)
    given = (Waiver(1, "", machine.commit, "ms", f"{name}/n3", "on purpose"),)
    night = machine.night(waivers=given)
    assert night.light is Light.GREEN
    assert [one.waived for one in night.findings if one.kernel == "k3"] == ["on purpose"]


def test_an_unchanged_renamed_graph_is_green(machine: World) -> None:
    machine.start()
    renamed(machine)
    night = machine.night()
    assert (night.light, night.counts) == (Light.GREEN, {"same": 12})
    assert machine.timed == []


def test_a_graph_of_other_work_is_new(machine: World) -> None:
    machine.start()
    machine.suite = {"other": [(made(f"k{n}", f"m{n}", 0.04), 1) for n in range(12)]}
    night = machine.night()
    assert night.counts == {"new": 12, "ended": 12}
    assert night.light is Light.GREEN


def test_where_it_is_not_certain_what_became_of_a_graph_the_night_is_amber(machine: World) -> None:
    machine.start()
    renamed(machine, **{f"k{n}": 0.04 for n in range(12)})
    machine.suite["copy"] = [
        (made(m.name, m.origins[0], 0.04, "x = 8"), n) for m, n in machine.suite["renamed"]
    ]
    night = machine.night()
    assert night.light is Light.AMBER
    assert "1 ended and 2 new graphs look alike" in machine.lines[0]
    assert any("g; renamed, copy" in line for line in machine.lines)
    assert {one.change for one in night.findings} == {Change.NEW, Change.ENDED}


def test_a_night_of_one_new_graph_says_which_of_the_others_it_is_like(machine: World) -> None:
    machine.start()
    renamed(machine, k3=0.04)
    night = machine.night("renamed")
    assert (night.light, night.status) == (Light.AMBER, 4)
    said = "1 ended and 1 new graph look alike: g; renamed; a night of the whole suite tells"
    assert night.alike == (said,)


def test_a_night_of_one_renamed_graph_of_the_suite_compares_it(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.suite["kept"] = [(made("k20", "other", 0.02), 1)]
    machine.start()
    renamed(machine, k3=0.04)
    files = tuple(GraphFile(name, Path(name), None) for name in machine.suite)
    monkeypatch.setattr(nightly, "find_graphs", lambda *_: files)
    del machine.suite["kept"]
    night = machine.night("renamed")
    assert [(one.graph, one.kernel) for one in night.regressions] == [("renamed", "k3")]
    assert night.counts == {"same": 11, "changed": 1}
    assert night.alike == ()


def test_a_moved_kernel_that_is_tuned_anew_belongs_to_its_new_graph(machine: World) -> None:
    machine.suite["h"] = [(made("k20", "other", 0.02), 1)]
    machine.start()
    module_, launches = machine.suite["g"].pop()
    machine.suite["h"].append(
        (made(module_.name, module_.origins[0], 0.02, candidates=128), launches)
    )
    night = machine.night()
    assert not night.regressions
    assert night.counts.get("new") is None
