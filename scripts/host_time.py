"""Microseconds of the host for one call of a compiled graph whose kernels do nothing, on a CPU.

``python scripts/host_time.py`` prints a table. Every column does less than the one before it:
``harness`` is all but kernels, ``empty graph`` leaves out what the harness does at a call (its
graphs return at once), ``guards`` also what AOTAutograd does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from dynamic_launches import adam, sgd
from torch._dynamo.backends.common import aot_autograd

from harness.backend import Compiler, Devices
from harness.executor import Launches

Run = Callable[..., Any]
_CALLS, _ROWS = 5, 400


class NoKernels(Devices):
    """Launches do nothing."""

    def launches(self, *_: Any, **__: Any) -> Launches:
        """Of any graph."""
        return Launches(lambda _module: lambda *_args: None)


def empty(gm: torch.fx.GraphModule, _inputs: list[Any]) -> Run:
    """A graph that runs in torch at the first call, and gives its results from then on."""
    from functorch.compile import make_boxed_func

    kept: list[Any] = []

    def run(*args: Any) -> Any:
        if not kept:
            kept.append([t.detach() if isinstance(t, torch.Tensor) else t for t in gm(*args)])
        return kept[0]

    return make_boxed_func(run)


def unchecked(gm: torch.fx.GraphModule, _inputs: list[Any]) -> Run:
    """What dynamo calls, which gives the first call's results."""
    kept: list[Any] = []

    def run(*args: Any) -> Any:
        if not kept:
            kept.append(gm(*args))
        return kept[0]

    return run


def scaled(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """One kernel of three inputs."""
    return torch.relu(x * y + z)


class Layers(torch.nn.Module):
    """``n`` scales of one input, each of its own weight."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.rand(8) for _ in range(n))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of rows of 8."""
        for weight in self.weights:
            x = torch.tanh(x * weight)
        return x


def compiled(function: Any, given: tuple[Any, ...], backend: Any, dynamic: bool) -> Run:
    """``function`` as compiled for ``given``, and called a few times."""
    torch.compiler.reset()
    for one in torch.utils._pytree.tree_leaves(given):
        if dynamic:
            torch._dynamo.mark_dynamic(one, 0)
    run: Run = torch.compile(function, backend=backend, dynamic=None if dynamic else False)
    for _ in range(3):
        run(*given)
    return run


def quickest(run: Run, given: tuple[Any, ...]) -> float:
    """Microseconds of this thread on a processor for a call, in the quickest of many short rows."""
    found = []
    for _ in range(_ROWS):
        start = time.thread_time()
        for _ in range(_CALLS):
            run(*given)
        found.append((time.thread_time() - start) / _CALLS * 1e6)
    return min(found)


def step(run: Run) -> Run:
    """A call and its gradients."""

    gradient = torch.ones(4, 8)

    def both(*given: Any) -> None:
        run(*given).backward(gradient)

    return both


def cases() -> list[tuple[str, Any, tuple[Any, ...], bool]]:
    """What is timed: a name, the function, its arguments, whether it trains."""

    def lists(count: int, n: int) -> tuple[Any, ...]:
        return tuple([torch.rand(8 + i, 4) for i in range(n)] for _ in range(count))

    small = tuple(torch.rand(8, 4) for _ in range(3))
    found: list[tuple[str, Any, tuple[Any, ...], bool]] = [
        ("3 inputs, 1 kernel", scaled, small, False),
        ("SGD, 6 inputs", sgd, lists(3, 2), False),
        ("Adam, 24 inputs", adam, lists(4, 6), False),
        ("SGD, 72 inputs", sgd, lists(3, 24), False),
        ("Adam, 96 inputs", adam, lists(4, 24), False),
    ]
    for n in (6, 24, 96):
        found.append(
            (f"forward and backward, {n} inputs", Layers(n - 1), (torch.rand(4, 8),), True)
        )
    return found


def main() -> None:
    """Print the table's rows."""
    devices = NoKernels()
    backends = (
        Compiler(devices=devices, fail_on_fallback=True),
        aot_autograd(fw_compiler=empty, keep_inference_input_mutations=True),
        unchecked,
    )
    for name, function, given, trains in cases():
        if not any(part in name for part in sys.argv[1:] or [""]):
            continue
        for dynamic in (False, True):
            row = []
            for backend in backends[: 1 if trains else None]:
                run = compiled(function, given, backend, dynamic)
                with torch.set_grad_enabled(trains):
                    run(*given)
                    row.append(quickest(step(run) if trains else run, given))
            figures = " | ".join(f"{us:.1f}" for us in row)
            print(f"| {name} | {'dynamic' if dynamic else 'static'} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
