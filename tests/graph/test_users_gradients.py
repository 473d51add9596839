"""Graphs of checkpoints in the graph that calls them."""

from __future__ import annotations

import operator

import torch
from torch import fx

from harness.graph.users_gradients import CHECKPOINT, inline


def calling(**held: torch.Tensor | fx.GraphModule) -> fx.GraphModule:
    """A graph of one value, which is multiplied by the tensors and goes through the graphs."""
    graph = fx.Graph()
    value = graph.placeholder("x")
    for name, thing in held.items():
        of = graph.get_attr(name)
        if isinstance(thing, torch.Tensor):
            value = graph.call_function(operator.mul, (value, of))
        else:
            called = graph.call_function(CHECKPOINT, (of, value))
            value = graph.call_function(operator.getitem, (called, 0))
    graph.output((value,))
    return fx.GraphModule(dict(held), graph)


def test_what_two_graphs_call_by_one_name_stays_two_things() -> None:
    """Their tensors, and graphs within them."""
    two, three, five, seven = (torch.tensor(float(n)) for n in (2, 3, 5, 7))
    first = calling(scale=two, inner=calling(scale=three))
    gm = calling(body_0=first, body_1=calling(scale=five, inner=calling(scale=seven)))
    inline(gm, lambda *_: True)
    assert not gm.graph.find_nodes(op="call_function", target=CHECKPOINT)
    (found,) = gm(torch.ones(2))
    assert found.tolist() == [210.0] * 2
