"""A machine whose noise is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibration.record import AGAIN, PLAIN, Cell, Subject, levels_for, slowed

GAP_MS = 0.0012
"""What an appended spin adds even when it ends at once."""


@dataclass(frozen=True)
class Machine:
    """Relative standard deviations: ``process`` of all that a process measures of a kernel,
    ``subject`` of one launch's placement in a process, ``sample`` of a sample. ``drift`` is how
    much slower AGAIN seems than PLAIN: an uncalibrated machine. ``deaf`` hides slowdowns."""

    process: float = 0.003
    subject: float = 0.0007
    sample: float = 0.003
    drift: float = 0.0
    deaf: bool = False
    samples: int = 30

    def cell(self, process: int, key: str, ms: float, seed: int, slow: bool = True) -> Cell:
        chance = np.random.default_rng([seed, process])
        common = chance.normal(0, self.process)

        def draw(mean: float) -> tuple[float, ...]:
            shift = common + chance.normal(0, self.subject)
            found = mean * np.exp(shift + chance.normal(0, self.sample, self.samples))
            return tuple(float(x) for x in found)

        samples = {PLAIN: draw(ms), AGAIN: draw(ms * (1 + self.drift))}
        truth = {}
        for level in (0.0, *levels_for(ms)) if slow else ():
            extra = 0.0 if self.deaf else level * ms
            samples[slowed(level)] = draw(ms + GAP_MS + extra)
            truth[slowed(level)] = 50 + 1e6 * level * ms
        return Cell(process, key, samples, truth)


def measured(
    machine: Machine, kernels: int = 60, processes: int = 6, seed: int = 0
) -> tuple[list[Subject], list[Cell]]:
    """Kernels from 1.5 to 500 µs on ``machine``."""
    times = np.exp(np.linspace(np.log(0.0015), np.log(0.5), kernels))
    subjects = [Subject(f"k{n}", f"kernel_{n}", "g", ms=float(ms)) for n, ms in enumerate(times)]
    cells = [
        machine.cell(process, one.key, one.ms or 0.0, seed * 1000 + n)
        for n, one in enumerate(subjects)
        for process in range(processes)
    ]
    return subjects, cells
