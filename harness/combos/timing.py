"""Whether a combo is worth it, timed on the device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from harness.compiled import Combo, Launch
from harness.records.timing import Timer
from harness.runtime.launch.host import raw_stream
from harness.runtime.launch.selecting import SelectedKernels

_BUDGET_MS = 100.0
"""Some hundred launches of what takes microseconds."""


def is_faster(
    kernels: SelectedKernels, timer: Timer, combo: Combo, launches: Sequence[Launch]
) -> bool:
    """Whether ``combo`` takes less time than ``launches`` one after the other, on random arguments
    of the graph's sizes; not where the device has too little memory for them. Raises
    ``HarnessError`` for what cannot be compiled or timed."""
    stream, number = raw_stream(), kernels.device
    whole = kernels.get(combo.module.text)
    parts = [kernels.get(launch.kernel.module.text) for launch in launches]

    def joined() -> None:
        whole.kernel(stream(number), *args)

    def apart() -> None:
        for part, own in zip(parts, each, strict=True):
            part.kernel(stream(number), *own)

    try:
        args = whole.loaded.get_args(f"cuda:{number}")
        given = iter(args)
        each = [[*itertools.islice(given, len(part.loaded.signature))] for part in parts]
        for run in (joined, apart):
            run()  # the first time it is compiled
        times = timer.compare({"joined": joined, "apart": apart}, _BUDGET_MS)
    except torch.OutOfMemoryError:
        return False
    return times["joined"].median < times["apart"].median
