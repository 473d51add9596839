"""A metric is one entry of the registry: nothing else knows which metrics there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.history import index, store
from harness.history.changes.series import arrange, series_of
from harness.history.journal import Journal, read
from harness.records import metrics
from harness.records.metrics import Metric, StaticMetrics
from harness.records.run import GraphRecord, KernelRecord, Run
from harness.report.kernels import graph_blocks
from harness.table import plain, text_lines
from harness.verdicts.causes import causes
from harness.verdicts.pairing import Match
from harness.verdicts.static_comparing import rules
from tests.history.examples import run
from tests.history.kernels import kernel
from tests.measure.fakes import FakeEntry, compiled, module, session

BARRIERS = Metric(
    "barriers",
    "barriers",
    "barriers",
    rank=9,
    threshold=0.5,
    read=lambda binary: dict(binary.mix).get("barrier", 0),
    head="barr",
)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric that nothing but the registry has heard of."""
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, BARRIERS))


def binary(barriers: int) -> StaticMetrics:
    return StaticMetrics(32, 0, 0, 0, 300, 16, 16, (("barrier", barriers),))


def measured(barriers: int) -> GraphRecord:
    """What a session records of a graph whose kernel has so many barriers."""
    a = module(
        "triton_poi_a_0", "mul", text=kernel("triton_poi_a_0", "mul", body=str(barriers)).module
    )
    entry = FakeEntry("g", compiled(a))
    events = list(session(entry, static=lambda _: binary(barriers)).events())
    (record,) = [event.record for event in events if hasattr(event, "record")]
    return record


def recorded(barriers: int, name: str) -> Run:
    return run(name, graphs=(measured(barriers),), commit=name[-7:], dirty=False)


@pytest.mark.usefixtures("made_up")
def test_it_is_recorded_stored_and_read_back(tmp_path: Path) -> None:
    made = recorded(3, "20260102-000000-aaaaaaa")
    (found,) = made.graphs[0].kernels
    assert found.metrics["barriers"] == 3
    assert store.load(store.save(tmp_path, made)) == made
    with Journal(tmp_path / "journal", made) as kept:
        kept.add_graph(made.graphs[0])
        assert read(kept.journal).graphs == made.graphs


@pytest.mark.usefixtures("made_up")
def test_it_has_a_column_in_the_table() -> None:
    heading, line = plain(text_lines(graph_blocks([measured(3)], timed=True), None))[2:4]
    assert "barr" in heading.split()
    assert line.split()[heading.split().index("barr")] == "3"


@pytest.mark.usefixtures("made_up")
def test_it_explains_a_change() -> None:
    before, after = (recorded(n, f"20260102-00000{n}-aaaaaaa") for n in (3, 5))
    match = Match("g", before.graphs[0].kernels, after.graphs[0].kernels, "nodes")
    assert "barriers 3 → 5" in causes(match, before, after)
    assert "barriers" in [rule.name for rule in rules()]


@pytest.mark.usefixtures("made_up")
def test_it_is_a_series(tmp_path: Path) -> None:
    for n, name in ((3, "20260102-000000-aaaaaaa"), (5, "20260103-000000-bbbbbbb")):
        store.save(tmp_path, recorded(n, name))
    known = arrange(index.refresh(tmp_path), tmp_path, by_time=True)
    assert "barriers" in metrics.names()
    (series,) = series_of(known, metrics.named("barriers"))
    assert series.values.tolist() == [3, 5]


def test_files_from_before_it_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.save(tmp_path, recorded(3, "20260102-000000-aaaaaaa"))
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, BARRIERS))
    (found,) = store.load(path).graphs[0].kernels
    assert found.metrics["registers"] == 32
    assert BARRIERS.of(found) is None
    table = index.refresh(tmp_path).rows
    assert table.column("barriers").to_pylist() == [None]


def test_names_and_columns_are_unique() -> None:
    names = metrics.names()
    assert len(set(names)) == len(names)
    columns = [metric.column for metric in metrics.static()]
    assert len(set(columns)) == len(columns)
    assert not set(columns) & set(KernelRecord.__slots__)


def test_a_group_of_kernels_has_sums_and_worst_kernels() -> None:
    from harness.verdicts.causes import figure

    one, other = kernel("a"), replace(kernel("b"), launches=2)
    narrow = replace(other, metrics={**other.metrics, "widest_load": 4, "registers": 48})
    figures = {m.column: figure((one, narrow), m) for m in metrics.by_rank()}
    assert (figures["bytes"], figures["instructions"]) == (300, 300)
    assert (figures["registers"], figures["widest_load"]) == (48, 4)
