"""Commands that tests run as users do, without starting a Python for each: a process that has
imported what they import forks one for each. ``commands`` makes it and says what to type."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LENGTH = struct.Struct("<Q")
ASK = """\
import json, os, socket, struct, sys
path, code, *arguments = sys.argv[1:]
asked = json.dumps([code, arguments, os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    socket.send_fds(server, [struct.pack("<Q", len(asked))], [0, 1, 2])
    server.sendall(asked)
    answer = server.recv(1)
sys.exit(answer[0] if answer else 137)
"""
"""What is started instead of the command: it hands over its folder, environment and streams."""


@contextlib.contextmanager
def commands(folder: Path, code: str, *imports: str) -> Iterator[list[str]]:
    """What starts a command that does ``code``; its arguments come behind. A socket lies in
    ``folder``, whose path is short."""
    path = folder / "asked"
    given = [sys.executable, "-P", __file__, str(path), *imports]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment
    ) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            yield [sys.executable, "-I", "-S", "-c", ASK, str(path), code]
        finally:
            server.kill()


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
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    os.write(1, b"ready\n")
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            break
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    listener.close()
    status = _do(connection)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send(bytes([status & 255]))
    os._exit(status & 255)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
