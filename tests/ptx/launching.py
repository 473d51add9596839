"""Launches of emitted modules on the machine, with tensors of the CPU."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.backend import Devices
from harness.codegen.source import EmittedModule
from harness.executor import Launches
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.compile.static import compile_for
from harness.target import H100, Target
from tests.ptx.machine import Launch
from tests.ptx.parsing import Kernel, parsed
from tests.running import launched

_NUMBERS = {"fp32": "f", "fp64": "d", "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
            "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}  # fmt: skip


@dataclass(eq=False)
class Machine:
    """Compiles kernels below ``cache`` and launches them as a GPU would, warps in an ``order``."""

    cache: Path
    target: Target = H100
    order: random.Random | None = None
    launches: list[str] = field(default_factory=list)
    _load: Any = field(default_factory=modules.keeping)
    _kernels: dict[Any, tuple[Kernel, Any]] = field(default_factory=dict)

    def launch(
        self, text: str | EmittedModule, args: Sequence[Any], config: Config | None = None
    ) -> None:
        """Run one kernel; the tensors that it writes are changed in place."""
        text = text if isinstance(text, str) else text.text
        loaded = self.loaded(text)
        config = config or self.candidates(loaded, args)[0]
        self.launches.append(loaded.name)
        unaligned = [
            name
            for name, arg in zip(loaded.signature, args, strict=True)
            if name in loaded.divisible_by_16
            and isinstance(arg, torch.Tensor)
            and arg.data_ptr() % 16
        ]
        known = args if loaded.unknown_sizes else None
        fitted = loaded.fitted(config, known)
        grid = loaded.grid(fitted, known)
        if not all(grid):
            return
        kernel, facts = self.kernel(loaded, fitted, tuple(unaligned))
        run = Launch(kernel, facts.shared, 32 * facts.num_warps)
        parameters = list(packed(run, loaded.signature, args))
        lacking = len(kernel.parameters) - len(parameters)
        parameters += [bytes(8)] * lacking  # memory that Triton's own instruments use
        run.run(grid, parameters, bool(facts.launch_cooperative_grid), self.order)

    def loaded(self, text: str) -> modules.LoadedModule:
        """The module of a text."""
        return self._load(text, self.cache)

    def candidates(self, loaded: modules.LoadedModule, args: Sequence[Any]) -> tuple[Config, ...]:
        """Configurations for the sizes in ``args``, the first one first."""
        return loaded.at(args, self.target).configs if loaded.unknown_sizes else loaded.configs

    def kernel(
        self, loaded: modules.LoadedModule, config: Config, unaligned: tuple[str, ...]
    ) -> tuple[Kernel, Any]:
        """The compiled kernel, and what Triton says of it."""
        key = loaded.text, config, unaligned
        if key not in self._kernels:
            made = compile_for(loaded, self.target, config, unaligned, self.cache)
            self._kernels[key] = parsed(made.asm["ptx"]), made.metadata
        return self._kernels[key]

    def check(
        self, text: str, config: Config | None = None, seed: int = 0, sizes: Any = None
    ) -> dict[str, Any]:
        """The module's own check on fresh inputs."""
        loaded = self.loaded(text)
        args = loaded.get_args("cpu", seed, sizes)
        return loaded.check(args, config, lambda run: self.launch(text, run, config))


def packed(launch: Launch, signature: dict[str, str], args: Sequence[Any]) -> Iterator[bytes]:
    """Arguments as parameters: of tensors the address, each storage in a region of its own."""
    known: dict[int, int] = {}
    for (name, kind), arg in zip(signature.items(), args, strict=True):
        if isinstance(arg, torch.Tensor):
            storage = arg.untyped_storage()
            first = storage.data_ptr()
            if first not in known:
                memory = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
                known[first] = launch.memory.add(memory, name)
            yield struct.pack("Q", known[first] + arg.data_ptr() - first)
        elif kind[0] == "*":
            yield bytes(8)
        else:
            yield struct.pack(_NUMBERS[kind], arg)


@dataclass(eq=False, slots=True)
class OnMachine(Devices):
    """Runs kernels of tensors of the CPU on the machine, for a ``Compiler``."""

    machine: Machine = field(kw_only=True)
    unknown: list[str] = field(default_factory=list)
    """Instructions that it stopped at."""

    def launches(
        self, device: torch.device, modules: Any = (), name: str = "graph", sizes: Any = None
    ) -> Launches:
        """As ``Devices``."""
        assert device.type == "cpu"
        return launched(self.machine.launch)


def on_machine(cache: Path, target: Target = H100) -> OnMachine:
    """Devices with a machine of their own."""
    return OnMachine(cache=cache, machine=Machine(cache, target))


def evaluated(text: str, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What the PTX of a kernel of two parameters, operands of 128 threads one after the other and
    results, gives for each of some rows of operands."""
    kernel, found = parsed(text), np.empty(len(rows), np.float32)
    for first in range(0, len(rows), 128):
        some = rows[first : first + 128].astype(np.float32)
        operands = np.zeros((some.shape[1], 128), np.float32)
        operands[:, : len(some)] = some.T
        results, run = np.zeros(128, np.float32), Launch(kernel)
        places = [run.memory.add(one.reshape(-1).view(np.uint8), "") for one in (operands, results)]
        given = [struct.pack("Q", at) for at in places]
        run.run((1, 1, 1), given + [bytes(8)] * (len(kernel.parameters) - 2))
        found[first : first + 128] = results[: len(some)]
    return found
