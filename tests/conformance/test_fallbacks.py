"""What the compiler cannot do torch does, with a word about it; never an exception of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness import pipeline
from harness.backend import Compiler, Devices, backend
from harness.conformance.compare import differences, outcome
from harness.conformance.fuzz import Program, faults
from harness.errors import CompileFailed, DivisionByZero, FallbackWarning, FellBack, IndexOutOfRange
from harness.graph.capture.control import located
from harness.runtime.interpret.interpreter import InterpreterPool

Z = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2]])
SQUARE = torch.eye(3) * 3 + torch.arange(9.0).view(3, 3) / 9


def _rotated(x: torch.Tensor) -> torch.Tensor:
    factors = torch.polar(torch.ones(2), torch.arange(2.0))
    return torch.view_as_real(torch.view_as_complex(x) * factors).flatten(1).sin() * 2


def _changed(x: torch.Tensor) -> torch.Tensor:
    numbers = torch.view_as_complex(x)
    before = numbers.abs()
    x.add_(1)
    return before + numbers.abs()


IN_PART: dict[str, tuple[Callable[..., Any], torch.Tensor | tuple[int, ...]]] = {
    "complex": (lambda x: (x * 2).abs() + x.real, Z),
    "conjugate": (lambda x: ((x.conj() * 2j).imag * 2 + 1, x.conj()), Z),
    "imaginary": (
        lambda x: (x.conj().imag * 2, x.conj().imag.clone(), torch._neg_view(x.real) + 1),
        Z,
    ),
    "resolved": (lambda x: torch.view_as_real(x.conj().resolve_conj()) + 1, Z),
    "conjugated": (lambda x: (torch.view_as_real(x.resolve_conj()) + 1, x.imag * 2), Z.conj()),
    "parts": (lambda x: (x.real, x.imag, x.mul_(2j)), Z),
    "rotated": (_rotated, (3, 2, 2)),
    "changed": (_changed, (3, 2)),
    "gradient": (lambda x: (x * x.conj()).real.sum() * 2, Z.clone().requires_grad_()),
    "turned": (lambda x: (x * 1j / 2j).real.sum() * 2, Z.clone().requires_grad_()),
    "turned once": (lambda x: torch.exp(2j * x).imag, Z.real[0, 0].clone().requires_grad_()),
    "turned by 0.1j": (lambda x: (0.1j * x).imag, Z.real.double().requires_grad_()),
    "spectrum": (lambda x: torch.fft.rfft(x).abs().log1p(), (4, 8)),
    "uint16": (lambda x: x * 2, torch.arange(4).to(torch.uint16)),
    "uint32": (lambda x: x.to(torch.float32) * 2 + 1, torch.arange(4).to(torch.uint32)),
    "eigenvalues": (lambda x: torch.linalg.eigvals(x).abs() * 2, SQUARE),
    "inverse": (lambda x: torch.linalg.inv(x) * 2, SQUARE),
    "solved": (lambda x: torch.linalg.solve(x, x + 1).sin(), SQUARE.clone().requires_grad_()),
}


@pytest.fixture
def no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler fails on every graph."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no graph today")

    monkeypatch.setattr("harness.backend.compile_graph", broken)


@pytest.mark.usefixtures("no_graph")
def test_torch_runs_a_whole_graph_and_that_is_said(devices: Devices) -> None:
    compiler = Compiler(devices=devices)
    with pytest.warns(FallbackWarning, match="torch runs a whole graph: RuntimeError: no graph"):
        assert differences(torch.sin, [torch.ones(8)], compiler) == []
    (report,) = compiler.reports
    assert report.eager and report.fallbacks == 1 and "as a whole" in str(report)


def _written(x: torch.Tensor) -> torch.Tensor:
    y = x.expand(3, 4) * 2
    x.add_(y)  # the line
    return y.cos()


def _underived(x: torch.Tensor) -> torch.Tensor:
    y = torch.special.zeta(x + 2, x)  # the line
    return y.cos()


def _spoilt(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()
    y.add_(y * 2)
    return y + x  # the line


@pytest.mark.parametrize("function", [_written, _underived, _spoilt])
def test_the_line_of_what_torch_gives_no_place_for_is_told(
    devices: Devices, function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """A write to what is expanded, an operator without a derivative, or else the graph's end."""
    x = torch.rand(1, 4, requires_grad=function is not _written)
    run = torch.compile(function, backend=Compiler(devices=devices))
    with (
        pytest.warns(
            FallbackWarning, match=f"test_fallbacks.py:.* in {function.__name__}: .*# the line"
        ),
        pytest.raises((RuntimeError, NotImplementedError)),
    ):
        run(x.expand(3, 4) if function is _written else x).sum().backward()


def test_a_word_with_an_apostrophe_names_no_operator() -> None:
    graph = torch.fx.symbolic_trace(lambda x: x.t().sin())
    for node, line in zip([*graph.graph.nodes][1:3], ("first", "last"), strict=True):
        node.meta["stack_trace"] = f'  File "model.py", line 1, in f\n    {line}'
    assert "up to" in located(graph, RuntimeError("it can't be")).where
    assert "first" in located(graph, RuntimeError("derivative for 't' is missing")).where


def test_an_input_whose_memory_holds_its_negative_is_read_as_it_is(devices: Devices) -> None:
    compiler = Compiler(devices=devices)
    with pytest.warns(FallbackWarning, match="memory of an input holds its negative"):
        found = torch.compile(lambda x: x * 2, backend=compiler)(Z.conj().imag)
    assert torch.equal(found, Z.imag * -2)


def test_a_conjugate_is_copied_in_either_order(devices: Devices) -> None:
    """(``differences`` copies its arguments, and a copy of a conjugate is none.)"""
    compiler = Compiler(devices=devices, fail_on_fallback=True)

    def copies(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.clone(memory_format=torch.contiguous_format), x.clone()

    x = Z.repeat(2, 1).t().conj()
    found, wanted = torch.compile(copies, backend=compiler)(x), copies(x)
    assert list(map(torch.equal, found, wanted)) == [True, True]
    assert [one.stride() for one in found] == [one.stride() for one in wanted]


@pytest.mark.parametrize("name", IN_PART)
def test_what_kernels_have_no_arithmetic_for_are_library_calls(devices: Devices, name: str) -> None:
    function, x = IN_PART[name]
    if isinstance(x, tuple):  # a shape
        x = torch.randn(x)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [x], compiler) == []
    assert compiler.reports and not any(report.eager for report in compiler.reports)


def _asserting(x: torch.Tensor) -> torch.Tensor:
    torch._assert_async(x.sum() > 0, "nothing there")
    return x * 2


CHECKED: dict[str, Callable[..., Any]] = {
    "assert": _asserting,
    "inverse": lambda x: torch.linalg.inv(x) * 2,
    "cholesky": lambda x: torch.linalg.cholesky(x).sin(),
    "unused": lambda x: (torch.linalg.lu_factor(x), x * 2)[1],
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", CHECKED)
def test_what_an_operator_checks_is_checked(devices: Devices, name: str, grad: bool) -> None:
    for x in (SQUARE @ SQUARE.t(), torch.zeros(3, 3)):
        compiler = Compiler(devices=devices, fail_on_fallback=True)
        x = x.clone().requires_grad_(grad)
        assert differences(CHECKED[name], [x], compiler) == []
        assert compiler.reports and not any(report.eager for report in compiler.reports)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_bounds_that_a_type_has_not_are_what_eager_mode_makes_of_them(
    devices: Devices, dtype: torch.dtype
) -> None:
    """Before torch 2.15 that wraps some around and raises of others; it then takes all as numbers
    and raises where no element is between them."""
    x = torch.arange(90, 98).to(dtype) - 94
    for low, high in ((-1, 2), (-40000, 3), (2, 40000), (None, -1), (300, None), (400, 300)):
        compiler = Compiler(devices=devices)
        assert differences(lambda x, *ends: x.clamp(*ends), [x, low, high], compiler) == []
        raises = isinstance(outcome(torch.clamp, [x, low, high])[0], Exception)
        assert raises or not any(report.eager for report in compiler.reports)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x > 0).nonzero() * 2,
        lambda x: x[x > 0] * 2,
        lambda x: x * x.sum().item(),
        lambda x: x.repeat_interleave(torch.arange(8)) * 2,
    ],
)
def test_sizes_and_numbers_that_depend_on_data(
    devices: Devices, function: Callable[..., Any]
) -> None:
    assert differences(function, [torch.randn(8)], Compiler(devices=devices)) == []


@pytest.mark.parametrize("stage", ["lower", "plan", "emit"])
def test_a_defect_of_the_compiler_is_said_and_torch_runs_the_region(
    devices: Devices, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def broken(*_: Any) -> Any:
        raise AttributeError("a defect")

    monkeypatch.setattr(pipeline, stage, broken)
    compiler = Compiler(devices=devices)
    with pytest.warns(FallbackWarning) as found:
        assert differences(lambda x: x.sin() + 1, [torch.randn(8)], compiler) == []
    (told,) = [str(one.message) for one in found]
    assert "torch runs a region" in told and "a defect" in told
    assert "aten.add.Tensor at test_fallbacks.py" in told and "x.sin() + 1" in told
    (report,) = compiler.reports
    assert report.fallbacks == 1
    strict = Compiler(devices=devices, fail_on_fallback=True)
    torch.compiler.reset()
    with pytest.raises(Exception, match="torch runs a region"):
        torch.compile(lambda x: x.sin() + 1, backend=strict)(torch.randn(8))


@pytest.mark.usefixtures("no_graph")
def test_the_option_forbids_fallbacks_by_name() -> None:
    torch.compiler.reset()
    run = torch.compile(lambda x: x.sin() + 1, backend=backend, options={"fail_on_fallback": True})
    with pytest.raises(Exception, match="whole graph"):
        run(torch.ones(2))


def test_an_error_of_eager_mode_is_an_error_compiled(devices: Devices) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(-(x @ x.t())) * 2

    assert differences(function, [SQUARE], Compiler(devices=devices)) == []


OUTSIDE: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "index": (lambda x, i: x[i] * 2, torch.tensor([0, 5])),
    "column": (lambda x, i: x[:, i] * 2, torch.tensor([7])),
    "gather": (lambda x, i: x.gather(0, i) * 2, torch.tensor([[7, 0]])),
    "embedding": (lambda x, i: F.embedding(i, x) * 2, torch.tensor([7])),
    "negative": (lambda x, i: x.index_add(0, i, x[:1]) * 2, torch.tensor([-7])),
    "other row": (lambda x, i: x.gather(1, i) * 2, torch.tensor([[2], [0], [1]])),
    "masked": (lambda x, i: torch.where(i > 5, x[0, 0], x[i, 0]), torch.tensor([0, 7])),
    "scattered": (lambda x, i: x.scatter(1, i, 3.0) * 2, torch.tensor([[2], [0], [0]])),
    "put": (lambda x, i: x.index_put((i, i), x[0]) * 2, torch.tensor([1, 2])),
    "copied": (lambda x, i: x.index_copy(1, i, x[:, :1]) * 2, torch.tensor([-3])),
    "written": (lambda x, i: (x * 1).index_put_((i,), x[0]), torch.tensor([10_000_000])),
    "one row": (lambda x, i: x[:1][i] * 2, torch.tensor([2])),
    "one column": (lambda x, i: x[:, :1].gather(1, i) + 1, torch.tensor([[0], [-2], [0]])),
    "one taken": (lambda x, i: x[:1].index_select(0, i) * 2, torch.tensor([0, 1])),
    "one written": (lambda x, i: (x[:1] * 2).scatter(0, i, x), torch.tensor([[0, 1]])),
    "one added": (lambda x, i: (x[:1] * 2).index_add(0, i, x[:1]), torch.tensor([1])),
    "one put": (lambda x, i: (x[:1] * 2).index_put((i,), x[0]), torch.tensor([-2])),
    "no dimensions": (lambda x, i: x.sum().gather(0, i) * 2, torch.tensor(2)),
    "into no dimensions": (lambda x, i: x.sum().scatter(0, i, 7.0), torch.tensor(1)),
    # Only indexing counts from the end.
    "embedding of -1": (lambda x, i: F.embedding(i, x) * 2, torch.tensor([0, -1])),
    "label of -1": (lambda x, i: F.cross_entropy(x, i), torch.tensor([0, -1, 1])),
    "gather of -1": (lambda x, i: x.gather(0, i) * 2, torch.tensor([[-1, 0]])),
    "select of -1": (lambda x, i: x.index_select(1, i) * 2, torch.tensor([-1])),
    "add to -1": (lambda x, i: x.index_add(0, i, x[:1]) * 2, torch.tensor([-1])),
    "scatter to -1": (lambda x, i: x.scatter(0, i, x) * 2, torch.tensor([[-1, 0]])),
    "one number to -1": (lambda x, i: x.scatter(1, i, 3.0) * 2, torch.tensor([[1], [-1], [0]])),
    "copy to -1": (lambda x, i: x.index_copy(1, i, x[:, :1]) * 2, torch.tensor([-1])),
    "largest to -1": (lambda x, i: x.scatter_reduce(0, i, x, "amax"), torch.tensor([[-1, 0]])),
    "sorted, of -1": (lambda x, i: x.sort(0)[0].gather(0, i), torch.tensor([[-1, -1]])),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_out_of_range_raises(devices: Devices, name: str) -> None:
    function, index = OUTSIDE[name]
    args = [torch.randn(3, 2), index]
    with pytest.raises((IndexError, RuntimeError)) as theirs:
        function(*args)
    torch.compiler.reset()
    with pytest.raises(IndexOutOfRange, match="index is out of range") as ours:
        torch.compile(function, backend=Compiler(devices=devices))(*args)
    assert isinstance(ours.value, theirs.type)
    assert "test_fallbacks.py:" in str(ours.value)  # the model's line


BY_ZERO: dict[str, Callable[..., Any]] = {
    "floor": lambda x, y: x // y,
    "remainder": lambda x, y: x % y + 1,
    "of a number": lambda x, y: 7 % y,
    "towards zero": lambda x, y: torch.div(x, y, rounding_mode="trunc").sum(),
    "fmod": lambda x, y: torch.fmod(x.byte(), y.byte()),
    "one divisor": lambda x, y: x // y[1],
    "a literal": lambda x, y: x // 0,
    "in place": lambda x, y: x.floor_divide_(y),
    "where it is not taken": lambda x, y: torch.where(y == 0, x, x // y),
    "in a piece": lambda x, y: torch.cat([x, x % y]),
}


@pytest.mark.parametrize("name", BY_ZERO)
def test_an_integer_divided_by_zero_raises_on_a_cpu(devices: Devices, name: str) -> None:
    args = [torch.tensor([5, -7, 9]), torch.tensor([2, 0, -3])]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        BY_ZERO[name](*args)
    torch.compiler.reset()
    with pytest.raises(DivisionByZero, match="an integer is divided by zero"):
        torch.compile(BY_ZERO[name], backend=Compiler(devices=devices))(*args)


def test_what_a_block_reads_beside_its_rows_is_not_divided_by(devices: Devices) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pieces = torch.cat([x % y, x[:, :2] // y[:, 1:3], x], 1)
        return (x // y).sum(1), (x[:, None] % y[0]).amax(), pieces, x // y.sum(), x.t() % y.t()

    x, y = torch.arange(-17, 18).view(5, 7), torch.arange(1, 36).view(5, 7)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [x, y], compiler) == []
    assert differences(function, [x, y], compiler, dynamic=True) == []
    text = "".join(k.module.text for graph in compiler.compiled for k in graph.kernels)
    assert text.count("tl.device_assert(") > 4


MISTYPED: dict[str, Callable[..., Any]] = {
    "copied": lambda x, i: x.index_copy(0, i, x[:2] * 2),
    "reduced": lambda x, i: x.index_reduce(0, i, x[:2], "amax"),
    "added": lambda x, i: x.index_add(0, i, x[:2]),
    "selected": lambda x, i: x.index_select(0, i) * 2,
}


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.uint8])
@pytest.mark.parametrize("name", MISTYPED)
def test_an_index_of_a_type_that_eager_mode_refuses_raises(
    devices: Devices, name: str, dtype: torch.dtype
) -> None:
    args = [torch.randn(3, 2), torch.tensor([0, 1]).to(dtype)]
    with pytest.raises(RuntimeError) as theirs:
        MISTYPED[name](*args)
    torch.compiler.reset()
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    with pytest.raises(RuntimeError, match=re.escape(str(theirs.value)[:40])):
        torch.compile(MISTYPED[name], backend=compiler)(*args)


def test_bytes_are_a_mask_and_no_positions(devices: Devices) -> None:
    def function(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x.index_put((mask,), torch.full((2, 2), 7.0)) * 2

    args = [torch.randn(3, 2), torch.tensor([0, 1, 1], dtype=torch.uint8)]
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, args, compiler) == []


def test_only_what_may_be_out_of_range_is_checked(devices: Devices) -> None:
    def function(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x[torch.arange(3).flip(0)] * 2, x[i] * 2, x.sum(1)[i] + 1

    args = [torch.randn(3, 2), torch.tensor([2, -3])]
    compiler = Compiler(devices=devices)
    assert differences(function, args, compiler) == []
    lines = _kernels(compiler).splitlines()
    assert sum("tl.device_assert" in line for line in lines) == 2
    assert sum("triton.jit(debug=True)" in line for line in lines) >= 1
    bare = Compiler(devices=devices, unchecked_indices=True)
    assert differences(function, args, bare) == []
    assert "device_assert" not in _kernels(bare) and "debug" not in _kernels(bare)


def test_clamped_and_interpolated_places_are_not_checked(devices: Devices) -> None:
    """They are bounded by what they are computed by; what is clamped too far is checked."""

    def inside(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        wide = F.interpolate(x[None, None], size=(7, 9), mode="bilinear")
        return wide, x[i.clamp(0, 2)] * 2, x[i.clamp(-7, -1).remainder(3).clamp(max=2)] + 1

    x, i = torch.randn(3, 2), torch.tensor([2, -3, 40])
    compiler = Compiler(devices=devices)
    assert differences(inside, [x, i], compiler) == []
    lines = [line for line in _kernels(compiler).splitlines() if "tl.device_assert" in line]
    assert len(lines) == 1  # of the remainder nothing is known
    torch.compiler.reset()
    with pytest.raises(IndexOutOfRange):
        torch.compile(lambda x, i: x[i.clamp(0, 3)] * 2, backend=Compiler(devices=devices))(x, i)


def _kernels(compiler: Compiler) -> str:
    (graph,) = compiler.compiled
    return "\n".join(module.text for module, _ in graph.distinct())


def test_a_kernel_that_cannot_be_run_does_not_fail_the_step(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def broken(self: Devices, *_: Any) -> None:
        calls.append(self)
        raise CompileFailed("a kernel does not compile")

    monkeypatch.setattr(Devices, "_on_cpu", broken)
    compiler = Compiler(devices=devices)
    torch.compiler.reset()
    run = torch.compile(lambda x: x.sin() + 1, backend=compiler)
    x = torch.randn(8)
    with pytest.warns(FallbackWarning, match="a kernel does not compile"):
        torch.testing.assert_close(run(x), x.sin() + 1)
    torch.testing.assert_close(run(x), x.sin() + 1)
    assert len(calls) == 1 and compiler.reports[-1].fallbacks == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_kernel_that_changes_an_input_and_cannot_be_run_does_not_fail_the_step(
    devices: Devices, monkeypatch: pytest.MonkeyPatch, dynamic: bool
) -> None:
    """Others of its graph run; torch computes what it would, in place, among them."""
    launch = Devices._on_cpu

    def partly(self: Devices, module: Any, args: list[Any]) -> None:
        if "mul" in module.name:
            raise CompileFailed("a kernel does not compile")
        launch(self, module, args)

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        before = (x.sin() @ y).cos()
        x.mul_(before)
        return x @ y + 1

    monkeypatch.setattr(Devices, "_on_cpu", partly)
    compiler = Compiler(devices=devices)
    args = [torch.randn(4, 4), torch.randn(4, 4)]
    with pytest.warns(FallbackWarning, match=r"torch runs a kernel.*_mul.*test_fallbacks.py"):
        assert differences(function, args, compiler, dynamic=dynamic) == []
    (report,) = [report for report in compiler.reports if report.fallbacks]
    assert "does not compile" in str(report) and not report.eager
    strict = Compiler(devices=devices, fail_on_fallback=True)
    torch.compiler.reset()
    with pytest.raises(FellBack, match="does not compile"):
        torch.compile(function, backend=strict)(*args)


def test_bools_are_watched_like_anything_else(
    devices: Devices, interpreter: InterpreterPool
) -> None:
    """Triton reads a bool by a pointer to bytes, which the interpreter took for nobody's, or, where
    it began as another argument did, for that one's."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    mask = torch.rand(5, 8) > 0.5
    assert differences(lambda x: torch.cat([x.T.flatten()] * 60), [mask], compiler) == []
    (module,) = (kernel.module for kernel in compiler.compiled[0].kernels)
    beyond = module.text.replace("tl.load(in_ptr0 + (", "tl.load(in_ptr0 + (4096 + ", 1)
    assert beyond != module.text
    with pytest.raises(IndexOutOfRange, match="40 bytes"):
        interpreter.launch(beyond, [mask, torch.empty(2400, dtype=torch.bool)])


def test_one_value_is_added_in_several_places(devices: Devices) -> None:
    """Triton 3.6's interpreter read what lies behind a value that repeats."""

    def function(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return torch.zeros(4, 1).index_put([places], x.sum().expand(3, 1) * 2, accumulate=True)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    args = [torch.randn(3, 1), torch.tensor([-1, 0, 2])]
    assert differences(function, args, compiler) == []


def test_a_sparse_gradient_is_torch_s_and_its_operator_is_named(devices: Devices) -> None:
    table = torch.nn.Embedding(5, 3, sparse=True)
    with pytest.warns(FallbackWarning, match="aten._sparse_coo_tensor.*not strided"):
        torch.compile(table, backend=Compiler(devices=devices))(
            torch.tensor([1, 2])
        ).sum().backward()
    assert table.weight.grad is not None and table.weight.grad.is_sparse


def test_what_torch_is_to_run_is_no_fault(devices: Devices) -> None:
    """Where inputs overlap and change, a result that is a view is as in eager mode (5860489)."""
    calls = "x0.add_(1)", "v0 = x1.t()"
    program = Program(("torch.ones(3, 2)", "x0[..., :2]"), calls, ("v0",))
    found = faults(program, devices)
    assert (found.faults, found.torchs) == ((), ())
