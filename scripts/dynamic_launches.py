"""Launches of one call whose sizes only a call knows, with combos and with every kernel by itself.

``TRITON_INTERPRET=1 python scripts/dynamic_launches.py`` prints a table. It needs no GPU and times
nothing; results at two sizes are compared with eager mode. ``--times`` on a GPU prints what a step
takes, the host included, and its kernels by themselves, beside eager mode and Inductor.
"""

from __future__ import annotations

import copy
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import torch
from torch.nn import functional

from harness.backend import Compiler, Devices

Lists = list[torch.Tensor]


def sgd(weights: Lists, grads: Lists, moments: Lists) -> None:
    """A step of SGD with momentum."""
    torch._foreach_mul_(moments, 0.9)
    torch._foreach_add_(moments, grads)
    torch._foreach_add_(weights, moments, alpha=-0.01)


def adam(weights: Lists, grads: Lists, first: Lists, second: Lists) -> None:
    """A step of Adam without bias correction."""
    torch._foreach_lerp_(first, grads, 0.1)
    torch._foreach_mul_(second, 0.999)
    torch._foreach_addcmul_(second, grads, grads, 0.001)
    roots = torch._foreach_sqrt(second)
    torch._foreach_add_(roots, 1e-8)
    torch._foreach_addcdiv_(weights, first, roots, -0.01)


def clip(grads: Lists) -> None:
    """Gradients scaled by the norm of them all."""
    norm = torch.stack([g.square().sum(1).sum() for g in grads]).sum().sqrt()
    torch._foreach_mul_(grads, (1.0 / (norm + 1e-6)).clamp(max=1.0))


def reductions(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Lists:
    """Reductions that have nothing to do with each other."""
    return [x.softmax(-1), y.square().sum(-1), functional.layer_norm(z, z.shape[-1:])]


def features(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Lists:
    """Columns of a table, prepared."""
    return [a.log1p(), b - b.mean(-1, keepdim=True), c % 7 == 3, a.sum(-1)]


class Block(torch.nn.Module):
    """A transformer's block."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
        self.up, self.down = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's output."""
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        length = q.shape[1]
        scores = (q @ k.transpose(1, 2)) / 4 + torch.full((length, length), -1e4).triu(1)
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.down(functional.gelu(self.up(self.second(x))))


def lists(count: int, step: int) -> Callable[[int], tuple[Any, ...]]:
    """``count`` lists of six tensors, each ``step`` rows longer than the one before it."""
    shapes = [(step * i, 4 + i % 2) for i in range(6)]
    return lambda n: tuple([torch.rand(n + m, k) for m, k in shapes] for _ in range(count))


def table(n: int) -> tuple[Any, ...]:
    """Three tables of ``n`` rows."""
    return torch.randn(n, 40), torch.randn(n, 24), torch.randn(n, 33)


def rows(n: int) -> tuple[Any, ...]:
    """Numbers and categories of ``n`` rows."""
    return torch.rand(n, 5), torch.randn(n, 9), torch.randint(0, 7, (n,))


def cases() -> Iterator[tuple[str, Callable[..., Any], Callable[[int], tuple[Any, ...]], int]]:
    """What is compiled: a name, the function, its arguments at a size, the unknown dimension."""
    yield "SGD with momentum, 6 tensors, one unknown number of rows", sgd, lists(3, 0), 0
    yield "the same, 6 unknown numbers", sgd, lists(3, 3), 0
    yield "Adam, 6 tensors, one unknown number of rows", adam, lists(4, 0), 0
    yield "the same, 6 unknown numbers", adam, lists(4, 3), 0
    yield "gradients clipped by their norm, 6 unknown numbers", clip, lists(1, 3), 0
    yield "softmax, row sums and layer norm of a batch", reductions, table, 0
    yield "features of a batch", features, rows, 0
    yield "transformer block, unknown length", Block().eval(), lambda n: (torch.randn(2, n, 16),), 1


def launches(case: tuple[Any, ...], devices: Devices, combos: bool) -> int:
    """Of one call, once results of two sizes were compared."""
    _, function, made, unknown = case
    torch.compiler.reset()
    compiler = Compiler(devices=devices, fail_on_fallback=True, combo_kernels=combos)
    run: Any = torch.compile(function, backend=compiler)
    with torch.no_grad():
        for n in (6, 11):
            given = made(n)
            twin = copy.deepcopy(given)
            for one in torch.utils._pytree.tree_leaves(given):
                torch._dynamo.mark_dynamic(one, unknown)
            found, wanted = run(*given), function(*twin)
            torch.testing.assert_close((found, given), (wanted, twin), rtol=1e-4, atol=1e-5)
    assert len(compiler.compiled) == 1, "compiled again for another size"
    return compiler.reports[0].launches


Shapes = Sequence[tuple[int, int]]
SIX: Shapes = [(1024 + 8 * i, 1024) for i in range(6)]
MANY: Shapes = [(512 + 8 * i, 256) for i in range(24)]


def timed_cases() -> Iterator[tuple[str, Callable[..., Any], Callable[[], tuple[Any, ...]]]]:
    """What is timed: a name, the function, its arguments on the GPU."""

    def on_gpu(count: int, shapes: Shapes) -> Callable[[], tuple[Any, ...]]:
        return lambda: tuple(
            [torch.rand(n, k, device="cuda") for n, k in shapes] for _ in range(count)
        )

    def with_rows(made: Callable[[int], tuple[Any, ...]], n: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: tuple(one.cuda() for one in made(n))

    yield "SGD, 6 of 1 Mi", sgd, on_gpu(3, SIX)
    yield "Adam, 6 of 1 Mi", adam, on_gpu(4, SIX)
    yield "SGD, 24 of 128 Ki", sgd, on_gpu(3, MANY)
    yield "Adam, 24 of 128 Ki", adam, on_gpu(4, MANY)
    yield "clipping, 24 of 128 Ki", clip, on_gpu(1, MANY)
    yield "softmax, row sums and layer norm, 100,000 rows", reductions, with_rows(table, 100_000)
    yield "features, 100,000 rows", features, with_rows(rows, 100_000)


def ways(devices: Devices) -> dict[str, Callable[[Any], Any]]:
    """How a function is run, by name; sizes are marked by who calls."""

    def ours(**options: Any) -> Callable[[Any], Any]:
        compiler = Compiler(devices=devices, fail_on_fallback=True, **options)
        return lambda function: torch.compile(function, backend=compiler)

    return {
        "eager": lambda function: function,
        "one size": ours(),
        "any size, alone": ours(combo_kernels=False),
        "any size, combos": ours(),
        "any size, timed combos": ours(timed_combos=True),
        "Inductor, any size": torch.compile,
    }


def step_us(run: Callable[..., Any], given: tuple[Any, ...]) -> float:
    """Microseconds of a step, steps back to back, the host's work included."""
    found, event = [], cast(Any, torch.cuda.Event)
    for _ in range(11):
        begin, end = event(enable_timing=True), event(enable_timing=True)
        begin.record()
        for _ in range(20):
            run(*given)
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / 20 * 1000)
    return statistics.median(found[2:])


def kernels_us(run: Callable[..., Any], given: tuple[Any, ...]) -> tuple[float, float]:
    """Microseconds of a step's kernels, and how many they are, by torch's profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(20):
            run(*given)
        torch.cuda.synchronize()
    on_gpu = [e for e in profile.events() if e.device_type.name == "CUDA"]
    return sum(e.device_time_total for e in on_gpu) / 20, len(on_gpu) / 20


def times(devices: Devices) -> None:
    """Print a row for each case and way."""
    warnings.simplefilter("ignore")
    for name, function, made in timed_cases():
        for way, compiled in ways(devices).items():
            torch.compiler.reset()
            given = made()
            if "any size" in way:
                for one in torch.utils._pytree.tree_leaves(given):
                    torch._dynamo.mark_dynamic(one, 0)
            run = compiled(function)
            with torch.no_grad():
                run(*given)
                step, (kernels, count) = step_us(run, given), kernels_us(run, given)
            print(f"| {name} | {way} | {step:.1f} | {kernels:.1f} | {count:g} |", flush=True)


def main() -> None:
    """Print the table's rows."""
    devices = Devices()
    if "--times" in sys.argv:
        times(devices)
        devices.close()
        return
    for case in cases():
        found = [launches(case, devices, combos) for combos in (False, True)]
        print(f"| {case[0]} | {found[0]} | {found[1]} |", flush=True)
    devices.close()


if __name__ == "__main__":
    main()
