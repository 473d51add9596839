from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from harness.measure.jobs import DeviceFacts, Effort
from harness.measure.noise.judge import Rules, Verdict
from harness.measure.peers.regions import Comparable
from harness.records.run import Machine, RegionRecord, Run
from harness.records.timing import Samples
from harness.session.entries import GraphFile
from harness.target import H100
from harness.verdicts.comparing import Comparison
from harness.verdicts.confirming import Workplace, confirm_compilers

SUITE = Path(__file__).resolve().parents[2] / "suites" / "graphs"
NAMES = ("llama_block_forward", "fp8_rowwise_forward")
DEVICE = DeviceFacts(H100, Machine("fake", gpu="Fake GPU"), "fake/1")


class FakePeers:
    """Inductor takes a tenth longer, except where it fails."""

    def __init__(self, log: list[list[str]], broken: str = "", stop_after: int = 10**9) -> None:
        self.log, self.broken, self.stop_after = log, broken, stop_after

    @contextlib.contextmanager
    def open(self, others: Sequence[str]) -> Iterator[FakePeers]:
        assert list(others) == ["inductor"]
        self.log.append([])
        yield self

    def prepare(self, work: Sequence[Comparable]) -> None:
        assert len(self.log) == 1, "once, before anything is timed"

    def compare(self, one: Comparable, configs: Mapping[str, object]) -> tuple[RegionRecord, ...]:
        if sum(map(len, self.log)) >= self.stop_after:
            raise KeyboardInterrupt
        self.log[-1].append(one.name)
        rows = []
        for name, ms in (("harness", 0.020), ("inductor", 0.022)):
            if name == "inductor" and one.name == self.broken:
                rows.append(RegionRecord(one.name, name, reason="out of memory"))
                continue
            shift = 1 + 0.1 * len(self.log)  # a process's own, the same for both
            rows.append(
                RegionRecord(one.name, name, ms, sets=(Samples((ms * shift,) * 5),), count=2)
            )
        return tuple(rows)


def compared(peers: FakePeers, processes: int = 4) -> Comparison:
    files = [GraphFile(name, SUITE / f"{name}.py", None) for name in NAMES]
    return confirm_compilers(
        Run("", "", Machine(""), ""),
        ("harness", "inductor"),
        files,
        Rules(),
        Effort(processes=processes),
        Workplace(Path("unused"), 1),
        DEVICE,
        peers.open,
    )


def test_compilers_are_timed_in_fresh_processes_in_turns() -> None:
    log: list[list[str]] = []
    found = compared(FakePeers(log))
    assert len(log) == 4
    assert all(sorted(names) == sorted(log[0]) for names in log)
    assert len({tuple(names) for names in log}) > 1, "each process takes another order"
    assert {row.verdict for row in found.rows} == {Verdict.SLOWER}
    assert all(row.effect and row.effect.ratio == pytest.approx(1.1) for row in found.rows)
    assert all(row.processes == (4, 4) for row in found.rows)
    assert found.a.run.machine.gpu == "Fake GPU"


def test_a_region_that_a_compiler_cannot_run_is_a_row_and_is_tried_once() -> None:
    log: list[list[str]] = []
    broken = compared(FakePeers([]), processes=1).rows[-1].match.region
    found = compared(FakePeers(log, broken))
    (row,) = [r for r in found.rows if r.match.region == broken]
    assert row.verdict is Verdict.INCOMPARABLE
    assert "out of memory" in row.reason
    assert sum(names.count(broken) for names in log) == 1


def test_ctrl_c_keeps_what_was_measured() -> None:
    log: list[list[str]] = []
    regions = len(compared(FakePeers([]), processes=1).rows)
    found = compared(FakePeers(log, stop_after=regions + 1))
    assert any("interrupted" in note for note in found.notes)
    assert len(found.rows) == regions
    assert {row.processes for row in found.rows} == {(1, 1), (2, 2)}
