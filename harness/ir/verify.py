"""The verifier: a program that passes can be scheduled, rendered and interpreted. What it finds is
a bug in the compiler, so every message names the nest, the store and both sides of the
contradiction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import index_bounds as ib
from harness.ir import nodes as ir
from harness.ir.affine import linear, positions
from harness.ir.index import FloorDiv, Mod, Number
from harness.ir.ops import COMPUTE_TYPES, Op, Rule, result_dtype
from harness.ir.program import Buffer, Program, Role
from harness.ir.reach import reached
from harness.ir.simplify import Simplifier

_ROUNDED_TO = (DType.F8E4M3, DType.F8E5M2, DType.F16, DType.BF16)
"""Types that values are converted to and back, which rounds them: nothing is computed in them."""

ATOMIC = {
    ir.StoreMode.ATOMIC_ADD: (DType.F32, DType.F64, DType.I32, DType.I64),
    ir.StoreMode.ATOMIC_MAX: (DType.I32, DType.I64),
}
"""Types that every supported GPU does this in: 16-bit floats would round after every addition,
truth values have none, and the largest float depends on how NaN and zeros are ordered."""

COMPONENTS = {ir.ReduceKind.WELFORD: 2, ir.ReduceKind.SOFTMAX: 2}
"""How many components a reduction has, where that is not one."""


def verify(program: Program) -> None:
    """Check every rule of the intermediate representation. Raises ``InvalidProgram`` for the first
    rule broken."""
    buffers = {b.name: b for b in program.buffers}
    _check_buffers(program)
    written = {b.name for b in program.buffers if b.role is Role.INPUT}
    for nest in program.nests:
        _NestChecker(nest, buffers).check(written)
        written.update(s.buffer for s in nest.stores)
    _check_outputs(program, buffers, written)
    _check_mutations(program, buffers)


def _fail(what: str, where: str, got: object, expected: object) -> None:
    raise InvalidProgram(what, where=where, got=_said(got), expected=_said(expected))


def _said(found: object) -> str:
    """Types by their short names; several things with commas between them."""
    if isinstance(found, list | tuple | set | dict):
        return ", ".join(map(_said, found)) or "none"
    return found.short if isinstance(found, DType) else str(found)


def _check_buffers(program: Program) -> None:
    for kind, names in (
        ("buffers", [b.name for b in program.buffers]),
        ("nests", [n.name for n in program.nests]),
    ):
        if twice := [n for n, count in Counter(names).items() if count > 1]:
            _fail(f"two {kind} have one name", program.name, twice, "names used once")
    for buffer in program.buffers:
        where = f"{program.name}: {buffer.name}"
        if len(buffer.shape) != len(buffer.stride):
            got = f"{len(buffer.shape)} sizes, {len(buffer.stride)} strides"
            _fail("a buffer's shape and stride disagree in rank", where, got, "as many of both")
        for expr in (*buffer.shape, *buffer.stride):
            if not all(s.is_positive for s in expr.free_symbols):
                what = "a buffer's layout uses something other than sizes"
                _fail(what, where, expr, "numbers and size symbols")
    if not program.nests and not program.outputs:
        _fail("a program does nothing", program.name, "no nests, no outputs", "at least one")


def _check_outputs(program: Program, buffers: Mapping[str, Buffer], written: set[str]) -> None:
    for name in program.outputs:
        if name not in buffers:
            _fail("an output is no buffer", program.name, name, [*buffers])
        if buffers[name].role is Role.TEMPORARY:
            _fail("an output is a temporary buffer", program.name, name, "an output or an input")
    for buffer in program.buffers:
        is_empty = any(size.is_zero for size in buffer.shape)
        if buffer.role is Role.OUTPUT and buffer.name not in written and not is_empty:
            _fail("an output is never written", program.name, buffer.name, "a store to it")
        if buffer.role is Role.OUTPUT and buffer.name not in program.outputs:
            what = "an output buffer is not among the outputs"
            _fail(what, program.name, buffer.name, program.outputs)


def _check_mutations(program: Program, buffers: Mapping[str, Buffer]) -> None:
    stored = {
        s.buffer for n in program.nests for s in n.stores if buffers[s.buffer].role is Role.INPUT
    }
    if stored != set(program.mutated):
        what = "the mutated inputs are not the inputs that are stored to"
        _fail(what, program.name, program.mutated, sorted(stored))
    nests = [*enumerate(program.nests)]
    first_store = {store.buffer: number for number, nest in nests[::-1] for store in nest.stores}
    old: set[str] = set()
    for number, nest in nests:
        loads = ir.loads(nest.stores)
        plain = {(s.buffer, s.index) for s in nest.stores if s.mode is ir.StoreMode.PLAIN}
        for name in sorted({v.buffer for v in loads} & stored):
            if first_store[name] >= number:
                # Elements that are changed where they lie are nobody's old contents afterwards.
                own = [
                    not v.indirect and (name, v.index) in plain for v in loads if v.buffer == name
                ]
                if first_store[name] > number or not all(own):
                    old.add(name)
            elif name in old:
                what = "a mutated input is read before and after it was overwritten"
                expected = f"reads before {program.nests[first_store[name]].name}, or none there"
                _fail(what, f"{program.name}: {nest.name}", f"load of {name}", expected)


class _NestChecker:
    """Checks one nest. A value is keyed with whether it stands inside a reduction."""

    def __init__(self, nest: ir.Nest, buffers: Mapping[str, Buffer]) -> None:
        self.nest, self.buffers, self._where = nest, buffers, nest.name
        self.axes = (*nest.axes, *nest.raxes)
        self.simplifier = Simplifier.of_axes(self.axes)

    def _fail(self, what: str, got: object, expected: object) -> None:
        _fail(what, self._where, got, expected)

    def _require_type(self, what: str, found: DType, *wanted: DType) -> None:
        if found not in wanted:
            self._fail(what, found, wanted)

    def _require_one(
        self, what: str, value: ir.Reduce | ir.Scan | ir.Sort, components: int
    ) -> None:
        """One operand, and a component that there is."""
        if len(value.args) != 1 or not 0 <= value.component < components:
            got = f"{len(value.args)} operands, component {value.component}"
            self._fail(what, got, f"1 operand, components below {components}")

    def check(self, written: set[str]) -> None:
        """All rules of this nest; ``written`` names what may be read."""
        self._check_axes()
        if not self.nest.stores:
            self._fail("a nest stores nothing", "no stores", "at least one")
        reductions = False
        for store in self.nest.stores:
            self._where = f"{self.nest.name}: store to {store.buffer}"
            self._check_store(store)
            for value in ir.walk(ir.store_roots([store])):
                self._check_value(value, written)
                reductions = reductions or isinstance(value, ir.Reduce | ir.Scan | ir.Sort)
            self._check_scopes(store)
        self._where = self.nest.name
        if self.nest.is_reduction != reductions:
            what, some = "reduction axes and reductions do not go together", "some" * reductions
            got = (
                f"{len(self.nest.raxes)} reduction axes, {some or 'no'} reductions, scans or sorts"
            )
            self._fail(what, got, "both or neither")

    def _check_axes(self) -> None:
        if twice := [v.name for v, n in Counter(a.var for a in self.axes).items() if n > 1]:
            self._fail("two axes share a variable", twice, "one axis each")
        for axis in self.axes:
            if not all(s.is_positive for s in sympy.sympify(axis.size).free_symbols):
                self._fail("an axis size is no size", axis.size, "numbers and sizes")
        if self.nest.raxes and ir.points(self.nest.raxes) == 1:
            self._fail("a nest reduces over a single point", "1 point", "its value, unreduced")

    def _check_store(self, store: ir.Store) -> None:
        buffer = self._buffer(store.buffer)
        along = self.nest.raxes if self.nest.is_scan else ()
        self._check_index(store.index, store.indirect, (*self.nest.axes, *along))
        if store.mask is None:
            self._check_extent(store.index, store.indirect, buffer)
        else:
            self._require_type("the mask of a store is not bool", store.mask.dtype, DType.BOOL)
        self._require_type("a store has the wrong type", store.value.dtype, buffer.dtype.compute)
        if store.mode.is_atomic:
            what = f"this type has no {store.mode.value.replace('_', ' ')}"
            self._require_type(what, buffer.dtype, *ATOMIC[store.mode])

    def _buffer(self, name: str) -> Buffer:
        if name not in self.buffers:
            self._fail("an access names no buffer", name, [*self.buffers])
        return self.buffers[name]

    def _check_value(self, value: ir.Value, written: set[str]) -> None:
        rounds = isinstance(value, ir.Compute) and value.op in (Op.CAST, Op.BITCAST)
        if not (rounds and value.dtype in _ROUNDED_TO):
            what = "a value has a type that nothing is computed in"
            self._require_type(what, value.dtype, *COMPUTE_TYPES)
        match value:
            case ir.Load():
                self._check_load(value, written)
            case ir.IndexValue():
                self._check_index(value.index, value.indirect, self.axes)
            case ir.Compute():
                self._check_compute(value)
            case ir.Masked():
                self._require_type("a mask is not bool", value.mask.dtype, DType.BOOL)
                for side in (value.body, value.other):
                    what = "the sides of a masked value differ in type"
                    self._require_type(what, side.dtype, value.dtype)
            case ir.Reduce():
                what = f"a {value.kind.value} reduction"
                self._require_one(f"{what} is malformed", value, COMPONENTS.get(value.kind, 1))
                types = reduced_dtype(value.kind, value.args[0].dtype)
                self._require_type(f"{what} has the wrong type", value.dtype, *types)
            case ir.Scan() | ir.Sort():
                self._check_scan(value)
            case ir.Constant():
                pass

    def _check_load(self, load: ir.Load, written: set[str]) -> None:
        buffer = self._buffer(load.buffer)
        what = f"a load of {load.buffer} has the wrong type"
        self._require_type(what, load.dtype, buffer.dtype.compute)
        if load.buffer not in written:
            self._fail("a buffer is read before it is written", load.buffer, "an earlier store")
        self._check_index(load.index, load.indirect, self.axes)

    def _check_compute(self, value: ir.Compute) -> None:
        dtypes = tuple(a.dtype for a in value.args)
        if value.op.rule is Rule.CONVERT:
            if len(dtypes) != 1:
                self._fail("a conversion takes one operand", len(dtypes), 1)
            return
        try:
            want = result_dtype(value.op, dtypes)
        except InvalidProgram as error:
            raise InvalidProgram(
                error.what, f"{self._where}: {value.op.value}", error.got, error.expected
            ) from error
        self._require_type(f"{value.op.value} has the wrong result type", value.dtype, want)

    def _check_scan(self, value: ir.Scan | ir.Sort) -> None:
        if isinstance(value, ir.Scan) and isinstance(value.kind, ir.Combine):
            types = [v.dtype for v in (*value.kind.parameters, *value.kind.results)]
            if types != 3 * [arg.dtype for arg in value.args]:
                self._fail("a scan's function does not fit its operands", types, "types alike")
            return
        pairs = isinstance(value, ir.Sort) or value.kind in (ir.ScanKind.MAX, ir.ScanKind.MIN)
        self._require_one("a scan or a sort is malformed", value, 1 + pairs)
        of = value.args[0].dtype
        want = DType.I64 if value.component else of
        sums = isinstance(value, ir.Scan) and value.kind in (ir.ScanKind.SUM, ir.ScanKind.PROD)
        if value.dtype is not want or (sums and of not in (DType.I64, DType.F32, DType.F64)):
            got = f"{value.dtype.short} of {of.short}"
            self._fail("a scan or a sort has the wrong type", got, want)

    def _check_index(
        self, index: sympy.Expr, indirect: ir.Indirect, axes: Iterable[ir.Axis]
    ) -> None:
        """Variables are axes, sizes or bound; bound values are integers; ``index`` is whole."""
        known = {a.var for a in axes} | {s for s, _ in indirect}
        strange = [
            s.name
            for s in self.simplifier.free_symbols(index)
            if s not in known and not s.is_positive and not isinstance(s, Number)
        ]
        if strange:
            what = f"the index {index} uses a variable that is no axis here"
            self._fail(what, sorted(strange), sorted(s.name for s in known))
        if index.is_integer is False:
            self._fail("an index is not whole", index, "an integer expression")
        for symbol, value in indirect:
            if not value.dtype.is_integer:
                what = f"the index {symbol.name} is read from something that is no integer"
                self._fail(what, value.dtype, "an integer")

    def _check_extent(self, index: sympy.Expr, indirect: ir.Indirect, buffer: Buffer) -> None:
        """Where bounds are known they must lie inside the storage."""
        if indirect or any(a.size == 0 for a in self.axes):
            return
        (low, high), extent = self.simplifier.bounds(index), sympy.sympify(buffer.extent)
        below, above = ib.less(low, 0), ib.less(extent - 1, high)
        # Attained where each variable occurs in one linear term, or in several that grow alike.
        simple = self.simplifier.simplify(index)
        form = linear(simple, positions(a.var for a in self.axes))
        terms = (sympy.Add.make_args(sympy.expand(n)) for n in (form.strides if form else ()))
        single = form and all(len({t.could_extract_minus_sign() for t in n}) == 1 for n in terms)
        if (below or above) and single and not simple.has(FloorDiv, Mod):
            what = f"the index {index} leaves {buffer.name}"
            self._fail(what, f"{low} to {high}", f"0 to {extent - 1}")

    def _check_scopes(self, store: ir.Store) -> None:
        """Reduction variables live only inside reductions, except in nests that scan or sort;
        loads outside of masks stay within their buffers."""
        raxes = set() if self.nest.is_scan else {a.var for a in self.nest.raxes}

        def under(use: tuple[ir.Value, bool, bool]) -> list[tuple[ir.Value, bool, bool]]:
            value, reduced, masked = use
            inside = reduced or isinstance(value, ir.Reduce)
            if isinstance(value, ir.Masked):
                return [(value.mask, inside, masked), (value.body, inside, True)]
            return [(o, inside, masked) for o in ir.operands(value)]

        for use in reached([(v, False, False) for v in ir.store_roots([store])], under):
            self._check_use(*use, raxes)

    def _check_use(
        self, value: ir.Value, reduced: bool, masked: bool, raxes: set[sympy.Symbol]
    ) -> None:
        if isinstance(value, ir.Load | ir.IndexValue) and not reduced:
            outside = self.simplifier.free_symbols(value.index) & raxes
            if outside:
                what = "a reduction variable is used outside its reduction"
                self._fail(what, sorted(s.name for s in outside), "parallel variables alone")
        if isinstance(value, ir.Scan | ir.Sort) and not (reduced or self.nest.is_scan):
            self._fail("a scan stands beside a reduction", "both", "a nest for each")
        if isinstance(value, ir.Reduce) and reduced:
            self._fail("a reduction stands inside a reduction", value.kind.value, "one")
        if isinstance(value, ir.Load) and not masked:
            self._check_extent(value.index, value.indirect, self._buffer(value.buffer))


def reduced_dtype(kind: ir.ReduceKind, dtype: DType) -> tuple[DType, ...]:
    """The result types a reduction of operands of ``dtype`` may have."""
    match kind:
        case ir.ReduceKind.SUM | ir.ReduceKind.PROD:
            return (dtype,) if dtype.is_float else (DType.I64, dtype)
        case ir.ReduceKind.MAX | ir.ReduceKind.MIN | ir.ReduceKind.XOR | ir.ReduceKind.DOT:
            return (dtype,)
        case ir.ReduceKind.ANY:
            return (DType.BOOL,)
        case ir.ReduceKind.ARGMAX | ir.ReduceKind.ARGMIN:
            return (DType.I64,)
        case ir.ReduceKind.WELFORD | ir.ReduceKind.SOFTMAX:
            return (dtype,) if dtype.is_float else (DType.F32,)
