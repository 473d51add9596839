"""Scans of rows that several programs share: each scans one block, and looks back for the rest.

A program takes the next block of its row from a counter, so that whoever it waits for has
started before it, whatever order the device starts programs in. It publishes what its block comes
to, waits for the blocks of its group that lie before it, and combines them in their order; the
last of a group publishes what the row comes to so far, which the next group waits for. So every
block has two waits behind it at most, and the result is the same each time. The last program of a
row leaves zeros in the workspace, as it found it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.codegen.body import Body
from harness.codegen.values import INDENT, Scope
from harness.dtypes import DType
from harness.heuristics.limits import LEAST_SCAN_BLOCK
from harness.ir.op_triton import triton_type
from harness.tiling.plan import WINDOW, Workspace


def opening_lines(workspace: Workspace) -> list[str]:
    """What a program does first: find its row's workspace, take a block."""
    return [
        f"tl.static_assert(R0_BLOCK >= {LEAST_SCAN_BLOCK})  # the workspace has room for so many",
        f"row = workspace + xindex * {workspace.row}",
        'r0_block = tl.atomic_add(row, 1, sem="relaxed").to(tl.int32)',
        "r0_offset = r0_block * R0_BLOCK",
    ]


def closing_lines(workspace: Workspace) -> list[str]:
    """What a program does last."""
    words, zeros = workspace.row, "tl.zeros([R0_BLOCK], tl.int64)"
    return [
        "tl.debug_barrier()",
        'if tl.atomic_add(row + 1, 1, sem="acq_rel") == tl.num_programs(0) - 1:',
        f"{INDENT}for word in range(0, {words}, R0_BLOCK):",
        f"{INDENT * 2}tl.store(row + word + r0_base, {zeros}, word + r0_base < {words})",
    ]


@dataclass(slots=True)
class LookBack:
    """Writes one scan's look back into ``scope``; ``number`` counts the kernel's scans. ``join``
    combines two tuples of values, the earlier one first, as text; ``total`` names what blocks along
    one axis come to; ``parts`` are the components' types and what changes nothing."""

    body: Body
    scope: Scope
    workspace: Workspace
    number: int
    join: Callable[[Sequence[str], Sequence[str]], str]
    total: Callable[[Sequence[str]], tuple[str, ...]]
    parts: tuple[tuple[DType, str], ...]

    def publish(self, totals: Sequence[str]) -> None:
        """Tell the blocks behind what this one comes to."""
        flags, blocks = self.workspace.flags(self.number), self.workspace.blocks
        self._publish(flags, blocks, "r0_block", totals)

    def carry(self, totals: Sequence[str]) -> tuple[str, ...]:
        """What the row comes to before this block, which itself comes to ``totals``."""
        within = self._of_group(self.workspace.flags(self.number), self.workspace.blocks)
        if self.workspace.groups == 1:
            return within
        before = self._before_group(within)
        flags, groups = self.workspace.group_flags(self.number), self.workspace.groups
        last = self._line(f"r0_block % {WINDOW} == {WINDOW - 1}")
        so_far = self._lines(self.join(before, totals))
        self._publish(flags, groups, f"r0_block // {WINDOW}", so_far, last)
        return before

    def _line(self, text: str) -> str:
        return self.body.line(self.scope, text)

    def _lines(self, text: str) -> tuple[str, ...]:
        """Names for the values of ``text``, one for each component."""
        return self.body.lines(self.scope, text, len(self.parts))

    def _publish(
        self, flags: int, size: int, place: str, values: Sequence[str], where: str = ""
    ) -> None:
        """Values first, then the flag that says they are there."""
        lines = [
            f"tl.store(row + {flags + n * size} + {place}, {_word(value, dtype)})"
            for n, (value, (dtype, _)) in enumerate(zip(values, self.parts, strict=True), start=1)
        ]
        lines.append("tl.debug_barrier()")
        lines.append(f'tl.atomic_xchg(row + {flags} + {place}, 1, sem="release")')
        if where:
            lines = [f"if {where}:", *(INDENT + line for line in lines)]
        self.scope.lines += lines

    def _of_group(self, flags: int, size: int) -> tuple[str, ...]:
        """What the blocks of the group before this one come to together."""
        # A window of more lanes than blocks would read other words.
        width = min(WINDOW, 1 << (size - 1).bit_length())
        lane = self._line(f"r0_block // {WINDOW} * {WINDOW} + tl.arange(0, {width})")
        there = self._line(f"{lane} < r0_block")
        self._wait(f"{flags} + {lane}", f"tl.zeros([{width}], tl.int64)", there)
        return self.total(self._words(flags, size, lane, there))

    def _before_group(self, within: Sequence[str]) -> tuple[str, ...]:
        """``within`` after what the row comes to before the group."""
        flags, size = self.workspace.group_flags(self.number), self.workspace.groups
        group = self._line(f"r0_block // {WINDOW} - 1")
        there = self._line(f"{group} >= 0")
        self._wait(f"{flags} + {group}", "0", there)
        return self._lines(self.join(self._words(flags, size, group, there), within))

    def _words(self, flags: int, size: int, at: str, there: str) -> list[str]:
        """Names for the components that lie ``at`` their places where ``there`` holds."""
        found = []
        for n, (dtype, start) in enumerate(self.parts, start=1):
            place = f"row + {flags + n * size} + {at}"
            word = self._line(f"tl.load({place}, {there}, other=0, volatile=True)")
            found.append(self._line(f"tl.where({there}, {_value(word, dtype)}, {start})"))
        return found

    def _wait(self, place: str, nothing: str, there: str) -> None:
        """Until the flags at ``place`` are up wherever ``there`` holds."""
        absent = self.body.fresh("absent")
        count = "tl.sum({}.to(tl.int32), 0)" if nothing != "0" else "{}.to(tl.int32)"
        asked = f'tl.atomic_add(row + {place}, {nothing}, {there}, sem="acquire")'
        self.scope.lines += [
            f"{absent} = {count.format(there)}",
            f"while {absent} > 0:",
            f"{INDENT}{absent} = {count.format(f'({there} & ({asked} == 0))')}",
            "tl.debug_barrier()",
        ]


def _word(value: str, dtype: DType) -> str:
    """``value`` as a word of the workspace, bit for bit."""
    if not dtype.is_float:
        return f"{value}.to(tl.int64)"
    bits = f"{value}.to(tl.int{8 * dtype.itemsize}, bitcast=True)"
    return bits if dtype is DType.F64 else f"{bits}.to(tl.int64)"


def _value(word: str, dtype: DType) -> str:
    if not dtype.is_float:
        return f"{word}.to({triton_type(dtype)})"
    narrow = word if dtype is DType.F64 else f"{word}.to(tl.int32)"
    return f"{narrow}.to({triton_type(dtype)}, bitcast=True)"
