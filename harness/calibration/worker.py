"""The worker process of a calibration: one kernel, as it is and slowed down, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.calibration.jobs import CellJob
from harness.calibration.record import AGAIN, PLAIN, Cell, Truth, slowed
from harness.devices.worker import Handler, Unusable
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.measure.context import device_facts, judged, no_device
from harness.measure.jobs import DeviceFacts
from harness.measure.measurer import release
from harness.measure.timer.graph_timer import CudaTimer
from harness.records.timing import Launch, Timer, Work
from harness.runtime import module as modules
from harness.runtime.compile.static import reason
from harness.runtime.launch.launcher import Launcher

_FIRST_MS = 40.0
"""Wall clock for finding out how long a kernel takes."""
_MOST_LEVELS = 8
_LONG_CYCLES = 1 << 22
_MOST_ROUNDS, _STEADY = 25, 0.001
"""The clock is known once two rounds of long spins agree; after half a second it has to be."""


@dataclass(eq=False, slots=True)
class CalibrationWorker:
    """What the process does. Nothing touches the GPU before ``open``."""

    cache: Path | None
    _facts: DeviceFacts | None = None
    _timer: Timer = field(init=False)
    _spin: Spin = field(init=False)

    def open(self, _: object = None) -> DeviceFacts:
        """Take the device, once. Raises ``NoDevice``."""
        if self._facts is None:
            try:
                self._timer = CudaTimer()
                self._spin = Spin(torch.device("cuda"))
                self._facts = device_facts()
            except (RuntimeError, NoDevice) as error:
                raise Unusable(no_device(error)) from error
        return self._facts

    def duration(self, module_text: str) -> float:
        """Milliseconds of one launch of a module's kernel."""
        self.open()
        return self._surviving(lambda: self._duration(module_text))

    def cell(self, job: CellJob) -> Cell:
        """The kernel's samples, plain twice, and slowed down."""
        self.open()
        return self._surviving(lambda: self._cell(job))

    def _surviving(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (RuntimeError, ValueError, TypeError) as error:
            raise judged(HarnessError("it could not be timed", got=reason(error))) from error
        except HarnessError as error:
            raise judged(error) from error
        finally:
            release("cuda")

    def _duration(self, module_text: str) -> float:
        loaded = modules.load(module_text, self._folder)
        args = loaded.get_args(device="cuda", seed=0)
        launcher = self._launcher(loaded)
        return self._timer.measure(Work(launcher, args), _FIRST_MS).median

    def _cell(self, job: CellJob) -> Cell:
        loaded = modules.load(job.module_text, self._folder)
        args = loaded.get_args(device="cuda", seed=job.seed)
        launcher = self._launcher(loaded)
        ms = job.ms or self._timer.measure(Work(launcher, args), _FIRST_MS).median
        subjects = {PLAIN: launcher, AGAIN: launcher}
        works: dict[str, Launch] = {name: Work(one, args) for name, one in subjects.items()}
        levels = (0.0, *job.levels)
        for group, level in enumerate(levels):
            works[slowed(level)] = Work(self._spin.after(launcher, level * ms, group), args)
        self._spin.reset()
        found = self._timer.compare(works, job.budget_ms, job.width)
        names = [slowed(level) for level in levels]
        truth = dict(zip(names, self._spin.truth(len(names)), strict=True))
        return Cell(
            job.process,
            job.kernel,
            {name: samples.ms for name, samples in found.items()},
            truth,
            max(samples.excluded for samples in found.values()),
        )

    def _launcher(self, loaded: modules.LoadedModule) -> Launcher:
        """The first candidate that compiles and fits the device."""
        causes = []
        for config in loaded.configs:
            launcher = Launcher(loaded, config, self.open().target, self.cache)
            try:
                launcher.prepare()
                return launcher
            except CompileFailed as error:
                causes.append(error)
        raise causes[0]

    @property
    def _folder(self) -> Path | None:
        return None if self.cache is None else self.cache / "modules"


class Spin:
    """Spins of known length behind launches, and the tallies that the device keeps of them."""

    def __init__(self, device: torch.device, kernel: Any = None) -> None:
        """Compiles the kernel and finds out how many cycles a millisecond has, once the clocks
        of an idle device have risen. ``kernel`` is given by tests."""
        from harness.calibration import spin

        self._kernel: Any = kernel or spin.spin
        self._tally = torch.zeros((_MOST_LEVELS, spin.STRIDE), dtype=torch.int64, device=device)
        before = 0.0
        for _ in range(_MOST_ROUNDS):
            self._per_ms = self._rate()
            if abs(self._per_ms - before) <= _STEADY * before:
                break
            before = self._per_ms
        self.reset()

    def _rate(self) -> float:
        """Cycles per millisecond while spinning for some 20 milliseconds."""
        self.reset()
        for group in range(_MOST_LEVELS):
            self._launch(_LONG_CYCLES, group)
        rows = self._rows()
        return 1e6 * sum(row[0] for row in rows) / sum(row[1] for row in rows)

    def after(
        self, launcher: Callable[[Sequence[Any]], Any], ms: float, group: int
    ) -> Callable[[Sequence[Any]], Any]:
        """``launcher``, and behind it a spin of ``ms`` that is counted as ``group``."""
        cycles = round(ms * self._per_ms)

        def launch(args: Sequence[Any]) -> None:
            launcher(args)
            self._launch(cycles, group)

        return launch

    def reset(self) -> None:
        """Start the tallies anew."""
        self._tally.zero_()

    def truth(self, groups: int) -> list[Truth]:
        """Mean lengths since the last reset."""
        found = []
        for cycles, nanoseconds, launches, *_ in self._rows()[:groups]:
            count = max(1, launches)
            found.append(Truth(nanoseconds / count, cycles / count, launches))
        return found

    def _launch(self, cycles: int, group: int) -> None:
        self._kernel[(1,)](self._tally, cycles, GROUP=group, num_warps=1)

    def _rows(self) -> list[list[int]]:
        rows: list[list[int]] = self._tally.tolist()
        return rows


def handlers(cache: str | None) -> dict[str, Handler]:
    """The jobs of a calibration's worker."""
    worker = CalibrationWorker(None if cache is None else Path(cache))
    return {"open": worker.open, "cell": worker.cell, "duration": worker.duration}
