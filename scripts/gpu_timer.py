"""What the timer is worth on the GPU at hand: its floor, its cold cache, its noise.

    python scripts/gpu_timer.py --out DIR [--processes 3] [--seconds 240] [--jobs N]

Prints the floor, the check that cold is cold, bandwidths by several kernels; then times every
distinct kernel of the default suite, under its first configuration, in several fresh processes
one after the other, and says how long that takes, how narrow the intervals are, and how much
of the variance is between processes. ``gpu_timer.json`` has the figures.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def module_texts(path: str) -> list[str]:
    """Kernels of one graph file."""
    from harness.graph.text import load
    from harness.pipeline import compile_graph
    from harness.target import H100

    return [k.module.text for k in compile_graph(load(Path(path)), H100).kernels]


def suite_texts(jobs: int) -> list[str]:
    """Distinct kernels of the suite, in a fixed order."""
    files = sorted(str(p) for p in (ROOT / "suites" / "graphs").glob("*.py"))
    files = [f for f in files if not f.endswith(".small.py")]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
        found = [text for texts in pool.map(module_texts, files) for text in texts]
    return list(dict.fromkeys(found))


def here() -> Any:
    """The device as a target."""
    from harness.runtime.device import current_target

    return current_target()


def self_checks() -> dict[str, Any]:
    """Floor, clocks, coldness, bandwidths."""
    import torch

    from harness.measure.timer import coldness, probes
    from harness.measure.timer.graph_timer import CudaTimer
    from harness.runtime.device import current_target

    began = time.monotonic()
    timer = CudaTimer()
    engine = timer.engine
    found: dict[str, Any] = {
        "start_s": time.monotonic() - began,
        "floor_us": engine.floor_ms * 1000,
        "launch_us": engine.launch_ms * 1000,
    }
    notes = [engine.flush() for _ in range(200)]
    engine.wait()
    clocks = [engine.clock_mhz(a, b) for a, b in zip(notes, notes[1:], strict=False)]
    known = [c for c in clocks if c is not None]
    found["clock"] = [len(known), len(clocks), min(known or [0]), max(known or [0])]
    probe: Any = probes
    device = torch.device("cuda")
    cold = coldness.examine(timer, current_target().l2_bytes, device, coldness.probe_read)
    found["coldness"] = {
        "cold": cold.cold, "telling": cold.telling, "flushed": cold.flushed,
        "elsewhere": cold.elsewhere, "copied": cold.copied, "cached": cold.cached,
        "memory": cold.memory,
    }  # fmt: skip
    found["bandwidth"] = bandwidths(timer, probe)
    found["external"] = external_floor()
    return found


def bandwidths(timer: Any, probe: Any) -> dict[str, float]:
    """GB/s of several ways to copy, read and write 1 GiB."""
    import torch

    n = 1 << 28
    a = torch.randint(-(1 << 31), 1 << 31, (n // 2,), dtype=torch.int64, device="cuda")
    a = a.view(torch.int32)
    b = torch.empty_like(a)
    found = {}

    def take(name: str, launch: Any, nbytes: int) -> None:
        samples = timer.measure(launch, 60.0)
        found[name] = nbytes / samples.median / 1e6

    take("copy torch", lambda: b.copy_(a), 8 * n)
    take("read torch", lambda: torch.sum(a.view(torch.float32).view(4096, -1), dim=1), 4 * n)
    take("write torch", lambda: b.fill_(12345), 4 * n)
    sums = torch.empty(n // 512, dtype=torch.int32, device="cuda")
    for block, warps in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 8), (8192, 16)):
        grid = (n // block,)
        tag = f"{block}/{warps}"

        def copy(block: int = block, warps: int = warps, grid: Any = grid) -> None:
            probe.copy[grid](a, b, BLOCK=block, num_warps=warps)

        def read(block: int = block, warps: int = warps, grid: Any = grid) -> None:
            probe.read[grid](a, sums, BLOCK=block, num_warps=warps)

        def write(block: int = block, warps: int = warps, grid: Any = grid) -> None:
            probe.write[grid](b, 7, BLOCK=block, num_warps=warps)

        take(f"copy {tag}", copy, 8 * n)
        take(f"read {tag}", read, 4 * n)
        take(f"write {tag}", write, 4 * n)
    return found


def external_floor() -> dict[str, Any]:
    """The floor if events were nodes of the graph."""
    import torch

    from harness.measure.timer import probes

    empty: Any = probes.empty
    x = torch.empty(1, device="cuda")
    empty[(1,)](x, num_warps=1)
    try:
        cuda: Any = torch.cuda
        marks = [cuda.Event(enable_timing=True, external=True) for _ in range(2)]
        graph = torch.cuda.CUDAGraph()
        side = cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            graph.capture_begin()
            marks[0].record()
            empty[(1,)](x, num_warps=1)
            marks[1].record()
            graph.capture_end()
        found = []
        for _ in range(100):
            graph.replay()
            torch.cuda.synchronize()
            found.append(float(marks[0].elapsed_time(marks[1])))
    except RuntimeError as error:
        return {"reason": str(error).splitlines()[0]}
    return {"us": 1000 * statistics.median(found)}


def measure_pass(out: str, deadline: float, process: int) -> None:
    """Time every kernel of ``texts.json`` in this process; lines of JSON."""
    warnings.filterwarnings("ignore")
    import torch

    from harness.measure import roofline
    from harness.measure.timer.graph_timer import CudaTimer
    from harness.measure.timer.state import summary
    from harness.records.timing import Work
    from harness.runtime import module as modules
    from harness.runtime.device import current_target
    from harness.runtime.tune.autotune import Compiler

    texts = json.loads((Path(out) / "texts.json").read_text())
    cache = Path(out) / "cache"
    target = current_target()
    began = time.monotonic()
    timer = CudaTimer()
    watch = timer.watch
    limits = roofline.measure(timer)
    if watch is not None:  # the first kernel waits for the clocks
        watch.patient_until = time.monotonic() + 3.0
    print(f"process {process}: {limits}, floor {1000 * timer.engine.floor_ms:.2f} µs", flush=True)
    start = time.monotonic() - began
    known = launches_of(Path(out) / "pass0.jsonl") if process else {}
    with (Path(out) / f"pass{process}.jsonl").open("w") as file:
        for number, text in enumerate(texts):
            if time.monotonic() > deadline:
                break
            begin = time.monotonic()
            row: dict[str, Any] = {"n": number, "process": process, "start": start}
            try:
                loaded = modules.load(text, cache / "modules")
                row["name"], row["bytes"] = loaded.name, loaded.bytes_moved
                args = loaded.get_args(device="cuda", seed=0)
                torch.cuda.synchronize()
                row["args_s"] = time.monotonic() - begin
                launch = Compiler(loaded, target, cache)(loaded.configs[0])
                found = timer.measure(Work(launch, args, known.get(number)), 300.0)
                row |= {
                    "median": found.median, "low": found.low, "high": found.high,
                    "stopped": found.stopped, "drift": found.drift, "k": found.launches,
                    "floor": timer.engine.floor_ms / found.median / found.launches,
                    "mhz": found.clock_mhz, "cycles": found.cycles,
                    "samples": len(found.ms), "method": found.method,
                    "excluded": found.excluded,
                    "ms": list(found.ms), "seconds": time.monotonic() - begin,
                }  # fmt: skip
            except Exception as error:  # noqa: BLE001 - a row
                row["error"] = f"{type(error).__name__}: {error}"[:300]
            file.write(json.dumps(row) + "\n")
            file.flush()
            args = launch = loaded = None  # type: ignore[assignment]  # memory goes back
            torch.cuda.empty_cache()
    if watch is not None:
        print(f"process {process}: {summary(watch.take())}", flush=True)
        watch.close()


def launches_of(path: Path) -> dict[int, int]:
    """Launches per sample that the first process found, by kernel."""
    rows = [json.loads(line) for line in path.open()]
    return {row["n"]: row["k"] for row in rows if "k" in row}


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for caches")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--jobs", type=int, default=16)
    given = parser.parse_args()
    deadline = time.monotonic() + given.seconds
    given.out.mkdir(parents=True, exist_ok=True)
    given.work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    texts = suite_texts(given.jobs)
    (given.work / "texts.json").write_text(json.dumps(texts))
    print(f"{len(texts)} kernels generated after {time.monotonic() - began:.0f} s", flush=True)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        target = pool.submit(here).result()
        checks = pool.submit(self_checks).result()
    print(json.dumps(checks, indent=1), flush=True)
    (given.out / "checks.json").write_text(json.dumps(checks, indent=1))
    compile_ahead(texts, target, given.work / "cache", given.jobs)
    print(f"compiled after {time.monotonic() - began:.0f} s", flush=True)
    for process in range(given.processes):
        if time.monotonic() > deadline - 20:
            break
        child = context.Process(target=measure_pass, args=(str(given.work), deadline, process))
        child.start()
        child.join()
        print(f"pass {process}: {time.monotonic() - began:.0f} s", flush=True)
        name = f"pass{process}.jsonl"
        (given.out / name).write_text((given.work / name).read_text())
        report(given.work)
    return 0


def compile_ahead(texts: list[str], target: Any, cache: Path, jobs: int) -> None:
    """Every kernel's first configuration, in parallel."""
    from harness.runtime.compile.static import CompileJob, CompilePool
    from harness.runtime.module import load

    with CompilePool(jobs, cache) as pool:
        pool.all([CompileJob(t, target, load(t, cache / "modules").configs[0]) for t in texts])


def report(work: Path) -> None:
    """What the passes so far come to."""
    rows = [json.loads(x) for p in sorted(work.glob("pass*.jsonl")) for x in p.open()]
    good = [r for r in rows if "median" in r]
    for row in rows:
        if "error" in row and row["process"] == 0:
            print(row.get("name"), row["error"])
    if not good:
        return
    latest = [r for r in good if r["process"] == max(r["process"] for r in good)]
    widths = sorted((r["high"] - r["low"]) / r["median"] for r in latest)
    seconds = sorted(r["seconds"] for r in latest)
    stopped: dict[str, int] = {}
    for row in latest:
        stopped[row["stopped"]] = stopped.get(row["stopped"], 0) + 1
    print(
        f"{len(latest)} kernels, start {latest[0]['start']:.1f} s; seconds a kernel mean "
        f"{statistics.mean(seconds):.3f} median {statistics.median(seconds):.3f} most "
        f"{seconds[-1]:.3f}; width median {statistics.median(widths):.4f} p90 "
        f"{widths[int(0.9 * len(widths))]:.4f} most {widths[-1]:.4f}; stopped {stopped}; drift "
        f"{sum(bool(r['drift']) for r in latest)}; floor most {max(r['floor'] for r in latest):.4f}"
        f"; samples median {statistics.median(r['samples'] for r in latest)}; left out "
        f"{sum(r['excluded'] for r in latest)} in {sum(r['excluded'] > 0 for r in latest)} kernels"
    )
    between = []
    for number in {r["n"] for r in good}:
        medians = [r["median"] for r in good if r["n"] == number]
        if len(medians) > 1:
            between.append(statistics.stdev(medians) / statistics.mean(medians))
    if between:
        between.sort()
        print(
            f"between processes, relative standard deviation: median "
            f"{statistics.median(between):.4f} p90 {between[int(0.9 * len(between))]:.4f} "
            f"most {between[-1]:.4f}"
        )


if __name__ == "__main__":
    raise SystemExit(main())
