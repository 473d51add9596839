"""Which graph of B is a graph of A under another name: by what their kernels and library calls
compute, on tensors of the same shapes, strides and types."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeAlias

from harness.ir.reach import grouped, joined
from harness.records import modules
from harness.records.run import GraphRecord, Run
from harness.session.entries import CORPUS
from harness.verdicts.pairing import look_alike, region_of

SURE, MAYBE = 0.9, 0.5
"""Shares of operators and of arguments in common (Jaccard, the smaller of both): from the one on a
graph is the other under another name, if half of its kernels compute what they did, too; from the
other on it may be. A graph whose fusions change keeps all of its operators and most of its
arguments; a model of more layers has more operators, one of another size has other arguments. Of
600,060 pairs of a corpus' graphs 469 may be one, and of 210 of the default suite's none."""

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
            kernels[what.digest] += kernel.launches
            codes[kernel.code_hash] += kernel.launches
        return _Structure(graph.name, calls + graph.calls, arguments, kernels, codes)


Pair: TypeAlias = tuple[_Structure, _Structure]
"""A graph of A and one of B."""


def _share(one: Counter[str], other: Counter[str]) -> float:
    """What both have in common, of all that they have."""
    return (one & other).total() / ((one | other).total() or 1)


def aligned(a: Run, b: Run, *, whole: bool = True) -> tuple[Run, list[str], list[str]]:
    """``a``, its graphs under the names that ``b`` has for them; which were renamed; and which of
    A's ended and of B's are new that may be one, but not certainly. Not ``whole``: B has the graphs
    that were asked for alone, so what it lacks of A has not ended, and nothing is certain."""
    known = [{graph.name for graph in run.graphs} for run in (b, a)]
    both = zip((a, b), known, strict=True)
    lone = [[graph for graph in run.graphs if graph.name not in names] for run, names in both]
    suites = {a.suite, b.suite} - {""}
    # What one suite alone has is no news; patterns of a corpus are called by what they compute.
    corpus = CORPUS in {suite.partition(":")[0] for suite in suites}
    if corpus or len(suites) > 1 or not all(lone):
        return a, [], []
    old, new = ([_Structure.of(graph) for graph in graphs] for graphs in lone)
    found, doubtful = _assigned(_likenesses(old, new))
    if not whole:
        found, doubtful = [], [*found, *doubtful]
    called = {one.name: other.name for one, other in found}
    said = [f"graph {one} is called {other} now" for one, other in called.items()]
    sides = [
        [[one.name for one in group if one in side] for side in ({*old}, {*new})]
        for group in joined(doubtful)
    ]
    graphs = tuple(_called(g, called[g.name]) if g.name in called else g for g in a.graphs)
    return replace(a, graphs=graphs), said, [look_alike("graph", *each) for each in sides]


def _likenesses(old: Sequence[_Structure], new: Sequence[_Structure]) -> dict[Pair, Likeness]:
    """How alike the pairs are that may be one graph. Only those with a common argument are looked
    at: a corpus has thousands of graphs."""
    having = defaultdict[str, list[int]](list)
    for n, other in enumerate(new):
        for argument in other.arguments:
            having[argument].append(n)
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


def _called(graph: GraphRecord, name: str) -> GraphRecord:
    """``graph`` under another name, its regions, too."""

    def inside(region: str) -> str:
        rest = region.removeprefix(graph.name)
        return region if rest == region else name + rest

    kernels = tuple(replace(one, region=inside(region_of(one))) for one in graph.kernels)
    regions = tuple(replace(one, region=inside(one.region)) for one in graph.regions)
    return replace(graph, name=name, kernels=kernels, regions=regions)
