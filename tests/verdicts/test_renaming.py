from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.history.nights import Change, Light
from harness.records.run import GraphRecord, KernelRecord, LibraryCall, Run
from harness.verdicts.pairing import pair, region_of
from harness.verdicts.renaming import aligned
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
    a, said, alike = aligned(run(kept, old), run(other, kept, new))
    assert names(a) == ["kept", "new"]
    assert said == ["graph old is called new now"]
    assert not alike
    found = pair(a.graphs, (other, kept, new))
    assert [(m.graph, m.how) for m in found.matches] == [("kept", "nodes")] + [("new", "nodes")] * 4
    assert not found.vanished
    assert len(found.appeared) == 4


def test_its_regions_have_its_name_and_library_calls_are_of_it() -> None:
    calls = (LibraryCall("aten.mm", 3),)
    inside = replace(computing("k", "mul"), region="old.r3")
    old = replace(graph(inside, name="old"), library_calls=calls)
    new = replace(model("new", "mul"), library_calls=calls)
    a, *_ = aligned(run(old), run(new))
    assert region_of(a.graphs[0].kernels[0]) == "new.r3"
    more = replace(new, library_calls=(LibraryCall("aten.mm", 30),))
    assert names(aligned(run(old), run(more))[0]) == ["old"]


@pytest.mark.parametrize(
    "other",
    [
        model("new", "mul add sum exp", args="f16"),  # on other tensors
        model("new", "mul sin cos log"),
        model("new", "tan"),
    ],
)
def test_another_graph_is_not_the_one_that_ended(other: GraphRecord) -> None:
    a, said, alike = aligned(run(model("old", "mul add sum exp")), run(other))
    assert names(a) == ["old"]
    assert not said
    assert not alike


def test_graphs_that_are_alike_in_part_may_be_one() -> None:
    old, new = model("old", "mul add sum exp"), model("new", "mul add sum exp log tan")
    a, said, alike = aligned(run(old), run(new))
    assert names(a) == ["old"]
    assert not said
    assert alike == ["1 ended and 1 new graph look alike: old; new"]


def test_of_two_equal_graphs_that_execute_something_else_none_is_certain() -> None:
    old = model("old", "mul add")
    new = [
        graph(*(computing(f"k{one}", one, code=code) for one in ("mul", "add")), name=code)
        for code in ("n1", "n2")
    ]
    a, _, alike = aligned(run(old), run(*new))
    assert names(a) == ["old"]
    assert alike == ["1 ended and 2 new graphs look alike: old; n1, n2"]


def test_equal_graphs_are_told_apart_by_what_they_execute() -> None:
    same, other = model("s", "mul add"), model("o", "mul add", changed="mul")
    new = [replace(other, name="o2"), replace(same, name="s2")]
    assert names(aligned(run(same, other), run(*new))[0]) == ["s2", "o2"]
    twins = [replace(same, name="t1"), replace(same, name="t2")]
    assert sorted(
        names(aligned(run(*twins), run(*(replace(t, name=t.name * 2) for t in twins)))[0])
    ) == ["t1t1", "t2t2"]


def test_patterns_of_a_corpus_are_called_by_what_they_compute() -> None:
    one, other = run(model("one", "mul"), suite="corpus"), run(model("two", "mul"), suite="corpus")
    assert aligned(one, other)[1:] == ([], [])


def test_what_was_not_asked_for_has_not_been_renamed() -> None:
    old, new = model("old", "mul add"), model("new", "mul add")
    a, said, alike = aligned(run(old), run(new), whole=False)
    assert (names(a), said) == (["old"], [])
    assert alike == ["1 ended and 1 new graph look alike: old; new"]
    assert aligned(run(old), run(new, suite="mine")) == (run(old), [], [])


def test_many_graphs_renamed_at_once() -> None:
    rng = random.Random()
    words = [f"op{n}" for n in range(12)]
    old = {f"a{n}": " ".join(rng.sample(words, 8)) for n in range(20)}
    old = {name: ops for name, ops in old.items() if [*old.values()].count(ops) == 1}
    new = [model(name.replace("a", "b"), ops, changed=ops.split()[0]) for name, ops in old.items()]
    rng.shuffle(new)
    a, said, _ = aligned(run(*(model(name, ops) for name, ops in old.items())), run(*new))
    for graph_, name in zip(a.graphs, old, strict=True):
        assert graph_.name in (name, name.replace("a", "b"))
    assert len(said) >= len({frozenset(ops.split()) for ops in old.values()}) // 2


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
    assert night.alike == ("1 ended and 1 new graph look alike: g; renamed",)


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
