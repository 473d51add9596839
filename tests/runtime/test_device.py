"""Where a graph works, and which boards there are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import fx
from torch._subclasses import FakeTensorMode

from harness.errors import UsageError
from harness.runtime import device
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


def test_boards_are_named_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "require", lambda: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    properties = SimpleNamespace(uuid="abc")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda n: properties)
    assert list(device.boards("all")) == [0, 1, 2]
    assert device.boards("2,0") == {2: "GPU-abc", 0: "GPU-abc"}
    for wrong in ("3", "0,0", "", "0,x"):
        with pytest.raises(UsageError, match="GPU"):
            device.boards(wrong)
