"""Kernels in other interpreters: what their triton compiles, and how long it takes there."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import CommitUnusable
from harness.history.commits import elsewhere, tree
from harness.records.metrics import StaticMetrics
from harness.records.run import KernelRecord, Machine, one_line
from harness.session.session import with_metrics
from harness.verdicts.bisecting import Made, TimePairs
from harness.verdicts.generating import Subject


@dataclasses.dataclass(frozen=True, slots=True)
class Environments:
    """Asks interpreters, with the package in ``root``, for ``target``."""

    root: Path
    target: str

    def machine(self, subject: Subject) -> Machine:
        """The versions of torch and triton. Raises ``CommitUnusable``."""
        found = self._ask(Made(subject, ()), "versions")
        return Machine("", torch=found["torch"], triton=found["triton"])

    def figures(self, made: Made) -> tuple[KernelRecord, ...]:
        """The kernels with what their binaries say; none of one that does not compile."""
        try:
            found = self._ask(made, "figures")["figures"]
        except CommitUnusable as error:
            found = [{"error": one_line(error)}] * len(made.kernels)
        return tuple(_with(k, figures) for k, figures in zip(made.kernels, found, strict=True))

    def timer(self) -> TimePairs:
        """Times both sides in processes of their own, one after the other in a random order, each
        in its configuration or its module's default."""

        def time(good: Made, other: Made, start: int, end: int) -> Sequence[tuple[float, float]]:
            found = []
            for process in range(start, end):
                sides = [good, other]
                swapped = random.Random(process).random() < 0.5
                order = sides[::-1] if swapped else sides
                ms = [float(self._ask(side, "ms")["ms"]) for side in order]
                found.append((ms[1], ms[0]) if swapped else (ms[0], ms[1]))
            return found

        return time

    def _ask(self, made: Made, wanted: str) -> dict[str, Any]:
        modules = [
            {"text": k.module, "config": k.config, "launches": k.launches} for k in made.kernels
        ]
        request = {"tree": str(self.root), "modules": modules, "wanted": wanted}
        subject = made.subject
        request["target"] = self.target
        path = [str(self.root)]
        return tree.answered(elsewhere.__file__, request, path, subject.python, subject.name)


def _with(kernel: KernelRecord, figures: dict[str, Any]) -> KernelRecord:
    bare = dataclasses.replace(kernel, metrics={}, mix=None)
    if "error" in figures:
        return dataclasses.replace(bare, reason=figures["error"])
    pairs = {name: tuple(map(tuple, figures[name])) for name in ("mix", "chosen")}
    return with_metrics(bare, StaticMetrics(**{**figures, **pairs}))
