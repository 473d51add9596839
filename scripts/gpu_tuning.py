"""Tune every distinct kernel of the suite on the GPU at hand, and keep every trial.

    python scripts/gpu_tuning.py --out DIR [--seconds 520] [--most 110] [--jobs N] [GRAPH …]

Compiles each kernel's candidates and the configurations nearest to them in parallel, times
all of them (``wide``), then tunes each kernel again with the searches named by ``--live``, as
a user's tuning would. ``tunings.jsonl.gz`` has one kernel a line, and is complete up to
the last kernel whenever the script is stopped. The table comes last.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from recorded_tunings import every  # noqa: E402

from harness.errors import CompileFailed, HarnessError  # noqa: E402
from harness.graph.text import load  # noqa: E402
from harness.heuristics.facts import Config, Facts  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.records.trials import Resources, Trial, Tuned  # noqa: E402
from harness.runtime import module as modules  # noqa: E402
from harness.runtime.compile.static import CompileJob, CompilePool  # noqa: E402
from harness.runtime.tune.autotune import Compiler, Ready, Settings, tune  # noqa: E402
from harness.runtime.tune.race import failure  # noqa: E402
from harness.runtime.tune.saved import free_room  # noqa: E402
from harness.runtime.tune.search import Search, View, search_named  # noqa: E402
from harness.runtime.tune.space import Space  # noqa: E402
from harness.target import H100, Target  # noqa: E402


@dataclass
class Kernel:
    """One distinct kernel; ``wanted`` are the configurations to time, the default first."""

    name: str
    graph: str
    text: str
    facts: Facts
    loaded: modules.LoadedModule
    wanted: list[Config] = field(default_factory=list)
    compiled: set[Config] = field(default_factory=set)


def distinct_kernels(files: Sequence[Path], target: Target, cache: Path) -> list[Kernel]:
    """The suite's kernels, those of one code once."""
    found: dict[str, Kernel] = {}
    for file in files:
        for kernel in compile_graph(load(file), target).kernels:
            module = kernel.module
            code = module.code_hash
            if code not in found and module.facts is not None:
                loaded = modules.load(module.text, cache / "modules")
                found[code] = Kernel(module.name, file.stem, module.text, module.facts, loaded)
    return list(found.values())


def choose(kernel: Kernel, target: Target, most: int) -> None:
    """Fill ``wanted``: the candidates, then what is nearest to them."""
    space = Space.of(kernel.loaded, target)
    given = list(kernel.loaded.configs)
    near = [c for c in nearest_first(space, given) if c not in given]
    kernel.wanted = [*given, *near][: max(most, len(given))]


def compile_ahead(
    kernels: Sequence[Kernel], target: Target, cache: Path, jobs: int, until: float
) -> int:
    """Compile in order of nearness, kernels interleaved, until the time is up; how many."""
    deepest = max(len(k.wanted) for k in kernels)
    pairs = [(k, k.wanted[n]) for n in range(deepest) for k in kernels if n < len(k.wanted)]
    work = [CompileJob(k.text, target, c) for k, c in pairs]
    done = 0
    with CompilePool(jobs, cache) as pool:
        for index, error in pool.each(work):
            kernel, config = pairs[index]
            done += 1
            if error is None:
                kernel.compiled.add(config)
            if time.monotonic() > until:
                break
    return done


@dataclass(frozen=True, eq=False)
class OnlyCompiled(Compiler):
    """Compiles what was compiled ahead; the rest is refused, so that nothing is compiled while
    timing. Without a device, launches do nothing (a rehearsal)."""

    kernel: Kernel = field(kw_only=True)

    def __call__(self, config: Config) -> Ready:
        """One configuration. Raises ``CompileFailed``."""
        if config not in self.kernel.compiled and config not in self.kernel.loaded.configs:
            raise CompileFailed("not compiled ahead", got="not compiled ahead")
        if torch.cuda.is_available():
            return super().__call__(config)
        nothing: Any = lambda _: None  # noqa: E731
        return Ready(nothing, Resources(spills=0))


def as_data(kernel: Kernel, tuned: Tuned, search: str) -> dict[str, Any]:
    """One tuning as plain values; times in milliseconds, seven digits."""
    return {
        "name": kernel.name,
        "graph": kernel.graph,
        "search": search,
        "source": tuned.source,
        "category": kernel.loaded.category,
        "bytes": kernel.loaded.bytes_moved,
        "facts": {
            "family": kernel.facts.family.value,
            "sizes": dict(kernel.facts.sizes),
            "hint": kernel.facts.hint.value,
            "loads": kernel.facts.loads,
            "stores": kernel.facts.stores,
            "reductions": kernel.facts.reductions,
            "bytes": kernel.facts.bytes,
            "loops": kernel.facts.loops,
            "min_elements_per_thread": kernel.facts.min_elements_per_thread,
            "pinned": dict(kernel.facts.fixed_blocks),
        },
        "config": modules.config_dict(tuned.config),
        "seconds": round(tuned.seconds, 4),
        "noise": tuned.noise,
        "partial": tuned.partial,
        "trials": [trial_data(t) for t in tuned.trials],
    }


def trial_data(trial: Trial) -> dict[str, Any]:
    """One trial as plain values."""
    return {
        "config": trial.config,
        "origin": trial.origin.value,
        "ms": trial.ms,
        "level": trial.level,
        "error": trial.error,
        "samples": [round(s, 7) for s in trial.samples_ms],
        "registers": trial.registers,
        "spills": trial.spills,
        "shared": trial.shared,
        "reason": trial.reason[:200],
    }


@dataclass
class Output:
    """The file of tunings, a compressed member a kernel; and what the table needs."""

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """Append one tuning and flush it."""
        self.rows.append(row)
        with self.path.open("ab") as file:
            file.write(gzip.compress(json.dumps(row).encode() + b"\n"))


@dataclass(frozen=True)
class Exhaustive(Search):
    """Everything allowed, nearest to what was tried first, ``most`` configurations at the most:
    for a record that other searches can be replayed on."""

    most: int = 100
    together: int = 32

    @property
    def name(self) -> str:
        """``exhaustive`` and the most measurements it makes."""
        return f"exhaustive-{self.most}"

    def batches(self, space: Space, view: View) -> Iterator[list[Config]]:
        """All in order of distance."""
        wanted = nearest_first(space, list(view.times))[: self.most]
        for at in range(0, len(wanted), self.together):
            batch = [c for c in wanted[at : at + self.together] if not view.tried(c)]
            if batch:
                yield batch


def nearest_first(space: Space, given: list[Config]) -> list[Config]:
    """Every allowed configuration, those fewest steps from one of ``given`` first."""
    points = [space.point(c) for c in given]
    if not points:
        return list(every(space))

    def distance(config: Config) -> float:
        at = space.point(config)
        return min(math.dist(at, p) for p in points)

    return sorted(every(space, given[0].options), key=distance)


def tunings(
    kernels: Sequence[Kernel], name: str, target: Target, cache: Path, timer: Any, until: float
) -> Iterator[dict[str, Any]]:
    """Tune each kernel with the search ``name``; a kernel that fails is a line of output."""
    for kernel in kernels:
        if time.monotonic() > until:
            print(f"{name}: time is up", flush=True)
            return
        search = Exhaustive(len(kernel.wanted)) if name == "wide" else search_named(name)
        try:
            args = kernel.loaded.get_args(device=device_name())
            prepare = OnlyCompiled(kernel.loaded, target, cache, kernel=kernel)
            settings = Settings(search=search, room=free_room)
            tuned = tune(kernel.loaded, args, timer, prepare, settings)
            yield as_data(kernel, tuned, name)
        except (HarnessError, RuntimeError) as error:
            print(f"{name}: {kernel.name}: {failure(error)}"[:300], flush=True)
        finally:
            args = []
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def device_name() -> str:
    """Where arguments are made."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def make_timer() -> Any:
    """The device's timer; without a device one that answers at random (a rehearsal)."""
    if torch.cuda.is_available():
        from harness.measure.timer.graph_timer import CudaTimer

        return CudaTimer()
    return Rehearsal()


class Rehearsal:
    """Random times, for trying this script where there is no GPU."""

    def __init__(self) -> None:
        import random

        self.random = random.Random(0)

    def sampler(self, _: object) -> Rehearsal:
        """It samples itself."""
        return self

    def settle(self) -> None:
        """Nothing runs."""

    def warm_up(self) -> None:
        """Nothing warms up."""

    def rounds(self, launches: Any, count: int) -> dict[str, list[float]]:
        """Samples around 10 microseconds."""
        return {n: [self.random.gauss(0.01, 0.0002) for _ in range(count)] for n in launches}


def mean(values: Sequence[float]) -> float:
    """Geometric mean; NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Searches side by side, over the kernels that all of them tuned."""
    by_search: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_search.setdefault(row["search"], {})[row["name"] + row["graph"]] = row
    common = set.intersection(*(set(r) for r in by_search.values())) if by_search else set()
    best: dict[str, float] = {}
    for found in by_search.values():
        for key in common:
            best[key] = min(best.get(key, math.inf), chosen_time(found[key]))
    lines = [f"{len(common)} kernels; times over the best that any search found"]
    for name, found in by_search.items():
        ratios = [chosen_time(found[k]) / best[k] for k in common]
        trials = [len(found[k]["trials"]) for k in common]
        seconds = sum(found[k]["seconds"] for k in common)
        firsts = [first_time(found[k]) / best[k] for k in common if first_time(found[k])]
        lines.append(
            f"{name:12} chosen {mean(ratios):.4f} (worst {max(ratios, default=math.nan):.2f})  "
            f"first choice {mean(firsts):.4f}  trials {sum(trials) / max(1, len(trials)):.1f}  "
            f"{seconds:.1f} s in all"
        )
    return "\n".join(lines)


def chosen_time(row: dict[str, Any]) -> float:
    """Milliseconds of the chosen configuration; infinite if it was not timed."""
    times = [t["ms"] for t in row["trials"] if t["config"] == row["config"] and t["ms"]]
    return times[0] if times else math.inf


def first_time(row: dict[str, Any]) -> float:
    """Milliseconds of the heuristics' first choice; 0 if it was not timed."""
    first = next((t for t in row["trials"] if t["origin"] == "heuristics"), None)
    return float(first["ms"] or 0.0) if first else 0.0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="graph files (default: the suite)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--cache", type=Path, help="folder for compiled kernels")
    parser.add_argument("--seconds", type=float, default=520.0, help="stop before this long")
    parser.add_argument("--most", type=int, default=110, help="configurations a kernel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--live", nargs="*", default=["descent", "guided"], help="searches")
    return parser.parse_args()


def main() -> int:
    """Run; 1 if no kernel was tuned."""
    given = arguments()
    began = time.monotonic()
    warnings.filterwarnings("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    files = given.graphs or sorted((ROOT / "suites" / "graphs").glob("*.py"))
    cache = given.cache or Path(tempfile.mkdtemp(prefix="harness-tuning-"))
    target = H100
    if torch.cuda.is_available():
        from harness.runtime.device import current_target

        target = current_target()
    kernels = distinct_kernels(files, target, cache)
    for kernel in kernels:
        choose(kernel, target, given.most)
    total = sum(len(k.wanted) for k in kernels)
    print(f"{len(kernels)} kernels, {total} configurations", flush=True)
    done = compile_ahead(kernels, target, cache, given.jobs, began + 0.45 * given.seconds)
    print(f"{done} compiled after {time.monotonic() - began:.0f} s", flush=True)
    output = Output(given.out / "tunings.jsonl.gz")
    timer = make_timer()
    parts = {"wide": 0.8, **dict.fromkeys(given.live, 1.0)}
    for name, share in parts.items():
        until = began + share * given.seconds
        for row in tunings(kernels, name, target, cache, timer, until):
            output.add(row)
        print(f"{name} done after {time.monotonic() - began:.0f} s", flush=True)
    print(table(output.rows))
    return 0 if output.rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
