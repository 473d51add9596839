"""Launches of one call whose sizes only a call knows, with combos and with every kernel by itself.

``TRITON_INTERPRET=1 python scripts/dynamic_launches.py`` prints a table. It needs no GPU and times
nothing; results at two sizes are compared with eager mode.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

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


def main() -> None:
    """Print the table's rows."""
    devices = Devices()
    for case in cases():
        found = [launches(case, devices, combos) for combos in (False, True)]
        print(f"| {case[0]} | {found[0]} | {found[1]} |", flush=True)
    devices.close()


if __name__ == "__main__":
    main()
