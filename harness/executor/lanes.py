"""Graphs whose regions have nothing to do with each other: on two streams.

An optimizer's step is many small kernels, a few for each parameter. On one stream the device
waits about a microsecond between two of them; with every other region on a second stream the
kernels of one fill the gaps of the other.
"""

from __future__ import annotations

from harness.compiled import CompiledGraph, CompiledRegion
from harness.ir.program import Role
from harness.tiling.plan import ArgumentKind

_LEAST_REGIONS = 16
"""Fewer do not pay for forking and joining the streams (about 10 microseconds)."""


def has_lanes(compiled: CompiledGraph) -> bool:
    """Whether the graph's regions can run in any order, side by side: all of them by kernels,
    nothing else between them, none reading what another writes.

    Nor may they allocate: memory that is given back belongs to the first stream, which would
    hand it out again while the second still uses it.
    """
    regions = compiled.regions
    if len(regions) < _LEAST_REGIONS or len(compiled.partition.steps) != len(regions):
        return False
    return all(_works_in_place(region) for region in regions) and _are_apart(regions)


def _works_in_place(region: CompiledRegion) -> bool:
    """Whether every kernel works in the memory of the region's inputs alone."""
    program = region.program
    if program is None or not region.complete:
        return False
    layouts = {b.name: (b.shape, b.stride, b.dtype) for b in program.buffers}
    known = {b.name for b in program.buffers if b.role is Role.INPUT}
    for launch in region.launches:
        for argument, names in zip(launch.kernel.source.arguments, launch.arguments, strict=True):
            if argument.kind is ArgumentKind.SIZE:
                continue
            if not names:  # a workspace is memory of the launch's own
                return False
            if names[0] not in known or layouts[names[0]] != layouts[names[-1]]:
                return False
            known.add(names[-1])
    return set(program.outputs) <= known


def _are_apart(regions: tuple[CompiledRegion, ...]) -> bool:
    """Whether no region reads or writes what another one writes."""
    readers: dict[str, set[int]] = {}
    written: list[tuple[int, str]] = []
    for number, region in enumerate(regions):
        graph = region.region.graph
        for item in graph.inputs:
            readers.setdefault(item.name, set()).add(number)
        written.extend((number, mutation.input) for mutation in graph.mutations)
        written.extend((number, name) for name in graph.outputs if name is not None)
    return all(readers.get(name, set()) <= {number} for number, name in written)
