"""Hand-edited graphs: operators and types are checked against torch, by line."""

from __future__ import annotations

import ctypes

import pytest
import torch

from harness.errors import DamagedGraph, UnsupportedOperator
from harness.graph.replay import operator_function, replay
from harness.graph.suite import load_suite
from harness.graph.text import load, loads
from harness.graph.validate import validate
from harness.pipeline import compile_graph
from harness.target import TARGETS

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


@pytest.mark.parametrize(
    "op",
    [
        "load_library.__func__.__call__",
        "import_module.__func__.__call__",
        "_dir.append.__call__",
        "aten.add._op",
        "aten.sum.__class__",
        "aten.__class__.mro",
        "aten.sum.dim_IntList.__call__",
        "aten.sum",
        "higher_order.cond.__call__",
        "aten.from_file.default",
    ],
)
def test_nothing_but_a_registered_operator_is_ever_looked_up(op: str) -> None:
    with pytest.raises(UnsupportedOperator, match="no such operator"):
        operator_function(op)


def test_a_graph_file_cannot_have_a_library_loaded(tmp_path, monkeypatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda path, *_: loaded.append(path))
    call = f'load_library.__func__.__call__(x, "{tmp_path}/e.so")'
    hostile = TEXT.replace("aten.sum.dim_IntList(x, [1])", call)
    (tmp_path / "g.py").write_text(hostile)
    with pytest.raises(DamagedGraph, match="not an operator"):
        check(hostile)
    plain = hostile.replace(".__func__.__call__", ".add.default")
    with pytest.raises(UnsupportedOperator):
        check(plain)
    with pytest.raises(UnsupportedOperator):
        compile_graph(loads(plain), TARGETS["sm_90"])
        replay(loads(plain), [torch.ones(4, 6, dtype=torch.half), torch.zeros(4).long()], "cpu")
    assert loaded == []


def test_constants_of_torch_are_types_layouts_and_formats() -> None:
    for name in ("load", "__dict__", "_inductor", "ops"):
        with pytest.raises(DamagedGraph, match="constant of torch") as caught:
            check(TEXT.replace("(x, [1])", f"(x, [1], dtype=torch.{name})"))
        assert caught.value.where == "g.py:7"
    check(TEXT.replace("(x, [1])", "(x, [1], dtype=torch.float16)"))


def test_operators_of_other_libraries_need_not_be_here() -> None:
    check(TEXT.replace("aten.sum.dim_IntList(x, [1])", "mylib.sum.default(x)"))


def test_sizes_that_are_unknown_are_left_alone() -> None:
    check(TEXT.replace('x: "f16[4, 6]"', 'x: "f16[s0, 6]"'))


@pytest.mark.parametrize("name", ["gpt2", "moe_router", "unet_up_block"])
def test_graphs_of_the_suite_pass(name: str) -> None:
    entry = load_suite().entry(name)
    for name in entry.graph_names:
        validate(load(entry.path(name)))
        validate(load(entry.path(name, small=True)))
