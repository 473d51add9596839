"""The worker process: reads jobs from standard input, writes answers to standard output.

The one program that all workers run, started by ``process.Process``. A message is a pickle. The
process sets its own environment before it imports torch or triton, so the parent's stays as it was.
It ends when its input does, and when its parent dies.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from harness.devices.job import Context, Job, Unusable
from harness.errors import HarnessError, reason

_PARENT_MS = 1000


def packed(message: object) -> bytes:
    """A message as it travels. Not as ``Connection`` pickles it, which torch has made share memory
    with a process of the same machine."""
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


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
        return ("last", last.args[0])
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
    jobs, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
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
        answers.send_bytes(packed(("broken", failure)))
        return
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.enable()
    answers.send_bytes(packed(("ready", os.getpid())))
    folder = None if cache is None else Path(cache)
    context = Context(folder, lambda text: answers.send_bytes(packed(("step", text))))
    while True:
        try:
            message = jobs.recv_bytes()
        except (EOFError, OSError):  # at the end of the stream, or in the middle of a message
            return
        answer = _answer(context, message)
        answers.send_bytes(_packed_answer(answer))
        if answer[0] == "last":
            os._exit(0)  # a lost device's clean-up can fail or hang


def idle(_: Context, __: Job) -> None:
    """The handler of a job that only opens its device."""
