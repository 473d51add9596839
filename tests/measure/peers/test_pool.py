"""A compiler that crashes, hangs or takes the device with it costs its own row."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.compiled import CompiledGraph
from harness.devices.pool import Pool
from harness.errors import HarnessError, NoDevice
from harness.graph.text import load
from harness.measure.jobs import gpu
from harness.measure.peers.jobs import Comparable, comparables
from harness.measure.peers.pool import PeerPool
from harness.pipeline import compile_graph
from harness.records.run import Check, RegionRecord
from harness.target import H100
from tests.devices.limits import limit_hangs_alone
from tests.devices.standing_in import stand_in
from tests.measure.peers.fake_worker import HANDLERS

SMALL = Path(__file__).parents[3] / "suites" / "graphs" / "small"


@pytest.fixture(autouse=True)
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, HANDLERS)


@pytest.fixture(scope="module")
def graph() -> CompiledGraph:
    return compile_graph(load(SMALL / "moe_router_forward.py"), H100)


def rows(tmp_path: Path, *against: str, seconds: float = 600.0) -> dict[str, RegionRecord]:
    with PeerPool(against, tmp_path, 1, seconds) as pool:
        found = pool.compare(Comparable("g.r0", "# text of a kernel"), {})
    return {row.compiler: row for row in found}


@pytest.mark.parametrize(
    ("name", "why"),
    [("crashes", "exit status 7"), ("hangs", "no answer within 1 s"), ("faults", "illegal access")],
)
def test_a_lost_process_costs_the_row_of_whom_it_ran(
    tmp_path: Path, name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_hangs_alone(monkeypatch)
    found = rows(tmp_path, "inductor", name, "eager", seconds=1.0)
    assert list(found) == ["user", "inductor", name, "eager"]
    assert why in found[name].reason or why in str(found[name])
    assert found[name].ms is None
    assert found[name].check is Check.SKIPPED
    others = [found[n] for n in ("user", "inductor", "eager")]
    assert [row.ms for row in others] == [2.0] * 3
    assert all(row.check is Check.PASSED and row.sets[0].ms == (1.0, 2.0, 3.0) for row in others)
    assert (tmp_path / "started").read_text() == "xx", "one process more, and no further one"


def test_fresh_processes_are_sets_and_failures_are_not_tried_again(tmp_path: Path) -> None:
    with PeerPool(("eager", "crashes"), tmp_path, 1, 600.0, processes=3) as pool:
        ours, eager, crashed = pool.compare(Comparable("g.r0", "# text of a kernel"), {})
    assert [s.process for s in ours.sets] == [s.process for s in eager.sets] == [0, 1, 2]
    assert ours.ms == 2.0
    assert crashed.sets == ()
    assert "exit status 7" in crashed.reason
    assert (tmp_path / "started").read_text() == "x" * 4


def test_the_first_process_can_be_one_that_times_other_things(tmp_path: Path) -> None:
    """Two processes that take turns on a device disturb what each other times."""
    against = ("eager", "crashes")
    with (
        Pool([gpu()], 1e-3, tmp_path) as first,
        PeerPool(against, tmp_path, 1, 600.0, processes=2, first=first) as pool,
    ):
        _, eager, crashed = pool.compare(Comparable("g.r0", "# text of a kernel"), {})
    assert [s.process for s in eager.sets] == [0, 1] and "exit status 7" in crashed.reason
    assert (tmp_path / "started").read_text() == "x" * 3, "the second process, and one more first"


def test_two_that_crash_cost_two_rows(tmp_path: Path) -> None:
    found = rows(tmp_path, "crashes", "faults", "eager")
    assert [found[n].ms for n in ("user", "crashes", "faults", "eager")] == [2.0, None, None, 2.0]


def test_a_process_lost_while_timing_cannot_be_blamed_on_one(tmp_path: Path) -> None:
    found = rows(tmp_path, "eager", "ruins-timing")
    assert all(
        "while all compilers were timed, interleaved" in row.reason for row in found.values()
    )


def test_without_a_device_nothing_goes_on(tmp_path: Path) -> None:
    with pytest.raises(NoDevice):
        rows(tmp_path, "gone")


def test_inductor_is_compiled_ahead_for_every_region(tmp_path: Path, graph: CompiledGraph) -> None:
    work = comparables(graph.regions)
    with PeerPool(("eager", "inductor", "inductor-tuned"), tmp_path, 2, 600.0) as pool:
        for name in ("started", "warmed"):  # what compares is at its first before it is asked
            while not (tmp_path / name).exists():
                time.sleep(0.05)
        assert (tmp_path / "warmed").read_text() == "None False\n"
        pool.prepare(work[:1])
        pool.prepare(work[1:])
    warmed = sorted((tmp_path / "warmed").read_text().split("\n")[:-1])
    expected = [f"{one.name} {tuned}" for one in work for tuned in (True, False)]
    assert warmed == sorted([*expected, "None False"])


def test_a_pool_that_is_closed_does_not_wait_for_what_compiles(
    tmp_path: Path, graph: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C, which reaches the main thread alone."""
    monkeypatch.setenv("FAKE_WARM_SECONDS", "3600")
    pool = PeerPool(("inductor",), tmp_path, 2, 300.0)
    with ThreadPoolExecutor(1) as thread:
        preparing = thread.submit(pool.prepare, comparables(graph.regions))
        while not (tmp_path / "warmed").exists():
            time.sleep(0.05)
        pool.close()
        with pytest.raises(HarnessError, match="closed"):
            preparing.result()


def test_a_region_reaches_the_worker_and_equal_ones_are_compared_once(
    tmp_path: Path, graph: CompiledGraph
) -> None:
    work = comparables(graph.regions)
    assert sum(one.count for one in work) == sum(bool(r.launches) for r in graph.regions)
    with PeerPool(("eager",), tmp_path, 1, 600.0) as pool:
        ours, eager = pool.compare(work[0], {})
    assert (ours.compiler, ours.kernels, eager.kernels) == ("harness", work[0].kernels, None)
    assert ours.region == work[0].name


def test_equal_regions_count(graph: CompiledGraph) -> None:
    resnet = compile_graph(load(SMALL / "resnet50_forward.py"), H100)
    work = comparables(resnet.regions)
    assert max(one.count for one in work) > 1
    assert len(work) < len(resnet.regions)
