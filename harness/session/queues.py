"""A session with the queues that it puts its work in."""

from __future__ import annotations

import functools
import queue
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.devices.queue import Inbox, Queue
from harness.options import Options
from harness.runtime.compile.compiling import CompilePool
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.session.entries import Entry
from harness.session.session import Session
from harness.target import Target

if TYPE_CHECKING:
    from harness.session.cuda import CudaDevice


def new_session(
    options: Options,
    workers: int,
    entries: Sequence[Entry],
    target: Target,
    device: CudaDevice | None,
) -> Session:
    """A session over ``entries`` on ``device``, with ``workers`` processes beside it: half of them
    compile kernels and read their static metrics, because this process generates code meanwhile;
    as many run small kernels in Triton's interpreter and compare. That is the longer queue once
    static metrics are cached, but each of its workers takes a third of a GiB for torch."""
    inbox: Inbox = queue.SimpleQueue()
    compiling = functools.partial(CompilePool, max(1, workers // 2), options.kept_cache)
    checking = min(workers, max(4, workers // 2))
    interpreting = functools.partial(InterpreterPool, checking, options.kept_cache)
    return Session(
        entries,
        target,
        inbox,
        Queue("static metrics", inbox, compiling, CompilePool.metrics_each),
        Queue("checks", inbox, interpreting, InterpreterPool.each),
        device,
    )
