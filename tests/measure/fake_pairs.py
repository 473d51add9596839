"""Stands in for the worker that times pairs: what a kernel's text says is what happens."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.devices.job import Context, Device, Unusable
from harness.errors import CompileFailed, NoDevice
from harness.measure.jobs import (
    DeviceFacts,
    Effort,
    Follow,
    OpenDevice,
    PairJob,
    PairSamples,
    TimedKernel,
)
from harness.measure.pairs import Kept, KernelPair, PairResults
from harness.records.run import Machine, one_line
from harness.records.timing import Samples
from harness.target import H100

HANDLERS = {
    "harness.measure.worker:open_device": "tests.measure.fake_pairs:take",
    "harness.measure.worker:time_pair": "tests.measure.fake_pairs:time_pair",
}
ON_BOARDS = {name: f"{there}_on_board" for name, there in HANDLERS.items()}


def _time(kernel: TimedKernel, chance: random.Random) -> float:
    (said,) = (line for line in kernel.module_text.splitlines() if line.startswith("# ms "))
    return float(said.removeprefix("# ms ")) * chance.gauss(1.0, 0.002) * kernel.launches


def time_pairs_here(
    pairs: Sequence[KernelPair],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    devices: Sequence[Device] = (),
    kept: Kept | None = None,
) -> PairResults:
    """``pairs.time_pairs`` without a process: the same answers, at once."""
    device = DeviceFacts(H100, Machine("fake", gpu="Fake GPU", triton="3"), "fake/1")
    outcomes: list[tuple[PairSamples, ...]] = []
    reasons: list[str] = []
    for pair in pairs:
        try:
            jobs = (PairJob(pair.a, pair.b, True, n, 1.0, 0.01) for n in range(effort.processes))
            outcomes.append(tuple(_timed(job) for job in jobs))
            reasons.append("")
        except CompileFailed as error:
            outcomes.append(())
            reasons.append(one_line(error))
    return PairResults(device, tuple(outcomes), tuple(reasons))


def _timed(job: PairJob) -> PairSamples:
    texts = [c.module_text for c in (*job.a, *job.b)]
    if any("# fails" in text for text in texts):
        raise CompileFailed("a compiled kernel does not fit the device", got="shared memory")
    chance = random.Random(f"{texts} {job.seed}")
    sides = [
        tuple(sum(_time(c, chance) for c in side) for _ in range(20)) for side in (job.a, job.b)
    ]
    stopped = "disturbed" if any("# disturbed" in text for text in texts) else "width"
    return PairSamples(*(Samples(ms, method="fake/1", stopped=stopped) for ms in sides))


def take(_: Context, __: OpenDevice) -> DeviceFacts:
    return DeviceFacts(H100, Machine("fake", gpu="Fake GPU", triton="3"), "fake/1")


def time_pair(context: Context, job: PairJob) -> PairSamples:
    """Notes, in the cache folder, which process had which job in which order."""
    assert context.cache is not None
    texts = [c.module_text for c in (*job.a, *job.b)]
    with (context.cache / "log").open("a") as file:
        file.write(f"{os.getpid()} {job.a_first} {job.seed} {texts[0].splitlines()[0]}\n")
    if any("# crashes" in text for text in texts):
        os._exit(7)
    if any("# hangs" in text for text in texts):
        context.step("hangs")
        time.sleep(3600)
    return _timed(job)


def take_on_board(context: Context, job: OpenDevice) -> DeviceFacts:
    _require_board(context, 0)
    board = os.environ["CUDA_VISIBLE_DEVICES"]
    return DeviceFacts(H100, Machine("fake", gpu_uuid=board), "fake/1")


def time_pair_on_board(context: Context, job: PairJob) -> PairSamples:
    """The method of every sample is the board."""
    _require_board(context, 1)
    board, found = os.environ["CUDA_VISIBLE_DEVICES"], time_pair(context, job)
    return PairSamples(*(replace(side, method=board) for side in (found.a, found.b)))


def _require_board(context: Context, jobs: int) -> None:
    """A file named like the board holds how many jobs it does before it is gone; ``dies`` if it
    takes the process with it in the middle of its first."""
    assert context.cache is not None
    left = context.cache / os.environ["CUDA_VISIBLE_DEVICES"]
    if left.exists():
        if jobs and left.read_text() == "dies":
            left.write_text("0")
            os._exit(9)
        if left.read_text() == "dies":
            return
        if left.read_text() == "0":
            raise Unusable(NoDevice("the GPU cannot be used", got="it fell off the bus"))
        left.write_text(str(int(left.read_text()) - jobs))
