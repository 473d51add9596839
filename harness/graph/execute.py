"""Running a partition step by step: regions through a callable, everything else with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

import torch

from harness.graph.model import Graph, HostCall, Node, Partition, Region
from harness.graph.replay import bind_call, bind_layout, check_inputs, replay

RunRegion: TypeAlias = "Callable[[Region, list[torch.Tensor]], Sequence[torch.Tensor]]"
"""Computes a region's outputs from its inputs and applies its mutations to them."""


def replay_region(device: torch.device | str) -> RunRegion:
    """A ``RunRegion`` that uses torch, for comparison."""

    def run(region: Region, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        outputs = replay(region.graph, tensors, device)
        return [tensor for tensor in outputs if tensor is not None]

    return run


def execute(
    partition: Partition,
    tensors: Sequence[torch.Tensor],
    device: torch.device | str,
    run_region: RunRegion,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per graph input, on ``device``).

    Inputs are mutated as the graph says. A value is freed after the last step that reads it.
    Raises ``GraphError`` for inputs of other sizes, and whatever a step raises.
    """
    where = torch.device(device)
    return Execution(partition, where, lambda region: _partial(run_region, region))(list(tensors))


RegionStep: TypeAlias = "Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]"
"""A region's outputs from its inputs."""


def _partial(run_region: RunRegion, region: Region) -> RegionStep:
    return lambda tensors: run_region(region, tensors)


_Run: TypeAlias = "Callable[[_Values], None]"


@dataclass(eq=False, slots=True)
class _Values:
    """Values by name during one run, and the graph's inputs that a step changes."""

    named: dict[str, Any]
    changed: dict[str, Any]
    updating: bool = False


@dataclass(eq=False, slots=True)
class Execution:
    """A partition made ready to run many times on ``device``: operators looked up, sizes
    turned into integers. ``prepare`` makes a region's step."""

    partition: Partition
    device: torch.device
    prepare: Callable[[Region], RegionStep]
    _steps: list[tuple[_Run, list[str]]] = field(init=False)
    _shapes: list[tuple[int, ...]] = field(init=False)
    _changed: list[str] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.partition.graph
        updates = [step.node for step in self.partition.steps if _is_update(step)]
        self._changed = [next(iter(node.refs())) for node in updates]
        kept = {name for name in graph.outputs if name is not None}
        kept.update(m.input for m in graph.mutations)
        self._steps = [
            (self._step(step), [name for name in dead if name not in kept])
            for step, dead in zip(self.partition.steps, _last_steps(self.partition), strict=True)
        ]
        self._shapes = [tuple(int(n) for n in i.type.shape) for i in graph.inputs]

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor | None]:
        """The outputs, mutations applied to ``tensors``. The list is emptied, so that an
        input that nobody else holds is freed after its last use.

        Raises ``GraphError`` for inputs of other sizes, and whatever a step raises.
        """
        graph = self.partition.graph
        if [tuple(t.shape) for t in tensors] != self._shapes:
            check_inputs(graph, tensors)
        named: dict[str, Any] = {i.name: t for i, t in zip(graph.inputs, tensors, strict=True)}
        tensors.clear()
        values = _Values(named, {name: named[name] for name in self._changed})
        for step, dead in self._steps:
            step(values)
            for name in dead:
                named.pop(name, None)
        return [None if name is None else named[name] for name in graph.outputs]

    def _step(self, step: Region | HostCall) -> _Run:
        match step:
            case Region():
                return self._region(step)
            case HostCall() if _is_update(step):
                return self._update(step.node)
            case HostCall(node=node):
                call, layout = bind_call(node, self.device), bind_layout(node)

                def run(values: _Values) -> None:
                    values.named[node.name] = layout(call(values.named))

                return run

    def _region(self, region: Region) -> _Run:
        compute = self.prepare(region)
        reads = [item.name for item in region.graph.inputs]
        writes = [name for name in region.graph.outputs if name is not None]

        def run(values: _Values) -> None:
            results = compute([values.named[name] for name in reads])
            values.named.update(zip(writes, results, strict=True))

        return run

    def _update(self, node: Node) -> _Run:
        """A copy into an input; before the first one, values that live there are saved."""
        graph = self.partition.graph
        returned = {name for name in graph.outputs if name is not None}
        target, source = node.refs()

        def run(values: _Values) -> None:
            if not values.updating:
                values.named.update(_old_contents(graph, values.named, returned))
                values.updating = True
            values.changed[target].copy_(values.named[source])

        return run


def _is_update(step: Region | HostCall) -> TypeGuard[HostCall]:
    return isinstance(step, HostCall) and step.node.op == "aten.copy_.default"


def _old_contents(graph: Graph, values: Mapping[str, Any], returned: set[str]) -> dict[str, Any]:
    """Copies of the values still to be read that share memory with inputs about to change."""
    changing = [values[m.input] for m in graph.mutations if m.input in values]
    storages = {tensor.untyped_storage().data_ptr() for tensor in changing}
    names = sorted(returned.union(m.value for m in graph.mutations) & values.keys())
    return {
        name: values[name].clone()
        for name in names
        if values[name].untyped_storage().data_ptr() in storages
    }


def _last_steps(partition: Partition) -> list[list[str]]:
    """For each step the values, inputs included, that no later step reads."""
    seen: set[str] = set()
    freed: list[list[str]] = []
    for step in reversed(partition.steps):
        if isinstance(step, Region):
            names = [i.name for i in step.graph.inputs]
            names.extend(name for name in step.graph.outputs if name is not None)
        else:
            names = [*step.node.refs(), step.node.name]
        dead = [name for name in dict.fromkeys(names) if name not in seen]
        seen.update(dead)
        freed.append(dead)
    return freed[::-1]
