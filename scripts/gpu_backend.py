"""``torch.compile`` with this backend, with Inductor, and eager, on the GPU at hand.

    python scripts/gpu_backend.py --out FILE [--ways harness …] [CASE …]

Each case is a step of a model: its results (outputs, gradients, updated parameters) in this
backend are compared with eager's, both against eager in float64 where the model allows it;
then steps are timed back to back with device events, the host's work included. Prints a
Markdown table; the file gets everything as JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402
from harness.files import write_atomically  # noqa: E402
from harness.measure.timer.graph_timer import CudaTimer  # noqa: E402
from harness.records.machine import fingerprint  # noqa: E402

STEPS, REPEATS = 10, 9

Step = Callable[[], Sequence[torch.Tensor]]
"""One step; what it computed, to be compared."""
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


class Block(nn.Module):
    """A pre-norm transformer block with causal attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, width) to the same."""
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Residual(nn.Module):
    """A residual block as in ResNet: convolutions, batch norms, ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, channels, height, width) to the same."""
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(self.norm2(self.second(y)) + x)


def block(compile_with: Compile) -> Step:
    """Forward and backward of a bf16 transformer block."""
    model = Block(1024, 16).cuda().bfloat16()
    x = torch.randn(8, 1024, 1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    return training_step(model, compile_with(model), lambda run: run(x).float().square().mean(), x)


def block_inference(compile_with: Compile) -> Step:
    """Forward of a bf16 transformer block without gradients."""
    model = Block(1024, 16).cuda().bfloat16()
    x = torch.randn(8, 1024, 1024, device="cuda", dtype=torch.bfloat16)
    run = compile_with(model)

    def step() -> list[torch.Tensor]:
        with torch.no_grad():
            return [run(x)]

    return step


def gpt2(compile_with: Compile) -> Step:
    """Loss and gradients of a GPT-2 with 4 layers and its full vocabulary, bf16."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    model = GPT2LMHeadModel(config).cuda().bfloat16()
    tokens = torch.randint(0, config.vocab_size, (4, 512), device="cuda")

    def loss(run: Callable[..., Any]) -> torch.Tensor:
        found: torch.Tensor = run(input_ids=tokens, labels=tokens).loss
        return found

    return training_step(model, compile_with(model), loss)


def residual(compile_with: Compile) -> Step:
    """Forward and backward of a float32 residual block, batch statistics updated."""
    model = Residual(128).cuda()
    x = torch.randn(32, 128, 28, 28, device="cuda", requires_grad=True)
    run = compile_with(model)
    step = training_step(model, run, lambda run: run(x).square().mean(), x)
    return lambda: [*step(), *(b for b in model.buffers() if b.is_floating_point())]


def adamw(compile_with: Compile) -> Step:
    """An AdamW step over 48 tensors of a transformer's sizes, float32."""
    sizes = [(1024, 1024), (4096, 1024), (1024,), (3072, 1024)] * 12
    parameters = [nn.Parameter(torch.randn(size, device="cuda")) for size in sizes]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, capturable=True, foreach=True)
    optimizer.step()
    run = compile_with(optimizer.step)

    def step() -> list[torch.Tensor]:
        run()
        return list(parameters)

    return step


CASES: dict[str, Callable[[Compile], Step]] = {
    "transformer block, training": block,
    "transformer block, inference": block_inference,
    "GPT-2, 4 layers, loss and gradients": gpt2,
    "residual block, training": residual,
    "AdamW, 48 tensors": adamw,
}


def training_step(
    model: nn.Module,
    run: Callable[..., Any],
    loss_of: Callable[[Callable[..., Any]], torch.Tensor],
    x: torch.Tensor | None = None,
) -> Step:
    """A step that computes a loss and all gradients."""

    def step() -> list[torch.Tensor]:
        model.zero_grad()
        if x is not None:
            x.grad = None
        loss = loss_of(run)
        loss.backward()  # type: ignore[no-untyped-call]
        found = [p.grad for p in model.parameters() if p.grad is not None]
        if x is not None and x.grad is not None:
            found.append(x.grad)
        return [loss.detach(), *found]

    return step


@dataclass
class Row:
    """One case: milliseconds and compile seconds by way of running, the largest deviation
    from eager in units of the tensors' largest values, what the compiler reported."""

    case: str
    ms: dict[str, float] = field(default_factory=dict)
    compile_seconds: dict[str, float] = field(default_factory=dict)
    deviation: dict[str, float] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    compilers: list[Compiler] = field(default_factory=list)


def examine(case: str, ways: dict[str, Callable[[Row], Compile]]) -> Row:
    """Every way of running one case; what goes wrong is in the row."""
    row = Row(case)
    expected: list[torch.Tensor] = []
    for name, way in ways.items():
        torch.compiler.reset()
        torch.manual_seed(0)
        try:
            step = CASES[case](way(row))
            began = time.perf_counter()
            first = [t.detach().clone() for t in step()]
            torch.cuda.synchronize()
            row.compile_seconds[name] = round(time.perf_counter() - began, 2)
            if name == "eager":
                expected = first
            row.deviation[name] = deviation(first, expected)
            row.ms[name] = time_steps(step)
        except Exception as error:  # noqa: BLE001 - one way's failure must not end the rest
            row.failed[name] = f"{type(error).__name__}: {error}"[:2000]
        torch.cuda.empty_cache()
    row.reports = [str(report) for c in row.compilers[:1] for report in c.reports]
    row.compilers.clear()
    print(json.dumps({**asdict(row), "reports": len(row.reports)}), flush=True)
    return row


def deviation(got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> float:
    """The largest difference over the largest value, of the worst tensor."""
    if len(got) != len(expected):
        raise ValueError(f"{len(got)} results, eager has {len(expected)}")
    worst = 0.0
    for a, b in zip(got, expected, strict=True):
        scale = float(b.double().abs().max()) or 1.0
        worst = max(worst, float((a.double() - b.double()).abs().max()) / scale)
    return worst


def time_steps(step: Step) -> float:
    """Milliseconds of one step, the median of several rows of steps back to back."""
    for _ in range(5):
        step()
    found = []
    for _ in range(REPEATS):
        cuda: Any = torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(STEPS):
            step()
        end.record()
        torch.cuda.synchronize()
        found.append(float(begin.elapsed_time(end)) / STEPS)
    return statistics.median(found)


def ways() -> dict[str, Callable[[Row], Compile]]:
    """How a step can be run."""

    def ours(timer: Callable[[], CudaTimer | None]) -> Callable[[Row], Compile]:
        def way(row: Row) -> Compile:
            compiler = Compiler(devices=Devices(timer()))

            def compile_with(function: Callable[..., Any]) -> Callable[..., Any]:
                compiled: Callable[..., Any] = torch.compile(function, backend=compiler)
                return compiled

            row.compilers.append(compiler)
            return compile_with

        return way

    return {
        "eager": lambda _: lambda function: function,
        "inductor": lambda _: torch.compile,
        "harness": ours(lambda: None),
        "harness, tuned": ours(CudaTimer),
    }


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    names = list(ways_names())
    lines = [
        "| step | " + " | ".join(f"{n} ms" for n in names) + " | off eager | inductor off eager |",
        "|---|" + "---:|" * (len(names) + 2),
    ]
    for row in rows:
        times = [f"{row.ms[n]:.3f}" if n in row.ms else "failed" for n in names]
        offs = [row.deviation.get(n) for n in ("harness", "inductor")]
        shown = ["–" if off is None else f"{off:.1e}" for off in offs]
        lines.append(" | ".join([f"| {row.case}", *times, *shown]) + " |")
    return "\n".join(lines)


def ways_names() -> tuple[str, ...]:
    """The ways in the order of the table's columns."""
    return ("eager", "inductor", "harness", "harness, tuned")


def main() -> int:
    """Run; 1 if a case failed in this backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", help="parts of cases' names (default: all)")
    parser.add_argument("--ways", nargs="+", choices=ways_names(), default=list(ways_names()))
    parser.add_argument("--out", type=Path, help="file for the results")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_float32_matmul_precision("high")
    chosen = [c for c in CASES if not given.cases or any(part in c for part in given.cases)]
    machine = asdict(fingerprint())
    known = {name: way for name, way in ways().items() if name in ("eager", *given.ways)}
    rows = [examine(case, known) for case in chosen]
    if given.out:
        data = {"machine": machine, "rows": [asdict(row) for row in rows]}
        write_atomically(given.out, json.dumps(data, indent=1).encode())
    print(table(rows))
    return 1 if any("harness" in row.failed for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
