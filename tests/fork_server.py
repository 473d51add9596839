"""Commands that tests run as users do, and worker processes, without starting a Python for each: a
process that has imported what they import forks one for each. ``commands`` makes it and says what
to type; ``workers`` takes the place of ``harness.devices.process.spawn``."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LENGTH = struct.Struct("<q")
ALONE = """\
import os, sys
os.setsid()
sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
"""
"""What a worker does first."""
READ = "TRITON_INTERPRET"
"""The only variable that is read while modules are imported."""
FILE = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
"""The code of a command that runs a file with arguments."""
ASK = """\
import json, os, socket, struct, sys
path, code, *arguments = sys.argv[1:]
asked = json.dumps([code, arguments, os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    socket.send_fds(server, [struct.pack("<q", len(asked))], [0, 1, 2])
    server.sendall(asked)
    answer = server.makefile("rb").read(16)
sys.exit(struct.unpack("<q", answer[8:])[0] & 255 if len(answer) == 16 else 137)
"""
"""What is started instead of the command: it hands over its folder, environment and streams."""


@contextlib.contextmanager
def commands(folder: Path, code: str, *imports: str) -> Iterator[list[str]]:
    """What starts a command that does ``code``; its arguments come behind. A socket lies in
    ``folder``, whose path is short."""
    with python(folder, imports, {}) as command:
        yield [*command, code]


@contextlib.contextmanager
def python(
    folder: Path, imports: Sequence[str], environment: Mapping[str, str]
) -> Iterator[list[str]]:
    """What does ``python -c``: code and its arguments come behind. What has been imported was in
    this ``environment``; a socket lies in ``folder``, whose path is short."""
    with _server(folder / "asked", imports, {"PYTHONPATH": str(ROOT), **environment}):
        yield [sys.executable, "-I", "-S", "-c", ASK, str(folder / "asked")]


@contextlib.contextmanager
def _server(
    path: Path, imports: Iterable[str], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    given = [sys.executable, "-P", __file__, str(path), *imports]
    with subprocess.Popen(
        given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | environment
    ) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            yield server
        finally:
            server.kill()


class Worker:
    """A forked worker process, as ``harness.devices.process.Process`` sees it."""

    def __init__(self, path: Path, code: str, stdin: Any, stdout: Any, stderr: Any) -> None:
        assert stdin is stdout is subprocess.PIPE
        self.returncode: int | None = None
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self.stdin = os.fdopen(ours_in, "wb", buffering=0)
        self.stdout = os.fdopen(ours_out, "rb", buffering=0)
        asked = json.dumps([code, [], os.getcwd(), dict(os.environ)]).encode()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(path))
        streams = [theirs_in, theirs_out, stderr.fileno()]
        socket.send_fds(self._server, [LENGTH.pack(len(asked))], streams)
        self._server.sendall(asked)
        os.close(theirs_in)
        os.close(theirs_out)
        self.pid: int = LENGTH.unpack(self._server.recv(LENGTH.size, socket.MSG_WAITALL))[0]

    def kill(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not come to make a group of its own, so it is alone
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            answer = self._server.recv(LENGTH.size, socket.MSG_WAITALL)
            self.returncode = LENGTH.unpack(answer)[0] if answer else -signal.SIGKILL
            self._server.close()
        return self.returncode


@contextlib.contextmanager
def workers(code: str, start: Any) -> Iterator[Any]:
    """Does what ``start`` does, by a process for each list of imports that lives as long as this
    lasts. Those of the tests of workers ``start`` starts. ``code`` is what a worker runs."""
    with contextlib.ExitStack() as stack:
        servers = _Servers(stack)

        def spawn(given: Mapping[str, Any], stdin: Any, stdout: Any, stderr: Any = None) -> Any:
            imports = tuple(given["imports"])
            if stderr is None or any(name.startswith("tests.devices") for name in imports):
                return start(given, stdin, stdout, stderr)
            environment = {k: v for k, v in given["environment"].items() if k == READ}
            path, parent = servers.of(imports, environment)
            text = code.format(root=str(ROOT), parent=parent, **given)
            return Worker(path, f"{ALONE}{text}", stdin, stdout, stderr)

        yield spawn


class _Servers:
    """Servers that ``stack`` ends: the socket and the number of each by imports and environment.
    What compiles and what stands in for workers is started, without torch; all others are forked,
    for each environment, from a server that has what they import alike."""

    ALIKE = "torch", "triton.language", "harness.pipeline"
    NO_TORCH = ("harness.runtime.compile.quick",)
    UNSAID = ("harness.graph.capture.capture",)
    """What most of those capture that import what their jobs need."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._known: dict[Any, tuple[Path, int]] = {}

    def of(self, imports: tuple[str, ...], environment: Mapping[str, str]) -> tuple[Path, int]:
        """The one that has these imports, made if there is none yet."""
        key = imports, *environment
        if key not in self._known:
            path = Path(self._stack.enter_context(tempfile.TemporaryDirectory()), "asked")
            fake = any(name.startswith("tests.") for name in imports)
            if fake or imports in (self.ALIKE, self.NO_TORCH):
                loaded = imports if fake else dict.fromkeys((*imports, *self.ALIKE[1:]))
                given = {"PYTHONPATH": str(ROOT), **environment}
                number = self._stack.enter_context(_server(path, loaded, given)).pid
            else:
                number = self._forked(path, imports, environment)
            self._known[key] = path, number
        return self._known[key]

    def _forked(self, path: Path, imports: Sequence[str], environment: Mapping[str, str]) -> int:
        code = f"import os; os.environ.update({dict(environment)!r})\n"
        if READ in environment:
            code += "from tests.quick_interpreter import install; install()\n"
        code += (
            f"from tests.fork_server import main; main({str(path)!r}, {imports or self.UNSAID!r})"
        )
        with open(os.devnull, "wb") as nowhere:
            pipes = subprocess.PIPE, subprocess.PIPE, nowhere
            server = Worker(self.of(self.ALIKE, environment)[0], code, *pipes)
        self._stack.callback(server.stdin.close)
        assert server.stdout.readline() == b"ready\n"
        return server.pid


def script(command: Sequence[str]) -> str:
    """The command as a program of the shell."""
    return f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'


def _received(connection: socket.socket) -> tuple[list[str], list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    left, text = LENGTH.unpack(head)[0], b""
    while len(text) < left:
        text += connection.recv(left - len(text))
    return json.loads(text), streams


def _do(connection: socket.socket) -> int:
    """Be the command that is asked for; its exit status."""
    (code, arguments, folder, environment), streams = _received(connection)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # Those of the server may be of another kind: a file, where these are pipes.
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["command", *arguments]
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main(path: str, imports: Sequence[str]) -> None:
    """Fork a process for each command until killed."""
    gc.disable()
    for name in imports:
        with contextlib.suppress(ImportError):  # who needs it imports it again, and says so
            importlib.import_module(name)
    gc.freeze()
    gc.enable()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    ended, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.write(1, b"ready\n")
    waiting: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, ended, 0], [], [])
        if 0 in ready:
            os._exit(0)  # whoever started it has gone
        if ended in ready:
            os.read(ended, 4096)
            _reap(waiting)
        if listener in ready:
            connection, _ = listener.accept()
            child = os.fork()
            if child == 0:
                break
            waiting[child] = connection
            _tell(connection, child)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for other in (listener, *waiting.values()):
        other.close()
    os.close(ended)
    os.close(tells)
    status = _do(connection)
    connection.close()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 255)


def _reap(waiting: dict[int, socket.socket]) -> None:
    """Tell whoever waits for a process that has ended how it ended."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            with waiting.pop(found[0]) as connection:
                _tell(connection, os.waitstatus_to_exitcode(found[1]))


def _tell(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody may wait any more
        connection.sendall(LENGTH.pack(number))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
