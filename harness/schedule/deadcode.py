"""Removing what nobody needs: stores into buffers that are never read, and their nests."""

from __future__ import annotations

from dataclasses import replace

from harness.ir.nodes import Nest, buffers_read
from harness.ir.program import Program, Role


def remove_dead(program: Program) -> Program:
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
