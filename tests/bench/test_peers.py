"""Comparing providers on a region, without a GPU: a fake clock, kernels interpreted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.bench.peers import compare, distance, eager, graph_module, inductor_codegen
from harness.bench.regional import region_provider
from harness.codegen.source import EmittedModule
from harness.errors import HarnessError
from harness.graph.model import Graph
from harness.graph.regions import partition
from harness.graph.replay import random_inputs, replay
from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.runtime.interpreter import InterpreterPool
from harness.runtime.timing import Launch, Samples
from harness.target import H100

SUITES = Path(__file__).parents[2] / "suites" / "graphs"
CPU = torch.device("cpu")


class FakeTimer:
    """Every launch takes as many milliseconds as its name has letters."""

    def measure(self, launch: Launch, budget_ms: float) -> Samples:
        raise NotImplementedError

    def compare(self, launches: Mapping[str, Launch], budget_ms: float) -> dict[str, Samples]:
        for launch in launches.values():
            launch()
        return {n: Samples((float(len(n)),) * 3, "fake", "count") for n in launches}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """The first region of the smallest graph that has one."""
    return partition(load(SUITES / "small" / "llama_block_forward.py")).regions[0].graph


def same(launch: Launch) -> Launch:
    return launch


def test_ours_is_compared_with_eager(graph: Graph) -> None:
    (region,) = compile_graph(graph, H100).regions
    with InterpreterPool(1) as pool:

        def launch(module: EmittedModule, args: list[Any]) -> None:
            pool.launch(module.text, args)

        found = compare(
            graph,
            {
                "ours": lambda _: region_provider(region, launch, CPU),
                "eager": lambda _: eager(graph, CPU),
            },
            FakeTimer(),
            CPU,
            record=same,
        )
    assert found.passed, found
    assert found.peers["ours"].ms == 4.0
    assert found.speedup("eager") == 5.0 / 4.0
    assert found.speedup("inductor") is None


def test_wrong_and_failing_providers_are_rows(graph: Graph) -> None:
    def wrong(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        return [None if t is None else t * 1.5 for t in replay(graph, tensors, CPU)]

    def failing(_: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        raise HarnessError("no kernels here")

    providers = {"ours": lambda _: wrong, "inductor": lambda _: failing}
    found = compare(graph, providers, FakeTimer(), CPU, record=same)
    assert not found.passed
    assert found.peers["ours"].error == pytest.approx(0.5, abs=0.05)
    assert found.peers["inductor"].reason == "no kernels here"
    assert found.peers["inductor"].ms is None


def test_torch_graph_computes_the_same(graph: Graph) -> None:
    inputs = random_inputs(graph, CPU)
    made = graph_module(graph, CPU)(*[t.clone() for t in inputs])
    want = replay(graph, [t.clone() for t in inputs], CPU)
    for a, b in zip(made, want, strict=True):
        torch.testing.assert_close(a, b)


def test_inductor_generates_code_for_a_gpu_that_is_not_there(graph: Graph) -> None:
    found = inductor_codegen(graph, H100)
    assert 0 < found.seconds <= found.total_seconds
    if not torch.version.cuda:
        assert not torch.cuda.is_available()


def test_distance() -> None:
    a = torch.randn(1000, dtype=torch.float64)
    assert distance(a.float(), a) < 1e-6
    assert distance(a * 1.25, a) == pytest.approx(0.25)
    holed = a.clone()
    holed[3] = math.nan
    assert distance(holed, a) == math.inf
    assert distance(holed, holed) == 0.0
    assert distance(torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 5])) == 0.25
