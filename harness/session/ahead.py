"""Code generation of many graphs at once, and compiling ahead, in blocks of graphs, by as many
processes as there are: while the device checks and times one block, the next one's kernels are
compiled. Other compilers do so too, and load nothing there."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import ClassVar

import harness
from harness.devices.job import BESIDE_TIMING, Context, Device, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.measure.peers.pool import PeerPool
from harness.records.lines import Kept
from harness.records.run import GraphRecord
from harness.runtime.compile.cache import usable
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry, FileEntry, MadeEntry
from harness.session.model import Compiled, blank

SECONDS = 300.0
"""What generating the code of one graph may take."""
FEW = 64
"""So many graphs are generated sooner than processes have started: 60 ms each on average, of the
corpus, and 2 s for a process (measured on two cores). Beyond, a process has half as many."""
_FIRST_KERNELS = 16
"""In the first block, which the device waits for; in the second twice as many."""
_KERNELS = 64
"""In the others: enough that a slow compilation ends before the block before it is timed."""

_AHEAD = 2
"""Blocks that are generated, and compile, beside the one that is examined."""

ABOVE = "calibration cli history imports pytest report verdicts".split()
"""Parts of the package that code generation cannot import: the layers above this one."""

Made = tuple[Entry, Compiled | HarnessError]
"""A graph and its kernels, or why there are none."""
Block = tuple[list[Made], Future[None]]
"""Graphs whose kernels are compiled, and their compilation by other compilers, which goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Job):
    """Generate a graph's code. Answers ``Compiled``; what other compilers are given only where it
    is to be ``compared``."""

    handler: ClassVar[str] = "harness.session.ahead:generate"
    entry: FileEntry
    compared: bool = False


def generate(_: Context, job: Generate) -> Compiled:
    """The handler of ``Generate``."""
    made = job.entry.compile()
    return made if job.compared else replace(made, regions=())


def all_generated(
    entries: Sequence[Entry], jobs: int, cache: Path | None, compared: bool = False
) -> Iterator[Made]:
    """Every entry with what is made of it; if there are many by ``jobs`` processes, which leave the
    GPU alone, as they end."""
    files = [entry for entry in entries if isinstance(entry, FileEntry)]
    if jobs < 2 or len(files) < max(FEW, len(entries)):
        yield from map(generated, entries)
        return
    places = cores(min(jobs, 2 * len(files) // FEW), Device("", niceness=BESIDE_TIMING))
    with Pool(places, SECONDS, cache) as pool:
        for index, answer in pool.each([Generate(entry=e, compared=compared) for e in files]):
            yield files[index], answer


def size(entry: Entry) -> float:
    """Of a graph's text, in bytes; all others are alike."""
    return float(entry.file.bytes) if isinstance(entry, FileEntry) else 1.0


def shared(entries: Sequence[Entry], made: Iterator[Made]) -> dict[str, MadeEntry]:
    """Entries by name, for threads that each compile some: who asks for one goes on with ``made``,
    in which they come in any order, until it is there; raises what ``made`` does."""
    lock, found = threading.Lock(), dict[str, Compiled | HarnessError]()
    count = len({entry.name for entry in entries})

    def ask(name: str) -> Compiled | HarnessError:
        while name not in found:
            with lock:
                if name not in found:
                    entry, one = next(made)
                    found[entry.name] = one
                    if len(found) == count:
                        next(made, None)  # its end, where what generated ends too
        return found[name]

    return {e.name: MadeEntry(e.name, functools.partial(ask, e.name), e) for e in entries}


def kept_graphs(cache: Path, suite: str) -> Kept[GraphRecord]:
    """What the compiler at hand made of the graphs of ``suite`` before, by ``key``, in a file below
    ``cache``; what other compilers made of them goes."""
    name = suite.partition(":")[0]
    path = cache / "generated" / f"{name}-{generator()[:16]}.jsonl"
    for other in path.parent.glob(f"{name}-*.jsonl"):
        if other != path:
            other.unlink(missing_ok=True)
    return Kept(path, GraphRecord)


def recorded(
    entries: Sequence[Entry], jobs: int, cache: Path | None, suite: str
) -> Iterator[tuple[Entry, GraphRecord, Compiled | None]]:
    """Each of ``entries`` with its kernels as they are known once they are generated; first those
    that this compiler generated before, as the folder ``cache`` says, without what is made anew."""
    with usable(cache) as (folder, _), kept_graphs(folder, suite) as kept:
        keys = {id(entry): key(entry) for entry in entries}
        yield from ((e, kept[keys[id(e)]], None) for e in entries if keys[id(e)] in kept)
        rest = [entry for entry in entries if keys[id(entry)] not in kept]
        rest.sort(key=size, reverse=True)  # so that none is waited for at the end
        for entry, made in all_generated(rest, jobs, cache):
            if isinstance(made, HarnessError):
                yield entry, GraphRecord(entry.name, reason=f"{type(made).__name__}: {made}"), None
                continue
            kernels = (*map(blank, made.kernels), *made.failures)
            record = GraphRecord(entry.name, made.library_calls, kernels)
            if keys[id(entry)] and not record.failed:
                kept[keys[id(entry)]] = record
            yield entry, replace(record, codegen_seconds=round(made.seconds, 6)), made


def key(entry: Entry) -> str:
    """Equal for equal name, text, target and chosen kernels; empty for what depends on more: a file
    of Python, or choices by time."""
    if not isinstance(entry, FileEntry) or entry.decides or not entry.file.bytes:
        return ""
    asked = (entry.name, entry.target, entry.only, entry.file.path.read_bytes())
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def generator() -> str:
    """A digest of all that generated code depends on besides the graph: the package without what is
    ``ABOVE``, Python, and the libraries that it computes with."""
    root, digest = Path(harness.__path__[0]), hashlib.sha256(sys.version.encode())
    for name in ("torch", "triton", "sympy", "numpy"):
        digest.update(f"{name} {importlib.metadata.version(name)}\0".encode())
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if place.parts[0] not in ABOVE and "__pycache__" not in place.parts and path.is_file():
            data = path.read_bytes()
            digest.update(f"{place.as_posix()} {len(data)}\0".encode() + data)
    return digest.hexdigest()


def compiled_ahead(
    entries: Sequence[Entry], device: CudaDevice, peers: PeerPool | None, until: float = math.inf
) -> Iterator[Block]:
    """Every graph once its kernels are compiled, in the order of ``entries``, as far as that is
    before the moment ``until`` of ``time.monotonic``. A kernel that does not compile fails again,
    with its reason, when it is timed. Raises ``HarnessError`` where no process can compile."""
    left, threads, thread = deque(entries), ThreadPoolExecutor(8), ThreadPoolExecutor(1)
    sizes = chain((_FIRST_KERNELS, 2 * _FIRST_KERNELS), repeat(_KERNELS))
    ended = False

    def begun() -> tuple[list[Made], Future[None], Future[None]]:
        block, size = list[Made](), next(sizes)
        while left and sum(len(graph.kernels) for graph in _graphs(block)) < size:
            block.append(generated(left.popleft()))
        kernels = [kernel for graph in _graphs(block) for kernel in graph.kernels]
        given = {k.module.text: k.config for k in kernels if k.config is not None}
        jobs = device.missing([kernel.module for kernel in kernels], given)
        regions = [region for graph in _graphs(block) for region in graph.regions]
        prepare = functools.partial(peers.prepare, regions) if peers else lambda: None
        return block, threads.submit(device.compile, jobs), threads.submit(prepare)

    try:
        # The device waits for no code: two blocks are begun, in their order, beside the examined.
        coming = deque(thread.submit(begun) for _ in range(_AHEAD))
        while True:
            block, compiling, comparable = coming.popleft().result()
            if not block:
                ended = True
                return
            coming.append(thread.submit(begun))
            if not done(compiling, until):
                return
            yield block, comparable
    finally:
        # After Ctrl-C nobody waits for compilers: a pool that is closed gives up. At the end others
        # are still waited for, even those that no thread has begun yet.
        left.clear()
        thread.shutdown(wait=False, cancel_futures=True)
        threads.shutdown(wait=False, cancel_futures=not ended)


def done(work: Future[None], until: float) -> bool:
    """Whether ``work`` is done before the moment ``until``. Raises what it failed with."""
    left = wait([work], max(0.0, min(until - time.monotonic(), TIMEOUT_MAX))).not_done
    return not left and work.result() is None


def generated(entry: Entry) -> Made:
    """``entry`` after code generation."""
    try:
        return entry, entry.compile()
    except HarnessError as error:
        return entry, error


def _graphs(block: Sequence[Made]) -> list[Compiled]:
    return [made for _, made in block if not isinstance(made, HarnessError)]
