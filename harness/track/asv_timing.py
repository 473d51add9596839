"""Times of one commit's kernels, for asv: tuned once, timed in fresh processes, judged by clock.

A kernel whose very text was tuned and found right before, on the same machine with the same
versions by the same method, is timed again and not tuned again: another commit's identical
kernel differs in its time only by what measuring it differs by.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import CheckFailed, HarnessError, NoDevice

if TYPE_CHECKING:
    from harness.bench.record import SampleSet
    from harness.bench.session import CheckOutcome, Timing
    from harness.heuristics.facts import Config

TUNING = "candidates/1"
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
    """What times kernels; ``harness.bench.cuda.CudaDevice`` does."""

    def __enter__(self) -> Device: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def prepare(self, modules: Sequence[Any]) -> None:
        """Compile ahead."""

    def check(self, module: Any) -> CheckOutcome:
        """Compare with plain torch."""

    def time(self, module: Any) -> Timing:
        """Tune and time."""

    def again(self, module_text: str, name: str, config: Config) -> Timing:
        """Time under a configuration that is known."""

    def restart(self) -> None:
        """Go on in a fresh process."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel's samples, one set for each process; without any, the error says why."""

    sets: tuple[SampleSet, ...] = ()
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


class Recorded:
    """Configurations of kernels that were tuned and found right, by their text, in ``folder``
    (None: nothing is kept). A file that cannot be read or written is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def _path(self, text: str) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def config(self, text: str) -> Config | None:
        """The configuration of the kernel with this text, if it is known."""
        from harness.runtime.module import config_from_dict

        path = self._path(text)
        try:
            return None if path is None else config_from_dict(json.loads(path.read_text()))
        except (OSError, ValueError, KeyError, AttributeError):
            return None

    def keep(self, text: str, config: Config) -> None:
        """Remember it."""
        from harness.errors import RecordError
        from harness.runtime.module import config_dict, write_atomically

        path = self._path(text)
        if path is None:
            return
        try:
            write_atomically(path, json.dumps(config_dict(config)).encode())
        except RecordError:
            return


def take(
    device: Device, modules: Sequence[Module], processes: int, recorded: Recorded
) -> list[Timed]:
    """Check, tune and time ``modules``, in ``processes`` processes one after the other. Raises
    ``NoDevice`` when nothing can be timed any more."""
    with device:
        device.prepare(modules)
        found, configs = [], []
        for module in modules:
            timed, config = _first(device, module, recorded)
            found.append(timed)
            configs.append(config)
        for _ in range(1, processes):
            device.restart()
            for index, (module, config) in enumerate(zip(modules, configs, strict=True)):
                if config is not None:
                    found[index] = _once_more(device, module, config, found[index])
    return found


def _first(device: Device, module: Module, recorded: Recorded) -> tuple[Timed, Config | None]:
    try:
        config = recorded.config(module.text)
        if config is None:
            _require_right(device.check(module), module.name)
            timing = device.time(module)
            recorded.keep(module.text, timing.config)
        else:
            timing = device.again(module.text, module.name, config)
        return Timed((_measured(timing),)), timing.config
    except NoDevice:
        raise
    except HarnessError as error:
        return Timed(error=error), None


def _once_more(device: Device, module: Module, config: Config, so_far: Timed) -> Timed:
    try:
        timing = device.again(module.text, module.name, config)
        return Timed((*so_far.sets, _measured(timing)))
    except NoDevice:
        raise
    except HarnessError as error:
        return Timed(error=error)


def _measured(timing: Timing) -> SampleSet:
    if timing.measured is None:
        raise HarnessError("a device gave no samples of a kernel")
    return timing.measured


def _require_right(outcome: CheckOutcome, name: str) -> None:
    if not outcome.passed:
        raise CheckFailed(
            "a kernel computes something else than torch",
            where=name,
            got=f"error {outcome.max_error:.3g}",
            expected="" if outcome.allowed is None else f"at most {outcome.allowed:.3g}",
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
