"""Splitting reductions that have too few results to fill a GPU.

A reduction runs as one program per result (along memory) or per tile of results (across
it). With few results most multiprocessors idle. Such a reduction is rewritten as two: the
reduced elements are cut into equal chunks, each chunk is reduced on its own, then the
chunks' results are. Both halves are ATen calls, so the graph stays executable by torch.

Reductions across rows of tensors that others reduce along are cut whether or not they have too few
results, all alike: into a chunk for each strip of rows that one kernel's programs walk.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy

from harness.dtypes import DType
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType
from harness.graph.passes.cleanup import kept_names
from harness.graph.passes.reductions import STATISTICS, Reduction, parse_reduction
from harness.graph.passes.rewriting import Choose, Emitter, contiguous, reduced_type, rewritten
from harness.graph.sizes import contiguous_strides
from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.limits import VECTOR
from harness.heuristics.mixed import sharers, strips
from harness.ir.reach import reached
from harness.target import Target

WAVES = 4
"""Programs wanted per multiprocessor: enough that loads in flight hide latency (four
programs of 8 warps fill half of an SM's 64 warps) and that the last wave is short."""

FULL_WAVES = 2
"""From this many programs per multiprocessor on, a reduction is left alone."""

WORTH_ELEMENTS = 32768
"""Elements one program must at least reduce for a split to pay: 128 KiB of float32, which
one multiprocessor streams in roughly the time that a second launch takes (3 to 5 µs)."""

WORTH_LOADS = 120_000
"""Loads of one program, of whatever width, from which on a split pays; half of a single row's: of
100,000 it took 0.6 to 0.75 of the time on an H200, of 32 such rows 1.0 to 1.3."""

OUTER_TILE, BOTH_TILE = 64, 8
"""Results one program of a reduction across memory makes side by side, and of one both ways."""

INNER_CHUNK = 1024
"""Least elements of a chunk along memory: one iteration of a looped reduction."""

OUTER_CHUNK, BOTH_CHUNK = 64, 256
"""Least rows of a chunk across memory, and elements of one both ways."""

STORED_STRIPS = 64
"""Chunks of a reduction across memory whose source is stored besides: its programs do more for
each element, and many short ones overlap better (8 or 16 took 1.1 to 1.25 times as long)."""

_ACROSS = ("aten.sum.dim_IntList", "aten.amax.default", "aten.amin.default", "aten.any.dims")
"""Reductions that are cut into strips."""

LEAST_SPLIT = 4
"""Fewer chunks than this do not pay for the second launch."""

FEW_ROWS, FEW_COLUMNS = 64, 2048
"""Rows in one piece, and columns, that do not fill a device by themselves. Those of a known number
of elements are split unless that has no equal parts (20011 x 64 x 5, the first and the last
reduced: 27.7 us on an H200, shared 10.9) or they are a softmax's."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """How the reduced dimensions are cut into ``count`` chunks: the dimensions ``whole`` are
    left to the second step; ``dim``, if any, of size n becomes (``factor``, n / ``factor``).
    With ``rows``, the reduced dimensions, all leading ones, become these sizes instead, each left
    to the second step or not, and the chunks stand in ``dim``."""

    count: int
    whole: tuple[int, ...]
    dim: int | None = None
    factor: int = 1
    rows: tuple[tuple[int, bool], ...] = ()


def split_reductions(
    graph: Graph, target: Target, choose: Choose = lambda _, default: default
) -> Graph:
    """``graph`` with every reduction that cannot fill ``target`` rewritten as two.

    A reduction is split when it has fewer than ``FULL_WAVES`` programs per multiprocessor
    and each would reduce at least ``WORTH_ELEMENTS`` elements; into as many equal chunks as
    give ``WAVES`` programs per multiprocessor, but none below ``INNER_CHUNK`` elements or
    ``OUTER_CHUNK`` rows. The count is the possible one nearest to that (a product of whole
    outer dimensions and a divisor of the next one); if no count of at least ``LEAST_SPLIT``
    is possible the reduction stays. New nodes are called ``<old>_partial`` …; the last one
    keeps the old name and type. 16-bit sums stay in float32 between the steps.

    Reductions across rows beside one along the same rows are split for one kernel to do all of
    them, into about as many strips as programs should walk. A maximum and a sum of exponentials
    below it along rows, or of few columns, are left to one kernel's programs (``shares``).

    ``choose`` overrides the count: it is taken to the nearest possible one, without the
    least sizes; 1 means not to split.
    """
    types, nodes = graph.types(), {node.name: node for node in graph.nodes}
    kept = kept_names(graph)
    found = {name: parse_reduction(node, types, nodes, kept) for name, node in nodes.items()}
    # One kernel may do those of as many elements: they are cut alike if one of them runs both ways.
    wide = {(r.kept, r.reduced) for r in found.values() if r and not r.inner}
    reductions = {
        name: parse_reduction(r.node, types, nodes) if r and (r.kept, r.reduced) in wide else r
        for name, r in found.items()
    }
    stored = _stored(graph, nodes)
    alike = _cut_alike(reductions, types, nodes, target, stored)
    alike = {name: (Chunks(1, ()), ()) for name in _below_maxima(reductions, nodes)} | alike
    accesses: dict[str, Callable[[Emitter], None]] = {}  # to one of several results

    def split(out: Emitter) -> None:
        if out.node.op == "getitem" and (access := accesses.get(next(out.node.refs()))):
            access(out)
        elif (reduction := reductions[out.node.name]) is not None:
            cuts = alike.get(out.node.name, (None, ()))
            if (chunks := _decide(reduction, target, choose, cuts, stored)) is not None:
                _Steps(reduction, chunks, out, accesses).write()

    return rewritten(graph, split)


def shares(kept: int, reduced: int, inner: bool, softmax: bool = False) -> bool:
    """Whether programs may share so few rows, or columns side by side, that are so long: about what
    one has if each multiprocessor has one. A ``softmax`` down more and shorter columns would be
    four launches and more (3000 x 4000: 29.6 us on an H200, not 44.5; 1000 x 2000 11.9, not 17.6).
    """
    most, side = (FEW_ROWS, 1) if inner else (FEW_COLUMNS, max(2, kept // 128))
    if softmax and not inner:
        most, side = 4 * FEW_COLUMNS, max(side, min(kept, OUTER_TILE))
    return kept <= most and reduced * side >= WORTH_ELEMENTS


def _below_maxima(
    reductions: Mapping[str, Reduction | None], nodes: Mapping[str, Node]
) -> Iterator[str]:
    """Maxima of few rows and sums of exponentials below them: programs that share the rows find
    both in one launch, split they take four. A softmax of 8 x 200000 takes 7.6 us on an H200, split
    9.9, of 48 rows 21.2 and 30.3, down 20000 x 128 10.8 and 17.1; a norm either way as long. More
    rows have a program each, or share one kernel's: of 131 x 128000 25.5 and 67.6."""
    every = [(r, r.result.dtype is DType.F32) for r in reductions.values() if r]
    few = [r for r, wide in every if r.inner or shares(r.kept, r.reduced, False, softmax=wide)]
    for top in (r for r in few if r.op == "aten.amax.default"):
        later = _after([top.node.name], nodes)
        for total in (r for r in few if r.op == "aten.sum.dim_IntList"):
            exp = nodes.get(total.source.name)
            below = nodes.get(next(exp.refs())) if exp and exp.packet == "exp" else None
            alike = (total.shape, total.dims) == (top.shape, top.dims)
            if alike and below and below.packet == "sub" and later & set(below.refs()):
                yield from (top.node.name, total.node.name)


def _decide(
    reduction: Reduction,
    target: Target,
    choose: Choose,
    cuts: tuple[Chunks | None, Sequence[Chunks]],
    stored: Collection[str | None],
) -> Chunks | None:
    left = _short_run(reduction)
    run = math.prod(reduction.shape[dim] for dim in left)
    across = replace(reduction, kept=reduction.kept * run, inner=False) if left else reduction
    ideal, least_chunk = _ideal(across, target, reduction.source.name in stored)
    found, alike = cuts
    if found is None and ideal > 1:
        found = _nearest(_possible(reduction, LEAST_SPLIT, least_chunk, left), ideal * run)
    wanted = choose(reduction.node.name, 1 if found is None else found.count)
    if found is not None and wanted == found.count:
        return found if wanted > 1 else None
    cut = alike or _possible(reduction, 2, left=left)
    return _nearest(cut, wanted) if wanted > 1 else None


def _short_run(reduction: Reduction) -> tuple[int, ...]:
    """The innermost dimension, if it is reduced, does not fill a vector, and the next one in memory
    is kept (channels of a group in an image of pixels): left to the second step, whole pixels are
    read by one program, of which each group's reads a part of every sector."""
    *outer, last = reduction.by_stride
    others = set(range(len(reduction.shape))) - set(reduction.dims)
    size, step = reduction.shape[last], reduction.stride[last]
    beside = any(reduction.stride[d] == size and reduction.shape[d] > 1 for d in others)
    return (last,) if outer and step == 1 < size <= VECTOR and beside else ()


def _stored(graph: Graph, nodes: Mapping[str, Node]) -> Collection[str | None]:
    """What the graph computes and returns, and its views and conversions."""
    found = set(kept_names(graph))
    for node in (*reversed(graph.nodes), *graph.nodes):
        pair = {node.name, *node.refs()}
        if node.packet in ("view", "_to_copy", "convert_element_type") and pair & found:
            found |= pair
    return found & nodes.keys()


def _ideal(reduction: Reduction, target: Target, stored: bool) -> tuple[float, int]:
    """The number of chunks wanted, and the least reduced elements of one."""
    tile, least = (1, INNER_CHUNK) if reduction.inner else (OUTER_TILE, OUTER_CHUNK)
    programs = -(-reduction.kept // tile)
    many = stored and not reduction.inner and reduction.op not in STATISTICS
    enough = programs >= FULL_WAVES * target.multiprocessors and not many
    if enough or reduction.reduced * min(tile, reduction.kept) < WORTH_ELEMENTS:
        return 1.0, 1
    runs = _odd_runs(reduction) if reduction.inner else 0
    return max(WAVES * target.multiprocessors / programs, STORED_STRIPS * many, runs), least


def _odd_runs(reduction: Reduction) -> float:
    """How many runs of elements side by side are reduced, if long and of an odd number; else 0. A
    chunk of one has no places to work out, and there are more: sums of images of 165 x 165 took 657
    us on an H200, not 1393, a norm of 83 x 83 32, not 69."""
    run = 1
    for dim in reversed(reduction.by_stride):
        if reduction.stride[dim] != run:
            break
        run *= reduction.shape[dim]
    return reduction.reduced / run if run % 2 and run >= INNER_CHUNK else 0


def parts_of(facts: Facts, target: Target) -> int:
    """Into how many parts to split what a kernel reduces, so that it has programs enough; 1 if it
    has. Of rows that run both ways through memory programs of two warps reduce several; rows that
    are read again, then from the cache, need one on each multiprocessor (13 kernels of the corpus
    took 0.10 to 0.30 of the time on an H200). A program of a few rows along memory takes longer
    than two more launches if it has many loads (25,088 elements with a window: 49 us, split 18), or
    if no other shares long rows or columns (a softmax's, beside what the same loop stores: of more
    rows, too, because three loops read them)."""
    rows, reduced, number = facts.parallel, facts.reduced, target.multiprocessors
    inner, loops = facts.hint is Hint.INNER, facts.family is Family.REDUCTION
    long = (inner or facts.hint is Hint.OUTER) and shares(rows, reduced, inner)
    long = loops and (long or (inner and facts.loops > 2 and reduced >= WORTH_ELEMENTS))
    programs, waves, least, enough = -(-rows // OUTER_TILE), WAVES, OUTER_CHUNK, number
    if facts.hint is Hint.MIXED:
        programs, waves, least = -(-rows // BOTH_TILE), 4 * WAVES, BOTH_CHUNK
        enough = number if facts.loops > 1 else FULL_WAVES * number
        long = loops and reduced * BOTH_TILE >= WORTH_ELEMENTS
    elif inner:
        programs, least, enough = rows, INNER_CHUNK, number if long else number // 4 + 1
        much = reduced * facts.loads >= WORTH_LOADS >> (rows == 1)
        long |= much and (loops or facts.family is Family.PERSISTENT)
    if not long or facts.unknown or facts.chunked or programs >= enough:
        return 1
    wanted = min(waves * number // programs, reduced // least)
    return wanted if wanted >= LEAST_SPLIT else 1


def _nearest(cuts: Iterable[Chunks], ideal: float) -> Chunks | None:
    """The cut whose count is nearest to ``ideal`` by ratio; the smaller, then the first of two."""
    return min(cuts, key=lambda c: (abs(math.log(c.count / ideal)), c.count), default=None)


def _possible(
    reduction: Reduction, least: int, least_chunk: int = 1, left: tuple[int, ...] = ()
) -> Iterator[Chunks]:
    """Every cut into ``least`` equal chunks or more that needs no copy, each of ``least_chunk``
    elements or more: dimensions outermost in memory first, after those ``left`` for certain."""
    whole, most = left, reduction.reduced // least_chunk
    count = math.prod(reduction.shape[dim] for dim in left)
    for dim in (d for d in reduction.by_stride if d not in left):
        size = reduction.shape[dim]
        for factor in sympy.divisors(size):
            if 1 < factor < size and least <= count * factor <= most:
                yield Chunks(count * factor, whole, dim, factor)
        count *= size
        whole = (*whole, dim)
        if size > 1 and count < reduction.reduced and least <= count <= most:
            yield Chunks(count, whole)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Writes the two steps of a ``reduction``. For a node with several results nothing takes its
    name; ``accesses`` learns what writes the nodes in the place of an access to one of them."""

    reduction: Reduction
    chunks: Chunks
    emitter: Emitter
    accesses: dict[str, Callable[[Emitter], None]]

    def write(self) -> None:
        """Both."""
        reduction, emitter = self.reduction, self.emitter
        source, wide, op = reduction.source, reduction.widen, reduction.op
        if op in STATISTICS:
            return self._statistic(emitter.cast(source, wide, "wide") if wide else source)
        dtype, label = wide or reduction.result.dtype, "total" if wide else ""
        partial = emitter.reduce(op, *self._opened(source), False, dtype, "partial")
        closed = self._closed(partial)
        total = emitter.reduce(op, closed, reduction.dims, reduction.keepdim, dtype, label)
        if wide:
            emitter.cast(total, reduction.result.dtype, "")

    def _opened(self, source: Ref) -> tuple[Ref, tuple[int, ...]]:
        """``source`` with the cut dimension in two, and the dimensions to reduce first."""
        chunks, emitter, dims = self.chunks, self.emitter, self.reduction.dims
        at, value = chunks.dim, emitter.type(source)
        if chunks.rows:
            sizes = (*(size for size, _ in chunks.rows), *value.shape[len(dims) :])
            kind = contiguous(value.dtype, sizes)
            opened = source if kind == value else emitter.view(source, kind, "chunks")
            return opened, tuple(d for d, (_, kept) in enumerate(chunks.rows) if not kept)
        first = tuple(d for d in dims if d not in chunks.whole)
        if at is None:
            return source, first
        rest = value.shape[at] / chunks.factor
        shape = (*value.shape[:at], sympy.Integer(chunks.factor), rest, *value.shape[at + 1 :])
        stride = (*value.stride[:at], value.stride[at] * rest, *value.stride[at:])
        opened = emitter.view(source, TensorType(value.dtype, shape, stride), "chunks")
        return opened, tuple(d + 1 if d >= at else d for d in first)

    def _closed(self, partial: Ref) -> Ref:
        """The first step's results with the original number of dimensions."""
        chunks, value = self.chunks, self.emitter.type(partial)
        gone = set(self.reduction.dims) - set(chunks.whole)
        shape = [1 if dim in gone else size for dim, size in enumerate(self.reduction.shape)]
        if chunks.dim is not None:
            shape[chunks.dim] = chunks.factor
        if len(shape) == value.rank:
            return partial
        return self.emitter.view(partial, contiguous(value.dtype, shape), "results")

    def _statistic(self, source: Ref) -> None:
        """Variance = mean of the chunks' variances + variance of their means (equal chunks)."""
        reduction, emitter = self.reduction, self.emitter
        _, *parts = self._var_mean(*self._opened(source), False, "partial")
        within, means = map(self._closed, parts)
        keep, over, wide = reduction.keepdim, reduction.dims, emitter.type(means).dtype
        pooled: Ref | None = None
        if reduction.kept == 1:  # of one row in one kernel, as two are not joined
            pooled, mean = self._pooled(within, means)
        else:
            mean_within = emitter.reduce("aten.mean.dim", within, over, keep, wide, "within")
            both, between, mean = self._var_mean(means, over, keep, "across")
        scale = reduction.reduced / (reduction.reduced - reduction.correction)
        cast = reduction.widen is not None

        def access(out: Emitter) -> None:
            kind, value = out.type(mean), mean
            if reduction.op != "aten.var_mean.correction" or out.node.args[1] == 0:
                total = pooled or out.call("total", "aten.add.Tensor", kind, mean_within, between)
                value = out.call("var" if cast else "", "aten.mul.Tensor", kind, total, scale)
            elif pooled and not cast:
                out.view(mean, kind, "")
            elif not cast:
                out.call("", "getitem", None, both, 1)
            if cast:
                out.cast(value, reduction.result.dtype, "")

        if reduction.op == "aten.var_mean.correction":
            self.accesses[emitter.node.name] = access
        else:
            access(emitter)

    def _pooled(self, within: Ref, means: Ref) -> tuple[Ref, Ref]:
        """Variance and mean of all, from the chunks' own, each computed from the one before."""
        emitter, kind, dims = self.emitter, self.emitter.type(means), self.reduction.dims
        mean = emitter.reduce("aten.mean.dim", means, dims, True, kind.dtype, "across")
        off = emitter.call("across", "aten.sub.Tensor", kind, means, mean)
        square = emitter.call("across", "aten.mul.Tensor", kind, off, off)
        every = emitter.call("within", "aten.add.Tensor", kind, within, square)
        keep = self.reduction.keepdim
        total = emitter.reduce("aten.mean.dim", every, dims, keep, kind.dtype, "total")
        return total, emitter.view(mean, emitter.type(total), "results")

    def _var_mean(
        self, source: Ref, dims: tuple[int, ...], keepdim: bool, label: str
    ) -> tuple[Ref, Ref, Ref]:
        """Population variance and mean over ``dims``: the node of both, then each."""
        emitter, op = self.emitter, "aten.var_mean.correction"
        value = emitter.type(source)
        kind = reduced_type(value, dims, keepdim, value.dtype)
        both = emitter.call(label, op, (kind, kind), source, dims, correction=0, keepdim=keepdim)
        variance = emitter.call(f"{label}_var", "getitem", kind, both, 0)
        return both, variance, emitter.call(f"{label}_mean", "getitem", kind, both, 1)


def _cut_alike(
    reductions: Mapping[str, Reduction | None],
    types: Mapping[str, ValueType],
    nodes: Mapping[str, Node],
    target: Target,
    stored: Collection[str | None],
) -> dict[str, tuple[Chunks | None, Sequence[Chunks]]]:
    """How reductions across rows are cut for one kernel to do them and those along the rows, and
    how they can be, by their nodes' names; without those that share no tensor with these."""
    along: dict[tuple[int, int], set[str]] = {}
    across: dict[tuple[int, int], list[Reduction]] = {}
    for name, found in reductions.items():
        if found is None or found.by_stride != found.dims:
            continue
        rank, count = len(found.shape), len(found.dims)
        if found.dims == tuple(range(rank - count, rank)):
            along.setdefault((found.kept, found.reduced), set()).add(name)
        elif found.op in _ACROSS and found.dims == tuple(range(count)):
            across.setdefault((found.reduced, found.kept), []).append(found)
    made: dict[str, tuple[Chunks | None, Sequence[Chunks]]] = {}
    known = {n: t for n, t in types.items() if across and isinstance(t, TensorType) and t.layout}
    points = {name: math.prod(map(int, t.shape)) for name, t in known.items()}
    last = [r for others in across.values() for r in others if r.node.name in stored]
    for (rows, columns), others in across.items():
        full = {name: known[name] for name, n in points.items() if n == rows * columns}
        behind = {r.node.name: _behind([r.source.name], full, nodes) for r in others}
        beside = along.get((rows, columns), set())
        sources = {ref for name in beside for ref in nodes[name].refs()}
        read = _behind(sources | _after(beside, nodes, behind), full, nodes)
        near = read.union(*(names for names in behind.values() if read & names))
        together = [r for r in others if near & behind[r.node.name]]
        held = near.union(*(behind[r.node.name] for r in together))
        seen = held.union(r.source.name for r in together)
        needed = full.keys() & _after(behind, nodes)  # at every point, by what comes later
        if needed or any(full[n].stride != contiguous_strides(full[n].shape) for n in seen):
            continue
        again = read.intersection(itertools.chain(*behind.values()))
        saved = sum(rows * columns * full[name].dtype.itemsize for name in again)
        results = columns * sum(r.result.dtype.compute.itemsize for r in together)
        sizes, sums = [full[name].dtype.itemsize for name in held], len(together)
        each = sharers(columns, sizes, sums, target)
        if not saved or not each or (each > 1 and not _alone(beside, nodes)):
            continue
        fits = sharers(columns, sizes, sums + 1, target) > 0
        kept = [r for r in last if fits and near & _behind([r.source.name], full, nodes)]
        apart = {cut.count: cut for cut in _apart([r.shape[: len(r.dims)] for r in together])}
        given = {n: cut for n, cut in apart.items() if any(r.kept == n * columns for r in kept)}
        own = [{cut.count: cut for cut in _possible(r, 2)} for r in together]
        alike = sorted(set.intersection(*map(set, own)))
        ways = (strips(way, saved, results, target, each) for way in (given, alike, apart))
        best = next(filter(None, ways), 0)
        for reduction, mine in zip(together, own, strict=True):
            cuts = apart | {count: mine[count] for count in alike} | given
            made[reduction.node.name] = cuts.get(best), [*cuts.values()]
        whole = (r for r in kept if best in given and r.kept == best * columns)
        made |= {r.node.name: (Chunks(1, ()), ()) for r in whole if r.node.name not in made}
    return made


def _apart(shapes: Sequence[tuple[int, ...]]) -> list[Chunks]:
    """Strips of rows, which have all these ``shapes``, with rows of all the others in between."""
    steps = {math.prod(shape[at:]) for shape in shapes for at in range(len(shape) + 1)}
    pairs = list(itertools.pairwise(sorted(steps, reverse=True)))
    sizes = [outer // inner for outer, inner in pairs]
    made: list[Chunks] = []
    for at, size in enumerate(sizes):
        for factor in sympy.divisors(size)[:-1]:
            first, second = [(n, False) for n in sizes[:at]], [(n, True) for n in sizes[at + 1 :]]
            parts = (*first, (factor, True), (size // factor, False), *second)
            rows = tuple((n, left) for n, left in parts if n > 1)
            count = math.prod(n for n, left in rows if left)
            made += [Chunks(count, (), 0, count, rows)] if count > 1 else []
    return [] if any(a % b for a, b in pairs) else made


def _alone(names: Collection[str], nodes: Mapping[str, Node]) -> bool:
    """Whether these are sums that programs may tell each other at once: none needs another."""
    sums = all(nodes[n].op in ("aten.sum.dim_IntList", "aten.mean.dim") for n in names)
    return sums and not any(set(names) & (_after([n], nodes) - {n}) for n in names)


def _after(
    names: Collection[str], nodes: Mapping[str, Node], end: Collection[str] = ()
) -> set[str]:
    """``names`` and all that is computed from them short of ``end``."""
    found = set(names)
    for node in nodes.values():
        if node.name not in end and not found.isdisjoint(node.refs()):
            found.add(node.name)
    return found


def _behind(
    names: Iterable[str], full: Collection[str], nodes: Mapping[str, Node]
) -> frozenset[str]:
    """Those of the ``full`` tensors that ``names`` are computed from at the same points, as far as
    they may be in memory; what is broadcast is not."""

    def is_end(name: str) -> bool:
        return name not in nodes or nodes[name].op == "aten.permute.default"

    def near(name: str) -> list[str]:
        ends = is_end(name) or nodes[name].op == "aten.expand.default"
        return [] if ends else [ref for ref in nodes[name].refs() if ref in full]

    return frozenset(filter(is_end, reached((name for name in names if name in full), near)))
