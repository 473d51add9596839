"""The table of operator cases: one row per situation an operator must handle.

A case is data: an operator, its arguments with tensors described by ``Tensor``, and
nothing else. ``graph_of`` makes the one-operator graph (result types come from torch's
meta tensors), ``inputs_of`` fresh random inputs, ``expected`` what torch computes from
them with everything floating widened to float64. The same table drives the tests of
lowering, of kernel text and of numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy
import torch

import harness.graph.replay  # noqa: F401 - registers operators that graphs have
from harness.dtypes import DType, from_torch_name
from harness.graph.model import Arg, Graph, Input, Node, Ref, TensorType, Token, ValueType


@dataclass(frozen=True)
class Tensor:
    """A tensor argument. ``stride`` of None is row-major. Floats are uniform in
    [low, high), integers in range(low, high), bools random; ``special`` sprinkles NaN
    and infinities into floats."""

    shape: tuple[int, ...]
    dtype: DType = DType.F32
    stride: tuple[int, ...] | None = None
    low: float = -3.0
    high: float = 3.0
    special: bool = False


@dataclass(frozen=True)
class Case:
    """One row. ``tolerance`` is relative, for the comparison with float64; None picks
    one by the result's type."""

    name: str
    op: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()
    tolerance: float | None = None

    def __str__(self) -> str:
        return self.name


def torch_dtype(dtype: DType) -> torch.dtype:
    """The torch type called like ``dtype``."""
    found = getattr(torch, dtype.torch_name)
    assert isinstance(found, torch.dtype)
    return found


def overload(op: str) -> Callable[..., Any]:
    """The torch operator called ``op``, e.g. ``aten.add.Tensor``."""
    space, name, variant = op.split(".")
    return getattr(getattr(getattr(torch.ops, space), name), variant)  # type: ignore[no-any-return]


def tensors_of(case: Case) -> list[Tensor]:
    """The tensor arguments in order."""
    return list(_tensors((*case.args, *(v for _, v in case.kwargs))))


def _tensors(arg: Any) -> Iterator[Tensor]:
    if isinstance(arg, Tensor):
        yield arg
    elif isinstance(arg, tuple):
        for item in arg:
            yield from _tensors(item)


def _strides(spec: Tensor) -> tuple[int, ...]:
    if spec.stride is not None:
        return spec.stride
    return torch.empty(spec.shape, device="meta").stride()


def type_of(tensor: torch.Tensor) -> TensorType:
    """The graph's type of a torch tensor."""
    return TensorType(
        from_torch_name(str(tensor.dtype)),
        tuple(sympy.Integer(n) for n in tensor.shape),
        tuple(sympy.Integer(s) for s in tensor.stride()),
    )


def call(case: Case, tensors: list[torch.Tensor], device: str = "cpu") -> Any:
    rest = iter(tensors)

    def convert(arg: Any) -> Any:
        match arg:
            case Tensor():
                return next(rest)
            case tuple():
                return [convert(a) for a in arg]
            case DType():
                return torch_dtype(arg)
            case Token():
                return getattr(torch, arg.name)
            case _:
                return arg

    args = [convert(a) for a in case.args]
    kwargs = {k: convert(v) for k, v in case.kwargs}
    if not tensors:
        kwargs["device"] = device
    return overload(case.op)(*args, **kwargs)


def graph_of(case: Case) -> Graph:
    """The graph that consists of this one call; inputs are ``a0``, ``a1``, …"""
    specs = tensors_of(case)
    inputs = []
    metas = []
    for position, spec in enumerate(specs):
        meta = torch.empty_strided(
            spec.shape, _strides(spec), dtype=torch_dtype(spec.dtype), device="meta"
        )
        metas.append(meta)
        bound = sympy.Integer(int(spec.high)) if spec.dtype.is_integer else None
        inputs.append(Input(f"a{position}", type_of(meta), bound=bound))
    numbers = iter(range(len(specs)))

    def convert(arg: Any) -> Arg:
        if isinstance(arg, Tensor):
            return Ref(f"a{next(numbers)}")
        if isinstance(arg, tuple):
            return tuple(convert(a) for a in arg)
        return arg  # type: ignore[no-any-return]

    args = tuple(convert(a) for a in case.args)
    kwargs = tuple((k, convert(v)) for k, v in case.kwargs)
    made = call(case, metas, "meta")
    nodes, outputs = _result_nodes(case, args, kwargs, made)
    return Graph(case.name, tuple(inputs), nodes, outputs)


def _result_nodes(
    case: Case, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...], made: Any
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    if isinstance(made, torch.Tensor):
        node = Node("out", case.op, args, kwargs, type_of(made), source=f"{case.name}: test")
        return (node,), ("out",)
    kinds: ValueType = tuple(type_of(t) for t in made)
    nodes = [Node("both", case.op, args, kwargs, kinds, source=f"{case.name}: test")]
    for position, kind in enumerate(kinds):
        nodes.append(Node(f"out{position}", "getitem", (Ref("both"), position), (), kind))
    return tuple(nodes), tuple(n.name for n in nodes[1:])


def random_tensor(spec: Tensor, generator: torch.Generator) -> torch.Tensor:
    """A tensor of the described shape, strides and contents; gaps are random too."""
    stride = _strides(spec)
    extent = (
        1 + sum((n - 1) * s for n, s in zip(spec.shape, stride, strict=True))
        if all(spec.shape)
        else 0
    )
    storage = _random_line(spec, extent, generator).to(torch_dtype(spec.dtype))
    return torch.as_strided(storage, spec.shape, stride)


def _random_line(spec: Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    if spec.dtype is DType.BOOL:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if spec.dtype.is_integer:
        return torch.randint(int(spec.low), int(spec.high), (count,), generator=generator)
    line = torch.rand((count,), generator=generator) * (spec.high - spec.low) + spec.low
    if spec.special and count >= 3:
        places = torch.randperm(count, generator=generator)
        line[places[0]] = float("nan")
        line[places[1]] = float("inf")
        line[places[2]] = float("-inf")
    return line


def inputs_of(case: Case, seed: int = 0) -> list[torch.Tensor]:
    """Fresh random inputs, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return [random_tensor(spec, generator) for spec in tensors_of(case)]


def expected(case: Case, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What torch computes, floating inputs widened to float64."""
    wide = [t.double() if t.is_floating_point() else t for t in inputs]
    made = call(case, wide)
    return [made] if isinstance(made, torch.Tensor) else list(made)


def tolerance_of(case: Case, dtype: DType) -> float:
    """Allowed relative error of a result of type ``dtype``: a few rounding steps of its
    significand (8 bits in bfloat16, 11 in float16, 24 in float32), more in float32
    where intermediate results are rounded too."""
    if case.tolerance is not None and dtype not in (DType.BF16, DType.F16):
        return case.tolerance
    return {
        DType.BF16: 2.0**-7,
        DType.F16: 2.0**-9,
        DType.F32: 2e-5,
        DType.F8E4M3: 2.0**-3,
        DType.F8E5M2: 2.0**-2,
    }.get(dtype, 1e-10)
