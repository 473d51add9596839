"""What programs that share a row tell each other while the next row is on its way."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.codegen.exchange import Exchange
from harness.graph.text import loads
from harness.heuristics.facts import Hint
from harness.pipeline import compile_graph
from harness.runtime.compile.static import compile_for
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from harness.target import H200
from harness.tiling.plan import SharedRows
from tests.codegen.test_mixed import TWENTY, compiled
from tests.running import run_graph

NORMALISED = """# harness graph 1
def gradients(
    dy: "bf16[{m}, {n}]",
    x: "bf16[{m}, {n}]",
    w: "f32[{n}]",
    r: "f32[{m}, 1]",
):
    xf: "f32[{m}, {n}]" = aten._to_copy.default(x, dtype=torch.float32)
    grad: "f32[{m}, {n}]" = aten._to_copy.default(dy, dtype=torch.float32)
    normal: "f32[{m}, {n}]" = aten.mul.Tensor(xf, r)
    scaled: "f32[{m}, {n}]" = aten.mul.Tensor(grad, w)
    prod: "f32[{m}, {n}]" = aten.mul.Tensor(scaled, normal)
    mean: "f32[{m}, 1]" = aten.mean.dim(prod, [-1], True)
    back: "f32[{m}, {n}]" = aten.mul.Tensor(normal, mean)
    less: "f32[{m}, {n}]" = aten.sub.Tensor(scaled, back)
    out: "f32[{m}, {n}]" = aten.mul.Tensor(less, r)
    rounded: "bf16[{m}, {n}]" = aten._to_copy.default(out, dtype=torch.bfloat16)
    each: "f32[{m}, {n}]" = aten.mul.Tensor(grad, normal)
    weight: "f32[{n}]" = aten.sum.dim_IntList(each, [0])
    return (rounded, weight)
"""
"""The gradients of an RMS norm."""


def test_sums_are_looked_at_before_the_next_are_there_and_rows_held_as_they_were_summed() -> None:
    made = compile_graph(loads(NORMALISED.format(m=2048, n=65536)), H200)
    (kernel,) = [k for k in made.kernels if k.module.category == "mix"]
    loaded = load(kernel.module.text)
    binary = compile_for(loaded, H200, loaded.configs[0])
    _, _, loop = binary.asm["ttgir"].partition("scf.for")
    assert 0 < loop.index("elementwise_inline_asm") < loop.index('"tt.reduce"')
    held = re.findall(r"(held_\d) = tl\.full\((\[.*?\]), .*?(\w+)\)\n", kernel.module.text)
    assert [one[1:] for one in held] == [
        ("[R0_BLOCK]", "bfloat16"),
        ("[R0_BLOCK]", "float32"),
        ("[]", "float32"),
    ]


def test_gradients_of_normalised_rows_that_no_program_holds(interpreter: InterpreterPool) -> None:
    made = compiled(NORMALISED.format(m=63, n=16385), target=TWENTY)
    assert made.kernels[0].module.category == "mix" and "_seen(" in made.kernels[0].module.text
    dy, x = (torch.randn(63, 16385).bfloat16() for _ in range(2))
    w, r = torch.randn(16385), torch.randn(63, 1)
    given = [dy, x, w, r]
    found = run_graph(made, given, lambda m, args: interpreter.launch(m.text, args), "cpu")
    grad, normal = dy.double(), x.double() * r
    scaled = grad * w
    wanted = (scaled - normal * (scaled * normal).mean(-1, keepdim=True)) * r
    for one, right in zip(found, (wanted, (grad * normal).sum(0)), strict=True):
        assert one is not None
        rounding = 4e-3 if one.dtype is torch.bfloat16 else 2e-5
        torch.testing.assert_close(one.double(), right, rtol=rounding, atol=2e-3)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("results", [1, 2])
def test_no_program_begins_behind_what_is_reduced(alone: bool, results: int) -> None:
    """A loop that is unrolled counts its turns without a sign: from 2,304 to 2,100 there are 2**26,
    of which one to three, before the end, were taken (2,100 rows in 16 chunks of 192). One result
    has a loop of whole blocks, and then one of what is left: neither is unrolled."""
    rng = random.Random(5)
    facts = SimpleNamespace(alone=alone, chunked=1, hint=Hint.INNER, run=0)
    plan: Any = SimpleNamespace(aligned=None, facts=facts, extents=(1,), workspace=SharedRows(1))
    plan.tiles = [SimpleNamespace(numel=results)]
    for programs in (1, 16, *(rng.randint(1, 64) for _ in range(200))):
        numel, block = rng.randint(0, 5000), rng.choice((8, 32, 64))
        found: list[int] = []
        for number in range(programs):
            names = {"r0_numel": numel, "CHUNKS": programs, "R0_BLOCK": block, "at": number}
            exec("\n".join(Exchange(plan, 1, "CHUNKS", "at").part()), {"tl": _Numbers}, names)
            first, stop = names["r0_first"], names["r0_stop"]
            assert stop <= numel and (first <= stop or results == 1)
            last = names.get("r0_last", first)
            assert (last - first) % block == 0 <= last - first
            found += [*range(first, last), *range(last, stop)]
        assert found == list(range(numel))


class _Numbers:
    """What parts are computed with."""

    minimum, maximum = min, max
