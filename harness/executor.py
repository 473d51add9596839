"""Running a compiled graph: regions through their kernels, library calls with torch.

``prepare_graph`` and ``prepare_region`` do once what does not depend on the tensors, so
that a run costs the host little more than its launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy
import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph, CompiledRegion, Launch
from harness.errors import GraphError
from harness.graph.execute import Execution, RegionStep
from harness.graph.replay import replay, same_layout, torch_dtype
from harness.ir.program import Buffer, Program, Role
from harness.tiling.plan import ArgumentKind

LaunchKernel: TypeAlias = "Callable[[EmittedModule, list[Any]], None]"
"""Runs an emitted module's kernel on its arguments (tensors; integers for sizes)."""
PrepareKernel: TypeAlias = "Callable[[EmittedModule], Callable[[list[Any]], None]]"
"""Makes what runs an emitted module's kernel, given its arguments."""
RunGraph: TypeAlias = "Callable[[list[torch.Tensor]], list[torch.Tensor | None]]"
"""A graph's outputs from one tensor per input, in a list that it empties."""


def prepare_graph(
    compiled: CompiledGraph, kernel: PrepareKernel, device: torch.device | str
) -> RunGraph:
    """``compiled`` as a function of its inputs on ``device``; mutations are applied to them.

    Regions that could not be compiled (``compiled.failures`` lists them) run with torch.
    """
    by_name = {region.region.name: region for region in compiled.regions}
    return Execution(
        compiled.partition,
        torch.device(device),
        lambda region: prepare_region(by_name[region.name], kernel, device),
    )


def run_graph(
    compiled: CompiledGraph,
    tensors: Sequence[torch.Tensor],
    launch: LaunchKernel,
    device: torch.device | str,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per input, on ``device``), mutations applied."""
    return prepare_graph(compiled, _each_time(launch), device)(list(tensors))


def prepare_region(
    compiled: CompiledRegion, kernel: PrepareKernel, device: torch.device | str
) -> RegionStep:
    """A region as a function of its inputs: allocate, launch in order, free after last use.

    An input on another device or with other strides than the region's graph records is
    copied first (and copied back if the region changes it).
    """
    where = torch.device(device)
    if not compiled.complete or compiled.program is None:
        graph = compiled.region.graph
        return lambda tensors: [t for t in replay(graph, tensors, where) if t is not None]
    return _PreparedRegion(compiled, compiled.program, kernel, where)


def run_region(
    compiled: CompiledRegion,
    tensors: Sequence[torch.Tensor],
    launch: LaunchKernel,
    device: torch.device | str,
) -> list[torch.Tensor]:
    """A region's outputs from its inputs, as ``prepare_region`` computes them."""
    return list(prepare_region(compiled, _each_time(launch), device)(list(tensors)))


def _each_time(launch: LaunchKernel) -> PrepareKernel:
    return lambda module: lambda args: launch(module, args)


Sizes: TypeAlias = "dict[sympy.Symbol, int]"


@dataclass(frozen=True, eq=False, slots=True)
class _Layout:
    """A buffer's layout: integers where they are known, expressions over sizes elsewhere."""

    shape: tuple[int | sympy.Expr, ...]
    stride: tuple[int | sympy.Expr, ...]
    dtype: torch.dtype
    known: bool

    @classmethod
    def of(cls, buffer: Buffer) -> _Layout:
        shape, stride = (tuple(map(_plain, sizes)) for sizes in (buffer.shape, buffer.stride))
        known = all(isinstance(n, int) for n in (*shape, *stride))
        return cls(shape, stride, torch_dtype(buffer.dtype), known)

    def at(self, sizes: Sizes) -> tuple[Sequence[Any], Sequence[Any]]:
        """Shape and stride as integers."""
        if self.known:
            return self.shape, self.stride
        return tuple(
            tuple(n if isinstance(n, int) else int(n.subs(sizes)) for n in numbers)
            for numbers in (self.shape, self.stride)
        )  # type: ignore[return-value]

    def allocate(self, sizes: Sizes, device: torch.device) -> torch.Tensor:
        """Memory in this layout, its contents undefined."""
        shape, stride = self.at(sizes)
        return torch.empty_strided(shape, stride, dtype=self.dtype, device=device)

    def over(self, old: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        """A tensor of this layout in the memory of ``old``: ``old`` itself if it has it."""
        shape, stride = self.at(sizes)
        if old.shape == shape and old.stride() == stride and old.dtype == self.dtype:
            return old
        first = old.storage_offset() * old.element_size()
        needed = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        end = first + (0 if 0 in shape else needed) * self.dtype.itemsize
        if first % self.dtype.itemsize or end > old.untyped_storage().nbytes():
            raise GraphError(
                "a value does not fit the memory that it takes over",
                got=f"{list(old.shape)} {old.dtype} at strides {list(old.stride())}",
                expected=f"room for {list(shape)} {self.dtype} at strides {list(stride)}",
                remedy="report this as a defect of the compiler, with the graph file",
            )
        made = torch.empty(0, dtype=self.dtype, device=old.device)
        return made.set_(old.untyped_storage(), first // self.dtype.itemsize, shape, stride)


def _plain(size: sympy.Expr) -> int | sympy.Expr:
    return int(size) if size.is_Integer else size


@dataclass(frozen=True, eq=False, slots=True)
class _Argument:
    """A kernel argument: the buffer ``name``, which for ``old`` takes that one's memory over;
    or the value of ``size``."""

    name: str
    old: str | None = None
    size: sympy.Symbol | None = None


@dataclass(eq=False, slots=True)
class _PreparedRegion:
    """A region whose kernels, layouts and lifetimes are worked out."""

    compiled: CompiledRegion
    program: Program
    kernel: PrepareKernel
    device: torch.device
    _layouts: dict[str, _Layout] = field(init=False)
    _inputs: list[tuple[str, int, _Layout]] = field(init=False)
    _sizes: list[tuple[sympy.Symbol, int, int]] = field(init=False)
    _launches: list[tuple[Callable[[list[Any]], None], list[_Argument], list[str]]] = field(
        init=False
    )

    def __post_init__(self) -> None:
        self._layouts = {b.name: _Layout.of(b) for b in self.program.buffers}
        places = {item.name: n for n, item in enumerate(self.compiled.compiled_as.inputs)}
        self._inputs, self._sizes = [], []
        for buffer in self.program.buffers:
            if buffer.role is Role.INPUT:
                place = places[buffer.node]
                self._inputs.append((buffer.name, place, self._layouts[buffer.name]))
                self._sizes.extend(
                    (size, place, axis)
                    for axis, size in enumerate(buffer.shape)
                    if isinstance(size, sympy.Symbol)
                )
        kept = {*self.program.outputs, *(name for name, _, _ in self._inputs)}
        launches = self.compiled.launches
        self._launches = [
            (self.kernel(one.kernel.module), _arguments(one), [n for n in dead if n not in kept])
            for one, dead in zip(launches, _last_launches(launches), strict=True)
        ]

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        sizes = {size: tensors[place].shape[axis] for size, place, axis in self._sizes}
        memory: dict[str, torch.Tensor] = {}
        copied: dict[str, torch.Tensor] = {}
        for name, place, layout in self._inputs:
            memory[name] = tensors[place]
            if not self._usable(tensors[place], layout, sizes):
                copied[name] = tensors[place]
                memory[name] = layout.allocate(sizes, self.device).copy_(tensors[place])
        for launch, arguments, dead in self._launches:
            launch([self._argument(one, memory, sizes) for one in arguments])
            for name in dead:
                memory.pop(name, None)
        for name in self.program.mutated:
            if name in copied:
                copied[name].copy_(memory[name])
        return [self._tensor(name, memory, sizes) for name in self.program.outputs]

    def _usable(self, tensor: torch.Tensor, layout: _Layout, sizes: Sizes) -> bool:
        """Whether kernels can read an input where it is (single numbers, such as step counts,
        may live on the CPU)."""
        if tensor.device.type != self.device.type:
            return False
        _, stride = layout.at(sizes)
        return tensor.stride() == stride or same_layout(tensor, stride)

    def _argument(self, one: _Argument, memory: dict[str, torch.Tensor], sizes: Sizes) -> Any:
        if one.size is not None:
            return sizes[one.size]
        if one.old is not None:
            old = self._tensor(one.old, memory, sizes)
            memory[one.name] = self._layout(one.name).over(old, sizes)
        return self._tensor(one.name, memory, sizes)

    def _tensor(self, name: str, memory: dict[str, torch.Tensor], sizes: Sizes) -> torch.Tensor:
        found = memory.get(name)
        if found is None:
            found = memory[name] = self._layout(name).allocate(sizes, self.device)
        return found

    def _layout(self, name: str) -> _Layout:
        layout = self._layouts.get(name)
        if layout is None:
            raise GraphError("a kernel names a buffer that does not exist", got=name)
        return layout


def _arguments(launch: Launch) -> list[_Argument]:
    """What the kernel is given, as its plan (not the fused group) says: of the pairs that
    could share memory, planning drops those whose old contents are read again."""
    symbols = {str(symbol): symbol for symbol in launch.plan.sizes}
    found = []
    for argument, names in zip(launch.kernel.source.arguments, launch.arguments, strict=True):
        if argument.kind is ArgumentKind.SIZE:
            found.append(_Argument(names[0], size=symbols[names[0]]))
        else:
            found.append(_Argument(names[-1], old=names[0] if len(names) == 2 else None))
    return found


def _last_launches(launches: Sequence[Launch]) -> list[list[str]]:
    """For each launch the buffers that no later launch uses."""
    seen: set[str] = set()
    freed: list[list[str]] = []
    for launch in reversed(launches):
        names = dict.fromkeys(name for names in launch.arguments for name in names)
        freed.append([name for name in names if name not in seen])
        seen.update(names)
    return freed[::-1]
