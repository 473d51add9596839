"""Where comparing the corpus with Inductor takes its time, and whether Inductor's compiling beside
it disturbs what is timed.

    python scripts/gpu_peers.py --out DIR [--patterns 60] [--seconds 80] [--jobs N]

Times kernels while nothing else is done, while Inductor compiles other patterns beside them, and
while its processes are idle; then compares the patterns that were compiled. Prints the seconds of
a kernel in each of these phases, how many were timed at an unusual launch interval, and the seconds
of each step of a comparison. ``gpu_peers.jsonl`` has every kernel and step.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
QUERY = "bytes<2GB nodes<150 weight>0.00007"


def stepped(context: Any, job: Any) -> Any:
    """``compare_region`` with the seconds of its steps: what it does in place of that handler."""
    from harness.measure.peers.worker import compare_region

    marks, inner = [("inputs and float64", time.perf_counter())], context.step

    def step(name: str) -> None:
        marks.append((name, time.perf_counter()))
        inner(name)

    context.step = step
    try:
        found = compare_region(context, job)
    finally:
        context.step = inner
    ends = [at for _, at in marks[1:]] + [time.perf_counter()]
    seconds = {name: round(end - at, 4) for (name, at), end in zip(marks, ends, strict=True)}
    with (context.cache / "steps.jsonl").open("a") as lines:
        lines.write(json.dumps(seconds) + "\n")
    return found


class Trial:
    """Phases of one run on ``device``, until ``seconds`` have passed."""

    def __init__(self, device: Any, out: Path, seconds: float) -> None:
        self.device, self.out, self.end = device, out, time.perf_counter() + seconds
        self.configs: dict[str, Any] = {}
        self.phases: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def keep(self, phase: str, **row: Any) -> None:
        """One kernel of a phase."""
        self.phases[phase].append(row)
        with self.out.open("a") as lines:
            lines.write(json.dumps({"phase": phase, **row}) + "\n")

    def timed(
        self, phase: str, made: Sequence[Any], over: Callable[[], bool] = lambda: False
    ) -> None:
        """Time the kernels of ``made`` until it is ``over``."""
        for kernel in (kernel for graph in made for kernel in graph.kernels):
            if over() or time.perf_counter() > self.end:
                return
            began = time.perf_counter()
            found = self.device.time(kernel.module)
            self.configs[kernel.module.text] = found.config
            samples, spent = found.samples, time.perf_counter() - began
            row = {"kernel": kernel.module.name, "ms": samples.median, "trials": len(found.trials)}
            self.keep(phase, **row, s=spent, stopped=samples.stopped, excluded=samples.excluded)

    def summary(self) -> str:
        """Seconds of a kernel by phase."""
        lines = []
        for phase, rows in self.phases.items():
            seconds = [row["s"] for row in rows]
            unusual = sum(row["stopped"] == "disturbed" or row["excluded"] > 0 for row in rows)
            mean, median = statistics.mean(seconds), statistics.median(seconds)
            what = f"mean {mean:.3f} s, median {median:.3f}; {unusual} at an unusual interval"
            lines.append(f"{phase:20} {len(rows):4} kernels: {what}")
        return "\n".join(lines)


def compiled(count: int, target: Any, options: Any) -> list[Any]:
    """The heaviest patterns that fit."""
    from harness.corpus import selecting, store
    from harness.session.entries import find_entries

    names = [p.name for p in selecting.select(store.load(options.suites / "corpus"), QUERY)]
    return [entry.compile() for entry in find_entries(options, "corpus", names[:count], target)]


def main() -> None:
    """Run the phases and print what they took."""
    from harness import options as settings
    from harness.measure.jobs import OpenDevice, gpu
    from harness.measure.peers.jobs import CompareJob, WarmJob
    from harness.measure.peers.pool import PeerPool, environment
    from harness.session.cuda import CudaDevice

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--patterns", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=80.0)
    options = settings.current()
    parser.add_argument("--jobs", type=int, default=options.jobs)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    cache = (given.out / "cache").resolve()
    options = dataclasses.replace(options, cache=cache)
    CompareJob.handler = "scripts.gpu_peers:stepped"
    with CudaDevice(cache, given.jobs, 60.0, gpu(OpenDevice(True), environment(cache))) as device:
        trial = Trial(device, given.out / "gpu_peers.jsonl", given.seconds)
        made = compiled(given.patterns, device.target, options)
        every = [kernel.module for graph in made for kernel in graph.kernels]
        device.compile(device.missing(every, {}))
        fourth = len(made) // 4
        trial.timed("nothing beside", made[:fourth])
        regions = [one for graph in made[: 2 * fourth] for one in graph.regions]
        names = ("inductor", "eager")
        with PeerPool(names, cache, given.jobs, first=device.worker, on=device.where) as peers:
            # The process that times is left alone: it would import Inductor itself.
            jobs = [WarmJob(one.work.region.graph) for one in regions]
            work = threading.Thread(target=peers._warming.all, args=(jobs,))
            work.start()
            trial.timed(
                "Inductor compiling", made[fourth : 3 * fourth], lambda: not work.is_alive()
            )
            work.join()
            trial.timed("its processes idle", made[3 * fourth :])
            for one in regions:
                if time.perf_counter() < trial.end:
                    peers.compare(one, trial.configs)
    print(trial.summary())
    kept = cache / "steps.jsonl"
    steps = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
    for name in steps[0] if steps else ():
        print(
            f"{name:20} {statistics.mean(row.get(name, 0.0) for row in steps):.3f} s a comparison"
        )


if __name__ == "__main__":
    main()
