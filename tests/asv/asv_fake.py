"""What the small project of ``asv_project`` declares (its ``declared.py``): a fake GPU."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.heuristics.facts import Config
from harness.measure.jobs import Timing
from harness.options import Options
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from suites.tracking.measure import Wanted

GRAPHS = ("image_preprocess_forward", "fp8_rowwise_forward")


class FakeDevice:
    """2000 GB/s, less where the text says so; 0.2 % noise. Each process that opens one leaves a
    line in the file that ``FAKE_LOG`` names."""

    def __init__(self) -> None:
        self.timed = self.process = 0

    def __enter__(self) -> FakeDevice:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def missing(self, modules: Sequence[Any], given: Any) -> Sequence[Any]:
        return modules

    def compile(self, jobs: Sequence[Any]) -> None:
        with Path(os.environ["FAKE_LOG"]).open("a") as log:
            log.write(f"{os.getpid()} {len(jobs)}\n")

    def check(self, module: Any) -> CheckResult:
        return CheckResult("# wrong" not in module.text, 0.1, 0.5)

    def time(self, module: Any, *earlier: Any) -> Timing:
        return self.again(module.text, Config((("XBLOCK", 1),), 4, 1), 1)

    def restart(self) -> None:
        self.process += 1

    def again(self, module_text: str, config: Config, launches: int) -> Timing:
        self.timed += 1
        costs = float((re.findall(r"# costs ([0-9.]+)", module_text) or ["1"])[-1])
        noise = random.Random(len(module_text) + self.process)
        found = re.search(r"(?m)^BYTES = ([0-9]+)", module_text)
        assert found is not None, module_text
        ms = int(found[1]) / 2000e6 * costs
        samples = tuple(ms * (1 + noise.gauss(0, 0.002)) for _ in range(20))
        down = os.environ.get("FAKE") == "drops" and self.timed % 2 == 0
        clock = 1300.0 if down else 1980.0
        measured = Samples(process=self.process, ms=samples, clock_mhz=clock, launches=launches)
        return Timing(config, measured)


def open_device(_: Options) -> FakeDevice | str:
    return "there is no GPU here" if os.environ.get("FAKE") == "none" else FakeDevice()


WANTED = Wanted(graphs=GRAPHS, repeats=1, compilers=1, open_device=open_device)
