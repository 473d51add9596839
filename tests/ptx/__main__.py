"""``python -m tests.ptx``: random kernels on the machine, against eager mode.

What is wrong is printed with the seed that makes it again: ``--seed S --only KIND``."""

from __future__ import annotations

import argparse
import functools
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
from harness.corpus import store
from harness.corpus.selecting import select
from harness.graph.suite import FOLDER
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.target import TARGETS, Target
from tests.codegen.kernels import modules
from tests.operator_cases import graph_of
from tests.operator_table import CASES
from tests.ptx.launching import OnMachine, on_machine
from tests.ptx.machine import Unsupported
from tests.ptx.programs import calls


def of_sizes(seed: int, devices: OnMachine) -> list[str]:
    """A function compiled for any sizes and called for several."""
    rng = random.Random(f"sizes {seed}")
    function, (first, *then), what = calls(rng, 5)
    target = _drawn(rng, devices)
    found = differences(function, first, Compiler(target, devices), dynamic=True, then=then)
    return [f"{what}, {target.multiprocessors} processors: {line}" for line in found]


def of_operators(seed: int, devices: OnMachine) -> list[str]:
    """A row of the table of operators, in each kernel's candidates."""
    rng = random.Random(f"operators {seed}")
    case, looped = rng.choice(CASES), rng.choice((None, True, False))
    lines = []
    for module in modules(graph_of(case), looped):
        lines += _checked(devices, module.text, rng, case.name, 3)
    return lines


def of_patterns(seed: int, devices: OnMachine) -> list[str]:
    """The small counterpart of a pattern of the corpus."""
    rng = random.Random(f"patterns {seed}")
    name = rng.choice(_patterns())
    ((full, small),) = store.load(FOLDER / "corpus").texts([name]).values()
    return _of_small(devices, full, small, rng, name, 2)


def of_suite(seed: int, devices: OnMachine) -> list[str]:
    """Three kernels of a small graph of the default suite, in all their candidates."""
    rng = random.Random(f"suite {seed}")
    path = rng.choice(sorted(FOLDER.joinpath("graphs", "small").glob("*.py")))
    full = path.parent.parent / path.name
    return _of_small(devices, full.read_text(), path.read_text(), rng, path.stem, 99, 3)


@functools.cache
def _patterns() -> list[str]:
    return sorted(p.name for p in select(store.load(FOLDER / "corpus"), "small=yes nodes<150"))


def _of_small(
    devices: OnMachine,
    full: str,
    small: str,
    rng: random.Random,
    name: str,
    candidates: int,
    kernels: int = 99,
) -> list[str]:
    """Kernels of a small graph: of the kinds that the full one has, or its own."""
    target = _drawn(rng, devices)
    decided = [compile_graph(loads(full), target).decisions] if rng.random() < 0.7 else []
    made = compile_graph(loads(small), target, *decided)
    lines = [f"{name}: {failure.error}" for failure in made.failures]
    for kernel in rng.sample(made.kernels, min(kernels, len(made.kernels))):
        lines += _checked(devices, kernel.module.text, rng, f"{name} {kernel.name}", candidates)
    return lines


def _drawn(rng: random.Random, devices: OnMachine) -> Target:
    """The machine's target, or one that a single program fills."""
    target = devices.machine.target
    return replace(target, multiprocessors=rng.choice((1, *2 * (target.multiprocessors,))))


def _checked(
    devices: OnMachine, text: str, rng: random.Random, name: str, candidates: int
) -> list[str]:
    """What is wrong with the first candidate of a module, and with some of the others."""
    first, *others = devices.machine.loaded(text).configs
    lines = []
    for config in (first, *rng.sample(others, min(candidates - 1, len(others)))):
        try:
            found = devices.machine.check(text, config, rng.getrandbits(31))
        except Unsupported as error:
            devices.unknown.append(str(error))
            continue
        if not found["passed"]:
            lines.append(f"{name} {config}: {found}")
    return lines


def of_programs(seed: int, devices: OnMachine) -> list[str]:
    """A program of the fuzzer."""
    return list(fuzz.faults(fuzz.make_program(seed), devices, seed).faults)


KINDS: dict[str, Callable[[int, OnMachine], list[str]]] = {
    "sizes": of_sizes, "operators": of_operators, "programs": of_programs,
    "patterns": of_patterns, "suite": of_suite,
}  # fmt: skip


def main() -> None:
    """Until the seconds are over."""
    parser = argparse.ArgumentParser(prog="python -m tests.ptx", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*KINDS])
    parser.add_argument("--cache", type=Path, help="a folder for what is compiled")
    parser.add_argument("--target", choices=[*TARGETS], default="sm_90")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        devices = on_machine(given.cache or Path(folder), TARGETS[given.target])
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
        print(f"{len(devices.unknown)} stopped at what is not known: {sorted({*devices.unknown})}")


if __name__ == "__main__":
    main()
