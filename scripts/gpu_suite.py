"""Ours, Inductor and eager on every region of the suite, on the GPU at hand.

    python scripts/gpu_suite.py --out DIR [--seconds 540] [--jobs N] [GRAPH …]

For every graph: generate kernels, compile all candidates ahead in parallel processes, tune
and time each distinct kernel, then run each distinct region as a whole through the three,
compare results with float64 and time them in turns (CUDA graphs, cold L2). Stops starting
regions before ``--seconds`` are over and keeps what it has: ``gpu_suite.json`` is written
after every graph, a run file of the kernels at the end. The table and the geometric means
come last.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime as dt
import json
import math
import multiprocessing
import os
import sys
import tempfile
import threading
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

from harness.bench.cuda import warm_jobs  # noqa: E402
from harness.bench.machine import commit_of, fingerprint  # noqa: E402
from harness.bench.measure import Measurement, Measurer, release  # noqa: E402
from harness.bench.peers import RegionComparison, compare, eager, inductor  # noqa: E402
from harness.bench.record import (  # noqa: E402
    GraphRecord,
    KernelRecord,
    LibraryCall,
    Machine,
    Run,
    SampleSet,
)
from harness.bench.regional import compiled_launch, region_provider  # noqa: E402
from harness.bench.roofline import copy_bandwidth  # noqa: E402
from harness.bench.timer import METHOD, CudaTimer  # noqa: E402
from harness.compiled import CompiledGraph, CompiledRegion  # noqa: E402
from harness.errors import HarnessError  # noqa: E402
from harness.graph.model import Graph  # noqa: E402
from harness.graph.replay import random_inputs  # noqa: E402
from harness.graph.text import load  # noqa: E402
from harness.heuristics.facts import Config  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.runtime.compiling import CompilePool  # noqa: E402
from harness.runtime.device import current_target  # noqa: E402
from harness.runtime.launcher import LauncherCache  # noqa: E402
from harness.runtime.module import config_dict, write_atomically  # noqa: E402
from harness.target import Target  # noqa: E402
from harness.track import store  # noqa: E402

RESERVE_SECONDS = 15.0
"""Kept back for the table and the files."""


@dataclass
class RegionRow:
    """A region; ``count`` equal ones in its graph were timed once."""

    graph: str
    region: str
    count: int
    kernels: int
    nbytes: int
    passed: bool
    ours_ms: float | None
    inductor_ms: float | None
    eager_ms: float | None
    errors: dict[str, float | None]
    reasons: dict[str, str]
    samples: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Suite:
    """What the run needs throughout, and what it has found so far."""

    target: Target
    timer: CudaTimer
    measurer: Measurer
    launchers: LauncherCache
    cache: Path
    deadline: float
    budget_ms: float
    machine: Machine
    regions: list[RegionRow] = field(default_factory=list)
    graphs: list[GraphRecord] = field(default_factory=list)
    measured: dict[str, Measurement] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Print a line and keep it."""
        self.notes.append(text)
        print(text, flush=True)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline


def compiled_graphs(files: Sequence[Path], suite: Suite) -> list[CompiledGraph]:
    """Kernels of every graph; failures are noted."""
    found = []
    for file in files:
        try:
            found.append(compile_graph(load(file), suite.target))
        except HarnessError as error:
            suite.note(f"{file.name}: {error}")
            continue
        for failure in found[-1].failures:
            suite.note(f"{found[-1].name}: {failure.region}, {failure.stage}: {failure.error.what}")
    return found


def compile_ahead(graphs: Sequence[CompiledGraph], suite: Suite, jobs: int) -> None:
    """Fill both compilers' caches from parallel processes, before anything is timed: while
    they run they take cores and, Inductor's, the GPU."""
    began = time.monotonic()
    texts = dict.fromkeys(k.module.text for graph in graphs for k in graph.kernels)
    todo = warm_jobs(list(texts), suite.target, suite.cache)
    regions = [region.region.graph for graph in graphs for region, _ in distinct_regions(graph)]
    workers = max(1, jobs // 2)
    limit = began + 0.4 * (suite.deadline - began)

    def ours() -> None:
        with CompilePool(workers, suite.cache) as pool:
            for _ in pool.warm_each(todo):
                if time.monotonic() > limit:
                    return

    thread = threading.Thread(target=ours, daemon=True)
    thread.start()
    left = warm_inductor(regions, workers, limit)
    thread.join(max(0.0, limit - time.monotonic()) + 5.0)
    suite.note(
        f"{len(todo)} candidates and {len(regions) - left} of {len(regions)} Inductor regions "
        f"compiled ahead in {time.monotonic() - began:.0f} s"
    )


def warm_inductor(regions: Sequence[Graph], workers: int, limit: float) -> int:
    """Compile with Inductor in ``workers`` processes until ``limit``; how many are left."""
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context)
    futures = [pool.submit(warm_region, graph) for graph in regions]
    done, _ = concurrent.futures.wait(futures, timeout=max(0.0, limit - time.monotonic()))
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=len(done) == len(futures), cancel_futures=True)
    for process in processes:
        process.terminate()
    return len(futures) - len(done)


def warm_region(graph: Graph) -> str:
    """Compile and run one region with Inductor; why not, if it cannot."""
    warnings.filterwarnings("ignore")
    inputs = random_inputs(graph, "cuda")
    try:
        inductor(graph, inputs)(inputs)
    except Exception as error:  # noqa: BLE001 - it fails again, with its reason, when timed
        return f"{type(error).__name__}: {error}"
    finally:
        torch.compiler.reset()
        release("cuda")
    return ""


def examine(graph: CompiledGraph, suite: Suite) -> None:
    """Tune and time the kernels of one graph, then its regions."""
    for kernel in graph.kernels:
        text = kernel.module.text
        if text not in suite.measured and not suite.over:
            suite.measured[text] = suite.measurer.measure(text)
            if suite.measured[text].reason:
                suite.note(f"{graph.name}: {kernel.name}: {suite.measured[text].reason}")
    suite.graphs.append(record(graph, suite))
    configs = {t: m.config for t, m in suite.measured.items() if m.config is not None}
    for region, count in distinct_regions(graph):
        if suite.over:
            suite.note(f"{graph.name}: time is up")
            return
        suite.regions.append(examine_region(graph, region, count, configs, suite))


def distinct_regions(graph: CompiledGraph) -> list[tuple[CompiledRegion, int]]:
    """Regions that launch other kernels than the ones before, and how often each occurs."""
    found: dict[tuple[str, ...], tuple[CompiledRegion, int]] = {}
    for number, region in enumerate(graph.regions):
        if not region.launches and region.complete:
            continue
        texts = tuple(launch.kernel.module.text for launch in region.launches)
        key = texts if region.complete else (str(number),)
        first, count = found.get(key, (region, 0))
        found[key] = (first, count + 1)
    return list(found.values())


def examine_region(
    graph: CompiledGraph,
    region: CompiledRegion,
    count: int,
    configs: dict[str, Config],
    suite: Suite,
) -> RegionRow:
    """The three providers on one region; whatever goes wrong is in the row."""
    device = torch.device("cuda")
    source = region.region.graph
    launch = compiled_launch(suite.launchers, configs, suite.cache / "modules")
    try:
        found = compare(
            source,
            {
                "ours": lambda _: region_provider(region, launch, device),
                "inductor": lambda inputs: inductor(source, inputs),
                "eager": lambda _: eager(source, device),
            },
            suite.timer,
            device,
            suite.budget_ms,
        )
    except Exception as error:  # noqa: BLE001 - one region's failure must not end the run
        traceback.print_exc(limit=-3)
        found = RegionComparison(source.name)
        suite.note(f"{graph.name}: {region.region.name}: {type(error).__name__}: {error}"[:300])
    finally:
        suite.launchers.clear()
        torch.compiler.reset()
        release("cuda")
    return row_of(graph, region, count, found)


def row_of(
    graph: CompiledGraph, region: CompiledRegion, count: int, found: RegionComparison
) -> RegionRow:
    """A comparison as plain data, and as a line of output."""
    peers = found.peers
    times = {n: peers[n].ms if n in peers else None for n in ("ours", "inductor", "eager")}
    row = RegionRow(
        graph.name,
        region.region.name,
        count,
        len(region.launches),
        sum(launch.kernel.module.bytes_moved for launch in region.launches),
        found.passed,
        times["ours"],
        times["inductor"],
        times["eager"],
        {name: peer.error for name, peer in peers.items()},
        {name: peer.reason for name, peer in peers.items() if peer.reason},
        {n: list(p.samples.ms) for n, p in peers.items() if p.samples is not None},
    )
    print(line(row), flush=True)
    return row


def record(graph: CompiledGraph, suite: Suite) -> GraphRecord:
    """The graph's kernels as a run file keeps them."""
    kernels = []
    for module, launches in graph.distinct():
        found = suite.measured.get(module.text, Measurement(module.name, module.bytes_moved))
        kernels.append(
            KernelRecord(
                name=module.name,
                kind=module.category,
                bytes=module.bytes_moved,
                launches=launches,
                origins=module.origins,
                config=None if found.config is None else config_dict(found.config),
                ms=found.ms,
                gbps=found.gbps,
                fraction=found.fraction,
                sets=() if found.samples is None else (SampleSet(0, found.samples.ms),),
                reason=found.reason,
                module=module.text,
            )
        )
    calls = tuple(LibraryCall(op, n, why) for op, n, why in graph.report().library_calls)
    seconds = sum(seconds for _, seconds in graph.seconds)
    return GraphRecord(graph.name, calls, tuple(kernels), round(seconds, 6))


def text_of(ms: float | None) -> str:
    """Microseconds for a table."""
    return "-" if ms is None else f"{ms * 1000:.1f}"


def line(row: RegionRow) -> str:
    """One row of the table."""
    ratio = row.inductor_ms / row.ours_ms if row.ours_ms and row.inductor_ms else None
    state = "ok" if row.passed else "WRONG" if row.errors.get("ours") is not None else "none"
    return (
        f"{row.graph[:24]:24} {row.region[-22:]:22} {row.count:3} {row.kernels:3} "
        f"{row.nbytes / 1e6:8.1f} {text_of(row.ours_ms):>8} {text_of(row.inductor_ms):>8} "
        f"{text_of(row.eager_ms):>8} {'-' if ratio is None else format(ratio, '.2f'):>5} {state}"
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Exp of the mean logarithm; NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(suite: Suite) -> str:
    """The last lines: counts and geometric means over distinct regions."""
    both = [r for r in suite.regions if r.ours_ms and r.inductor_ms]
    ratios = [r.inductor_ms / r.ours_ms for r in both if r.inductor_ms and r.ours_ms]
    over_eager = [r.eager_ms / r.ours_ms for r in both if r.eager_ms and r.ours_ms]
    fractions = [m.fraction for m in suite.measured.values() if m.fraction]
    return (
        f"{len(suite.regions)} distinct regions, {sum(r.passed for r in suite.regions)} right, "
        f"{len(both)} timed against Inductor; {len(suite.measured)} distinct kernels\n"
        f"speed against eager, geometric mean: {geometric_mean(over_eager):.3f}\n"
        f"kernels' share of copy bandwidth, geometric mean: {geometric_mean(fractions):.3f}\n"
        f"speed against Inductor, geometric mean: {geometric_mean(ratios):.3f} (want 0.95 or more)"
    )


def write(out: Path, suite: Suite, facts: dict[str, Any]) -> None:
    """Everything so far, as one file."""
    data = {
        **facts,
        "summary": summary(suite),
        "notes": suite.notes,
        "regions": [asdict(r) for r in suite.regions],
        "kernels": [kernel_row(m) for m in suite.measured.values()],
    }
    write_atomically(out / "gpu_suite.json", json.dumps(data, indent=1).encode())


def kernel_row(found: Measurement) -> dict[str, Any]:
    """A kernel's measurement as plain data, trials included."""
    return {
        "name": found.name,
        "bytes": found.nbytes,
        "ms": found.ms,
        "gbps": found.gbps,
        "fraction": found.fraction,
        "config": None if found.config is None else config_dict(found.config),
        "reason": found.reason,
        "trials": [
            {"config": config_dict(t.config), "ms": t.ms, "reason": t.reason} for t in found.trials
        ],
    }


def run_of(suite: Suite, copy_gbps: float, complete: bool, given: str) -> Run:
    """The kernels as a run file, under the commit ``given``, else the checkout's."""
    commit = commit_of(ROOT, given)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    return Run(
        id=f"{now:%Y%m%d-%H%M%S}-{commit.name[:12] or 'no-commit'}",
        created=now.isoformat(),
        machine=suite.machine,
        target=suite.target.name,
        suite="default",
        commit=commit.name,
        dirty=commit.dirty,
        method=METHOD,
        copy_gbps=copy_gbps,
        complete=complete,
        graphs=tuple(suite.graphs),
    )


def busy(timer: CudaTimer) -> None:
    """Enqueue some tens of milliseconds of work, to read the clocks meanwhile."""
    for _ in range(500):
        timer.flush()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="graph files (default: the suite)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--cache", type=Path, help="folder for compiled kernels")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop before this long")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--tune-ms", type=float, default=10.0, help="per candidate")
    parser.add_argument("--budget-ms", type=float, default=120.0, help="per region and provider")
    parser.add_argument("--commit", default="", help="SHA (or SHA-dirty), where git knows none")
    return parser.parse_args()


def main() -> int:
    """Run; 1 if some region is wrong."""
    given = arguments()
    commit_of(ROOT, given.commit)  # a slip of the pen shows before anything is measured
    began = time.monotonic()
    warnings.filterwarnings("ignore")
    files = given.graphs or sorted((ROOT / "suites" / "graphs").glob("*.py"))
    cache = given.cache or Path(tempfile.gettempdir()) / "harness-gpu-suite"
    target, timer = current_target(), CudaTimer()
    copy = copy_bandwidth(timer)
    measurer = Measurer(target, timer, copy.gbps, cache, tune_ms=given.tune_ms, time_ms=40.0)
    launchers = LauncherCache(target, cache)
    deadline = began + given.seconds - RESERVE_SECONDS
    machine = fingerprint(lambda: busy(timer))
    suite = Suite(target, timer, measurer, launchers, cache, deadline, given.budget_ms, machine)
    suite.note(f"{torch.cuda.get_device_name()}, copy {copy.gbps:.0f} GB/s")
    facts = {"copy_gbps": copy.gbps, "machine": asdict(suite.machine), "method": METHOD}
    graphs = compiled_graphs(files, suite)
    suite.note(f"{len(graphs)} graphs compiled after {time.monotonic() - began:.0f} s")
    compile_ahead(graphs, suite, given.jobs)
    for graph in graphs:
        if suite.over:
            break
        examine(graph, suite)
        write(given.out, suite, facts)
    complete = len(suite.graphs) == len(graphs) and not suite.over
    path = store.save(given.out, run_of(suite, copy.gbps, complete, given.commit))
    print(
        f"{'graph':24} {'region':22} {'n':>3} {'k':>3} {'MB':>8} {'ours us':>8} "
        f"{'induc us':>8} {'eager us':>8} {'ratio':>5}"
    )
    print("\n".join(line(row) for row in suite.regions))
    print(f"run file {path}; {time.monotonic() - began:.0f} s")
    print(summary(suite))
    return 0 if all(r.passed for r in suite.regions) else 1


if __name__ == "__main__":
    raise SystemExit(main())
