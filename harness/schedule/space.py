"""Nests over dimensions: the form in which loops of different shapes are compared.

A **dimension** is one loop variable with a size. A loop may be split into several dimensions (24
into 4 × 6) and contiguous dimensions merged into one, without changing what is computed. An
**affine access** says of one address how far it moves per step of each dimension. A **candidate**
is a kernel in the making: dimensions shared by all its nests, each either parallel or reduced, and
a **view** of every nest: its accesses over them. In this form fusing is choosing common dimensions,
and two accesses touch the same element at the same point exactly if they are equal.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import sympy

from harness.ir import affine
from harness.ir import nodes as ir
from harness.ir.affine import Size, divide, linear, positions, row_major, same, size_hint, size_of
from harness.ir.index import FloorDiv, Mod, indirect_symbol
from harness.ir.simplify import Simplifier


class Level(enum.Enum):
    """Which points of its kernel a nest runs over. One that scans or sorts along the reduced
    loops is FULL: what uses its values at the same point needs no other loop. ACROSS reduces over
    some of the parallel loops, not over the reduced ones."""

    FLAT = "flat"
    FULL = "full"
    REDUCE = "reduce"
    ACROSS = "across"


class Use(enum.Enum):
    """What an access is."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    INDEX = "index"
    AXIS = "axis"
    REDUCED_POSITION = "reduced position"


@dataclass(frozen=True, slots=True)
class AffineAccess:
    """One address over a candidate's dimensions. ``name`` is the buffer (LOAD, STORE, ATOMIC) or
    the loop variable (AXIS). ``exact`` is false for an address that depends on loaded values or is
    not linear: of such an access only the linear part is known, and it equals no other. ``chosen``
    is how a load's address is computed of the values ``by`` that are loaded for it."""

    use: Use
    name: str
    offset: sympy.Expr
    strides: tuple[Size, ...]
    exact: bool = True
    chosen: Hashable = None
    by: tuple[AffineAccess, ...] = ()

    def matches(self, other: AffineAccess) -> bool:
        """Whether both accesses are the same element at every point."""
        return self.exact and other.exact and self.again(other)

    def again(self, other: AffineAccess) -> bool:
        """The same, or the one that equal values choose, which other points may have, too."""
        one, two = (a.offset if a.exact else a.chosen for a in (self, other))
        if one is None or one != two or not all(map(AffineAccess.again, self.by, other.by)):
            return False
        return self.strides == other.strides or all(map(same, self.strides, other.strides))


@dataclass(frozen=True, eq=False, slots=True)
class NestView:
    """A nest over a candidate's dimensions. ``accesses`` has every address once; ``of_index`` finds
    the access of an index expression. Loop variables that occur in addresses that are not linear
    have an AXIS access. ``reads`` and ``writes`` name the buffers."""

    number: int
    nest: ir.Nest
    level: Level
    accesses: tuple[AffineAccess, ...]
    of_index: dict[sympy.Expr, int]
    operations: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """A kernel in the making. ``reduced[k]`` says whether dimension ``k`` is reduced over.
    ``views`` are in program order. ``reduced`` dimensions of a pointwise candidate do not exist."""

    sizes: tuple[Size, ...]
    reduced: tuple[bool, ...]
    views: tuple[NestView, ...]
    numel: Size
    rnumel: Size

    @property
    def members(self) -> int:
        """The nests, as a mask of their numbers."""
        return sum(1 << view.number for view in self.views)

    @property
    def name(self) -> str:
        """How rejections name this candidate: its first nest, and how many more."""
        more = f" and {len(self.views) - 1} more" if len(self.views) > 1 else ""
        return f"{self.views[0].nest.name}{more}"

    def dimensions(self, reduced: bool) -> tuple[int, ...]:
        """Positions of the reduced (or the parallel) dimensions."""
        return tuple(k for k, r in enumerate(self.reduced) if r is reduced)

    @property
    def walked(self) -> tuple[int, ...]:
        """Positions of the parallel dimensions that its reductions across run over."""
        across = (v for v in self.views if v.level is Level.ACROSS)
        stores = [a.strides for v in across for a in v.accesses if a.use is Use.STORE]
        found = self.dimensions(False) if stores else ()
        return tuple(k for k in found if all(strides[k] == 0 for strides in stores))

    def points(self, access: AffineAccess) -> int:
        """How many elements ``access`` touches at least (a likely value)."""
        every = (access, *access.by)
        moving = (any(a.strides[k] != 0 for a in every) for k in range(len(self.sizes)))
        return size_hint(math.prod(itertools.compress(self.sizes, moving)))


Parts = Sequence[tuple[int | None, Size]]
"""New dimensions in terms of old ones: which one each is a part of, and what a step of it is
there; None for a dimension that a nest does not run along."""


def restride(view: NestView, parts: Parts, level: Level | None = None) -> NestView:
    """``view`` over the dimensions ``parts``."""

    def moved(a: AffineAccess) -> AffineAccess:
        strides = tuple(0 if k is None else a.strides[k] * weight for k, weight in parts)
        return replace(a, strides=strides, by=tuple(map(moved, a.by)))

    return replace(view, level=level or view.level, accesses=tuple(map(moved, view.accesses)))


def merge_dimensions(candidate: Candidate) -> Candidate:
    """Merge every two dimensions that all accesses run through as one loop."""
    while (pair := _mergeable(candidate)) is not None:
        outer, inner = pair
        keep = [k for k in range(len(candidate.sizes)) if k != outer]
        sizes = list(candidate.sizes)
        sizes[inner] = sizes[outer] * sizes[inner]
        # The merged loop takes the outer one's place: row-major order is preserved
        # where the two were adjacent.
        order = sorted(keep, key=lambda k: outer if k == inner else k)
        candidate = permute(replace(candidate, sizes=tuple(sizes)), order)
    return candidate


def permute(candidate: Candidate, order: Sequence[int]) -> Candidate:
    """The candidate over the dimensions ``order`` (positions; a position left out is dropped)."""
    return replace(
        candidate,
        sizes=tuple(candidate.sizes[k] for k in order),
        reduced=tuple(candidate.reduced[k] for k in order),
        views=tuple(restride(v, [(k, 1) for k in order]) for v in candidate.views),
    )


def _mergeable(candidate: Candidate) -> tuple[int, int] | None:
    """The first (outer, inner) pair of dimensions that every access sees as one loop: not a
    parallel and a reduced one, since results, and positions, differ along one of them only."""
    strides = list(dict.fromkeys(r.strides for v in candidate.views for r in v.accesses))
    for outer, inner in itertools.permutations(range(len(candidate.sizes)), 2):
        size = candidate.sizes[inner]
        if all(same(s[outer], s[inner] * size) for s in strides):
            return outer, inner
    return None


def candidate_of(number: int, nest: ir.Nest) -> Candidate:
    """The candidate of one nest: loops of size 1 dropped, others split where an index
    divides them, contiguous ones merged."""
    loops = [
        (a.var, size_of(a.size), k >= len(nest.axes))
        for k, a in enumerate((*nest.axes, *nest.raxes))
    ]
    every = ir.values(nest.stores)
    addresses = [v.index for v in every if isinstance(v, ir.Load | ir.IndexValue)]
    addresses += [s.index for s in nest.stores]
    simplifier = Simplifier.of_axes((*nest.axes, *nest.raxes))
    dividing = (e for e in dict.fromkeys(addresses) if e.has(FloorDiv, Mod))
    simple = {e: simplifier.simplify(e) for e in dividing}
    reader = _Reader(nest, _split_loops(list(simple.values()), loops), simple)
    view = reader.view(number, every)
    sizes = tuple(d.size for d in reader.dimensions)
    reduced = tuple(d.reduced for d in reader.dimensions)
    numel = math.prod(s for s, r in zip(sizes, reduced, strict=True) if not r)
    rnumel = math.prod(s for s, r in zip(sizes, reduced, strict=True) if r)
    return merge_dimensions(Candidate(sizes, reduced, (view,), numel, rnumel))


@dataclass(frozen=True, slots=True)
class _Dimension:
    """Part of a loop: ``var == … + weight · dimension + …``."""

    var: sympy.Symbol
    weight: Size
    size: Size
    reduced: bool


def _split_loops(
    divided: list[sympy.Expr], loops: list[tuple[sympy.Symbol, Size, bool]]
) -> list[_Dimension]:
    """Dimensions of the loops, outermost first, split where an address divides a loop variable
    exactly; cuts that do not divide evenly are left out."""
    cuts: dict[sympy.Expr, set[Size]] = {var: set() for var, _, _ in loops}
    for atom in (atom for expr in divided for atom in expr.atoms(FloorDiv, Mod)):
        base, divisor = atom.args
        while isinstance(base, FloorDiv):
            base, divisor = base.args[0], divisor * base.args[1]
        if base in cuts and cuts.keys().isdisjoint(divisor.free_symbols):
            cuts[base].add(size_of(divisor))
    dimensions: list[_Dimension] = []
    for var, rest, reduced in reversed([loop for loop in loops if loop[1] != 1]):
        weight: Size = 1
        for cut in sorted(cuts[var], key=lambda cut: (size_hint(cut), str(cut))):
            part = divide(cut, weight)
            outer = None if part is None or part == 1 else divide(rest, part)
            if part is not None and outer is not None and outer != 1:
                dimensions.append(_Dimension(var, weight, part, reduced))
                weight, rest = cut, outer
        dimensions.append(_Dimension(var, weight, rest, reduced))
    return dimensions[::-1]


class _Reader:
    """Turns a nest's addresses into affine accesses over given dimensions."""

    def __init__(
        self, nest: ir.Nest, dimensions: list[_Dimension], simple: dict[sympy.Expr, sympy.Expr]
    ) -> None:
        self.nest = nest
        self.simple = simple
        self.dimensions = dimensions
        self.accesses: dict[tuple[Use, str, sympy.Expr], AffineAccess] = {}
        self.of_index: dict[sympy.Expr, tuple[Use, str, sympy.Expr]] = {}
        self.variables = [a.var for a in (*nest.axes, *nest.raxes)]
        self.position = positions(self.variables)
        self.unmerged: dict[sympy.Symbol, None] = {}

    def view(self, number: int, every: list[ir.Value]) -> NestView:
        """The nest's view."""
        for value in every:
            if isinstance(value, ir.Load):
                self.add(Use.LOAD, value.buffer, value.index, value.indirect)
            elif isinstance(value, ir.IndexValue):
                self.add(Use.INDEX, "", value.index, value.indirect)
        for store in self.nest.stores:
            use = Use.ATOMIC if store.mode.is_atomic else Use.STORE
            self.add(use, store.buffer, store.index, store.indirect, store.mask is not None)
        for var in self.unmerged:  # nothing it consists of may be merged away
            strides = tuple(d.weight if d.var == var else 0 for d in self.dimensions)
            axis = AffineAccess(Use.AXIS, var.name, sympy.S.Zero, strides)
            self.accesses[Use.AXIS, var.name, var] = axis
        kinds = {v.kind if isinstance(v, ir.Reduce) else type(v) for v in every}
        if kinds & {ir.Scan, ir.Sort, ir.ReduceKind.ARGMAX, ir.ReduceKind.ARGMIN}:
            # The order of the reduced loops matters: their flat position is what argmax yields.
            steps = row_major([size_of(axis.size) for axis in self.nest.raxes])
            per_loop = {a.var: step for a, step in zip(self.nest.raxes, steps, strict=True)}
            strides = tuple(per_loop.get(d.var, 0) * d.weight for d in self.dimensions)
            place = AffineAccess(Use.REDUCED_POSITION, "", sympy.S.Zero, strides)
            self.accesses[place.use, "", sympy.S.Zero] = place
        places = {key: place for place, key in enumerate(self.accesses)}
        of_index = {e: places[k] for e, k in self.of_index.items()}
        level = Level.FULL if self.nest.is_scan else Level.REDUCE
        level = level if any(d.reduced for d in self.dimensions) else Level.FLAT
        return NestView(
            number,
            self.nest,
            level,
            tuple(self.accesses.values()),
            of_index,
            sum(isinstance(v, ir.Compute | ir.Reduce | ir.Scan | ir.Sort) for v in every),
            tuple(dict.fromkeys(v.buffer for v in every if isinstance(v, ir.Load))),
            ir.buffers_written(self.nest),
        )

    def chosen(
        self, index: sympy.Expr, indirect: ir.Indirect
    ) -> tuple[Hashable, tuple[AffineAccess, ...]]:
        """How ``index`` is computed of single elements, and these; else nothing."""
        every = list(ir.walk(v for _, v in indirect))
        read = [v.index for v in every if isinstance(v, ir.Load | ir.IndexValue)]
        combined = any(isinstance(v, ir.Reduce | ir.Scan | ir.Sort) for v in every)
        if combined or not self.of_index.keys() >= set(read):
            return None, ()
        places = {id(v): k for k, v in enumerate(every)}
        how: list[Hashable] = [
            index.xreplace({s: indirect_symbol(places[id(v)]) for s, v in indirect})
        ]
        parts = ("dtype", "buffer", "op", "bits")
        for v in every:
            how += (type(v).__name__, *(getattr(v, part, None) for part in parts))
            how += (places[id(operand)] for operand in ir.operands(v))
        return tuple(how), tuple(self.accesses[self.of_index[e]] for e in read)

    def add(
        self, use: Use, name: str, index: sympy.Expr, indirect: ir.Indirect, masked: bool = False
    ) -> None:
        """Record one address."""
        key = (use, name, index)
        if key in self.accesses:
            return
        if (form := self.over_dimensions(self.simple.get(index, index))) is None:
            self.unmerged.update((v, None) for v in self.variables if v in index.free_symbols)
            unknown = tuple(0 for _ in self.dimensions)
            self.accesses[key] = AffineAccess(use, name, index, unknown, exact=False)
            return
        exact = not (indirect or masked)
        chosen = self.chosen(form.offset, indirect) if use is Use.LOAD and indirect else ()
        self.accesses[key] = AffineAccess(use, name, form.offset, form.strides, exact, *chosen)
        self.of_index.setdefault(index, key)

    def over_dimensions(self, index: sympy.Expr) -> affine.Affine | None:
        """``index``, linear in the loops, or in the dimensions if all its divisions fall away
        there; else unknown."""
        if (form := linear(index, self.position)) is not None:
            steps = form.strides  # of loops
            strides = tuple(steps[self.position[d.var]] * d.weight for d in self.dimensions)
            return replace(form, strides=strides)
        sums: dict[sympy.Symbol, sympy.Expr] = dict.fromkeys(self.variables, sympy.S.Zero)
        ranges: dict[sympy.Symbol, Size] = {}
        for k, dimension in enumerate(self.dimensions):
            part = sympy.Symbol(f"d{k}", integer=True, nonnegative=True)
            sums[dimension.var] += dimension.weight * part
            ranges[part] = dimension.size
        return linear(Simplifier(ranges).simplify(index.xreplace(sums)), positions(ranges))
