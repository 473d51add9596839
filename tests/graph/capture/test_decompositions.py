"""Numbers, and tensors of other types, beside 16-bit floats: rounded where eager mode does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, fx
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from harness.backend import Compiler, Devices
from harness.graph.capture.decompositions import ask_early, decompositions, spell_conversions

Function = Callable[[Any, Any], Tensor]
DTYPES = (torch.bfloat16, torch.float16)


class Case(NamedTuple):
    """An operator of two operands, and which of them (``a``, ``b``) may be a number that stays in
    float32, on each device; all others are rounded."""

    call: Function
    kept_on_cpu: str
    kept_on_cuda: str


def _lerp(a: Tensor, b: Any) -> Tensor:
    return torch.lerp(a, torch.zeros_like(a), b)


CASES = {
    "add": Case(torch.add, "", "ab"),
    "sub": Case(torch.sub, "", "ab"),
    "rsub": Case(torch.rsub, "", "ab"),
    "mul": Case(torch.mul, "b", "ab"),
    "true_divide": Case(torch.true_divide, "b", "b"),
    "floor_divide": Case(torch.floor_divide, "b", "b"),
    "truncating": Case(lambda a, b: torch.div(a, b, rounding_mode="trunc"), "b", "b"),
    "atan2": Case(torch.atan2, "", ""),
    "hypot": Case(torch.hypot, "", ""),
    "logaddexp": Case(torch.logaddexp, "", ""),
    "logaddexp2": Case(torch.logaddexp2, "", ""),
    "fmod": Case(torch.fmod, "", ""),
    "remainder": Case(torch.remainder, "", ""),
    "pow": Case(torch.pow, "", ""),
    "eq": Case(torch.eq, "", ""),
    "maximum": Case(torch.maximum, "", ""),
    "lerp": Case(_lerp, "", ""),
    "xlogy": Case(torch.xlogy, "", ""),
    "xlog1py": Case(torch.special.xlog1py, "", ""),
}
FORMS: dict[str, Callable[[Function, float], Function]] = {
    "a number, second": lambda call, n: lambda x, _: call(x, n),
    "a number, first": lambda call, n: lambda x, _: call(n, x),
    "a tensor, second": lambda call, _: lambda x, z: call(x, z),
    "a tensor, first": lambda call, _: lambda x, z: call(z, x),
}
"""How an operator is given a number, or a float32 tensor without dimensions."""


def operand(dtype: torch.dtype, device: str = "cpu") -> Tensor:
    """Positive numbers, the nearest ones to 0.1 and 1.7 among them."""
    torch.manual_seed(1)
    numbers = torch.cat((torch.tensor([0.1, 1.7]), torch.rand(254) * 2 + 0.01))
    return numbers.to(device, dtype)


def accepted(form: str, x: Tensor, z: Tensor) -> dict[str, Function]:
    """The operators that eager mode has in this form."""
    found = {}
    for name, case in CASES.items():
        function = FORMS[form](case.call, z.item())
        try:
            result = function(x, z)
        except (RuntimeError, TypeError, AttributeError):
            continue
        if result.dtype in (x.dtype, torch.bool):
            found[name] = function
    return found


def _second(form: str) -> tuple[str, str]:
    """Which operand the number is, and the same form of a tensor."""
    return ("a", "a tensor, first") if form.endswith("first") else ("b", "a tensor, second")


@pytest.mark.parametrize("number", [0.1, 1.7])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_rounded_as_on_a_cpu(
    devices: Devices, form: str, dtype: torch.dtype, number: float
) -> None:
    x, z = operand(dtype), torch.tensor(number)
    functions = accepted(form, x, z)
    assert len(functions) >= 9
    torch.compiler.reset()
    compiler = Compiler(devices=devices)
    run = torch.compile(lambda x, z: [f(x, z) for f in functions.values()], backend=compiler)
    for name, got in zip(functions, run(x, z), strict=True):
        place, by_hand = _second(form)
        wide = (name == "lerp" and "number" in form) or place in CASES[name].kept_on_cpu
        near = z if wide else z.to(dtype).float()
        wanted = FORMS[by_hand](CASES[name].call, number)(x.float(), near).to(got.dtype)
        if name != "truncating":  # a quotient of 16 bits is rounded, then truncated
            assert torch.equal(got, wanted), name
        if not name.startswith("xlog"):  # eager mode on a CPU rounds their logarithm as well
            assert torch.equal(got, functions[name](x, z)), name


def traced(function: Callable[..., Any], *devices: str, on_device: bool = True) -> fx.GraphModule:
    """The graph of a bfloat16 tensor on the first of ``devices`` and float32 numbers on others."""
    with FakeTensorMode(), fx.traceback.preserve_node_meta():
        x = torch.empty(8, dtype=torch.bfloat16, device=devices[0])
        numbers = [torch.empty((), device=device) for device in devices[1:]]
        gm = make_fx(function, decomposition_table=decompositions(True, on_device))(x, *numbers)
    for node in gm.graph.nodes:
        spell_conversions(node)
    gm.graph.eliminate_dead_code()
    return gm


def rounded(gm: fx.GraphModule, number: float) -> bool:
    """Whether ``gm`` rounds its second argument, or the ``number`` in its text."""
    _, *given = gm.graph.find_nodes(op="placeholder")
    to_copy = torch.ops.aten._to_copy.default
    if given and given[0].users:
        return all((n.target, n.kwargs) == (to_copy, {"dtype": DTYPES[0]}) for n in given[0].users)
    literals = (one for n in gm.graph.nodes for one in (*n.args, *n.kwargs.values()))
    found = {one for one in literals if isinstance(one, float)}
    near = torch.tensor(number).to(DTYPES[0]).item()
    assert len(found & {number, near}) == 1
    return near in found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_rounded_as_on_a_gpu(form: str, name: str) -> None:
    """Some operators keep a number, and a tensor on the CPU. None keeps a tensor on the GPU."""
    function = FORMS[form](CASES[name].call, 0.1)
    if name not in accepted(form, operand(DTYPES[0]), torch.tensor(0.1)):
        pytest.skip("eager mode has no such form")
    kept = _second(form)[0] in CASES[name].kept_on_cuda
    if "tensor" in form:
        assert rounded(traced(function, "cuda", "cpu"), 0.1) is not kept
        assert rounded(traced(function, "cuda", "cuda"), 0.1)
        assert rounded(traced(function, "cpu", "cpu", on_device=False), 0.1)
    elif name != "lerp":
        assert rounded(traced(function, "cuda", "cpu"), 0.1) is not kept
        assert rounded(traced(function, "cpu", "cpu", on_device=False), 0.1) is not kept


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_tensors_of_integers_are_rounded(device: str) -> None:
    with FakeTensorMode(), fx.traceback.preserve_node_meta():
        x = torch.empty(8, dtype=torch.bfloat16, device=device)
        many, few = (torch.empty(8, dtype=t, device=device) for t in (torch.int64, torch.int8))
        table = decompositions(True, True)
        gm = make_fx(lambda x, a, b: (x * a, x * b), decomposition_table=table)(x, many, few)
    assert [n.args[0].name for n in gm.graph.nodes if "_to_copy" in n.name] == ["a_1"]


def test_integers_beside_16_bits(devices: Devices) -> None:
    x, counts = operand(torch.bfloat16), torch.arange(256) + 1000
    run = torch.compile(lambda x, n: (x * n, n - x, x + 1001), backend=Compiler(devices=devices))
    for got, wanted in zip(run(x, counts), (x * counts, counts - x, x + 1001), strict=True):
        assert torch.equal(got, wanted)


def _in_steps(x: Tensor, y: Tensor, turn: float) -> tuple[Tensor, Tensor]:
    """The two losses as eager mode on a GPU computes them."""
    apart = (x.float() - y.float()).to(x.dtype).float().abs()
    near = torch.tensor(turn).to(x.dtype).float()
    square, inside = 0.5 * apart * apart, apart < near
    huber = torch.where(inside, square, near * (apart - 0.5 * near))
    smooth = torch.where(inside, square / near, apart - 0.5 * near)
    return huber.to(x.dtype), smooth.to(x.dtype)


@pytest.mark.parametrize("turn", [0.1, 1.7])
@pytest.mark.parametrize("dtype", DTYPES)
def test_losses_of_a_gpu_take_differences_and_their_turn_in_16_bits(
    dtype: torch.dtype, turn: float
) -> None:
    def losses(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        huber = functional.huber_loss(x, y, reduction="none", delta=turn)
        return huber, functional.smooth_l1_loss(x, y, reduction="none", beta=turn)

    x, y = operand(dtype), operand(dtype).flip(0) * 1.1
    gm = make_fx(losses, decomposition_table=decompositions(True))(x, y)
    for got, wanted in zip(gm(x, y), _in_steps(x, y, turn), strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("call", [functional.threshold, functional.softshrink])
def test_where_activations_of_a_gpu_jump_is_rounded(call: Callable[..., Tensor]) -> None:
    more = (0.0,) if call is functional.threshold else ()
    assert rounded(traced(lambda x, _: call(x, 0.1, *more), "cuda", "cpu"), 0.1)
    assert not rounded(traced(lambda x, _: call(x, 0.1, *more), "cpu", "cpu"), 0.1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softshrink_jumps_where_eager_mode_does(devices: Devices, dtype: torch.dtype) -> None:
    """In a graph from ``torch.compile``, which torch takes apart before it is traced."""

    def shrunk(x: Tensor) -> tuple[Tensor, ...]:
        return functional.softshrink(x, 0.1), functional.softshrink(input=x, lambd=1.7)

    x = torch.cat((operand(dtype), -operand(dtype))).requires_grad_()
    run = torch.compile(shrunk, backend=Compiler(devices=devices))
    for got, wanted in zip(run(x), shrunk(x), strict=True):
        assert torch.equal(got, wanted)
        slopes = (torch.autograd.grad(one.sum(), x, retain_graph=True)[0] for one in (got, wanted))
        assert torch.equal(*slopes)


def test_a_group_norm_of_what_lies_otherwise_is_in_order(devices: Devices) -> None:
    def normalised(x: Tensor) -> Tensor:
        return functional.group_norm(x + 1, 1)

    x = torch.randn(7, 16).transpose(0, 1)
    found = torch.compile(normalised, backend=Compiler(devices=devices))(x)
    torch.testing.assert_close(found, normalised(x), rtol=1e-4, atol=1e-4)
    assert found.stride() == normalised(x).stride()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_softshrink_is_rounded_before_torch_takes_it_apart(device: str) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    with FakeTensorMode():
        x.meta["example_value"] = torch.empty(8, dtype=DTYPES[0], device=device)
    graph.output(graph.call_function(functional.softshrink, (x, 0.1)))
    gm = fx.GraphModule({}, graph)
    ask_early(gm)
    made = traced(lambda x, _: gm(x), device, "cpu").graph
    (product,) = made.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)[:1]
    eager = functional.softshrink(torch.tensor(0.1, dtype=DTYPES[0]), 0.1)  # just above 0.1
    assert (product.args[1] != 0.1) is (device == "cuda" or eager.item() == 0)


_LABELS = torch.tensor([[3, -1, 1, 1], [2, 2, 0, -1], [-1, 0, 0, 0]])
_WEIGHT = torch.tensor([0.5, 1.0, 2.0, 0.0])
MARGINS: dict[str, Callable[[Tensor], Tensor]] = {
    "labels": lambda x: functional.multilabel_margin_loss(x, _LABELS),
    "labels, checkpointed": lambda x: checkpoint(
        lambda x: functional.multilabel_margin_loss(x, _LABELS), x, use_reentrant=False
    ),
    "labels, each": lambda x: functional.multilabel_margin_loss(x, _LABELS, reduction="none"),
    "labels, their sum": lambda x: functional.multilabel_margin_loss(x, _LABELS, False),
    "a label": lambda x: functional.multi_margin_loss(x, _LABELS[:, 2]),
    "a label of a row": lambda x: functional.multi_margin_loss(x[0], _LABELS[0, 2]),
    "a label of a number": lambda x: functional.multi_margin_loss(x[0, 0], _LABELS[1, 2]),
    "each label of one": lambda x: functional.multi_margin_loss(
        x[0], _LABELS[:1, 2], reduction="none"
    ),
    "labels of no rows": lambda x: functional.multi_margin_loss(
        x[:0], _LABELS[:0, 2], reduction="none"
    ),
    "squares beside NaN": lambda x: functional.multi_margin_loss(
        (x + 1).log(), _LABELS[:, 1] + 1, 2
    ),
    "a label, weighted": lambda x: functional.multi_margin_loss(
        x, _LABELS[:, 2], 2, 0.5, _WEIGHT, reduction="sum"
    ),
    "a weight is infinite": lambda x: functional.multi_margin_loss(
        x, _LABELS[:, 2], 1, 0.5, _WEIGHT / 0, reduction="none"
    ),
}


@pytest.mark.parametrize("name", MARGINS)
def test_losses_of_margins(devices: Devices, name: str) -> None:
    """Torch counts labels from the first -1 on as label 0, and gives a margin that is just kept
    (1 between integers) a gradient."""
    x = torch.tensor([[0.0, 1.0, -2.0, 0.5], [3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 2.0, 2.0]])
    x = x.requires_grad_()
    pair = torch.compile(MARGINS[name], backend=Compiler(devices=devices))(x), MARGINS[name](x)
    torch.testing.assert_close(*pair)
    slopes = (torch.autograd.grad(one.sum(), x)[0] for one in pair)
    torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("dtype", DTYPES)
def test_truncated_quotients_are_rounded_first_unless_by_a_number(
    devices: Devices, dtype: torch.dtype
) -> None:
    def quotients(x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
        pairs = ((x, y), (z, y), (x[:1], y), (x, z), (x, y[:1]), (x, 0.1), (y.t(), x.t()))
        return [torch.div(a, b, rounding_mode="trunc") for a, b in pairs]

    x = (torch.rand(200, 20) * 4).to(dtype)
    given = x, (torch.rand(200, 20) / 3 + 0.05).to(dtype), torch.tensor(1.7)
    run = torch.compile(quotients, backend=Compiler(devices=devices))
    for got, wanted in zip(run(*given), quotients(*given), strict=True):
        assert torch.equal(got, wanted) and got.stride() == wanted.stride()
    for place, rounds in (("cuda", 2), ("cpu", 0)):  # the operand, and the quotient
        gm = traced(lambda x, z: torch.div(x, z, rounding_mode="trunc"), "cuda", place)
        assert sum(n.kwargs.get("dtype") is DTYPES[0] for n in gm.graph.nodes) == rounds


def test_the_threshold_of_softplus_and_alpha_of_elu_stay_in_float32() -> None:
    for device in ("cpu", "cuda"):
        assert not rounded(
            traced(lambda x, _: functional.softplus(x, 1.0, 0.1), device, "cpu"), 0.1
        )
        assert not rounded(traced(lambda x, _: functional.elu(x, 0.1), device, "cpu"), 0.1)


def test_alpha_of_a_sum_is_rounded_on_a_cpu() -> None:
    def scaled(x: Tensor, _: Tensor) -> Tensor:
        return torch.add(x, x, alpha=0.1)

    assert rounded(traced(scaled, "cpu", "cpu"), 0.1)
    assert not rounded(traced(scaled, "cuda", "cpu"), 0.1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_weight_of_lerp_is_subtracted_from_one_in_float32(
    devices: Devices, dtype: torch.dtype
) -> None:
    x = operand(dtype)
    run = torch.compile(lambda x: _lerp(x, 1.7), backend=Compiler(devices=devices))
    wanted = (x.float() * (1 - torch.tensor(1.7))).to(dtype)
    assert torch.equal(run(x), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_renorm_rounds_its_factor(devices: Devices, dtype: torch.dtype) -> None:
    x = operand(dtype)[None]
    run = torch.compile(lambda x: torch.renorm(x, 2, 0, 0.1), backend=Compiler(devices=devices))
    assert torch.equal(run(x), torch.renorm(x, 2, 0, 0.1))


def _ldexp(x: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    return torch.ldexp(x, z), torch.ldexp(z, x), torch.ldexp(x, z.to(x.dtype)), torch.ldexp(x, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_power_in_ldexp_is_rounded(devices: Devices, dtype: torch.dtype) -> None:
    x, z = operand(dtype), torch.tensor(1.7)
    run = torch.compile(_ldexp, backend=Compiler(devices=devices))
    for got, wanted in zip(run(x, z), _ldexp(x, z), strict=True):
        assert torch.equal(got, wanted)
    for device in ("cpu", "cuda"):  # where a single power is rounded as well
        gm = traced(torch.ldexp, device, "cpu")
        converted = [n for n in gm.graph.nodes if n.kwargs.get("dtype") is DTYPES[0]]
        assert len(converted) == (device == "cuda")


@pytest.mark.skipif(
    not hasattr(torch.ops.aten, "_fused_rms_norm"), reason="this torch has one rms_norm only"
)
def test_rms_norms_of_unknown_sizes_are_asked_with_the_sizes_of_their_input(
    devices: Devices,
) -> None:
    # torch.rms_norm hands on the bits of a symbol; a CPU gets what rejects them on a GPU
    def kernel(x: Tensor, sizes: list[int], weight: Tensor | None, eps: float | None) -> Any:
        if x.shape[-1:] != torch.Size(sizes):
            raise RuntimeError(f"Given normalized_shape={sizes}")
        root = (x.square().mean(-1, keepdim=True) + (eps or 1e-7)).rsqrt()
        return x * root, root

    x = torch.rand(4, 9)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("_fused_rms_norm", kernel, "CPU")
        compiler = Compiler(fail_on_fallback=True, devices=devices)
        norm = lambda x: functional.rms_norm(x, (x.shape[1],))  # noqa: E731
        got = torch.compile(norm, backend=compiler, dynamic=True)(x)
    torch.testing.assert_close(got, functional.rms_norm(x, (9,)))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_interpolated_bytes_are_those_of_the_library(devices: Devices, mode: str) -> None:
    """It rounds rows before columns; the nearest ones are the same anyway, and generated."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x = torch.randint(0, 256, (3, 2, 9, 7), dtype=torch.uint8)
    for options in ({"scale_factor": 1.7}, {"size": (7, 13)}):

        def resized(x: Tensor, mode: str = mode, options: Any = options) -> Tensor:
            return functional.interpolate(x, mode=mode, **options)

        torch.compiler.reset()
        found, wanted = torch.compile(resized, backend=compiler)(x), resized(x)
        assert torch.equal(found, wanted) and found.stride() == wanted.stride()
    assert all(bool(one.library_calls) is (mode != "nearest") for one in compiler.reports)


@pytest.mark.parametrize("mode", ["bilinear2d", "bicubic2d"])
def test_so_are_those_of_exported_programs(devices: Devices, mode: str) -> None:
    """Which call the operator itself."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x = torch.randint(0, 256, (3, 2, 9, 7), dtype=torch.uint8)
    op = getattr(torch.ops.aten, f"upsample_{mode}")
    whole = torch.compile(lambda x: op(x, [7, 13], False), backend=compiler)(x)
    named = torch.compile(lambda x: op.vec(x, None, False, [1.7, 2.0]), backend=compiler)(x)
    assert torch.equal(whole, op(x, [7, 13], False))
    assert torch.equal(named, op.vec(x, None, False, [1.7, 2.0]))


def test_one_place_is_taken(compiler: Compiler) -> None:
    """An index without dimensions is no number that torch reads while it traces."""
    at, x = torch.randint(-6, 6, ()), torch.randn(2, 3, requires_grad=True)

    def function(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return x.exp().take(at) * 2 + x.sum().take(at.new_zeros(()))

    found, wanted = torch.compile(function, backend=compiler)(x, at), function(x, at)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(*(torch.autograd.grad(out, x) for out in (found, wanted)))
    assert all(report.kernels and not report.eager for report in compiler.reports)
