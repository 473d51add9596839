"""A sample of the committed corpus: compiled for every kind of device, the small counterparts
checked in the interpreter."""

from __future__ import annotations

import pytest

from harness.corpus import store
from harness.corpus.model import digest
from harness.corpus.selecting import select
from harness.devices.job import Device
from harness.graph.suite import FOLDER
from suites.building import trying
from suites.building.trying import TARGETS, Tried, summary, tried


@pytest.mark.slow
def test_a_sample_of_the_corpus(tmp_path):
    """Three hundred patterns, a third of them for each kind of device."""
    corpus = store.load(FOLDER / "corpus")
    chosen = select(corpus, "small=yes nodes<150 sample=300 seed=3")
    names, log, found = [p.name for p in chosen], tmp_path / "log.jsonl", []
    for first, target in enumerate(TARGETS):
        found += tried(corpus.texts(names[first :: len(TARGETS)]), log, 1, (target,))
    assert len(found) == len(names)
    assert not [one for one in found if one.failures or one.wrong], summary(found)
    assert sum(one.checked for one in found) >= 300
    again = tried(corpus.texts(names), log, 1)
    assert sorted(again, key=str) == sorted(found, key=str), "a log is gone on with"


def test_a_log_of_other_graphs_is_not_gone_on_with(tmp_path):
    """A pattern keeps its name when another build of the corpus has it at other sizes."""
    log, wider = tmp_path / "log.jsonl", ROUNDED.replace("36", "40")
    (one,) = tried({"it": (ROUNDED, "")}, log, 1, ("sm_90",))
    (other,) = tried({"it": (wider, "")}, log, 1, ("sm_90",))
    assert one.of != other.of and one.kernels != other.kernels
    assert tried({"it": (wider, "")}, log, 1) == [other]


ROUNDED = """# harness graph 1
def rounded(
    a: "f16[5, 36]",
    b: "f16[5, 36]",
    c: "f16[5, 36]",
    w: "f16[36]",
):
    x: "f16[5, 36]" = aten.add.Tensor(a, b)
    y: "f16[5, 36]" = aten.add.Tensor(x, c)
    wide: "f32[5, 36]" = aten._to_copy.default(y, dtype=torch.float32)
    square: "f32[5, 36]" = aten.pow.Tensor_Scalar(wide, 2)
    mean: "f32[5, 1]" = aten.mean.dim(square, [-1], True)
    root: "f32[5, 1]" = aten.rsqrt.default(mean)
    z: "f32[5, 36]" = aten.mul.Tensor(wide, root)
    v: "f32[5, 36]" = aten.mul.Tensor(z, w)
    most: "f32[5, 1]" = aten.amax.default(v, [-1], True)
    return (y, most, root)
"""
PLACES = """# harness graph 1
def places(
    scores: "f32[5, 6]",
    other: "f32[5, 6]",
    label: "i64[5]",
):
    ranked: ("f32[5, 6]", "i64[5, 6]") = aten.sort.stable(scores, stable=True, descending=True)
    at: "i64[5, 6]" = getitem(ranked, 1)
    found: "f32[5, 6]" = aten.gather.default(other, 1, at)
    total: "f32[5, 1]" = aten.sum.dim_IntList(found, [1], True)
    safe: "i64[5]" = aten.clamp.default(label, 0)
    column: "i64[5, 1]" = aten.unsqueeze.default(safe, 1)
    one: "f32[5, 1]" = aten.gather.default(other, 1, column)
    sum: "f32[5, 1]" = aten.add.Tensor(total, one)
    return (at, sum)
"""
ONE_ROW = """# harness graph 1
def one_row(
    at: "i64[5, 7] bound=1",
    a: "f32[5, 7, 6]",
):
    zeros: "f32[1, 6]" = aten.full.default([1, 6], 0, dtype=torch.float32)
    twice: "f32[5, 7, 6]" = aten.mul.Tensor(a, 2)
    put: "f32[1, 6]" = aten.index_put.default(zeros, [at], twice, True)
    half: "bf16[1, 6]" = aten._to_copy.default(put, dtype=torch.bfloat16)
    return (half,)
"""


@pytest.mark.parametrize("text", [ROUNDED, PLACES, ONE_ROW])
def test_what_the_corpus_found(tmp_path, text):
    """A value rounded on the way to an f32 output was held against references that round all of
    them or none; places found by a sort, and labels that are clamped, had no bound; the kernel that
    adds to a table of one row was held against zeros."""
    (one,) = tried({"it": (text, text)}, tmp_path / "log.jsonl", 1, ("sm_90",))
    assert not one.failures and not one.wrong and one.checked


def test_kernels_at_full_size(tmp_path):
    """On a GPU a pattern's own kernels are checked, as their modules run them; and one that is
    wrong, or does not run, is named."""
    places = [Device("cpu 0", (("TRITON_INTERPRET", "1"),))]
    text = ROUNDED.replace("rsqrt", "reciprocal")  # a CPU has no device library
    given = {"it": (text, ""), "broken": (text.replace("return (y", "return (lost"), "")}
    one, other = tried(given, tmp_path / "log.jsonl", 1, ("sm_90",), places=places, memory=2**20)
    assert one.checked == len(one.kernels) > 0 and not one.failures and not one.wrong
    assert "lost" in "".join(other.failures)


def test_what_lacks_memory_is_tried_again_alone_on_a_board(tmp_path, monkeypatch):
    """Sixteen processes on one board leave a large pattern too little."""
    seen = []

    class FullBoards:
        def __init__(self, places, _):
            self.places = places

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def each(self, jobs):
            seen.append(([place.name for place in self.places], [job.name for job in jobs]))
            for index, job in enumerate(jobs):
                full = job.name == "large" and len(self.places) > 2 or job.name == "larger"
                said = ("k: OutOfMemoryError: CUDA out of memory.",) if full else ()
                yield index, Tried(job.name, digest(job.text), wrong=said, checked=not full)

    monkeypatch.setattr(trying, "Pool", FullBoards)
    given = [(("CUDA_VISIBLE_DEVICES", name),) for name in "0101"]
    places = [Device(f"cuda {n}", one) for n, one in enumerate(given)]
    texts = {name: (name, "") for name in ("small", "large", "larger")}
    for again in (False, True):
        found = tried(texts, tmp_path / "log.jsonl", 4, ("sm_90",), places=places)
        assert [(one.name, one.checked) for one in found] == [
            ("small", 1),
            ("large", 1),
            ("larger", 0),
        ]
        everywhere = ["cuda 0", "cuda 1", "cuda 2", "cuda 3"]
        first = ["larger"] if again else ["small", "large", "larger"]
        alone = ["larger"] if again else ["large", "larger"]
        assert seen == [(everywhere, first), (["cuda 2", "cuda 3"], alone)]
        seen.clear()
