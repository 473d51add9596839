from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.dtypes import DType
from harness.errors import CaptureFailed, UnknownName, UsageError
from harness.graph.lowering import supports
from harness.graph.suite import FOLDER, Entry, capture_entry, load_suite
from harness.graph.text import dumps, load
from suites.recapture import main as suite_command

SUITE = load_suite()
every_graph = pytest.mark.parametrize(
    "place",
    [
        pytest.param((entry, n), id=name)
        for entry in SUITE.entries
        for n, name in enumerate(entry.graph_names)
    ],
    indirect=True,
)

LIBRARY = {
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_efficient_attention_backward.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention_backward.default",
    "aten.addmm.default",
    "aten.bmm.default",
    "aten.convolution.default",
    "aten.convolution_backward.default",
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool2d_with_indices_backward.default",
    "aten.mm.default",
    "aten.topk.default",
}
"""What the suite leaves to libraries; every other operator of it has a lowering."""


def small_graphs(entry):
    return [load(entry.path(name, small=True)) for name in entry.graph_names]


@pytest.fixture
def place(request):
    """An entry, and which of its graphs."""
    return request.param


@pytest.fixture
def real(place):
    return place[0].graphs[place[1]]


@pytest.fixture
def small(place):
    return small_graphs(place[0])[place[1]]


def test_the_suite_is_wide_enough():
    assert len(SUITE.entries) >= 12
    graphs = [g for e in SUITE.entries for g in e.graphs]
    assert len(graphs) >= 12
    assert {i.type.dtype for g in graphs for i in g.inputs} >= {DType.BF16, DType.F16, DType.F32}
    assert any(g.mutations for g in graphs)
    assert {e.mode for e in SUITE.entries} == {"inference", "training", "optimizer"}


@every_graph
def test_small_and_real_have_one_structure(real, small):
    assert real.name == small.name
    assert [(n.name, n.op, tuple(n.refs())) for n in real.nodes] == [
        (n.name, n.op, tuple(n.refs())) for n in small.nodes
    ]
    assert [(i.name, i.role, i.type.dtype, i.type.rank) for i in real.inputs] == [
        (i.name, i.role, i.type.dtype, i.type.rank) for i in small.inputs
    ]
    assert (real.outputs, real.mutations) == (small.outputs, small.mutations)


@every_graph
def test_small_graphs_are_small_and_real_ones_fit_a_gpu(real, small):
    def tensors(graph):
        for node in graph.nodes:
            for kind in node.type if isinstance(node.type, tuple) else (node.type,):
                if kind is not None and node.op not in LIBRARY:
                    yield kind

    assert max(int(kind.numel) for kind in tensors(small)) <= 10_000
    assert max(int(kind.numel) * kind.dtype.itemsize for kind in tensors(real)) < 4 << 30
    assert sum(int(i.type.numel) * i.type.dtype.itemsize for i in real.inputs) < 40 << 30


@every_graph
def test_every_operator_is_lowered_or_a_known_library_call(real, small):
    names = {n.op for n in real.nodes}
    assert not {op for op in names if not supports(op)} - LIBRARY
    assert not any("for_cpu" in op or "dropout" in op or "rand" in op for op in names)


def test_no_library_call_is_listed_in_vain():
    used = {n.op for e in SUITE.entries for g in e.graphs for n in g.nodes}
    assert used >= LIBRARY


@every_graph
def test_graphs_say_where_they_come_from(real, small):
    facts = dict(real.facts)
    assert facts["title"]
    assert facts["origin"]
    assert facts["captured"]
    assert "torch " in facts["versions"]
    assert dict(small.facts)["sizes"] == "small"
    assert any(n.source for n in real.nodes) or real.name == "adamw_step"


@pytest.mark.parametrize("entry", [e for e in SUITE.entries if e.mode == "training"])
def test_backward_reads_only_what_forward_gives(entry):
    forward, backward = entry.graphs
    known = {n: t for n, t in forward.types().items() if n in forward.outputs}
    known |= {i.name: i.type for i in forward.inputs}
    for value in backward.inputs:
        if value.role != "gradient":
            assert known[value.name] == value.type


def test_index_inputs_are_bounded():
    graph = SUITE.entry("gpt2").graphs[0]
    bounds = {i.name: i.bound for i in graph.inputs}
    assert bounds["input_ids"] == bounds["labels"] == 50257
    assert small_graphs(SUITE.entry("gpt2"))[0].inputs[0].type.shape[0] == 101


def test_no_file_is_left_over():
    named = {e.path(g, s) for e in SUITE.entries for g in e.graph_names for s in (0, 1)}
    assert set((FOLDER / "graphs").rglob("*.py")) == named


def test_names_are_found_and_near_misses_named():
    assert SUITE.entry("llama_block_backward").name == "llama_block"
    with pytest.raises(UnknownName, match="llama_block"):
        SUITE.entry("lama_block")
    with pytest.raises(UnknownName, match="default"):
        load_suite("defualt")


def test_a_suite_loads_without_torch_and_lazily():
    code = (
        "import sys\n"
        "from harness.graph.suite import load_suite\n"
        "s = load_suite()\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
        "assert not any('graphs' in vars(e) for e in s.entries)\n"
        "s.entries[0].graphs\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_declared_twice(tmp_path):
    (tmp_path / "twice.py").write_text(
        "from harness.dtypes import DType\n"
        "from harness.graph.suite import Entry\n"
        "E = Entry('a', 't', 'o', 'm:f', 'inference', DType.F32, {}, {})\n"
        "ENTRIES = (E, E)\n"
    )
    with pytest.raises(UsageError, match="twice"):
        load_suite("twice", tmp_path)


def installed_versions(entry):
    import torch

    words = [f"torch {torch.__version__.split('+')[0]}"]
    provider = entry.target.partition(":")[0]
    for name in (provider, *entry.libraries):
        if not name.startswith("suites"):
            words.append(f"{name} {pytest.importorskip(name).__version__}")
    return ", ".join(words)


@pytest.mark.parametrize("name", ["fp8_rowwise", "t5_block", "vit"])
def test_capturing_again_gives_the_same_bytes(name, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    item = SUITE.entry(name)
    if dict(item.graphs[0].facts)["versions"] != installed_versions(item):
        pytest.skip("the committed graphs were captured with other versions")
    real, small = capture_entry(item)
    for graph in real:
        assert dumps(graph) == item.path(graph.name).read_text()
    for graph in small:
        assert dumps(graph) == item.path(graph.name, small=True).read_text()


def test_another_structure_at_small_sizes_is_refused(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    entry = Entry(
        "depth", "t", "o", f"{__name__}:stack", "inference", DType.F32, {"depth": 3}, {"depth": 2}
    )
    with pytest.raises(CaptureFailed, match="differs in structure"):
        capture_entry(entry)


def stack(depth):
    import torch

    def call(x):
        for _ in range(depth):
            x = x.sin()
        return x

    return call, (torch.randn(3),)


def operator_table():
    counts = Counter(n.op for e in SUITE.entries for g in e.graphs for n in g.nodes)
    return "\n".join(f"`{op}` {count}" + "  " for op, count in sorted(counts.items()))


def test_the_documented_operators_are_those_of_the_suite():
    text = (FOLDER / "README.md").read_text()
    found = text.split("<!-- operators -->\n")[1].split("\n<!-- /operators -->")[0]
    assert found == operator_table()


@pytest.mark.parametrize("small", [False, True], ids=["real", "small"])
@pytest.mark.parametrize("entry", SUITE.entries, ids=lambda e: e.name)
def test_torch_gives_every_node_the_recorded_type(entry, small):
    import torch

    from harness.graph.capture.aot import fake_mode
    from harness.graph.capture.fx import tensor_type
    from harness.graph.replay import call_node, torch_dtype

    def check(value, kind, name):
        if kind is None:
            return
        found = tensor_type(value)
        assert (found.dtype, found.shape) == (kind.dtype, kind.shape), name
        strides = zip(found.shape, found.stride, kind.stride, strict=True)
        assert all(one == two for n, one, two in strides if n > 1), name

    for graph in small_graphs(entry) if small else entry.graphs:
        with fake_mode(), torch.no_grad():
            values = {}
            for item in graph.inputs:
                shape, stride = ([int(n) for n in v] for v in (item.type.shape, item.type.stride))
                dtype = torch_dtype(item.type.dtype)
                values[item.name] = torch.empty_strided(shape, stride, dtype=dtype)
            for node in graph.nodes:
                value = values[node.name] = call_node(node, values, torch.device("cpu"))
                if isinstance(node.type, tuple):
                    for one, kind in zip(value, node.type, strict=True):
                        check(one, kind, node.name)
                else:
                    check(value, node.type, node.name)


def test_a_capture_that_cannot_be_made_ends_in_a_sentence():
    assert "has no graph lama_block" in (suite_command(["lama_block"]) or "")


def test_only_files_that_declare_one_are_suites(tmp_path):
    (tmp_path / "mine.py").write_text("ENTRIES = ()\n")
    (tmp_path / "conftest.py").write_text("x = 1\n")
    with pytest.raises(UnknownName) as caught:
        load_suite("nope", tmp_path)
    assert caught.value.expected == "mine"
    (tmp_path / "named.py").write_text("ENTRIES = ('llama_block',)\n")
    for name in ("conftest", "named"):
        with pytest.raises(UsageError, match="declares no suite"):
            load_suite(name, tmp_path)
