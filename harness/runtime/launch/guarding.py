"""Kernels that may turn out not to run. Torch computes then what they would have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from harness.errors import DivisionByZero, HarnessError, IndexOutOfRange, NotFinite
from harness.runtime import module as modules
from harness.runtime.launch.selecting import LaunchOn


@dataclass(eq=False, slots=True)
class Guarded:
    """The kernel of the module ``text``. Once a launch fails, ``failed`` is told, and its outputs
    are those of the module's reference from then on.

    A launch that fails has written nothing, so its arguments are all that is needed for that, even
    if it changes them: nobody has to keep a graph's inputs for another run.
    """

    text: str
    launch: LaunchOn
    failed: Callable[[HarnessError], None]
    instead: modules.LoadedModule | None = None

    def __call__(self, stream: int, *args: Any) -> None:
        """Run the kernel, or its reference. Raises what says that arguments are wrong."""
        if self.instead is None:
            try:
                self.launch(stream, *args)
                return
            except (DivisionByZero, IndexOutOfRange, NotFinite):
                raise
            except HarnessError as error:
                self.failed(error)
                self.instead = modules.load(self.text)
        # A result may lie in the memory of an argument that another one is written to.
        results = [torch.clone(one) for one in self.instead.reference(list(args))]
        for position, result in zip(self.instead.outputs, results, strict=True):
            args[position].copy_(result)

    @property
    def lasting(self) -> LaunchOn:
        """What launches from now on, after a first launch: the kernel itself, which is quicker,
        unless it failed, or is compiled again for other sizes."""
        dynamic = "\nUNKNOWN_SIZES = " in self.text
        return self if dynamic or self.instead is not None else self.launch


def unguarded(run: Callable[..., Any]) -> None:
    """Have the host function ``run``, which has run, launch kernels themselves where it can."""
    names = run.__globals__
    names.update({n: k.lasting for n, k in names.items() if isinstance(k, Guarded)})
