"""What a fusion is worth: bytes that need not be moved any more."""

from __future__ import annotations

from harness.ir.dependencies import buffers_read, buffers_written
from harness.schedule.facts import Facts
from harness.schedule.linear import hint, product
from harness.schedule.space import Cluster, Row, Use


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
    read = {b for v in cluster.views for b in buffers_read(v.nest)}
    return read, {b for v in cluster.views for b in buffers_written(v.nest)}


def _vanishes(name: str, members: int, facts: Facts) -> bool:
    return facts.may_vanish(name) and not facts.users(name) & ~members


def saved(first: Cluster, joined: Cluster, facts: Facts) -> int:
    """Bytes that the joined cluster moves less than the two apart.

    A value produced on one side is not read by the other; if nobody else reads it, it
    is not written either; an element both sides read is read once.
    """
    left = {v.number for v in first.views}
    rows: tuple[dict[str, list[Row]], dict[str, list[Row]]] = ({}, {})
    for view in joined.views:
        side = rows[0] if view.number in left else rows[1]
        for row in view.rows:
            if row.use in (Use.LOAD, Use.STORE):
                known = side.setdefault(row.name, [])
                if row not in known:
                    known.append(row)
    members = _members(joined)
    total = 0
    for name in rows[0].keys() & rows[1].keys():
        total += _once(name, rows[0][name], rows[1][name], joined, facts)
        stores = [r for r in (*rows[0][name], *rows[1][name]) if r.use is Use.STORE]
        if stores and _vanishes(name, members, facts):
            total += _footprint(stores[0], joined, facts)
    return total


def _once(name: str, first: list[Row], second: list[Row], joined: Cluster, facts: Facts) -> int:
    """Bytes of the elements of one buffer that both sides touch at the same points."""
    total = 0
    for row in second:
        partners = [r for r in first if r.matches(row)]
        if not partners:
            continue
        stored_here = row.use is Use.STORE
        loads_there = any(r.use is Use.LOAD for r in partners)
        if not stored_here or loads_there:
            total += _footprint(row, joined, facts)
    return min(total, facts.nbytes(name))


def _footprint(row: Row, joined: Cluster, facts: Facts) -> int:
    moved = product(n for n, s in zip(joined.sizes, row.strides, strict=True) if s != 0)
    size = hint(moved) * facts.buffers[row.name].dtype.itemsize
    return min(size, facts.nbytes(row.name))
