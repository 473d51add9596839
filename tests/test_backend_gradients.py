"""Backward graphs are compiled for the gradients that they are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch._functorch import partitioners
from torch.utils.checkpoint import checkpoint

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.graph.capture import tangents

ASKED: dict[str, Callable[[Sequence[torch.Tensor]], torch.Tensor]] = {
    "loss": lambda out: out[0],
    "loss and logits": lambda out: out[0] + out[1].square().sum(),
    "loss and states": lambda out: out[0] + out[2].square().mean(),
    "states": lambda out: out[2].cos().sum(),
    "all": lambda out: out[0] * out[1].sum() + out[2].sin().sum(),
}


class Model(nn.Module):
    """Gives its loss, logits and hidden states, as models of language do."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(8, 16), nn.Linear(16, 40)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        states = torch.relu(self.into(x))
        logits = self.out(states)
        return nn.functional.cross_entropy(logits, y), logits, states


def gradients(
    model: nn.Module, run: Any, given: Sequence[torch.Tensor], asked: str
) -> list[torch.Tensor]:
    """Of all parameters, zeros where there is none."""
    model.zero_grad()
    ASKED[asked](run(*given)).backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


@pytest.mark.filterwarnings("ignore:.*more than 2 sets:harness.errors.FallbackWarning")
@pytest.mark.parametrize("most", [8, 2])
def test_every_set_of_gradients(
    devices: Devices, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch runs more than are compiled, and says so."""
    monkeypatch.setattr(tangents, "_MOST", most)
    model, compiler = Model(), Compiler(devices=devices, fail_on_fallback=most == 8)
    run = torch.compile(model, backend=compiler)
    given = (torch.randn(6, 8), torch.randint(0, 40, (6,)))
    for asked in (*ASKED, *ASKED):
        ours, eager = (gradients(model, how, given, asked) for how in (run, model))
        torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-6)
    assert len(compiler.compiled) == 1 + min(len(ASKED), most)
    told = ["sets of gradients" in report.eager for report in compiler.reports if report.eager]
    assert told == [True] * (most == 2)


@pytest.mark.parametrize("dynamic", [None, True])
def test_what_is_not_there_is_neither_given_nor_added(
    devices: Devices, dynamic: bool | None
) -> None:
    model, compiler = Model(), Compiler(devices=devices, fail_on_fallback=True)
    given = (torch.randn(6, 8), torch.randint(0, 40, (6,)))
    run = torch.compile(model, backend=compiler, dynamic=dynamic)
    gradients(model, run, given, "loss")
    graph = compiler.compiled[1].partition.graph
    assert [i.name for i in graph.inputs if "tangents" in i.name] == ["tangents_1"]
    added = [n for n in graph.nodes if n.op == "aten.add.Tensor" and len(set(n.refs())) > 1]
    assert not added and "aten.full.default" not in [node.op for node in graph.nodes]


@torch.library.custom_op("harness_gradients::doubled_and_tripled", mutates_args=())
def _doubled_and_tripled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x * 2, x * 3


@_doubled_and_tripled.register_fake
def _like(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), torch.empty_like(x)


_doubled_and_tripled.register_autograd(lambda ctx, one, other: one * 2 + (other + 1))


def test_what_is_made_of_missing_gradients_alone_is_not_added(devices: Devices) -> None:
    """It would be NaN, of 0 / 0, or make a zero positive; users' functions get zeros."""

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return one * 2 + (other + 1)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sqrt(), x * 2, (x[:2] + x.abs()[1:] * 0.5).sum(), (x / x).softmax(0), -x

    def checkpointed(x: torch.Tensor) -> Any:
        return checkpoint(lambda y: Both.apply(y * 1.5) + Both.apply(y)[1:], x, use_reentrant=False)

    x = torch.tensor([0.0, torch.rand(()), -0.0], requires_grad=True)
    for made in (function, lambda x: Both.apply(x), checkpointed, _doubled_and_tripled):
        run = torch.compile(made, backend=Compiler(devices=devices))
        for number in range(len(made(x))):
            asked = [(how(x)[number] * -0.0).sum() for how in (made, run)]
            wanted, found = (torch.autograd.grad(one, x)[0] for one in asked)
            torch.testing.assert_close(found, wanted, equal_nan=True)
            assert torch.equal(found.signbit() & (found == 0), wanted.signbit() & (wanted == 0))


@pytest.mark.parametrize("shape", [(5,), (6, 5), (2, 5, 3, 4)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_zeros_in_the_gradient_of_a_loss_have_the_sign_of_eager_mode(
    devices: Devices, shape: tuple[int, ...], reduction: str
) -> None:
    """None has one off the targets, also where the loss is to grow (1802010) or its own gradient
    is NaN (3100365); at targets that are not ignored they have, if the loss's own gradient is 0
    (2603014)."""

    def function(x: torch.Tensor) -> torch.Tensor:
        targets = x.argmax(min(len(shape) - 1, 1))
        return nn.functional.nll_loss(x, targets, reduction=reduction, ignore_index=2)

    x, found = torch.randn(shape), []
    x.movedim(min(len(shape) - 1, 1), 0)[1:2][..., :1] = 9  # a target that is not ignored
    for run in (function, torch.compile(function, backend=Compiler(devices=devices))):
        leaf = x.clone().requires_grad_()
        loss = run(leaf)
        slopes = [torch.full_like(loss, slope) for slope in (1, -1, 0.0, -0.0, math.nan)]
        found.append([torch.autograd.grad(loss, leaf, s, retain_graph=True)[0] for s in slopes])
    torch.testing.assert_close(*found, equal_nan=True)
    for one, other in zip(*found, strict=True):
        assert one.stride() == other.stride()
        assert torch.equal(torch.signbit(one.nan_to_num()), torch.signbit(other.nan_to_num()))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_gradient_of_reflected_padding_is_a_negative_zero(devices: Devices, dims: int) -> None:
    """Eager mode adds to zeros what reaches an element, once or more often (3100278)."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.pad(x, (1, 1, 0, 1, 0, 0)[: 2 * dims], mode="reflect")

    x = torch.randn(2, *[3] * dims, requires_grad=True)
    padded = torch.compile(function, backend=Compiler(devices=devices, fail_on_fallback=True))(x)
    grad = torch.full_like(padded, -0.0)
    grad.flatten()[1] = 2
    (ours,) = torch.autograd.grad(padded, x, grad)
    (eager,) = torch.autograd.grad(function(x), x, grad)
    assert torch.equal(ours, eager) and not ours.signbit().any() and not eager.signbit().any()


SLOPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "small ones of a margin": lambda x: nn.functional.soft_margin_loss(x, torch.ones(7)),
    "of each margin": lambda x: nn.functional.soft_margin_loss(
        x, torch.tensor([1.0, 1, -1, -1, 1, 1, -1]), reduction="none"
    ),
    "NaN beside what is cut off": lambda x: torch.logit(x, 0.1),
    "NaN beside what is no chance": torch.logit,
}


@pytest.mark.parametrize("name", SLOPES)
def test_small_slopes_and_those_of_nan_are_eager_modes(devices: Devices, name: str) -> None:
    def slopes(run: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        leaf = torch.tensor([20.0, 5, -30, 0.3, 0.95, math.nan, 110], requires_grad=True)
        made = run(leaf)
        return torch.autograd.grad(made, leaf, torch.ones_like(made))[0]

    ours = slopes(torch.compile(SLOPES[name], backend=Compiler(devices=devices)))
    torch.testing.assert_close(ours, slopes(SLOPES[name]), rtol=1e-6, atol=0, equal_nan=True)


def test_beside_an_image_is_no_negative_zero(devices: Devices) -> None:
    def function(image: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return nn.functional.grid_sample(image, places, align_corners=False)

    given = -torch.rand(1, 2, 3, 3), torch.randn(1, 5, 5, 2) * 2
    ours = torch.compile(function, backend=Compiler(devices=devices))(*given)
    assert (function(*given) == 0).any() and not ours[ours == 0].signbit().any()


def test_inductor_is_not_imported_for_equal_calls(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are one before torch's partitioner would look for them."""

    def looked_for(_graph: fx.Graph) -> fx.Graph:
        raise AssertionError

    monkeypatch.setattr(partitioners, "fx_graph_cse", looked_for)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x, w = torch.randn(2, 3, 8), torch.randn(4, 3, 3, requires_grad=True)

    def twice(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.conv1d(x, w).sin() * nn.functional.conv1d(x, w * 2).cos()

    monkeypatch.setattr(Devices, "is_gpu", lambda *_: True)
    torch.testing.assert_close(torch.compile(twice, backend=compiler)(x), twice(x))
    nodes = compiler.compiled[0].partition.graph.nodes
    given = compiler.compiled[0].partition.graph.inputs
    reads = [(n.op, n.args) for n in nodes if n.op == "aten.unsqueeze.default"]
    assert len(reads) == len({*reads}) and len(given) == 2


def test_another_graphs_output_that_is_returned_keeps_its_zeros(devices: Devices) -> None:
    """Whoever compiled that graph counts on them."""
    weight = torch.randn(5, requires_grad=True)
    first: Any = torch.compile(lambda w: ((w * 2).sum(), w * 3), backend="aot_eager")
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    both = fx.symbolic_trace(lambda x, w: (x, x * w))  # torch.compile returns the first by itself
    second = compiler(both, [first(weight)[1].detach().requires_grad_(), weight])
    for _ in range(2):
        weight.grad = None
        passed, product = second(first(weight)[1], weight)
        assert passed.grad_fn is not product.grad_fn
        product.sum().backward()
        torch.testing.assert_close(weight.grad, 6 * weight)


def test_sizes_that_change_are_those_of_gradients_that_are_not_there(devices: Devices) -> None:
    """Zeros of such sizes are read where a user's function may make something of them."""

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x * 2 + y.sum(), torch.cat([y, y[1:] * x.sum()])

        @staticmethod
        def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> Any:  # type: ignore[override]
            return one * 2 + (other.sum() + 1), other.exp()[: other.shape[0] // 2 + 1]

    def roots(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 2, torch.cat([y, x]).sqrt(), y.exp()

    for function in (lambda x, y: Both.apply(x, y), roots):
        compiler = Compiler(devices=devices, fail_on_fallback=True)
        run = torch.compile(function, backend=compiler, dynamic=True)
        for rows in (6, 9, 4):
            given = [torch.rand(n, 5).requires_grad_() for n in (rows, rows + 2)]
            given[0].data[0] = 0  # whose root has an infinite gradient
            for number in range(count := len(function(*given))):
                found, wanted = (
                    torch.autograd.grad(how(*given)[number].sum(), given, allow_unused=True)
                    for how in (run, function)
                )
                torch.testing.assert_close(found, wanted)
        assert len(compiler.compiled) == 1 + count


@pytest.mark.parametrize("configured", [True, False])
def test_compiled_autograd_gets_zeros(devices: Devices, configured: bool) -> None:
    """It takes backward graphs apart."""
    model, compiler = Model(), Compiler(devices=devices)
    given = (torch.randn(6, 8), torch.randint(0, 40, (6,)))
    with torch._dynamo.config.patch(compiled_autograd=configured):
        run = torch.compile(model, backend=compiler)
        model.zero_grad()
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            run(*given)[0].backward()
    ours = [p.grad for p in model.parameters()]
    torch.testing.assert_close(ours, gradients(model, model, given, "loss"), rtol=1e-4, atol=1e-6)


def test_a_part_of_a_result_is_changed_after_a_graph_break(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        middle = x.median(dim=0)[0]  # a view of what the kernel writes
        part = middle[0]
        torch._dynamo.graph_break()
        part += 1
        return middle

    x = torch.tensor([[1.0, 7.0], [5.0, 6.0], [3.0, 9.0]], requires_grad=True)
    found = torch.compile(function, backend=compiler)(x)
    found.sum().backward()
    assert found.tolist() == [4.0, 7.0]
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("masked", [False, True])
def test_what_a_first_graph_saved_is_changed_by_a_second_beside_another_result(
    compiler: Compiler, masked: bool
) -> None:
    """The second graph is one node, whose result depends on nothing of the first: the first's
    gradient is not asked for, so what it saved is not looked at (``aot_eager`` refuses)."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        v = x.exp()
        if masked:
            v[v.clone() < 1] *= 2
        else:
            torch._dynamo.graph_break()
            v.mul_(2)
        return y.sin()

    given = [torch.randn(4, 3, requires_grad=True) for _ in range(2)]
    result = torch.compile(function, backend=compiler)(*given)
    found = torch.autograd.grad(result.sum(), given, allow_unused=True)
    assert found[0] is None
    torch.testing.assert_close(found[1], given[1].cos())


def test_a_gradient_that_depends_on_no_tangent_is_there(compiler: Compiler) -> None:
    """A user's function may ignore what it is given."""

    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return torch.full((3,), 5.0)

    x = torch.randn(3, requires_grad=True)
    first, _second = torch.compile(lambda x: (Constant.apply(x), x * 3), backend=compiler)(x)
    (found,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(found, torch.full((3,), 5.0))


def test_a_view_of_a_copied_input_is_changed(compiler: Compiler) -> None:
    """What is written into lies transposed and has a gradient, which the library's call refuses."""

    def function(x: torch.Tensor) -> torch.Tensor:
        whole = x * 2
        part = whole[..., ::2]
        torch._dynamo.graph_break()
        part[..., ::2] = -1
        return whole

    x = torch.randn(7, 3, 8).transpose(0, 2).requires_grad_()
    found = torch.compile(function, backend=compiler)(x)
    torch.testing.assert_close(found, function(x))
    (slope,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(slope, torch.autograd.grad(function(x).sum(), x)[0])


def test_a_gradient_that_is_known_to_be_zero_is_not_added(compiler: Compiler) -> None:
    """That of ``sgn``: beside it -0.0 stays."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.inner(x.sgn(), x) * 0.0

    x = torch.tensor([-0.5, 2.0, -3.0], requires_grad=True)
    (wanted,) = torch.autograd.grad(function(x), x)
    (found,) = torch.autograd.grad(torch.compile(function, backend=compiler)(x), x)
    assert wanted.signbit().tolist() == found.signbit().tolist() == [True, False, True]
    alone = torch.autograd.grad(torch.compile(lambda x: x.sgn(), backend=compiler)(x).sum(), x)
    assert alone[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    ("norm", "shape"),
    [
        (nn.LayerNorm(8), (3, 8)),
        (nn.GroupNorm(2, 8), (3, 8, 4)),
        (nn.BatchNorm1d(8), (5, 8)),
        (nn.InstanceNorm1d(8, affine=True), (3, 8, 4)),
    ],
    ids=["layer", "group", "batch", "instance"],
)
def test_norms_of_16_bits_with_weights_of_32(
    compiler: Compiler, norm: nn.Module, shape: tuple[int, ...], kind: torch.dtype
) -> None:
    """As autocast makes them: on a CPU the library takes statistics of the weights' type."""
    x, tangent = torch.randn(shape).to(kind).requires_grad_(), torch.randn(shape).to(kind)
    given = (x, *norm.parameters())
    wanted = torch.autograd.grad(norm(x), given, tangent)
    found = torch.autograd.grad(torch.compile(norm, backend=compiler)(x), given, tangent)
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)
    assert len(compiler.compiled) == 2 and not compiler.eager


def test_statistics_of_attention_that_torch_traces_as_another_type(devices: Devices) -> None:
    """They are float64, read by a library call alone."""
    x, compiler = torch.randn(4, 3, 3, 2).double(), Compiler(devices=devices, fail_on_fallback=True)
    attention = nn.functional.scaled_dot_product_attention
    found = []
    for run in (attention, torch.compile(attention, backend=compiler)):
        given = x.clone().requires_grad_()
        run(given, given, given).sum().backward()
        found.append(given.grad)
    torch.testing.assert_close(*found)


SHARING: dict[str, Callable[[torch.Tensor], Any]] = {
    "a view and all of it": lambda v: (v.reshape(2, -1), v.detach()),
    "all of it and a view": lambda v: (v.detach(), v.reshape(2, -1)),
    "itself": lambda v: (v, v.detach()),
    "what is saved": lambda v: (v.detach(), v.sin(), v),
    "two views": lambda v: (v.reshape(2, -1), v.detach().reshape(3, 2)),
    "equal views": lambda v: (v.reshape(2, -1), v.detach().reshape(2, -1), v.detach()),
}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("shared", SHARING.values(), ids=list(SHARING))
def test_what_is_returned_without_its_gradient_as_well_has_one(
    compiler: Compiler, shared: Callable[[torch.Tensor], Any], checked: bool
) -> None:
    """Autograd is told of tensors, not of places, that they have no gradient (3208653)."""

    def function(x: torch.Tensor) -> Any:
        if checked:  # a token stands before the results in what is traced
            torch.linalg.lu_factor(torch.eye(2) + x[0])
        return shared(x.exp())

    ours, theirs = (torch.linspace(-1, 1, 6, requires_grad=True) for _ in range(2))
    found, wanted = torch.compile(function, backend=compiler)(ours), function(theirs)
    assert [one.requires_grad for one in found] == [one.requires_grad for one in wanted]
    assert len({one.untyped_storage().data_ptr() for one in found}) == len(
        {one.untyped_storage().data_ptr() for one in wanted}
    )
    for results in (found, wanted):
        sum((one * 2).sum() for one in results if one.requires_grad).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def _parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.square().sum(), x.sum()


def _number(x: torch.Tensor) -> torch.Tensor:
    return torch.complex(x.sin(), x.cos())


@pytest.mark.parametrize("function", [_parts, _number])
def test_gradients_whose_memory_holds_negatives_or_conjugates(
    function: Callable[[torch.Tensor], Any], compiler: Compiler
) -> None:
    """Which what follows a compiled function makes: the first were wrong, the others raised."""

    def gradient(run: Callable[[torch.Tensor], Any]) -> torch.Tensor:
        x = torch.linspace(-1, 2, 4, requires_grad=True)
        made = run(x)
        number = (torch.complex(*made) if isinstance(made, tuple) else made).conj()
        (number * number * (0.3 + 1j)).real.sum().backward()
        assert x.grad is not None
        return x.grad

    torch.testing.assert_close(
        gradient(torch.compile(function, backend=compiler)), gradient(function)
    )


RETURNED_TWICE: dict[str, Callable[[torch.Tensor], Any]] = {
    **SHARING,
    "detached": lambda v: (v.detach(), v.detach(), v.detach().detach()),
    "read as well": lambda v: (v, d := v.detach(), d.sin(), d.reshape(2, -1)),
    "all by index": lambda v: (v, v[:], v[...], v.data),
    "the same sizes": lambda v: (v, v.view_as(v), v.reshape(v.shape), v.expand(v.shape)),
    "turned": lambda v: (v, v.t(), v.transpose(0, 0), v.permute(0)),
    "given back": lambda v: (v, v.contiguous(), torch.atleast_1d(v), v.float(), v.flatten()),
}


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("made", RETURNED_TWICE.values(), ids=list(RETURNED_TWICE))
def test_what_is_returned_twice_is_one_tensor_where_it_is_in_eager_mode(
    compiler: Compiler, made: Callable[[torch.Tensor], Any], graded: bool
) -> None:
    x = torch.linspace(-1, 1, 6, requires_grad=graded)

    def function(x: torch.Tensor) -> Any:
        return made(x.exp())

    found, wanted = torch.compile(function, backend=compiler)(x), function(x)
    for same in (id, lambda one: one.untyped_storage().data_ptr()):
        pairs = itertools.combinations(zip(found, wanted, strict=True), 2)
        assert all((same(a) == same(c)) == (same(b) == same(d)) for (a, b), (c, d) in pairs)
    assert [one.requires_grad for one in found] == [one.requires_grad for one in wanted]
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("keep", [False, True])
def test_a_sum_over_no_dimensions_is_over_all(compiler: Compiler, keep: bool) -> None:
    """Torch traces it as a sum over none."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        total = torch.nansum(x, (), keep)
        return total * 2, total.dim()

    x = torch.tensor([[1.0, torch.nan], [2.0, -5.0]], requires_grad=True)
    assert differences(function, (x,), compiler) == []
