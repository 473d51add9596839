"""Which launches of a compiled graph become one (``combos.emitting``).

Regions that stand side by side in a graph's order and do not depend on each other (an optimizer's
parameters, say) are a bundle; so is a region alone. Launches of a bundle that wait for the same
number of others and are of one kind share a combo: pointwise kernels, or reductions of any length.
Memory that a bundle allocates lives until its end, so regions that allocate much stay alone, unless
each of their launches moves so little that launching it takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.codegen.source import EmittedModule
from harness.combos.emitting import Part, can_combine, emit_combo
from harness.compiled import Bundle, Combo, CompiledGraph, CompiledRegion, Launch
from harness.errors import HarnessError, InvalidProgram
from harness.graph.model import Region
from harness.graph.views import root_name
from harness.ir.affine import size_hint
from harness.ir.ops import LAUNCH
from harness.ir.program import Role
from harness.ir.reach import grouped
from harness.target import Target
from harness.tiling.plan import ArgumentKind, Category

MOST_ARGUMENTS = 480
"""Parameters of a kernel: CUDA guarantees 4096 bytes, and Triton adds two pointers."""
MOST_KERNELS = 16
"""Distinct kernels in a combo: each is in its text once, and its registers are all programs'."""
MOST_ALLOCATED = 1 << 20
"""Bytes that a region of a bundle may allocate, if one of its launches moves twice ``LAUNCH``."""

_Place = tuple[str, int]
_Found = dict[_Place, Launch]
_Made = dict[object, EmittedModule | None]

Faster: TypeAlias = "Callable[[Combo, Sequence[Launch]], bool]"
"""Whether a combo is faster than the launches that it joins, in the order of its arguments."""
Partition: TypeAlias = "Callable[[Mapping[_Place, Launch]], Iterable[Sequence[_Place]]]"
"""Launches of one kind, by region and number, that nothing orders → those that become one each."""


def combined(
    compiled: CompiledGraph,
    target: Target,
    faster: Faster | None = None,
    partition: Partition | None = None,
) -> CompiledGraph:
    """``compiled`` with the bundles that save launches; of the combos those that are ``faster``.
    ``partition`` is asked how launches are shared out among combos. Raises ``InvalidProgram`` if
    it leaves one out, has one twice, or too many arguments together."""
    by_name = {region.region.name: region for region in compiled.regions}
    bundles, made = list[Bundle](), _Made()
    for regions in _side_by_side(compiled, by_name):
        combos: list[Combo] = []
        for found in _chosen(regions, partition or _packed):
            combo = _combo(found, by_name, made, target)
            if combo is not None and faster is not None and not faster(combo, [*found.values()]):
                combo = None
            alone = (Combo(la.kernel.module, (place,)) for place, la in found.items())
            combos += [combo] if combo is not None else alone
        if len(combos) < sum(len(region.launches) for region in regions):
            bundles.append(Bundle(tuple(r.region.name for r in regions), tuple(combos)))
    return replace(compiled, bundles=tuple(bundles))


def _side_by_side(
    compiled: CompiledGraph, by_name: dict[str, CompiledRegion]
) -> Iterator[list[CompiledRegion]]:
    """Regions in a row that may run in any order, as many as possible."""
    nodes = {node.name: node for node in compiled.partition.graph.nodes}
    found: list[CompiledRegion] = []
    touched: set[str] = set()
    written: set[str] = set()
    for step in compiled.partition.steps:
        region = by_name.get(step.name) if isinstance(step, Region) else None
        fits = region is not None and region.complete and _is_small(region)
        graph = region.region.graph if region is not None else None
        uses = {root_name(name, nodes) for name in graph.given} if graph else set()
        changes = {*graph.results, *(m.input for m in graph.mutations)} if graph else set()
        if found and (not fits or uses & written or changes & touched):
            yield found
            found, touched, written = [], set(), set()
        if region is not None and fits:
            found.append(region)
            touched |= uses | changes
            written |= changes
    if found:
        yield found


def _is_small(region: CompiledRegion) -> bool:
    """Whether a region's launches may become part of others: it allocates little (buffers that live
    in no input's memory), or they are bound by their launching."""
    assert region.program is not None, "what is incomplete is in no bundle"
    reused = {
        names[-1] for launch in region.launches for names in launch.arguments if len(names) > 1
    }
    internal = {name for launch in region.launches for name in launch.plan.internal}
    allocated = sum(
        buffer.dtype.itemsize * size_hint(buffer.numel)
        for buffer in region.program.buffers
        if buffer.role is not Role.INPUT and buffer.name not in reused | internal
    )
    moved = (launch.plan.bytes_moved for launch in region.launches)
    return allocated <= MOST_ALLOCATED or max(moved, default=0) <= 2 * LAUNCH


def _chosen(regions: Sequence[CompiledRegion], partition: Partition) -> Iterator[_Found]:
    """All launches in an order in which they can run: those that become one together."""
    levels: dict[int, dict[str, _Found]] = {}
    for region in regions:
        for number, (launch, level) in enumerate(
            zip(region.launches, _levels(region), strict=True)
        ):
            kinds = levels.setdefault(level, {})
            kinds.setdefault(_kind(launch), {})[region.region.name, number] = launch
    for level in sorted(levels):
        for kind, found in levels[level].items():
            given = partition(found) if kind else ([one] for one in found)
            shared = [[p for alike in _alike(found, ps).values() for p in alike] for ps in given]
            if sorted(place for places in shared for place in places) != sorted(found):
                what = "a partition into combos does not have every launch once"
                raise InvalidProgram(what, kind, f"{shared}", f"{list(found)}")
            for places in shared:
                width = sum(len(found[place].arguments) for place in places)
                if len(places) > 1 and width > MOST_ARGUMENTS:
                    what = "a combo of the partition has too many arguments"
                    raise InvalidProgram(what, kind, f"{width}", f"at most {MOST_ARGUMENTS}")
                yield {place: found[place] for place in places}


def _kind(launch: Launch) -> str:
    """Launches of one kind can share a combo; the empty kind cannot."""
    plan = launch.plan
    if not can_combine(plan):
        return ""
    tiles = sum(not tile.is_reduction for tile in plan.tiles)
    return f"{plan.category is Category.POINTWISE} {tiles}"


def _levels(region: CompiledRegion) -> list[int]:
    """How many launches of the region have to come before each, one after the other."""
    memory: dict[str, str] = {}
    readers: dict[str, int] = {}
    writers: dict[str, int] = {}
    found = []
    for launch in region.launches:
        reads: set[str] = set()
        writes: set[str] = set()
        for argument in launch.plan.arguments:
            if argument.kind in (ArgumentKind.SIZE, ArgumentKind.WORKSPACE):
                continue
            names = argument.buffers
            place = memory.setdefault(names[-1], memory.get(names[0], names[0]))
            (reads if argument.kind is ArgumentKind.INPUT else writes).add(place)
        before = [writers.get(place, -1) for place in reads | writes]
        before += [readers.get(place, -1) for place in writes]
        level = 1 + max(before, default=-1)
        readers |= {place: max(level, readers.get(place, -1)) for place in reads}
        writers |= dict.fromkeys(writes, level)
        found.append(level)
    return found


def _alike(
    found: Mapping[_Place, Launch], places: Iterable[_Place]
) -> dict[tuple[str, object], list[_Place]]:
    """Launches that are one part of a combo: of one kernel, for the same unknown sizes. First
    those without, so that where their programs begin is known."""
    order = grouped(places, lambda place: (found[place].kernel.name, found[place].plan.sizes))
    return dict(sorted(order.items(), key=lambda item: bool(item[0][1])))


def _packed(found: Mapping[_Place, Launch]) -> Iterator[list[_Place]]:
    """Launches in as few combos as their arguments and kernels allow, equal kernels together."""
    taken: list[_Place] = []
    parts = set[object]()
    width = 0
    for part, places in _alike(found, found).items():
        for place in places:
            more = len(found[place].arguments)
            full = width + more > MOST_ARGUMENTS or len(parts | {part}) > MOST_KERNELS
            if taken and full:
                yield taken
                taken, parts, width = [], set(), 0
            taken.append(place)
            parts.add(part)
            width += more
    yield taken


def _combo(
    found: _Found, by_name: dict[str, CompiledRegion], made: _Made, target: Target
) -> Combo | None:
    """The launches as one; none for a single launch, or if no module can be made of them. Of the
    same kernels as those ``made`` before it is the same module: layers of a model are alike."""
    if len(found) == 1:
        return None
    alike = _alike(found, found)
    key = tuple((part, len(places)) for part, places in alike.items())
    if key not in made:
        parts = [
            Part(found[first].plan, by_name[first[0]].compiled_as, 1 + len(others))
            for first, *others in alike.values()
        ]
        number = sum(module is not None for module in made.values())
        try:
            made[key] = emit_combo(parts, number, target)
        except HarnessError:
            made[key] = None  # launched one by one, as without combos
    return None if (module := made[key]) is None else Combo(module, tuple(found))
