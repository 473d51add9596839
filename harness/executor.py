"""Running a compiled graph: regions through their kernels, library calls with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import sympy
import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph, CompiledRegion, Launch
from harness.errors import GraphError
from harness.graph.execute import execute
from harness.graph.model import Region
from harness.graph.replay import replay, same_layout, torch_dtype
from harness.ir.program import Buffer, Program, Role
from harness.tiling.plan import ArgumentKind

LaunchKernel: TypeAlias = "Callable[[EmittedModule, list[Any]], None]"
"""Runs an emitted module's kernel on its arguments (tensors; integers for sizes)."""


def run_graph(
    compiled: CompiledGraph,
    tensors: Sequence[torch.Tensor],
    launch: LaunchKernel,
    device: torch.device | str,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per input, on ``device``), mutations applied.

    Regions that could not be compiled (``compiled.failures`` lists them) run with torch.
    """
    by_name = {region.region.name: region for region in compiled.regions}

    def run(region: Region, inputs: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        return run_region(by_name[region.name], inputs, launch, device)

    return execute(compiled.partition, tensors, device, run)


def run_region(
    compiled: CompiledRegion,
    tensors: Sequence[torch.Tensor],
    launch: LaunchKernel,
    device: torch.device | str,
) -> list[torch.Tensor]:
    """A region's outputs from its inputs: allocate, launch in order, free after last use.

    An input on another device or with other strides than the region's graph records is
    copied first (and copied back if the region changes it).
    """
    if not compiled.complete or compiled.program is None:
        return [t for t in replay(compiled.region.graph, tensors, device) if t is not None]
    program = compiled.program
    inputs = [item.name for item in compiled.compiled_as.inputs]
    given = dict(zip(inputs, tensors, strict=True))
    memory = _Memory(program, given, torch.device(device))
    last = _last_launches(compiled.launches)
    kept = {*program.outputs, *inputs}
    for number, one in enumerate(compiled.launches):
        launch(one.kernel.module, memory.arguments(one))
        for name in last[number]:
            if name not in kept:
                memory.free(name)
    memory.copy_back(program.mutated)
    return [memory.tensor(name) for name in program.outputs]


class _Memory:
    """The tensors behind a program's buffers while its kernels run."""

    def __init__(
        self, program: Program, given: Mapping[str, torch.Tensor], device: torch.device
    ) -> None:
        self._buffers = {buffer.name: buffer for buffer in program.buffers}
        self._device = device
        self._tensors: dict[str, torch.Tensor] = {}
        self._given: dict[str, torch.Tensor] = {}
        self._sizes: dict[sympy.Symbol, int] = {}
        for buffer in program.buffers:
            if buffer.role is Role.INPUT:
                self._bind_sizes(buffer, given[buffer.node])
        for buffer in program.buffers:
            if buffer.role is Role.INPUT:
                self._take(buffer, given[buffer.node])

    def _bind_sizes(self, buffer: Buffer, tensor: torch.Tensor) -> None:
        for size, actual in zip(buffer.shape, tensor.shape, strict=True):
            if isinstance(size, sympy.Symbol):
                self._sizes[size] = actual

    def _take(self, buffer: Buffer, tensor: torch.Tensor) -> None:
        """Use an input, on the device and in the layout that the kernels were written for
        (single numbers, such as step counts, may live on the CPU)."""
        stride = self._numbers(buffer.stride)
        elsewhere = tensor.device.type != self._device.type
        if elsewhere or not same_layout(tensor, stride):
            self._given[buffer.name] = tensor
            tensor = self._allocate(buffer).copy_(tensor)
        self._tensors[buffer.name] = tensor

    def _numbers(self, values: Sequence[sympy.Expr]) -> list[int]:
        return [int(v) if v.is_Integer else int(v.subs(self._sizes)) for v in values]

    def _allocate(self, buffer: Buffer) -> torch.Tensor:
        return torch.empty_strided(
            self._numbers(buffer.shape),
            self._numbers(buffer.stride),
            dtype=torch_dtype(buffer.dtype),
            device=self._device,
        )

    def arguments(self, launch: Launch) -> list[Any]:
        """The kernel's arguments; what it writes for the first time is allocated."""
        found: list[Any] = []
        for argument, names in zip(launch.plan.arguments, launch.arguments, strict=True):
            if argument.kind is ArgumentKind.SIZE:
                symbol = next(s for s in launch.plan.sizes if str(s) == names[0])
                found.append(self._sizes[symbol])
                continue
            if len(names) == 2:
                self._tensors[names[1]] = self._tensors[names[0]]
            found.append(self.tensor(names[-1]))
        return found

    def tensor(self, name: str) -> torch.Tensor:
        """The buffer's tensor, allocated if it has none yet."""
        if name not in self._tensors:
            buffer = self._buffers.get(name)
            if buffer is None:
                raise GraphError("a kernel names a buffer that does not exist", got=name)
            self._tensors[name] = self._allocate(buffer)
        return self._tensors[name]

    def free(self, name: str) -> None:
        """Forget a buffer; its memory goes when nothing else lives in it."""
        self._tensors.pop(name, None)

    def copy_back(self, mutated: Sequence[str]) -> None:
        """Changed inputs that were copied because of their layout."""
        for name in mutated:
            if name in self._given:
                self._given[name].copy_(self._tensors[name])


def _last_launches(launches: Sequence[Launch]) -> list[list[str]]:
    """For each launch the buffers that no later launch uses."""
    seen: set[str] = set()
    freed: list[list[str]] = []
    for launch in reversed(launches):
        names = dict.fromkeys(name for names in launch.arguments for name in names)
        freed.append([name for name in names if name not in seen])
        seen.update(names)
    return freed[::-1]
