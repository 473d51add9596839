"""How often two tunings of one code choose differently, by what is preferred among equals.

    python scripts/tuner_luck.py [RESULTS]

Every pair of recorded runs of one kind of machine, every kernel that both tuned with the same code:
the earlier run's choice is the fastest of its trials. The later one's is the fastest of its own, or
the earlier one's where nothing is faster beyond three standard errors and 0.2 %. A choice counts as
slower where it takes more than 1 % more than the earlier one, by the geometric mean of what both
runs measured of the two configurations: each run flatters its own.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.errors import RecordError
from harness.history import store
from harness.records.run import KernelRecord
from harness.records.trials import Trial

_NOISE = 0.002


def recorded(results: Path) -> list[tuple[KernelRecord, KernelRecord]]:
    """Every two tunings of one code on one kind of machine, the earlier run's first."""
    known: dict[tuple[str, ...], list[KernelRecord]] = defaultdict(list)
    for path in sorted(results.glob("*/*.parquet")):
        try:
            run = store.load(path)
        except RecordError:
            continue
        for graph in run.graphs:
            for kernel in graph.kernels:
                if any(trial.time for trial in kernel.trials):
                    name = (run.machine.key, graph.name, kernel.name, kernel.code_hash)
                    known[name].append(kernel)
    return [pair for tunings in known.values() for pair in itertools.combinations(tunings, 2)]


def times(kernel: KernelRecord) -> dict[str, Trial]:
    """What was timed, by configuration."""
    return {str(sorted(t.config.items())): t for t in kernel.trials if t.time}


def fastest(trials: dict[str, Trial]) -> str:
    """The configuration with the shortest time."""
    return min(trials, key=lambda config: trials[config].time or math.inf)


def preferred(trials: dict[str, Trial], earlier: str) -> str:
    """The fastest, or ``earlier`` where that is as fast as far as is known."""
    front = trials[fastest(trials)]
    kept = trials.get(earlier)
    if kept is None or not kept.time or not front.time:
        return fastest(trials)
    doubt = 3 * math.hypot(front.error or 0.0, kept.error or 0.0)
    faster = kept.time - front.time > max(doubt, _NOISE * kept.time)
    return fastest(trials) if faster else earlier


def line(name: str, chosen: Sequence[tuple[str, str, float | None]]) -> str:
    """A row of the table."""
    other = [ratio for one, two, ratio in chosen if one != two]
    slower = [ratio for ratio in other if ratio and ratio > 1.01]
    return f"| {name} | {len(chosen)} | {len(other)} | {len(slower)} |"


def main() -> None:
    """Print both rules."""
    pairs = recorded(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
    print("| kept among equals | pairs of tunings | chosen differently | slower by more than 1 % |")
    print("|---|---:|---:|---:|")
    for name in ("the fastest", "the earlier run's"):
        chosen = []
        for kernels in pairs:
            a, b = map(times, kernels)
            one = fastest(a)
            two = fastest(b) if name == "the fastest" else preferred(b, one)
            both = all(config in trials for config in (one, two) for trials in (a, b))
            ratio = None
            if both:
                shares = [(t[two].time or 0.0) / (t[one].time or math.inf) for t in (a, b)]
                ratio = math.sqrt(shares[0] * shares[1])
            chosen.append((one, two, ratio))
        print(line(name, chosen))


if __name__ == "__main__":
    main()
