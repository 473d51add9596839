"""Where a graph works."""

from __future__ import annotations

import pytest
import torch
from torch import fx
from torch._subclasses import FakeTensorMode

from harness.runtime.device import device_of


@pytest.mark.parametrize("meta", ["val", "example_value"])
def test_a_graph_that_reads_a_number_of_the_cpu_works_where_it_makes_tensors(meta: str) -> None:
    graph = fx.Graph()
    number, made = graph.placeholder("number"), graph.call_function(torch.arange, (4,))
    graph.output(graph.call_function(torch.mul, (number, made)))
    with FakeTensorMode():
        number.meta[meta], made.meta[meta] = torch.empty(()), torch.empty(4, device="cuda")
        rows = torch.empty(4)
    gm = fx.GraphModule({}, graph)
    assert device_of(gm, [number.meta[meta]]).type == "cuda"
    assert device_of(gm, [rows]).type == "cpu"
