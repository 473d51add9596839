"""The worker process: reads jobs from standard input, writes answers to standard output.

The one program that all workers run, started by ``process.Process``. A message is an 8-byte
length and a pickle. The process sets its own environment before it imports torch or triton, so
the parent's stays as it was. It ends when its input does, and when its parent dies.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pickle
import select
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from harness.devices.job import Context, Job, Unusable
from harness.errors import HarnessError, reason

LENGTH = struct.Struct("<Q")
_PARENT_MS = 1000


def packed(message: object) -> bytes:
    """A message as it travels: its length and its pickle."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def _read(stream: BinaryIO) -> bytes:
    """One message, still pickled; ``EOFError`` at the end of the stream."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _watch(parent: int, jobs: int) -> None:
    """Kill this process and what it started once its parent has died, even in the middle of a
    job. A fork of the parent may keep the pipe ``jobs`` open, so the parent's id is asked too."""
    poll = select.poll()
    poll.register(jobs, select.POLLRDHUP)  # only the hang-up, of a pipe or a socket

    def loop() -> None:
        while os.getppid() == parent and not poll.poll(_PARENT_MS):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=loop, daemon=True).start()


def _answer(context: Context, message: bytes) -> tuple[str, object]:
    what = "a job"
    try:
        name, job = pickle.loads(message)  # noqa: S301 - both ends of the pipe are this program
        what = f"its job '{type(job).__name__}'"
        module, _, function = name.partition(":")
        handler = getattr(importlib.import_module(module), function)
        context.step("")  # from here on, an end of this process is the job's
        return ("done", handler(context, job))
    except HarnessError as error:
        return ("failed", error)
    except Unusable as last:
        return ("last", last.answer)
    except Exception as error:  # noqa: BLE001 - the parent is told, and the worker goes on
        trace = traceback.format_exc(limit=-4)
        what = f"a worker could not do {what}"
        return ("failed", HarnessError(what, got=reason(error), remedy=trace[-2000:]))


def _packed_answer(answer: tuple[str, object]) -> bytes:
    try:
        return packed(answer)
    except Exception as error:  # noqa: BLE001 - what cannot be pickled is the job's failure
        return packed(("failed", HarnessError("an answer cannot be sent", got=reason(error))))


def main(
    cache: str | None, environment: Mapping[str, str], imports: Sequence[str], parent: int
) -> None:
    """Serve jobs until standard input ends."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    # Whatever a kernel or a library prints must not end up between two messages.
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    os.environ.update(environment)
    _watch(parent, jobs.fileno())
    gc.disable()  # modules are no garbage: looking for it is a sixth of what importing torch takes
    try:
        for name in imports:
            importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - the parent is told
        failure = HarnessError("a worker could not start", got=reason(error))
        _send(answers, packed(("broken", failure)))
        return
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.enable()
    _send(answers, packed(("ready", os.getpid())))
    folder = None if cache is None else Path(cache)
    context = Context(folder, lambda text: _send(answers, packed(("step", text))))
    while True:
        try:
            message = _read(jobs)
        except EOFError:
            return
        answer = _answer(context, message)
        _send(answers, _packed_answer(answer))
        if answer[0] == "last":
            os._exit(0)  # a lost device's clean-up can fail or hang


def _send(stream: Any, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[stream.write(left) :]


def idle(_: Context, __: Job) -> None:
    """The handler of a job that only opens its device."""
