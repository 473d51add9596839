"""Compiling ahead, in blocks of graphs, by as many processes as there are: while the device checks
and times one block, the next one's kernels are compiled.

Other compilers load what they compile onto the device. For seconds after another process had it,
the device launches kernels at another interval, and what is timed then has to wait; so those
compile a block between two blocks, while nothing is timed and code is generated for the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.session.model import Compiled, CompiledKernel

if TYPE_CHECKING:
    from harness.measure.peers.pool import PeerPool
    from harness.session.cuda import CudaDevice
    from harness.session.entries import Entry

_KERNELS = 32
"""In a block: enough that a slow compilation at its end keeps few processes waiting, few enough
that the device, which waits for the first block, starts soon."""
_KERNELS_COMPARED = 128
"""In a block with other compilers: about two minutes of timing to some ten seconds of waiting."""

Made = tuple["Entry", "Compiled | HarnessError"]
"""A graph and its kernels, or why there are none."""


def compiled_ahead(
    entries: Sequence[Entry], device: CudaDevice, peers: PeerPool | None
) -> Iterator[list[Made]]:
    """Every graph once its kernels are compiled, in the order of ``entries``. A kernel that does
    not compile fails again, with its reason, when it is timed. Raises ``HarnessError`` where no
    process can compile."""
    left = map(generated, entries)
    threads = ThreadPoolExecutor(2)
    size = _KERNELS if peers is None else _KERNELS_COMPARED
    try:
        block, compiling = _begun(left, size, device, threads)
        while block:
            waited_for = [compiling]
            if peers is not None:
                regions = [region for graph in _graphs(block) for region in graph.regions]
                waited_for.append(threads.submit(peers.prepare, regions))
            following = _begun(left, size, device, threads)
            for work in waited_for:
                work.result()
            yield block
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
    left: Iterator[Made], size: int, device: CudaDevice, threads: ThreadPoolExecutor
) -> tuple[list[Made], Future[None]]:
    """The next graphs with ``size`` kernels, their code generated here and now, and the compilation
    of their kernels, which goes on."""
    block: list[Made] = []
    kernels: list[CompiledKernel] = []
    while len(kernels) < size and (made := next(left, None)) is not None:
        block.append(made)
        kernels = [kernel for graph in _graphs(block) for kernel in graph.kernels]
    given = {k.module.text: k.config for k in kernels if k.config is not None}
    jobs = device.missing([kernel.module for kernel in kernels], given)
    return block, threads.submit(device.compile, jobs)


def _graphs(block: Sequence[Made]) -> list[Compiled]:
    return [made for _, made in block if not isinstance(made, HarnessError)]
