"""How often `harness bisect` ends on the right commit, where it is known, and what it measures.

Prints the table of docs/measurements/bisect.md, seeded: the same each time.

    python scripts/bisect_worlds.py                       100 searches of each world
    python scripts/bisect_worlds.py --count 20 --size 0.01

Thirty commits; some of them change the kernel's text, one of these its time. A process's noise is
that of recorded boards (0.12 % and 2.5 ns, Student's t with 4 degrees of freedom), of each side on
its own; a kernel takes 3 to 500 µs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.errors import CommitUnusable, UsageError
from harness.records.run import GraphRecord, KernelRecord
from harness.verdicts.bisecting import Bisected, ByTime, Made, PairTimes, bisect
from harness.verdicts.generating import Kernel, Subject

COMMITS, ERROR = 30, 0.05
MODULE = """KERNEL = "k"
CONFIGS = [
    {{"XBLOCK": 64, "num_warps": 4}},
]
@triton.jit
def k(in_ptr0):
    version = {text}

def reference(args): ...
"""


@dataclass(frozen=True)
class History:
    """``texts`` and the logarithms of the ``times`` of every commit; which cannot be ``used``."""

    texts: tuple[int, ...]
    times: tuple[float, ...]
    broken: frozenset[int]
    ms: float

    def generate(self, subject: Subject) -> GraphRecord:
        """The graph at a commit. Raises ``CommitUnusable``."""
        place = int(subject.name)
        if place in self.broken:
            raise CommitUnusable("does not import", where=subject.name)
        text = MODULE.format(text=self.texts[place])
        kernel = KernelRecord("k", "poi", 100, origins=("n",), module=text, region="g.r0")
        return GraphRecord("g", kernels=(kernel,))

    def timer(self, rng: np.random.Generator) -> Callable[..., PairTimes]:
        """Times pairs with noise."""
        spread = float(np.hypot(0.0012, 2.5e-6 / self.ms))

        def time(_: Made, other: Made, start: int, end: int) -> PairTimes:
            drawn = rng.standard_t(4, (end - start, 2)) / 2**0.5 * spread
            logs = drawn + np.array([self.times[0], self.times[int(other.subject.name)]])
            return [(float(a), float(b)) for a, b in self.ms * np.exp(logs)]

        return time


def history(
    rng: np.random.Generator, changes: int, size: float, broken: int
) -> tuple[int, History]:
    """The first bad commit, and a history in which ``changes`` commits change the text."""
    changed = np.sort(rng.choice(np.arange(1, COMMITS), changes, replace=False))
    bad = int(rng.choice(changed))
    texts = tuple(int((changed <= n).sum()) for n in range(COMMITS))
    times = tuple(float(np.log1p(size)) if n >= bad else 0.0 for n in range(COMMITS))
    inside = [n for n in range(1, COMMITS - 1) if n != bad]
    lost = frozenset(rng.choice(inside, broken, replace=False).tolist())
    ms = float(np.exp(rng.uniform(np.log(0.003), np.log(0.5))))
    return bad, History(texts, times, lost, ms)


def search(changes: int, size: float, broken: int, number: int) -> tuple[int, Bisected | None]:
    """Search number ``number`` of a world: the first bad commit, and what was found; None where
    the ends could not be told apart."""
    rng = np.random.default_rng([changes, round(1e4 * size), broken, number])
    bad, past = history(rng, changes, size, broken)
    subjects = [Subject(str(n)) for n in range(COMMITS)]
    kernel = Kernel(subjects, past.generate, frozenset({"n"}))
    try:
        return bad, bisect(kernel, ByTime(past.timer(rng), ERROR), lambda *_: None)
    except UsageError:
        return bad, None


def rates(changes: int, size: float, broken: int, count: int) -> dict[str, float]:
    """Exact and right, a range that holds the right one, wrong; what was measured and generated."""
    exact = ranges = wrong = refused = 0
    modules, processes, generated = [], [], []
    for number in range(count):
        bad, found = search(changes, size, broken, number)
        if found is None:
            refused += 1
            continue
        named = [int(one.name) for one in found.candidates]
        exact += named == [bad]
        ranges += bad in named and len(named) > 1
        wrong += bad not in named
        modules.append(1 + len(found.steps))
        processes.append(sum(step.processes for step in found.steps))
        generated.append(found.generated)
    figures = {"modules": max(modules), "processes": round(float(np.mean(processes)), 1)}
    return {
        "exact": exact,
        "range": ranges,
        "wrong": wrong,
        "none": refused,
        **figures,
        "asked": max(generated),
    }


def main() -> None:
    """Print the rates of all worlds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--size", type=float, nargs="+", default=[0.03, 0.01, 0.1])
    asked = parser.parse_args()
    heads = ("slower %", "texts changed", "unusable", "right", "range", "wrong", "no answer")
    print("|", " | ".join((*heads, "modules at most", "processes", "generated at most")), "|")
    print("|---" * 10 + "|")
    for size in asked.size:
        for changes, broken in ((1, 0), (2, 0), (3, 3), (10, 0), (29, 0), (29, 5)):
            found = rates(changes, size, broken, asked.count)
            shown = [f"{value:g}" for value in found.values()]
            print(
                "|",
                " | ".join((f"{100 * size:g}", f"{changes}", f"{broken}", *shown)),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main()
