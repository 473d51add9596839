"""How long kernels of the default suite take to be ready in a fresh process.

    python scripts/warm_start.py --out FILE [--tuned] [GRAPH …]

The first process compiles (with ``--tuned`` it also times the candidates), the second is fresh
and finds what the first one kept. Both launch every kernel once. For each: milliseconds from
the module's text to its first launch, and how often a kernel was compiled or timed, which in
the second process should be never.
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def texts_of(names: list[str]) -> list[str]:
    """The emitted modules of these graphs (of the whole suite if there are none)."""
    from harness.graph.suite import load_suite
    from harness.graph.text import load
    from harness.options import current
    from harness.pipeline import compile_graph
    from harness.target import H100

    entries = load_suite("default", current().suites).entries
    files = [entry.path(name) for entry in entries for name in entry.graph_names]
    chosen = [f for f in files if not names or any(name in f.stem for name in names)]
    found = (m.text for f in chosen for m, _ in compile_graph(load(f), H100).distinct())
    return list(dict.fromkeys(found))


def child(texts: Path, cache: Path, tuned: bool) -> dict[str, Any]:
    """Launch every kernel once in this process."""
    began = time.perf_counter()
    import torch

    from harness.measure.timer.graph_timer import CudaTimer, RecordedSampler
    from harness.runtime.compile import static
    from harness.runtime.device import current_target
    from harness.runtime.launch.host import raw_stream
    from harness.runtime.launch.selecting import SelectedKernels
    from harness.runtime.tune.tuning_cache import TuningCache, device_identity

    torch.zeros(1, device="cuda")
    counts = {"compiled": 0, "timed": 0}
    timer = CudaTimer() if tuned else None
    counted(CudaTimer, "measure", counts, "timed")
    counted(RecordedSampler, "rounds", counts, "timed")
    counted(static, "compile_for", counts, "compiled")
    started = time.perf_counter() - began
    tuning_cache = TuningCache(cache / "tuned", device_identity()) if tuned else None
    kernels = SelectedKernels(current_target(), timer, cache, 0, 1, tuning_cache)
    ms, failed = [], []
    for text in pickle.loads(texts.read_bytes()):  # noqa: S301 - written by the parent
        args = kernels.get(text).loaded.get_args("cuda")
        kernels._kernels.clear()
        torch.cuda.synchronize()
        stream = raw_stream()(0)
        began = time.perf_counter()
        try:
            kernels.get(text).kernel(stream, *args)
        except Exception as error:  # noqa: BLE001 - one kernel must not end the rest
            failed.append(str(error)[:300])
        ms.append(1e3 * (time.perf_counter() - began))
        del args
    torch.cuda.synchronize()
    return {"start_s": started, "ms": ms, "failed": failed, **counts}


def counted(owner: Any, name: str, counts: dict[str, int], what: str) -> None:
    """Have the function ``name`` of ``owner`` (a class or module) count its calls as ``what``."""
    function = getattr(owner, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        counts[what] += 1
        return function(*args, **kwargs)

    setattr(owner, name, counting)


def main() -> int:
    """Run both processes; 1 if the second one compiled or timed something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", help="parts of graphs' names (default: all)")
    parser.add_argument("--tuned", action="store_true", help="time the candidates as well")
    parser.add_argument("--out", type=Path, help="file for every number")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        texts, cache = given.child
        print(json.dumps(child(texts, cache, given.tuned)))
        return 0
    with tempfile.TemporaryDirectory(prefix="harness-warm-") as folder:
        texts = Path(folder) / "texts"
        texts.write_bytes(pickle.dumps(texts_of(given.graphs)))
        command = [sys.executable, __file__, "--child", str(texts), f"{folder}/cache"]
        command += ["--tuned"] if given.tuned else []
        runs = {}
        for name in ("first", "second"):
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            runs[name] = json.loads(done.stdout.splitlines()[-1])
    print("| process | kernels | compiled | timed | median ms | slowest ms | all, s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, run in runs.items():
        ms = run["ms"]
        numbers = f"{statistics.median(ms):.2f} | {max(ms):.2f} | {sum(ms) / 1e3:.2f}"
        print(f"| {name} | {len(ms)} | {run['compiled']} | {run['timed']} | {numbers} |")
    for failure in {f for run in runs.values() for f in run["failed"]}:
        print(failure, file=sys.stderr)
    if given.out:
        from harness.records.machine import fingerprint

        data = {"machine": asdict(fingerprint()), **runs}
        given.out.write_text(json.dumps(data, indent=1))
    return 1 if runs["second"]["compiled"] or runs["second"]["timed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
