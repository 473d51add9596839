"""One worker process: as its parent sees it, and what runs in it.

A worker reads jobs from standard input and writes answers to standard output; a message is a
pickle. All workers run one program. It sets its own environment before it imports torch or triton,
so the parent's stays as it was, and ends when its input does, and when its parent dies.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import harness
from harness.devices.job import Context, Device, Job, Unusable
from harness.errors import HarnessError, reason

START_SECONDS = 120.0
"""What starting may take, the imports included."""
_LOG_CHARACTERS = 1500
_PARENT_MS = 1000
# Behind the standard library, before what is installed: this checkout's harness, and never the
# folder that the user happens to be in (``-P``).
_CODE = """\
import os, sys
os.nice({niceness})
places = [n for n, p in enumerate(sys.path) if p.endswith(("site-packages", "dist-packages"))]
sys.path.insert(places[0] if places else len(sys.path), {root!r})
from harness.devices.process import main
main({cache!r}, {environment!r}, {imports!r}, {parent})
"""


def _packed(message: object) -> bytes:
    """A message as it travels. Not as ``Connection`` pickles it, which torch has made share memory
    with a process of the same machine."""
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


def spawn(
    given: Mapping[str, object], stdin: Any, stdout: Any, stderr: Any = None
) -> subprocess.Popen[bytes]:
    """Start ``main`` with what is ``given`` it, in a session of its own, so that Ctrl-C
    reaches only the parent, which ends it."""
    code = _CODE.format(root=str(Path(harness.__path__[0]).parent), parent=os.getpid(), **given)
    pipes = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    command = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(command, bufsize=0, start_new_session=True, **pipes)


@dataclass(eq=False, slots=True)
class Process:
    """``jobs`` lead to it and ``answers`` back. ``job`` is the index of the job it has, None when
    idle; ``opening`` says that it is taking its device, ``opened`` that it has; ``begun`` says that
    the job's own code runs, ``step`` what it has said it is about to do."""

    process: Any
    jobs: Connection
    answers: Connection
    log: IO[bytes]
    deadline: float
    ready: bool = False
    job: int | None = None
    opening: bool = False
    opened: bool = False
    begun: bool = False
    step: str = ""

    @classmethod
    def started(cls, device: Device, cache: Path | None) -> Process:
        """A new process. Its pipes belong to this process: they are closed where another program
        runs. Raises ``NoDevice`` where another machine cannot start it."""
        given = {
            "cache": None if cache is None else str(cache),
            "environment": dict(device.environment),
            "imports": list(device.imports),
            "niceness": device.niceness,
        }
        log = tempfile.TemporaryFile()  # noqa: SIM115
        pipes = (subprocess.PIPE, subprocess.PIPE, log)
        process: Any = spawn(given, *pipes) if device.host is None else device.host(given)
        jobs, answers = (Connection(os.dup(p.fileno())) for p in (process.stdin, process.stdout))
        process.stdin.close()
        process.stdout.close()
        return cls(process, jobs, answers, log, time.monotonic() + START_SECONDS)

    @property
    def busy(self) -> bool:
        """Whether an answer is due."""
        return self.opening or self.job is not None

    def send(self, job: Job, seconds: float) -> None:
        """Hand it a job. Raises ``OSError`` if it has ended, and what pickling raises."""
        data = _packed((job.handler, job))
        self.begun, self.step = False, ""
        self.deadline = time.monotonic() + seconds
        self.jobs.send_bytes(data)

    def receive(self) -> tuple[str, Any]:
        """The next message; to be called when there is something to read. A process that stops in
        the middle of it is killed at its deadline. Raises ``EOFError`` if it has ended, and what
        reading a message raises."""
        watch = threading.Timer(max(1.0, self.deadline - time.monotonic()), self.kill)
        watch.start()
        try:
            data = self.answers.recv_bytes()
        except OSError as error:  # in the middle of a message
            raise EOFError from error
        finally:
            watch.cancel()
        kind, value = pickle.loads(data)  # noqa: S301 - our own
        return kind, value

    def log_tail(self) -> str:
        """The end of what it wrote to its standard error."""
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - _LOG_CHARACTERS))
        return self.log.read().decode(errors="replace").strip()

    def kill(self) -> None:
        """Kill the process and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if isinstance(self.process, subprocess.Popen):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def end(self) -> None:
        """Kill the process and close what leads to it."""
        self.kill()
        self.process.wait()
        self.forget()

    def forget(self) -> None:
        """Close this process's ends of the pipes and leave the worker alone."""
        for stream in (self.jobs, self.answers, self.log):
            stream.close()
        if self.process.returncode is None:
            self.process.returncode = 0  # it is another process's child: not to be waited for


# What follows runs in the worker.


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
        return _packed(answer)
    except Exception as error:  # noqa: BLE001 - what cannot be pickled is the job's failure
        return _packed(("failed", HarnessError("an answer cannot be sent", got=reason(error))))


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
        answers.send_bytes(_packed(("broken", failure)))
        return
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.enable()
    answers.send_bytes(_packed(("ready", os.getpid())))
    folder = None if cache is None else Path(cache)
    context = Context(folder, lambda text: answers.send_bytes(_packed(("step", text))))
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
