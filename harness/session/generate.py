"""Code generation of many graphs at once, in processes that leave the GPU alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from harness.devices.job import Context, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.session.ahead import generated as here
from harness.session.entries import Entry, FileEntry
from harness.session.model import Compiled

SECONDS = 300.0
"""What one graph may take."""
FEW = 64
"""So many graphs are generated sooner than processes have started: 60 ms each on average, of the
corpus, and 2 s for a process (measured on two cores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Job):
    """Generate a graph's code. Answers ``Compiled``, without what other compilers are given."""

    handler: ClassVar[str] = "harness.session.generate:generate"
    entry: FileEntry


def generate(_: Context, job: Generate) -> Compiled:
    """The handler of ``Generate``."""
    return replace(job.entry.compile(), regions=())


def generated(
    entries: Sequence[Entry], jobs: int, cache: Path | None
) -> Iterator[tuple[Entry, Compiled | HarnessError]]:
    """Every entry with what is made of it; if there are many by ``jobs`` processes, as they end."""
    files = [entry for entry in entries if isinstance(entry, FileEntry)]
    if jobs < 2 or len(files) < max(FEW, len(entries)):
        yield from map(here, entries)
        return
    with Pool(cores(jobs), SECONDS, cache) as pool:
        work = [Generate(entry=entry) for entry in files]
        for index, answer in pool.each(work):
            yield entries[index], answer
