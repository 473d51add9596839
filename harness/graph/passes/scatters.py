"""Accumulating scatters into few positions go to several copies, which are added up.

Atomic additions to one address run one after another. Where many points meet few targets
(the gradient of a table of 32 rows) that decides the time of the kernel, and most of the
cache's slices idle. Such a scatter gets another dimension in front, the copy, which its
points take in turns; a sum over the copies follows. Both are ATen calls.
"""

from __future__ import annotations

import dataclasses
import math

from harness.graph.model import Graph, Node, Ref, TensorType, ValueType, tensors_of
from harness.graph.passes.rewriting import Choose, Emitter, contiguous, rewritten
from harness.graph.sizes import broadcast

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
    on several zeroed copies that are then added to the tensor.

    Done for ``WORTH_POINTS`` points or more that meet at least ``MEETINGS`` to a target, if
    all leading dimensions are indexed by tensors of integers. ``choose`` overrides the
    number of copies; 1 means to leave the scatter alone.
    """

    def copied(out: Emitter) -> None:
        if (found := _parse(out.node, out.types)) is not None:
            copies = math.gcd(choose(out.node.name, _default(found)), max(found.points))
            if copies > 1:
                _rewrite(found, copies, out, graph)

    return rewritten(graph, copied)


@dataclasses.dataclass(frozen=True, slots=True)
class _Scatter:
    """``source`` (type ``kind``) gets ``values`` added at ``indices``, whose common shape is
    ``points``; of ``additions`` in all."""

    source: Ref
    kind: TensorType
    indices: tuple[Ref, ...]
    values: Ref
    points: tuple[int, ...]
    additions: int


def _parse(node: Node, types: dict[str, ValueType]) -> _Scatter | None:
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
    return _Scatter(source, kind, refs, values, points, math.prod(points) * rest)


def _default(found: _Scatter) -> int:
    targets = math.prod(map(int, found.kind.shape))
    if found.additions < WORTH_POINTS or found.additions < MEETINGS * targets:
        return 1
    most = min(MOST_COPIES, MOST_ELEMENTS // targets)
    return math.gcd(1 << max(0, most.bit_length() - 1), max(found.points))


def _rewrite(found: _Scatter, copies: int, emitter: Emitter, graph: Graph) -> None:
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
    kind = contiguous(found.kind.dtype, (copies, *found.kind.shape))
    zeros = emitter.call("zeros", "aten.full.default", kind, kind.shape, 0, dtype=kind.dtype)
    put = emitter.call(
        "copies", "aten.index_put.default", kind, zeros, (copy, *found.indices), found.values, True
    )
    made = (n for n in graph.nodes if n.name == found.source.name and n.op == "aten.full.default")
    zero = any(node.args[1] == 0 for node in made)
    label = "" if zero else "total"
    total = emitter.reduce("aten.sum.dim_IntList", put, (0,), False, kind.dtype, label)
    if label:
        emitter.call("", "aten.add.Tensor", None, found.source, total)
