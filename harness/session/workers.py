"""GPUs of other machines: one worker of dask.distributed on each, addressed by its name.

A worker starts this package's worker processes beside itself. They connect back to this process and
serve its pools as those of this machine do; they keep their own cache. A process whose connection
is gone, or silent for a minute, is lost; it ends itself then, and with its worker.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib.util
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import options
from harness.devices.job import Device
from harness.devices.process import spawn
from harness.errors import NoDevice, UsageError
from harness.measure.jobs import OpenDevice, gpu
from harness.measure.peers.pool import environment

START_SECONDS = 60.0
"""What a scheduler may take to answer, and a worker to start a process that connects."""
_LOOK_SECONDS = 0.5
_SECRET_BYTES = 32
_SILENT_SECONDS = 60
"""After so long without a sign of life from its other end a connection is closed."""


@contextlib.contextmanager
def remote_gpus(address: str, quick: bool = False) -> Iterator[list[tuple[Device, int]]]:
    """The GPUs of the workers of the scheduler at ``address``, by name, each with how many
    processes may work beside it; to time on them ``quick``ly or not. Raises ``UsageError`` where
    nobody answers or distributed is not installed, ``NoDevice`` where no worker can be used."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(
            "work is spread over machines by dask.distributed, which is not installed",
            where="--workers",
            remedy="pip install 'harness[workers]', here and where the workers run",
        )
    from distributed import Client
    from distributed.comm.addressing import get_address_host

    try:
        get_address_host(address)  # of none, Client would not end
        client: Any = Client(address, timeout=START_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            "no scheduler answers",
            where="--workers",
            got=f"{address}: {error}",
            expected="the address of a running `dask scheduler`, tcp://HOST:8786",
        ) from error
    with contextlib.closing(client):
        about = {n: client.submit(_about, workers=[n], pure=False) for n in sorted(_names(client))}
        found, reasons = list[tuple[Device, int]](), list[str]()
        for name, future in about.items():
            try:
                cache, jobs = future.result(timeout=START_SECONDS)
            except Exception as error:  # noqa: BLE001 - without this package a worker raises whatever
                said = str(error) or f"nothing in {START_SECONDS:.0f} s"
                reasons.append(f"{name}: {type(error).__name__}: {said}")
                continue
            device = gpu(OpenDevice(True, quick=quick), environment(Path(cache)))
            found.append((replace(device, name=name, host=Worker(client, name, cache)), jobs))
        if not found:
            raise NoDevice(
                "no worker can be used",
                where=address,
                got="; ".join(reasons) or "no workers",
                expected="a `dask worker --nthreads 1` on each GPU, with this package",
            )
        yield found


@dataclass(eq=False, slots=True)
class Connection:
    """A process of another machine as ``subprocess.Popen`` would have it."""

    socket: socket.socket
    stdin: Any
    stdout: Any
    returncode: Any = "unknown; its worker's log has its standard error"

    def kill(self) -> None:
        """Hang up, after which the process ends."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def wait(self) -> None:
        """Nothing to wait for."""
        self.socket.close()


@dataclass(eq=False, slots=True)
class Worker:
    """The machine of the worker called ``name``, which keeps things below ``cache``."""

    client: Any
    name: str
    cache: str

    def __call__(self, given: Mapping[str, object]) -> Connection:
        """Start a process there, as a ``devices.job.Host``. Raises ``NoDevice``."""
        from distributed.comm.addressing import get_address_host
        from distributed.utils import get_ip

        if not self._known():
            raise _lost(self.name, "gone")
        here: str = get_ip(get_address_host(self.client.scheduler.address))
        secret, end = secrets.token_bytes(_SECRET_BYTES), time.monotonic() + START_SECONDS
        with socket.create_server((here, 0)) as server:
            server.settimeout(_LOOK_SECONDS)
            asked = (server.getsockname()[:2], secret, {**given, "cache": self.cache})
            future = self.client.submit(_start, *asked, workers=[self.name], pure=False)
            while time.monotonic() < end and future.status != "error" and self._known():
                with contextlib.suppress(OSError):
                    connection = server.accept()[0]
                    connection.settimeout(_LOOK_SECONDS)
                    if hmac.compare_digest(connection.recv(_SECRET_BYTES), secret):
                        _watch(connection)
                        ends = connection.makefile("wb", 0), connection.makefile("rb", 0)
                        return Connection(connection, *ends)
                    connection.close()
        why = "it does not connect" if self._known() else "gone"
        raise _lost(self.name, f"{future.exception()}" if future.status == "error" else why)

    def _known(self) -> bool:
        return self.name in _names(self.client)


def _names(client: Any) -> list[str]:
    """The workers that the scheduler has, by name."""
    return client.run_on_scheduler(
        lambda dask_scheduler: [str(state.name) for state in dask_scheduler.workers.values()]
    )


def _lost(worker: str, why: str) -> NoDevice:
    return NoDevice("a worker was lost", where=worker, got=why, expected="a process there")


def _watch(connection: socket.socket) -> None:
    """Have a connection whose other end gives no sign of life close."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (
        (socket.TCP_KEEPIDLE, _SILENT_SECONDS // 2),
        (socket.TCP_KEEPINTVL, _SILENT_SECONDS // 6),
        (socket.TCP_KEEPCNT, 3),
        (socket.TCP_USER_TIMEOUT, _SILENT_SECONDS * 1000),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, seconds)


# What follows runs in a worker.


def _about() -> tuple[str, int]:
    """Where the worker's machine keeps things, and how many processes it allows."""
    found = options.current()
    return str(found.cache), found.jobs


def _start(where: tuple[str, int], secret: bytes, given: Mapping[str, object]) -> None:
    """Start a worker process whose pipes are a connection to ``where``."""
    with socket.create_connection(where, START_SECONDS) as connection:
        connection.sendall(secret)
        _watch(connection)
        process = spawn(given, connection, connection)
    threading.Thread(target=process.wait, daemon=True).start()
