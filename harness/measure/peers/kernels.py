"""A user's own kernel beside its reference, which other compilers compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.measure.peers.comparing import Task, copied
from harness.measure.peers.providers import Make, Provider
from harness.runtime.module import LoadedModule


def kernel_task(loaded: LoadedModule, device: torch.device, seed: int = 0) -> Task:
    """What the kernel does to its arguments: the contents of what it writes."""
    return Task(
        loaded.name,
        lambda: loaded.get_args(device=str(device), seed=seed),
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args: loaded.reference([copied(a) for a in args], wide=True),
    )


def kernel_maker(loaded: LoadedModule, launch: Callable[[Sequence[Any]], None]) -> Make:
    """The kernel itself, through ``launch``."""

    def run(args: Sequence[Any]) -> list[torch.Tensor | None]:
        launch(args)
        return [args[position] for position in loaded.outputs]

    def make(_: Sequence[Any]) -> Provider:
        return run

    return make
