"""Time from a graph to emitted modules, for some graphs of the suite; needs no GPU."""

from __future__ import annotations

from harness.graph.model import Graph
from harness.graph.suite import load_suite
from harness.pipeline import compile_graph
from harness.target import TARGETS, Target


class Codegen:
    """Graph to text; Triton compiles nothing."""

    params = ("llama_block_forward", "bert_layer_backward", "convnext_forward")
    param_names = ("graph",)
    graph: Graph
    target: Target

    def setup(self, name: str) -> None:
        """Read the graph file."""
        graphs = load_suite().entry(name).graphs
        self.graph = next(g for g in graphs if g.name == name)
        self.target = TARGETS["sm_90"]

    def time_compile(self, _name: str) -> None:
        """``pipeline.compile_graph``."""
        compile_graph(self.graph, self.target)
