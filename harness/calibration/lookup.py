"""What a calibration says of a kernel that is measured later."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from harness.calibration.judging import detectable
from harness.calibration.record import Calibration
from harness.measure.noise.judge import Rules
from harness.records import modules
from harness.records.run import GraphRecord, KernelRecord


@dataclass(eq=False, slots=True)
class Detector:
    """The smallest slowdown of a kernel that two runs like this one would tell, by a calibration
    of the machine. A kernel that was calibrated with keeps what it showed itself; others get what
    kernels of their duration show."""

    calibration: Calibration
    _own: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        rules = self._rules
        each_side = max(1, self.calibration.processes // 2)
        noise = self.calibration.noise
        self._own = {}
        for one in self.calibration.kernels if noise is not None else ():
            usual = detectable(noise, one.ms, each_side, self._family, rules)  # type: ignore[arg-type]
            own = one.two_runs / usual if usual else 1.0
            self._own[one.key] = own if math.isfinite(own) else 1.0  # one process a side knew none

    def kernel(self, kernel: KernelRecord) -> KernelRecord:
        """``kernel`` with its smallest detectable change; none for one process, of which two runs
        tell nothing."""
        noise = self.calibration.noise
        if not kernel.ms or noise is None or len(kernel.sets) < 2:
            return kernel
        usual = detectable(noise, kernel.ms, len(kernel.sets), self._family, self._rules)
        own = self._own.get(kernel.code_hash)
        if own is None:  # calibrated before modules stated a hash of their code
            own = self._own.get(modules.recorded_key(kernel.module, kernel.name), 1.0)
        return replace(kernel, detectable=usual * own)

    def graph(self, graph: GraphRecord) -> GraphRecord:
        """``graph`` with those of its kernels."""
        return replace(graph, kernels=tuple(self.kernel(kernel) for kernel in graph.kernels))

    @property
    def _family(self) -> int:
        return max(1, len(self.calibration.kernels))

    @property
    def _rules(self) -> Rules:
        return Rules(alpha=self.calibration.alpha, margin=self.calibration.margin)
