"""Jobs for devices that are not there, and what happens to them: no torch, so they start fast."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.devices.job import Context, Device, Job, Unusable
from harness.errors import HarnessError, NoDevice

HERE = "tests.devices.fake_jobs"


@dataclass(frozen=True, slots=True)
class Do(Job):
    """``what`` is answered with the device and the process, ``hang``, ``crash``, ``lose`` the
    device, ``fail``, or be ``unpicklable``; of a pair with a path, ``make`` that file, wait until
    it is there (``after``), or make it and ``stay``; anything else is echoed. It takes ``takes``
    seconds."""

    handler: ClassVar[str] = f"{HERE}:do"
    what: object
    takes: float = 0.0


@dataclass(frozen=True, slots=True)
class EndsItsReader:
    """Ends the first processes that read it, ``times`` of them, each leaving a line at ``path``."""

    path: str
    times: int

    def __reduce__(self) -> tuple[Callable[..., str], tuple[str, int]]:
        return _read, (self.path, self.times)


def _read(path: str, times: int) -> str:
    with open(path, "a+") as file:
        file.seek(0)
        if len(file.readlines()) >= times:
            return "read at last"
        file.write("ended\n")
    os._exit(9)


@dataclass(frozen=True, slots=True)
class Take(Job):
    """Take a fake device; it is gone once there is a file of its name in the cache folder."""

    handler: ClassVar[str] = f"{HERE}:take"
    name: str


@dataclass(frozen=True, slots=True)
class Missing(Job):
    handler: ClassVar[str] = "tests.devices.no_such_module:do"


def gpus(count: int) -> list[Device]:
    return [
        Device(f"gpu {n}", (("FAKE_GPU", str(n)),), (HERE,), Take(f"gpu {n}")) for n in range(count)
    ]


def take(context: Context, job: Take) -> tuple[str, int]:
    assert context.cache is not None
    with (context.cache / "taken").open("a") as file:
        file.write(f"{job.name}\n")
    if (context.cache / "slow").exists():
        time.sleep(0.3)
    if (context.cache / job.name).exists():
        raise Unusable(NoDevice("the GPU cannot be used", got=job.name))
    return job.name, os.getpid()


def do(context: Context, job: Do) -> object:
    context.step(f"about to {job.what}")
    time.sleep(job.takes)
    match job.what:
        case "where":
            return os.environ.get("FAKE_GPU", ""), os.getpid()
        case "path":
            return sys.path
        case "hang":
            time.sleep(3600)
        case (str(how), str(path)):
            _meet(how, Path(path))
        case "crash":
            os._exit(7)
        case "lose":
            raise Unusable(HarnessError("the device's context was lost"))
        case "last":
            raise Unusable((job.what, os.getpid()))
        case "fail":
            raise ValueError("no")
        case "unpicklable":
            return lambda: None
    return job.what


def _meet(how: str, path: Path) -> None:
    if how != "after":
        path.touch()
    while not path.exists():
        time.sleep(0.01)
    if how == "stay":
        time.sleep(3600)
