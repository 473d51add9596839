"""One worker process as its parent sees it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import harness
from harness.devices.job import Device, Job
from harness.devices.worker import packed

START_SECONDS = 120.0
"""What starting may take, the imports included."""
_LOG_CHARACTERS = 1500
# Behind the standard library, before what is installed: this checkout's harness, and never the
# folder that the user happens to be in (``-P``).
_CODE = """\
import os, sys
os.nice({niceness})
places = [n for n, p in enumerate(sys.path) if p.endswith(("site-packages", "dist-packages"))]
sys.path.insert(places[0] if places else len(sys.path), {root!r})
from harness.devices.worker import main
main({cache!r}, {environment!r}, {imports!r}, {parent})
"""


def spawn(
    given: Mapping[str, object], stdin: Any, stdout: Any, stderr: Any = None
) -> subprocess.Popen[bytes]:
    """Start ``worker.main`` with what is ``given`` it, in a session of its own, so that Ctrl-C
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

    def send(self, handler: str, job: Job, seconds: float) -> None:
        """Hand it a job. Raises ``OSError`` if it has ended, and what pickling raises."""
        data = packed((handler, job))
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
