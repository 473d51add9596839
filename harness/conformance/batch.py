"""Rows worked out by several processes, with a journal to go on from."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from harness.backend import Devices
from harness.devices.job import Context, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.files import write_atomically

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
_SECONDS = 300.0
# One core each: the processes are what runs in parallel.
_ENVIRONMENT = (("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1"))


def answers(
    wanted: Mapping[K, Job],
    row: Callable[..., R],
    key: Callable[[R], K],
    lost: Callable[[K, str], R],
    jobs: int,
    cache: Path,
    journal: Path | None,
) -> Iterator[R]:
    """The row of every ``wanted`` job as they come, by ``jobs`` processes. Rows that the
    ``journal`` (a line of JSON each) has already are taken from there, and new ones added. A job
    that fails has the row that ``lost`` makes of its key and the reason."""
    done: dict[K, R] = {}
    if journal is not None and journal.exists():
        *lines, torn = journal.read_text().split("\n")
        if torn:  # by what ended a run while it wrote
            write_atomically(journal, "".join(f"{line}\n" for line in lines).encode())
        for known in (row(**_plain(json.loads(line))) for line in lines):
            if key(known) in wanted:
                done[key(known)] = known
    yield from done.values()
    left = [one for one in wanted if one not in done]
    with Pool(cores(jobs, _ENVIRONMENT, ("harness.backend",)), _SECONDS, cache) as pool:
        for number, found in pool.each([wanted[one] for one in left]):
            if isinstance(found, HarnessError):
                found = lost(left[number], str(found)[:300])
            if journal is not None:
                with journal.open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
            yield found


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}


def devices_of(context: Context) -> Devices:
    """A worker process's own ways to run kernels."""
    return Devices(cache=context.cache, jobs=1)
