"""What a fusion is worth: bytes that need not be moved any more."""

from __future__ import annotations

from harness.schedule.facts import Facts
from harness.schedule.space import AffineAccess, Candidate, Use

_Touch = tuple[int, AffineAccess]
"""A nest's number and one of its accesses."""


def saved(first: Candidate, joined: Candidate, facts: Facts) -> int:
    """Bytes that the joined candidate moves less than the two apart. A value produced on one side
    is not read by the other; if nobody else reads it, it is not written either; an element both
    sides read is read once."""
    left = {v.number for v in first.views}
    touched: dict[str, tuple[list[_Touch], list[_Touch]]] = {}
    for view in joined.views:
        for access in view.accesses:
            if access.use in (Use.LOAD, Use.STORE):
                sides = touched.setdefault(access.name, ([], []))
                sides[view.number not in left].append((view.number, access))
    total = 0
    for name, (own, other) in touched.items():
        if not own or not other:
            continue
        total += _once(name, own, other, joined, facts)
        stores = [r for _, r in (*own, *other) if r.use is Use.STORE]
        if stores and facts.vanishes(name, joined.members):
            total += _footprint(stores[0], joined, facts)
    return total


def _once(
    name: str, first: list[_Touch], second: list[_Touch], joined: Candidate, facts: Facts
) -> int:
    """Bytes of one buffer that one side need not read, because the other reads or has written the
    same elements at the same points. Reading what the other side overwrites later saves nothing."""
    total = 0
    counted: list[AffineAccess] = []
    for number, access in (*first, *second):
        others = second if (number, access) in first else first
        if access.use is not Use.LOAD or any(access.matches(r) for r in counted):
            continue
        ahead = (r for n, r in others if r.use is Use.LOAD or n < number)
        if any(map(access.matches, ahead)):
            counted.append(access)
            total += _footprint(access, joined, facts)
    return min(total, facts.nbytes(name))


def _footprint(access: AffineAccess, joined: Candidate, facts: Facts) -> int:
    size = joined.points(access) * facts.buffers[access.name].dtype.itemsize
    return min(size, facts.nbytes(access.name))
