"""Why kernels are what they are: for ``harness explain``.

Everything is rows of text, so that a table, a JSON file and a terminal can show the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.ir.affine import size_hint
from harness.ir.nodes import reductions
from harness.schedule.group import FusedGroup, Schedule, SegmentKind
from harness.schedule.memory import Traffic, peak_bytes, traffic


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One kernel. ``bytes_moved`` counts every buffer it touches in memory once;
    ``bytes_inside`` is what its internal buffers would have been (written and read)."""

    name: str
    numel: str
    rnumel: str
    segments: str
    nests: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    internal: tuple[str, ...]
    in_place: tuple[str, ...]
    bytes_moved: int
    bytes_inside: int
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RejectionRow:
    """One rejection, with the kernels the two sides ended up in."""

    first: str
    first_group: str
    second: str
    second_group: str
    condition: str
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A schedule in rows. Rejections between nests that came together all the same, by
    another way, are left out."""

    program: str
    nests: int
    groups: tuple[GroupRow, ...]
    rejections: tuple[RejectionRow, ...]
    peak_bytes: int


def explain(schedule: Schedule) -> Explanation:
    """The rows of ``schedule``."""
    home = {n.name: g.name for g in schedule.groups for n in g.nests}
    rejections = tuple(
        RejectionRow(r.first, home[r.first], r.second, home[r.second], r.condition, r.reason)
        for r in schedule.rejections
        if home[r.first] != home[r.second]
    )
    return Explanation(
        schedule.program.name,
        len(schedule.program.nests),
        tuple(_row(schedule, g) for g in schedule.groups),
        rejections,
        peak_bytes(schedule),
    )


def _row(schedule: Schedule, group: FusedGroup) -> GroupRow:
    sizes = {b.name: size_hint(b.numel) * b.dtype.itemsize for b in schedule.program.buffers}
    touched: Traffic = traffic(group.nests, group.internal)
    internal = tuple(b.name for b in schedule.program.buffers if b.name in group.internal)
    return GroupRow(
        group.name,
        str(group.numel),
        str(group.rnumel),
        _segments(group),
        len({n.name for n in group.nests}),
        touched.reads,
        touched.writes,
        internal,
        tuple(f"{new} in {old}" for new, old in group.in_place),
        sum(sizes[n] for n in (*touched.reads, *touched.writes)),
        2 * sum(sizes[n] for n in internal),
        group.origins,
    )


def _segments(group: FusedGroup) -> str:
    """Segments as text: loops in brackets, what is computed again in parentheses."""
    seen: set[str] = set()
    parts: list[str] = []
    for segment in group.segments:
        words: list[str] = []
        for nest in segment.nests:
            kinds = dict.fromkeys(r.kind.value for r in reductions(nest.stores))
            what = "/".join(kinds) + " " if kinds else ""
            label = f"{what}{nest.name}"
            words.append(f"({label})" if nest.name in seen else label)
            seen.add(nest.name)
        text = ", ".join(words)
        parts.append(f"[{text}]" if segment.kind is SegmentKind.LOOP else text)
    return " ; ".join(parts)


def render(explanation: Explanation) -> str:
    """The explanation as plain text."""
    kernels = len(explanation.groups)
    lines = [
        (
            f"{explanation.program}: {explanation.nests} loop nests in {kernels} kernels, "
            f"peak memory {explanation.peak_bytes} bytes (modelled)"
        )
    ]
    for row in explanation.groups:
        size = row.numel if row.rnumel == "1" else f"{row.numel} x {row.rnumel}"
        lines.append(f"{row.name}: {size} points, {row.bytes_moved} bytes")
        lines.append(f"  does      {', '.join(row.origins)}")
        lines.append(f"  segments  {row.segments}")
        lines.append(f"  reads     {', '.join(row.reads) or '-'}")
        lines.append(f"  writes    {', '.join(row.writes) or '-'}")
        if row.internal:
            names = ", ".join(row.internal)
            lines.append(f"  inside    {names} ({row.bytes_inside} bytes not moved)")
        if row.in_place:
            lines.append(f"  in place  {', '.join(row.in_place)}")
    if explanation.rejections:
        lines.append("not fused:")
    lines.extend(
        f"  {r.first_group} ({r.first}) and {r.second_group} ({r.second}): "
        f"{r.condition}: {r.reason}"
        for r in explanation.rejections
    )
    return "\n".join(lines) + "\n"
