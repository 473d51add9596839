"""Scans and sorts of the reduced dimension: a whole block at once, or block after block.

A loop keeps what the blocks so far came to (the carry): each block is scanned by itself and
combined with it, and its last element is the next carry. Elements outside the range come last
in their block, so they disturb nobody: no neutral element takes their place.

A sort packs the element, as an integer that orders the same way, and its position into one
64-bit number: positions make equal elements distinct, so that any sort of the numbers keeps
their order. Where elements alone have 64 bits, two such sorts follow each other, by the lower
half and then by the upper one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from harness.codegen.body import Body
from harness.codegen.lookback import LookBack
from harness.codegen.reduction import R
from harness.codegen.values import KEYS, Scope, Var, materialised, neutral
from harness.dtypes import DType
from harness.heuristics.limits import next_power_of_two
from harness.ir.nodes import Combine, ReduceKind, Scan, ScanKind, Sort
from harness.ir.op_triton import minus_zero, triton_type
from harness.tiling.plan import Workspace

_LAST = "0x7FFFFFFF"
"""The key of elements outside the row; their positions put them behind all others."""
_LOW = "0xFFFFFFFF"
_LEAST = "(-0x7FFFFFFF - 1)"


@dataclass(frozen=True, slots=True)
class _How:
    """How a scan combines: by ``helper`` (a sum without), components of types that follow what
    changes nothing, if it ``starts`` with that."""

    helper: str
    parts: tuple[tuple[DType, str], ...]
    starts: bool = True

    def across(self, blocks: Sequence[str], axis: int) -> str:
        """The scan of blocks along ``axis``, as text."""
        if not self.helper:
            return f"tl.cumsum({blocks[0]}, {axis})"
        together = blocks[0] if len(blocks) == 1 else f"({', '.join(blocks)})"
        return f"tl.associative_scan({together}, {axis}, {self.helper})"

    def join(self, before: Sequence[str], after: Sequence[str]) -> str:
        """What two neighbours come to, as text."""
        if not self.helper:
            return f"{before[0]} + {after[0]}"
        return f"{self.helper}({', '.join((*before, *after))})"


@dataclass(slots=True)
class Scanner:
    """Writes the scans and sorts of one kernel."""

    body: Body
    functions: dict[str, str] = field(default_factory=dict)
    """The texts of users' functions, by name."""
    _looks: int = 0

    def __call__(self, value: Scan | Sort, args: Sequence[Var]) -> Var:
        """The variable that holds ``value``, written now unless another component of the same
        scan in the open scope was."""
        scope = self._scope
        what: object = (value.descending, value.limit) if isinstance(value, Sort) else value.kind
        key = (what, *map(id, value.args))
        if key not in scope.rows:
            if isinstance(value, Sort):
                scope.rows[key] = self._sort(value, args[0])
            else:
                made = self._by_function if isinstance(value.kind, Combine) else self._scan
                scope.rows[key] = made(value, args)
        name = scope.rows[key][value.component]
        index_type = self.body.frame.plan.index_dtype
        if value.component and not isinstance(what, Combine) and value.dtype is not index_type:
            name = self._line(f"{name}.to({triton_type(value.dtype)})")
        return Var(name, value.dtype, self.body.everything)

    @property
    def _scope(self) -> Scope:
        return self.body.loop or self.body.outer

    @property
    def _axis(self) -> int:
        return self.body.frame.axis(R)

    def _line(self, text: str) -> str:
        return self.body.line(self._scope, text)

    # scans

    def _by_function(self, scan: Scan, args: Sequence[Var]) -> tuple[str, ...]:
        """The results of a scan by a user's function, which has no element that changes nothing:
        where programs share rows, a number of each element says whether it is one."""
        assert isinstance(scan.kind, Combine)
        name = self._combine_function(scan.kind)
        blocks = [self._line(self.body.whole(arg, arg.dtype)) for arg in args]
        parts = tuple((arg.dtype, "0") for arg in args)
        if not isinstance(self.body.frame.plan.workspace, Workspace):
            return self._combined(_How(name, parts, starts=False), blocks)
        name = self._where_any(name, len(args))
        there = self._line(f"tl.full({self.body.block_shape}, 1, tl.int32)")
        return self._combined(_How(name, ((DType.I32, "0"), *parts)), (there, *blocks))[1:]

    def _scan(self, scan: Scan, args: Sequence[Var]) -> tuple[str, ...]:
        (arg,), kind, dtype = args, scan.kind, args[0].dtype
        assert isinstance(kind, ScanKind)
        if not dtype.is_float and dtype is not DType.I64:
            dtype = DType.I32
        # An exponential sum's is that of a maximum: minus infinity.
        start = neutral(ReduceKind["MAX" if kind is ScanKind.LOGSUMEXP else kind.name], dtype)
        parts: tuple[tuple[DType, str], ...] = ((dtype, start),)
        blocks: tuple[str, ...] = (self._line(self.body.whole(arg, dtype)),)
        if kind in (ScanKind.MAX, ScanKind.MIN):
            parts += ((self.body.frame.plan.index_dtype, "0"),)
            place = f"{R}index" + ".to(tl.int64)" * bool(self.body.frame.plan.extents)
            blocks += (self._line(f"tl.broadcast_to({place}, {self.body.block_shape})"),)
        found = self._combined(_How(_HELPER.get(kind, ""), parts), blocks)
        if scan.dtype is not dtype and not scan.component:
            return (self._line(f"{found[0]}.to({triton_type(scan.dtype)})"), *found[1:])
        return found

    def _combined(self, how: _How, blocks: Sequence[str]) -> tuple[str, ...]:
        """The blocks' scan, after what came before them."""
        workspace = self.body.frame.plan.workspace
        if isinstance(workspace, Workspace):
            return self._shared(workspace, how, blocks)
        own = self.body.lines(self._scope, how.across(blocks, self._axis), len(blocks))
        if self.body.loop is None:
            return own
        # What the blocks before come to, for every row, ahead of the first one.
        shape, outer = self.body.frame.shape(self.body.everything - {R}), self.body.outer
        starts = (f"tl.full({shape}, {start}, {triton_type(of)})" for of, start in how.parts)
        carry = tuple(self.body.line(outer, text, "carry") for text in starts)
        found = self.body.lines(self._scope, how.join(carry, own), len(blocks))
        if not how.starts:
            texts = (f"tl.where({R}offset > 0, {a}, {b})" for a, b in zip(found, own, strict=True))
            found = tuple(self._line(text) for text in texts)
        # In the last block the last element may be outside of the range; nobody uses it then.
        end = f"{R}base == R0_BLOCK - 1"
        for name, last in zip(carry, self._last(found, how.parts, end), strict=True):
            self._scope.lines.append(f"{name} = {last}")
        return found

    def _shared(self, workspace: Workspace, how: _How, blocks: Sequence[str]) -> tuple[str, ...]:
        """The block's scan, after what other programs found in the blocks before it."""
        total = partial(self._total, how)
        look = LookBack(self.body, self._scope, workspace, self._looks, how.join, total, how.parts)
        self._looks += 1
        totals = total(blocks)
        look.publish(totals)
        own = self.body.lines(self._scope, how.across(blocks, 0), len(blocks))
        return self.body.lines(self._scope, how.join(look.carry(totals), own), len(blocks))

    def _total(self, how: _How, blocks: Sequence[str]) -> tuple[str, ...]:
        """What one-dimensional blocks come to. Of equal extremes the last one counts, and only
        a scan combines in order."""
        if len(blocks) == 1:
            helper, (block,) = how.helper, blocks
            text = f"tl.reduce({block}, 0, {helper})" if helper else f"tl.sum({block}, 0)"
            return (self._line(text),)
        own = self.body.lines(self._scope, how.across(blocks, 0), len(blocks))
        width = f"{own[0]}.shape[0]"
        return tuple(self._last(own, how.parts, f"tl.arange(0, {width}) == {width} - 1"))

    def _last(
        self, blocks: Sequence[str], parts: Sequence[tuple[DType, str]], end: str
    ) -> Iterator[str]:
        """The element where ``end`` holds of every row of the blocks, bit for bit: the sum of it
        and of zeros."""
        kept = f"[{':, ' * self._axis}None]" if self._axis else ""
        for block, (dtype, _) in zip(blocks, parts, strict=True):
            bits = block
            if dtype.is_float:
                bits = self._line(f"{block}.to({KEYS[dtype][0]}, bitcast=True)")
            total = f"tl.sum(tl.where({end}, {bits}, 0), {self._axis}){kept}"
            if dtype.is_float:
                total = f"{self._line(total)}.to({triton_type(dtype)}, bitcast=True)"
            yield self._line(total)

    # users' functions

    def _combine_function(self, combine: Combine) -> str:
        """The name of ``combine`` in ``functions``, where its text is from now on."""
        inner = Body(self.body.frame, {}, {}, {}, {})
        names = [f"{letter}{n}" for letter in "ab" for n in range(len(combine.results))]
        for name, parameter in zip(names, combine.parameters, strict=True):
            inner.define(parameter, Var(name, parameter.dtype, self.body.everything))
        texts = [materialised(inner.value(result)) for result in combine.results]
        return self._function("_combine", names, inner.outer.lines, texts)

    def _where_any(self, name: str, count: int) -> str:
        """The name of the function ``name`` of ``count`` operands where a number, ahead of each
        side's elements, says whether there are any: nothing and something come to the latter."""
        before, after, both = ([f"{c}{n}" for n in range(count)] for c in "abc")
        lines = [f"{', '.join(both)} = {name}({', '.join((*before, *after))})"]
        chosen = "tl.where(b == 0, {}, tl.where(a == 0, {}, {}))"
        results = [chosen.format(*three) for three in zip(before, after, both, strict=True)]
        return self._function("_if_any", ["a", *before, "b", *after], lines, ["a | b", *results])

    def _function(self, kind: str, names: list[str], lines: list[str], results: list[str]) -> str:
        # The name follows from the text: equal functions of kernels that share a module are one.
        rest = "".join(f"    {line}\n" for line in (*lines, f"return {', '.join(results)}"))
        rest = f"({', '.join(names)}):\n{rest}"
        name = f"{kind}_{hashlib.sha256(rest.encode()).hexdigest()[:8]}"
        self.functions[name] = f"@triton.jit\ndef {name}{rest}"
        return name

    # sorts

    def _sort(self, sort: Sort, arg: Var) -> tuple[str, str]:
        """The sorted block and the positions its elements had, in the kernel's index type."""
        wide = arg.dtype in (DType.I64, DType.F64)
        dtype = arg.dtype if arg.dtype.is_float or wide else DType.I32
        value = self._line(self.body.whole(arg, dtype))
        key = self._key(dtype, value)
        if sort.descending:
            key = self._line(f"~{key}")
        if wide:
            found, place = self._by_halves(key, value)
        else:
            found, place = self._packed(key, dtype, value, sort)
        if dtype is not arg.dtype:
            kind = triton_type(arg.dtype)
            to = f"{found} != 0" if arg.dtype is DType.BOOL else f"{found}.to({kind})"
            found = self._line(to)
        index = self.body.frame.plan.index_dtype.triton_name
        return found, self._line(f"{place}.to(tl.{index})")

    def _key(self, dtype: DType, value: str) -> str:
        """``value`` as integers in the same order, zeros equal and NaN last."""
        if not dtype.is_float:
            return value
        integer, sign, mask = KEYS[dtype]
        zeros = self._line(f"tl.where({value} == 0.0, 0.0, {value})")
        bits = self._line(f"{zeros}.to({integer}, bitcast=True)")
        ordered = f"{bits} ^ (({bits} >> {sign}) & {mask})"
        return self._line(f"tl.where({value} != {value}, {mask}, {ordered})")

    def _inside(self, key: str) -> str:
        masked = R in self.body.frame.masked
        return f"tl.where({R}mask, {key}, {_LAST})" if masked else key

    def _packed(self, key: str, dtype: DType, value: str, sort: Sort) -> tuple[str, str]:
        """One sort: the key in the upper half, the position and whether it is a negative zero in
        the lower one."""
        key = self._line(self._inside(key))
        low = f"({R}index.to(tl.int64) << 1)"
        if dtype.is_float:
            bits = f"{value}.to(tl.int32, bitcast=True)"
            low = f"({low} | ({bits} == {_LEAST}).to(tl.int64))"
        packed = self._line(f"({key}.to(tl.int64) << 32) | {low}")
        made = self._line(self._in_order(packed, sort.limit))
        place = self._line(f"({made} & {_LOW}) >> 1")
        found = self._line(f"({made} >> 32).to(tl.int32)")
        if sort.descending:
            found = self._line(f"~{found}")
        if dtype.is_float:
            bits = f"({found} ^ (({found} >> 31) & {_LAST}))"
            number = self._line(f"{bits}.to(tl.float32, bitcast=True)")
            zero = minus_zero(DType.F32)
            found = self._line(f"tl.where(({made} & 1) == 1, {zero}, {number})")
        return found, place

    def _in_order(self, packed: str, limit: int | None) -> str:
        """The packed block in ascending order; where only the first few are needed they are
        repeated up to the block's size, which costs a fraction of putting all in order."""
        size = max(n for t, n in self.body.frame.plan.facts.sizes if t == R)
        block, few = next_power_of_two(size), next_power_of_two(limit or size)
        if 2 * few > block:
            return f"tl.sort({packed}, {self._axis})"
        if few == 1:  # Triton 3.6 cannot interpret its topk of one
            least = self._line(f"tl.min({packed}, {self._axis}, keep_dims=True)")
            return f"tl.broadcast_to({least}, {self.body.block_shape})"
        top = self._line(f"~tl.topk(~{packed}, {few}, {self._axis})")
        rows = "XBLOCK, " if len(self.body.frame.vector) == 2 else ""
        shapes = [f"[{rows}{count}, {few}]" for count in (1, block // few)]
        repeated = f"tl.broadcast_to(tl.reshape({top}, {shapes[0]}), {shapes[1]})"
        return f"tl.reshape({repeated}, {self.body.block_shape})"

    def _by_halves(self, key: str, value: str) -> tuple[str, str]:
        """Two sorts, by the lower half of the key (as a signed number) and by the upper one: the
        second keeps the order of the first among equals."""
        half = self._inside(f"{key}.to(tl.int32) ^ {_LEAST}")
        first = self._ordered(self._line(half))
        half = self._line(self._inside(f"({key} >> 32).to(tl.int32)"))
        moved = self._line(f"tl.gather({half}, {first}, {self._axis})")
        second = self._ordered(moved)
        place = self._line(f"tl.gather({first}, {second}, {self._axis})")
        return self._line(f"tl.gather({value}, {place}, {self._axis})"), place

    def _ordered(self, half: str) -> str:
        """The positions that the elements of ``half`` have when they are in order."""
        packed = f"({half}.to(tl.int64) << 32) | {R}index.to(tl.int64)"
        made = self._line(f"tl.sort({packed}, {self._axis})")
        return self._line(f"({made} & {_LOW}).to(tl.int32)")


_HELPER = {
    ScanKind.PROD: "_multiply",
    ScanKind.LOGSUMEXP: "_add_exponentials",
    ScanKind.MAX: "_last_maximum",
    ScanKind.MIN: "_last_minimum",
}
