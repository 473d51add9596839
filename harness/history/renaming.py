"""Which graph of B is a graph of A under another name: by what their kernels and library calls
compute, on tensors of the same shapes, strides and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import TypeAlias, TypeVar

from harness.corpus.model import CORPUS
from harness.ir.reach import gathered, grouped, joined
from harness.records import modules
from harness.records.names import look_alike
from harness.records.run import GraphRecord, Run, region_of

T = TypeVar("T")

SURE, MAYBE = 0.9, 0.5
"""Shares of operators and of arguments in common (Jaccard, the smaller of both): from the one on a
graph is the other under another name, if half of its kernels compute what they did, too; from the
other on it may be. A graph whose fusions change keeps all of its operators and most of its
arguments; a model of more layers has more operators, one of another size has other arguments. Of
600,060 pairs of a corpus' graphs 469 may be one, and of 210 of the default suite's none."""

WHOLE = 0.5
"""Share of an earlier run's graphs that a run has to have: one of a few graphs that somebody asked
for does not say that the others have ended."""

Likeness: TypeAlias = tuple[float, float, int]
"""Of operators and arguments, 0 to 1; of what single kernels compute; how many kernels execute the
same."""


@dataclass(frozen=True, slots=True, eq=False)
class _Structure:
    """What a graph computes: how often each operator with its literal arguments, and on what.
    ``kernels``: what each computes, ``codes``: what each executes; and how often."""

    name: str
    calls: Counter[str]
    arguments: frozenset[str]
    kernels: Counter[str]
    codes: Counter[str]

    @staticmethod
    def of(graph: GraphRecord) -> _Structure:
        """Of a graph's record: a node that several kernels compute counts once."""
        known = [modules.computed(kernel.module) for kernel in graph.kernels]
        calls = Counter(call for _, call in {one for each in known for one in each.calls})
        arguments = frozenset[str]().union(*(each.arguments for each in known))
        kernels, codes = Counter[str](), Counter[str]()
        for kernel, what in zip(graph.kernels, known, strict=True):
            kernels[what.digest or kernel.code_hash] += kernel.launches
            codes[kernel.code_hash] += kernel.launches
        return _Structure(graph.name, calls + graph.calls, arguments, kernels, codes)


Pair: TypeAlias = tuple[_Structure, _Structure]
"""A graph of A and one of B."""


def _share(one: Counter[str], other: Counter[str]) -> float:
    """What both have in common, of all that they have."""
    return (one & other).total() / ((one | other).total() or 1)


Alike: TypeAlias = tuple[list[str], list[str]]
"""Which of A's graphs ended and which of B's are new that may be one."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A's ``run``, its graphs under the names that B has for them: ``called`` says which were
    renamed. ``doubts`` are sentences about those of which that is not certain."""

    run: Run
    called: dict[str, str]
    doubts: list[str]

    @property
    def notes(self) -> list[str]:
        """What was renamed, in sentences."""
        return [f"graph {one} is called {other} now" for one, other in self.called.items()]


def matched(
    old: Sequence[GraphRecord], new: Sequence[GraphRecord]
) -> tuple[dict[str, str], list[Alike]]:
    """What the graphs ``old`` are called among the ``new`` ones, where that is certain, and which
    may be one. What both name may have changed hands; that it is alike in part to what it was is no
    doubt."""
    both = {graph.name for graph in old} & {graph.name for graph in new}
    sides = [[_Structure.of(graph) for graph in graphs] for graphs in (old, new)]
    work = attrgetter("calls", "arguments", "kernels")
    known = {one.name: work(one) for one in sides[0]}
    # Of several that compute the same each keeps its name, though it executes what another did.
    stay = {one.name for one in sides[1] if known.get(one.name) == work(one)}
    sides = [[one for one in side if one.name not in stay] for side in sides]
    found, doubtful = _assigned(_likenesses(*sides))
    called = {one.name: other.name for one, other in found if one.name != other.name}
    groups = joined([one for one in doubtful if not any(each.name in both for each in one)])
    named = ([[x.name for x in group if x in side] for side in map(set, sides)] for group in groups)
    return called, [(ended, begun) for ended, begun in named]


def changed_hands(
    a: Mapping[str, AbstractSet[T]], b: Mapping[str, AbstractSet[T]], ended: Collection[str]
) -> set[str]:
    """The graphs of A and B (by name, what they execute) whose name stands for another one in B,
    as where two are exchanged: nothing of what it executed, but something of another graph's that
    ``ended`` or has lost its own, too."""
    lost = {name for name in a.keys() & b.keys() if a[name] and b[name] and not a[name] & b[name]}
    given = {name for name in lost if any(a[o] & b[name] for o in {*lost, *ended} - {name})}
    return given | {name for name in lost if any(a[name] & b[other] for other in given - {name})}


def aligned(a: Run, b: Run, declared: Collection[str] | None = ()) -> Aligned:
    """``a``, its graphs under the names that ``b`` has for them. Where B has the graphs alone that
    were asked for, ``declared`` are those of its suite: they have not ended. Where it has another
    new one, nobody knows them (None), or B has few of A's graphs, nothing is certain."""
    ours, theirs = ({graph.name: graph for graph in run.graphs} for run in (a, b))
    suites = {a.suite, b.suite} - {""}
    # What one suite alone has is no news; patterns of a corpus are called by what they compute.
    if len(suites) > 1 or CORPUS in {suite.partition(":")[0] for suite in suites}:
        return Aligned(a, {}, [])
    ended = ours.keys() - theirs.keys() - {*(declared or ())}
    codes = [{n: {k.code_hash for k in g.kernels} for n, g in x.items()} for x in (ours, theirs)]
    moved = changed_hands(codes[0], codes[1], ended)
    lone = [g for g in a.graphs if g.name in ended | moved]
    called, alike = matched(lone, [g for g in b.graphs if g.name not in ours or g.name in moved])
    tells, new = "", theirs.keys() - ours.keys()
    part = not declared and len(ours.keys() & theirs.keys()) < WHOLE * (len(ours) - len(new))
    if part or declared is None or {*declared} - ours.keys() - theirs.keys():
        alike = [*alike, *(([one], [other]) for one, other in called.items())]
        called, tells = {}, "; a night of the whole suite tells"
    doubts = [look_alike("graph", *each) + tells for each in alike]
    taken = {*called.values()} - called.keys()
    names = {name: f"{name} (ended)" for name in ours if name in taken} | called
    return Aligned(under(names, a), called, doubts)


def _likenesses(old: Sequence[_Structure], new: Sequence[_Structure]) -> dict[Pair, Likeness]:
    """How alike the pairs are that may be one graph. Only those with a common argument are looked
    at: a corpus has thousands of graphs."""
    having = gathered((argument, n) for n, one in enumerate(new) for argument in one.arguments)
    found = {}
    for one in old:
        common = Counter(n for argument in one.arguments for n in having.get(argument, ()))
        for n, both in sorted(common.items()):
            other = new[n]
            share = both / (len(one.arguments) + len(other.arguments) - both)
            if share < MAYBE:  # most pairs of a large suite: nothing else is looked at
                continue
            if (graph := min(share, _share(one.calls, other.calls))) >= MAYBE:
                alike = _share(one.kernels, other.kernels)
                found[one, other] = graph, alike, len(one.codes & other.codes)
    return found


def _assigned(likeness: Mapping[Pair, Likeness]) -> tuple[list[Pair], list[Pair]]:
    """Which graph is which, those most alike first, and pairs of which that is not certain: not
    alike enough, or as much alike as others that execute something else."""
    found: list[Pair] = []
    doubtful: list[Pair] = []
    taken: set[_Structure] = set()
    beside = grouped(((one, pair) for pair in likeness for one in pair), itemgetter(0))
    for pair, rank in sorted(likeness.items(), key=lambda item: item[1], reverse=True):
        if not taken.isdisjoint(pair):
            continue
        rivals = [
            other
            for n, one in enumerate(pair)
            for _, other in beside[one]
            if likeness[other] == rank and taken.isdisjoint(other)
            if pair[1 - n].codes != other[1 - n].codes
        ]
        sure = not rivals and rank[0] >= SURE and rank[1] >= MAYBE
        (found if sure else doubtful).extend((pair, *rivals))
        taken.update(pair, *rivals)
    return found, doubtful


def under(names: Mapping[str, str], run: Run) -> Run:
    """``run``, those of its graphs that have other ``names`` under these."""
    graphs = (_called(g, names[g.name]) if g.name in names else g for g in run.graphs)
    return replace(run, graphs=tuple(graphs))


def _called(graph: GraphRecord, name: str) -> GraphRecord:
    """``graph`` under another name, its regions, too."""
    inside = partial(inside_of, graph.name, name)
    kernels = tuple(replace(one, region=inside(region_of(one))) for one in graph.kernels)
    regions = tuple(replace(one, region=inside(one.region)) for one in graph.regions)
    return replace(graph, name=name, kernels=kernels, regions=regions)


def inside_of(graph: str, name: str, text: str) -> str:
    """A graph's own name, its region or what begins with one, where it is called ``name``."""
    return name + text.removeprefix(graph) if f"{text}.".startswith(f"{graph}.") else text
