"""Values and memory accesses of a kernel, written once per scope.

A body has an outer scope and, while a reduction loop is open, the loop's scope. What does not
depend on the reduction is written to the outer scope, before the loop, so it is computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import sympy

from harness.codegen.frame import Frame, tile_of
from harness.codegen.rounding import as_rounded, products_added_in_16_bits
from harness.codegen.values import (
    Scope,
    Var,
    columns,
    constant_var,
    literal_text,
    materialised,
    needed,
    operand,
    remark,
    summand,
)
from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import nodes as ir
from harness.ir.index_text import IndexPrinter
from harness.ir.op_triton import float8_text, triton_type, widened
from harness.ir.ops import Op, triton_text
from harness.ir.value_bounds import counted, is_held, value_bounds
from harness.tiling.passes import alternatives, piece_of, pieces
from harness.tiling.plan import LANES, Category

Context = tuple[ir.Value, ...]
"""Masks that a value is computed under, outermost first."""
_ASSERTED = {
    Op.IN_RANGE: ("({0} >= 0) & ({0} < {1})", "an index is out of range"),
    Op.DIVISOR: ("{0} != 0", "an integer is divided by zero"),
}


@dataclass(slots=True)
class Body:
    """Writes values and stores. ``evictions`` gives the cache hint of a load, ``labels`` the graph
    value that a value is, ``nodes`` the one that a buffer holds: comments at their lines.
    ``walk`` begins the name of the tile that the loop goes along. A program that walks rows writes
    a block of them to ``outer`` and what does not differ between rows to ``ahead``. ``streamed``
    are buffers that loops write past what the cache has to keep, ``cheaper`` functions by id."""

    frame: Frame
    pointers: dict[str, str]
    dtypes: dict[str, DType]
    nodes: dict[str, str]
    labels: dict[int, str]
    names: Counter[str] = field(default_factory=Counter)
    outer: Scope = field(default_factory=Scope)
    loop: Scope | None = None
    ahead: Scope | None = None
    walk: str = "r"
    evictions: dict[int, str] = field(default_factory=dict)
    others: dict[int, ir.Constant] = field(default_factory=dict)
    streamed: frozenset[str] = frozenset()
    cheaper: Mapping[int, str] = field(default_factory=dict)
    used: set[sympy.Symbol] = field(default_factory=set)
    along: Callable[[ir.Scan | ir.Sort, Sequence[Var]], Var] | None = None
    _pieces: frozenset[int] = field(init=False)
    _chosen: frozenset[int] = field(init=False)
    _separate: frozenset[int] = field(init=False)
    _counted: Mapping[int, object] = field(init=False)
    _branches: dict[int, Scope] = field(default_factory=dict)  # of the piece that is being written
    _loads: dict[int, bool] = field(default_factory=dict)
    _varying: dict[tuple[int, str], bool] = field(default_factory=dict)
    _keep: list[ir.Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        plan = self.frame.plan
        values, looped = ir.values(plan.stores), plan.category is Category.REDUCTION
        branching = plan.facts.pieces and plan.category is not Category.MIXED
        found = pieces(values, plan.tiles) if branching else ()
        alike = [tile for tile in plan.tiles if self.frame.same_shape({tile.prefix}, ())]
        alone = looped or (plan.persistent and plan.workspace is None)
        chosen = alternatives(values, plan.tiles, alike, looped) if alone else ()
        self._pieces, self._chosen = frozenset(map(id, found)), frozenset(map(id, chosen))
        self._separate = products_added_in_16_bits(plan.stores, self.dtypes)
        self._counted = counted(plan.stores, self.frame.printer.simplifier) if plan.extents else {}

    # whole blocks

    @property
    def everything(self) -> frozenset[str]:
        """All tiles."""
        return frozenset(t.prefix for t in self.frame.plan.tiles)

    @property
    def block_shape(self) -> str:
        """The shape of a value that varies over all tiles."""
        return self.frame.shape(self.everything)

    def whole(self, var: Var, dtype: DType) -> str:
        """A value as a whole block of ``dtype``."""
        cast = "" if var.dtype is dtype else f".to({triton_type(dtype)})"
        text = materialised(var) + cast
        if var.literal or not self.frame.same_shape(var.tiles, self.everything):
            text = f"tl.broadcast_to({text}, {self.block_shape})"
        return text

    def line(self, scope: Scope, text: str, what: str = "tmp") -> str:
        """A name for ``text`` in ``scope``: a new one, or the name it already is."""
        return text if text.isidentifier() else self.lines(scope, text, 1, what)[0]

    def lines(self, scope: Scope, text: str, count: int, what: str = "tmp") -> tuple[str, ...]:
        """New names in ``scope`` for the ``count`` values of ``text``."""
        names = tuple(self.fresh(what) for _ in range(count))
        scope.lines.append(f"{', '.join(names)} = {text}")
        return names

    def fresh(self, what: str = "tmp") -> str:
        """The next unused name: ``tmp0``, ``tmp1`` …, and ``sum0`` … for accumulators."""
        self.names[what] += 1
        return f"{what}{self.names[what] - 1}"

    # where a value belongs

    def _context(self, value: ir.Value, context: Context) -> Context:
        """Masks matter only to values that read memory, elsewhere where they differ: each holds
        somewhere along its tiles, so that what is the same all along them is read there anyhow."""
        if not context or not self._reads(value):
            return ()
        tiles = [[t for t in "xyr" if self.varies(m, t)] for m in context]
        known = not self.frame.plan.sizes and all(tiles) and not any(map(self._reads, context))
        return () if known and not any(self.varies(value, t) for m in tiles for t in m) else context

    def _reads(self, value: ir.Value) -> bool:
        if id(value) not in self._loads:
            for v in (v for v in ir.walk([value]) if id(v) not in self._loads):
                own = isinstance(v, ir.Load) or (isinstance(v, ir.Compute) and v.op in _ASSERTED)
                reads = own or any(self._loads[id(o)] for o in ir.operands(v))
                # A scan has seen its whole row, whatever of it a mask leaves.
                self._loads[id(v)] = reads and not isinstance(v, ir.Scan | ir.Sort)
        return self._loads[id(value)]

    def varies(self, value: ir.Value, along: str = "r") -> bool:
        """Whether ``value`` differs along the tiles that begin with ``along``: the reduction (a
        finished one does not), or the rows."""
        if (id(value), along) not in self._varying:
            for v in ir.walk([value]):
                if (id(v), along) not in self._varying:
                    self._varying[id(v), along] = self._depends(v, along)
        return self._varying[id(value), along]

    def _depends(self, value: ir.Value, along: str) -> bool:
        if isinstance(value, ir.Reduce) and (along != "r" or not value.across):
            return along != "r" and not value.across  # of rows a block, though all be the same
        if along == "r" and isinstance(value, ir.Scan | ir.Sort):
            return True
        if isinstance(value, ir.Load | ir.IndexValue):
            tiles = (tile_of(self.frame.plan.tiles, s) for s in value.index.free_symbols)
            if any(t is not None and t.startswith(along) for t in tiles):
                return True
        return any(self._varying[id(o), along] for o in ir.operands(value))

    def _scope(self, value: ir.Value, context: Context) -> Scope:
        if self._branches:
            return next(reversed(self._branches.values()))
        if self.loop is None and self.ahead is None:
            return self.outer
        along = any(self.varies(v, self.walk) for v in (value, *context))
        if self.loop is not None:
            return self.loop if along else self.outer
        return self.outer if along or self.ahead is None else self.ahead

    def known(self, value: ir.Value, context: Context = ()) -> Var | None:
        """The variable that already holds ``value``, if one does in the open scopes."""
        keys = dict.fromkeys([(id(value), tuple(map(id, context))), (id(value), ())])
        for scope in (*self._branches.values(), self.loop, self.outer, self.ahead):
            for key in keys:
                if scope is not None and key in scope.known:
                    return scope.known[key]
        return None

    def define(self, value: ir.Value, var: Var) -> None:
        """From now on ``var`` holds ``value`` (a finished reduction) in the outer scope."""
        self.outer.known[id(value), ()] = var
        self._keep.append(value)

    # writing values

    def value(self, root: ir.Value, context: Context = ()) -> Var:
        """The variable that holds ``root``, written now if it is not known yet."""
        context = self._context(root, context)
        stack: list[tuple[ir.Value, Context, bool]] = [(root, context, False)]
        while stack:
            value, masks, ready = stack.pop()
            if self.known(value, masks) is not None:
                continue
            chosen = id(value) in self._chosen
            if ready or chosen:
                var = self._choose(value, masks) if chosen else self._write(value, masks)
                self._scope(value, masks).known[id(value), tuple(map(id, masks))] = var
                self._keep.append(value)
                continue
            if id(value) in self._pieces:
                self.value(ir.operands(value)[0], masks)
                self._branches[id(value)] = Scope()
            stack.append((value, masks, True))
            for one, under in reversed(needed(value, masks, self.dtypes)):
                stack.append((one, self._context(one, under), False))
        return self._at(root, context)

    def _at(self, value: ir.Value, context: Context) -> Var:
        var = self.known(value, self._context(value, context))
        assert var is not None
        return var

    def _assign(self, value: ir.Value, context: Context, text: str, tiles: frozenset[str]) -> Var:
        name = self.fresh()
        node = (
            self.nodes[value.buffer] if isinstance(value, ir.Load) else self.labels.get(id(value))
        )
        self._scope(value, context).lines.append(f"{name} = {text}{remark(node)}")
        return Var(name, value.dtype, tiles)

    def _write(self, value: ir.Value, context: Context) -> Var:
        match value:
            case ir.Constant():
                return constant_var(value)
            case ir.IndexValue():
                return self._index_value(value, context)
            case ir.Load():
                return self._load(value, value, context, self.others.get(id(value)))
            case ir.Compute():
                return self._compute(value, context)
            case ir.Masked():
                return self._masked(value, context)
            case ir.Reduce():
                raise InvalidProgram("a reduction is used in its own loop", got=value.kind.value)
            case ir.Scan() | ir.Sort():
                assert self.along is not None
                return self.along(value, [self._at(a, context) for a in value.args])

    def _index_value(self, value: ir.IndexValue, context: Context) -> Var:
        text, tiles, _ = self._index(value.index, value.indirect, context)
        literal = {symbol for symbol, at in value.indirect if self._at(at, context).literal}
        own = text if value.index.is_Integer else operand(text)
        if value.index.free_symbols <= literal:  # a place among literals is one
            return Var(own, value.dtype, tiles, literal=True)
        if id(value) not in self._counted:
            text = f"{own}.to({triton_type(value.dtype)})"
        elif text.isidentifier():
            return Var(text, value.dtype, tiles)
        return self._assign(value, context, text, tiles)

    def _compute(self, value: ir.Compute, context: Context) -> Var:
        args = [self._at(a, context) for a in value.args]
        if value.op in _ASSERTED:
            return self._asserted(value, args, context)
        tiles = frozenset(t for a in args for t in a.tiles)
        texts = [a.text for a in args]
        tensors = {a.dtype for a in args if not a.literal}
        for position, arg in enumerate(args):
            alone = not tensors and position == 0
            if arg.literal and (alone or (arg.dtype is not DType.F32 and arg.dtype not in tensors)):
                texts[position] = materialised(arg)
        nonnegative = all(self._nonnegative(a) for a in value.args)
        text = triton_text(value.op, texts, [a.dtype for a in args], value.dtype, nonnegative)
        if text.startswith("_") or ("libdevice." in text and DType.F64 in tensors):
            # A literal has no shape; the device library takes it for a float32.
            texts = [materialised(a) for a in args]
            text = triton_text(value.op, texts, [a.dtype for a in args], value.dtype, nonnegative)
        if value.op is Op.CAST and text == texts[0]:
            return Var(text, value.dtype, tiles)
        if value.op is Op.CAST and id(value) in self._counted:
            text = f"{texts[0]}.to({self.frame.index_type})"
        if id(value) in self._separate:
            text = widened(texts[0], args[0].dtype)
        if id(value) in self.cheaper:
            text = f"{self.cheaper[id(value)]}({texts[0]})"
        if value.op is Op.CAST and self._is_chosen_by_byte(value.dtype):
            text = float8_text(texts[0], value.dtype)
        return self._branched(value, context, text, tiles)

    def _is_chosen_by_byte(self, dtype: DType) -> bool:
        """Whether what is converted to ``dtype`` needs ``float8_text``."""
        stored = (self.dtypes[store.buffer].is_float8 for store in self.frame.plan.stores)
        return dtype is DType.F8E5M2 or (dtype.is_float8 and sum(stored) > 1)

    def _asserted(self, value: ir.Compute, args: Sequence[Var], context: Context) -> Var:
        """The first of ``args``, after a line that has the device stop at what it may not be."""
        test, message = _ASSERTED[value.op]
        known = self.frame.printer.simplifier if id(value) in self._counted else None
        ends = known and value_bounds(value.args[0], known)
        test = "{0} < {1}" if ends and ends[0] >= 0 else test
        mask, _ = self._mask_text(args[0].tiles, context)
        where = "" if mask == "None" else f", {mask}"
        test = test.format(*map(materialised, args))
        self._scope(value, context).lines.append(f'tl.device_assert({test}, "{message}"{where})')
        return args[0]

    def _nonnegative(self, value: ir.Value) -> bool:
        if isinstance(value, ir.Constant):
            return not value.dtype.is_float and value.bits >= 0
        held = value.index if isinstance(value, ir.IndexValue) and is_held(value) else None
        return held is not None and self.frame.printer.simplifier.is_nonnegative(held)

    def _masked(self, value: ir.Masked, context: Context) -> Var:
        inner = (*context, value.mask)
        load = value.body
        if isinstance(load, ir.Load) and self.dtypes[load.buffer].keeps(value.other.number):
            return self._load(value, load, inner, value.other)  # which Triton rounds as stored
        mask, body = self._at(value.mask, context), self._at(value.body, inner)
        tiles = mask.tiles | body.tiles
        condition = materialised(mask)
        constant, dtype = constant_var(value.other), value.other.dtype
        zero = value.other.number == 0 and dtype.compute is DType.F32
        plain = zero or dtype in (DType.F32, DType.BOOL)  # which Triton converts as it is
        other = constant.text if plain else materialised(constant)
        text = f"tl.where({condition}, {materialised(body)}, {other})"
        return self._branched(value, context, text, tiles)

    def _branched(
        self, value: ir.Compute | ir.Masked, context: Context, text: str, tiles: frozenset[str]
    ) -> Var:
        """The variable of ``text``, under a branch if one is open; asked for before a loop."""
        piece, branch = piece_of(value), self._branches.pop(id(value), None)
        if piece is None or branch is None:
            return self._assign(value, context, text, tiles)
        mask, _, other = piece
        whole = materialised(constant_var(other), self.frame.shape(tiles))
        found = self._assign(value, context, whole, tiles)
        test = f"tl.max({materialised(self._at(mask, context))}.to(tl.int32)) > 0"
        if self.loop is not None and (id(mask), ()) in self.outer.known:
            test = self.line(self.outer, test, "any")
        lines = [f"    {line}" for line in (*branch.lines, f"{found.text} = {text}")]
        self._scope(value, context).lines += [f"if {test}:", *lines]
        return found

    def _choose(self, value: ir.Value, context: Context) -> Var:
        """Write one of two values, one for all points of a program: the other is not loaded."""
        test, *sides = ir.operands(value)
        condition = materialised(self.value(test, context))
        lines, name, tiles = [f"if {condition}:"], self.fresh(), frozenset[str]()
        for side in sides:
            self._branches[id(value)] = Scope()
            found = self.value(side, context)
            own, tiles = self._branches.pop(id(value)).lines, tiles or found.tiles
            text = materialised(found, self.frame.shape(tiles))
            lines += [f"    {line}" for line in (*own, f"{name} = {text}")] + ["else:"]
        self._scope(value, context).lines += lines[:-1]
        return Var(name, value.dtype, tiles)

    # indices and memory

    def _index(
        self, expr: sympy.Expr, indirect: ir.Indirect, context: Context
    ) -> tuple[str, frozenset[str], bool]:
        """The text of an index, the tiles it varies over, and whether it is at whole vectors of an
        aligned row, which are counted in columns."""
        tiles: set[str] = set()
        names: dict[sympy.Symbol, str] = {}
        for symbol, value in indirect:
            var = self._at(value, context)
            tiles |= var.tiles
            # In the kernel's index type: it is within range, and address arithmetic stays narrow.
            known = var.dtype is self.frame.plan.index_dtype and not self.frame.plan.extents
            cast = "" if var.literal or known else f".to({self.frame.index_type})"
            names[symbol] = var.text + cast
        for symbol in expr.free_symbols:
            prefix = tile_of(self.frame.plan.tiles, symbol)
            if prefix is not None:
                tiles.add(prefix)
                self.used.add(symbol)
        printer = self.frame.printer
        if names:
            printer = IndexPrinter(printer.simplifier, {**printer.names, **names}, triton=True)
        aligned = self.frame.plan.aligned
        moved = None if aligned is None or indirect else aligned.moved(expr)
        return printer.text(expr if moved is None else moved), frozenset(tiles), moved is not None

    def _mask_text(self, tiles: frozenset[str], context: Context) -> tuple[str, frozenset[str]]:
        """All masks of an access over ``tiles`` joined, and the tiles they vary over."""
        held = [self._at(mask, context[: context.index(mask)]) for mask in context]
        covered = tiles.union(*(var.tiles for var in held))
        last = ["last"] * (self.frame.plan.facts.alone and self.loop is None)  # others know no sum
        masks = [*self.frame.masks(covered), *map(materialised, held), *last]
        return " & ".join(masks) or "None", covered

    def _address(self, buffer: str, index: str, spread: str | None) -> str:
        pointer = self.pointers[buffer]
        if spread is not None:
            index = f"tl.full({spread}, 0, {self.frame.index_type}) + {summand(index)}"
        if index == "0":
            return pointer
        return f"{pointer} + ({index})" if " " in index else f"{pointer} + {index}"

    def _load(
        self,
        value: ir.Value,
        load: ir.Load,
        context: Context,
        other: ir.Constant | None,
        count: int = 1,
    ) -> Var:
        index, tiles, whole = self._index(load.index, load.indirect, context)
        mask, covered = self._mask_text(tiles, context)
        if count > 1:
            index, mask = columns(index, mask, count)
        spread = None if self.frame.same_shape(tiles, covered) else self.frame.shape(covered)
        if mask == "r0_mask" and whole:
            mask = "r0_inside"
        parts = [self._address(load.buffer, index, spread), mask]
        if other is not None:
            parts.append(f"other={literal_text(other)}")
        if hint := self._eviction(load, covered):
            parts.append(f'eviction_policy="{hint}"')
        text = f"tl.load({', '.join(parts)})"
        stored = self.dtypes[load.buffer]
        if stored is DType.BOOL:
            text += ".to(tl.int1)"
        elif stored is not load.dtype:
            text += f".to({triton_type(load.dtype)})"
        return self._assign(value, context, text, covered)

    def in_groups(self, stores: Sequence[ir.Store]) -> None:
        """Load the plan's runs, of which every value is known then, and write the ``stores`` of
        each group, which are neighbours."""
        for run in self.frame.plan.runs:
            head = run[0]
            load, masks, other = head, tuple[ir.Value, ...](), None
            if isinstance(head, ir.Masked):
                self.value(head.mask)
                load, masks, other = head.body, (head.mask,), head.other
            assert isinstance(load, ir.Load)
            block = self._load(head, load, masks, other, len(run))
            names = self.lines(self.outer, f"_{len(run)}_columns({block.text})", len(run))
            for one, name in zip(run, names, strict=True):
                self.define(one, Var(name, block.dtype, block.tiles))
        for first, store in list(enumerate(stores))[::LANES]:
            dtype = self.dtypes[store.buffer]
            values = [as_rounded(s.value, dtype) or s.value for s in stores[first : first + LANES]]
            texts = ", ".join(self.whole(self.value(value), dtype) for value in values)
            index, tiles, _ = self._index(store.index, (), ())
            index, mask = columns(index, self._mask_text(tiles, ())[0], LANES)
            place = self._address(store.buffer, index, None)
            self.outer.stores.append(f"tl.store({place}, _beside({texts}), {mask})")

    def _eviction(self, load: ir.Load, tiles: frozenset[str]) -> str:
        """Data that other programs or later loops read again is kept, data read for the
        last time is dropped first."""
        if self.frame.plan.category is Category.TEMPLATE and self.loop is not None:
            return ""  # every tile is read by many programs
        level = {t.prefix for t in self.frame.plan.tiles if t.numel != 1}
        if self.loop is None and not self.frame.plan.persistent:
            level = {p for p in level if not p.startswith("r")}
        if not level <= tiles:
            return "evict_last"
        return self.evictions.get(id(load), "") if self.loop is not None else ""

    def store(self, store: ir.Store, tiles: Iterable[str]) -> None:
        """Write ``store``, which runs over ``tiles``, at the end of the open scope."""
        level, dtype, value = frozenset(tiles), self.dtypes[store.buffer], store.value
        if dtype.is_float and not store.mode.is_atomic:
            value = as_rounded(value, dtype) or value
        var = self.value(value)
        for _, at in store.indirect:
            self.value(at)
        if store.mask is not None:
            self.value(store.mask)
        index, own, at_vectors = self._index(store.index, store.indirect, ())
        spread = None if self.frame.same_shape(own, level) else self.frame.shape(level)
        shape = self.frame.shape(level)
        text = materialised(var, shape)
        if not var.literal and not self.frame.same_shape(var.tiles, level):
            text = f"tl.broadcast_to({text}, {shape})"
        if var.dtype is not dtype and self._is_chosen_by_byte(dtype):
            text = float8_text(text, dtype)
        mask, _ = self._mask_text(level, () if store.mask is None else (store.mask,))
        parts = [self._address(store.buffer, index, spread), text, mask]
        name = f"tl.{store.mode.value}" if store.mode.is_atomic else "tl.store"
        if store.mode.is_atomic:
            parts[1:] = f"{summand(text)}.to({triton_type(dtype)})", mask, 'sem="relaxed"'
        streams = store.buffer in self.streamed and self.loop is not None
        hint = ', cache_modifier=".cs"' if streams and not store.mode.is_atomic else ""
        scope = self.loop if self.loop is not None else self.outer
        if not at_vectors or mask != "r0_mask" or store.mode.is_atomic:
            scope.stores.append(f"{name}({', '.join(parts)}{hint})")
            return
        whole = "r0_whole = True if PART == 1 else (r0_column >= r0_begin) & (r0_column < r0_end)"
        if whole not in scope.lines:
            scope.lines.append(whole)
        scope.stores += [
            f"tl.store({parts[0]}, {parts[1]}, r0_whole{hint})",
            "if PART != 1:",
            f"    tl.store({parts[0]}, {parts[1]}, r0_mask & (r0_whole == 0))",
        ]
