"""Which of the patterns of earlier runs stand today."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.graph.suite import FOLDER
from harness.history import accumulated, store
from harness.options import Options
from harness.records import modules
from harness.records.run import (
    Check,
    GraphRecord,
    KernelRecord,
    LibraryCall,
    Machine,
    RegionRecord,
    Run,
)
from harness.session.entries import find_entries
from harness.session.model import blank
from harness.target import H100, H200, of_board

QUERY = "corpus:kind=pointwise nodes<12 bytes<1MB sample=3 seed=5"
HERE = Machine("gpu-1", gpu="NVIDIA H100", torch="2.11", triton="3.6")


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(tmp_path / "cache", tmp_path / "results", FOLDER, 1)


@pytest.fixture
def graphs(options: Options) -> Iterator[list[GraphRecord]]:
    """Three patterns with the kernels of today, timed and compared."""
    made = []
    for entry in find_entries(options, QUERY, (), H100):
        kernels = tuple(
            replace(blank(kernel), ms=0.5, check=Check.PASSED, config=None)
            for kernel in entry.compile().kernels
        )
        rows = tuple(RegionRecord("r0", name, ms=1.0) for name in ("harness", "inductor"))
        made.append(GraphRecord(entry.name, kernels=kernels, regions=rows))
    yield made
    shutil.rmtree(options.results, ignore_errors=True)


def keep(options: Options, number: int, *graphs: GraphRecord, **more: object) -> Run:
    """A run of these, the latest so far."""
    when = f"2026010{number}-000000"
    given = {"machine": HERE, "method": "m/1", "suite": "corpus", "processes": 1, **more}
    run = Run(f"{when}-abc", when, target="sm_90", graphs=graphs, **given)  # type: ignore[arg-type]
    store.save(options.results, run)
    return run


def changed(graph: GraphRecord) -> GraphRecord:
    """As another compiler wrote it."""
    (first, *others) = graph.kernels
    text = first.module.replace("tl.store(", "tl.store(0 + ")
    text = "\n".join(line for line in text.split("\n") if not line.startswith("CODE_HASH"))
    assert "tl.store(" in first.module
    return replace(graph, kernels=(replace(first, module=text), *others))


def test_the_newest_record_with_the_kernels_of_today_counts(
    options: Options, graphs: list[GraphRecord]
) -> None:
    a, b, c = graphs
    keep(options, 1, a, b)
    faster = replace(a, regions=(*a.regions, RegionRecord("r0", "eager", ms=9.0)))
    keep(options, 2, faster, changed(b), changed(c))
    like = keep(options, 3, changed(a))
    known = accumulated.measured(options.results, like)
    names = [graph.name for graph in graphs]
    same, other = accumulated.unchanged(known, names, options, "corpus", H100)
    assert {name: run for name, (_, run) in same.items()} == {
        a.name: "20260102-000000-abc",
        b.name: "20260101-000000-abc",
    }
    assert len(same[a.name][0].regions) == 3
    assert {name: run for name, (_, run) in other.items()} == {c.name: "20260102-000000-abc"}


def test_a_record_stands_if_the_tuner_may_still_choose_what_it_chose(
    options: Options, graphs: list[GraphRecord]
) -> None:
    graph = graphs[0]
    (kernel, *rest) = graph.kernels
    gone, first = {"XBLOCK": 3, "num_warps": 7, "num_stages": 9}, "best guess first\n"
    then = kernel.module.replace(first, f"{first}    {gone!r},\n")
    assert gone in modules.offered(then)
    found = {}
    for case, text, config in (
        ("one less is offered now", then, None),
        ("what was chosen is no longer offered", then, gone),
        ("what was chosen was found by a search", kernel.module, gone),
    ):
        shutil.rmtree(options.results, ignore_errors=True)
        one = replace(kernel, module=text, config=config)
        like = keep(options, 1, replace(graph, kernels=(one, *rest)))
        known = accumulated.measured(options.results, like)
        same, _ = accumulated.unchanged(known, [graph.name], options, "corpus", H100)
        found[case] = bool(same)
    assert [case for case, stands in found.items() if not stands] == [
        "what was chosen is no longer offered"
    ]


def test_a_record_stands_if_torch_is_still_left_what_it_was_left(
    options: Options, graphs: list[GraphRecord]
) -> None:
    graph = replace(graphs[0], library_calls=(LibraryCall("aten.mm.default", 1, "because"),))
    like = keep(options, 1, graph)
    known = accumulated.measured(options.results, like)
    same, other = accumulated.unchanged(known, [graph.name], options, "corpus", H100)
    assert not same and [*other] == [graph.name]


def test_only_runs_that_can_be_joined_are_looked_at(
    options: Options, graphs: list[GraphRecord]
) -> None:
    a, b, _ = graphs
    like = keep(options, 1, a)
    for number, other in enumerate(
        (
            {"machine": replace(HERE, key="gpu-2")},
            {"machine": replace(HERE, torch="2.12")},
            {"machine": replace(HERE, triton="3.7")},
            {"method": "m/2"},
        ),
        start=2,
    ):
        keep(options, number, b, **other)
    assert [*accumulated.measured(options.results, like)] == [a.name]
    assert not accumulated.measured(options.results, like, processes=2)
    assert [*accumulated.measured(options.results, like, ["inductor"])] == [a.name]
    assert not accumulated.measured(options.results, like, ["inductor", "eager"])
    untimed = replace(b, kernels=(*b.kernels, KernelRecord("k", "poi", 8)))
    keep(options, 7, untimed)
    assert [*accumulated.measured(options.results, like)] == [a.name]


def test_a_board_is_known_by_its_name() -> None:
    assert of_board("NVIDIA H200", 90) == H200
    assert of_board("NVIDIA H100 80GB HBM3", 90) == H100
    unknown = of_board("NVIDIA L40", 89)
    assert (unknown.name, unknown.capability, unknown.memory_gbps) == ("sm_89", 89, 0.0)
    pcie = of_board("NVIDIA H100 PCIe", 90, 114, 50 << 20)
    assert pcie == replace(H100, multiprocessors=114)


def test_texts_that_are_the_same_are_not_read(
    options: Options, graphs: list[GraphRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 5,454 kernels of a corpus nine in ten are; a text takes milliseconds."""
    (graph, *_) = graphs
    other = changed(graph)

    def unread(text: str) -> None:
        raise AssertionError(text[:80])

    with monkeypatch.context() as context:
        context.setattr(modules, "facts", unread)
        context.setattr(modules, "offered", unread)
        assert accumulated._same(graph, graph)
        with pytest.raises(AssertionError):
            accumulated._same(other, graph)
    assert not accumulated._same(other, graph)
