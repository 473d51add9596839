"""Stands in for the worker that times pairs: what a kernel's text says is what happens."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

from harness.devices.worker import Handler
from harness.errors import CompileFailed
from harness.measure.jobs import DeviceFacts, PairJob, PairSamples, TimedKernel
from harness.measure.pairs import Effort, Follow, KernelPair, PairResults
from harness.records.run import Machine, one_line
from harness.records.timing import Samples
from harness.target import H100

ROLE = "tests.measure.fake_pairs:handlers"


def _time(kernel: TimedKernel, chance: random.Random) -> float:
    (said,) = (line for line in kernel.module_text.splitlines() if line.startswith("# ms "))
    return float(said.removeprefix("# ms ")) * chance.gauss(1.0, 0.002) * kernel.launches


def time_pairs_here(
    pairs: Sequence[KernelPair],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    role: str = ROLE,
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


def handlers(cache: str | None) -> dict[str, Handler]:
    """Notes, in the cache folder, which process had which job in which order."""
    assert cache is not None
    log = Path(cache) / "log"

    def take(_: object) -> DeviceFacts:
        return DeviceFacts(H100, Machine("fake", gpu="Fake GPU", triton="3"), "fake/1")

    def time_(job: PairJob) -> PairSamples:
        texts = [c.module_text for c in (*job.a, *job.b)]
        with log.open("a") as file:
            file.write(f"{os.getpid()} {job.a_first} {job.seed} {texts[0].splitlines()[0]}\n")
        if any("# crashes" in text for text in texts):
            os._exit(7)
        if any("# hangs" in text for text in texts):
            time.sleep(60)
        return _timed(job)

    return {"open": take, "time": time_}
