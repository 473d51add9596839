"""Which dimensions of a graph share a size: those of which its calls demand it. A batch of eight
and eight heads are two sizes; a search that gives each its own finds small ones where one that goes
by the number finds none."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import sympy
import torch

from harness.graph.lowering.operators.views import matched
from harness.graph.model import Graph, Node, TensorType, ValueType, tensors_of
from harness.graph.replay import META, call_node, operator_function, torch_dtype
from harness.graph.shrinking import FAILURES, RESHAPES, Shapes, numbers_of


class Size(int):
    """The size of dimensions that have to agree: another of the same number is another size."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__


_Told = Mapping[str, list[list[Size]]]


def told_apart(graph: Graph) -> Shapes:
    """The sizes of all values, one ``Size`` for dimensions that calls demand to be equal. What is
    demanded of products, sums and ranges is for the search."""
    types = graph.types()
    shapes = {name: [list(map(Size, s)) for s in numbers_of(k)] for name, k in types.items()}
    same: dict[Size, Size] = {}

    def found(size: Size) -> Size:
        while size in same:
            size = same[size]
        return size

    for node in graph.nodes:
        for one, other in _agreeing(node, types, shapes):
            if int(one) == int(other) and (first := found(one)) is not (last := found(other)):
                same[last] = first
    return {name: [list(map(found, s)) for s in kinds] for name, kinds in shapes.items()}


def _agreeing(
    node: Node, types: Mapping[str, ValueType], shapes: _Told
) -> Iterable[tuple[Size, Size]]:
    """Pairs of dimensions that ``node`` makes agree if their sizes are equal; of a call that is not
    understood, all."""
    given, made = [s for name in node.refs() for s in shapes[name]], shapes[node.name]
    if node.packet in RESHAPES:
        before, after = (tuple(map(sympy.Integer, shape)) for shape in (given[0], made[0]))
        groups = matched(before, after)
        return [(given[0][a], made[0][b]) for (a, *rest), (b, *more) in groups if not rest + more]
    if node.op == "getitem":
        return zip(given[int(node.args[1])], made[0], strict=True)  # type: ignore[arg-type]
    every = (*given, *made)
    if len(given) == 1 and (moved := _moved(node, types)):
        pairs = zip(moved, itertools.chain(*made), strict=True)
        return [(given[0][d], n) for d, n in pairs if d is not None]
    tags = getattr(operator_function(node.op), "tags", ())
    if len(set(map(len, every))) == 1 or torch.Tag.pointwise in tags:
        aligned = (zip(reversed(a), reversed(b), strict=False) for a in given for b in made)
        return itertools.chain.from_iterable(aligned)
    return itertools.combinations(itertools.chain(*every), 2)


def _moved(node: Node, types: Mapping[str, ValueType]) -> Sequence[int | None]:
    """Which dimension of the one tensor that ``node`` takes each of its results' is, by a call with
    sizes that tell them apart; None for another size. Empty where torch does not take those."""
    (name,) = set(node.refs())
    (kind,) = tensors_of(types[name])
    sizes: list[int] = []
    for n in map(int, kind.shape):
        sizes.append(1 if n == 1 else next(m for m in itertools.count(n + 1) if m not in sizes))
    given = torch.empty(sizes, dtype=torch_dtype(kind.dtype), device=META)
    try:
        result = call_node(node, {name: given}, META)
    except FAILURES:
        return ()
    results = result if isinstance(result, tuple | list) else (result,)
    recorded = node.type if isinstance(node.type, tuple) else (node.type,)
    pairs = zip(results, recorded, strict=True)
    made = [n for t, known in pairs if isinstance(known, TensorType) for n in t.shape]
    return [sizes.index(n) if n > 1 and n in sizes else None for n in made]
