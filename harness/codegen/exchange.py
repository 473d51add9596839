"""What programs that share a row tell each other, by way of a workspace.

Every program puts its results down as words of 64 bits: 32 bits of the number, and the number of
the row, which says that the word is there. It reads the words of all of the row's programs until
they are. Words of odd and of even rows lie apart: a program that has everybody's words of one row
may put down those of the next while others still read, but not those of the one after. The last
program of a row to leave turns its words to zeros, so a launch finds the workspace as the one
before it did.

Single words need no order of memory among each other, so no fence; in Triton's interpreter, which
runs programs one after the other, a row has one program and nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.codegen.frame import in_whole_blocks
from harness.codegen.values import INDENT, Scope
from harness.dtypes import DType
from harness.heuristics.limits import STAGES
from harness.ir.op_triton import triton_type
from harness.tiling.plan import KernelPlan


@dataclass(frozen=True, slots=True)
class Part:
    """Results of one reduction: the variables ``names`` (32-bit scalars of ``dtype``) hold a
    program's own. ``merge`` makes the row's, as texts, out of the names of vectors that hold
    those of all programs; ``define`` is called with nothing left to do but to use them."""

    names: tuple[str, ...]
    dtype: DType
    merge: Callable[[Sequence[str]], Sequence[str]]
    define: Callable[[], None]


@dataclass(slots=True)
class Exchange:
    """The exchanges of ``plan``'s kernel, after each of its loops: ``words`` of the workspace are
    each program's, ``number`` of ``programs``. ``CHUNKS`` do not wait: the last has all."""

    plan: KernelPlan
    words: int
    programs: str
    number: str
    _used: int = 0

    def part(self) -> list[str]:
        """Which of the reduced elements a program has. One that has none begins where they end:
        turns taken together are counted without a sign."""
        end, stop = ("r0_numel", "stop") if self.plan.aligned is None else ("r0_stop", "until")
        all_, begin = f"R0_BLOCK * {self.programs}", f"{self.number} * r0_part"
        whole = in_whole_blocks(self.plan)
        bound = self.programs == "CHUNKS" and not (self.plan.aligned or whole)  # at whole vectors
        first = f"tl.minimum({begin}, {end})" if bound else begin
        until = f"tl.minimum(r0_first + r0_part, {end})"
        if self.plan.facts.alone:  # a loop of known length is unrolled (5.1 us, not 14.9)
            first, until = (f"{a} if CHUNKS == 1 else {b}" for a, b in ((0, first), (end, until)))
        part = f"({end} + {all_} - 1) // ({all_}) * R0_BLOCK"
        lines = [f"r0_part = {part}", f"r0_first = {first}", f"r0_{stop} = {until}"]
        last = "r0_last = r0_first + tl.maximum(r0_stop - r0_first, 0) // R0_BLOCK * R0_BLOCK"
        return [*lines, *[last] * whole]

    def tell(
        self, parts: Sequence[Part], early: tuple[int, str], ahead: Scope, outer: Scope
    ) -> None:
        """Add the lines that tell a program's sums of the next row, to ``ahead``, and those that
        find this one's, to ``outer``. A program may tell two rows after the one that another still
        waits for, so words of four rows lie apart. Those of this row are looked at ``early``,
        before that line of ``ahead``, as soon as a number of the next one is there, by name: the
        wait is over when the next row's own sums are."""
        names = [name for part in parts for name in part.names]
        (line, own), looks = early, dict[str, str]()
        for n, name in enumerate(names):
            place = f"row_words + {4 * n} * RSPLIT"
            looks[f"seen_{n}"] = f"_seen({place}, row, {own}, RSPLIT)"
            ahead.lines.append(f"_tell({place}, {name}, row + 1, RSPLIT)")
        ahead.lines[line:line] = [f"{name} = {look}" for name, look in looks.items()]
        call = f"_told_{len(names)}(row_words, row, {', '.join(looks)}, RSPLIT)"
        outer.lines.append(f"{', '.join(names)} = {call}")
        for part in parts:
            part.define()

    def walk(
        self, entries: Sequence[str], blocks: Sequence[Sequence[str]], index: str
    ) -> list[str]:
        """The loop over a strip's rows, in three ``blocks``: what the next one's sums are, what
        finishes the one before, and what is held of the next. ``entries`` say where a row is,
        ``index`` is the type of indices. Rows are loaded ``STAGES`` ahead."""
        told, row, held = blocks
        own = [f"xindex = (row - 1).to({index})", *entries, *row]
        ahead = [f"xindex = tl.minimum(row, xnumel - 1).to({index})", *entries, *told]
        finish = ["if xoffset > 0:", *(INDENT + line for line in own)]
        lines = ["row = tl.full([], 0, tl.int64) + xoffset", *ahead, *finish, *held]
        return [
            f"row_words = workspace + yindex * ({self.words} * RSPLIT + 1)",
            f"for xoffset in tl.range(0, xnumel + 1, num_stages={STAGES}):",
            *(INDENT + line for line in lines),
        ]

    def write(self, parts: Sequence[Part], outer: Scope) -> None:
        """Add the lines that make the programs' results the row's."""
        names = [(name, part.dtype) for part in parts for name in part.names]
        before, outer.lines = outer.lines, []
        vectors = [f"all_{name}" for name, _ in names]
        bits = {DType.F32: ".to(tl.int32, bitcast=True)", DType.F64: ".to(tl.int64, bitcast=True)"}
        sent = ", ".join(name + bits.get(dtype, "") for name, dtype in names)
        place = f"row_words + {self._used} * RSPLIT" if self._used else "row_words"
        call = f"_exchange_{len(names)}({place}, {sent}, row, RSPLIT)"
        wide = any(dtype.itemsize == 8 for _, dtype in names)
        if last := ["last"] * (self.programs == "CHUNKS"):
            how = "s" * self.plan.facts.alone + "w" * wide
            own = f"xindex, {self.number}, " * self.plan.facts.alone
            call = f"_gather_{len(names)}{how}(workspace, {own}{sent}, XBLOCK, CHUNKS)"
        outer.lines.append(f"{', '.join(last + vectors)} = {call}")
        for vector, (_, dtype) in zip(vectors, names, strict=True):
            if wide and dtype.itemsize < 8:
                outer.lines.append(f"{vector} = {vector}.to(tl.int32)")
            if dtype.is_float:
                outer.lines.append(f"{vector} = {vector}.to({triton_type(dtype)}, bitcast=True)")
        taken = iter(vectors)
        for part in parts:
            merged = part.merge([next(taken) for _ in part.names])
            outer.lines += [f"{n} = {m}" for n, m in zip(part.names, merged, strict=True)]
        outer.lines += [f"xmask = xmask & {one}" for one in last * (not self.plan.facts.alone)]
        inside, outer.lines = outer.lines, before
        outer.lines += ["last = True"] * self.plan.facts.alone
        outer.lines += [f"if {self.programs} > 1:", *(INDENT + line for line in inside)]
        self._used += 2 * len(names)
        for part in parts:
            part.define()

    def wrap(self, head: Sequence[str], body: Sequence[str], index: DType) -> list[str]:
        """The kernel's lines: ``head``, and ``body`` for every row of a program; ``index`` is the
        type of indices."""
        program = "tl.program_id(0)" + (".to(tl.int64)" if index is DType.I64 else "")
        group = f"{program} // RSPLIT"
        return [
            *head,
            *self.part(),
            f"row_words = workspace + {group} * ({self.words} * RSPLIT + 1)",
            "row = tl.full([], 0, tl.int64)",
            f"for xindex in range({group}, xnumel, tl.num_programs(0) // RSPLIT):",
            f"{INDENT}row += 1",
            *(INDENT + line for line in body),
            "if RSPLIT > 1:",
            f"{INDENT}_leave(row_words, {self.words}, RSPLIT)",
        ]
