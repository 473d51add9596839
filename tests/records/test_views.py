"""Graphs, runs and kernels in a notebook."""

from __future__ import annotations

from harness.graph.text import load
from harness.history import store
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
