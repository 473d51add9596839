"""Whole training steps of models on the GPU at hand: times, and where they go, kernel by kernel.

    python scripts/gpu_steps.py --out DIR [--seconds 60]

Eager mode, this backend untuned and Inductor one after the other in one process; ``steps.txt`` in
the folder gets a profile of each.
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


def step_of(make: Callable[[], Any], way: str) -> Callable[[], None]:
    """A training step of a model, without an optimizer."""
    torch.manual_seed(0)
    torch.compiler.reset()
    model, inputs = make()
    run: Any = model
    if way == "inductor":
        run = torch.compile(model, options={"autotune_local_cache": False})
    elif way == "untuned":
        run = torch.compile(model, backend=Compiler(devices=Devices(jobs=8)))

    def step() -> None:
        model.zero_grad()
        run(**inputs).loss.backward()

    return step


def steps(out: Path, until: float) -> None:
    """Times and profiles of whole steps."""
    cuda: Any = torch.cuda
    from torch.profiler import ProfilerActivity, profile

    with (out / "steps.txt").open("w") as file:
        for make in (bert, gpt2):
            for way in ("eager", "untuned", "inductor"):
                if time.time() > until:
                    return
                step = step_of(make, way)
                for _ in range(3):
                    step()
                first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
                cuda.synchronize()
                began = time.perf_counter()
                first.record()
                for _ in range(5):
                    step()
                last.record()
                host = (time.perf_counter() - began) * 200
                cuda.synchronize()
                whole = first.elapsed_time(last) / 5
                with profile(activities=[ProfilerActivity.CUDA]) as seen:
                    step()
                    cuda.synchronize()
                averages = seen.key_averages()
                busy = sum(a.self_device_time_total for a in averages) / 1e3
                line = f"{make.__name__} {way}: {whole:.2f} ms, host {host:.2f}, kernels {busy:.2f}"
                print("STEP", line, flush=True)
                table = averages.table("self_device_time_total", 40, 110)
                print(line, table, sep="\n", file=file, flush=True)


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
