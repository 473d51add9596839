"""Inputs that change in place and are read by others than who writes: in the interpreter, where one
program runs after the other, each read must see what was there before."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.errors import FallbackWarning

Function = Callable[[torch.Tensor], torch.Tensor]


def by_first_of_row(x: torch.Tensor) -> torch.Tensor:
    x.sub_(x[:, :1].exp())
    return x + 1


def by_first_row(x: torch.Tensor) -> torch.Tensor:
    x.mul_(x[:1].sin())
    return x.relu()


def by_reverse(x: torch.Tensor) -> torch.Tensor:
    x.add_(x.flip(1))
    return x * 2


def by_total(x: torch.Tensor) -> torch.Tensor:
    total = x.sum(1, keepdim=True)
    x.div_(total)
    return x[:, 3] * total.squeeze(1)


def first_of_row_besides(x: torch.Tensor) -> torch.Tensor:
    """The first element of a row is read once its sum is known, and the row changes."""
    found = x[:, 0] * x.sum(1)
    x.sub_(1)
    return found


def first_row_besides(x: torch.Tensor) -> torch.Tensor:
    found = x[0].sin() + x[1]
    x.mul_(2)
    return found


def spread_besides(x: torch.Tensor) -> torch.Tensor:
    """A copy reads a row where the row itself changes."""
    found = x[2].expand(6, -1) * 3
    x.neg_()
    return found


def by_computed_places(x: torch.Tensor) -> torch.Tensor:
    x.copy_(x[:, x[0].argsort()])
    return x + 1


def by_running_sum(x: torch.Tensor) -> torch.Tensor:
    x.sub_(x.cumsum(1)[:, 5:6] + x[:, :1])
    return x


def alone(x: torch.Tensor) -> torch.Tensor:
    """Nobody but the input wants the values, which have no memory of their own otherwise."""
    x.sub_(x[:, :1].exp())
    return x.new_zeros(1)


def alone_reversed(x: torch.Tensor) -> torch.Tensor:
    x.add_(x.flip(0))
    return x.new_zeros(1)


FUNCTIONS = (
    alone,
    alone_reversed,
    by_first_of_row, by_first_row, by_reverse, by_total, first_of_row_besides, first_row_besides,
    spread_besides, by_computed_places, by_running_sum,
)  # fmt: skip


@pytest.mark.parametrize("columns", [7, 5000], ids=["block", "loop"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_read_by_others_is_read_before_it_changes(
    compiler: Compiler, function: Function, columns: int
) -> None:
    ours = torch.randn(6, columns) + 2
    theirs = ours.clone()
    found = torch.compile(function, backend=compiler, fullgraph=True)(ours)
    torch.testing.assert_close(found, function(theirs))
    torch.testing.assert_close(ours, theirs)


def windows_with_gaps(x: torch.Tensor) -> torch.Tensor:
    x.unfold(1, 1, 2).clamp_(-1, 1)
    return x + 1


def windows_of_part(x: torch.Tensor) -> torch.Tensor:
    """The last column is in no window; the first row is before the part."""
    windows = x[1:].unfold(-1, 2, 3)
    windows[..., 1] = 3
    windows.transpose(0, 2).__imul__(2)
    x += 1
    return windows


def windows_of_made(x: torch.Tensor) -> torch.Tensor:
    y = x.t() * 2
    torch.nn.functional.relu(y.unfold(0, 1, 4), inplace=True)
    return y.sum(0)


def windows_at_the_end(x: torch.Tensor) -> torch.Tensor:
    """The last window has no whole step behind it."""
    y = x * 2
    y.unfold(1, 3, 5).neg_()
    return y


@pytest.mark.parametrize(
    "function", [windows_with_gaps, windows_of_part, windows_of_made, windows_at_the_end]
)
@pytest.mark.parametrize("gradient", [False, True])
def test_what_is_in_no_window_stays_when_windows_are_written(
    compiler: Compiler, function: Function, gradient: bool
) -> None:
    made = torch.randn(9, 20)[2:, 3:16].requires_grad_(gradient)
    own = made.detach().clone().requires_grad_(gradient)
    ours, theirs = (x * 1 if gradient else x for x in (made, own))
    compiled = torch.compile(function, backend=compiler, fullgraph=True)
    found, wanted = compiled(ours), function(theirs)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(ours, theirs)
    if gradient:
        (a,) = torch.autograd.grad(found.square().sum() + ours.sum(), made)
        (b,) = torch.autograd.grad(wanted.square().sum() + theirs.sum(), own)
        torch.testing.assert_close(a, b)


def test_overlapping_windows_are_written_by_torch() -> None:
    """Each element is in two windows: what one of them still has would hide what is written."""

    def function(x: torch.Tensor) -> torch.Tensor:
        x.unfold(0, 2, 1).transpose(0, -1)[..., 1:].diagonal()[None].fill_(-2.5)
        return x + 1

    ours = torch.randn(3, 1)
    theirs = ours.clone()
    with pytest.warns(FallbackWarning):
        found = torch.compile(function, backend="harness")(ours)
    torch.testing.assert_close(found, function(theirs))
    torch.testing.assert_close(ours, theirs)


def test_pieces_of_nothing_that_changed_are_views(compiler: Compiler) -> None:
    """All of it is one (1803570)."""

    def function(x: torch.Tensor) -> torch.Tensor:
        x.logical_not_()
        return x.split(2, -2)[0]

    assert torch.compile(function, backend=compiler)(torch.ones(0, 2)).shape == (0, 2)


def sliced(x: torch.Tensor) -> torch.Tensor:
    x.cumsum_(0)
    return x[1 : x.shape[0] - 1]


def narrowed(x: torch.Tensor) -> torch.Tensor:
    x.index_copy_(-1, torch.tensor([0]), x.narrow(-1, -1, 1) * 2)
    return x.narrow(0, 1, x.shape[0] // 2)


def of_windows(x: torch.Tensor) -> torch.Tensor:
    x.cumsum_(0)
    windows = x.unfold(0, 2, 2)
    windows.mul_(2)
    return windows


def of_windows_of_a_part(x: torch.Tensor) -> torch.Tensor:
    """As many whole windows as fit, in a size that is no plain symbol (3604063)."""
    windows = torch.tensor_split(x, 2, 0)[1].unfold(0, 2, 2)
    windows.unbind(0)[-1].mul_(2)
    return windows + 1


def parts_and_one_more(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x.cumsum_(0)
    return x[: x.shape[0] // 2], x.transpose(0, 2)[1 : x.shape[0] - 1], x.sum(), x[0]


@pytest.mark.parametrize(
    "function", [sliced, narrowed, of_windows, of_windows_of_a_part, parts_and_one_more]
)
def test_views_of_unknown_sizes_are_of_the_input_that_changed(
    compiler: Compiler, function: Callable[..., object]
) -> None:
    """AOTAutograd makes them again by strides, of the functional form, where a size is a symbol:
    other elements with ``aot_eager`` and Inductor, too."""
    for n in (8, 6):
        x = torch.arange(n**3).reshape(n, n, n).transpose(0, -1)
        assert differences(function, [x], compiler, dynamic=True) == []


def one_after_the_other(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y.sin_()
    x.clamp_min_(0.5)
    return y.exp()


def a_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x * y


def apart(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return like[:3], like.clone()[:3]


def disjoint(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return like[:3], like[3:6]


def overlapping(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return like[:3], like[1:4]


def overlapping_elsewhere(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return like[2:5], like[3:6]


def of_other_memory(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return overlapping(like.repeat(2))


def same_memory(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of which neither is a view of the other: AOTAutograd refuses them."""
    return like.detach()[:3], like.detach()[:3]


MADE = (apart, disjoint, overlapping, overlapping_elsewhere, of_other_memory, same_memory)


@pytest.mark.filterwarnings("ignore::harness.errors.FallbackWarning")
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [one_after_the_other, a_product])
@pytest.mark.parametrize("first", [apart, disjoint, overlapping], ids=lambda f: f.__name__)
def test_inputs_overlap_otherwise_at_another_call(
    devices: Devices, first: Function, function: Function, dynamic: bool, gradient: bool
) -> None:
    """Torch guards against it only where sizes are symbols: ``aot_eager`` and Inductor write what
    one input had into the other (3050205)."""
    compiled = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    for make in (first, *MADE, first):
        whole = torch.linspace(-1, 1, 6).requires_grad_(gradient)
        ours, theirs = make(whole * 1), make(whole * 1)
        found, wanted = compiled(*ours), function(*theirs)
        torch.testing.assert_close((found, *ours), (wanted, *theirs))


@pytest.mark.filterwarnings("ignore::harness.errors.FallbackWarning")
def test_inputs_that_begin_where_they_did_and_are_longer_overlap(devices: Devices) -> None:
    compiled = torch.compile(a_product, backend=Compiler(devices=devices), dynamic=True)
    whole = torch.linspace(-1, 1, 8)
    for n in (2, 3, 2, 4, 2):
        wanted = whole.clone()
        result = a_product(wanted[:n], wanted[3 : 3 + n])
        torch.testing.assert_close((compiled(whole[:n], whole[3 : 3 + n]), whole), (result, wanted))


def a_number_and_rows(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
    y[0] = 0
    return x[1, 0], y[0], y[:2], x.sum()


def turned(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
    x.mul_(2)
    return x.t(), y.unsqueeze(0), y, x.reshape(-1)[2:], y.view(torch.int64)


def of_a_result(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
    y.add_(1)
    z = x * 3
    return x.sum(), z[1:], z, z.t()[0]


@pytest.mark.filterwarnings("ignore::harness.errors.FallbackWarning")
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("make", [lambda x: (x, x.t()), lambda x: (x[1:4], x[2:])])
@pytest.mark.parametrize("function", [a_number_and_rows, turned, of_a_result])
def test_torch_runs_what_returns_views_where_inputs_overlap(
    devices: Devices, function: Function, make: Function, dynamic: bool, gradient: bool
) -> None:
    """With ``aot_eager`` and Inductor they have other elements or other gradients, or raise: what
    was made of one input is made again of all the memory that the inputs share."""
    compiled = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    for _ in range(2):
        whole, outcomes = torch.randn(5, 5, dtype=torch.float64), []
        for run in (compiled, function):
            leaf = whole.clone().requires_grad_(gradient)
            args = make(leaf * 1)
            results = run(*args)
            if gradient:
                floats = (one for one in (*results, *args) if one.is_floating_point())
                sum(one.square().sum() for one in floats).backward()
            outcomes.append((results, args, leaf.grad, [one.stride() for one in results]))
        torch.testing.assert_close(*outcomes)


def test_torch_runs_a_call_whose_inputs_overlap_otherwise(devices: Devices) -> None:
    compiler = Compiler(devices=devices)
    compiled = torch.compile(a_product, backend=compiler)
    compiled(*apart(torch.ones(6)))
    assert not any(report.eager for report in compiler.reports)
    with pytest.warns(FallbackWarning, match="elements that overlap"):
        compiled(*overlapping(torch.ones(6)))


def a_column_and_all(x: torch.Tensor) -> torch.Tensor:
    column = x.unbind(-1)[-1]
    column[:1] = column[-1:] * 2
    return x + 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_part_of_what_overlaps_itself_is_another_part_too(
    devices: Devices, dynamic: bool
) -> None:
    compiler = Compiler(devices=devices)
    compiled = torch.compile(a_column_and_all, backend=compiler, dynamic=dynamic)

    def called_at(step: int, other: int) -> None:
        own, whole = (torch.linspace(-1, 1, 24).as_strided((6, 3), (step, other)) for _ in range(2))
        torch.testing.assert_close((compiled(own), own), (a_column_and_all(whole), whole))

    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        called_at(3, 1)
    assert not any(report.eager for report in compiler.reports)
    with pytest.warns(FallbackWarning, match="elements that overlap"):
        called_at(2, 1)


EXPANDED: dict[str, Callable[[torch.Tensor], Any]] = {
    "copy": lambda x: x.expand(2, 4)[1].copy_(x.flip(0)),
    "of itself": lambda x: x.expand(1, 4)[0].mul_(2),
    "of bools": lambda x: (x > 0).broadcast_to(2, 4)[0].copy_(x < 0),
    "of another's size": lambda x: x.expand_as(torch.ones(2, 4)).unbind(0)[0].add_(1),
    "a mesh": lambda x: torch.meshgrid(x, x, indexing="ij")[1][0].mul_(2),
    "windows": lambda x: x.as_strided((2, 3), (1, 1))[1].mul_(2),
    "strides of zero": lambda x: x.as_strided((2, 4), (0, 1))[1].mul_(2),
    "result": lambda x: torch.add(x, 1, out=torch.broadcast_tensors(x, torch.ones(2, 1))[0][1]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", EXPANDED)
def test_a_part_of_what_is_expanded_changes(devices: Devices, name: str, dynamic: bool) -> None:
    """AOTAutograd adds by how much: to an infinity that is NaN, and to 1e20 it is lost. Windows it
    writes back one after the other."""
    compiled = torch.compile(EXPANDED[name], backend=Compiler(devices=devices), dynamic=dynamic)
    ours, theirs = (torch.tensor([1e20, math.inf, math.nan, 3.0]) for _ in range(2))
    with pytest.warns(FallbackWarning, match="elements that overlap"):
        result = compiled(ours)
    torch.testing.assert_close((result, ours), (EXPANDED[name](theirs), theirs), equal_nan=True)


@pytest.mark.parametrize("over", [torch.vmap, torch.func.jacrev, torch.func.grad])
def test_what_is_expanded_inside_of_batches_and_gradients(devices: Devices, over: Any) -> None:
    function = over(lambda x: x.expand(2, 4).sum())
    x = torch.rand(3, 4) if over is torch.vmap else torch.rand(4)
    compiled = torch.compile(function, backend=Compiler(devices=devices, fail_on_fallback=True))
    torch.testing.assert_close(compiled(x), function(x))


def test_what_is_expanded_and_read_is_compiled(devices: Devices) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole = x.expand(2, 4)
        other = whole.clone()
        other[0] += 1
        x.as_strided((2, 2), (1, 2))[0].add_(1)
        some, last = (x * 2).split((3, 1))  # apart from each other in the same memory
        other[:, :3] += some.sub_(x[:3]).mul_(last.expand_as(some)).add_(1)
        return other, whole.isnan() & ~(whole > 1), torch.add(whole, 1, out=torch.empty(2, 4))

    compiler, x = Compiler(devices=devices), torch.rand(4)
    result = torch.compile(function, backend=compiler)(x.clone())
    torch.testing.assert_close(result, function(x))
    assert not any(report.eager for report in compiler.reports)


@pytest.mark.filterwarnings("ignore::harness.errors.FallbackWarning")
def test_memory_that_inputs_share_is_longer_or_shorter_at_another_call(devices: Devices) -> None:
    """AOTAutograd hands in all of it, which a kernel takes for as long as it was."""
    compiler = Compiler(devices=devices)
    compiled = torch.compile(a_product, backend=compiler, dynamic=False)

    def of(length: int) -> list[torch.Tensor]:
        memory = torch.arange(float(length)).untyped_storage()
        return [torch.empty(0).set_(memory, n, (3,)) for n in (0, 1)]  # type: ignore[call-overload]

    for length, warned in ((9, False), (12, False), (9, False), (5, True)):
        ours, theirs = of(length), of(length)
        torch.testing.assert_close((compiled(*ours), *ours), (a_product(*theirs), *theirs))
        assert any(report.eager for report in compiler.reports) is warned


def step_by_hand(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    m.data = m * 0.9 + g
    p.data = p.data - 0.1 * m
    return p.sum()


def part_of_another(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    p.data = g[1:]
    return p * m[1:]


def equal_but_apart(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    p.data, m.data = g * 2, g * 2
    return g * 2


def exchanged(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> None:
    p.data, m.data = m.data, p.data


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("step", [step_by_hand, part_of_another, equal_but_apart, exchanged])
def test_an_input_gets_the_memory_that_data_says(
    step: Callable[..., torch.Tensor | None], dynamic: bool, devices: Devices
) -> None:
    """``p.data = …``, as optimizers written by hand have it: AOTAutograd's graph sets it."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    args = [torch.randn(n) for n in (3, 3, 3)]
    others = [torch.randn(n) for n in (5, 5, 5)]
    assert differences(step, args, compiler, dynamic=dynamic, then=[others]) == []
    (call,) = {op for report in compiler.reports for op, *_ in report.library_calls}
    assert call in ("aten.set_.source_Tensor", "aten.shallow_copy_data_.default")


def test_a_parameter_that_a_step_replaces_is_trained(devices: Devices) -> None:
    p = torch.nn.Parameter(torch.ones(3))
    before = p.detach()

    @torch.compile(backend=Compiler(devices=devices, fail_on_fallback=True))
    def step() -> None:
        assert p.grad is not None
        p.data = p.data - 0.5 * p.grad

    for value in (0.5, 0.0):
        p.grad = torch.ones(3)
        step()
        assert p.detach().tolist() == 3 * [value]
    assert before.tolist() == 3 * [1.0]


def test_a_result_of_several_that_lies_otherwise_may_be_changed(compiler: Compiler) -> None:
    """What a pooling reads lies otherwise than the result: that was a view, which autograd keeps
    from being changed where there are several (3202311)."""

    def function(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.copysign(x, n)
        return made, torch.nn.functional.lp_pool2d(made, 2, 2)

    found = []
    for run in (function, torch.compile(function, backend=compiler)):
        x = torch.linspace(-1, 1, 24).view(3, 8, 1).transpose(0, -1).detach().requires_grad_()
        made, pooled = run(x, torch.tensor([3, 1, 2]))
        made.mul_(3)
        found.append((made, pooled))
    torch.testing.assert_close(found[1], found[0])


def test_compiled_autograd_adds_to_gradients_that_are_there(compiler: Compiler) -> None:
    """It gives tensors in a list, which the call empties, of which AOTAutograd counts each."""
    p = torch.tensor([2.0], requires_grad=True)
    p.grad, result = torch.ones(1), p**2
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=compiler)):
        result.backward()
    assert p.grad.tolist() == [5.0]
    assert any(made.partition.graph.mutations for made in compiler.compiled)
