"""Which kernel of B is which kernel of A.

A kernel's name holds a number that moves whenever a kernel before it comes or goes, and its
operators, which a change of the compiler may reorder. What it computes stays: the nodes of
the captured graph. So, within a graph, in this order, each kernel once:

``nodes``      the same region and the same nodes, the same code or operators first
``operators``  the same operators on arguments of the same shapes, strides and types
``nodes``      the same nodes, which compute something else
``code``       the same code, whatever it was called
``work``       what is left and shares nodes, as groups of kernels on both sides: a fusion that was
               made or undone, one kernel against two

Then across graphs: the same code, and the same operators where no other kernel has them. What is
left after that has vanished or appeared. A graph that has another name on each side is to be given
B's before (``history.renaming``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from harness.errors import unknown
from harness.ir.reach import grouped, joined
from harness.records import modules
from harness.records.names import is_named, look_alike
from harness.records.run import GraphRecord, KernelRecord, region_of

T = TypeVar("T")

_ALIKE = 0.5
"""Least share of nodes in common (Jaccard) of two groups that are said to do the same work. Below
it the graphs were probably captured anew, and equal node names mean nothing."""


@dataclass(frozen=True, slots=True)
class Match:
    """Kernels of graph ``graph`` (B's, where one went to another) that do the same on both sides;
    ``how`` they were found. More than one kernel on a side only where ``how`` is ``work``."""

    graph: str
    a: tuple[KernelRecord, ...]
    b: tuple[KernelRecord, ...]
    how: str

    @property
    def single(self) -> bool:
        """Whether it is one kernel on each side."""
        return len(self.a) == len(self.b) == 1

    @property
    def sides(self) -> tuple[tuple[KernelRecord, ...], tuple[KernelRecord, ...]]:
        """A's kernels, and B's."""
        return self.a, self.b

    @property
    def kernels(self) -> tuple[KernelRecord, ...]:
        """Those of both sides."""
        return self.a + self.b

    @property
    def launches(self) -> tuple[int, int]:
        """How often each side launches it; a group is timed with all of its launches."""
        return (self.a[0].launches, self.b[0].launches) if self.single else (1, 1)

    @property
    def region(self) -> str:
        """The region of the first kernel, by A's names."""
        return region_of(self.a[0]) or region_of(self.b[0])


Lone: TypeAlias = tuple[tuple[str, KernelRecord], ...]
"""Kernels without a partner, each behind its graph's name."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Every match, and what has none."""

    matches: tuple[Match, ...]
    vanished: Lone
    appeared: Lone

    @property
    def lone(self) -> tuple[Lone, Lone]:
        """What A alone has, and what B alone has."""
        return self.vanished, self.appeared

    @property
    def alike(self) -> list[str]:
        """Which kernels without a partner compute the same, so that one may have become the other,
        in sentences; there are others that may have, too."""
        sides = [grouped(lone, lambda item: operators_of(item[1])) for lone in self.lone]
        return [
            look_alike("kernel", *([k.name for _, k in side[key]] for side in sides))
            for key in sides[0]
            if key in sides[1] and key is not None
        ]


def nodes_of(kernel: KernelRecord) -> frozenset[str]:
    """The graph nodes the kernel computes, from its record or its module."""
    return frozenset(kernel.origins or modules.facts(kernel.module).nodes)


def all_nodes(kernels: Iterable[KernelRecord]) -> frozenset[str]:
    """The graph nodes that ``kernels`` compute together."""
    return frozenset[str]().union(*map(nodes_of, kernels))


def operators_of(kernel: KernelRecord) -> tuple[str, int] | None:
    """What names the operators that the kernel computes and its arguments, and how many nodes these
    are; None if its module does not say it."""
    digest = modules.computed(kernel.module).digest
    return (digest, len(nodes_of(kernel))) if digest else None


def pair(a: Sequence[GraphRecord], b: Sequence[GraphRecord]) -> Pairing:
    """Match the kernels of ``a`` with those of ``b``, in A's order."""
    left = {graph.name: list(graph.kernels) for graph in a}
    right = {graph.name: list(graph.kernels) for graph in b}
    names = left.keys() & right.keys()
    matches = [match for name in names for match in _pair_graph(name, left[name], right[name])]
    rest_a = [(name, kernel) for name, kernels in left.items() for kernel in kernels]
    rest_b = [(name, kernel) for name, kernels in right.items() for kernel in kernels]
    matches += _across(rest_a, rest_b)
    place = {id(kernel): n for n, kernel in enumerate(k for graph in a for k in graph.kernels)}
    matches.sort(key=lambda m: place[id(m.a[0])])
    return Pairing(tuple(matches), tuple(rest_a), tuple(rest_b))


def named(matches: Sequence[Match], name: str, *lone: KernelRecord) -> list[int]:
    """Positions of the matches that ``name`` means: a kernel, a pattern, or a graph. Raises
    ``UnknownName`` where it is neither one of them nor one of the kernels that are ``lone``."""
    found = [
        n
        for n, match in enumerate(matches)
        if is_named(name, match.graph) or any(is_named(name, k.name) for k in match.kernels)
    ]
    if found or any(is_named(name, kernel.name) for kernel in lone):
        return found
    known = {k.name for match in matches for k in match.kernels}
    known |= {match.graph for match in matches} | {kernel.name for kernel in lone}
    remedy = "names as harness compare A B --all shows them, or a pattern like '*var_mean*'"
    what = "neither side has a kernel or graph of that name"
    raise unknown(what, name, sorted(known), remedy=remedy)


def _pair_graph(graph: str, left: list[KernelRecord], right: list[KernelRecord]) -> list[Match]:
    """Matches within one graph; takes what it matches out of both lists."""
    keys: tuple[tuple[str, Callable[[KernelRecord], Hashable]], ...] = (
        ("nodes", lambda k: (region_of(k), nodes_of(k), k.code_hash) if nodes_of(k) else None),
        ("nodes", lambda k: operators_of(k) and (region_of(k), nodes_of(k), operators_of(k))),
        ("nodes", lambda k: operators_of(k) and (nodes_of(k), operators_of(k))),
        ("operators", operators_of),
        ("nodes", lambda k: (region_of(k), nodes_of(k)) if nodes_of(k) else None),
        ("nodes", lambda k: nodes_of(k) or None),
        ("code", lambda k: k.code_hash),
    )
    drawn = ((how, pair) for how, key in keys for pair in _drawn(left, right, key))
    found = [Match(graph, (a,), (b,), how) for how, (a, b) in drawn]
    return found + _same_work(graph, left, right)


def _across(
    left: list[tuple[str, KernelRecord]], right: list[tuple[str, KernelRecord]]
) -> list[Match]:
    """Matches of kernels that went to another graph; takes them out of both lists. Of several that
    compute the same it is not certain which became which, unless they are one code on each side."""
    found = [("code", *pair) for pair in _drawn(left, right, lambda item: item[1].code_hash)]
    ours, theirs = (grouped(side, lambda item: operators_of(item[1])) for side in (left, right))
    for key in ours.keys() & theirs.keys() - {None}:
        one, other = ours[key], theirs[key]
        codes = [{kernel.code_hash for _, kernel in side} for side in (one, other)]
        if len(one) == len(other) and len(codes[0]) == len(codes[1]) == 1:
            found += [("operators", *pair) for pair in zip(one, other, strict=True)]
    _take(left, right, *(item for _, *pair in found for item in pair))
    return [Match(graph, (one,), (other,), how) for how, (_, one), (graph, other) in found]


def _drawn(left: list[T], right: list[T], key: Callable[[T], Hashable]) -> list[tuple[T, T]]:
    """Pairs with the same key, in order, taken out of both lists; a key of None matches nothing."""
    waiting = grouped(right, key)
    waiting.pop(None, None)
    pairs = [(item, others.pop(0)) for item in left if (others := waiting.get(key(item)))]
    _take(left, right, *(item for pair in pairs for item in pair))
    return pairs


def _take(left: list[T], right: list[T], *items: T) -> None:
    taken = {id(item) for item in items}
    for side in (left, right):
        side[:] = [item for item in side if id(item) not in taken]


def _same_work(graph: str, left: list[KernelRecord], right: list[KernelRecord]) -> list[Match]:
    """Groups that nodes of both sides connect, if most of their nodes are common."""
    common = all_nodes(left) & all_nodes(right)
    kernels = dict(enumerate((*left, *right)))
    found = []
    for group in joined([n, *(nodes_of(kernel) & common)] for n, kernel in kernels.items()):
        members = sorted(n for n in group if isinstance(n, int))
        a = tuple(kernels[n] for n in members if n < len(left))
        b = tuple(kernels[n] for n in members if n >= len(left))
        ours, theirs = all_nodes(a), all_nodes(b)
        if a and b and len(ours & theirs) >= _ALIKE * len(ours | theirs):
            found.append(Match(graph, a, b, "work"))
    _take(left, right, *(kernel for match in found for kernel in match.kernels))
    return found
