"""Hand-edited graphs: operators and types are checked against torch, by line."""

from __future__ import annotations

import pytest

from harness.errors import DamagedGraph, UnsupportedOperator
from harness.graph.suite import load_suite
from harness.graph.text import loads
from harness.graph.validate import validate

TEXT = """# harness graph 1
def g(
    x: "f16[4, 6]",
    ids: "i64[4] bound=3",
):
    # model.py:7 in forward: y = x.sum(1)
    sum: "f16[4]" = aten.sum.dim_IntList(x, [1])
    topk: ("f16[4, 2]", "i64[4, 2]") = aten.topk.default(x, 2)
    getitem: "f16[4, 2]" = getitem(topk, 0)
    add: "f16[4, 2]" = aten.add.Tensor(getitem, getitem)
    return (sum, add)
"""


def check(text: str) -> None:
    validate(loads(text, "g.py"), text, "g.py")


def test_an_intact_graph_passes() -> None:
    check(TEXT)


@pytest.mark.parametrize(
    ("old", "new", "where", "got"),
    [
        ('sum: "f16[4]"', 'sum: "f16[5]"', "g.py:7", "f16[5]"),
        ('sum: "f16[4]"', 'sum: "f32[4]"', "g.py:7", "f32[4]"),
        ('"f16[4, 6]"', '"f16[3, 6]"', "g.py:7", "f16[4]"),
        ("default(x, 2)", "default(x, 9)", "g.py:8", "k"),
        ('add: "f16[4, 2]"', 'add: "f16[4, 3]"', "g.py:10", "f16[4, 3]"),
        ("(x, [1])", "(x, [1], 1, 2, 3)", "g.py:7", "argument"),
    ],
)
def test_an_edit_is_found_on_its_line(old: str, new: str, where: str, got: str) -> None:
    assert old in TEXT
    with pytest.raises(DamagedGraph) as caught:
        check(TEXT.replace(old, new, 1))
    assert caught.value.where == where
    assert got in caught.value.got
    assert caught.value.expected
    assert caught.value.remedy


def test_an_operator_that_torch_does_not_have_names_the_model_line() -> None:
    with pytest.raises(UnsupportedOperator) as caught:
        check(TEXT.replace("aten.sum.", "aten.summ."))
    assert caught.value.where == "g.py:7 (model.py:7 in forward: y = x.sum(1))"
    assert caught.value.got == "aten.summ.dim_IntList"


def test_operators_of_other_libraries_need_not_be_here() -> None:
    check(TEXT.replace("aten.sum.dim_IntList(x, [1])", "mylib.sum.default(x)"))


def test_sizes_that_are_unknown_are_left_alone() -> None:
    check(TEXT.replace('x: "f16[4, 6]"', 'x: "f16[s0, 6]"'))


@pytest.mark.parametrize("name", ["gpt2", "moe_router", "unet_up_block"])
def test_graphs_of_the_suite_pass(name: str) -> None:
    entry = load_suite().entry(name)
    for graph in (*entry.graphs, *entry.small_graphs):
        validate(graph)
