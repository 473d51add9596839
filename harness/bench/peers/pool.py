"""Peers as a run sees them: compile ahead, compare a region, in processes that can be lost.

What a lost process was about to do is in a file; that compiler gets the reason as its row
and the others are compared without it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.bench.peers.comparing import TIMING, Peer, RegionComparison
from harness.bench.peers.names import OURS, SUBJECTS, USER
from harness.bench.peers.regions import Comparable
from harness.bench.peers.worker import ROLE, CompareJob, WarmJob, needs_warming
from harness.bench.record import Check, RegionRecord, SampleSet, one_line
from harness.compiled import CompiledRegion
from harness.errors import HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.runtime.closing import Closing
from harness.runtime.pool import WorkerPool
from harness.runtime.timing import Samples

_SECONDS = 300.0
"""What comparing one region may take, compiling and tuning by every compiler included."""
_MOST_WARMING = 8
"""Processes that compile ahead, each of which holds a context on the device."""
_TIMING_FAILED = "the process was lost while all compilers were timed in turns"


class PeerPool(Closing):
    """Compares the compilers ``against`` with ours. ``jobs`` processes compile ahead;
    everything worth keeping goes below ``cache``. Comparing a region may take ``seconds``.

    A compiler that fails, crashes or hangs costs its own row. Raises ``NoDevice`` where the
    GPU cannot be used any more.
    """

    def __init__(
        self,
        against: Sequence[str],
        cache: Path,
        jobs: int,
        seconds: float = _SECONDS,
        role: str = ROLE,
    ) -> None:
        self.against = tuple(against)
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
        # Compiling ahead is what runs in parallel, so each process compiles alone.
        alone = {**kept, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._worker = WorkerPool(role, 1, seconds, cache, kept)
        self._warming = WorkerPool(role, max(1, min(jobs, _MOST_WARMING)), seconds, cache, alone)
        self._folder = tempfile.TemporaryDirectory(prefix="harness-peers-")

    def close(self) -> None:
        """End the processes."""
        self._worker.close()
        self._warming.close()
        self._folder.cleanup()

    def prepare(self, work: Sequence[Comparable]) -> None:
        """Compile with Inductor what ``compare`` will need, in parallel. What fails here fails
        again, with its reason, when it is compared."""
        graphs = [one.work.region.graph for one in work if isinstance(one.work, CompiledRegion)]
        self._warming.all(
            [
                ("warm", WarmJob(graph, tuned))
                for tuned in needs_warming(self.against)
                for graph in graphs
            ]
        )

    def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[RegionRecord, ...]:
        """A row for ours and for each of the others, in that order. ``configs`` are tuned
        configurations by module text."""
        subject = USER if isinstance(one.work, str) else OURS
        names = (subject, *self.against)
        lost: dict[str, Peer] = {}
        found = RegionComparison(one.name)
        while left := [name for name in names if name not in lost]:
            progress = Path(self._folder.name) / "progress"
            progress.unlink(missing_ok=True)
            job = CompareJob(one.work, tuple(left), dict(configs), progress)
            try:
                found = self._worker.run("compare", job)
                break
            except NoDevice:
                raise
            except HarnessError as error:
                lost.update(_blamed(progress, left, error))
        peers = {**found.peers, **lost}
        return tuple(_record(one, name, peers[name]) for name in names)


def _blamed(progress: Path, left: Sequence[str], error: HarnessError) -> dict[str, Peer]:
    """The compiler that was being run when the process was lost; all of them if it was none."""
    try:
        name = progress.read_text()
    except OSError:
        name = ""
    why = one_line(error)
    if name in left:
        return {name: Peer(reason=why)}
    why = f"{_TIMING_FAILED}: {why}" if name == TIMING else why
    return {name: Peer(reason=why) for name in left}


def _set(samples: Samples) -> SampleSet:
    return SampleSet(
        0,
        samples.ms,
        samples.low,
        samples.high,
        samples.clock_mhz,
        samples.excluded,
        samples.stopped,
        samples.drift,
        samples.launches,
    )


def _record(one: Comparable, name: str, peer: Peer) -> RegionRecord:
    samples = peer.samples
    checks = {None: Check.SKIPPED, True: Check.PASSED, False: Check.FAILED}
    return RegionRecord(
        region=one.name,
        compiler=name,
        ms=peer.ms,
        low=None if samples is None else samples.low,
        high=None if samples is None else samples.high,
        kernels=one.kernels if name in SUBJECTS else None,
        sets=() if samples is None else (_set(samples),),
        check=checks[peer.passed],
        max_error=peer.error,
        reason=peer.reason,
        count=one.count,
    )
