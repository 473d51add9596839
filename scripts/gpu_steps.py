"""Whole training steps of models on the GPU at hand: times, and where they go, kernel by kernel.

    python scripts/gpu_steps.py --out DIR [--seconds 60]

Eager mode, this backend untuned and Inductor, each recorded too (``mode="reduce-overhead"``), one
after the other in one process; ``steps.txt`` in the folder gets a profile of each.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402

WAYS = ("eager", "ours", "recorded", "inductor", "inductor recorded")


def bert() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Four layers of BERT with its vocabulary of 30522."""
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig(num_hidden_layers=4)).cuda().bfloat16()
    tokens = torch.randint(0, 30522, (16, 512), device="cuda")
    return model, {"input_ids": tokens, "labels": tokens}


def gpt2() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Four layers of GPT-2 with its vocabulary of 50257."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    model = GPT2LMHeadModel(config).cuda().bfloat16()
    tokens = torch.randint(0, 50257, (4, 512), device="cuda")
    return model, {"input_ids": tokens, "labels": tokens}


def step_of(make: Callable[[], Any], way: str, compiler: Compiler) -> Callable[[], Any]:
    """A training step of a model, without an optimizer."""
    torch.manual_seed(0)
    torch.compiler.reset()
    model, inputs = make()
    run: Any = model
    begin: Any = torch.compiler.cudagraph_mark_step_begin
    if way == "inductor":
        run = torch.compile(model, options={"autotune_local_cache": False})
    elif way == "inductor recorded":
        run = torch.compile(model, mode="reduce-overhead")
    elif way != "eager":
        run = torch.compile(model, backend=compiler)

    def step() -> Any:
        model.zero_grad()
        if way == "inductor recorded":
            begin()
        loss = run(**inputs).loss
        loss.backward()
        return loss.detach()

    return step


def measured(make: Callable[[], Any], way: str) -> list[str]:
    """A line about one way of running a model, and its profile."""
    from torch.profiler import ProfilerActivity, profile

    cuda: Any = torch.cuda
    compiler = Compiler(devices=Devices(jobs=8), reduce_overhead=way == "recorded")
    step = step_of(make, way, compiler)
    cuda.reset_peak_memory_stats()
    losses = [float(step()) for _ in range(6)]
    peak = cuda.max_memory_allocated() / 1e9
    first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    cuda.synchronize()
    began = time.perf_counter()
    first.record()
    for _ in range(10):
        step()
    last.record()
    host = (time.perf_counter() - began) * 100
    cuda.synchronize()
    whole = first.elapsed_time(last) / 10
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        cuda.synchronize()
    averages = seen.key_averages()
    busy = sum(a.self_device_time_total for a in averages) / 1e3
    line = f"{make.__name__} {way}: {whole:.2f} ms, host {host:.2f}, kernels {busy:.2f}"
    line += f", peak {peak:.2f} GB, losses {losses[0]:.4f} {losses[-1]:.4f}"
    for found in compiler.recordings.values():
        line += f"; {found.replays} replays, {found.plain} plain {found.refused}"
    compiler.close()
    return [line, averages.table("self_device_time_total", 40, 110)]


def steps(out: Path, until: float) -> None:
    """Times and profiles of whole steps."""
    with (out / "steps.txt").open("w") as file:
        for make in (bert, gpt2):
            for way in WAYS:
                if time.time() > until:
                    return
                try:
                    lines = measured(make, way)
                except Exception as error:  # noqa: BLE001 - one way's failure must not end the rest
                    lines = [f"{make.__name__} {way}: {type(error).__name__}: {error}"[:400]]
                print("STEP", lines[0], flush=True)
                print(*lines, sep="\n", file=file, flush=True)
                torch.cuda.empty_cache()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    steps(given.out, time.time() + given.seconds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
