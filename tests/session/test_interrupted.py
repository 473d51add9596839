"""A run over several boards that is ended by Ctrl-C, with real processes and made-up devices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness.devices.job import Context
from harness.history import store
from harness.measure.peers.jobs import CompareJob
from harness.records.run import RegionRecord
from tests.measure.peers.fake_worker import compare_on_board

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "suites" / "graphs" / "small" / "channels_last_forward.py"
HERE = "tests.session.test_interrupted"

COMMAND = f"""
import os, pathlib, pytest
from harness.history.journal import Journal
from harness.measure.jobs import DeviceFacts
from harness.records.run import Machine
from harness.runtime import device
from harness.runtime.compile.static import CompilePool
from harness.session import ahead, cuda, plan, spread
from harness.target import H100
from tests.devices.standing_in import stand_in
from tests.measure import fake_device
from tests.measure.fakes import METRICS
from tests.measure.peers import fake_worker

comparing = {{"harness.measure.peers.worker:compare_region": "{HERE}:compare"}}
handlers = fake_device.HANDLERS | fake_worker.ON_BOARDS | comparing
names = ("GPU-a", "GPU-b")
facts = [DeviceFacts(H100, Machine("fake", gpu_uuid=name), "fake/1") for name in names]
plan.seen, device.boards = facts.__getitem__, lambda asked: dict(enumerate(names))
cuda.CudaDevice.missing = lambda *_: []
stand_in(pytest.MonkeyPatch(), handlers)
CompilePool.metrics_each = lambda pool, jobs: ((n, METRICS) for n, _ in enumerate(jobs))
add, recorded = Journal.add_graph, pathlib.Path(os.environ["HARNESS_CACHE"], "recorded")
Journal.add_graph = lambda *given: (add(*given), recorded.touch())
spread.FEW = ahead.FEW = ahead._FIRST_KERNELS = ahead._KERNELS = 2

from harness.cli.main import main
main()
"""


def compare(context: Context, job: CompareJob) -> dict[str, RegionRecord]:
    """The handler that compares: once a graph is recorded a file says that it began, and it does
    not end."""
    assert context.cache is not None
    if not (context.cache / "recorded").exists():
        return compare_on_board(context, job)
    (context.cache / os.environ["CUDA_VISIBLE_DEVICES"]).touch()
    time.sleep(3600)
    return {}


def test_boards_that_are_interrupted_end_with_everything_that_works_for_them(
    tmp_path: Path,
) -> None:
    """Code has been generated for some graphs, in other processes, whose answers nobody takes any
    more: the command itself ends, not only its threads."""
    for number in range(40):
        (tmp_path / "graphs" / f"g{number}.py").parent.mkdir(exist_ok=True)
        (tmp_path / "graphs" / f"g{number}.py").write_text(GRAPH.read_text())
    given = {"RESULTS": str(tmp_path / "results"), "CACHE": str(tmp_path / "cache"), "JOBS": "2"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment |= {f"HARNESS_{name}": value for name, value in given.items()}
    asked = ("run", "graphs", "--devices", "all", "--against", "eager", "--json")
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *asked],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while not all((tmp_path / "cache" / board).exists() for board in ("GPU-a", "GPU-b")):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted; what had been measured is kept in" in said
    assert "Traceback" not in said and "Exception ignored" not in said
    (path,) = (tmp_path / "results").rglob("*.parquet")
    assert not store.load(path).complete
