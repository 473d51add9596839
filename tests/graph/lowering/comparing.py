"""Lowering a graph and comparing what its program computes with torch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from harness.graph.lowering import lower
from harness.graph.model import Graph
from harness.graph.replay import random_inputs, replay
from harness.ir.nodes import Nest, StoreMode, loads
from harness.ir.program import Program
from harness.ir.verify import verify
from tests.ir.oracle import interpret


def as_numpy(tensor: torch.Tensor) -> Any:
    """The tensor's values; 16-bit and smaller floats as float32."""
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()
    return tensor.numpy()


def check(graph: Graph, seed: int = 0) -> Program:
    """Lower ``graph``, verify it, and compare its outputs (in float64) and what it leaves
    in its mutated inputs (in the recorded types) with torch. Returns the program."""
    program = lower(graph)
    verify(program)
    _reads_what_it_changes_at_its_point(program)
    tensors = random_inputs(graph, "cpu", seed)
    given = {i.name: as_numpy(t).copy() for i, t in zip(graph.inputs, tensors, strict=True)}
    results = {**given, **interpret(program, given, float64=True)}
    wide = [t for t in replay(graph, tensors, "cpu", float64=True) if t is not None]
    assert len(wide) == len(program.outputs)
    for name, wanted in zip(program.outputs, wide, strict=True):
        close(results[name], as_numpy(wanted), 1e-6, name)
    if graph.mutations:
        replay(graph, tensors, "cpu")
        names = [i.name for i in graph.inputs]
        for mutation in graph.mutations:
            wanted = as_numpy(tensors[names.index(mutation.input)])
            close(results[mutation.input], wanted, 1e-2, mutation.input)
    return program


def _reads_what_it_changes_at_its_point(program: Program) -> None:
    """numpy reads all before it writes, a kernel does not."""
    for nest in program.nests:
        for store, load in itertools.product(nest.stores, loads(nest.stores)):
            same = (load.index, load.indirect, store.mode) == (store.index, (), StoreMode.PLAIN)
            assert same or load.buffer != store.buffer, nest.name


def close(got: Any, wanted: Any, tolerance: float, name: str) -> None:
    """Same shape and values within ``tolerance``; NaN equals NaN."""
    assert got.shape == wanted.shape, name
    np.testing.assert_allclose(
        got.astype(np.float64), wanted.astype(np.float64), tolerance, tolerance, err_msg=name
    )


def stored(program: Program) -> list[tuple[str, ...]]:
    """The buffers that each nest stores into."""
    return [tuple(s.buffer for s in nest.stores) for nest in program.nests]


def nest_of(program: Program, buffer: str) -> Nest:
    """The nest that stores into ``buffer``."""
    for nest in program.nests:
        if any(s.buffer == buffer for s in nest.stores):
            return nest
    raise KeyError(buffer)
