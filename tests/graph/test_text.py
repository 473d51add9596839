from __future__ import annotations

import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.dtypes import DType
from harness.errors import DamagedGraph, GraphError
from harness.graph.model import Graph, Input, Mutation, Node, Ref, TensorType, Token
from harness.graph.sizes import contiguous_strides, parse_size, parse_type, print_size, print_type
from harness.graph.text import dumps, load, loads, save
from harness.ir.index import FloorDiv, Mod, size_symbol

GRAPHS = Path(__file__).parents[2] / "suites" / "graphs"


def tensor(dtype, *shape, stride=None):
    sizes = tuple(sympy.sympify(n) for n in shape)
    if stride is None:
        return TensorType(dtype, sizes, contiguous_strides(sizes))
    return TensorType(dtype, sizes, tuple(sympy.sympify(n) for n in stride))


def example():
    s0 = size_symbol("s0")
    x = tensor(DType.BF16, 4, s0)
    permuted = tensor(DType.BF16, s0, 4, stride=(1, s0))
    mean = tensor(DType.F32, 4)
    source = 'model.py:3 in forward: x = f("a", [1])  # note'
    return Graph(
        name="example",
        inputs=(
            Input("x", x),
            Input("w", mean, "parameter"),
            Input("ids", tensor(DType.I64, 3), bound=sympy.Integer(7)),
            Input("running", mean, "buffer"),
        ),
        nodes=(
            Node(
                "permute", "aten.permute.default", (Ref("x"), (1, 0)), (), permuted, source, "a.0"
            ),
            Node(
                "clone",
                "aten.clone.default",
                (Ref("permute"),),
                (("memory_format", Token("contiguous_format")),),
                tensor(DType.BF16, s0, 4),
                source,
                "a.0",
            ),
            Node(
                "topk",
                "aten.topk.default",
                (Ref("w"), 2),
                (),
                (tensor(DType.F32, 2), None, tensor(DType.I64, 2)),
            ),
            Node("getitem", "getitem", (Ref("topk"), 0), (), tensor(DType.F32, 2), "[odd] line"),
            Node(
                "odd",
                "aten.odd.default",
                (
                    (math.inf, -math.inf, math.nan, -0.0, 0.1, 1e-300, -3, True, None),
                    2 * s0 + 1,
                    'no"ne\n',
                    DType.F8E4M3,
                    (),
                ),
                (("dtype", DType.F32), ("rounding_mode", "floor")),
                None,
            ),
            Node("add", "aten.add.Tensor", (Ref("w"), Ref("running")), (), mean),
        ),
        outputs=("clone", None, "getitem", "x"),
        mutations=(Mutation("running", "add"),),
        facts=(("captured", "a: b"), ("empty", ""), ("spaces", "  two")),
    )


def test_round_trip_of_every_construct():
    graph = example()
    text = dumps(graph)
    assert loads(text) == graph
    assert dumps(loads(text)) == text


def test_negative_zero_and_kinds_of_numbers_survive():
    odd = loads(dumps(example())).node("odd").args[0]
    assert math.copysign(1, odd[3]) == -1
    assert odd[7] is True
    assert type(odd[6]) is int


@pytest.mark.parametrize(
    "path", sorted(GRAPHS.rglob("*.py")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_suite_files_save_as_they_were_loaded(path):
    text = path.read_text()
    graph = loads(text, str(path))
    assert dumps(graph) == text
    assert graph.name == path.stem


def test_save_and_load(tmp_path):
    path = tmp_path / "with space" / "g.py"
    path.parent.mkdir()
    save(example(), path)
    assert load(path) == example()
    assert [p.name for p in path.parent.iterdir()] == ["g.py"]


def test_loading_imports_no_torch_and_is_fast():
    path = GRAPHS / "resnet50_backward.py"
    code = (
        "import sys, time\n"
        "from harness.graph.text import load\n"
        f"g = load({str(path)!r})\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    mul = Node("n0", "aten.mul.Tensor", (Ref("w"), 2.0), (), tensor(DType.F32, 4))
    nodes = [replace(mul, name=f"n{k}", source=f"m.py:{k} in f") for k in range(2000)]
    text = dumps(replace(example(), nodes=tuple(nodes), outputs=("n1",), mutations=()))
    begin = time.process_time()
    assert len(loads(text).nodes) == 2000
    assert time.process_time() - begin < 20  # 0.1 alone


def damaged(old, new, count=1):
    text = dumps(example())
    assert old in text
    return text.replace(old, new, count)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("# harness graph 1", "# something else", "not a graph file"),
        ("# harness graph 1", "# harness graph 99", "newer harness"),
        ("# captured: a: b", "# captured", "not a fact"),
        ('"f32[4] parameter"', '"f33[4] parameter"', "unknown element type"),
        ('"f32[4] parameter"', '"f32[4] parametre"', "unknown role"),
        ('"f32[4] parameter"', '"f32[4, -1] parameter"', "negative size"),
        ('"f32[4] parameter"', "3", "no type"),
        ("{1, s0}", "{1, s0, 2}", "sizes and strides differ"),
        ("aten.permute.default(x", "aten.permute.default(y", "y is used but not defined"),
        ("getitem(topk, 0)", "getitem(topk, 3)", "no result 3"),
        ("getitem(topk, 0)", "getitem(topk)", "getitem takes a value and a number"),
        ("getitem(topk, 0)", "getitem(topk, 2)", "is not that of result 2"),
        ("getitem(topk, 0)", "getitem(w, 0)", "one value, not several"),
        ("clone: ", "permute: ", "given twice"),
        ("aten.topk.default(", "open(", "not an operator"),
        ("[1, 0]", "{1: 0}", "not an operator argument"),
        ("[1, 0]", "__import__('os')", "not an operator argument"),
        ("running[...] = add", "running[...] = permute", "running cannot hold permute"),
        ("running[...] = add", "running[...] = nothing", "not defined"),
        ("running[...] = add", "add[...] = add", "no input"),
        ("running[...] = add", "running[0] = add", "not a mutation"),
        ("return (clone, None, getitem, x)", "return (topk,)", "not one tensor"),
        ("return (clone, None, getitem, x)", "return clone", "returns a tuple"),
        ("    return (clone, None, getitem, x)\n", "", "cut short"),
        ('sym("2*s0 + 1")', 'sym("2/s0")', "not a size expression"),
        ('float("inf")', 'float("big")', "not a special float"),
        ("aten.add.Tensor(w, running)", "aten.add.Tensor(w, running", "not Python"),
        ("running[...] = add", "import os", "not a statement"),
    ],
)
def test_damage_is_named_with_its_line(old, new, what):
    text = damaged(old, new)
    with pytest.raises(DamagedGraph, match=what) as caught:
        loads(text, "dir/file.py")
    where, _, line = caught.value.where.rpartition(":")
    assert where == "dir/file.py"
    assert 1 <= int(line) <= len(text.splitlines()) + 1
    assert caught.value.got or caught.value.expected or caught.value.remedy


@pytest.mark.parametrize("keep", [0, 1, 40, 200, 400, 600, 800])
def test_truncated_files_are_refused(keep):
    with pytest.raises(DamagedGraph):
        loads(dumps(example())[:keep])


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(GraphError, match="cannot be read"):
        load(tmp_path / "none.py")
    (tmp_path / "b.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DamagedGraph, match="UTF-8"):
        load(tmp_path / "b.py")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "no name"},
        {"name": "def"},
        {"facts": (("a:b", "c"),)},
        {"facts": (("a", "b\nc"),)},
        {"outputs": ("not a name",)},
    ],
)
def test_what_has_no_text_is_refused_when_written(change):
    with pytest.raises(GraphError):
        dumps(replace(example(), **change))


def test_types_print_strides_only_where_they_matter():
    assert print_type(tensor(DType.F32, 2, 3)) == "f32[2, 3]"
    assert print_type(tensor(DType.F32)) == "f32[]"
    assert print_type(tensor(DType.I64, 2, 3, stride=(1, 2))) == "i64[2, 3]{1, 2}"
    assert print_type(tensor(DType.F16, 0, 3, 2)) == "f16[0, 3, 2]"
    assert print_type(tensor(DType.F16, 4, stride=(0,))) == "f16[4]{0}"


S0, S1 = size_symbol("s0"), size_symbol("s1")
LEAVES = st.one_of(st.integers(0, 50).map(sympy.Integer), st.sampled_from([S0, S1]))


def combine(children):
    pairs = st.tuples(children, children)
    positive = st.integers(2, 9).map(sympy.Integer)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: sympy.Max(*p)),
        pairs.map(lambda p: sympy.Min(*p)),
        st.tuples(children, positive).map(lambda p: FloorDiv(*p)),
        st.tuples(children, positive).map(lambda p: Mod(*p)),
        children.map(lambda e: e**2),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(LEAVES, combine, max_leaves=6))
def test_size_expressions_round_trip(expr):
    text = print_size(expr)
    assert parse_size(text) == expr
    assert print_size(parse_size(text)) == text


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(list(DType)),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=5),
)
def test_types_round_trip(dtype, dims):
    kind = tensor(dtype, *[d for d, _ in dims], stride=[s for _, s in dims])
    assert parse_type(print_type(kind)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "(((9**16)**16)**16)**16",
        "s0**2",
        "*".join(["(s0+s1+s2+1)"] * 25),
        "9" * 400,
        "9" * 5000,
        "-" * 5000 + "4",
        "(" * 400 + "4" + ")" * 400,
        "+".join(["s0"] * 20000),
        "Max()",
        "__import__",
    ],
)
def test_sizes_that_nobody_could_compute_with_are_refused_at_once(text):
    began = time.process_time()
    with pytest.raises(GraphError, match="not a size expression") as caught:
        parse_size(text)
    assert time.process_time() - began < 60  # hours, if it were computed
    assert len(caught.value.got) <= 200


def test_integers_of_more_than_64_bits_are_refused():
    for number in (2**63, -(2**63) - 1, 10**4000):
        with pytest.raises(DamagedGraph, match="integer is too large"):
            loads(dumps(example()).replace("getitem(topk, 0)", f"getitem(topk, {number})"))


def test_complex_numbers_round_trip():
    kind = tensor(DType.C64, 4)
    args = (Ref("x"), complex(1, -2), complex("inf"), complex("-0.5j"))
    graph = Graph("g", (Input("x", kind),), (Node("y", "aten.f.x", args, (), kind),), ("y",))
    assert loads(dumps(graph)) == graph
    with pytest.raises(DamagedGraph, match="not a complex number"):
        loads(dumps(graph).replace("(1-2j)", "1-2"[::-1] + "i"))
