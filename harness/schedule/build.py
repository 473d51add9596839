"""The scheduler's stages, in order."""

from __future__ import annotations

from dataclasses import replace

from harness.decisions import UNDECIDED, Decisions
from harness.ir.nodes import Nest, buffers_read
from harness.ir.program import Program, Role
from harness.schedule.facts import Facts, bits, gather
from harness.schedule.fuse import Fused, fuse
from harness.schedule.group import FusedGroup, Schedule, Segment
from harness.schedule.memory import launch_order, reuse_in_place, traffic
from harness.schedule.order import internal, segments
from harness.schedule.rewrite import arrange, axes_of, walked_axes, write
from harness.target import Target


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
    facts = gather(program)
    fused, rejections = fuse(facts, decisions, target)
    positions = _positions(program)
    drafts = [_group(kernel, facts, positions) for kernel in fused]
    members = [kernel.candidate.members for kernel in fused]
    touched = [traffic(g.nests, g.internal) for g in drafts]
    order = launch_order(members, touched, facts)
    ordered = [drafts[k] for k in order]
    in_place = reuse_in_place(program, ordered, [touched[k] for k in order])
    groups = tuple(
        replace(g, name=f"g{n}", in_place=pairs)
        for n, (g, pairs) in enumerate(zip(ordered, in_place, strict=True))
    )
    return Schedule(program, groups, rejections)


def _remove_dead(program: Program) -> Program:
    """``program`` without stores that reach no output and no mutated input."""
    needed = {b.name for b in program.buffers if b.role is not Role.TEMPORARY}
    needed |= {*program.outputs, *program.mutated}
    kept: list[Nest] = []
    for nest in reversed(program.nests):
        stores = tuple(s for s in nest.stores if s.buffer in needed)
        if not stores:
            continue
        if len(stores) < len(nest.stores):
            nest = replace(nest, stores=stores)
        needed.update(buffers_read(nest))
        kept.append(nest)
    buffers = tuple(b for b in program.buffers if b.name in needed)
    if len(kept) == len(program.nests) and len(buffers) == len(program.buffers):
        return program
    return replace(program, buffers=buffers, nests=tuple(reversed(kept)))


def _positions(program: Program) -> dict[str, int]:
    """Where graph nodes come in the program."""
    names = dict.fromkeys(name for nest in program.nests for name in nest.origins)
    return {name: place for place, name in enumerate(names)}


def _group(kernel: Fused, facts: Facts, positions: dict[str, int]) -> FusedGroup:
    arranged = arrange(kernel.candidate)
    nests = write(arranged)
    origins = sorted({o for n in nests.values() for o in n.origins}, key=positions.__getitem__)
    return FusedGroup(
        "",
        axes_of(arranged, False),
        axes_of(arranged, True),
        tuple(
            Segment(s.kind, tuple(nests[n] for n in s.numbers)) for s in segments(arranged, facts)
        ),
        internal(arranged, facts),
        (),
        tuple(origins),
        frozenset(
            s.buffer for n in bits(kernel.last_joined) for s in facts.program.nests[n].stores
        ),
        walked_axes(arranged),
    )
