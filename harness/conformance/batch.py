"""Rows worked out by several processes, with a journal to go on from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import TypeVar

from torch._dynamo import guards

from harness.backend import Devices
from harness.devices.job import Context, Device, Job, Unusable, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.measure.worker import is_lost
from harness.records.lines import Kept

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
_SECONDS = 300.0
# One core each: the processes are what runs in parallel.
_ALONE = Device("", (("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1")), ("harness.backend",))


def answers(
    wanted: Mapping[K, Job],
    row: type[R],
    key: Callable[[R], K],
    lost: Callable[[K, str], R],
    jobs: int,
    cache: Path,
    journal: Path | None,
) -> Iterator[R]:
    """The row of every ``wanted`` job as they come, by ``jobs`` processes. Rows that the
    ``journal`` (a line of JSON each) has already are taken from there, and new ones added. A job
    that fails has the row that ``lost`` makes of its key and the reason."""
    with contextlib.ExitStack() as stack:
        done: MutableMapping[K, R] = {}
        if journal is not None:
            done = stack.enter_context(Kept(journal, row, key))
        yield from [found for one, found in done.items() if one in wanted]
        left = [one for one in wanted if one not in done]
        pool = stack.enter_context(Pool(cores(jobs, _ALONE), _SECONDS, cache))
        for number, found in pool.each([wanted[one] for one in left]):
            if isinstance(found, HarnessError):
                found = lost(left[number], str(found)[:300])
            done[left[number]] = found
            yield found


def devices_of(context: Context) -> Devices:
    """A worker process's own ways to run kernels."""
    # Torch empties the processor's caches to time each new guard once: a tenth of a program.
    guards.profile_guard_manager = lambda *_: 0.0  # type: ignore[attr-defined]
    return Devices(cache=context.cache, jobs=1)


def last_if_lost(found: R) -> R:
    """``found``; a process whose GPU an assertion of a kernel has stopped says it last."""
    if is_lost():
        raise Unusable(found)
    return found
