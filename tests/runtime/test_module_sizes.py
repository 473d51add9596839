"""Candidates for sizes that only a launch knows, against the text that was made before it.

A kernel for any sizes is interpreted with few elements, where a launch of many has other blocks.
Here many functions are compiled once, and asked for candidates as a launch of up to 2^14 times the
sizes would: what the text fixes they must not change, and at small sizes they are right, too."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from harness.executor import Launches
from harness.heuristics.facts import Config
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.runtime.module import LoadedModule, load
from harness.runtime.tune.space import Space
from harness.target import A100, H100, H200
from tests.runtime.fixed import contradictions

DRAWS, LARGEST, MOST_ELEMENTS = 12, 14, 1 << 34
"""Sizes that a module is asked for; binary digits that they may have more than those of its
arguments, and elements of the largest argument."""


def _gradients(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    def called(*operands: torch.Tensor) -> Any:
        own = [x.requires_grad_() for x in operands]
        return torch.autograd.grad(function(*own).float().sin().sum(), own)

    return called


def _layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], w, b)


def _loss(x: torch.Tensor) -> torch.Tensor:
    target = torch.arange(x.shape[0], device=x.device) * 7 % x.shape[1]
    return F.cross_entropy(x, target)


def _looked_up(x: torch.Tensor) -> torch.Tensor:
    return x[(x[:, 0].abs() * 99).long() % x.shape[0]].sum(0)


def _normal(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1)


def _all_ways(x: torch.Tensor) -> Any:
    return x.sum(0), x.amax(1), x.square().sum()


CASES: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = {
    "rows": (lambda x: x.sum(1), [(33, 700)]),
    "columns": (lambda x: x.sum(0), [(700, 33)]),
    "everything": (lambda x: (x * 2).sum(), [(70, 33)]),
    "first and last": (lambda x: x.sum((0, 2)), [(700, 8, 7)]),
    "first and last pairs": (lambda x: x.amax((0, 2)), [(300, 9, 2)]),
    "first two": (lambda x: x.sum((0, 1)), [(9, 70, 33)]),
    "middle": (lambda x: x.mean(1), [(9, 70, 33)]),
    "every other": (lambda x: x.mean((1, 3)), [(9, 70, 3, 5)]),
    "first and third": (lambda x: x.sum((0, 2)), [(9, 7, 30, 5)]),
    "places in rows": (lambda x: x.argmax(1), [(33, 700)]),
    "places in columns": (lambda x: x.argmin(0), [(700, 33)]),
    "whether any": (lambda x: (x > 2).any(1), [(33, 700)]),
    "products": (lambda x: (x * 0.1 + 1).prod(0), [(300, 33)]),
    "variances of rows": (lambda x: torch.var_mean(x, 1), [(33, 700)]),
    "variances of columns": (lambda x: x.var(0), [(700, 33)]),
    "variances of channels": (lambda x: torch.var_mean(x, (0, 2)), [(70, 9, 7)]),
    "channels": (lambda x: F.batch_norm(x, None, None, training=True), [(3, 8, 9, 9)]),
    "channels' gradient": (_gradients(lambda x: x.var((0, 2))), [(30, 8, 9)]),
    "softmax": (lambda x: x.softmax(1), [(33, 300)]),
    "softmax of columns": (lambda x: x.log_softmax(0), [(300, 33)]),
    "softmax's gradient": (_gradients(lambda x: x.softmax(1)), [(33, 300)]),
    "layers": (_layer, [(33, 300), (300,), (300,)]),
    "layers' gradient": (_gradients(_layer), [(33, 300), (300,), (300,)]),
    "groups": (lambda x: F.group_norm(x, 2), [(3, 4, 60)]),
    "standardised": (_normal, [(30, 170)]),
    "norm of all": (lambda x: x / x.norm(), [(30, 170)]),
    "a loss": (_loss, [(33, 300)]),
    "running sums": (lambda x: x.cumsum(1), [(33, 300)]),
    "running sums of columns": (lambda x: x.cumsum(0), [(300, 33)]),
    "running maxima": (lambda x: x.cummax(1).values, [(33, 300)]),
    "sorted": (lambda x: x.sort(1), [(70, -9)]),
    "shared scans": (lambda x: x.cumsum(1), [(-2, 20_000)]),
    "known rows": (lambda x: (x.sum(1), x.var(1)), [(40, -9001)]),
    "known columns": (lambda x: x.sum(0), [(700, -40)]),
    "short rows": (lambda x: x.softmax(1), [(300, -7)]),
    "few columns, centred": (lambda x: x - x.mean(0), [(1000, 33)]),
    "few columns' softmax": (lambda x: x.softmax(0), [(1000, 9)]),
    "few columns' gradient": (_gradients(lambda x: x / x.norm(dim=0)), [(700, 20)]),
    "few long rows": (lambda x: x.softmax(1), [(5, 40_000)]),
    "few known rows": (_normal, [(-6, 40_000)]),
    "halves": (lambda x: F.silu(x.chunk(2, 1)[0]) * x.chunk(2, 1)[1], [(33, 140)]),
    "halves' norms": (
        lambda x: x.chunk(2, 1)[0] / x.chunk(2, 1)[1].norm(dim=1)[:, None],
        [(9, 700)],
    ),
    "heads": (lambda x: x.unflatten(1, (4, -1)).softmax(2).transpose(1, 2) * 2, [(33, 140)]),
    "transposed": (lambda x, y: x + y.t(), [(70, 33), (33, 70)]),
    "turned": (lambda x: x.permute(2, 0, 1).contiguous() + 1, [(9, 70, 33)]),
    "pointwise": (lambda x, b: (x + b).relu(), [(70, 33), (33,)]),
    "joined": (lambda x, y: torch.cat([x, y * 2], 1).sum(1), [(70, 33), (70, 5)]),
    "strided": (lambda x: x[:, ::2].sum(0), [(300, 70)]),
    "both ways": (_all_ways, [(300, 70)]),
    "looked up": (_looked_up, [(300, 33)]),
    "apart": (lambda x, y, z: (x.sum(1), y.sum(0), z.exp()), [(30, 70), (200, 9), (9, 30)]),
}
"""Functions and the shapes of what they are called with; a size that is known is less than 0."""


def compiled(name: str, folder: Path) -> Iterator[tuple[LoadedModule, dict[str, int]]]:
    """The modules of a function that have sizes to be told, and those of its arguments."""
    function, shapes = CASES[name]
    kind = random.Random(name).choice((torch.float32, torch.bfloat16))
    told: list[tuple[str, tuple[Any, ...]]] = []
    operands = [torch.randn([abs(n) for n in shape], dtype=kind) for shape in shapes]
    for shape, operand in zip(shapes, operands, strict=True):
        for place, n in enumerate(shape):
            (torch._dynamo.mark_static if n < 0 else torch._dynamo.mark_dynamic)(operand, place)

    class Told(Devices):
        def launches(self, *_: Any, **__: Any) -> Launches:
            return Launches(lambda module: lambda _stream, *args: told.append((module.text, args)))

    compiler = Compiler(H100, Told(), fail_on_fallback=True)
    torch.compile(function, backend=compiler)(*operands)
    for text, args in dict(told).items():
        loaded = load(text, folder)
        if loaded.unknown_sizes:
            yield loaded, dict(zip(loaded.unknown_sizes, loaded.sizes(args), strict=True))


def larger(rng: random.Random, loaded: LoadedModule, own: Mapping[str, int]) -> dict[str, int]:
    """Sizes as many times those of the arguments as a launch may have."""
    while True:
        sizes = {name: int(n * 2 ** rng.uniform(0, LARGEST)) for name, n in own.items()}
        if rng.random() < 0.5:  # vectors, whole blocks
            sizes = {name: n * max(1, sizes[name] // n) for name, n in own.items()}
        shapes = (shape for shape, *_ in loaded.raw.arg_rows(**sizes))
        if max(map(math.prod, shapes)) <= MOST_ELEMENTS:
            return sizes


def asked(
    rng: random.Random, loaded: LoadedModule, own: Mapping[str, int]
) -> Iterator[tuple[Config, dict[str, int], list[str]]]:
    """Candidates for drawn sizes, and of each some that a search would try; and what is wrong."""
    for _ in range(DRAWS):
        sizes, target = larger(rng, loaded, own), rng.choice((H200, H100, A100))
        args = loaded.only_sizes(sizes)
        made = loaded.at(args, target)
        around = Space.of(made, target).around(made.configs[0])
        searched = (made.fitted(c, args) for c in rng.sample(around, min(2, len(around))))
        for config in (*made.configs, *searched):
            yield config, sizes, contradictions(made, config, args)


@pytest.mark.parametrize("name", CASES)
def test_candidates_for_any_sizes_are_what_the_text_fixes_and_right(
    name: str, interpreter: InterpreterPool, tmp_path: Path
) -> None:
    rng, jobs = random.Random(name), list[CheckJob]()
    for loaded, own in compiled(name, tmp_path):
        several = set[Config]()
        for config, sizes, wrong in asked(rng, loaded, own):
            assert not wrong, (loaded.name, sizes, config, wrong)
            blocks = tuple(pair for pair in config.blocks if pair[0] not in loaded.signature)
            several.add(replace(config, blocks=blocks))
        config = rng.choice(sorted(several, key=str))
        jobs.append(CheckJob(loaded.text, config, rng.getrandbits(30), tuple(own.items())))
    assert jobs
    for position, answer in interpreter.each(jobs):
        passed = isinstance(answer, CheckResult) and answer.passed
        assert passed, (jobs[position].sizes, jobs[position].config, answer)
