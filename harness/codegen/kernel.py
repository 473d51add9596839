"""A kernel plan becomes the text of one ``@triton.jit`` function."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sympy

from harness.codegen.body import Body
from harness.codegen.exchange import Exchange
from harness.codegen.frame import (
    Frame,
    build_frame,
    entry_lines,
    in_whole_blocks,
    index_lines,
    launch_grid,
    parallel_lines,
    quotients,
    reduction_base,
    reduction_lines,
    size_lines,
    tile_of,
    wrapped,
)
from harness.codegen.lookback import closing_lines, opening_lines
from harness.codegen.reduction import Reducer
from harness.codegen.rounding import normal_roots, short_exponentials
from harness.codegen.scan import Scanner
from harness.codegen.source import KernelSource
from harness.codegen.tail import functions_called
from harness.codegen.values import INDENT, Scope
from harness.dtypes import DType
from harness.heuristics.cooperative import PROGRAMS, RSPLIT
from harness.heuristics.facts import Hint
from harness.heuristics.limits import STAGES, VECTOR, block_name
from harness.heuristics.persistent import LEARNT
from harness.ir.nodes import Load, Masked, Reduce, Store, Value, operands, store_roots, walk
from harness.ir.op_triton import triton_type
from harness.ir.reach import grouped
from harness.schedule.group import SegmentKind
from harness.tiling.passes import Loaded, ReductionKey, components, loaded_by_segment, reduction_key
from harness.tiling.plan import (
    ArgumentKind,
    Category,
    KernelPlan,
    PlanSegment,
    SharedRows,
    Workspace,
)
from harness.tiling.rewrite import contains_reduce

_BEYOND_CACHE = 256 << 20
"""Bytes of a kernel after which no cache has much of them for the next one: where it reads some
again, what it writes is the first to leave the cache (softmax of 65536 columns 147 → 141 us)."""
_SMALL, _MANY_LOADS = 2 << 20, range(24, 48)
"""Bytes, at most, and loads of a pointwise kernel that come first: the device's compiler has them
wait in turns where they are used. On an H200 27 to 34 take 0.85 to 0.9 of the time; 20, or 34 of
2.8 MB, the same; more were not timed."""
_LOADED_AHEAD = (512, 4096, 1024)
"""The shortest and the longest row, rounded up, and the most rows whose later loads come first."""
_PARTS = (  # a row's first block, those that need no mask, the last
    "r0_last if PART == 2 else R0_BLOCK * PART",
    "r0_stop if PART == 2 else r0_last if PART == 1 else tl.minimum(r0_last, R0_BLOCK)",
)
_COMMENT = re.compile(r"  # \w+$", re.MULTILINE)


def render(plan: KernelPlan, number: int) -> KernelSource:
    """The text of ``plan``'s kernel, named ``<plan.name>_<number>``. The text contains the combine
    functions it uses, before the kernel. Raises ``InvalidProgram`` for a plan that uses a reduction
    before its loop has closed."""
    name = f"{plan.name}_{number}"
    helpers, tail = function(plan)
    # Assertions are compiled only where a kernel asks for it.
    asserts = "(debug=True)" if "tl.device_assert(" in tail else ""
    above = [helpers[h] + "\n\n" for h in sorted(helpers)]
    text = "".join((*above, f"@triton.jit{asserts}\ndef {name}", tail))
    executed = _COMMENT.sub("", "".join((*above, tail)))  # not where it came from
    digest = hashlib.sha256(executed.encode()).hexdigest()
    return KernelSource(name, text, digest, launch_grid(plan), plan)


def function(plan: KernelPlan, program: str | None = None) -> tuple[dict[str, str], str]:
    """The functions that ``plan``'s kernel calls, by name, and its own text from the parameters
    on. ``program``: the last parameter before the block sizes, which tells the program's number."""
    helpers, lines = _written(plan, program)
    if plan.held is not None:
        more, held = _written(plan.held, program)
        helpers, (held, lines) = helpers | more, ([INDENT + t for t in b] for b in (held, lines))
        lines = ["if HELD:", *held, "else:", *lines]
    parameters = [a.name for a in plan.arguments] + ([program] if program else [])
    parameters += [f"{name}: tl.constexpr" for name in constants(plan)]
    body = "".join(f"{INDENT}{line}\n" for line in (*index_lines(plan), *lines))
    called = functions_called("".join((*helpers.values(), _COMMENT.sub("", body))))
    return called | helpers, f"({', '.join(parameters)}):\n{body}"


def constants(plan: KernelPlan) -> list[str]:
    """The parameters of ``plan``'s kernel that are known when it is compiled, block sizes first:
    x, y, z, then reductions."""
    shared = isinstance(plan.workspace, SharedRows) and not plan.workspace.columns
    programs = (RSPLIT, PROGRAMS)[: 1 if plan.persistent else 2] if shared else ()
    in_order = sorted(plan.tiles, key=lambda t: (t.is_reduction, t.prefix))
    blocks = dict.fromkeys(block_name(tile.prefix) for tile in in_order)
    chosen = [*blocks, *programs, *([STAGES] if plan.facts.strips else [])]
    return [*chosen, *(["ALIGNED"] if plan.aligned is not None else []), *variants(plan)]


def variants(plan: KernelPlan) -> list[str]:
    """The parameters that say what of ``plan``'s kernel is compiled for the sizes of a launch."""
    unknown = [f"{t.prefix.upper()}EVEN" for t in plan.tiles if not t.numel.is_Integer]
    turns = plan.facts.hint is Hint.OUTER or plan.facts.run > 0
    chunks = ["CHUNKS", *["UNROLL"] * turns] if plan.facts.chunked else []
    held, wrap = ["HELD", "LEAST"] * (plan.held is not None), ["WRAP"] * bool(wrapped(plan))
    parts = ["PARTS"] * bool(quotients(plan))
    return ["WIDE"] * bool(plan.extents) + parts + held + chunks + wrap + unknown


def _written(plan: KernelPlan, program: str | None) -> tuple[dict[str, str], list[str]]:
    """The functions of ``plan``'s kernel that are its own, and its lines."""
    own, programs, number = plan.workspace, "RSPLIT", "tl.program_id(0) % RSPLIT"
    if plan.facts.chunked:
        programs, number = "CHUNKS", f"{program} % CHUNKS" if program else "tl.program_id(1)"
        program = program and f"({program} // CHUNKS)"
    exchange = Exchange(plan, own.each, programs, number) if isinstance(own, SharedRows) else None
    frame = build_frame(plan)
    kernel = _Kernel(plan, replace(frame, program=program or frame.program), exchange=exchange)
    lines = kernel.lines()
    return kernel.functions, lines


@dataclass(slots=True)
class _Kernel:
    """One kernel being written, segment by segment."""

    plan: KernelPlan
    frame: Frame
    exchange: Exchange | None = None
    functions: dict[str, str] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _ahead: tuple[list[str], list[str]] = ([], [])
    _in_memory: set[str] = field(default_factory=set)
    _done: set[int] = field(default_factory=set)
    _components: dict[ReductionKey, list[Reduce]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The function's body, one string per line, indented relative to it."""
        nodes = {b.name: b.node for b in self.plan.buffers}
        labels = {id(s.value): nodes[s.buffer] for s in self.plan.stores}
        dtypes = {b.name: b.dtype for b in self.plan.buffers}
        tensors = (a for a in self.plan.arguments if a.kind is not ArgumentKind.SIZE)
        pointers = {buffer: a.name for a in tensors for buffer in a.buffers}
        body = Body(self.frame, pointers, dtypes, nodes, labels)
        body.along = Scanner(body, self.functions)
        body.cheaper = dict.fromkeys(normal_roots(self.plan.stores), "tl.rsqrt")
        if self._looped:  # in a block it takes registers: softmax of 16384 columns 135 -> 138 us
            body.cheaper |= dict.fromkeys(short_exponentials(self.plan.stores, dtypes), "_exp")
        if self.plan.category is Category.MIXED:
            body.walk, body.ahead = "x", Scope()
        self._components = components(self.plan.stores)
        passes = loaded_by_segment(self.plan.segments)
        seen: Loaded = set().union(*passes)
        again = self._looped and sum(map(len, passes)) > len(seen)
        if again and self.plan.bytes_moved >= _BEYOND_CACHE:
            body.streamed = frozenset(s.buffer for s in self.plan.stores) - {b for b, _ in seen}
        self._load_ahead(body, passes[0], seen - passes[0])
        if self._spread is not None:
            self._tell_ahead(body, self._spread)
        for number, segment in enumerate(self.plan.segments):
            match segment.kind:
                case SegmentKind.LOOP if self._looped:
                    self._loop(body, segment, number, passes)
                case SegmentKind.LOOP | SegmentKind.FLAT:
                    self._flat(body, segment)
                case SegmentKind.ACROSS:
                    self._across(body, segment)
        return self._framed(body)

    def _framed(self, body: Body) -> list[str]:
        """The text with what comes before and after it."""
        if self._spread is not None:
            leave = f"_leave(row_words, {self._spread.words}, RSPLIT)"
            return [*self._head(body), *self._text, leave]
        if self.exchange is not None and not self.plan.facts.chunked:
            rows, reduced = self.plan.tiles
            head = [*size_lines(self.frame), *reduction_base(self.frame, reduced)]
            entries = entry_lines(self.frame, rows, frozenset(body.used))
            return self.exchange.wrap(head, entries + self._text, self.plan.index_dtype)
        shared = self.plan.workspace
        closing = closing_lines(shared) if isinstance(shared, Workspace) else []
        return self._head(body) + self._text + closing

    @property
    def _spread(self) -> Exchange | None:
        """What programs that hold parts of the rows of a strip tell each other by."""
        return self.exchange if self.plan.persistent else None

    @property
    def _looped(self) -> bool:
        alone = not self.plan.persistent and not isinstance(self.plan.workspace, Workspace)
        return alone and any(t.is_reduction for t in self.plan.tiles)

    def _head(self, body: Body) -> list[str]:
        used = frozenset(body.used)
        lines = size_lines(self.frame) + parallel_lines(self.frame, used)
        for tile in (t for t in self.plan.tiles if t.is_reduction):
            if self.plan.persistent:
                if self.exchange is not None:
                    lines.append(f"tl.static_assert(R0_BLOCK * RSPLIT >= {tile.numel})")
                    lines.append("r0_first = tl.program_id(0) % RSPLIT * R0_BLOCK")
                lines += reduction_lines(self.frame, tile, used)
                continue
            lines += reduction_base(self.frame, tile)
            if self.exchange is not None:
                lines += self.exchange.part()
            if isinstance(self.plan.workspace, Workspace):
                lines += opening_lines(self.plan.workspace)
                lines += reduction_lines(self.frame, tile, used)
        return lines

    # segments without a loop

    def _load_ahead(self, body: Body, first: Loaded, later: Loaded) -> None:
        """What only segments after the first load is loaded before they wait for its reductions
        where a row's own is two loads, one after the other (what lies at a target); what is the
        same for all rows where these begin anywhere (a layer norm of 32768 x 257 on an H200: 14.1
        us, not 18.0; two such rows of 12345 beside its own take 232 registers: 116 us, not 92), or
        tiles have two directions; all of it where there are few rows, of several warps each:
        nothing else hides it. A small pointwise kernel's many are, too."""
        facts, every = self.plan.facts, _loads(store_roots(self.plan.stores))
        if self.plan.category is Category.POINTWISE and not self.plan.runs:
            known = [v for v in every if not v.indirect]
            small = self.plan.bytes_moved <= _SMALL and len(known) in _MANY_LOADS
            for value in known if small else ():
                body.value(value)
        if self.plan.category is not Category.PERSISTENT:
            return
        least, most, rows = _LOADED_AHEAD
        block = dict(facts.fixed_blocks).get(block_name("r0_"), 0)
        few = facts.parallel <= rows and least <= block <= most
        apart = block > 0 and (facts.hint is Hint.MIXED or facts.reduced % VECTOR > 0)
        own = {store.buffer for store in self.plan.stores}
        later = {(buffer, index) for buffer, index in later if buffer not in own}
        ahead = [v for v in every if (v.buffer, v.index) in later]
        if not few:
            row = [v for v in every if (v.buffer, v.index) in first]
            reached = [v for v in ahead if not body.varies(v)]
            alike = [v for v in ahead if apart and not body.varies(v, "x")]
            alike *= block <= LEARNT or len(alike) == 1
            far = block >= least and any(v.indirect for v in reached)
            ahead = [*row, *reached, *alike] if far else alike
        for value in ahead:
            body.value(value)

    def _flat(self, body: Body, segment: PlanSegment) -> None:
        eager = any(a.kind is ArgumentKind.IN_OUT for a in self.plan.arguments)
        reducer = Reducer(body, self.exchange)
        along = [t.prefix for t in self.plan.tiles]
        flat = [p for p in along if not p.startswith("r")]
        self._reduce(reducer, segment.stores)
        if self.plan.runs:
            body.in_groups([s for s in segment.stores if s.buffer not in self.plan.internal])
            return self._flush(body.outer)
        for store in segment.stores:
            whole = segment.kind is SegmentKind.LOOP and _spans(body, store)
            if store.buffer not in self.plan.internal:
                body.store(store, along if whole else flat)
            elif eager:
                body.value(store.value)
        self._flush(body.outer)

    def _tell_ahead(self, body: Body, exchange: Exchange) -> None:
        """What programs that have a part of a row each do before they finish it: load the next and
        tell its sums. What was loaded is held, so that finishing a row reads nothing."""
        reducer, held = Reducer(body, exchange), list[str]()
        row = [v for v in _loads(store_roots(self.plan.stores)) if body.varies(v, "x")]
        for load in row:
            body.value(load)
        alone = [v for v in row if v.dtype is DType.F32 and not body.varies(v)]
        early = len(body.outer.lines)
        self._reduce(reducer, self.plan.segments[0].stores)
        told, body.outer = body.outer, Scope()
        for number, value in enumerate(self._held(body, row, told)):
            var = told.known[id(value), ()]
            dtype = body.dtypes[value.buffer] if isinstance(value, Load) else value.dtype
            narrow, kind = dtype in (DType.F16, DType.BF16), triton_type(value.dtype)
            rounded = f".to({triton_type(dtype)})" * narrow
            # Begun alike, two of them would be one value: Triton knows values, not their names.
            start = f"tl.full({self.frame.shape(var.tiles)}, {number}, {kind}){rounded}"
            assert body.ahead is not None
            name = body.line(body.ahead, start, "held_")
            held.append(f"{name} = {var.text}{rounded}")
            wide = f"{name}.to({kind})" if narrow else name
            body.define(value, replace(var, text=body.line(body.outer, wide)))
        own = told.known[id(alone[0]), ()].text if alone else reducer.parts[0].names[0]
        early = early if alone else len(told.lines)
        exchange.tell(reducer.parts, (early, own), told, body.outer)
        self._ahead = told.lines, held

    def _held(self, body: Body, row: Sequence[Load], told: Scope) -> list[Value]:
        """What finishing a row needs of it besides its sums: what it loads, or what all that this
        is for is computed from alone, if that was ``told`` in float32 already, as a norm's rows
        are normalised for their sums (a fifth of the instructions less)."""
        roots = store_roots(self.plan.stores)
        uses = ((o, user) for user in walk(roots, set(self._done)) for o in operands(user))
        users = grouped(uses, lambda use: id(use[0]))
        chosen: list[Value] = []
        for load in (v for v in row if body.varies(v)):
            value: Value = load
            while len(own := users.get(id(value), [])) == 1:
                if own[0][1].dtype is not DType.F32 or (id(own[0][1]), ()) not in told.known:
                    break
                value = own[0][1]
            chosen.append(value)
        rest = {id(v) for v in walk(roots, self._done | {id(v) for v in chosen})}
        return list(dict.fromkeys((*chosen, *(v for v in row if id(v) in rest))))

    def _flush(self, scope: Scope) -> None:
        self._text += scope.lines + scope.stores
        scope.lines.clear()
        scope.stores.clear()

    # loops

    def _loop(
        self, body: Body, segment: PlanSegment, number: int, passes: Sequence[Loaded]
    ) -> None:
        later, body.evictions = set[object]().union(*passes[number + 1 :]), {}
        for load in walk(store_roots(segment.stores), self._done):
            if isinstance(load, Load):
                last = "" if load.buffer in self.plan.cached else "evict_first"
                again = (load.buffer, load.index) in later
                body.evictions[id(load)] = "evict_last" if again else last
        if any(buffer in self._in_memory for buffer, _ in passes[number]):
            # What another thread stored in an earlier loop must be visible before it is read.
            self._text.append("tl.debug_barrier()")
            self._in_memory.clear()
        loop = body.loop = Scope()
        before = frozenset(body.used)
        body.used = set()
        reducer = Reducer(body, self.exchange)
        after: list[Store] = []
        self._reduce(reducer, segment.stores)
        for store in segment.stores:
            if not _spans(body, store):
                after.append(store)
            elif store.buffer not in self.plan.internal:
                body.store(store, [t.prefix for t in self.plan.tiles])
                self._in_memory.add(store.buffer)
        self._write_loop(body, loop, frozenset(body.used))
        body.used |= before
        body.loop = None
        reducer.finish()
        for store in after:
            if store.buffer not in self.plan.internal:
                body.store(store, [t.prefix for t in self.plan.tiles if not t.is_reduction])
        self._flush(body.outer)

    # columns, across the rows that a program walks

    def _across(self, body: Body, segment: PlanSegment) -> None:
        """Everything so far is of one block of rows. Here it becomes the loop's, with what the
        columns come to in registers, stored after the loop."""
        assert body.ahead is not None
        rows = body.loop = body.outer
        body.outer, body.ahead = body.ahead, None
        reducer = Reducer(body, along="x")
        self._reduce(reducer, segment.stores)
        walked, used = self.plan.tiles[1], frozenset(body.used)
        if self._spread is not None:
            told, held = self._ahead
            entries = entry_lines(self.frame, walked, used)
            blocks = told, [*self._text, *rows.lines], held
            walk = self._spread.walk(entries, blocks, self.frame.index_type)
            self._text = [*body.outer.lines, *walk]
        else:
            lines = reduction_lines(self.frame, walked, used)
            lines += [*self._text, *rows.lines]
            self._text = [
                *reduction_base(self.frame, walked),
                *body.outer.lines,
                f"for xoffset in tl.range(0, xnumel, {block_name('x')}, num_stages={STAGES}):",
                *(INDENT + line for line in lines),
            ]
        body.outer.lines.clear()
        body.loop = None
        reducer.finish()
        for store in segment.stores:
            body.store(store, [t.prefix for t in self.plan.tiles if t is not walked])
        self._flush(body.outer)

    def _write_loop(self, body: Body, loop: Scope, used: frozenset[sympy.Symbol]) -> None:
        if not loop.lines and not loop.stores:
            return
        tile, *twin = [t for t in self.plan.tiles if t.is_reduction]
        outer, body.outer.lines = body.outer.lines, []
        self._text += outer
        block, prefix = block_name(tile.prefix), tile.prefix
        first, stop = self.frame.bounds(prefix)
        walk = f"{first}, {stop}, {block}"
        how = ", loop_unroll_factor=UNROLL" * ("UNROLL" in variants(self.plan))
        how += f", num_stages={STAGES}" * self.plan.facts.strips
        head = [f"for {prefix}offset in {'tl.' * bool(how)}range({walk}{how}):"]
        if self.plan.aligned is not None:
            first, stop = _PARTS
            if self.exchange is not None:
                first, stop = f"tl.maximum({first}, r0_first)", f"tl.minimum({stop}, r0_until)"
            parts = f"    for r0_offset in range({first}, {stop}, R0_BLOCK):"
            head = ["for PART in tl.static_range(3):", parts]
        elif in_whole_blocks(self.plan):
            ends = "r0_last if PART == 1 else r0_first, r0_last if PART == 0 else r0_stop"
            head = [
                "for PART in tl.static_range(1 if R0_EVEN else 2):",
                f"    for r0_offset in range({ends}, R0_BLOCK):",
            ]
        self._text += head
        indices = [line for t in (tile, *twin) for line in reduction_lines(self.frame, t, used)]
        lines = (*indices, *loop.lines, *loop.stores)
        self._text += [INDENT * len(head) + line for line in lines]

    # reductions and passes over memory

    def _reduce(self, reducer: Reducer, stores: Sequence[Store]) -> None:
        """Have ``reducer`` write the reductions that are not computed yet, each with all components
        that the kernel uses, also those that only a later segment uses."""
        for value in list(walk(store_roots(stores), self._done)):
            if isinstance(value, Reduce) and id(value) not in self._done:
                group = self._components[reduction_key(value)]
                self._done.update(id(r) for r in group)
                reducer.add(group)


def _loads(roots: Sequence[Value]) -> list[Load]:
    """What ``roots`` load whatever a mask says."""
    masked = {id(v) for v in walk(roots) if isinstance(v, Masked)}
    return [v for v in walk(roots, masked) if isinstance(v, Load) and not contains_reduce(v)]


def _spans(body: Body, store: Store) -> bool:
    """Whether a store of a loop happens at every reduced point (or once, after)."""
    own = [tile_of(body.frame.plan.tiles, s) or "x" for s in store.index.free_symbols]
    varying = any(body.varies(v) for v in (store.value, *(v for _, v in store.indirect)))
    return varying or store.repeated or any(prefix.startswith("r") for prefix in own)
