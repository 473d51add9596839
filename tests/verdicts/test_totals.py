"""Sums over graphs: what is read of a run once for all of them."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.measure.noise.judge import Rules
from harness.records.run import GraphRecord, KernelRecord, LibraryCall, Machine, Run
from harness.records.timing import Samples
from harness.verdicts.comparing import Side, compare


def _run(name: str, graphs: int) -> Run:
    def kernel(number: int) -> KernelRecord:
        sets = tuple(Samples((1.0, 1.01, 0.99), process=process) for process in range(3))
        known = {"origins": (f"n{number}",), "ms": 1.0, "sets": sets}
        return KernelRecord(f"k{number}", "poi", 1000, **known)

    calls = (LibraryCall("aten.mm", 1 if name == "a" else 2), LibraryCall("aten.bmm", 1))
    made = (GraphRecord(f"g{n}", calls, (kernel(0), kernel(1))) for n in range(graphs))
    return Run(name, "", Machine("m"), "sm_90", method="x", graphs=tuple(made), processes=3)


def test_library_calls_are_counted_once_for_each_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each sum over a graph those of all graphs were counted: 2,000 graphs took a minute."""
    counted, count = Counter[str](), GraphRecord.calls.fget

    def counting(graph: GraphRecord) -> Counter[str]:
        counted[graph.name] += 1
        found: Counter[str] = count(graph)
        return found

    monkeypatch.setattr(GraphRecord, "calls", property(counting))
    sides = [Side(name, _run(name, 20)) for name in "ab"]
    found = compare(sides[0], sides[1], Rules())
    graphs = [one for one in found.rollups if one.level == "graph"]
    assert len(graphs) == 20
    told = "library calls of aten.mm 1 → 2, which are not timed"
    assert all(told in one.work and one.reason for one in graphs)
    assert set(counted.values()) == {2}  # once on either side
