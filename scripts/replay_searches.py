"""Searches side by side on recorded tunings: what each would have found, after how many trials.

    python scripts/replay_searches.py results/…/tunings.jsonl.gz [--noise 0.005]

Every kernel's record holds the time of many configurations (``scripts/gpu_tuning.py``, search
``wide``). A search starts from the candidates, as in a tuning, and may visit what was
recorded. The table gives the time of the best configuration known after so many
measurements beyond the candidates, over the best recorded: geometric means over kernels.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recorded_tunings import Recorded, every, replay

from harness.heuristics.facts import Config
from harness.runtime.module import config_from_dict
from harness.runtime.tune.search import CoordinateDescent, GuidedSearch, Search, View
from harness.runtime.tune.space import STAGES, WARPS, Space

EXTRA = (4, 8, 12, 16, 24, 32)
SEARCHED = "descent"
"""Origin of trials that are not candidates."""


@dataclass(frozen=True)
class AtRandom(Search):
    """Recorded configurations in a random order: what any search has to beat."""

    @property
    def name(self) -> str:
        """``random``."""
        return "random"

    def batches(self, space: Space, view: View) -> Iterator[list[Config]]:
        """One at a time."""
        rest = [c for c in every(space) if not view.tried(c)]
        random.Random(0).shuffle(rest)
        for config in rest:
            yield [config]


SEARCHES: tuple[Search, ...] = (
    CoordinateDescent(),
    CoordinateDescent(radius=2),
    CoordinateDescent(all_directions=True),
    GuidedSearch(),
    AtRandom(),
)


@dataclass(frozen=True)
class World:
    """One kernel's record: the time of each configuration, and the candidates."""

    times: dict[Config, float]
    start: list[Config]

    @property
    def space(self) -> Space:
        """The values that occur, every combination allowed."""
        first = next(iter(self.times))
        values = [(n, {c.block(n) for c in self.times}) for n, _ in first.blocks]
        values += [(WARPS, {c.num_warps for c in self.times}), (STAGES, {1})]
        return Space(tuple((n, tuple(sorted(v))) for n, v in values), most_per_thread=1 << 20)


def worlds(path: Path) -> list[World]:
    """The kernels of a file whose record leaves a search something to do."""
    found = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            if row["search"] != "wide":
                continue
            timed = [t for t in row["trials"] if t["level"]]
            times = {config_from_dict(t["config"]): t["level"] for t in timed}
            given = [t for t in timed if t["origin"] != SEARCHED]
            start = [config_from_dict(t["config"]) for t in given]
            if start and len(times) > len(start) + 2:
                found.append(World(times, start))
    return found


def compare(found: Sequence[World], search: Search, noise: float) -> tuple[list[float], float]:
    """Mean excess after each of ``EXTRA`` measurements, and how many the search made."""
    sums, used = [0.0] * len(EXTRA), 0
    for world in found:
        best = min(world.times.values())
        course = replay(
            search, world.space, Recorded(world.times, noise), world.start, len(world.times)
        )
        used += len(course) - len(world.start)
        for number, extra in enumerate(EXTRA):
            at = min(len(course), len(world.start) + extra) - 1
            sums[number] += math.log(course[at] / best)
    return [math.exp(s / len(found)) for s in sums], used / len(found)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="tunings.jsonl.gz")
    parser.add_argument("--noise", type=float, default=0.005, help="differences that count as none")
    given = parser.parse_args()
    found = worlds(given.file)
    alone = [min(w.times[c] for c in w.start) / min(w.times.values()) for w in found]
    first = [w.times[w.start[0]] / min(w.times.values()) for w in found]
    print(f"{len(found)} kernels, {sum(len(w.times) for w in found)} recorded configurations")
    for name, values in (("first choice", first), ("best candidate", alone)):
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{name} over the best recorded: {mean:.4f}")
    print(f"{'search':16}" + "".join(f"{f'+{n}':>8}" for n in EXTRA) + f"{'made':>8}")
    for search in SEARCHES:
        means, used = compare(found, search, given.noise)
        print(f"{search.name:16}" + "".join(f"{m:8.4f}" for m in means) + f"{used:8.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
