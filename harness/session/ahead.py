"""Compiling ahead: while the device checks and times one block of graphs, the next block's kernels
are compiled, ours and the other compilers', by as many processes as there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.session.model import Compiled

if TYPE_CHECKING:
    from harness.measure.peers.pool import PeerPool
    from harness.session.cuda import CudaDevice
    from harness.session.entries import Entry

_KERNELS = 32
"""In a block: enough that a slow compilation at its end keeps few processes waiting, few enough
that the device, which waits for the first block, starts soon."""

Made = tuple["Entry", "Compiled | HarnessError"]
"""A graph and its kernels, or why there are none."""


def compiled_ahead(
    entries: Sequence[Entry], device: CudaDevice, peers: PeerPool | None
) -> Iterator[Made]:
    """Every graph once its kernels are compiled, in the order of ``entries``. A kernel that does
    not compile fails again, with its reason, when it is timed. Raises ``HarnessError`` where no
    process can compile."""
    left = map(generated, entries)
    threads = ThreadPoolExecutor(2)
    try:
        block, compiling = _begun(left, device, peers, threads)
        while block:
            following = _begun(left, device, peers, threads)
            for done in compiling:
                done.result()
            yield from block
            block, compiling = following
    finally:
        # After Ctrl-C nobody waits for compilers: a pool that is closed gives up.
        threads.shutdown(wait=False, cancel_futures=True)


def generated(entry: Entry) -> Made:
    """``entry`` after code generation."""
    try:
        return entry, entry.compile()
    except HarnessError as error:
        return entry, error


def _begun(
    left: Iterator[Made], device: CudaDevice, peers: PeerPool | None, threads: ThreadPoolExecutor
) -> tuple[list[Made], list[Future[None]]]:
    """The next graphs, their code generated here and now, and their compilers at work."""
    block: list[Made] = []
    graphs: list[Compiled] = []
    for entry, made in left:
        block.append((entry, made))
        graphs += [] if isinstance(made, HarnessError) else [made]
        if sum(len(graph.kernels) for graph in graphs) >= _KERNELS:
            break
    kernels = [kernel for graph in graphs for kernel in graph.kernels]
    given = {k.module.text: k.config for k in kernels if k.config is not None}
    jobs = device.missing([kernel.module for kernel in kernels], given)
    compiling = [threads.submit(device.compile, jobs)] if jobs else []
    if peers is not None and kernels:
        regions = [region for graph in graphs for region in graph.regions]
        compiling.append(threads.submit(peers.prepare, regions))
    return block, compiling
