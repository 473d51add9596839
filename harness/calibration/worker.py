"""What happens to a calibration's jobs in the worker process that has the GPU: one kernel, as it
is and slowed down, interleaved.

What slows a launch down is a kernel of known length behind it. One thread block reads the SM's
cycle counter until enough cycles have passed, and adds what it saw to a tally: cycles, and
nanoseconds of the device's global timer. So what a launch was slowed down by is known from the
device itself, whatever the timer under test says.
"""

# ruff: noqa: N803 - Triton's constants are written in capitals
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer

from harness.calibration.record import AGAIN, PLAIN, Cell, CellJob, levels_for, slowed
from harness.devices.job import Context
from harness.measure.timer.probes import clock
from harness.measure.worker import Gpu, surviving
from harness.records.timing import Launch, Work
from harness.runtime.launch.selecting import SelectedKernels

STRIDE = 16
"""64-bit integers from one tally to the next: a cache line each. Tallies that straddled two
sectors cost their spins 0.13 µs more wherever the kernel before had swept them out of the cache."""


@triton.jit(do_not_specialize=["cycles"])
def spin(tally, cycles, GROUP: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Wait for ``cycles`` (none: end at once) and count it in ``tally``."""
    began = globaltimer()
    first = clock()
    last = first
    while last - first < cycles:
        last = clock()
    ended = globaltimer()
    tl.atomic_add(tally + GROUP * 16, last - first)
    tl.atomic_add(tally + GROUP * 16 + 1, ended - began)
    tl.atomic_add(tally + GROUP * 16 + 2, 1)


_FIRST_MS = 40.0
"""Wall clock for finding out how long a kernel takes."""
_MOST_LEVELS = 8
_LONG_CYCLES = 1 << 22
_MOST_ROUNDS, _STEADY = 25, 0.001
"""The clock is known once two rounds of long spins agree; after half a second it has to be."""


def cell(context: Context, job: CellJob) -> Cell:
    """The handler of ``CellJob``."""
    gpu = context.once(Gpu)
    return surviving(lambda: _cell(job, gpu, context))


def _cell(job: CellJob, gpu: Gpu, context: Context) -> Cell:
    kernels = SelectedKernels(gpu.target, None, context.cache, torch.cuda.current_device())
    kernel = kernels.get(job.module_text)
    args = kernel.loaded.get_args(device="cuda", seed=job.seed)
    launcher = kernel.chosen(args)
    works: dict[str, Launch] = {name: Work(launcher, args) for name in (PLAIN, AGAIN)}
    truth: dict[str, float] = {}
    ms = job.ms or gpu.timer.measure(Work(launcher, args), _FIRST_MS).median
    if not job.slowed:
        found = gpu.timer.compare(works, job.budget_ms, job.width)
    else:
        spin, levels = context.once(Spin), (0.0, *levels_for(ms))
        for group, level in enumerate(levels):
            works[slowed(level)] = Work(spin.after(launcher, level * ms, group), args)
        spin.reset()
        found = gpu.timer.compare(works, job.budget_ms, job.width)
        truth = dict(zip(map(slowed, levels), spin.truth(len(levels)), strict=True))
    taken = {name: samples.ms for name, samples in found.items()}
    return Cell(job.process, job.kernel, taken, truth, ms=ms)


class Spin:
    """Spins of known length behind launches, and the tallies that the device keeps of them."""

    def __init__(self, _context: Context, device: str = "cuda") -> None:
        """Compiles the kernel and finds out how many cycles a millisecond has, once the clocks
        of an idle device have risen."""
        self._tally = torch.zeros((_MOST_LEVELS, STRIDE), dtype=torch.int64, device=device)
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
        rows: list[list[int]] = self._tally.tolist()
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

    def truth(self, groups: int) -> list[float]:
        """Nanoseconds of a launch since the last reset, mean of each group."""
        return [ns / max(1, n) for _, ns, n, *_ in self._tally[:groups].tolist()]

    def _launch(self, cycles: int, group: int) -> None:
        spin[(1,)](self._tally, cycles, GROUP=group, num_warps=1)
