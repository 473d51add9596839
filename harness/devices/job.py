"""Jobs and devices as data: what is to be done, where, and what a handler is given.

A job is a frozen dataclass that pickles and imports neither torch nor triton. It names the
function that does it, so a pool needs to know nothing of its jobs, and a worker process
imports only what its own jobs ask for.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self, TypeAlias, TypeVar

from harness.errors import HarnessError, NoDevice

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Base of all jobs. ``handler`` is ``module:function``; it is called with the worker's
    ``Context`` and the job, and its result is the answer.

    ``seconds`` limits this job (None: the pool's limit). ``place`` is the name of the device that
    does it (None: any). One that takes a device hears what it answered in the first process there:
    ``known``."""

    handler: ClassVar[str]
    seconds: float | None = None
    place: str | None = None
    known: Any = None


Host: TypeAlias = Callable[[Mapping[str, object]], Any]
"""Another machine: does there what ``process.spawn`` does here, with a cache folder of its own;
answers what ``subprocess.Popen`` would be. Raises ``NoDevice`` where it cannot be reached."""


@dataclass(frozen=True, slots=True)
class Device:
    """Where one worker process works. ``environment`` is added to the process's own;
    ``imports`` are modules it imports before its first job; ``opening`` is a job that every fresh
    process does first, to take the device (it raises ``NoDevice`` where it cannot). ``niceness``
    is how far it stands back where other processes want the processor; ``host`` the machine that
    has the device (None: this one)."""

    name: str
    environment: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()
    opening: Job | None = None
    niceness: int = 0
    host: Host | None = None


BESIDE_TIMING = 10
"""The niceness of what compiles while another process times on the GPU."""


CORE = Device("cpu")


def cores(count: int, alike: Device = CORE) -> tuple[Device, ...]:
    """As many devices, all ``alike`` but for their names (``cpu 0``); at least one."""
    return tuple(replace(alike, name=f"cpu {n}") for n in range(max(1, count)))


class Unusable(Exception):
    """Raised with an answer by a handler after which its process is good for nothing more (a lost
    device): the job has that answer (an error: it fails), and the process ends."""


@dataclass(eq=False, slots=True)
class Context:
    """What a handler is given of the process it runs in. ``cache`` is a folder to keep things
    in, None for none. ``step`` tells the parent what the job is about to do: the error of a job
    that fails, or whose process is lost, says the last of it (``HarnessError.step``)."""

    cache: Path | None = None
    step: Callable[[str], None] = lambda _: None
    _made: dict[Any, Any] = field(default_factory=dict)

    def once(self, make: Callable[[Context], T]) -> T:
        """What ``make`` makes of this context; the same every time in one process."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def tried(ask: Callable[P, T], *args: P.args, **given: P.kwargs) -> T | HarnessError:
    """What a device answers, or why it has no answer. Raises ``NoDevice``."""
    try:
        return ask(*args, **given)
    except NoDevice:
        raise
    except HarnessError as error:
        return error


class Closing(abc.ABC):
    """Base of classes with a ``close``: ``with`` closes them, whatever happens inside."""

    __slots__ = ()

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what is held. Closing twice does no harm."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
