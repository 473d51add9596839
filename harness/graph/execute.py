"""Running a partition step by step: regions through a callable, everything else with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from harness.graph.model import Graph, HostCall, Node, Partition, Region
from harness.graph.replay import call_node, check_inputs, materialise, replay

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
    graph, where = partition.graph, torch.device(device)
    check_inputs(graph, tensors)
    values: dict[str, Any] = {i.name: t for i, t in zip(graph.inputs, tensors, strict=True)}
    inputs = dict(values)
    returned = {name for name in graph.outputs if name is not None}
    last = _last_steps(partition)
    updating = False
    for number, step in enumerate(partition.steps):
        match step:
            case Region(graph=inner):
                results = run_region(step, [values[i.name] for i in inner.inputs])
                names = [name for name in inner.outputs if name is not None]
                values.update(zip(names, results, strict=True))
            case HostCall(node=Node(op="aten.copy_.default") as node):
                if not updating:
                    values.update(_old_contents(graph, values, returned))
                    updating = True
                target, source = node.refs()
                inputs[target].copy_(values[source])
            case HostCall(node=node):
                values[node.name] = materialise(call_node(node, values, where), node)
        for name in last[number]:
            if name not in returned:
                values.pop(name, None)
    return [None if name is None else values[name] for name in graph.outputs]


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
    """For each step the values that no later step reads."""
    seen: set[str] = {i.name for i in partition.graph.inputs}
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
