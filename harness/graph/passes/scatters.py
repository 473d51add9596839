"""Accumulating scatters into few positions go to several copies, which are added up, and those of
few points into a large table of zeros to a table of as many rows as there are points.

Atomic additions to one address run one after another. Where many points meet few targets
(the gradient of a table of 32 rows) that decides the time of the kernel, and most of the
cache's slices idle. Such a scatter gets another dimension in front, the copy, which its
points take in turns; a sum over the copies follows.

Where few points meet many targets (the gradient of a vocabulary) the zeros decide it: they are
written, and read to be converted or added to what else the table gets. There every target that is
met gets the row of one of its points, and who reads the table reads that row, or the last one,
which is zero. All of it are ATen calls.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection

from harness.dtypes import DType
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType, tensors_of
from harness.graph.passes.cleanup import kept_names
from harness.graph.passes.rewriting import Choose, Emitter, contiguous, rewritten
from harness.graph.sizes import broadcast
from harness.ir.ops import LAUNCH

MEETINGS = 256
"""Points per target from which on the additions to one address decide the time: at about
one addition per clock and address, that many take as long as a small kernel."""

WORTH_POINTS = 1 << 17
"""Fewer additions than this are done before another launch would have paid."""

MOST_COPIES = 64
"""Enough for all slices of a Hopper-class cache to take part."""

MOST_ELEMENTS = 1 << 18
"""Elements of all copies together: 1 MiB of float32, which stays in the cache."""


def copy_scatters(graph: Graph, choose: Choose = lambda _, default: default) -> Graph:
    """``graph`` with every accumulating ``index_put`` of many points into few targets done
    on several zeroed copies that are then added to the tensor, and that of few points into many
    zeros done on a row for each point, if no result is the sum itself.

    Copies are for ``WORTH_POINTS`` points or more that meet at least ``MEETINGS`` to a target. All
    leading dimensions are indexed by tensors of integers, rows by one. ``choose`` overrides the
    number of copies; 1 means to leave the scatter alone, 0 a row for each point.
    """
    filled = ((n.name, n.args[1]) for n in graph.nodes if n.op == "aten.full.default")
    zeros = {name for name, number in filled if str(number) in ("0", "0.0")}  # and not -0.0
    kept = kept_names(graph)

    def copied(out: Emitter) -> None:
        if (found := _parse(out.node, out.types, zeros)) is None:
            return
        rows = found.zero and len(found.indices) == 1 and out.node.name not in kept
        parts = choose(out.node.name, 0 if rows and _spared(found) > 0 else _default(found))
        if parts == 0 and rows:
            _in_rows(found, out)
        elif parts and (copies := math.gcd(parts, max(found.points))) > 1:
            _in_copies(found, copies, out)

    return rewritten(graph, copied)


@dataclasses.dataclass(frozen=True, slots=True)
class _Scatter:
    """``source`` (type ``kind``; ``zero``: of zeros), of so many ``targets``, gets ``values`` added
    at ``indices``, whose common shape is ``points``; of ``additions`` in all."""

    source: Ref
    kind: TensorType
    zero: bool
    indices: tuple[Ref, ...]
    values: Ref
    points: tuple[int, ...]
    targets: int
    additions: int


def _parse(node: Node, types: dict[str, ValueType], zeros: Collection[str]) -> _Scatter | None:
    if node.op != "aten.index_put.default" or node.argument(3, "accumulate") is not True:
        return None
    match node.args:
        case (Ref() as source, (_, *_) as indices, Ref() as values, *_):
            refs = tuple(i for i in indices if isinstance(i, Ref))
        case _:
            return None
    kind, *places = tensors_of(types[source.name], *(types[r.name] for r in refs))
    whole = all(place.dtype.is_integer for place in places)
    if len(places) != len(indices) or not whole or not kind.dtype.is_float:
        return None
    if not all(n.is_Integer for t in (kind, *places) for n in t.shape) or 0 in kind.shape:
        return None
    points = tuple(map(int, broadcast([place.shape for place in places])))
    if not points:
        return None
    rest = math.prod(int(n) for n in kind.shape[len(refs) :])
    targets, additions = math.prod(map(int, kind.shape)), math.prod(points) * rest
    return _Scatter(source, kind, source.name in zeros, refs, values, points, targets, additions)


def _spared(found: _Scatter) -> int:
    """Bytes that are not written if each point has a row of its own, less those of the targets'
    rows and of a launch. As many are not read, for another launch."""
    rows = int(found.kind.shape[0]) * DType.I32.itemsize
    return (found.targets - 2 * found.additions) * found.kind.dtype.itemsize - rows - LAUNCH


def _default(found: _Scatter) -> int:
    if found.additions < WORTH_POINTS or found.additions < MEETINGS * found.targets:
        return 1
    most = min(MOST_COPIES, MOST_ELEMENTS // found.targets)
    return math.gcd(1 << max(0, most.bit_length() - 1), max(found.points))


def _in_copies(found: _Scatter, copies: int, emitter: Emitter) -> None:
    """Points take copies in turns along the longest dimension of the indices, the first
    of several: programs that run at the same time mostly differ in it."""
    along = max(range(len(found.points)), key=lambda d: (found.points[d], -d))
    size = found.points[along]
    index = emitter.type(found.indices[0]).dtype
    once = contiguous(index, (copies,))
    copy = emitter.call("copy", "aten.arange.start_step", once, 0, copies, 1, dtype=index)
    turns = contiguous(index, (size,))
    copy = emitter.call("turn", "aten.repeat.default", turns, copy, (size // copies,))
    if along < len(found.points) - 1:
        shape = (size, *(1 for _ in found.points[along + 1 :]))
        copy = emitter.view(copy, contiguous(index, shape), "turns")
    shape, kind = (copies, *found.kind.shape), found.kind
    zeros = emitter.full(shape, 0 if found.zero else -0.0, kind.dtype, "zeros")
    put = _added(zeros, (copy, *found.indices), found, emitter, "copies")
    label = "" if found.zero else "total"
    total = emitter.reduce("aten.sum.dim_IntList", put, (0,), False, kind.dtype, label)
    if label:  # to a target of -0 that nobody meets -0 is added, of which a sum would be 0
        truth, whole = contiguous(DType.BOOL, shape), emitter.type(total)
        signs = emitter.call("signs", "aten.signbit.default", truth, put)
        every = emitter.reduce("aten.amin.default", signs, (0,), False, DType.BOOL, "every")
        least = emitter.call("negative", "aten.copysign.Scalar", whole, total, -1.0)
        total = emitter.call("signed", "aten.where.self", whole, every, least, total)
        emitter.call("", "aten.add.Tensor", None, found.source, total)


def _in_rows(found: _Scatter, emitter: Emitter) -> None:
    """The row of a target is that of the last of the points that meet it; those that nobody meets
    have row -1, the last one."""
    (targets, *rest), points, (place,) = found.kind.shape, math.prod(found.points), found.indices
    line = contiguous(emitter.type(place).dtype, (points,))
    place = emitter.call("rows_flat", "aten.reshape.default", line, place, (points,))
    place = emitter.call("rows_place", "aten.remainder.Scalar", line, place, int(targets))
    line = contiguous(DType.I32, (points,))
    number = emitter.call(
        "rows_number", "aten.arange.start_step", line, 0, points, 1, dtype=DType.I32
    )
    none = emitter.full((targets,), -1, DType.I32, "rows_none")
    kind = emitter.type(none)
    last = emitter.call(
        "rows_last", "aten.scatter_reduce.two", kind, none, 0, place, number, "amax"
    )
    kind = contiguous(DType.I32, found.points)
    own = emitter.call("rows_own", "aten.index.Tensor", kind, last, found.indices)
    zeros = emitter.full((points + 1, *rest), 0, found.kind.dtype, "rows_zeros")
    put = _added(zeros, (own,), found, emitter, "rows")
    emitter.call("", "aten.index.Tensor", None, put, (last,))


def _added(zeros: Ref, at: tuple[Ref, ...], found: _Scatter, emitter: Emitter, label: str) -> Ref:
    kind, op = emitter.type(zeros), "aten.index_put.default"
    return emitter.call(label, op, kind, zeros, at, found.values, True)
