"""The worker process: reads jobs from standard input, writes answers to standard output.

Started by ``pool.WorkerPool`` as ``python -c "… worker.main(role, …)"``. A message is
an 8-byte length and a pickle. The process sets its own environment before it imports
torch or triton, so the parent's stays as it was. It ends when its input does, and when
its parent dies.
"""

from __future__ import annotations

import importlib
import os
import pickle
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from harness.errors import HarnessError

Handler = Callable[[Any], Any]
_LENGTH = struct.Struct("<Q")
_PARENT_SECONDS = 1.0


class Unusable(Exception):
    """Raised by a job after which its process is good for nothing more (a lost device): the
    job fails with ``error``, and the process ends."""

    def __init__(self, error: HarnessError) -> None:
        super().__init__(error.what)
        self.error = error


def write_message(stream: BinaryIO, message: object) -> None:
    """Write one message and flush."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Read one message; ``EOFError`` at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)  # noqa: S301 - both ends of the pipe are this program


def _watch(parent: int) -> None:
    """End this process soon after its parent has died, even in the middle of a job."""

    def loop() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=loop, daemon=True).start()


def _handlers(role: str, cache: str | None) -> dict[str, Handler]:
    if role == "echo":
        return {"echo": lambda x: x, "sleep": time.sleep, "exit": os._exit}
    module, _, name = role.partition(":")
    make: Callable[[str | None], dict[str, Handler]]
    make = getattr(importlib.import_module(module), name)
    return make(cache)


def _answer(handlers: dict[str, Handler], kind: str, payload: object) -> tuple[str, object]:
    try:
        return ("done", handlers[kind](payload))
    except HarnessError as error:
        return ("failed", error)
    except Unusable as last:
        return ("last", last.error)
    except Exception as error:  # noqa: BLE001 - the parent is told, and the worker goes on
        trace = traceback.format_exc(limit=-4)
        what = f"a worker could not do its job '{kind}'"
        text = f"{type(error).__name__}: {error}"
        return ("failed", HarnessError(what, got=text[:2000], remedy=trace[-2000:]))


def main(role: str, cache: str | None, environment: dict[str, str], parent: int) -> None:
    """Serve jobs until standard input ends."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a kernel or a library prints must not end up between two messages.
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    os.environ.update(environment)
    _watch(parent)
    try:
        handlers = _handlers(role, cache)
    except Exception as error:  # noqa: BLE001 - the parent is told
        text = f"{type(error).__name__}: {error}"
        write_message(answers, ("broken", HarnessError("a worker could not start", got=text)))
        return
    write_message(answers, ("ready", os.getpid()))
    while True:
        try:
            kind, payload = read_message(jobs)
        except EOFError:
            return
        answer = _answer(handlers, kind, payload)
        write_message(answers, answer)
        if answer[0] == "last":
            os._exit(0)  # a lost device's clean-up can fail or hang
