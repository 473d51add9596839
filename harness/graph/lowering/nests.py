"""Loop nests that fill buffers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap

import sympy

from harness.errors import InvalidProgram
from harness.graph.lowering.context import Context
from harness.graph.lowering.tensor import (
    Reduced,
    Scanned,
    Scattered,
    Shape,
    Tensor,
    canonical,
    is_one,
    ranges_of,
)
from harness.graph.model import TensorType
from harness.graph.sizes import contiguous_strides, overlap
from harness.ir.affine import size_hint
from harness.ir.index import axis_symbol, flat_index
from harness.ir.nodes import Axis, Nest, Store, buffers_read, buffers_written, points
from harness.ir.program import Buffer, Role


def layout_of(kind: TensorType) -> Shape:
    """The strides a value of type ``kind`` is stored with: the recorded ones, unless two
    elements would share memory (an expanded tensor), then row-major ones."""
    dims = zip(kind.stride, kind.shape, strict=True)
    moving = ((size_hint(s), size_hint(n)) for s, n in dims if not is_one(n))
    return contiguous_strides(kind.shape) if overlap(moving) else kind.stride


def axes_in_order(shape: Shape, stride: Shape) -> tuple[Axis, ...]:
    """The loops over a buffer, largest stride outermost, sizes of one left out."""
    dims = [d for d, n in enumerate(shape) if not is_one(n)]
    dims.sort(key=lambda d: (-size_hint(stride[d]), d))
    return tuple(Axis(axis_symbol("i", d), shape[d]) for d in dims)


@dataclass(slots=True)
class NestMaker:
    """Makes the nests of one program in order; ``order`` is the position of every node."""

    context: Context
    order: dict[str, int]
    nests: list[Nest] = field(default_factory=list)

    def _add(
        self,
        axes: tuple[Axis, ...],
        raxes: tuple[Axis, ...],
        stores: Iterable[Store],
        origins: frozenset[str],
    ) -> None:
        if any(axis.size.is_zero for axis in axes):
            return  # nothing to store
        if any(axis.size.is_zero for axis in raxes):
            raise InvalidProgram("a reduction over nothing", got=", ".join(sorted(origins)))
        name = f"nest{len(self.nests)}"
        nodes = sorted(origins & self.order.keys(), key=self.order.__getitem__)
        self.nests.append(Nest(name, axes, raxes, tuple(stores), tuple(nodes)))

    def copy(self, buffer: Buffer, dim: int, origins: frozenset[str]) -> Buffer:
        """A copy of ``buffer``, made now, whose innermost dimension is ``dim``."""
        dims = range(len(buffer.shape))
        order = sorted(dims, key=lambda d: (d == dim, -size_hint(buffer.stride[d])))
        strides = contiguous_strides([buffer.shape[d] for d in order])
        own = tuple(strides[order.index(d)] for d in dims)
        role, name = Role.TEMPORARY, f"{buffer.name}_turned"
        made = replace(buffer, name=name, stride=own, role=role, along=dim)
        self.fill(made, [self.read(buffer)], origins)
        return made

    def read(self, buffer: Buffer) -> Tensor:
        """What is in a buffer."""
        place = flat_index(buffer.stride, canonical(buffer.shape))
        value = self.context.load(buffer.name, place, buffer.dtype)
        return Tensor(buffer.shape, buffer.dtype, value)

    def fill(
        self, buffer: Buffer, tensors: Sequence[Tensor], origins: frozenset[str], dim: int = 0
    ) -> None:
        """Store a tensor into its buffer, or several of one shape, one behind the other along
        ``dim``, at once."""
        shape, stores = tensors[0].shape, []
        for number, tensor in enumerate(tensors):
            place = [n + number * shape[d] * int(d == dim) for d, n in enumerate(canonical(shape))]
            index = flat_index(buffer.stride, tuple(place))
            stores.append(Store(buffer.name, index, tensor.value))
        self._add(axes_in_order(shape, buffer.stride), (), stores, origins)

    def reduce(self, parts: list[tuple[Buffer, Reduced]], origins: frozenset[str]) -> None:
        """Store the results of one reduction."""
        first, reduced = parts[0]
        stores = [
            Store(b.name, flat_index(b.stride, canonical(b.shape)), r.value) for b, r in parts
        ]
        axes = axes_in_order(first.shape, first.stride)
        raxes = tuple(starmap(Axis, ranges_of((), reduced.rsizes).items()))
        self._add(axes, raxes, stores, origins)

    def scan(self, parts: list[tuple[Buffer, Scanned]], origins: frozenset[str]) -> None:
        """Store the results of one scan or sort."""
        first, scanned = parts[0]
        if scanned.size.is_zero or any(n.is_zero for n in scanned.shape):
            return  # nothing to store
        dim, along = scanned.dim, axis_symbol("r", 0)
        axes = axes_in_order(first.shape, first.stride)
        axes = tuple(a for a in axes if a.var != axis_symbol("i", dim))
        stores = []
        for buffer, part in parts:
            place = list(canonical(buffer.shape))
            place[dim] = part.size - 1 - along if part.backward else along - part.start
            ends = sympy.Integer(part.start), part.start + part.shape[dim]
            inside = self.context.inside(along, (), *ends, rsizes=(part.size,))
            mask = None if part.whole else inside
            index = flat_index(buffer.stride, tuple(place))
            stores.append(Store(buffer.name, index, part.value, mask=mask))
        self._add(axes, (Axis(along, scanned.size),), stores, origins)

    def place(self, buffer: Buffer, result: Scattered) -> sympy.Expr:
        """The offset in ``buffer`` of a scattered point."""
        # What is written into a dimension of one element keeps its index: it is asserted, and
        # several points may meet there.
        one, shape, stride = sympy.S.One, buffer.shape, buffer.stride
        target = [
            (i if self.context.bindings(i) else sympy.S.Zero, one) if is_one(n) else (i, s)
            for i, n, s in zip(result.target, shape or (one,), stride or (one,), strict=True)
        ]
        offset = sympy.Add(*(i * s for i, s in target))
        return self.context.simplifier(result.points).simplify(offset)

    def scatter(self, buffer: Buffer, result: Scattered, origins: frozenset[str]) -> None:
        """Store the scattered values over the initial contents."""
        index = self.place(buffer, result)
        store = Store(buffer.name, index, result.value, result.mode, self.context.bindings(index))
        self._add(tuple(starmap(Axis, ranges_of(result.points).items())), (), [store], origins)

    def reduced(self, buffers: Collection[str]) -> set[int]:
        """Of how many points what ``buffers`` hold was reduced, if it was: kernels can go on."""
        found: dict[str, set[int]] = {}
        for nest in self.nests:
            behind = set().union(*(found.get(name, ()) for name in buffers_read(nest)))
            own = [size_hint(points((*nest.axes, *nest.raxes)))] * bool(nest.raxes)
            found.update(dict.fromkeys(buffers_written(nest), behind.union(own)))
        return set().union(*(found.get(name, ()) for name in buffers))
