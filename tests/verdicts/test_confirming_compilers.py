from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from harness.measure.jobs import DeviceFacts, Effort
from harness.measure.noise.judge import Verdict
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
    """Inductor takes a tenth longer in each of four processes, except where it fails."""

    def __init__(self, broken: str = "", stop_after: int = 10**9) -> None:
        self.broken, self.stop_after = broken, stop_after
        self.prepared: list[str] = []
        self.compared: list[str] = []

    @contextlib.contextmanager
    def open(self, others: Sequence[str]) -> Iterator[FakePeers]:
        assert list(others) == ["inductor"]
        yield self

    def prepare(self, work: Sequence[Comparable]) -> None:
        assert not self.compared, "before anything is timed"
        self.prepared += [one.name for one in work]

    def compare(self, one: Comparable, configs: Mapping[str, object]) -> tuple[RegionRecord, ...]:
        if len(self.compared) >= self.stop_after:
            raise KeyboardInterrupt
        self.compared.append(one.name)
        rows = []
        for name, ms in (("harness", 0.020), ("inductor", 0.022)):
            if name == "inductor" and one.name == self.broken:
                rows.append(RegionRecord(one.name, name, reason="out of memory"))
                continue
            sets = tuple(
                Samples((ms * (1 + 0.1 * process),) * 5, process=process) for process in range(4)
            )
            rows.append(RegionRecord(one.name, name, ms, sets=sets, count=2))
        return tuple(rows)


def compared(peers: FakePeers) -> Comparison:
    files = [GraphFile(name, SUITE / f"{name}.py", None) for name in NAMES]
    return confirm_compilers(
        Run("", "", Machine(""), ""),
        ("harness", "inductor"),
        files,
        Workplace(Path("unused"), 1, effort=Effort(processes=4)),
        DEVICE,
        peers.open,
    )


def test_compilers_are_timed_against_each_other() -> None:
    peers = FakePeers()
    found = compared(peers)
    assert peers.compared == peers.prepared
    assert {row.verdict for row in found.rows} == {Verdict.SLOWER}
    assert all(row.effect and row.effect.ratio == pytest.approx(1.1) for row in found.rows)
    assert all(row.processes == (4, 4) for row in found.rows)
    assert found.a.run.machine.gpu == "Fake GPU"


def test_a_region_that_a_compiler_cannot_run_is_a_row() -> None:
    broken = compared(FakePeers()).rows[-1].match.region
    found = compared(FakePeers(broken))
    (row,) = [r for r in found.rows if r.match.region == broken]
    assert row.verdict is Verdict.INCOMPARABLE
    assert "out of memory" in row.reason


def test_ctrl_c_keeps_what_was_measured() -> None:
    peers = FakePeers(stop_after=1)
    found = compared(peers)
    assert any("interrupted" in note for note in found.notes)
    assert len(found.rows) == len(peers.prepared)
    assert sorted(row.processes for row in found.rows) == [
        *[(0, 0)] * (len(peers.prepared) - 1),
        (4, 4),
    ]
