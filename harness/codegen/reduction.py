"""Reductions: accumulators in a loop, or a whole block at once.

Every reduction ends in Triton's own sum, max, min or xor over one axis. Floats are
compared as integers that order the same way, with NaN at the winning end: that makes
NaN win, ties exact, and the last steps single warp-wide instructions. The largest of a
block's are found as floats, where NaN wins as well. Where a lane is outside the reduced
range its contribution is replaced by the neutral element.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.codegen.body import Body
from harness.codegen.exchange import Exchange, Part
from harness.codegen.values import HIGHEST, KEYS, LOWEST, Scope, Var, materialised, neutral, remark
from harness.dtypes import DType
from harness.heuristics.limits import block_name
from harness.ir.nodes import Compute, Constant, Load, Reduce, ReduceKind, store_roots, walk
from harness.ir.op_triton import triton_type
from harness.ir.ops import Op
from harness.tiling.aligned import divides
from harness.tiling.products import TWIN
from harness.tiling.softmax import side_by_side

R = "r0_"
_EXTREMES = (ReduceKind.MAX, ReduceKind.MIN, ReduceKind.ARGMAX, ReduceKind.ARGMIN)
_SIGNS = {ReduceKind.SUM: "+", ReduceKind.PROD: "*", ReduceKind.XOR: "^"}
_ACROSS = {ReduceKind.ANY: "max", ReduceKind.XOR: "xor_sum"}


@dataclass(slots=True)
class Reducer:
    """Writes the reductions of one segment over the tile ``along``."""

    body: Body
    exchange: Exchange | None = None
    along: str = R
    _finals: list[Callable[[], None]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    # shared pieces

    @property
    def _axis(self) -> int:
        return self.body.frame.axis(self.along)

    @property
    def _mask(self) -> str | None:
        return f"{self.along}mask" if self.along in self.body.frame.masked else None

    @property
    def _loop(self) -> Scope:
        assert self.body.loop is not None
        return self.body.loop

    def _once(self, text: str, what: str = "tmp") -> str:
        """A name for ``text`` outside of the loop."""
        return self.body.line(self.body.outer, text, what)

    def _each(self, text: str) -> str:
        """A name for ``text`` in the loop."""
        return self.body.line(self._loop, text)

    def _accumulator(self, what: str, start: str, kind: str) -> str:
        """A block of ``start`` ahead of the loop, named for ``what`` it accumulates."""
        text = f"tl.full({self.body.block_shape}, {start}, {kind})"
        return self._once(text, f"{what}_")

    def _kept(self, text: str) -> str:
        """A reduced value with the reduced dimension put back as 1."""
        if len(self.body.frame.vector) < 2:
            return text
        return f"{text}[{':, ' * self._axis}None]" if self._axis else f"{text}[None, :]"

    def _guarded(self, text: str, neutral: str) -> str:
        return f"tl.where({self._mask}, {text}, {neutral})" if self._mask else text

    def _reduce(self, function: str, text: str) -> str:
        return self._kept(f"{function}({text}, {self._axis})")

    def _define(self, reduce: Reduce, text: str) -> None:
        node = remark(self.body.labels.get(id(reduce)))
        name = self._once(text if text.isidentifier() else text + node)
        self.body.define(reduce, Var(name, reduce.dtype, self.body.everything - {self.along}))

    # entry points

    def add(self, group: Sequence[Reduce]) -> None:
        """Components of one reduction: update lines go to the loop, or, without one, the
        result is computed at once."""
        first, looped, plan = group[0], self.body.loop is not None, self.body.frame.plan
        load, columns = first.args[0], plan.facts.chunked and not plan.facts.alone
        summed = looped and first.kind is ReduceKind.SUM and isinstance(load, Load)
        if columns and summed and self.body.known(load) is None:  # 0 outside: nothing is selected
            self.body.others[id(load)] = Constant(load.dtype, 0)
        args = [self.body.value(a) for a in first.args]
        match first.kind:
            case ReduceKind.WELFORD:
                (self._welford_loop if looped else self._welford_block)(group, args[0])
            case ReduceKind.SOFTMAX:
                (self._softmax_loop if looped else self._softmax_block)(group, args[0])
            case ReduceKind.DOT:
                self._dot(first, args)
            case ReduceKind.ARGMAX | ReduceKind.ARGMIN:
                (self._arg_loop if looped else self._arg_block)(first, args[0])
            case ReduceKind.SUM | ReduceKind.PROD | ReduceKind.XOR | ReduceKind.ANY:
                (self._simple_loop if looped else self._simple_block)(first, args[0])
            case ReduceKind.MAX | ReduceKind.MIN:
                (self._simple_loop if looped else self._simple_block)(first, args[0])

    def finish(self) -> None:
        """After the loop: combine the accumulators."""
        for final in self._finals:
            final()
        self._finals.clear()
        if self.exchange is not None and self.parts:
            self.exchange.write(self.parts, self.body.outer)
            self.parts.clear()

    # sums of products, a block of terms after the other

    def _dot(self, reduce: Reduce, factors: Sequence[Var]) -> None:
        frame, texts = self.body.frame, list[str]()
        for var, sides, terms in zip(factors, (("y", R), (TWIN, "x")), (R, TWIN), strict=True):
            text = var.text
            if not frame.same_shape(var.tiles, sides):
                text = f"tl.broadcast_to({text}, {frame.shape(sides)})"
            # Beyond the last term both are zero, whatever they are computed from.
            texts.append(f"tl.where({terms}mask, {text}, 0.0)" if terms in frame.masked else text)
        acc = self._accumulator("dot", "0.0", triton_type(reduce.dtype))
        how = ', input_precision="ieee"' * (factors[0].dtype is DType.F32)
        self._loop.lines.append(f"{acc} = tl.dot({', '.join(texts)}, {acc}{how})")
        tile = Var(acc, reduce.dtype, frozenset("zyx"))
        self._finals.append(lambda: self.body.define(reduce, tile))

    # sum, prod, max, min, any, xor

    def _working_dtype(self, reduce: Reduce, arg: Var) -> DType:
        """The type of a reduction's elements; Triton adds and compares narrow integers in int32."""
        if reduce.kind in _EXTREMES:
            return arg.dtype if arg.dtype.is_float or arg.dtype is DType.I64 else DType.I32
        narrow = reduce.kind is ReduceKind.ANY or reduce.dtype in (DType.U8, DType.I8, DType.I16)
        return DType.I32 if narrow else reduce.dtype

    def _argument(self, reduce: Reduce, arg: Var, dtype: DType) -> str:
        if reduce.kind is ReduceKind.ANY and arg.dtype is not DType.BOOL:
            arg = Var(f"({materialised(arg)} != 0)", DType.BOOL, arg.tiles)
        return self.body.whole(arg, dtype)

    def _simple_block(self, reduce: Reduce, arg: Var) -> None:
        dtype = self._working_dtype(reduce, arg)
        text = self._guarded(self._argument(reduce, arg, dtype), neutral(reduce.kind, dtype))
        self._simple_finish(reduce, dtype, self._once(text))

    def _simple_loop(self, reduce: Reduce, arg: Var) -> None:
        dtype = self._working_dtype(reduce, arg)
        start = neutral(reduce.kind, dtype)
        value = self._argument(reduce, arg, dtype)
        walked = self.along != R and not self.body.frame.plan.facts.apart
        if walked and reduce.kind is ReduceKind.SUM:  # as few registers as columns
            value = self._each(self._guarded(value, "0"))
            zeros = f"tl.full({self.body.frame.shape([R])}, {start}, {triton_type(dtype)})"
            acc = self._once(zeros, "sum_")
            if self.along in self.body.frame.vector:
                rows = self._reduce("tl.sum", value)
                value = f"({value} if {block_name(self.along)} == 1 else {rows})"
            self._loop.lines.append(f"{acc} = {acc} + {value}")
            self._finals.append(lambda: self._define(reduce, self._outcome(reduce, dtype, acc)))
            return
        acc = self._accumulator(reduce.kind.value, start, triton_type(dtype))
        function = "tl.minimum" if reduce.kind is ReduceKind.MIN else "tl.maximum"
        nan = ", propagate_nan=tl.PropagateNan.ALL" * (dtype.is_float and reduce.kind in _EXTREMES)
        sign = _SIGNS.get(reduce.kind)
        combined = f"{acc} {sign} {value}" if sign else f"{function}({acc}, {value}{nan})"
        if reduce.kind is not ReduceKind.SUM or id(reduce.args[0]) not in self.body.others:
            combined = self._guarded(combined, acc)
        self._loop.lines.append(f"{acc} = {combined}")
        self._finals.append(lambda: self._simple_finish(reduce, dtype, acc))

    def _simple_finish(self, reduce: Reduce, dtype: DType, acc: str) -> None:
        across = functools.partial(self._across, reduce.kind, dtype)
        own = across(acc)
        if self.exchange is not None:
            own = self._once(own)

        def define() -> None:
            self._define(reduce, self._outcome(reduce, dtype, own))

        self._leave(Part((own,), dtype, lambda vectors: [across(vectors[0])], define))

    def _leave(self, part: Part) -> None:
        """Define ``part`` now, or once all programs' are merged."""
        if self.exchange is None:
            part.define()
        else:
            self.parts.append(part)

    def _across(self, kind: ReduceKind, dtype: DType, name: str) -> str:
        """All of ``name`` as one, in the type that the reduction is carried out in."""
        if kind in _EXTREMES and dtype.is_float:
            return self._float_extreme(kind, dtype, name)
        if kind is ReduceKind.PROD:
            return self._kept(f"tl.reduce({name}, {self._axis}, _multiply)")
        return self._reduce(f"tl.{_ACROSS.get(kind, kind.value)}", name)

    @staticmethod
    def _outcome(reduce: Reduce, dtype: DType, text: str) -> str:
        if reduce.kind in _EXTREMES and dtype.is_float:
            return text
        if reduce.kind is ReduceKind.ANY or reduce.dtype is DType.BOOL:
            return f"{text} != 0"
        return text if reduce.dtype is dtype else f"{text}.to({triton_type(reduce.dtype)})"

    # floats as ordered integers

    def _key(self, kind: ReduceKind, dtype: DType, name: str) -> str:
        """``name`` as integers in the same order with NaN at the winning end."""
        integer, sign, mask = KEYS[dtype]
        bits = self._once(f"{name}.to({integer}, bitcast=True)")
        ordered = f"{bits} ^ (({bits} >> {sign}) & {mask})"
        worst = mask if kind in (ReduceKind.MAX, ReduceKind.ARGMAX) else f"(-{mask} - 1)"
        return self._once(f"tl.where({name} != {name}, {worst}, {ordered})")

    def _float_extreme(self, kind: ReduceKind, dtype: DType, name: str) -> str:
        # One instruction an element, not five; in return five exchanges of a warp, not one: of a
        # block's elements 0.96 of the time for 49 kernels of 2 to 1024 a row on an H200 (0.80 to
        # 1.03). A loop has few left for each thread.
        if self.body.frame.plan.persistent and kind is ReduceKind.MAX:
            return self._kept(f"tl.reduce({name}, {self._axis}, _larger)")
        key = self._key(kind, dtype, name)
        _, sign, mask = KEYS[dtype]
        best = self._once(self._reduce(f"tl.{kind.value}", key))
        bits = f"({best} ^ (({best} >> {sign}) & {mask}))"
        return f"{bits}.to({triton_type(dtype)}, bitcast=True)"

    # argmax and argmin

    def _arg_block(self, reduce: Reduce, arg: Var) -> None:
        dtype = self._working_dtype(reduce, arg)
        value = self._once(self.body.whole(arg, dtype))
        self._arg_collapse(reduce, dtype, value, f"{R}index", guard=True)

    def _arg_collapse(
        self, reduce: Reduce, dtype: DType, value: str, index: str, guard: bool
    ) -> None:
        """First the best value, then the smallest index that has it."""
        biggest = reduce.kind is ReduceKind.ARGMAX
        if dtype.is_float:  # zeros of both signs are equal
            value = self._once(f"{value} + 0.0")
        key = self._key(reduce.kind, dtype, value) if dtype.is_float else value
        mask, worst = self._mask if guard else None, LOWEST if biggest else HIGHEST
        if mask:
            key = self._once(self._guarded(key, worst[dtype.itemsize == 8]))

        def first(key: str, index: str, far: str, mask: str | None = None) -> tuple[str, str]:
            best = self._once(self._reduce("tl.max" if biggest else "tl.min", key))
            hit = f"({key} == {best}) & {mask}" if mask else f"{key} == {best}"
            where = self._once(f"tl.where({hit}, {index}, {far})")
            return best, f"{self._reduce('tl.min', where)}.to({triton_type(reduce.dtype)})"

        best, place = first(key, index, self.body.frame.far, mask)
        if self.exchange is None:
            return self._define(reduce, place)
        own = self._once(f"{best}.to(tl.int64)"), self._once(place)
        define = functools.partial(self._define, reduce, own[1])
        merge = functools.partial(first, far=HIGHEST[True])
        self.parts.append(Part(own, DType.I64, lambda found: merge(*found), define))

    def _arg_loop(self, reduce: Reduce, arg: Var) -> None:
        dtype, biggest = self._working_dtype(reduce, arg), reduce.kind is ReduceKind.ARGMAX
        kind = ReduceKind.MAX if biggest else ReduceKind.MIN
        acc = self._accumulator(kind.value, neutral(kind, dtype), triton_type(dtype))
        far = self.body.frame.far
        at = self._accumulator("place", far, self.body.frame.index_type)
        value = self._each(self.body.whole(arg, dtype))
        better = f"({value} {'>' if biggest else '<'} {acc}) | ({at} == {far})"
        if dtype.is_float:
            better += f" | (({value} != {value}) & ({acc} == {acc}))"
        if self._mask:
            better = f"({better}) & {self._mask}"
        test = self._each(better)
        self._loop.lines.append(f"{acc} = tl.where({test}, {value}, {acc})")
        self._loop.lines.append(f"{at} = tl.where({test}, {R}index, {at})")
        self._finals.append(lambda: self._arg_collapse(reduce, dtype, acc, at, guard=False))

    # Welford

    def _known(self) -> int | None:
        n = next(t.numel for t in self.body.frame.plan.tiles if t.prefix == R)
        return int(n) if n.is_Integer else None

    def _count(self) -> str:
        n = self._known()
        return f"tl.full([], {R}numel, tl.float32)" if n is None else f"{n}.0"

    def _small(self) -> float:
        """By what terms of a mean become smaller, for it to be finite where their sum is not: a
        power of two (exact but for subnormal terms) below one over their number, where known."""
        n = self._known()
        return 2.0 ** -(16 if n is None else (n - 1).bit_length())

    def _welford_block(self, group: Sequence[Reduce], arg: Var) -> None:
        value = self._once(self.body.whole(arg, group[0].dtype))
        small = f"{self._guarded(value, '0.0')} * {self._small()}"
        total = self._once(self._reduce("tl.sum", small))
        mean = self._once(f"{total} / ({self._count()} * {self._small()})")
        off = self._once(f"{value} - {mean}")
        square = self._guarded(f"{off} * {off}", "0.0")
        self._components(group, (mean, self._once(self._reduce("tl.sum", square))))

    def _components(self, group: Sequence[Reduce], names: tuple[str, str]) -> None:
        for reduce in group:
            self._define(reduce, names[reduce.component])

    def _welford_loop(self, group: Sequence[Reduce], arg: Var) -> None:
        """All lanes have seen equally many values in each step, so the weights need no
        accumulator and the division is one per step, not one per element; those before a row that
        begins inside a vector have seen one less. Where rows end at multiples of what a thread
        loads at once, a lane takes its mean and squares."""
        dtype, side = group[0].dtype, self._side(group[:1])
        value = self._each(self.body.whole(arg, dtype))
        lanes, mask, shape, within = f"{R}base", self._mask, self.body.block_shape, ""
        first, stop = self.body.frame.bounds(R)
        if side > 1:
            lanes = self._once(f"tl.arange(0, R0_BLOCK // {side}) * {side}", "lane_")
            shape, mask = f"[R0_BLOCK // {side}]", mask and f"{R}offset + {lanes} < {stop}"
            apart = self._each(f"tl.reshape({value}, [R0_BLOCK // {side}, {side}])")
            value = self._each(f"tl.sum({apart} * {1 / side}, 1)")
            off = self._each(f"{apart} - {value}[:, None]")
            within = f" * {side}.0 + tl.sum({off} * {off}, 1)"
        zeros = f"tl.full({shape}, 0.0, {triton_type(dtype)})"
        mean, m2 = (self._once(zeros, what) for what in ("mean_", "squares_"))
        offset = f"{R}offset" if first == "0" else f"({R}offset - {first})"
        seen = f"tl.full([], {offset} // R0_BLOCK + 1, {triton_type(dtype)})"
        step = self._each(f"1.0 / {seen}")
        if late := self._late():
            other = self._each(f"1.0 / tl.maximum({seen} - 1.0, 1.0)")
            step = self._each(f"tl.where({late}, {other}, {step})")
        off = self._each(f"{value} - {mean}")
        moved = self._each(f"{mean} + {off} * {step}")
        grown = f"{m2} + {off} * ({value} - {moved}){within}"
        for name, text in ((m2, grown), (mean, moved)):
            text = f"tl.where({mask}, {text}, {name})" if mask else text
            self._loop.lines.append(f"{name} = {text}")
        self._finals.append(lambda: self._welford_finish(group, mean, m2, lanes, side))

    def _late(self) -> str:
        """Which lanes have no element of a row in its first block, if rows begin inside one."""
        aligned = self.body.frame.plan.aligned
        first = "" if self.exchange is None else f"{R}first + "
        return "" if aligned is None or aligned.begins else f"{first}{R}base < {R}shift"

    def _side(self, reduces: Sequence[Reduce]) -> int:
        """The neighbours that a thread loads at once, where rows begin and end at multiples."""
        plan = self.body.frame.plan
        side = side_by_side(reduces, self.body.dtypes, plan.facts.hint, plan.aligned)
        row = plan.tiles[-1].entries
        alone = self.body.frame.vector == (R,) and len(row) == 1 and divides(side, row[0].length)
        return side if alone and not self._late() else 1

    def _welford_finish(
        self, group: Sequence[Reduce], mean: str, m2: str, lanes: str, side: int
    ) -> None:
        kind = triton_type(group[0].dtype)
        first, stop = self.body.frame.bounds(R)
        extent = stop if first == "0" else f"{stop} - {first}"
        steps = f"({extent} - {lanes} + (R0_BLOCK - 1)) // R0_BLOCK"
        steps += f" - ({late})" if (late := self._late()) else ""
        each = f" * {side}.0" if side > 1 else ""
        weight = self._once(f"tl.maximum({steps}, 0).to({kind}){each}")
        if (exchange := self.exchange) is None:
            self._components(group, self._pooled(mean, m2, weight, self._count()))
            return

        begin = f"tl.arange(0, {exchange.programs}){self.body.frame.spread(R)} * {R}part"
        parts = f"tl.minimum(tl.maximum({R}numel - {begin}, 0), {R}part)"
        if self.body.frame.plan.aligned is not None:  # the first has less: what is before a row
            extent = f"{stop} - tl.maximum({first}, {R}shift)"
            parts = f"tl.minimum({begin} + {R}part, {R}stop) - tl.maximum({begin}, {R}shift)"
            parts = f"tl.maximum({parts}, 0)"

        def merge(vectors: Sequence[str]) -> tuple[str, str]:
            seen = self._once(f"{parts}.to({kind})")
            return self._pooled(vectors[0], vectors[1], seen, self._count())

        least = "1 if CHUNKS > 1 else 0" if self.body.frame.plan.facts.chunked else "1"
        count = f"tl.maximum({extent}, {least}).to({kind})"  # a program may have nothing left
        own = self._pooled(mean, m2, weight, self._once(count))
        define = functools.partial(self._components, group, own)
        self.parts.append(Part(own, group[0].dtype, merge, define))

    def _pooled(self, mean: str, m2: str, weight: str, count: str) -> tuple[str, str]:
        """Mean and sum of squares around it of ``count`` values, from those of disjoint parts."""
        small = f"{mean} * ({weight} * {self._small()})"
        total = self._once(self._reduce("tl.sum", small))
        final = self._once(f"{total} / ({count} * {self._small()})")
        off = self._once(f"{mean} - {final}")
        return final, self._once(self._reduce("tl.sum", f"{m2} + {weight} * {off} * {off}"))

    # online softmax

    def _softmax_block(self, group: Sequence[Reduce], arg: Var) -> None:
        dtype = group[0].dtype
        value = self._once(self.body.whole(arg, dtype))
        masked = self._once(self._guarded(value, 'float("-inf")'))
        best = self._once(self._float_extreme(ReduceKind.MAX, dtype, masked))
        roots = store_roots(self.body.frame.plan.stores)
        shared = any(isinstance(v, Compute) and v.op is Op.EXP for v in walk(roots))
        distance = f"{value} - {best}"  # where the kernel has exponentials of it anyway, the same
        power = f"tl.exp({distance})" if shared else _term(distance, dtype)
        terms = self._guarded(power, "0.0")
        self._components(group, (best, self._once(self._reduce("tl.sum", terms))))

    def _softmax_loop(self, group: Sequence[Reduce], arg: Var) -> None:
        """One exponential an element, and one more for the neighbours that a thread folds at once:
        the running sum is rescaled once for them."""
        side = self.body.frame.plan.facts.side
        if side < 2:
            self._softmax_strided(group, arg)
            return
        block = block_name(R)
        line = f"SIDE: tl.constexpr = {side} if {block} >= {side} else {block}"
        if line not in self.body.outer.lines:
            self.body.outer.lines.append(line)
        kind = triton_type(group[0].dtype)
        fewer = [block_name(p) for p in self.body.frame.vector]
        fewer[self._axis] += " // SIDE"
        shape = ", ".join(fewer)
        best = self._once(f'tl.full([{shape}], float("-inf"), {kind})', "max_")
        total = self._once(f"tl.full([{shape}], 0.0, {kind})", "sum_")
        # What is outside becomes e to the minus infinity, 0.
        guarded = self._guarded(self.body.whole(arg, group[0].dtype), 'float("-inf")')
        axis = len(fewer)
        value = self._each(f"tl.reshape({guarded}, [{shape}, SIDE])")
        most = self._each(f"tl.reduce({value}, {axis}, _larger)")
        most = self._each(f"_larger({best}, {most})")
        # Where all is minus infinity so far, there is no distance to it.
        near = self._each(f'tl.where({most} == float("-inf"), 0.0, {most})')
        terms = _term(f"{value} - {near}[{':, ' * axis}None]", group[0].dtype)
        scaled = f"{total} * {_term(f'{best} - {near}', group[0].dtype)}"
        self._loop.lines.append(f"{total} = {scaled} + tl.sum({terms}, {axis})")
        self._loop.lines.append(f"{best} = {most}")
        self._finals.append(lambda: self._softmax_finish(group, best, total))

    def _softmax_strided(self, group: Sequence[Reduce], arg: Var) -> None:
        """One exponential an element: of the distance to the larger of the running maximum
        and the new value, which scales whichever of the two is smaller."""
        dtype = group[0].dtype
        best = self._accumulator("max", 'float("-inf")', triton_type(dtype))
        total = self._accumulator("sum", "0.0", triton_type(dtype))
        value = self._each(self.body.whole(arg, dtype))
        # Equal infinities are at distance 0, which their difference does not say.
        gap = self._each(f"tl.where({value} == {best}, 0.0, {value} - {best})")
        factor = self._each(_term(f"-tl.abs({gap})", dtype))
        scaled = f"tl.where({gap} > 0, {total} * {factor} + 1.0, {total} + {factor})"
        larger = f"tl.maximum({best}, {value}, propagate_nan=tl.PropagateNan.ALL)"
        self._loop.lines.append(f"{total} = {self._guarded(scaled, total)}")
        self._loop.lines.append(f"{best} = {self._guarded(larger, best)}")
        self._finals.append(lambda: self._softmax_finish(group, best, total))

    def _softmax_finish(self, group: Sequence[Reduce], best: str, total: str) -> None:
        dtype = group[0].dtype
        own = self._rescaled(dtype, best, total, nothing=self.exchange is not None)
        define = functools.partial(self._components, group, own)
        self._leave(Part(own, dtype, lambda v: self._rescaled(dtype, v[0], v[1]), define))

    def _rescaled(
        self, dtype: DType, best: str, total: str, nothing: bool = False
    ) -> tuple[str, str]:
        """The largest of ``best``, and what ``total`` sums up below that; ``nothing``: where all
        is minus infinity the sum is 0, because others may have more."""
        top = near = self._once(self._float_extreme(ReduceKind.MAX, dtype, best))
        if nothing:
            near = self._once(f'tl.where({top} == float("-inf"), 0.0, {top})')
        terms = f"{total} * {_term(f'{best} - {near}', dtype)}"
        return top, self._once(self._reduce("tl.sum", terms))


def _term(exponent: str, dtype: DType) -> str:
    """An exponential in a sum that has a term of 1, so that in float32 it may be 0 below 2**-126:
    two instructions instead of five."""
    return f"libdevice.fast_expf({exponent})" if dtype is DType.F32 else f"tl.exp({exponent})"
