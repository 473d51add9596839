"""Mixed order: a kernel that reduces along rows takes in one that reduces across the same rows.

The one across has been cut into strips of rows (``graph.passes.mixed``). A program of the joined
kernel walks the rows of a strip, reduces each of them, and adds up what the columns come to; every
tensor that both read is read once. The joined candidate's loops are those of the kernel along the
rows, its parallel ones being the strips and the rows of a strip (``Candidate.walked``).
"""

from __future__ import annotations

import math
from dataclasses import replace

from harness.heuristics.mixed import fills, fits
from harness.ir.affine import same
from harness.ir.nodes import ReduceKind, reductions
from harness.schedule.facts import Facts
from harness.schedule.group import Rejection
from harness.schedule.legality import full_units, refused, too_much
from harness.schedule.match import Matching, Sides, join, matchings
from harness.schedule.score import saved
from harness.schedule.space import Candidate, Level, Use, merge_dimensions
from harness.target import Target

_WHOLE = (ReduceKind.WELFORD, ReduceKind.SOFTMAX, ReduceKind.ARGMAX, ReduceKind.ARGMIN)
"""Kinds that are not added up element by element."""
_WORTHWHILE = 4
"""The share of what is read across that must be saved: one of its tensors or so."""


def mixed(
    first: Candidate, second: Candidate, facts: Facts, target: Target, decided: bool
) -> Candidate | Rejection | None:
    """One kernel for two reductions of the same points, one along and one across memory; ``None``
    if the two are something else. ``decided``: whatever it saves."""
    sides = _sides(first, second)
    if sides is None:
        return None
    found = _unfit(sides.second) or too_much(first, second, facts)
    for matching in () if found else matchings(sides):
        joined = _joined(sides, matching)
        reason = _strips(sides, matching, joined, target, decided) or _early(joined, facts)
        reason = reason or ("" if decided else _worth(sides, joined, facts))
        refusal = Rejection("mixed order", reason) if reason else refused(sides, joined, facts)
        if refusal is None:
            return merge_dimensions(joined)
        found = found or refusal
    return found or Rejection("mixed order", "their loops cannot be split to common sizes")


def _sides(first: Candidate, second: Candidate) -> Sides | None:
    """The two, the one along memory first."""
    for rows, columns in ((first, second), (second, first)):
        along, across = ({c.reduced[k] for k in full_units(c.views)} for c in (rows, columns))
        pair = along == {True} and across == {False}
        if pair and same(rows.numel * rows.rnumel, columns.numel * columns.rnumel):
            every = tuple(range(len(rows.sizes))), tuple(range(len(columns.sizes)))
            return Sides(rows, columns, (every,), (), Level.FULL)
    return None


def _unfit(columns: Candidate) -> Rejection | None:
    """Why a reduction across cannot be taken in."""
    for view in columns.views:
        atomic = any(a.use is Use.ATOMIC for a in view.accesses)
        whole = atomic or any(r.kind in _WHOLE for r in reductions(view.nest.stores))
        if whole or view.level is Level.FLAT:
            reason = "is not added up by element" if whole else "goes on with what the columns are"
            return Rejection("mixed order", f"{view.nest.name} {reason}")
    return None


def _joined(sides: Sides, matching: Matching) -> Candidate:
    """Both over common loops, the reductions across marked as such."""
    own = {v.number for v in sides.second.views if v.level is Level.REDUCE}
    joined = join(sides, matching)
    views = (replace(v, level=Level.ACROSS) if v.number in own else v for v in joined.views)
    return replace(joined, views=tuple(views))


def _strips(
    sides: Sides, matching: Matching, joined: Candidate, target: Target, decided: bool
) -> str:
    """What is wrong with the strips that programs would walk; nothing if they will do."""
    reduced = tuple(sides.second.reduced[c.second or 0] for c in matching)
    walked = tuple(k for k, across in enumerate(reduced) if across)
    strips = [n for k, n in enumerate(joined.sizes) if not (reduced[k] or joined.reduced[k])]
    views = [v for v in joined.views if v.level is Level.ACROSS]
    results = {b for v in views for b in v.writes}
    stores = [a.strides for v in views for a in v.accesses if a.use is Use.STORE]
    across = {tuple(k for k in joined.dimensions(False) if s[k] == 0) for s in stores}
    if across != {walked} or not strips:
        return "the rows are not cut into the same strips"
    if not all(isinstance(size, int) for size in joined.sizes):
        return "sizes are not known"
    loaded = {a for v in joined.views for a in v.accesses if a.use is Use.LOAD}
    held = len(results) + sum(all(a.strides) for a in loaded)
    if not fits(int(joined.rnumel), held, target):
        return f"a program cannot hold {held} rows of {joined.rnumel} values"
    full = decided or fills(int(math.prod(strips)), target)
    return "" if full else f"{math.prod(strips)} strips do not fill the device"


def _early(joined: Candidate, facts: Facts) -> str:
    """Whether something has to come after a reduction across, which comes last."""
    across = {v.number for v in joined.views if v.level is Level.ACROSS}
    late = any(edge.first in across for v in joined.views for edge in facts.into[v.number])
    scans = any(v.nest.is_scan for v in joined.views)
    return "a scan, or a nest that must follow a reduction across" if late or scans else ""


def _worth(sides: Sides, joined: Candidate, facts: Facts) -> str:
    worth = saved(sides.first, joined, facts)
    moved = sum(facts.nbytes(b) for b in {b for v in sides.second.views for b in v.reads})
    return "" if worth * _WORTHWHILE >= moved else f"it saves {worth} bytes of {moved}"
