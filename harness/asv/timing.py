"""Times of one commit's kernels, for asv: tuned once, timed in fresh processes, judged by clock.

The device's tuner knows kernels that it has tuned before, so another commit's identical kernel
is timed under the same configuration; one that was found right before, on the same machine with
the same versions, is not checked again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import CheckFailed, HarnessError, NoDevice, RecordError
from harness.options import Options

if TYPE_CHECKING:
    from harness.heuristics.facts import Config
    from harness.records.timing import Samples
    from harness.runtime.interpret.interpreter import CheckResult
    from harness.session.model import Timing

TUNING = "race/1"
"""How the configuration to time is chosen; part of the series. Raise it when the tuner that
``Device.time`` uses would choose otherwise, or a better tuner looks like faster kernels."""

_CLOCK_SHARE = 0.97
"""A kernel timed below this share of the run's fastest clock is not comparable with the rest."""


class Module(Protocol):
    """What is timed."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def text(self) -> str:
        """The emitted module."""


class Device(Protocol):
    """What times kernels; ``harness.session.cuda.CudaDevice`` does."""

    def __enter__(self) -> Device: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def prepare(self, modules: Sequence[Any]) -> None:
        """Compile ahead."""

    def check(self, module: Any) -> CheckResult:
        """Compare with plain torch."""

    def time(self, module: Any) -> Timing:
        """Tune and time."""

    def again(self, module_text: str, name: str, config: Config, launches: int) -> Timing:
        """Time under a configuration that is known, ``launches`` to a sample."""

    def restart(self) -> None:
        """Go on in a fresh process."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel's samples, one set for each process; without any, the error says why."""

    sets: tuple[Samples, ...] = ()
    config: Config | None = None
    error: HarnessError | None = None

    @property
    def ms(self) -> list[float]:
        """All samples in milliseconds, process after process, in the order taken."""
        return [ms for one in self.sets for ms in one.ms]

    @property
    def clock_mhz(self) -> float | None:
        """The slowest SM clock of the processes; None where it was not read."""
        known = [one.clock_mhz for one in self.sets if one.clock_mhz]
        return min(known) if known else None


def open_cuda(options: Options) -> Device | str:
    """The GPU at hand, or the sentence that says why there is none."""
    from harness.runtime.device import require

    try:
        require()
    except NoDevice as error:
        return f"{error.what} ({error.got})"
    from harness.session.cuda import CudaDevice

    # Here the type checker sees whether the device is one as ``take`` uses it.
    device: Device = CudaDevice(options.cache, options.jobs)
    return device


class Checked:
    """Which kernels, by their text, were found right: empty files in ``folder`` (None: nothing
    is kept). Where nothing can be written, kernels are checked each time."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def __contains__(self, text: str) -> bool:
        return self._folder is not None and self._path(self._folder, text).is_file()

    def add(self, text: str) -> None:
        """Remember that the kernel with this text is right."""
        from harness.runtime.module import write_atomically

        if self._folder is not None:
            with contextlib.suppress(RecordError):
                write_atomically(self._path(self._folder, text), b"")

    @staticmethod
    def _path(folder: Path, text: str) -> Path:
        return folder / hashlib.sha256(text.encode()).hexdigest()[:32]


def take(
    device: Device, modules: Sequence[Module], processes: int, checked: Checked
) -> list[Timed]:
    """Check, tune and time ``modules``, in ``processes`` processes one after the other. Raises
    ``NoDevice`` when nothing can be timed any more."""
    with device:
        device.prepare(modules)
        found = [_first(device, module, checked) for module in modules]
        for _ in range(1, processes):
            device.restart()
            pairs = zip(modules, found, strict=True)
            found = [_once_more(device, module, so_far) for module, so_far in pairs]
    return found


def _first(device: Device, module: Module, checked: Checked) -> Timed:
    try:
        if module.text not in checked:
            _require_right(device.check(module), module.name)
            checked.add(module.text)
        timing = device.time(module)
        return Timed((timing.samples,), timing.config)
    except NoDevice:
        raise
    except HarnessError as error:
        return Timed(error=error)


def _once_more(device: Device, module: Module, so_far: Timed) -> Timed:
    if so_far.config is None:
        return so_far
    launches = so_far.sets[0].launches
    try:
        timing = device.again(module.text, module.name, so_far.config, launches)
        return Timed((*so_far.sets, timing.samples), so_far.config)
    except NoDevice:
        raise
    except HarnessError as error:
        return Timed(error=error)


def _require_right(outcome: CheckResult, name: str) -> None:
    if not outcome.passed:
        raise CheckFailed(
            "a kernel computes something else than torch",
            where=name,
            got=f"error {outcome.max_error:.3g}",
            expected="" if outcome.allowed is None else f"at most {outcome.allowed:.3g}",
            remedy="see where: harness run with the graph's name, at that commit",
        )


def slowed(clocks: Mapping[str, float]) -> tuple[list[str], str]:
    """Which kernels (by name, with the SM clock in MHz while they were timed) ran while the
    clock was down, and the sentence about them; nothing and an empty one if none did."""
    best = max(clocks.values(), default=0.0)
    slow = [name for name, clock in clocks.items() if clock < _CLOCK_SHARE * best]
    if not slow:
        return [], ""
    return slow, (
        f"the SM clock fell from {best:.0f} to {min(clocks.values()):.0f} MHz during the run: "
        f"{len(slow)} of {len(clocks)} kernels were timed below {_CLOCK_SHARE:.0%} of it and are "
        "left out (n/a), as are the totals of their graphs; measure this commit again once the "
        "GPU is idle and cool"
    )
