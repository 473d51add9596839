"""Graphs, runs and kernels in a notebook."""

from __future__ import annotations

import dataclasses

from harness.backend import Compiler
from harness.graph.text import load
from harness.heuristics.facts import Config
from harness.history import store
from harness.pipeline import compile_graph
from harness.records.run import RegionRecord
from harness.records.timing import Samples
from harness.records.trials import Trial, Tuned
from harness.runtime import module
from harness.target import H100
from tests.history.examples import KERNEL, run


def test_a_run_its_graphs_and_kernels_are_a_line_and_a_table(tmp_path) -> None:
    made = store.load(str(store.save(tmp_path, run())))  # a path as text will do
    kernel = made.graphs[0].kernels[0]
    for one in (made, made.graphs[0], kernel):
        assert len(repr(one)) < 120 and "\n" not in repr(one)
        table = one._repr_html_()
        assert "<td>per_fused_mul_0</td>" in table
        assert f"<td>{KERNEL.ms:.4f}</td>" in table
        assert "<th>GB/s</th>" in table
    assert run().id in repr(made) and "Test GPU" in repr(made)


def test_a_graph_is_a_line_and_its_operators() -> None:
    graph = load("suites/graphs/channels_last_forward.py")
    assert repr(graph).startswith("<graph channels_last_forward: ")
    assert f"<td>{graph.nodes[0].op}</td>" in graph._repr_html_()


def test_what_a_compiler_makes_is_a_line_each(tmp_path) -> None:
    found = compile_graph(load("suites/graphs/channels_last_forward.py"), H100)
    region = found.regions[0]
    launch = region.launches[0]
    kernel = launch.kernel
    assert repr(found).startswith("<compiled channels_last_forward: ")
    assert repr(region) == f"<compiled region {region.region.name}: 1 launch, 0 failures>"
    assert repr(found.report()).startswith("channels_last_forward: ")
    one = dataclasses.replace(found.report(), kernels=1, launches=1, regions=1)
    assert ": 1 kernel in 1 launch, 1 region, " in repr(one)
    parts = (launch, launch.group, launch.plan, kernel, kernel.source, kernel.module)
    stages = (region.program, region.schedule, found.partition, found.report())
    loaded = module.load(kernel.module.text, tmp_path)
    for one in (found, region, *parts, *stages, loaded, Compiler()):
        assert len(repr(one)) < 300 and "\n" not in repr(one)


def test_samples_are_not_printed_one_by_one() -> None:
    samples = Samples((0.0123456789,) * 1000)
    trials = tuple(Trial({"XBLOCK": 64}, samples_ms=samples.ms) for _ in range(50))
    config = found_config()
    for one in (samples, RegionRecord("r", "eager", sets=(samples,) * 9), Tuned(config, trials)):
        assert len(repr(one)) < 300


def found_config() -> Config:
    return Config((("XBLOCK", 64),), 4, 1)
