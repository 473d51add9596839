"""``python -m tests.ptx``: random kernels on the machine, against eager mode.

What is wrong is printed with the seed that makes it again: ``--seed S --only KIND``."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from harness.backend import Compiler
from harness.conformance import fuzz
from harness.conformance.compare import differences
from harness.target import H100
from tests.codegen.kernels import modules
from tests.operator_cases import graph_of
from tests.operator_table import CASES
from tests.ptx.launching import OnMachine, on_machine
from tests.ptx.programs import PROGRAMS, matrix, sizes

_TYPES = (torch.float32, torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64)


def of_sizes(seed: int, devices: OnMachine) -> list[str]:
    """A function compiled for any sizes and called for several."""
    rng = random.Random(f"sizes {seed}")
    name, dtype, lying = rng.choice([*PROGRAMS]), rng.choice(_TYPES), rng.choice((0, 0, 0, 1, 2, 3))
    shapes = [sizes(rng) for _ in range(5)]
    first = max(shapes, key=min)  # a size of 1 would be compiled for itself
    shapes = [first, *(one for one in shapes if one is not first)]
    calls = [[matrix(rng, shape, dtype, lying)] for shape in shapes]
    if rng.random() < 0.3 and "batches" not in name:
        calls = [[x.detach().requires_grad_()] for (x,) in calls]
    target = replace(H100, multiprocessors=rng.choice((1, 132, 132)))
    compiler = Compiler(target, devices)
    found = differences(PROGRAMS[name], calls[0], compiler, dynamic=True, then=calls[1:])
    grad = " with gradients" * calls[0][0].requires_grad
    what = f"{name} of {dtype} {shapes} lying {lying}{grad}, {target.multiprocessors} processors"
    return [f"{what}: {line}" for line in found]


def of_operators(seed: int, devices: OnMachine) -> list[str]:
    """A row of the table of operators, in each kernel's candidates."""
    rng = random.Random(f"operators {seed}")
    case, looped = rng.choice(CASES), rng.choice((None, True, False))
    lines = []
    for module in modules(graph_of(case), looped):
        loaded = devices.machine.loaded(module.text)
        for config in rng.sample(loaded.configs, min(3, len(loaded.configs))):
            found = devices.machine.check(module.text, config, seed)
            if not found["passed"]:
                lines.append(f"{case.name} {config}: {found}")
    return lines


def of_programs(seed: int, devices: OnMachine) -> list[str]:
    """A program of the fuzzer."""
    return list(fuzz.faults(fuzz.make_program(seed), devices, seed).faults)


KINDS: dict[str, Callable[[int, OnMachine], list[str]]] = {
    "sizes": of_sizes, "operators": of_operators, "programs": of_programs,
}  # fmt: skip


def main() -> None:
    """Until the seconds are over."""
    parser = argparse.ArgumentParser(prog="python -m tests.ptx", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*KINDS])
    parser.add_argument("--cache", type=Path, help="a folder for what is compiled")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        devices = on_machine(given.cache or Path(folder))
        began, seed, wrong = time.monotonic(), given.seed, 0
        while time.monotonic() - began < given.seconds:
            for kind in [given.only] if given.only else [*KINDS]:
                torch.compiler.reset()
                devices.machine.order = random.Random(seed) if seed % 2 else None
                try:
                    lines = KINDS[kind](seed, devices)
                except Exception as error:
                    lines = [f"{type(error).__name__}: {error}"]
                wrong += bool(lines)
                for line in lines:
                    print(f"{kind} --seed {seed}: {line}", flush=True)
            seed += 1
        print(f"{seed - given.seed} seeds, {len(devices.machine.launches)} launches, {wrong} wrong")


if __name__ == "__main__":
    main()
