"""The scheduler's stages, in order; nests written again over their kernel's common loops."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import sympy

from harness.decisions import UNDECIDED, Decisions
from harness.ir import nodes as ir
from harness.ir.affine import size_hint
from harness.ir.index import axis_symbol, flat_index
from harness.ir.program import Program, Role
from harness.ir.simplify import Simplifier
from harness.schedule import space
from harness.schedule.facts import Facts, bits
from harness.schedule.fuse import Kernel, fuse
from harness.schedule.group import FusedGroup, Schedule, Segment
from harness.schedule.memory import launch_order, reuse_in_place, traffic
from harness.schedule.order import internal, segments
from harness.target import Target

ALONG = 4
"""How often an access counts beside a reduction if it is contiguous in one of the loops to be put
in order. Long rows are read as well in any order, columns in blocks of other rows a few elements at
a time: a gradient of 8 x 768 columns of 512 takes 92 us on an H200 in their order, 137 in rows'."""


def schedule(program: Program, target: Target, decisions: Decisions = UNDECIDED) -> Schedule:
    """Group ``program``'s nests into kernels for ``target``.

    Nests that compute nodes of two kernels of ``decisions`` are kept apart, those of one kernel
    are joined wherever that is legal.

    The result's groups are in launch order. Its program is ``program`` without what
    nobody needs. The nests of a group share their loops: ``axes`` are the same in all of
    them, ``raxes`` in all that run over the reduced points, so that one linear position
    means the same point everywhere in the kernel.
    """
    program = _remove_dead(program)
    facts = Facts(program)
    fused, rejections = fuse(facts, decisions, target)
    origins = dict.fromkeys(name for nest in program.nests for name in nest.origins)
    positions = {name: place for place, name in enumerate(origins)}
    drafts = [_group(kernel, facts, positions) for kernel in fused]
    members = [kernel.members for kernel in fused]
    touched = [traffic(g.nests, g.internal) for g in drafts]
    order = launch_order(members, touched, facts)
    ordered = [drafts[k] for k in order]
    used = [touched[k] for k in order]
    in_place = reuse_in_place(facts, ordered, used)
    last = {name: n for n, one in enumerate(used) for name in one.reads}
    later = [frozenset(b for b in one.reads if last[b] > n) for n, one in enumerate(used)]
    groups = tuple(
        replace(g, name=f"g{n}", in_place=pairs, read_later=again)
        for n, (g, pairs, again) in enumerate(zip(ordered, in_place, later, strict=True))
    )
    return Schedule(program, groups, rejections)


def _remove_dead(program: Program) -> Program:
    """``program`` without stores that reach no output and no mutated input: a value of which only
    the shape was asked (``full_like``) is read by nobody any more."""
    needed = {b.name for b in program.buffers if b.role is not Role.TEMPORARY}
    kept: list[ir.Nest] = []
    for nest in reversed(program.nests):
        if not (stores := tuple(s for s in nest.stores if s.buffer in needed)):
            continue
        if len(stores) < len(nest.stores):
            nest = replace(nest, stores=stores)
        needed.update(ir.buffers_read(nest))
        kept.append(nest)
    buffers = tuple(b for b in program.buffers if b.name in needed)
    return replace(program, buffers=buffers, nests=tuple(reversed(kept)))


def _group(kernel: Kernel, facts: Facts, positions: dict[str, int]) -> FusedGroup:
    inside = internal(kernel.candidate, facts)
    arranged = arrange(kernel.candidate, inside)
    nests = write(arranged)
    return FusedGroup(
        "",
        axes_of(arranged, False),
        axes_of(arranged, True),
        tuple(
            Segment(s.kind, tuple(nests[n] for n in s.numbers)) for s in segments(arranged, facts)
        ),
        inside,
        (),
        tuple(sorted({o for n in nests.values() for o in n.origins}, key=positions.__getitem__)),
        frozenset(
            s.buffer for n in bits(kernel.last_joined) for s in facts.program.nests[n].stores
        ),
        walked_axes(arranged),
    )


def arrange(candidate: space.Candidate, inside: frozenset[str]) -> space.Candidate:
    """The candidate with its loops in the order its memory accesses want, parallel ones
    first, contiguous ones merged. An argmax keeps the order its positions count in. ``inside``:
    buffers that are not in memory, which a kernel with a reduction leaves out."""
    order = [d for r in (False, True) for d in _by_contiguity(candidate, inside, r)]
    return space.merge_dimensions(space.permute(candidate, order))


def _by_contiguity(candidate: space.Candidate, inside: frozenset[str], reduced: bool) -> list[int]:
    """Dimensions of one class, outermost first."""
    dimensions = list(candidate.dimensions(reduced))
    accesses = [r for v in candidate.views for r in v.accesses]
    if reduced:
        for access in accesses:
            if access.use is space.Use.REDUCED_POSITION:
                return sorted(dimensions, key=lambda k: -size_hint(access.strides[k]))
    votes, rows = Counter[tuple[int, ...]](), any(candidate.reduced)
    for access in dict.fromkeys(accesses):
        if access.use not in (space.Use.LOAD, space.Use.STORE) or not access.exact:
            continue
        if (rows and access.name in inside) or any(access.strides[k] == 0 for k in dimensions):
            continue
        order = tuple(sorted(dimensions, key=lambda k: -abs(size_hint(access.strides[k]))))
        weight = 2 if access.use is space.Use.STORE else 1
        weight *= ALONG if rows and any(access.strides[k] == 1 for k in dimensions) else 1
        votes[order] += candidate.points(access) * weight
    return list(min(votes, key=lambda order: (-votes[order], order), default=dimensions))


def axes_of(candidate: space.Candidate, reduced: bool) -> tuple[ir.Axis, ...]:
    """The loops of an arranged candidate: ``i0, i1, …`` parallel, ``r0, r1, …`` reduced."""
    return tuple(
        ir.Axis(axis_symbol("r" if reduced else "i", n), sympy.sympify(candidate.sizes[k]))
        for n, k in enumerate(candidate.dimensions(reduced))
    )


def walked_axes(candidate: space.Candidate) -> tuple[ir.Axis, ...]:
    """Those of the parallel loops that reductions across run over."""
    pairs = zip(candidate.dimensions(False), axes_of(candidate, False), strict=True)
    return tuple(axis for place, axis in pairs if place in candidate.walked)


def _addresses(
    view: space.NestView, variables: Sequence[sympy.Symbol], simplifier: Simplifier
) -> ir.Address:
    """What index expressions of ``view`` are over a candidate's loop ``variables``."""

    def over(access: space.AffineAccess) -> sympy.Expr:
        return flat_index(access.strides, variables, access.offset)

    # An old variable is known by its access; without one it runs over one point only, or occurs in
    # no address that is not an access itself.
    known = {a.name: over(a) for a in view.accesses if a.use is space.Use.AXIS}
    axes = (*view.nest.axes, *view.nest.raxes)
    loops = {axis.var: known.get(axis.var.name, sympy.S.Zero) for axis in axes}

    @functools.cache
    def moved(expr: sympy.Expr) -> sympy.Expr:
        if (place := view.of_index.get(expr)) is not None:
            return over(view.accesses[place])
        return simplifier.simplify(expr.xreplace(loops))

    return moved


def _across(builder: ir.Builder, value: ir.Value, made: ir.Made) -> ir.Value | None:
    """A reduction over rows that are walked, which is another one than that of the same values
    along them."""
    if not isinstance(value, ir.Reduce):
        return None
    args = [made[id(arg)] for arg in value.args]
    return builder.reduce(value.kind, *args, dtype=value.dtype, across=True)


def write(candidate: space.Candidate) -> dict[int, ir.Nest]:
    """Every nest of an arranged candidate over the candidate's loops, by nest number. Values
    are interned per candidate, so that what two nests share is one object."""
    builder = ir.Builder()
    axes, raxes = axes_of(candidate, False), axes_of(candidate, True)
    loops = {False: iter(axes), True: iter(raxes)}
    variables = [next(loops[is_reduced]).var for is_reduced in candidate.reduced]
    simplifier = Simplifier(dict(zip(variables, candidate.sizes, strict=True)))
    nests: dict[int, ir.Nest] = {}
    for view in candidate.views:
        nest, moved = view.nest, _addresses(view, variables, simplifier)
        stores = ir.rewrite_stores(nest.stores, builder, moved)
        along, over = axes, () if view.level is space.Level.FLAT else raxes
        if view.level is space.Level.ACROSS:
            over = walked_axes(candidate)
            along = (*(a for a in axes if a not in over), *raxes)
            stores = ir.rewrite_stores(stores, builder, replace=functools.partial(_across, builder))
        nests[view.number] = ir.Nest(nest.name, along, over, stores, nest.origins)
    return nests
