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
from harness.session.session import CheckQueue, Session, StaticQueue
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
    """A session over ``entries`` on ``device``, with ``workers`` processes beside it."""
    inbox: Inbox = queue.SimpleQueue()
    queues = _static(options, workers, inbox), _checks(options, workers, inbox)
    return Session(entries, target, inbox, *queues, device)


def _static(options: Options, workers: int, inbox: Inbox) -> StaticQueue:
    """Compiles kernels and reads their static metrics. This process generates code meanwhile, so
    it gets half of the workers."""
    pool = functools.partial(CompilePool, max(1, workers // 2), options.kept_cache)
    return Queue("static metrics", inbox, pool, CompilePool.metrics_each)


def _checks(options: Options, workers: int, inbox: Inbox) -> CheckQueue:
    """Runs small kernels in Triton's interpreter and compares: the longer queue once static metrics
    are cached. Each worker takes a third of a GiB for torch, so that many cores do not mean
    as many workers."""
    count = min(workers, max(4, workers // 2))
    pool = functools.partial(InterpreterPool, count, options.kept_cache)
    return Queue("checks", inbox, pool, InterpreterPool.each)
