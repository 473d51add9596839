"""Nests written out again over their kernel's common loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy

from harness.ir.affine import build, size_hint
from harness.ir.index import axis_symbol
from harness.ir.nodes import Axis, Builder, Nest, rewrite_stores
from harness.ir.simplify import Simplifier
from harness.schedule.space import (
    Cluster,
    Level,
    Row,
    Use,
    View,
    merge_digits,
    permute,
)


def arrange(cluster: Cluster) -> Cluster:
    """The cluster with its loops in the order its memory accesses want, parallel ones
    first, contiguous ones merged. An argmax keeps the order its positions count in."""
    order = [*_by_contiguity(cluster, False), *_by_contiguity(cluster, True)]
    return merge_digits(permute(cluster, order))


def _by_contiguity(cluster: Cluster, reduced: bool) -> list[int]:
    """Digits of one class, outermost first."""
    digits = list(cluster.digits(reduced))
    rows = [r for v in cluster.views for r in v.rows]
    if reduced:
        for row in rows:
            if row.use is Use.REDUCED_POSITION:
                return sorted(digits, key=lambda k: -size_hint(row.strides[k]))
    votes: dict[tuple[int, ...], int] = {}
    for row in dict.fromkeys(rows):
        if row.use not in (Use.LOAD, Use.STORE) or not row.exact:
            continue
        if not all(row.strides[k] != 0 for k in digits):
            continue
        order = _descending(row, digits)
        points = 1
        for size, stride in zip(cluster.sizes, row.strides, strict=True):
            points *= size_hint(size) if stride != 0 else 1
        weight = points * (2 if row.use is Use.STORE else 1)
        votes[order] = votes.get(order, 0) + weight
    if not votes:
        return digits
    best = min(votes, key=lambda order: (-votes[order], order))
    return list(best)


def _descending(row: Row, digits: list[int]) -> tuple[int, ...]:
    return tuple(sorted(digits, key=lambda k: (-abs(size_hint(row.strides[k])), k)))


def axes_of(cluster: Cluster, reduced: bool) -> tuple[Axis, ...]:
    """The loops of an arranged cluster: ``i0, i1, …`` parallel, ``r0, r1, …`` reduced."""
    prefix = "r" if reduced else "i"
    return tuple(
        Axis(axis_symbol(prefix, n), sympy.sympify(cluster.sizes[k]))
        for n, k in enumerate(cluster.digits(reduced))
    )


@dataclass(slots=True)
class Writer:
    """Writes the nests of one arranged cluster. Values are interned per cluster, so that
    what two nests share is one object."""

    cluster: Cluster
    builder: Builder = field(default_factory=Builder)
    variables: list[sympy.Symbol] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Name the digits."""
        parallel = iter(axes_of(self.cluster, False))
        reduced = iter(axes_of(self.cluster, True))
        for is_reduced in self.cluster.reduced:
            self.variables.append(next(reduced if is_reduced else parallel).var)

    def nest(self, view: View) -> Nest:
        """The nest of ``view`` over the cluster's loops."""
        addresses = _Addresses(view, self.cluster, self.variables)
        stores = rewrite_stores(view.nest.stores, self.builder, addresses.of)
        raxes = () if view.level is Level.FLAT else axes_of(self.cluster, True)
        axes = axes_of(self.cluster, False)
        return Nest(view.nest.name, axes, raxes, stores, view.nest.origins)


class _Addresses:
    """Index expressions of one view, over the cluster's loop variables."""

    def __init__(self, view: View, cluster: Cluster, variables: Sequence[sympy.Symbol]) -> None:
        self.view = view
        self.cluster = cluster
        self.variables = variables
        self.known: dict[sympy.Expr, sympy.Expr] = {}
        self.loops: dict[sympy.Symbol, sympy.Expr] | None = None
        self.simplifier: Simplifier | None = None

    def of(self, expr: sympy.Expr) -> sympy.Expr:
        """``expr`` over the new loops."""
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self._make(expr)
        return found

    def _make(self, expr: sympy.Expr) -> sympy.Expr:
        place = self.view.of_index.get(expr)
        if place is not None:
            return self._sum(self.view.rows[place])
        if self.simplifier is None:
            sizes = zip(self.variables, self.cluster.sizes, strict=True)
            self.simplifier = Simplifier(dict(sizes))
        return self.simplifier.simplify(expr.xreplace(self._loops()))

    def _sum(self, row: Row) -> sympy.Expr:
        return build(row.offset, row.strides, self.variables)

    def _loops(self) -> dict[sympy.Symbol, sympy.Expr]:
        """Old loop variables in terms of the new: kept ones by their rows; what has no
        row runs over one point only or occurs in no such address."""
        if self.loops is None:
            nest = self.view.nest
            self.loops = {a.var: sympy.S.Zero for a in (*nest.axes, *nest.raxes)}
            for row in self.view.rows:
                if row.use is Use.AXIS:
                    var = next(a for a in self.loops if a.name == row.name)
                    self.loops[var] = self._sum(row)
        return self.loops


def write(cluster: Cluster) -> dict[int, Nest]:
    """Every nest of an arranged cluster over the cluster's loops, by nest number."""
    writer = Writer(cluster)
    return {view.number: writer.nest(view) for view in cluster.views}
