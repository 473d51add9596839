"""The CUDA device at hand, as a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from harness.errors import NoDevice, UsageError
from harness.target import Target, of_board


def is_available() -> bool:
    """Whether torch can use a CUDA device."""
    return bool(torch.cuda.is_available())


def require() -> torch.device:
    """The current CUDA device. Raises ``NoDevice`` with the reason when there is none."""
    if not is_available():
        raise NoDevice(
            "a GPU is needed and none can be used",
            got="torch was built without CUDA" if torch.version.cuda is None else "no device found",
            expected="a CUDA device that torch can see",
            remedy="run on a machine with an NVIDIA GPU",
        )
    return torch.device("cuda", torch.cuda.current_device())


def boards(asked: str) -> dict[int, str]:
    """The CUDA devices ``asked`` for (``all``, or their numbers with commas between them): their
    identifiers (``GPU-…``) by number. Raises ``NoDevice``, and ``UsageError`` for a number that
    there is not."""
    require()
    count = torch.cuda.device_count()
    numbers = [str(n) for n in range(count)] if asked == "all" else asked.split(",")
    wrong = [n for n in numbers if not n.isdecimal() or int(n) >= count]
    if wrong or len(set(numbers)) < len(numbers):
        raise UsageError(
            "there is no such GPU" if wrong else "a GPU is named twice",
            where="--devices",
            got=wrong[0] if wrong else asked,
            expected=f"all, or numbers from 0 to {count - 1} with commas between them",
        )
    return {n: f"GPU-{torch.cuda.get_device_properties(n).uuid}" for n in map(int, numbers)}


def current_target(device: torch.device | int | None = None) -> Target:
    """The target of ``device`` (the current one if None): the row of its model, with
    multiprocessors and cache size as the driver reports them. Bandwidth stays the model's nominal
    one; 0 for a board that is not in the table."""
    found = torch.cuda.get_device_properties(require() if device is None else device)
    own = int(found.multi_processor_count), getattr(found, "L2_cache_size", None)
    return of_board(str(found.name), found.major * 10 + found.minor, *own)


def device_of(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> torch.device:
    """Where a graph works: on the device of its inputs, or of what it makes of numbers."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    if not any(value.dim() for value in tensors):
        # A CUDA graph may read single numbers that live on the CPU.
        made = (node.meta.get("val", node.meta.get("example_value")) for node in gm.graph.nodes)
        tensors.extend(value for value in made if isinstance(value, torch.Tensor))
    return next((t.device for t in tensors if t.device.type != "cpu"), None) or torch.device("cpu")
