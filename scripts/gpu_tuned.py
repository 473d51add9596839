"""Tuned kernels against Inductor's own tuning, region by region, in one process.

    python scripts/gpu_tuned.py --out DIR [--seconds 540] [--search guided] [--skip FILE]
        [--part 1/2] [GRAPH …]

For every distinct region, in a random order that is the same every time (so that a run that
ends early is a fair sample): tune its kernels, let Inductor compile it with
``max_autotune_pointwise`` and ``coordinate_descent_tuning``, both against the clock and both with
cold caches, compare results with float64, and time both interleaved (CUDA graphs, cold L2).
``tuned.json`` is written after every region; ``--skip`` leaves out the regions of an
earlier file, and its rows go into the summary.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from harness.compiled import CompiledRegion  # noqa: E402
from harness.errors import HarnessError  # noqa: E402
from harness.graph.text import load  # noqa: E402
from harness.heuristics.facts import Config  # noqa: E402
from harness.measure.peers.jobs import OURS, TUNED  # noqa: E402
from harness.measure.peers.providers import Make, Provider, maker  # noqa: E402
from harness.measure.peers.worker import (  # noqa: E402
    compare,
    compiled_kernels,
    launched_alone,
    region_provider,
    region_task,
)
from harness.measure.timer.graph_timer import CudaTimer  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.records.run import Check  # noqa: E402
from harness.records.timing import METHOD  # noqa: E402
from harness.runtime import module as modules  # noqa: E402
from harness.runtime.compile.static import CompileJob, CompilePool  # noqa: E402
from harness.runtime.device import current_target  # noqa: E402
from harness.runtime.tune.autotune import Compiler, Settings, tune  # noqa: E402
from harness.runtime.tune.race import failure  # noqa: E402
from harness.runtime.tune.saved import free_room  # noqa: E402
from harness.runtime.tune.search import Search, search_named  # noqa: E402
from harness.target import Target  # noqa: E402

BEHIND = 0.97
"""Regions whose first choice has less than this share of tuned Inductor's speed are named."""


@dataclass
class Row:
    """One region. Seconds are wall clock: ``ours_s`` tunes every kernel of it that no region
    before had (``new``), ``inductor_s`` is Inductor's compile and first call. ``commit`` is noted
    by hand where a file's rows are of several commits."""

    graph: str
    region: str
    count: int
    kernels: int
    new: int = 0
    ours_ms: float | None = None
    first_ms: float | None = None
    inductor_ms: float | None = None
    ours_s: float = 0.0
    inductor_s: float = 0.0
    passed: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    commit: str = ""


@dataclass
class Bench:
    """What the script needs throughout."""

    target: Target
    timer: CudaTimer
    cache: Path
    pool: CompilePool
    search: Search | None
    configs: dict[str, Config] = field(default_factory=dict)
    trials: int = 0

    def tune(self, texts: Sequence[str]) -> float:
        """Tune kernels that have no configuration yet; the seconds it took."""
        began = time.perf_counter()
        loaded = {t: modules.load(t, self.cache / "modules") for t in dict.fromkeys(texts)}
        todo = {t: m for t, m in loaded.items() if t not in self.configs}
        tried = 1 if self.search is None else None
        jobs = [(text, config) for text, m in todo.items() for config in m.configs[:tried]]
        self.pool.all([CompileJob(text, self.target, config) for text, config in jobs])
        for text, module in todo.items():
            self.configs[text] = module.configs[0]
            if self.search is None:
                continue
            try:
                self._tune(text, module, self.search)
            except (HarnessError, RuntimeError) as error:
                print(f"{module.name}: {failure(error)}"[:300], flush=True)
        torch.cuda.empty_cache()
        return time.perf_counter() - began

    def _tune(self, text: str, module: modules.LoadedModule, search: Search) -> None:
        args = module.get_args(device="cuda")
        prepare = Compiler(module, self.target, self.cache, self.pool)
        settings = Settings(search=search, room=free_room)
        found = tune(module, args, self.timer, prepare, settings=settings)
        self.configs[text] = found.config
        self.trials += len(found.trials)


def launched(region: CompiledRegion, target: Target) -> tuple[str, ...]:
    """The text of each kernel that the region launches, as often as it does."""
    distinct = launched_alone(region, target).distinct()
    return tuple(module.text for module, count in distinct for _ in range(count))


def distinct_regions(
    files: Sequence[Path], target: Target
) -> list[tuple[str, CompiledRegion, int]]:
    """(graph, region, how many equal ones the suite has)."""
    found: dict[tuple[str, ...], tuple[str, CompiledRegion, int]] = {}
    for file in files:
        for region in compile_graph(load(file), target).regions:
            if not region.launches or not region.complete:
                continue
            texts = launched(region, target)
            graph, first, count = found.get(texts, (file.stem, region, 0))
            found[texts] = (graph, first, count + 1)
    return list(found.values())


def timed_maker(make: Make, row: Row) -> Make:
    """``make``, with the time it takes up to the end of the first call put into ``row``."""

    def made(inputs: Sequence[Any]) -> Provider:
        began = time.perf_counter()
        provider = make(inputs)
        row.inductor_s = time.perf_counter() - began
        first = True

        def run(tensors: Sequence[Any]) -> Any:
            nonlocal first
            if not first:
                return provider(tensors)
            first = False
            began = time.perf_counter()
            outputs = provider(tensors)
            torch.cuda.synchronize()
            row.inductor_s += time.perf_counter() - began
            return outputs

        return run

    return made


def examine(bench: Bench, graph: str, region: CompiledRegion, count: int) -> Row:
    """Tune one region both ways, then time it; whatever goes wrong is in the row."""
    texts = launched(region, bench.target)
    new = len({t for t in texts if t not in bench.configs})
    row = Row(graph, region.region.name, count, len(texts), new)
    row.ours_s = bench.tune(texts)
    device = torch.device("cuda")
    tuned = compiled_kernels(bench.target, bench.configs, bench.cache)
    untuned = compiled_kernels(bench.target, {}, bench.cache)
    source = region.region.graph
    makers: dict[str, Make] = {
        OURS: lambda _: region_provider(region, tuned, device, bench.target),
        TUNED: timed_maker(maker(TUNED, source, device), row),
    }
    if bench.search is not None:
        makers["first choice"] = lambda _: region_provider(region, untuned, device, bench.target)
    try:
        peers = compare(region_task(source, device), makers, bench.timer)
    except Exception as error:  # noqa: BLE001 - one region's failure must not end the run
        traceback.print_exc(limit=-3)
        row.reasons["comparison"] = f"{type(error).__name__}: {error}"[:300]
        return row
    finally:
        torch.compiler.reset()
        torch.cuda.empty_cache()
    row.passed = peers[OURS].check is Check.PASSED
    row.ours_ms = peers[OURS].ms
    row.first_ms = peers["first choice"].ms if bench.search is not None else row.ours_ms
    row.inductor_ms = peers[TUNED].ms
    row.reasons = {name: peer.reason for name, peer in peers.items() if peer.reason}
    return row


def line(row: Row) -> str:
    """One row of the table."""

    def us(ms: float | None) -> str:
        return "-" if ms is None else f"{ms * 1000:.1f}"

    ratio = row.inductor_ms / row.ours_ms if row.ours_ms and row.inductor_ms else None
    return (
        f"{row.region[-30:]:30} {row.count:3} {row.kernels:3} {us(row.first_ms):>8} "
        f"{us(row.ours_ms):>8} {us(row.inductor_ms):>8} "
        f"{'-' if ratio is None else format(ratio, '.3f'):>6} {row.ours_s:6.1f} "
        f"{row.inductor_s:6.1f} {'ok' if row.passed else 'WRONG'}"
    )


def mean(values: Sequence[float]) -> float:
    """Geometric mean; NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(rows: Sequence[Row], total: int) -> str:
    """The last lines: what was covered, ratios, seconds."""
    timed = [r for r in rows if r.ours_ms and r.inductor_ms]
    ratios = [r.inductor_ms / r.ours_ms for r in timed if r.inductor_ms and r.ours_ms]
    gains = [r.first_ms / r.ours_ms for r in timed if r.first_ms and r.ours_ms]
    untuned = {r.region: r.inductor_ms / r.first_ms for r in timed if r.inductor_ms and r.first_ms}
    behind = sorted((ratio, name) for name, ratio in untuned.items() if ratio < BEHIND)
    ours, theirs = (sum(r.ours_s for r in timed), sum(r.inductor_s for r in timed))
    return (
        f"{len(timed)} of {total} distinct regions timed, {sum(r.passed for r in rows)} right\n"
        f"speed against tuned Inductor, geometric mean: {mean(ratios):.3f} (want 1.0 or more)\n"
        f"first choices against tuned Inductor, geometric mean: {mean(list(untuned.values())):.3f} "
        f"(want 1.20 or more); below {BEHIND}: {len(behind)} "
        f"({', '.join(f'{name} {ratio:.2f}' for ratio, name in behind)})\n"
        f"first choice over tuned, geometric mean: {mean(gains):.3f} (heuristics' share "
        f"{1 / mean(gains) if gains else math.nan:.3f}, want 0.95 or more)\n"
        f"seconds of tuning: ours {ours:.0f} ({sum(r.new for r in timed)} kernels), "
        f"Inductor {theirs:.0f} (compiling included)"
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="graph files (default: the suite)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop before this long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--search", default="guided", help="none: ours is not tuned")
    parser.add_argument("--skip", type=Path, help="tuned.json of an earlier run")
    parser.add_argument("--part", default="1/1", help="2/3: the second of three, for a GPU each")
    return parser.parse_args()


def main() -> int:
    """Run; 1 if some region is wrong."""
    given = arguments()
    began = time.monotonic()
    warnings.filterwarnings("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    target = current_target()
    files = given.graphs or sorted((ROOT / "suites" / "graphs").glob("*.py"))
    regions = distinct_regions(files, target)
    total = len(regions)
    earlier = json.loads(given.skip.read_text())["regions"] if given.skip else []
    rows = [Row(**r) for r in earlier]
    known = {(r.graph, r.region) for r in rows}
    regions = [r for r in regions if (r[0], r[1].region.name) not in known]
    random.Random(0).shuffle(regions)
    part, parts = map(int, given.part.split("/"))
    regions = regions[part - 1 :: parts]
    cache = Path(tempfile.mkdtemp(prefix="harness-tuned-"))
    print(f"{torch.cuda.get_device_name()}; {len(regions)} regions to do", flush=True)
    with CompilePool(given.jobs, cache) as pool:
        search = None if given.search == "none" else search_named(given.search)
        bench = Bench(target, CudaTimer(), cache, pool, search)
        for graph, region, count in regions:
            if time.monotonic() - began > given.seconds - 20:
                print("time is up")
                break
            rows.append(examine(bench, graph, region, count))
            print(line(rows[-1]), flush=True)
            data = {
                "device": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "method": METHOD,
                "search": given.search,
                "trials": bench.trials,
                "summary": summary(rows, total),
                "regions": [asdict(r) for r in rows],
            }
            (given.out / "tuned.json").write_text(json.dumps(data, indent=1))
    print(f"{time.monotonic() - began:.0f} s; {bench.trials} trials")
    print(summary(rows, total))
    return 0 if all(r.passed for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
