"""Marks for the profiler, and the bandwidth of kernels in a program: on a device that is not
there."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from harness.errors import RecordError
from harness.runtime.launch.observing import Bandwidth, Traced
from harness.runtime.launch.selecting import SelectedKernels
from harness.runtime.module import text_hash
from harness.target import H100
from tests.runtime import emitted
from tests.runtime.launch.fake_driver import FakeDriver
from tests.runtime.launch.test_selecting import arguments, cache, driver

__all__ = ["cache", "driver"]

BIGGER = emitted.POINTWISE.replace("BYTES = 3 * 4", "BYTES = 6 * 4").replace("_add_0", "_add_7")


def timed(*answers: float) -> Callable[[Callable[[], None]], float]:
    left = list(answers)

    def time(work: Callable[[], None]) -> float:
        work()
        return left.pop(0)

    return time


@pytest.fixture
def kernels(driver: FakeDriver, cache: Path) -> SelectedKernels:
    return SelectedKernels(H100, cache=cache)


def test_a_launch_is_marked_with_what_it_launches(
    kernels: SelectedKernels, driver: FakeDriver, tmp_path: Path
) -> None:
    selected = kernels.get(emitted.POINTWISE)
    launch = Traced(selected, selected.kernel)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(2):
            launch(7, *arguments())
    assert len(driver.launches) == 2
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    name = selected.loaded.name
    marks = [e["name"] for e in events if e.get("name", "").startswith(name)]
    first = f"{name} file={selected.loaded.path} hash={text_hash(emitted.POINTWISE)} stream=7"
    assert marks == [first, f"{first} grid=2x1x1 XBLOCK=1024 num_warps=4 num_stages=1"]


def test_each_kernel_is_timed_once_and_summed_up_by_time(
    kernels: SelectedKernels, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO, "harness.bandwidth")
    file = tmp_path / "bandwidth.txt"
    log = Bandwidth(re.compile(""), file, timed(0.010, 0.040))
    graph = log.graph("graph0_forward")
    small, big = (graph.watch(kernels.get(t)) for t in (emitted.POINTWISE, BIGGER))
    for _ in range(2):
        for launch in (small, big, small, small):
            launch(0, *arguments())
        graph.finished()
    lines = file.read_text().splitlines()
    assert lines == [record.getMessage() for record in caplog.records]
    first, second, total, *shares = lines
    assert first.split() == [
        "0.0100", "ms", "0.0000", "GB", "2.4", "GB/s", "triton_poi_fused_tanh_add_0",
    ]  # fmt: skip
    assert second.split()[-1] == "triton_poi_fused_tanh_add_7"
    assert total.startswith("graph0_forward: 2 kernels in 4 launches, 0.0700 ms")
    assert [line.split()[0] for line in shares] == ["57.1", "42.9"]
    assert [line.split()[-1] for line in shares] == [
        "triton_poi_fused_tanh_add_7",
        "triton_poi_fused_tanh_add_0",
    ]
    assert shares[1].split()[2:6] == ["0.0300", "ms", "3", "×"]


def test_a_pattern_picks_kernels_and_the_rest_is_launched_directly(
    kernels: SelectedKernels, driver: FakeDriver
) -> None:
    log = Bandwidth(re.compile("add_7$"), time=timed(1.0))
    graph = log.graph("g")
    assert graph.watch(kernels.get(emitted.POINTWISE)) is kernels.get(emitted.POINTWISE).kernel
    graph.watch(kernels.get(BIGGER))(0, *arguments())
    assert list(log.rows) == [BIGGER]


def test_timing_leaves_what_the_kernel_writes_as_it_was(kernels: SelectedKernels) -> None:
    args = arguments()

    def spoil(work: Callable[[], None]) -> float:
        args[2].fill_(5.0)
        return 1.0

    args[2].fill_(3.0)
    log = Bandwidth(re.compile(""), time=spoil)
    log.graph("g").watch(kernels.get(emitted.POINTWISE))(0, *args)
    assert args[2].eq(3.0).all()


def test_nothing_is_timed_while_a_graph_is_recorded(
    kernels: SelectedKernels, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    log = Bandwidth(re.compile(""), time=timed())
    log.graph("g").watch(kernels.get(emitted.POINTWISE))(0, *arguments())
    assert len(driver.launches) == 1 and not log.rows


def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="HARNESS_BANDWIDTH_FILE"):
        Bandwidth(re.compile(""), tmp_path / "none" / "file.txt")


def test_the_environment_turns_them_on_and_off(
    kernels: SelectedKernels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness.backend import Devices
    from harness.codegen.source import EmittedModule

    module: Any = type("Module", (), {"text": emitted.POINTWISE})
    plain: EmittedModule = module
    direct = kernels.get(emitted.POINTWISE).kernel
    devices = Devices(cache=tmp_path)
    off = devices._watched(kernels, "g")
    assert off.kernel(plain) is direct and off.finished is None
    monkeypatch.setenv("HARNESS_TRACE", "1")
    assert isinstance(devices._watched(kernels, "g").kernel(plain), Traced)
    monkeypatch.setenv("HARNESS_BANDWIDTH_FILE", str(tmp_path / "out.txt"))
    both = devices._watched(kernels, "g")
    traced: Any = both.kernel(plain)
    assert isinstance(traced, Traced) and traced.launch is not direct and both.finished
    assert (tmp_path / "out.txt").exists()
