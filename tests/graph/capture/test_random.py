"""Random numbers: what they are distributed like, and that nothing but the seed decides them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

from harness.backend import Compiler, Devices
from harness.graph.capture.capture import CaptureOptions, capture
from harness.graph.capture.random import random_rules
from harness.graph.model import HostCall
from harness.graph.replay import random_inputs, replay
from harness.graph.text import dumps, loads
from harness.runtime.interpret.interpreter import InterpreterPool

_aten = torch.ops.aten
COUNT = 40_000


def seeded(run: Callable[..., Any], *args: Any, seed: int = 5) -> Any:
    torch.manual_seed(seed)
    return run(*args)


def uniform_quantiles(drawn: torch.Tensor) -> torch.Tensor:
    return drawn.double()


def normal_quantiles(drawn: torch.Tensor) -> torch.Tensor:
    return torch.special.ndtr(drawn.double())


X32, X64 = torch.empty(COUNT), torch.empty(COUNT, dtype=torch.float64)
CONTINUOUS: list[tuple[Any, tuple[Any, ...], dict[str, Any], Callable[..., torch.Tensor]]] = [
    (_aten.rand.default, ([COUNT],), {}, uniform_quantiles),
    (_aten.rand_like.default, (X64,), {}, uniform_quantiles),
    (_aten.randn.default, ([COUNT],), {}, normal_quantiles),
    (_aten.randn_like.default, (X64,), {}, normal_quantiles),
    (_aten.uniform.default, (X32, -2.0, 6.0), {}, lambda d: (d.double() + 2) / 8),
    (_aten.normal_functional.default, (X32, 3.0, 0.5), {}, lambda d: normal_quantiles((d - 3) * 2)),
    (_aten.normal.float_float, (3.0, 0.5, [COUNT]), {}, lambda d: normal_quantiles((d - 3) * 2)),
    (_aten.normal.Tensor_float, (X32.fill_(3.0), 2.0), {}, lambda d: normal_quantiles((d - 3) / 2)),
    (_aten.exponential.default, (X32, 4.0), {}, lambda d: 1 - torch.exp(-4 * d.double())),
    (_aten.cauchy.default, (X32, 1.0, 2.0), {}, lambda d: torch.atan((d - 1) / 2) / math.pi + 0.5),
    (_aten.log_normal.default, (X32, 0.0, 1.0), {}, lambda d: normal_quantiles(torch.log(d))),
    (_aten.randint.low, (-5, 2**40, [COUNT]), {}, lambda d: (d + 5).double() / (2**40 + 5)),
]


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "quantiles"), CONTINUOUS, ids=[str(case[0]) for case in CONTINUOUS]
)
def test_continuous_distributions(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], quantiles: Any
) -> None:
    """Kolmogorov and Smirnov's distance: beyond 2 in 1 of 1500 samples (the seed is fixed)."""
    drawn = seeded(random_rules()[op], *args, **kwargs)
    assert drawn.shape == (COUNT,) and drawn.dtype == op(*args, **kwargs).dtype
    ordered = quantiles(drawn).sort().values
    steps = torch.arange(1, COUNT + 1, dtype=torch.float64) / COUNT
    assert (ordered - steps).abs().max().item() * math.sqrt(COUNT) < 2
    neighbours = torch.corrcoef(torch.stack([quantiles(drawn)[1:], quantiles(drawn)[:-1]]))
    assert abs(neighbours[0, 1].item()) < 0.02


def test_discrete_distributions() -> None:
    rules = random_rules()
    drawn = seeded(rules[_aten.randint.low], -3, 4, [COUNT])
    assert torch.bincount(drawn + 3).min() > COUNT / 7 * 0.95 and drawn.min() == -3
    drawn = seeded(rules[_aten.randint_like.low_dtype], torch.empty(COUNT, dtype=torch.int8), 0, 5)
    assert drawn.dtype is torch.int8 and drawn.unique().tolist() == [0, 1, 2, 3, 4]
    kept = seeded(rules[_aten.bernoulli.p], X32, 0.3)
    assert abs(kept.mean().item() - 0.3) < 0.01 and kept.unique().tolist() == [0.0, 1.0]
    chances = torch.linspace(0, 1, COUNT)
    kept = seeded(rules[_aten.bernoulli.default], chances)
    assert abs((kept - chances)[: COUNT // 2].mean().item()) < 0.01 and kept[0] == 0
    trials = seeded(rules[_aten.geometric.default], X32, 0.25)
    assert trials.min() == 1 and abs(trials.mean().item() - 4) < 0.1
    assert rules[_aten.randint.low](-(2**63), 2**63 - 1, [4]) is NotImplemented


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_no_number_of_a_narrow_type_rounds_to_one(dtype: torch.dtype) -> None:
    drawn = seeded(random_rules()[_aten.rand_like.default], torch.empty(COUNT, dtype=dtype))
    assert drawn.dtype is dtype and drawn.min() == 0 and 0.99 < drawn.max().item() < 1


def test_seeds_decide_and_every_call_draws_anew(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.rand_like(x), torch.randn(3, 5), torch.randint(0, 9, (4,)), torch.rand_like(x)

    run, x = torch.compile(function, backend=compiler), torch.empty(6, 7)
    first, again, other = seeded(run, x), seeded(run, x), run(x)
    assert all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other)) and not torch.equal(first[0], first[3])
    (report,) = compiler.reports
    assert [op for op, _, _ in report.library_calls] == ["harness.seeds.default"]


def test_fusion_tiling_and_layout_leave_the_numbers_alone(compiler: Compiler) -> None:
    """The same element has the same number in a pointwise kernel, in a reduction (persistent and
    looped), in tiles of a transposed result and beside other operators."""
    x = torch.zeros(24, 3000)

    def apart(x: torch.Tensor) -> torch.Tensor:
        return torch.rand(24, 3000)

    def fused(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        drawn = torch.rand(24, 3000)
        total = (drawn + x).sum(1)
        return total, (drawn * 2).t() + x.t().contiguous(), drawn[:, :40].amax(1), drawn + 1

    drawn = seeded(torch.compile(apart, backend=compiler), x)
    got = seeded(torch.compile(fused, backend=compiler), x)
    wanted = drawn.double().sum(1), drawn.t() * 2, drawn[:, :40].amax(1), drawn + 1
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other.to(one.dtype), rtol=1e-5, atol=0)


def test_one_kernel_draws_for_every_size(compiler: Compiler) -> None:
    """Sizes that vary are part of the position: leading rows have the same numbers."""
    run = torch.compile(lambda x: nn.functional.dropout(x, 0.3), backend=compiler, dynamic=True)
    first = seeded(run, torch.ones(8, 12))
    for rows in (11, 16):
        drawn = seeded(run, torch.ones(rows, 12))
        assert torch.equal(drawn[:8], first) and 0.5 < (drawn != 0).double().mean() < 0.9
    assert len(compiler.reports) == 1


class Block(nn.Module):
    """Two dropouts around a product, and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.norm, self.drop = nn.LayerNorm(16), nn.Dropout(0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.drop(nn.functional.gelu(self.up(x)))
        return self.norm(x + self.drop(self.down(hidden)))


def block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Block(), (torch.randn(8, 16),)


def test_backward_draws_the_forwards_mask_again(compiler: Compiler) -> None:
    """The mask is not saved: a gradient is zero exactly where the output is, and the forward
    graph keeps nothing but the seed for it."""
    run = torch.compile(lambda x: nn.functional.dropout(x, 0.4), backend=compiler)
    x = torch.full((16, 40), 3.0, requires_grad=True)
    y = seeded(run, x)
    y.backward(torch.full_like(y, 5.0))
    assert 0.5 < (y != 0).double().mean() < 0.7
    assert x.grad is not None
    torch.testing.assert_close(x.grad, y.detach() / 3 * 5)
    forward, _ = compiler.compiled
    graph, kinds = forward.partition.graph, forward.partition.graph.types()
    kept = [kinds[name] for name in graph.outputs[1:] if name is not None]
    assert [(kind.dtype.short, kind.rank) for kind in kept] == [("i64", 0)]  # type: ignore[union-attr]


def test_a_checkpointed_part_draws_its_mask_again(compiler: Compiler) -> None:
    """Recomputing a part of the model in the backward graph neither draws nor saves a state."""

    def part(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(torch.sin(x) * 2, 0.4)

    def function(x: torch.Tensor) -> Any:
        return torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)

    x = torch.ones(16, 40, requires_grad=True)
    y = seeded(torch.compile(function, backend=compiler), x)
    y.sum().backward()
    assert x.grad is not None and 0.5 < (y != 0).double().mean() < 0.7
    torch.testing.assert_close(x.grad, (y != 0) * (2 * math.cos(1) / 0.6))
    calls = [[op for op, _, _ in report.library_calls] for report in compiler.reports]
    assert calls == [["harness.seeds.default"], []]


def test_training_with_dropout_has_the_gradients_of_its_masks(compiler: Compiler) -> None:
    model, (x,) = block()
    run = torch.compile(model, backend=compiler)
    step = torch.full_like(x, 1e-3)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (seeded(run, x) * torch.linspace(-1, 1, 16)).sum()

    x.requires_grad_()
    loss(x).backward()
    assert x.grad is not None
    with torch.no_grad():
        model.double()
    wanted = (x.grad * step).sum().item()
    with torch.no_grad():
        model.float()
        got = (loss(x + step) - loss(x - step)).item() / 2
    assert got == pytest.approx(wanted, rel=0.05, abs=1e-4)


def test_eager_random_is_eager_modes_stream(devices: Devices) -> None:
    """Bit for bit, and in eager mode's order, although the second call needs nothing."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first = torch.rand_like(x.sum(1, keepdim=True).exp() + x)
        return first * 2, torch.randn(5), nn.functional.dropout(x, 0.5), torch.randint(0, 7, (6,))

    torch.compiler.reset()
    eager = Compiler(devices=devices, eager_random=True)
    x = torch.randn(4, 9)
    got = seeded(torch.compile(function, backend=eager), x)
    assert all(map(torch.equal, got, seeded(function, x)))
    option = torch.compile(function, backend="harness", options={"eager_random": True})
    assert all(map(torch.equal, seeded(option, x), got))
    torch.compiler.reset()


def test_eager_random_draws_what_only_a_value_without_elements_reads(devices: Devices) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.xlogy(nn.functional.dropout(x, 0.4), torch.ones(0, 3)), torch.rand_like(x)

    torch.compiler.reset()
    compiled = torch.compile(function, backend=Compiler(devices=devices, eager_random=True))
    x = torch.randn(3)
    got, wanted = seeded(compiled, x), seeded(function, x)
    assert all(map(torch.equal, got, wanted))
    torch.compiler.reset()


@pytest.mark.parametrize(
    "target",
    [
        f"{__name__}:block",
        "transformers:BertForMaskedLM?num_hidden_layers=1&hidden_size=32&num_attention_heads=2"
        "&intermediate_size=48&vocab_size=61&seq=8&hidden_dropout_prob=0.1",
    ],
)
def test_a_captured_training_graph_with_dropout(target: str, interpreter: InterpreterPool) -> None:
    """Text, replay and kernels of a model that drops: no library call but the seeds' draw."""
    from harness.pipeline import compile_graph
    from harness.target import H100

    if target.startswith("transformers"):
        pytest.importorskip("transformers")
    graphs = capture(target, CaptureOptions(mode="training", name="dropping"))
    texts = []
    for graph in graphs:
        assert loads(dumps(graph)) == graph
        compiled = compile_graph(graph, H100)
        assert compiled.report().failures == ()
        calls = [s.node.op for s in compiled.partition.steps if isinstance(s, HostCall)]
        assert not any("dropout" in op or "bernoulli" in op for op in calls)
        drawing = [m.text for m, _ in compiled.distinct() if "_random_bits(" in m.text]
        assert drawing and all("def philox(" in text for text in drawing)
        texts += drawing
        if "Bert" not in target:  # whose positions a drawn buffer would not hold
            found = replay(graph, random_inputs(graph, "cpu"), "cpu")
            assert all(value.isfinite().all() for value in found if value is not None)
    for text in texts:
        checked = interpreter.check(text)
        assert checked.passed, checked.message
