"""What a fusion is worth: bytes that need not be moved any more."""

from __future__ import annotations

from harness.ir.affine import product, size_hint
from harness.schedule.facts import Facts
from harness.schedule.space import Cluster, Row, Use

_Touch = tuple[int, Row]
"""A nest's number and one of its accesses."""


def bound(first: Cluster, second: Cluster, facts: Facts) -> int:
    """An upper bound of ``saved``, from the names of the buffers alone."""
    members = _members(first) | _members(second)
    read, written = _named(first)
    other_read, other_written = _named(second)
    total = 0
    for name in (read | written) & (other_read | other_written):
        size = facts.nbytes(name)
        total += size
        if name in written | other_written and _vanishes(name, members, facts):
            total += size
    return total


def _members(cluster: Cluster) -> int:
    mask = 0
    for view in cluster.views:
        mask |= 1 << view.number
    return mask


def _named(cluster: Cluster) -> tuple[set[str], set[str]]:
    read = {b for v in cluster.views for b in v.reads}
    return read, {b for v in cluster.views for b in v.writes}


def _vanishes(name: str, members: int, facts: Facts) -> bool:
    return facts.may_vanish(name) and not facts.users(name) & ~members


def saved(first: Cluster, joined: Cluster, facts: Facts) -> int:
    """Bytes that the joined cluster moves less than the two apart.

    A value produced on one side is not read by the other; if nobody else reads it, it
    is not written either; an element both sides read is read once.
    """
    left = {v.number for v in first.views}
    touched: dict[str, tuple[list[_Touch], list[_Touch]]] = {}
    for view in joined.views:
        for row in view.rows:
            if row.use in (Use.LOAD, Use.STORE):
                sides = touched.setdefault(row.name, ([], []))
                sides[view.number not in left].append((view.number, row))
    members = _members(joined)
    total = 0
    for name, (own, other) in touched.items():
        if not own or not other:
            continue
        total += _once(name, own, other, joined, facts)
        stores = [r for _, r in (*own, *other) if r.use is Use.STORE]
        if stores and _vanishes(name, members, facts):
            total += _footprint(stores[0], joined, facts)
    return total


def _once(
    name: str, first: list[_Touch], second: list[_Touch], joined: Cluster, facts: Facts
) -> int:
    """Bytes of one buffer that one side need not read, because the other reads or has
    written the same elements at the same points. Reading what the other side overwrites
    later saves nothing."""
    total = 0
    counted: list[Row] = []
    for number, row in (*first, *second):
        others = second if (number, row) in first else first
        if row.use is not Use.LOAD or any(row.matches(r) for r in counted):
            continue
        if any(_provides(n, r, number) and row.matches(r) for n, r in others):
            counted.append(row)
            total += _footprint(row, joined, facts)
    return min(total, facts.nbytes(name))


def _provides(number: int, row: Row, reader: int) -> bool:
    return row.use is Use.LOAD or number < reader


def _footprint(row: Row, joined: Cluster, facts: Facts) -> int:
    moved = product(n for n, s in zip(joined.sizes, row.strides, strict=True) if s != 0)
    size = size_hint(moved) * facts.buffers[row.name].dtype.itemsize
    return min(size, facts.nbytes(row.name))
