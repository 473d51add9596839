"""The small counterpart of a graph: the same calls at sizes that the interpreter gets through.

Every distinct size of the graph is given a small one; equal sizes stay equal. Views demand that
products agree, concatenations and slices that sums do; a search over small numbers meets those
demands, and torch's ``meta`` device then says what every call gives at the new sizes. The result
is run once, so that no index of it is out of range.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import sympy
import torch

from harness.errors import HarnessError, reason
from harness.graph.bounds import LOOKED_UP, places, with_bounds
from harness.graph.lowering.operators.views import matched
from harness.graph.model import Arg, Graph, Input, Node, Ref, TensorType, ValueType, tensors_of
from harness.graph.replay import META, call_node, random_inputs, replay, stand_in

_DOMAINS: tuple[tuple[int, tuple[int, ...], bool], ...] = (
    (4, (5, 7, 6, 9, 11, 3, 8, 10, 12, 4, 13, 2, 16, 32), False),
    (4, (8, 4, 16, 2, 12, 6, 32, 3, 5), False),
    (2, (2, 3, 4, 5, 6, 8, 1, 12), False),
    (64, (5, 7, 3, 8, 4, 2), False),
    (4, (), False),
    (64, (), False),
    (256, (5, 7, 3), False),
    (4, (5, 7, 3, 6, 4, 2), True),
    (4, (2, 3), True),
)
"""The largest size that stays as it is (counts: channels, halves), small ones for the others, best
first: odd ones before others so that masks matter; then what divides well; as small as can be; with
tables as they are (buckets of positions). Where there are none, sizes rise as the real ones do, so
that places in a table stay inside it. At last dimensions stay in which something is looked up."""
_APART = (*((4, few, False) for few in ((5, 7, 3, 6, 4, 2), (2, 3), (2, 1))), (4, (2, 3), True))
"""The same for dimensions that are told apart although their sizes are equal."""
_FEW = 4
"""Numbers up to this one in a call are dimensions and counts, not sizes, but in a shape."""
_FEW_ELEMENTS, MOST_ELEMENTS = 1 << 15, 1 << 19
"""In a tensor: what takes the interpreter a second; and, where nothing is as small, some."""
_MOST_SIZE = 4096
_STEPS = 100_000
RESHAPES = frozenset({"view", "_unsafe_view", "reshape", "unflatten"})
_SHAPES = RESHAPES | {"expand", "full"}
"""Calls whose lists of numbers are shapes."""
_DIMENSIONS = frozenset({"permute", "squeeze", "unsqueeze", "sum", "mean", "var_mean", "amax"})
"""Calls whose numbers are dimensions."""
_TO_THE_END = 1 << 40


Shapes: TypeAlias = Mapping[str, Sequence[Sequence[int]]]
"""The sizes of every value's tensors, by name. Those that are equal stay so."""


class _Impossible(ValueError):
    """There is no small counterpart by this choice of sizes; the text says why."""


FAILURES = (HarnessError, AssertionError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class _Demand:
    """``holds`` of the small sizes that ``sizes`` get; checked once all of them have one. Where two
    ``sides`` have the same ``total``, the last of their sizes is not searched for."""

    sizes: tuple[int, ...]
    holds: Callable[[Mapping[int, int]], bool]
    total: Callable[[Iterable[int]], int] = math.prod
    sides: tuple[Sequence[int], Sequence[int]] = ((), ())

    def left(self, size: int, chosen: Mapping[int, int]) -> Iterator[int]:
        """What the sides leave for ``size``, the only one of theirs that is open."""
        own, other = sorted(self.sides, key=lambda side: size not in side)
        if (*own, *other).count(size) == 1 and min(*own, *other) >= 0:
            rest = self.total(chosen[n] for n in own if n != size)
            whole = self.total(chosen[n] for n in other)
            yield min(int(size), whole - rest if self.total is sum else whole // max(1, rest))


def shrunk(
    graph: Graph, told_apart: Callable[[Graph], Shapes] | None = None
) -> tuple[Graph | None, str]:
    """``graph`` at small sizes, or None and why there is none. Equal sizes stay equal, or, where
    that gives nothing small enough, those that ``told_apart`` leaves equal."""
    if not all(n.is_Integer for kind in tensors_of(*graph.types().values()) for n in kind.shape):
        return None, "it has sizes that only a launch knows"
    reason = "no small sizes meet what its views and slices demand"
    larger: list[tuple[int, Graph]] = []
    numbers = {name: numbers_of(kind) for name, kind in graph.types().items()}
    ways = [(lambda _: numbers, way) for way in _DOMAINS]
    for shapes_of, way in ways + [(told_apart, way) for way in _APART if told_apart]:
        try:
            shapes = shapes_of(graph)
            if (sizes := _Extents(graph, shapes).solved(*way)) is None:
                continue
            made = _Rebuilt(sizes, shapes).graph(graph)
            elements = max((int(k.numel) for k in tensors_of(*made.types().values())), default=0)
            if elements <= _FEW_ELEMENTS:
                return tried(made), ""
            larger.append((elements, made))
        except FAILURES as error:
            reason = _said(error)
    for elements, made in sorted(larger, key=lambda found: found[0]):
        if elements > MOST_ELEMENTS:
            return None, "the smallest sizes that fit are too large for the interpreter"
        try:
            return tried(made), ""
        except FAILURES as error:
            reason = _said(error)
    return None, reason


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, _Impossible) else reason(error)


def tried(graph: Graph) -> Graph:
    """``graph`` after a run on random inputs; whatever torch raises is for the caller."""
    with torch.no_grad():
        replay(graph, random_inputs(graph, "cpu"), "cpu")
    return graph


def numbers_of(kind: ValueType) -> list[list[int]]:
    """The sizes of each of a value's tensors; of one that is not there, none."""
    return [
        _ints(one.shape) if one else [] for one in (kind if isinstance(kind, tuple) else (kind,))
    ]


@dataclass(slots=True)
class _Extents:
    """The sizes of a graph and what its calls demand of them."""

    graph: Graph
    shapes: Shapes
    demands: list[_Demand] = field(default_factory=list)

    def solved(self, kept: int, domain: Sequence[int], tables: bool) -> dict[int, int] | None:
        """A small size for every size above ``kept``, or but of dimensions of ``tables``; None if
        the search finds none."""
        types = self.graph.types()
        for node in self.graph.nodes:
            self._demand(node, types)
        every = (n for shapes in self.shapes.values() for shape in shapes for n in shape)
        known = dict.fromkeys(itertools.chain(every, *(demand.sizes for demand in self.demands)))
        tabled = set(map(int, self._looked_up())) if tables else set()
        chosen = {n: int(n) for n in known if n <= kept or int(n) in tabled}
        return _search(sorted(n for n in known if n not in chosen), domain, self.demands, chosen)

    def _looked_up(self) -> Iterator[int]:
        """Sizes of dimensions in which something is looked up, but for those that are counted."""
        made = {node.name: node for node in self.graph.nodes}
        for node in (one for one in self.graph.nodes if one.packet in LOOKED_UP):
            for table, dim, place in places(node):
                sizes = {shape[dim] for shape in self.shapes[table]}
                at = made.get(place)
                while at is not None and at.packet in ("view", "unsqueeze", "expand"):
                    at = made.get(next(at.refs()))
                if at is None or at.packet != "arange" or self.shapes[at.name][0][0] not in sizes:
                    yield from sizes

    def _demand(self, node: Node, types: Mapping[str, ValueType]) -> None:
        kind, first = node.type, node.args[0] if node.args else None
        source = types[first.name] if isinstance(first, Ref) else None
        if not isinstance(kind, TensorType):
            return
        (after,) = self.shapes[node.name]
        if isinstance(source, TensorType):
            self._of_one(node, source, kind)
        elif node.packet == "cat" and isinstance(first, tuple):
            dim = _number(node.args[1]) if len(node.args) > 1 else 0
            parts = [self.shapes[one.name][0] for one in first if isinstance(one, Ref)]
            # An empty part may have another rank.
            pieces = [part[dim] for part in parts if len(part) == kind.rank]
            self._equal(sum, pieces, (after[dim],))
        elif node.packet == "arange" and len(node.args) > 1 and kind.rank == 1:
            numbers = [int(a) for a in node.args[:3] if isinstance(a, int | sympy.Integer)]
            if len(numbers) == len(node.args[:3]):  # places that begin at a half are as many
                start, end, step, *_ = *numbers, 1
                self._range(start, end, step, after[0])

    def _of_one(self, node: Node, source: TensorType, kind: TensorType) -> None:
        name, first = node.packet, next(node.refs())
        (before,), (after,) = self.shapes[first], self.shapes[node.name]
        if name in RESHAPES:
            for ins, outs in matched(source.shape, kind.shape):
                self._equal(math.prod, [before[d] for d in ins], [after[d] for d in outs])
        elif name == "as_strided":
            self._equal(math.prod, before, after)
        elif name == "constant_pad_nd":
            pads = [_number(one) for one in _tuple(node.args[1])]
            for d, at in enumerate(range(0, len(pads), 2), start=1):
                self._equal(sum, (before[-d], *pads[at : at + 2]), (after[-d],))
        elif name == "select" and (at := _number(node.args[2])) > 0:
            whole = before[_number(node.args[1])]
            self._add((whole, at), lambda v: v[at] < v[whole])
        elif name in ("slice", "slice_scatter"):
            part = [self.shapes[name][0] for name in (*node.refs(), node.name)][1]
            self._slice(node, before, part)
        elif name.endswith("pool2d_backward"):
            for d, *numbers in zip((-2, -1), *map(_tuple, node.args[2:5]), strict=False):
                sizes = after[d], before[d]
                self._add(sizes, partial(_pooled, sizes, [_number(n) for n in numbers]))

    def _equal(self, total: Any, left: Sequence[int], right: Sequence[int]) -> None:
        """That both sides have the same product, or sum; what is taken off counts below zero."""

        def of(value: Mapping[int, int], side: Sequence[int]) -> Any:
            return total(value[n] if n >= 0 else -value[-n] for n in side)

        sizes = (n if n >= 0 else -n for n in (*left, *right))
        self._add(sizes, lambda v: of(v, left) == of(v, right), total, (left, right))

    def _slice(self, node: Node, source: Sequence[int], part: Sequence[int]) -> None:
        """The length of the ``part`` that is cut out or put in, and that it lies inside."""
        numbers = [_number(a) for a in node.args[(2 if "scatter" in node.op else 1) :]]
        dim, start, end, step = (*numbers, *(0, 0, _TO_THE_END, 1)[len(numbers) :])
        whole = source[dim]
        start = start + whole if start < 0 else start
        end = min(whole, end + whole if end < 0 else end)
        self._range(start, end, step, part[dim])
        self._add((whole, end), lambda v: v[end] <= v[whole])

    def _range(self, start: int, end: int, step: int, length: int) -> None:
        if step == 1:
            self._equal(sum, (start, length), (end,))
        elif min(start, end, step) >= 0:
            self._add((start, end, length), lambda v: -(-(v[end] - v[start]) // step) == v[length])

    def _add(
        self, sizes: Iterable[int], holds: Callable[[Mapping[int, int]], bool], *sides: Any
    ) -> None:
        different = tuple(dict.fromkeys(sizes))
        if len(different) > 1 and holds({n: int(n) for n in different}):
            self.demands.append(_Demand(different, holds, *sides))


def _search(
    sizes: Sequence[int], domain: Sequence[int], demands: Sequence[_Demand], chosen: dict[int, int]
) -> dict[int, int] | None:
    """A value for each of ``sizes``: one of ``domain``, or what a demand leaves."""
    order = _order(sizes, demands)
    due: dict[int, list[_Demand]] = {}
    last = {n: position for position, n in enumerate(order)}
    for demand in demands:
        if open_ := [n for n in demand.sizes if n in last]:
            due.setdefault(max(open_, key=last.__getitem__), []).append(demand)
    places = {n: place for place, n in enumerate(sizes)}
    steps = itertools.count()

    def place(position: int) -> bool:
        if position == len(order):
            return True
        size = order[position]
        left = [n for d in due.get(size, ()) for n in d.left(size, chosen)]
        for value in left[:1] or _values(size, places[size], domain, chosen, size in due):
            if next(steps) > _STEPS:
                return False
            chosen[size] = value
            if all(d.holds(chosen) for d in due.get(size, ())) and place(position + 1):
                return True
        chosen.pop(size, None)
        return False

    return chosen if place(0) else None


def _order(sizes: Sequence[int], demands: Sequence[_Demand]) -> list[int]:
    """``sizes`` in the order in which they get their values: next comes the one that the most of a
    demand waits for, of those the smallest, so that a choice that fails does so early. What is only
    bounded waits for what has to be equal."""
    left = dict.fromkeys(sizes)
    waiting = [dict.fromkeys(n for n in d.sizes if n in left) for d in demands if d.sides[0]]
    order = []
    while left:
        fewest = min((len(w) for w in waiting if w), default=0)
        next_ = min((n for w in waiting if len(w) == fewest for n in w), default=min(left))
        order.append(next_)
        del left[next_]
        for one in waiting:
            one.pop(next_, None)
    return order


def _values(
    size: int, position: int, domain: Sequence[int], chosen: Mapping[int, int], forced: bool
) -> dict[int, None]:
    """What ``size`` may become, best first; everything for one of which something is demanded."""
    if domain:
        rotated = position % len(domain)
        free = [*domain[rotated:], *domain[:rotated]]
    else:
        least = max((small for other, small in chosen.items() if other < size), default=0)
        free = [least + n for n in (2, 3, 4, 1, 5, 6, 8)]
    free = [n for n in free if n <= size] or [int(size)]
    return dict.fromkeys([*free, *range(1, min(size, _MOST_SIZE) + 1)] if forced else free)


@dataclass(slots=True)
class _Rebuilt:
    """Makes a graph again at other sizes."""

    sizes: Mapping[int, int]
    shapes: Shapes
    small: dict[str, ValueType] = field(default_factory=dict)

    def graph(self, graph: Graph) -> Graph:
        """``graph`` at the small sizes. Raises ``_Impossible``, and what torch raises for calls
        that it does not take."""
        inputs = tuple(self._input(item) for item in graph.inputs)
        self.small.update((item.name, item.type) for item in inputs)
        types = graph.types()
        nodes = tuple(self._node(node, types) for node in graph.nodes)
        return with_bounds(replace(graph, inputs=inputs, nodes=nodes, facts=(("sizes", "small"),)))

    def _input(self, item: Input) -> Input:
        bound = item.bound
        if bound is not None:
            bound = sympy.Integer(self.sizes.get(int(bound), min(int(bound), 3)))
        return replace(item, type=self._type(item.type, *self.shapes[item.name]), bound=bound)

    def _node(self, node: Node, types: Mapping[str, ValueType]) -> Node:
        args = tuple(self._argument(arg, node) for arg in node.args)
        kwargs = tuple((key, self._argument(value, node)) for key, value in node.kwargs)
        made = replace(node, args=args, kwargs=kwargs)
        then = call_node(node, _stand_ins(node, types), META)
        now = call_node(made, _stand_ins(node, self.small), META)
        kind = self.small[node.name] = self._result(node, then, now)
        return replace(made, type=kind)

    def _argument(self, arg: Arg, node: Node, few: int = _FEW) -> Arg:
        match arg:
            case tuple():
                few = 0 if node.packet in _SHAPES else _FEW
                if not few and len(arg) == len(shape := self.shapes[node.name][0]):
                    pairs = zip(arg, shape, strict=True)
                    return tuple(one if _number(one) < 0 else self.sizes[n] for one, n in pairs)
                return tuple(self._argument(one, node, few) for one in arg)
            case int() | sympy.Integer() if node.packet not in _DIMENSIONS and arg is not True:
                number = int(arg)
                small = self.sizes.get(abs(number), abs(number))
                return arg if abs(number) <= few else small if number > 0 else -small
            case _:
                return arg

    def _result(self, node: Node, then: Any, now: Any) -> ValueType:
        if isinstance(node.type, tuple):
            parts = zip(node.type, then, now, self.shapes[node.name], strict=True)
            return tuple(itertools.starmap(self._one, parts))
        return self._one(node.type, then, now, *self.shapes[node.name])

    def _one(
        self, recorded: TensorType | None, then: Any, now: Any, sizes: Sequence[int]
    ) -> TensorType | None:
        """The type of a result. Where torch laid it out as the graph recorded it, it does so here;
        elsewhere the recorded order of the dimensions holds."""
        if recorded is None or not isinstance(now, torch.Tensor):
            return None
        shape = tuple(sympy.Integer(n) for n in now.shape)
        if list(then.stride()) == _ints(recorded.stride):
            return TensorType(recorded.dtype, shape, tuple(map(sympy.Integer, now.stride())))
        if shape != tuple(sympy.Integer(self.sizes[n]) for n in sizes):
            raise _Impossible("a result has other sizes than its place demands")
        return self._type(recorded, sizes)

    def _type(self, kind: TensorType, sizes: Sequence[int]) -> TensorType:
        """``kind`` at the small sizes: the same order in memory, gaps where there were some."""
        old, strides = _ints(kind.shape), _ints(kind.stride)
        new = [self.sizes[n] for n in sizes]
        made, step, expected = [0] * len(old), 1, 1
        for d in sorted(range(len(old)), key=lambda d: (strides[d], -d)):
            if strides[d] == 0 and old[d] > 1:
                continue
            if old[d] > 1:
                if strides[d] < expected:
                    raise _Impossible("an input overlaps itself")
                step *= min(3, -(-strides[d] // expected))
                expected = strides[d] * old[d]
            made[d] = step
            step *= max(1, new[d])
        return TensorType(
            kind.dtype, tuple(map(sympy.Integer, new)), tuple(map(sympy.Integer, made))
        )


def _stand_ins(node: Node, types: Mapping[str, ValueType]) -> dict[str, Any]:
    return {name: stand_in(types[name]) for name in node.refs()}


def _ints(sizes: Iterable[sympy.Expr]) -> list[int]:
    return [int(n) for n in sizes]


def _tuple(arg: Arg) -> tuple[Arg, ...]:
    return arg if isinstance(arg, tuple) else ()


def _number(arg: Arg) -> int:
    return int(arg)  # type: ignore[arg-type]


def _pooled(sizes: Sequence[int], numbers: Sequence[int], value: Mapping[int, int]) -> bool:
    (whole, windows), (length, step, pad) = (value[n] for n in sizes), numbers
    return (whole + 2 * pad - length) // step + 1 == windows
