"""Time every configuration template (``config_templates.py``) on kernels to learn from.

    python scripts/heuristics_sweep.py --out DIR [--seconds 120] [--jobs N] GRAPH…

GRAPHs are files, say those of ``scripts/learning_kernels.py``. Writes ``tunings.jsonl.gz`` as
``scripts/gpu_tuning.py`` does, for ``scripts/learn_heuristics.py``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch
from config_templates import search_space
from gpu_tuning import Output, compile_ahead, distinct_kernels, make_timer, tunings

from harness.target import H100


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time every configuration template.")
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    given = parser.parse_args()
    began = time.monotonic()
    given.out.mkdir(parents=True, exist_ok=True)
    cache = Path(tempfile.mkdtemp(prefix="harness-sweep-"))
    target = H100
    if torch.cuda.is_available():
        from harness.runtime.device import current_target

        target = current_target()
    kernels = distinct_kernels(given.graphs, target, cache)
    for kernel in kernels:
        kernel.wanted = list(
            dict.fromkeys((*kernel.loaded.configs, *search_space(kernel.facts, target).values()))
        )
    total = sum(len(k.wanted) for k in kernels)
    print(f"{len(kernels)} kernels, {total} configurations", flush=True)
    done = compile_ahead(kernels, target, cache, given.jobs, began + 0.7 * given.seconds)
    print(f"{done} compiled after {time.monotonic() - began:.0f} s", flush=True)
    output = Output(given.out / "tunings.jsonl.gz")
    for row in tunings(kernels, "wide", target, cache, make_timer(), began + given.seconds):
        output.add(row)
    print(f"{len(output.rows)} kernels timed after {time.monotonic() - began:.0f} s", flush=True)
    return 0 if output.rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
