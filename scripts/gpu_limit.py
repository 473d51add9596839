"""Kernels bound by memory against a copy: ours untuned and tuned, Inductor by itself and tuned,
and Liger's and QuACK's where those are installed.

    python scripts/gpu_limit.py --out DIR [--seconds 165] [CASE …]

One process times everything on the same inputs, each way recorded as a CUDA graph, the L2 cache
cold for all but the small cases. Before that, processes side by side compile it all into caches;
nothing that they chose is kept. A figure is the share of a copy's bandwidth at the bytes that have
to be moved: every input read once, every output written once. Then whole steps of two models.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import optimizer_steps  # noqa: E402
import row_libraries  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402
from harness.measure.timer.engine import recorded  # noqa: E402
from harness.measure.timer.graph_timer import CudaTimer  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ELEMENTS = 1 << 27
WARMERS = 15
TUNED = {"max_autotune_pointwise": True, "autotune_local_cache": False}
COMBO = {"combo_kernels": True, "autotune_local_cache": False}
WAYS = ("untuned", "tuned", "inductor", "inductor tuned")
FOREACH = (*optimizer_steps.STEPS, "200 small")
"""Families of many launches: timed with combos left out too, as ``separate``."""
SMALL = 1 << 24
"""Bytes below which a kernel is timed many times in a row, with what the cache holds."""
REST = 0.1
"""Seconds."""
aten: Any = torch.ops.aten


@dataclass(frozen=True)
class Case:
    """A function with its inputs, and the bytes that it has to move (0: inputs and outputs)."""

    family: str
    label: str
    function: Callable[..., Any]
    inputs: Callable[[], Sequence[Any]]
    moved: int = 0
    dynamic: bool = False
    """Compiled for sizes that change, too, as ``dynamic``."""
    random: bool = False
    """Draws random numbers: means are compared, not elements."""
    gradient: bool = False
    """With the gradients of its inputs."""

    @property
    def name(self) -> str:
        """What a row is called."""
        return f"{self.family} {self.label}"


def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Normal numbers on the device."""
    return torch.randn(shape, device=DEVICE).to(dtype)


def distinct(*shape: int) -> torch.Tensor:
    """Rows of different whole numbers: of equal ones a choice may name either."""
    return torch.rand(shape, device=DEVICE).argsort(-1).bfloat16()


def cross_entropy(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """By row."""
    return functional.cross_entropy(x.float(), t, reduction="none")


def loss_step(x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross entropy with its gradient."""
    wide = x.float()
    total = wide.logsumexp(-1, keepdim=True)
    loss = total - wide.gather(-1, t[:, None])
    hot = torch.arange(x.shape[1], device=x.device) == t[:, None]
    return loss, ((wide - total).exp() - hot.float()).to(x.dtype)


def rms_backward(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, r: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of the input and of the weight."""
    normal, grad = x.float() * r, dy.float()
    scaled = grad * w.float()
    dx = r * (scaled - normal * (scaled * normal).mean(-1, keepdim=True))
    return dx.to(x.dtype), (grad * normal).sum(0).to(w.dtype)


def layer_backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    mean: torch.Tensor,
    r: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor,
) -> Any:
    """Gradients of the input, of the weight and of the bias."""
    every = [True, True, True]
    return aten.native_layer_norm_backward(dy, x, [x.shape[1]], mean, r, w, b, every)


def rows(n: int) -> Iterator[Case]:
    """Everything along rows of ``n``."""
    m, label = ELEMENTS // n, f"{n // 1024}k" if n % 1024 == 0 else str(n)

    def norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (n,), w, 1e-6)

    def layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (n,), w, b)

    def targets() -> list[torch.Tensor]:
        return [random(m, n), torch.randint(0, n, (m,), device=DEVICE)]

    def probabilities() -> list[torch.Tensor]:
        return [random(m, n), random(m, n).softmax(-1)]

    yield Case("softmax", label, softmax, lambda: [random(m, n)])
    yield Case("cross entropy", label, cross_entropy, targets)
    if n != 50257:
        yield Case("rms norm", label, norm, lambda: [random(m, n), random(n)])
        yield Case("layer norm", label, layer, lambda: [random(m, n), random(n), random(n)])
    if n in (16384, 262144):
        yield from norms_backward(m, n, label)
        return
    yield Case("loss and gradient", label, loss_step, targets)
    if n == 50257:
        return
    yield Case("softmax backward", label, softmax_backward, probabilities)
    yield from norms_backward(m, n, label)


def norms_backward(m: int, n: int, label: str) -> Iterator[Case]:
    """Gradients of everything that a norm of ``m`` rows of ``n`` takes."""

    def one() -> torch.Tensor:
        return random(m, 1, dtype=torch.float32)

    def rms() -> list[torch.Tensor]:
        return [random(m, n), random(m, n), random(n), one()]

    def layer() -> list[torch.Tensor]:
        return [random(m, n), random(m, n), one(), one(), random(n), random(n)]

    yield Case("rms backward", label, rms_backward, rms)
    yield Case("layer backward", label, layer_backward, layer)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Along rows."""
    return torch.softmax(x, -1)


def softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> Any:
    """Along rows."""
    return aten._softmax_backward_data(dy, y, -1, y.dtype)


def small_nodes(xs: Any) -> Any:
    """Work on many small tensors that have nothing to do with each other."""
    return [torch.tanh(x) * 0.5 + 1.0 for x in xs]


def curves() -> Iterator[Case]:
    """Functions whose instructions may take longer than their bytes."""
    m, n = ELEMENTS // 4096, 4096

    def gated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.silu(x) * y

    def gelu_backward(dy: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        grad = aten.gelu_backward(dy, x)
        return grad, grad.sum(0)

    def two() -> list[torch.Tensor]:
        return [random(m, n), random(m, n)]

    tanh = functools.partial(functional.gelu, approximate="tanh")
    yield Case("curve", "gelu", functional.gelu, lambda: [random(m, n)])
    yield Case("curve", "gelu tanh", tanh, lambda: [random(m, n)])
    yield Case("curve", "gated silu", gated, two)
    yield Case("curve", "gelu backward and column sums", gelu_backward, two)


def pool(x: torch.Tensor) -> torch.Tensor:
    """3x3, stride 2."""
    return functional.max_pool2d(x, 3, 2, 1)


def embedding_backward(grad: torch.Tensor, index: torch.Tensor) -> Any:
    """Into a table of GPT-2's vocabulary."""
    return aten.embedding_dense_backward(grad, index, 50257, -1, False)


def relative_bias(table: torch.Tensor) -> torch.Tensor:
    """T5's bias between 512 positions."""
    place = torch.arange(512, device=table.device)
    far = place[:, None] - place[None, :]
    near = far.abs().clamp(min=1)
    log = 8 + (torch.log(near.float() / 8) / 2.772588722239781 * 8).to(torch.int64)
    bucket = torch.where(near < 8, near, log.clamp(max=15)) + (far < 0).to(torch.int64) * 16
    return table[bucket].permute(2, 0, 1).contiguous()


def gate(x: torch.Tensor) -> Any:
    """The best two of 8 experts and their shares."""
    shares, chosen = torch.softmax(x.float(), -1).topk(2, -1)
    return (shares / shares.sum(-1, keepdim=True)).to(x.dtype), chosen


def lists(*count: int, sizes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Lists of float32 tensors, positive so that roots are defined."""
    return [[random(*s, dtype=torch.float32).abs() for s in sizes] for _ in range(*count)]


def steps(label: str, sizes: Sequence[tuple[int, ...]]) -> Iterator[Case]:
    """What an optimizer does with all parameters of a model."""
    numel = sum(functools.reduce(int.__mul__, s) for s in sizes)
    for family, (function, each, moved) in optimizer_steps.STEPS.items():
        inputs = functools.partial(lists, each, sizes=sizes)
        yield Case(family, label, function, inputs, moved * numel)


def cases() -> list[Case]:
    """Everything, in the order in which it is timed."""
    hidden = [(64, 256)] * 200
    found = [*steps("gpt2", optimizer_steps.gpt2_sizes(6))]
    found += steps("llama", optimizer_steps.llama_sizes())
    found.append(Case("200 small", "", small_nodes, lambda: lists(1, sizes=hidden)))
    for n in (4096, 65536, 16384, 50257, 262144):
        found += rows(n)
    found += curves()
    found += [
        Case("max-pool", "", pool, lambda: [random(64, 64, 112, 112)]),
        Case(
            "embedding backward",
            "",
            embedding_backward,
            lambda: [random(32768, 768), torch.randint(0, 50257, (32768,), device=DEVICE)],
        ),
        Case("relative bias", "", relative_bias, lambda: [random(32, 12)]),
        Case("gate", "", gate, lambda: [distinct(16384, 8)]),
    ]
    return found


def ways(case: Case, asked: Sequence[str]) -> tuple[str, ...]:
    """How the case is run, in those ways that are ``asked`` for."""
    every = (*WAYS, *row_libraries.libraries(case.family))
    if case.family in FOREACH:
        every = ("untuned", "separate", *WAYS[2:])
    elif case.dynamic:
        every = (*every, "dynamic")
    return tuple(way for way in every if way in asked or not asked)


def compiled(case: Case, way: str, cache: Path, jobs: int) -> Callable[..., Any]:
    """The case's function by way of ``way``."""
    torch.compiler.reset()
    if (way, case.family) in row_libraries.FUNCTIONS:
        return row_libraries.FUNCTIONS[way, case.family]
    if not way.startswith("inductor"):
        timer = CudaTimer() if way == "tuned" else None
        backend = Compiler(devices=Devices(timer, cache, jobs), combo_kernels=way != "separate")
        return torch.compile(case.function, backend=backend, dynamic=way == "dynamic")
    options: dict[str, Any] = TUNED if way == "inductor tuned" else {"autotune_local_cache": False}
    if way == "inductor tuned" and case.family in FOREACH:
        options = COMBO
    return torch.compile(case.function, options=options, dynamic=False)


def tensors(value: Any) -> list[torch.Tensor]:
    """All tensors of a structure."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors(item)] if isinstance(value, list | tuple) else []


@functools.cache
def flush() -> Callable[[], Any]:
    """What reads so much that the cache holds nothing else, and nothing to write back, which a
    kernel that only reads would pay for (137 us instead of 124), and for so long that a replay is
    enqueued meanwhile, whatever else the processor does."""
    source = torch.ones(4096, 96 << 10, device=DEVICE)
    return functools.partial(torch.sum, source, 1, out=torch.empty(4096, device=DEVICE))


def milliseconds(run: Callable[[], Any], moved: int) -> float:
    """One call, replayed. Nothing is given back to the driver meanwhile, and there is a rest for
    what was: for some milliseconds after that kernels of 135 us took up to 15 longer."""
    cuda: Any = torch.cuda
    times = 20 if moved < SMALL else 1
    run()
    replay = recorded(lambda: [run() for _ in range(times)])
    flush()()
    cuda.synchronize()
    time.sleep(REST)
    found = []
    for _ in range(7):
        first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        if times == 1:
            flush()()
        first.record()
        replay()
        last.record()
        cuda.synchronize()
        found.append(first.elapsed_time(last) / times)
    return statistics.median(found)


def copied() -> float:
    """GB/s of a copy."""
    x = random(ELEMENTS)
    y = torch.empty_like(x)
    return 4 * ELEMENTS / milliseconds(lambda: y.copy_(x), 4 * ELEMENTS) / 1e6


def with_gradients(function: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """``function``, or its result with the gradients of its inputs."""
    if not case.gradient:
        return function

    def both(*inputs: torch.Tensor) -> Any:
        with_grad = [x.detach().requires_grad_() for x in inputs]
        result = function(*with_grad)
        return result.detach(), *torch.autograd.grad(result, with_grad, torch.ones_like(result))

    return both


def deviation(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], means: bool) -> float:
    """The largest difference over the largest value of a tensor; of their ``means`` alone."""
    if means:
        got, want = ([t.float().abs().mean() for t in of] for of in (got, want))
    worst = 0.0 if len(got) == len(want) else float("inf")
    for a, b in zip(got, want, strict=False):
        scale = float(b.abs().max()) or 1.0
        worst = max(worst, float((a.float() - b.float()).abs().max()) / scale)
    return worst


def timed(case: Case, copy: float, cache: Path, asked: Sequence[str]) -> dict[str, Any]:
    """A row: milliseconds, share of a copy and deviation from eager mode, by way."""
    torch.manual_seed(0)
    inputs = case.inputs()
    in_place = case.family in optimizer_steps.STEPS
    fresh = [[t.clone() for t in tensors(inputs)]] if in_place else []
    want = [t.clone() for t in tensors(with_gradients(case.function, case)(*inputs))]
    moved = case.moved or sum(t.nbytes for t in (*tensors(inputs), *want))
    row: dict[str, Any] = {"case": case.name, "bytes": moved, "ms": {}, "share": {}, "off": {}}
    for way in ways(case, asked):
        try:
            function = with_gradients(compiled(case, way, cache, 8), case)
            function(*inputs)  # compiles, tunes; in place: once more from the start
            for kept in fresh:
                for t, old in zip(tensors(inputs), kept, strict=True):
                    t.copy_(old)
            row["off"][way] = deviation(tensors(function(*inputs)), want, case.random)
            ms = row["ms"][way] = milliseconds(lambda f=function: f(*inputs), moved)  # type: ignore[misc]
            row["share"][way] = moved / ms / 1e6 / copy
            print(case.name, way, f"{ms:.4f} ms {row['share'][way]:.2f}", flush=True)
        except Exception as error:  # noqa: BLE001 - one way's failure must not end the rest
            row["off"][way] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(row), flush=True)
    return row


def warm(number: int, cache: Path, chosen: Sequence[Case], asked: Sequence[str]) -> None:
    """Compile every ``WARMERS``-th case in every way."""
    for case in chosen[number::WARMERS]:
        inputs = case.inputs()
        for way in ways(case, asked):
            try:
                with_gradients(compiled(case, way, cache, 1), case)(*inputs)
            except Exception as error:  # noqa: BLE001 - the process that times says it again
                print(case.name, way, str(error)[:200], file=sys.stderr)
        del inputs
        torch.cuda.empty_cache()


def table(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each family: by size, the shares of a copy in every way."""
    lines: dict[str, list[str]] = {}
    for row in found:
        label = row["case"].split()[-1]
        share = row["share"]
        shown = "/".join(
            f"{share[w]:.2f}" if w in share else "–"
            for w in (*WAYS, *sorted(share.keys() - set(WAYS)))
        )
        wrong = any(isinstance(o, float) and not o < 3e-2 for o in row["off"].values())
        family = row["case"] if row["bytes"] < SMALL else row["case"].removesuffix(label).strip()
        shown += f" {row['ms'].get('untuned', 0):.4f} ms" if row["bytes"] < SMALL else ""
        text = f"{label} {shown}{' OFF' if wrong else ''}"
        lines.setdefault(family or row["case"], []).append(text)
    return [f"{name}: {'  '.join(parts)}" for name, parts in lines.items()]


def main(
    every: Sequence[Case],
    script: Path,
    summary: Callable[[Sequence[dict[str, Any]]], Iterable[str]] = table,
) -> int:
    """Command line: ``every`` case that is chosen, compiled by processes of ``script``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", help="parts of cases' names (default: all)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=165.0)
    parser.add_argument("--ways", action="append", default=[], help="which (default: all)")
    parser.add_argument("--warm", type=int)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.mkdtemp(prefix="limit-")))
    given = parser.parse_args()
    began = time.time()
    warnings.filterwarnings("ignore")
    cache = given.cache
    chosen = [c for c in every if not given.cases or any(p in c.name for p in given.cases)]
    if given.warm is not None:
        warm(given.warm, cache, chosen, given.ways)
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")
    warmed = began + given.seconds * 0.5
    workers = start(given, cache, script)
    while time.time() < warmed and any(w.poll() is None for w in workers):
        time.sleep(0.5)
    for worker in workers:
        worker.kill()
        worker.wait()
    shutil.rmtree(cache / "tuned", ignore_errors=True)
    print(f"compiled after {time.time() - began:.0f} s", flush=True)
    copy = copied()
    found: list[dict[str, Any]] = []
    for case in chosen:
        if time.time() < began + given.seconds:
            found.append(timed(case, copy, cache, given.ways))
            torch.cuda.empty_cache()
            head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
            text = json.dumps({**head, "copy_gbps": copy, "ways": WAYS, "rows": found}, indent=0)
            (given.out / "limit.json").write_text(text + "\n")
    print(f"copy {copy:.0f} GB/s; {' / '.join(WAYS)}", *summary(found), sep="\n")
    return 0


def start(given: argparse.Namespace, cache: Path, script: Path) -> list[subprocess.Popen[bytes]]:
    """Processes that fill the caches."""
    found = []
    alone = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    options = [f"--out={given.out}", f"--cache={cache}", *(f"--ways={w}" for w in given.ways)]
    command = [sys.executable, str(script), *given.cases, *options]
    for number in range(WARMERS):
        with (cache / f"warm{number}.txt").open("w") as log:
            full = [*command, "--warm", str(number)]
            env = {**os.environ, **alone}
            found.append(subprocess.Popen(full, env=env, stdout=log, stderr=log))
    return found


if __name__ == "__main__":
    raise SystemExit(main(cases(), Path(__file__)))
