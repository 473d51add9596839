"""Why kernels are what they are: for ``harness explain`` and its stage files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from harness.ir.affine import size_hint
from harness.ir.nodes import reductions
from harness.schedule.group import FusedGroup, Schedule, SegmentKind
from harness.schedule.memory import peak_bytes, traffic


def rejections(schedule: Schedule) -> list[dict[str, str]]:
    """Why no two kernels are one: the rejections of their first nests. Those between nests that
    came together all the same, by another way, and of kernels on the way, are left out."""
    home = {n.name: g.name for g in schedule.groups for n in g.nests}
    first = {home[nest.name]: nest.name for nest in reversed(schedule.program.nests)}.values()
    return [
        {**asdict(r), "first_group": home[r.first], "second_group": home[r.second]}
        for r in schedule.rejections
        if home[r.first] != home[r.second] and {r.first, r.second} <= {*first}
    ]


_FRAMES = {SegmentKind.FLAT: "{}", SegmentKind.LOOP: "[{}]", SegmentKind.ACROSS: "across rows [{}]"}


def _segments(group: FusedGroup) -> str:
    """Segments as text: loops in brackets, reductions across rows named so, what is computed again
    in parentheses."""
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
        parts.append(_FRAMES[segment.kind].format(", ".join(words)))
    return " ; ".join(parts)


def _lines(schedule: Schedule, group: FusedGroup) -> Iterator[str]:
    """One kernel: what it touches in memory, each buffer once, and what stays inside (which would
    have been written and read)."""
    sizes = {b.name: size_hint(b.numel) * b.dtype.itemsize for b in schedule.program.buffers}
    touched = traffic(group.nests, group.internal)
    size = f"{group.numel}" if group.rnumel == 1 else f"{group.numel} x {group.rnumel}"
    moved = sum(sizes[name] for name in (*touched.reads, *touched.writes))
    yield f"{group.name}: {size} points, {moved} bytes"
    yield f"  does      {', '.join(group.origins)}"
    yield f"  segments  {_segments(group)}"
    yield f"  reads     {', '.join(touched.reads) or '-'}"
    yield f"  writes    {', '.join(touched.writes) or '-'}"
    if inside := [b.name for b in schedule.program.buffers if b.name in group.internal]:
        saved = 2 * sum(sizes[name] for name in inside)
        yield f"  inside    {', '.join(inside)} ({saved} bytes not moved)"
    if group.in_place:
        yield f"  in place  {', '.join(f'{new} in {old}' for new, old in group.in_place)}"


def render(schedule: Schedule) -> str:
    """The kernels of ``schedule`` as plain text, and what was not fused."""
    program, groups = schedule.program, schedule.groups
    lines = [
        f"{program.name}: {len(program.nests)} loop nests in {len(groups)} kernels, "
        f"peak memory {peak_bytes(schedule)} bytes (modelled)",
        *(line for group in groups for line in _lines(schedule, group)),
    ]
    apart = rejections(schedule)
    lines += ["not fused:"] if apart else []
    row = "  {first_group} ({first}) and {second_group} ({second}): {condition}: {reason}"
    return "\n".join([*lines, *(row.format(**one) for one in apart)]) + "\n"
