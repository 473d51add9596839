"""Types of results as in eager mode, where fake tensors have others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences, torchs_own
from harness.errors import FallbackWarning
from harness.graph.capture import decompositions, strides
from scripts.rejected_types import OUTCOMES, call_of, cases, database, tried


@pytest.fixture
def compiler(devices: Devices) -> Iterator[Compiler]:
    torch.manual_seed(0)
    yield Compiler(devices=devices)
    torch.compiler.reset()


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtypes", list(itertools.permutations(FLOATS, 2)), ids=str)
def test_losses_of_two_types_are_of_eager_mode_s(compiler: Compiler, dtypes: Any) -> None:
    """Fake tensors have another type; what stays whole was read as that."""
    x = torch.randn(4, 6).to(dtypes[0]).requires_grad_()
    y = torch.rand(4, 6).round().to(dtypes[1])

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        many = F.soft_margin_loss(x, y, reduction="none")
        scaled = F.binary_cross_entropy_with_logits(x, y, pos_weight=y[0] + 1)
        return F.soft_margin_loss(x, y) * 2, many + 1, scaled, F.smooth_l1_loss(x, y)

    assert differences(function, [x, y], compiler) == []
    assert differences(F.huber_loss, [x.detach(), y], compiler) == []
    assert [text for report in compiler.reports for text in report.failures] == []


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)], ids=str)
def test_a_softmax_of_no_elements_takes_bools(compiler: Compiler, shape: tuple[int, ...]) -> None:
    """Torch's rule for it subtracts, which bools refuse; eager mode has nothing to refuse."""

    def function(x: torch.Tensor) -> Any:
        return x.softmax(0), (x * 2).softmax(-1), x.softmax(-1).sum(0)

    assert differences(function, [torch.ones(shape).bool()], compiler) == []
    assert [text for r in compiler.reports for text in (*r.failures, r.eager) if text] == []


def test_a_library_call_of_another_type_than_recorded_is_brought_into_it(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of defence: kernels read memory as the type they were compiled for."""
    monkeypatch.setitem(strides._WAYS, "soft_margin_loss", lambda *_: NotImplemented)
    x, y = torch.randn(8, 16, dtype=torch.bfloat16), torch.randn(8, 16)
    found = torch.compile(lambda x, y: F.soft_margin_loss(x, y) * 2, backend=compiler)(x, y)
    torch.testing.assert_close(found.bfloat16(), F.soft_margin_loss(x, y) * 2)


_PLACES = torch.tensor([0, 2, 2])
REFUSED = {
    "cross_entropy": lambda x, y: F.cross_entropy(x, y[:, 0].int() % 3),
    "cross_entropy of images": lambda x, y: F.cross_entropy(x.T[None], y[None, :, 0].int() % 3),
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "heaviside": lambda x, y: torch.heaviside(x.detach(), y),
    "cross": torch.linalg.cross,
    "cdist": torch.cdist,
    "grid_sample": lambda x, y: F.grid_sample(
        x[None, None], y[None, None, :, :2], align_corners=True
    ),
    "huber_loss": F.huber_loss,
    "index_put": lambda x, y: torch.index_put(x, [_PLACES], y[:3]),
    "index_put of a mask": lambda x, y: torch.index_put(x, [x > 0], y[0, 0], accumulate=True),
    "index_put added up": lambda x, y: torch.index_put(x, [_PLACES], y[:3], accumulate=True),
    "put": lambda x, y: torch.put(x, _PLACES, y[:, 0][:3]),
    "index_add": lambda x, y: torch.index_add(x, 0, _PLACES, y[:3]),
    "index_reduce": lambda x, y: torch.index_reduce(x.detach(), 0, _PLACES, y[:3], "amax"),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0], y[1]),
    "group_norm": lambda x, y: F.group_norm(x[None].mT, 3, y[0], y[1]),
    "batch_norm": lambda x, y: F.batch_norm(x, y[0], y[1], y[2], y[3]),
    "batch_norm in training": lambda x, y: F.batch_norm(x, y[0] + 1, y[1] + 1, training=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_eager_mode_refuses_are_refused_in_its_words(
    compiler: Compiler, name: str
) -> None:
    x, y = torch.randn(4, 3, requires_grad=True), torch.rand(4, 3, dtype=torch.float64)
    compiled = torch.compile(REFUSED[name], backend=compiler)
    said = []
    for function in (REFUSED[name], compiled):
        with pytest.raises(RuntimeError) as caught:
            function(x, y).sum().backward()
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)


REFUSED_INTEGERS = {
    "huber_loss": F.huber_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "soft_margin_loss": F.soft_margin_loss,
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.clamp(0, 1), y.clamp(0, 1)),
    "lerp": lambda x, y: torch.lerp(x, y, 0.5),
    "softmax": lambda x, _: torch.softmax(x, 0),
    "logsigmoid": lambda x, _: F.logsigmoid(x),
    "logaddexp": torch.logaddexp,
    "silu": lambda x, _: F.silu(x),
    "adaptive_avg_pool2d": lambda x, _: F.adaptive_avg_pool2d(x[None], 2),
    "batch_norm": lambda x, y: F.batch_norm(x, y[0], y[1]),
}


@pytest.mark.parametrize("name", REFUSED_INTEGERS)
def test_integers_that_eager_mode_refuses_are_refused_in_its_words(
    compiler: Compiler, name: str
) -> None:
    """And floats are computed by kernels."""
    x, y = torch.arange(12).view(4, 3), torch.arange(12).view(4, 3) % 5
    function = REFUSED_INTEGERS[name]
    said = []
    for one in (function, torch.compile(function, backend=compiler)):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            one(x, y)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)
    assert differences(function, [x / 12, y / 12], compiler) == []
    assert not compiler.reports[-1].library_calls


ELEMENTWISE = {
    "abs": (lambda m, i, x: m.abs(), lambda m, i, x: i.abs()),
    "floor": (lambda m, i, x: m.floor(), lambda m, i, x: i.floor()),
    "remainder": (lambda m, i, x: torch.remainder(m, m), lambda m, i, x: torch.remainder(i, 3)),
    "fmod": (lambda m, i, x: torch.fmod(m, m), lambda m, i, x: torch.fmod(i, 3)),
    "a mask subtracted": (lambda m, i, x: x - m, lambda m, i, x: x - i),
    "lcm": (lambda m, i, x: torch.lcm(x, x), lambda m, i, x: torch.lcm(i, i)),
    "gcd": (lambda m, i, x: torch.gcd(x, x), lambda m, i, x: torch.gcd(i, i)),
    "nextafter": (lambda m, i, x: torch.nextafter(i, i), lambda m, i, x: torch.nextafter(x, x)),
    "igamma": (lambda m, i, x: torch.igamma(i, i), lambda m, i, x: torch.igamma(x, x)),
    "hypot": (lambda m, i, x: torch.hypot(i, i), lambda m, i, x: torch.hypot(x, x)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operators_refuse_what_eager_mode_refuses(
    compiler: Compiler, name: str
) -> None:
    """And types that it takes are computed by kernels."""
    refused, taken = ELEMENTWISE[name]
    values = torch.arange(6) > 2, torch.arange(6), torch.rand(6)
    said = []
    for one in (refused, torch.compile(refused, backend=compiler)):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            one(*values)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)
    assert differences(taken, values, compiler) == []
    assert not compiler.reports[-1].library_calls


def test_one_number_of_another_type_is_written_where_a_mask_is_true(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.index_put(x, [x > 0], y[0, 0])

    x, y = torch.randn(4, 3), torch.rand(4, 3, dtype=torch.float64)
    assert differences(function, [x, y], compiler) == []
    assert not compiler.reports[-1].library_calls


def test_norms_of_16_bits_take_parameters_of_float32(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.layer_norm(x, (3,), y[0], y[1]), F.batch_norm(x, y[0], y[1], y[2], y[3])

    x, y = torch.randn(4, 3, dtype=torch.bfloat16), torch.rand(4, 3)
    assert differences(function, [x, y], compiler) == []
    assert not compiler.reports[-1].library_calls


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32], ids=str)
def test_an_expanded_operand_of_another_type_lies_in_order(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """As eager mode on a CPU copies it before it looks at strides; what is chosen by is not."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        wide, loss = x.expand(y.shape), F.mse_loss(x, y, reduction="none")
        chosen = torch.where((y[:1] > 0).expand(y.shape), y, 2.0)
        return wide + y, torch.maximum(wide, y), y == wide, loss.view(-1)[::2].neg(), chosen

    x, y = torch.arange(7)[:, None].to(dtype), torch.randn(3, 7).t()
    assert differences(function, [x, y], compiler) == []
    assert not any(report.eager for report in compiler.reports)


def test_an_expanded_operand_of_bools_lies_in_order_but_what_is_chosen_by(
    compiler: Compiler,
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        made = (x * y, x == y, torch.logical_and(x, y), torch.atan2(x, y), y * x, x & (y > 0))
        return *made, torch.where(x, y, 2.0), torch.where(x, y.double(), y)

    y = torch.randn(3, 7).t()
    for x in (torch.arange(3)[None] > 1, torch.arange(7)[:, None] > 1, torch.tensor(True)):
        assert differences(function, [x.expand(y.shape), y], compiler) == []


def test_operands_drawn_from_the_database_are_rejected_as_in_eager_mode(devices: Devices) -> None:
    """All of them: ``scripts/rejected_types.py``."""
    pytest.importorskip("expecttest")
    known, draw = database(), random.Random(3)
    names = (name for name in draw.sample(sorted(known), 70) if [*cases(known[name])])
    drawn = [draw.choice([*cases(known[name])]) for name in names]
    made = {case: call_of(case, known[case.operator]) for case in drawn}
    found = {case: tried(*call, devices, rejected=True) for case, call in made.items() if call}
    torch.compiler.reset()
    assert {case: how for case, how in found.items() if how[0] not in ("", *OUTCOMES[:2])} == {}
    assert [how for how, _ in found.values()].count(OUTCOMES[0]) > 10


@pytest.mark.parametrize("name", ["floor_divide", "_chunk_cat"])
def test_values_that_eager_mode_is_asked_with_reject_nothing(compiler: Compiler, name: str) -> None:
    """Zeros to divide by, and lists of bools, which are masks among indices alone."""

    def function(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> Any:
        if name == "floor_divide":
            return torch.floor_divide(x, y), torch.floor_divide(x, y[0])
        return torch.ops.aten._chunk_cat.default([mask, mask], -1, 5)

    mask = torch.rand(4, 3) > 0.5
    assert differences(function, [torch.arange(-4, 8), torch.full((12,), 3), mask], compiler) == []


def test_a_division_by_a_number_that_is_zero_is_rejected(compiler: Compiler) -> None:
    compiled = torch.compile(lambda x: torch.floor_divide(x, 0), backend=compiler)
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError"):
        compiled(torch.tensor(3))
    assert compiler.reports == []


@pytest.mark.parametrize("number", [300, -200, 2.5])
def test_a_number_that_a_type_does_not_have_is_rejected(compiler: Compiler, number: float) -> None:
    x, place = torch.ones(3, dtype=torch.uint8), torch.tensor([1])
    given = torch.tensor(number)

    def outcome(function: Any) -> Any:
        try:
            return function(x).tolist()
        except RuntimeError as error:
            return str(error)

    for function in (
        lambda x: torch.full_like(x, number),
        lambda x: x.new_full((2,), number),
        lambda x: x.index_fill(0, place, number),
        lambda x: x.scatter(0, place, number),
        lambda x: torch.where(x > 1, x, number).byte(),
        lambda x: x.masked_fill(x > 0, torch.tensor(number)),
        lambda x: x.index_fill(0, place, torch.tensor(number)),
        lambda x: x.masked_fill(x > 0, given),
        lambda x: x.index_fill(0, place, given),
    ):
        assert outcome(torch.compile(function, backend=compiler)) == outcome(function)
    assert all(not report.eager for report in compiler.reports)


def test_a_number_that_fits_is_filled_in_by_a_kernel(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, own: torch.Tensor) -> Any:
        small = x.masked_fill(x > 1, torch.tensor(-3)), x.masked_fill(x > 1, own)
        return *small, y.half().masked_fill(y > 0, torch.tensor(-torch.inf))

    args = [torch.arange(4, dtype=torch.int8), torch.randn(5), torch.tensor(7, dtype=torch.int8)]
    assert differences(function, args, compiler) == []
    assert sum(report.library_call_count for report in compiler.reports) == 0


def test_what_eager_mode_does_before_it_raises_is_done(compiler: Compiler) -> None:
    """Arguments changed in place; and a result that nobody uses is computed all the same."""

    def function(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        torch.lcm(x, x)
        return x * 2

    compiled = torch.compile(function, backend=compiler)
    x = torch.zeros(3)
    with pytest.raises(NotImplementedError, match="\"lcm_cpu\" not implemented for 'Float'"):
        compiled(x)
    assert x.tolist() == [1, 1, 1]
    assert compiler.reports == []


def test_a_gradient_that_eager_mode_rejects_is_rejected_when_it_is_asked_for(
    compiler: Compiler,
) -> None:
    x, y = torch.randn(4, requires_grad=True), torch.rand(4, dtype=torch.float64)
    loss = torch.compile(F.huber_loss, backend=compiler)(x, y)
    torch.testing.assert_close(loss, F.huber_loss(x, y))
    assert compiler.reports[0].kernels == 1
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        loss.backward()


def test_a_graph_that_torch_need_not_reject_is_a_fallback(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompositions, "_error", lambda op, *_: f"{op}: none of these")
    compiled = torch.compile(lambda x: torch.frac(x), backend=compiler)
    # Of six dimensions, as no other test: what is known of an operator is known for the process.
    x = torch.tensor([0.5, 1.75]).reshape(1, 1, 1, 1, 1, 2)
    with pytest.warns(FallbackWarning, match="whole graph.*frac.*none of these"):
        assert compiled(x).flatten().tolist() == [0.5, 0.75]
    assert compiled(x).flatten().tolist() == [0.5, 0.75]
    assert len(compiler.reports) == 1


def test_eager_mode_is_asked_once_and_with_small_tensors(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the real sizes where smaller ones do not fit, and never for random numbers."""
    asked: list[str] = []
    made: list[torch.Tensor] = []
    error, like = decompositions._error, decompositions._like
    monkeypatch.setattr(
        decompositions, "_error", lambda op, *given: asked.append(str(op)) or error(op, *given)
    )

    def small(*given: Any) -> Any:
        made.append(like(*given))
        return made[-1]

    monkeypatch.setattr(decompositions, "_like", small)

    def function(x: torch.Tensor) -> torch.Tensor:
        x = F.group_norm(x, 3) + torch.rand_like(x)
        return torch.frac(torch.frac(x)) + x[:, 5:].sum()

    x = torch.rand(2, 81, 17, requires_grad=True)
    torch.compile(function, backend=compiler)(x).sum().backward()
    assert asked.count("aten.frac.default") == 1
    assert not any("rand" in name for name in asked)
    tensors = [one for one in made if isinstance(one, torch.Tensor)]
    assert max(one.numel() for one in tensors) == 2 * 81 * 17  # of the slice's gradient
    assert not compiler.reports[0].library_calls[1:]


def test_the_type_that_fake_tensors_have_is_torchs_own() -> None:
    """Torch 2.11 has it of products without elements; ``aot_eager`` gives what its kernel does."""
    with torch.library._scoped_library("typed", "DEF") as library:
        library.define("counted(Tensor x) -> Tensor")
        library.impl("counted", lambda x: x.int(), "CPU")
        library.impl("counted", lambda x: x.float(), "Meta")
        lines = ["0: dtype torch.float32 instead of torch.int32", "1: dtype torch.float16"]

        def function(x: torch.Tensor) -> torch.Tensor:
            return torch.ops.typed.counted(x)  # type: ignore[no-any-return]

        assert torchs_own(function, [torch.ones(3, dtype=torch.int64)], lines) == (lines[0],)


def test_a_product_of_integers_and_a_float_is_eager_mode_s(devices: Devices) -> None:
    """Torch's rule refuses such a number: the operator stays whole."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.addcmul(x, x, x, value=2.5) * 2

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [torch.randint(-50, 50, (7, 5))], compiler) == []
