"""Several machines on one host: network namespaces with an address and a host name each.

    python scripts/farm.py [SECONDS]        needs root, ip and unshare; no GPU

In each a ``dask worker`` runs as on another machine, and starts processes with fake GPUs; this
process has the scheduler and shares out 120 graphs, two processes each. Meanwhile one machine is
killed, one has its cable cut (its link goes down and stays so), and one stands still for three
seconds. Every kernel must have been timed in two processes of one machine at the end. ``SECONDS``:
how long a silent connection is kept (default: as it is shipped). Figures: docs/devices.md.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest

from harness.session import workers
from harness.session.cuda import CudaDevice
from harness.session.model import BoardLost, GraphDone
from tests.devices.standing_in import stand_in
from tests.measure import fake_device
from tests.session.test_spread import records
from tests.session.test_workers import fleet

ROOT = Path(__file__).resolve().parent.parent
MACHINES, GRAPHS = 5, 120
BRIDGE, NET, PORT = "br-farm", "10.77.0", 8796
KILLED, CUT, PAUSED = 1, 2, 3
DASK = (sys.executable, "-m")


def ip(*words: str) -> None:
    """``ip``, which must succeed."""
    subprocess.run(["ip", *words], check=True)


def inside(machine: int) -> list[int]:
    """The processes of a machine."""
    listed = subprocess.run(["ip", "netns", "pids", f"farm{machine}"], stdout=-1, check=False)
    return [int(word) for word in listed.stdout.split()]


def tell(machine: int, number: signal.Signals) -> None:
    """A signal to all processes of a machine."""
    for process in inside(machine):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def build() -> None:
    """The network."""
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{NET}.1/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    for n in range(MACHINES):
        ip("netns", "add", f"farm{n}")
        peer = ("type", "veth", "peer", "name", "eth0", "netns", f"farm{n}")
        ip("link", "add", f"farm-v{n}", *peer)
        ip("link", "set", f"farm-v{n}", "master", BRIDGE, "up")
        ip("-n", f"farm{n}", "addr", "add", f"{NET}.{10 + n}/24", "dev", "eth0")
        ip("-n", f"farm{n}", "link", "set", "eth0", "up")


def clean() -> None:
    """End everything in the machines, and take the network away."""
    for n in range(MACHINES):
        tell(n, signal.SIGKILL)
    links = [f"link del {name}" for name in (*(f"farm-v{n}" for n in range(MACHINES)), BRIDGE)]
    for words in (*(f"netns del farm{n}" for n in range(MACHINES)), *links):
        subprocess.run(["ip", *words.split()], stderr=subprocess.DEVNULL, check=False)


def started(folder: Path) -> subprocess.Popen[bytes]:
    """The scheduler here and a worker on each machine; the scheduler's process."""
    env = dict(os.environ, PYTHONPATH=str(ROOT), HARNESS_JOBS="1")
    said = f"distributed.cli.dask_scheduler --host {NET}.1 --port {PORT} --no-dashboard"
    log = (folder / "scheduler.log").open("w")
    scheduler = subprocess.Popen([*DASK, *said.split()], env=env, stderr=log)
    for n in range(MACHINES):
        own = folder / f"machine{n}"
        own.mkdir()
        said = f"distributed.cli.dask_worker tcp://{NET}.1:{PORT} --nthreads 1 --no-nanny"
        said += f" --no-dashboard --name machine{n} --local-directory {own}"
        run = f"hostname machine{n}; exec {shlex.join([*DASK, *said.split()])}"
        words = ["ip", "netns", "exec", f"farm{n}", "unshare", "-u", "sh", "-c", run]
        log = (folder / f"machine{n}.log").open("w")
        subprocess.Popen(words, env={**env, "HARNESS_CACHE": str(own)}, stderr=log)
    return scheduler


def spend(folder: Path) -> None:
    """Share the graphs out, and do harm."""
    from distributed import Client

    began, address, harmed = time.monotonic(), f"tcp://{NET}.1:{PORT}", 0

    def say(*words: object) -> None:
        print(f"{time.monotonic() - began:6.1f}", *words, flush=True)

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(MACHINES, timeout=60)
    with workers.remote_gpus(address) as found, contextlib.ExitStack() as stack:
        stand_in(pytest.MonkeyPatch(), fake_device.HANDLERS)
        boards = [CudaDevice(folder, jobs, where=where) for where, jobs in found]
        for board in boards:
            stack.enter_context(board)
        say("machines", *(board.name for board in boards))
        events = []
        for event in fleet(boards, GRAPHS, processes=2).events():
            events.append(event)
            if isinstance(event, BoardLost):
                say(event.board, "is lost:", event.reason)
            done = sum(isinstance(e, GraphDone) for e in events)
            if done == 10 * (harmed + 1) and harmed < 3:
                harmed += 1
                if harmed == KILLED:
                    tell(KILLED, signal.SIGKILL)
                elif harmed == CUT:
                    ip("link", "set", f"farm-v{CUT}", "down")
                else:
                    tell(PAUSED, signal.SIGSTOP)
                    time.sleep(3)
                    tell(PAUSED, signal.SIGCONT)
                say(f"machine{harmed} was", ("killed", "cut off", "paused for 3 s")[harmed - 1])
        kernels = [k for g in records(iter(events)).values() for k in g.kernels]
        say(len(kernels), "kernels,", sum(len(k.sets) == 2 for k in kernels), "of two processes")
        say("processes left on the machine that was cut off:", inside(CUT))


def main() -> None:
    """Build, spend, take away."""
    if len(sys.argv) > 1:
        workers._SILENT_SECONDS = int(sys.argv[1])
    CudaDevice.missing = lambda *_: []  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        scheduler = None
        try:
            build()
            scheduler = started(Path(folder))
            spend(Path(folder))
        finally:
            if scheduler is not None:
                scheduler.kill()
            clean()


if __name__ == "__main__":
    main()
