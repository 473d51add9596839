"""Compiling ahead: while the device checks and times one block of graphs, the next block's kernels
are compiled, ours and the other compilers', by as many processes as there are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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

Made = tuple["Entry", "Compiled | HarnessError"]
"""A graph and its kernels, or why there are none."""


@dataclass(eq=False, slots=True)
class _Block:
    """Graphs whose kernels are being compiled; ``failed`` is what ended that."""

    made: list[Made] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    failed: list[HarnessError] = field(default_factory=list)

    def start(self, *tasks: Callable[[], object]) -> None:
        """Do ``tasks`` side by side."""
        # A thread that ends with the process: after Ctrl-C nobody waits for a compiler.
        self.threads = [threading.Thread(target=self._do, args=(t,), daemon=True) for t in tasks]
        for thread in self.threads:
            thread.start()

    def _do(self, task: Callable[[], object]) -> None:
        try:
            task()
        except HarnessError as error:
            self.failed.append(error)

    def wait(self) -> None:
        """Until everything is compiled. Raises ``HarnessError`` where no process could."""
        for thread in self.threads:
            thread.join()
        for error in self.failed:
            raise error


def compiled_ahead(
    entries: Sequence[Entry], device: CudaDevice, peers: PeerPool | None
) -> Iterator[Made]:
    """Every graph once its kernels are compiled, in the order of ``entries``. A kernel that does
    not compile fails again, with its reason, when it is timed."""
    left = iter(entries)
    block = _begun(left, device, peers)
    while block.made:
        following = _begun(left, device, peers)
        block.wait()
        yield from block.made
        block = following


def generated(entry: Entry) -> Made:
    """``entry`` after code generation."""
    try:
        return entry, entry.compile()
    except HarnessError as error:
        return entry, error


def _begun(left: Iterator[Entry], device: CudaDevice, peers: PeerPool | None) -> _Block:
    """The next graphs, their code generated here and now, their compilers at work."""
    block = _Block()
    kernels: list[CompiledKernel] = []
    for made in map(generated, left):
        block.made.append(made)
        kernels += () if isinstance(made[1], HarnessError) else made[1].kernels
        if len(kernels) >= _KERNELS:
            break
    given = {k.module.text: k.config for k in kernels if k.config is not None}
    jobs = device.missing([kernel.module for kernel in kernels], given)
    tasks: list[Callable[[], object]] = [lambda: device.compile(jobs)] if jobs else []
    if peers is not None and kernels:
        graphs = [one for _, one in block.made if not isinstance(one, HarnessError)]
        tasks.append(lambda: peers.prepare([region for one in graphs for region in one.regions]))
    block.start(*tasks)
    return block
