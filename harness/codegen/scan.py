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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from harness.codegen.body import Body
from harness.codegen.lookback import Combine, LookBack
from harness.codegen.reduction import R, neutral
from harness.codegen.values import KEYS, Scope, Var
from harness.dtypes import DType
from harness.heuristics.limits import next_power_of_two
from harness.ir.nodes import ReduceKind, Scan, ScanKind, Sort
from harness.ir.op_triton import triton_type
from harness.tiling.workspace import Workspace

_LAST = "0x7FFFFFFF"
"""The key of elements outside the row; their positions put them behind all others."""
_LOW = "0xFFFFFFFF"
_LEAST = "(-0x7FFFFFFF - 1)"


@dataclass(slots=True)
class Scanner:
    """Writes the scans and sorts of one kernel."""

    body: Body
    _looks: int = 0

    def __call__(self, value: Scan | Sort, args: Sequence[Var]) -> Var:
        """The variable that holds ``value``, written now unless another component of the same
        scan in the open scope was."""
        scope = self.body.loop or self.body.outer
        is_scan = isinstance(value, Scan)
        what: object = (value.descending, value.limit) if isinstance(value, Sort) else value.kind
        key = (is_scan, what, *(id(a) for a in value.args))
        if key not in scope.rows:
            if isinstance(value, Scan):
                scope.rows[key] = self._scan(scope, value, args[0])
            else:
                scope.rows[key] = self._sort(scope, value, args[0])
        name = scope.rows[key][value.component]
        if value.component and value.dtype is not self.body.frame.plan.index_dtype:
            name = self._line(scope, f"{name}.to({triton_type(value.dtype)})")
        return Var(name, value.dtype, self.body.everything)

    def _line(self, scope: Scope, text: str) -> str:
        if text.isidentifier():
            return text
        name = self.body.names.fresh()
        scope.lines.append(f"{name} = {text}")
        return name

    @property
    def _axis(self) -> int:
        return self.body.frame.axis(R)

    # scans

    def _scan(self, scope: Scope, scan: Scan, arg: Var) -> tuple[str, ...]:
        dtype = arg.dtype
        if not dtype.is_float and dtype is not DType.I64:
            dtype = DType.I32
        block = self._line(scope, self.body.whole(arg, dtype))
        found = self._combined(scope, scan.kind, dtype, block)
        if scan.dtype is not dtype and not scan.component:
            return (self._line(scope, f"{found[0]}.to({triton_type(scan.dtype)})"), *found[1:])
        return found

    def _combined(self, scope: Scope, kind: ScanKind, dtype: DType, block: str) -> tuple[str, ...]:
        """The block's scan, after what came before it."""
        parts: tuple[tuple[DType, str], ...] = ((dtype, _start(kind, dtype)),)
        blocks: tuple[str, ...] = (block,)
        if kind in (ScanKind.MAX, ScanKind.MIN):
            parts += ((self.body.frame.plan.index_dtype, "0"),)
            blocks += (self._line(scope, f"tl.broadcast_to({R}index, {self.body.block_shape})"),)
        workspace = self.body.frame.plan.workspace
        if isinstance(workspace, Workspace):
            return self._shared(scope, workspace, kind, parts, blocks)
        own = self._lines(scope, _across(kind, blocks, self._axis), len(parts))
        if self.body.loop is None:
            return own
        carry = tuple(self._carry(start, triton_type(of)) for of, start in parts)
        found = self._lines(scope, _join(kind, carry, own), len(parts))
        # In the last block the last element may be outside of the range; nobody uses it then.
        end = f"{R}base == R0_BLOCK - 1"
        for name, last in zip(carry, self._last(scope, found, parts, end), strict=True):
            scope.lines.append(f"{name} = {last}")
        return found

    def _shared(
        self,
        scope: Scope,
        workspace: Workspace,
        kind: ScanKind,
        parts: tuple[tuple[DType, str], ...],
        blocks: Sequence[str],
    ) -> tuple[str, ...]:
        """The block's scan, after what other programs found in the blocks before it."""
        total = partial(self._total, scope, kind, parts)
        combine = Combine(partial(_join, kind), total, parts)
        look = LookBack(scope, self.body.names, workspace, self._looks, combine)
        self._looks += 1
        totals = total(blocks)
        look.publish(totals)
        own = self._lines(scope, _across(kind, blocks, 0), len(parts))
        return self._lines(scope, _join(kind, look.carry(totals), own), len(parts))

    def _total(
        self,
        scope: Scope,
        kind: ScanKind,
        parts: Sequence[tuple[DType, str]],
        blocks: Sequence[str],
    ) -> tuple[str, ...]:
        """What one-dimensional blocks come to. Of equal extremes the last one counts, and only
        a scan combines in order."""
        if len(parts) == 1:
            text = f"tl.sum({blocks[0]}, 0)"
            if kind is not ScanKind.SUM:
                text = f"tl.reduce({blocks[0]}, 0, {_HELPER[kind]})"
            return (self._line(scope, text),)
        own = self._lines(scope, _across(kind, blocks, 0), len(parts))
        width = f"{own[0]}.shape[0]"
        end = f"tl.arange(0, {width}) == {width} - 1"
        return tuple(self._last(scope, own, parts, end))

    def _lines(self, scope: Scope, text: str, count: int) -> tuple[str, ...]:
        names = tuple(self.body.names.fresh() for _ in range(count))
        scope.lines.append(f"{', '.join(names)} = {text}")
        return names

    def _carry(self, start: str, kind: str) -> str:
        """What the blocks before come to, for every row, ahead of the first one."""
        name = self.body.names.fresh("carry")
        shape = self.body.frame.shape(self.body.everything - {R})
        self.body.outer.lines.append(f"{name} = tl.full({shape}, {start}, {kind})")
        return name

    def _last(
        self, scope: Scope, blocks: Sequence[str], parts: Sequence[tuple[DType, str]], end: str
    ) -> Iterator[str]:
        """The element where ``end`` holds of every row of the blocks, bit for bit: the sum of it
        and of zeros."""
        kept = "[:, None]" if len(self.body.frame.vector) == 2 else ""
        for block, (dtype, _) in zip(blocks, parts, strict=True):
            bits = block
            if dtype.is_float:
                bits = self._line(scope, f"{block}.to({KEYS[dtype][0]}, bitcast=True)")
            total = f"tl.sum(tl.where({end}, {bits}, 0), {self._axis}){kept}"
            if dtype.is_float:
                total = f"{self._line(scope, total)}.to({triton_type(dtype)}, bitcast=True)"
            yield self._line(scope, total)

    # sorts

    def _sort(self, scope: Scope, sort: Sort, arg: Var) -> tuple[str, str]:
        """The sorted block and the positions its elements had, in the kernel's index type."""
        descending = sort.descending
        wide = arg.dtype in (DType.I64, DType.F64)
        dtype = arg.dtype if arg.dtype.is_float or wide else DType.I32
        value = self._line(scope, self.body.whole(arg, dtype))
        key = self._key(scope, dtype, value)
        if descending:
            key = self._line(scope, f"~{key}")
        if wide:
            found, place = self._by_halves(scope, key, value)
        else:
            found, place = self._packed(scope, key, dtype, value, sort)
        if dtype is not arg.dtype:
            to = (
                f"{found} != 0"
                if arg.dtype is DType.BOOL
                else f"{found}.to({triton_type(arg.dtype)})"
            )
            found = self._line(scope, to)
        return found, self._line(scope, f"{place}.to({self.body.frame.index_type})")

    def _key(self, scope: Scope, dtype: DType, value: str) -> str:
        """``value`` as integers in the same order, zeros equal and NaN last."""
        if not dtype.is_float:
            return value
        integer, sign, mask = KEYS[dtype]
        zeros = self._line(scope, f"tl.where({value} == 0.0, 0.0, {value})")
        bits = self._line(scope, f"{zeros}.to({integer}, bitcast=True)")
        ordered = f"{bits} ^ (({bits} >> {sign}) & {mask})"
        return self._line(scope, f"tl.where({value} != {value}, {mask}, {ordered})")

    def _inside(self, key: str) -> str:
        masked = R in self.body.frame.masked
        return f"tl.where({R}mask, {key}, {_LAST})" if masked else key

    def _packed(
        self, scope: Scope, key: str, dtype: DType, value: str, sort: Sort
    ) -> tuple[str, str]:
        """One sort: the key in the upper half, the position and whether it is a negative zero in
        the lower one."""
        key = self._line(scope, self._inside(key))
        low = f"({R}index.to(tl.int64) << 1)"
        if dtype.is_float:
            bits = f"{value}.to(tl.int32, bitcast=True)"
            low = f"({low} | ({bits} == {_LEAST}).to(tl.int64))"
        packed = self._line(scope, f"({key}.to(tl.int64) << 32) | {low}")
        made = self._line(scope, self._in_order(scope, packed, sort.limit))
        place = self._line(scope, f"({made} & {_LOW}) >> 1")
        found = self._line(scope, f"({made} >> 32).to(tl.int32)")
        if sort.descending:
            found = self._line(scope, f"~{found}")
        if dtype.is_float:
            bits = f"({found} ^ (({found} >> 31) & {_LAST}))"
            number = self._line(scope, f"{bits}.to(tl.float32, bitcast=True)")
            found = self._line(scope, f"tl.where(({made} & 1) == 1, -0.0, {number})")
        return found, place

    def _in_order(self, scope: Scope, packed: str, limit: int | None) -> str:
        """The packed block in ascending order; where only the first few are needed they are
        repeated up to the block's size, which costs a fraction of putting all in order."""
        size = max(n for t, n in self.body.frame.plan.facts.sizes if t == R)
        block, few = next_power_of_two(size), next_power_of_two(limit or size)
        if 2 * few > block:
            return f"tl.sort({packed}, {self._axis})"
        if few == 1:  # Triton 3.6 cannot interpret its topk of one
            least = self._line(scope, f"tl.min({packed}, {self._axis}, keep_dims=True)")
            return f"tl.broadcast_to({least}, {self.body.block_shape})"
        top = self._line(scope, f"~tl.topk(~{packed}, {few}, {self._axis})")
        rows = "XBLOCK, " if len(self.body.frame.vector) == 2 else ""
        shapes = [f"[{rows}{count}, {few}]" for count in (1, block // few)]
        repeated = f"tl.broadcast_to(tl.reshape({top}, {shapes[0]}), {shapes[1]})"
        return f"tl.reshape({repeated}, {self.body.block_shape})"

    def _by_halves(self, scope: Scope, key: str, value: str) -> tuple[str, str]:
        """Two sorts, by the lower half of the key (as a signed number) and by the upper one: the
        second keeps the order of the first among equals."""
        half = self._inside(f"{key}.to(tl.int32) ^ {_LEAST}")
        first = self._ordered(scope, self._line(scope, half))
        half = self._line(scope, self._inside(f"({key} >> 32).to(tl.int32)"))
        moved = self._line(scope, f"tl.gather({half}, {first}, {self._axis})")
        second = self._ordered(scope, moved)
        place = self._line(scope, f"tl.gather({first}, {second}, {self._axis})")
        return self._line(scope, f"tl.gather({value}, {place}, {self._axis})"), place

    def _ordered(self, scope: Scope, half: str) -> str:
        """The positions that the elements of ``half`` have when they are in order."""
        packed = f"({half}.to(tl.int64) << 32) | {R}index.to(tl.int64)"
        made = self._line(scope, f"tl.sort({packed}, {self._axis})")
        return self._line(scope, f"({made} & {_LOW}).to(tl.int32)")


_HELPER = {
    ScanKind.PROD: "_multiply",
    ScanKind.LOGSUMEXP: "_add_exponentials",
    ScanKind.MAX: "_last_maximum",
    ScanKind.MIN: "_last_minimum",
}


def _start(kind: ScanKind, dtype: DType) -> str:
    """What changes nothing before it, as text."""
    match kind:
        case ScanKind.MAX | ScanKind.MIN | ScanKind.SUM | ScanKind.PROD:
            return neutral(ReduceKind[kind.name], dtype)
        case ScanKind.LOGSUMEXP:
            return 'float("-inf")'


def _across(kind: ScanKind, blocks: Sequence[str], axis: int) -> str:
    """The scan of blocks along ``axis``, as text."""
    if kind is ScanKind.SUM:
        return f"tl.cumsum({blocks[0]}, {axis})"
    together = blocks[0] if len(blocks) == 1 else f"({', '.join(blocks)})"
    return f"tl.associative_scan({together}, {axis}, {_HELPER[kind]})"


def _join(kind: ScanKind, before: Sequence[str], after: Sequence[str]) -> str:
    """What two neighbours come to, as text."""
    if kind is ScanKind.SUM:
        return f"{before[0]} + {after[0]}"
    return f"{_HELPER[kind]}({', '.join((*before, *after))})"
