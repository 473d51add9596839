"""Random operators in terms of ``harness.seeds`` and ``harness.random_bits``.

Every call draws a seed of its own; ``gather_seeds`` makes that one draw per graph. What the
random bits become (uniform, normal, whether to keep an element) is ordinary arithmetic, which
fuses with what is around it. Numbers have eager mode's distributions, not its stream.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx

import harness.graph.own_operators  # noqa: F401 - registers the operators
from harness.ir.reach import grouped

_aten, _own = torch.ops.aten, torch.ops.harness
Rule = Callable[..., Any]
_CPU = torch.device("cpu")

_DIGITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
"""Bits of a uniform number: as many as the type keeps below 1, so that none rounds to 1."""


def random_rules() -> dict[torch._ops.OperatorBase, Rule]:
    """Operator overload → decomposition. Calls with a generator of their own, and complex
    numbers, stay what they are."""
    return {
        _aten.rand.default: _factory(_uniform),
        _aten.randn.default: _factory(_normal),
        _aten.rand_like.default: _like(_factory(_uniform)),
        _aten.randn_like.default: _like(_factory(_normal)),
        _aten.randint.default: functools.partial(randint, 0),
        _aten.randint.low: randint,
        _aten.randint_like.default: _like(functools.partial(randint, 0)),
        _aten.randint_like.low_dtype: _like(randint),
        _aten.bernoulli.default: _by_elements,
        _aten.bernoulli.p: _in_place(_bernoulli, whole=True),
        _aten.bernoulli.Tensor: _in_place(_bernoulli, whole=True),
        _aten.native_dropout.default: native_dropout,
        _aten.uniform.default: _in_place(_between),
        _aten.normal_functional.default: _in_place(_around),
        _aten.normal.float_float: _normal_of_size,
        _aten.normal.Tensor_float: normal_around,
        _aten.normal.float_Tensor: normal_around,
        _aten.normal.Tensor_Tensor: normal_around,
        _aten.exponential.default: _in_place(_exponential),
        _aten.geometric.default: _in_place(_geometric, whole=True),
        _aten.cauchy.default: _in_place(
            lambda x, median=0.0, sigma=1.0: median + sigma * torch.tan((_drawn(x) - 0.5) * math.pi)
        ),
        _aten.log_normal.default: _in_place(
            lambda x, mean=1.0, std=2.0: _around(x, mean, std).exp()
        ),
        _aten.rrelu_with_noise_functional.default: rrelu_with_noise_functional,
    }


def _bits(size: Sequence[int], device: torch.device) -> Tensor:
    return _own.random_bits(_own.seeds(1, device=device)[0], list(size))


def _uniform(size: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Multiples of 2**-digits in [0, 1)."""
    digits = _DIGITS[dtype]
    if digits > 32:
        high, low = _words(size, device)
        shifted = torch.bitwise_right_shift
        return (shifted(high, 5).to(dtype) * 2.0**26 + shifted(low, 6).to(dtype)) * 2.0**-digits
    bits = torch.bitwise_right_shift(_bits(size, device), 32 - digits) & ((1 << digits) - 1)
    return (bits.to(torch.float32) * 2.0**-digits).to(dtype)


def _words(size: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Two words of 32 bits for each element, as non-negative int64."""
    pair = _bits((2, *size), device).to(torch.int64) & 0xFFFFFFFF
    return _aten.select(pair, 0, 0), _aten.select(pair, 0, 1)


def _normal(size: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Box and Muller's method, in float32 for narrower types."""
    work = torch.float64 if dtype is torch.float64 else torch.float32
    first, second = torch.unbind(_uniform((2, *size), work, device))
    radius = torch.sqrt(-2.0 * torch.log1p(-first))
    return (radius * torch.cos(second * (2.0 * math.pi))).to(dtype)


_Draw = Callable[[Sequence[int], torch.dtype, torch.device], Tensor]


def _factory(draw: _Draw) -> Rule:
    def rule(size: Sequence[int], *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        kind = dtype or torch.get_default_dtype()
        return draw(size, kind, device or _CPU) if kind in _DIGITS else NotImplemented

    return rule


def _like(rule: Rule) -> Rule:
    """``rule`` for the sizes, type, device and layout of a tensor."""

    def like(x: Tensor, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Any:
        made = rule(*args, x.shape, dtype=dtype or x.dtype, device=device or x.device)
        return made if made is NotImplemented else _laid_out(made, x, kwargs.get("memory_format"))

    return like


def _laid_out(made: Tensor, like: Tensor, memory_format: Any = None) -> Tensor:
    """``made`` in the layout that a result like ``like`` has."""
    if memory_format not in (None, torch.preserve_format):
        return made.contiguous(memory_format=memory_format)
    if torch.empty_like(like).stride() == made.stride():
        return made
    return _aten.copy(torch.empty_like(like, dtype=made.dtype), made)


def _drawn(x: Tensor) -> Tensor:
    """Uniform numbers for the elements of ``x``, float64 if they are, else float32."""
    return _uniform(x.shape, torch.float64 if x.dtype is torch.float64 else torch.float32, x.device)


def randint(
    low: int, high: int, size: Sequence[int], *, dtype: Any = None, device: Any = None, **_: Any
) -> Any:
    """Whole numbers in [low, high): the upper half of a product where 32 bits are enough, which
    prefers none by more than 2**-32 of its share, else the remainder of 63 bits."""
    count, where = high - low, device or _CPU
    if not 0 < count < 2**63:
        return NotImplemented
    if count <= 2**31:
        bits = _bits(size, where).to(torch.int64) & 0xFFFFFFFF
        drawn = torch.bitwise_right_shift(bits * count, 32)
    else:
        upper, lower = _words(size, where)
        drawn = torch.remainder((upper & 0x7FFFFFFF) * 2**32 + lower, count)
    return (drawn + low).to(torch.int64 if dtype is None else dtype)


def native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``x`` with elements dropped, and the mask of those that are kept."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    keep = _laid_out(_drawn(x) >= p, x)
    return x * keep.to(x.dtype) * (1.0 / (1.0 - p)), keep


def _in_place(draw: Rule, whole: bool = False) -> Rule:
    """The rule of an operator that puts what ``draw`` gives in the place of ``x``, in its type and
    its layout; ``whole``: of integers too."""

    def rule(x: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
        if generator is not None or x.dtype.is_complex or not (whole or x.dtype in _DIGITS):
            return NotImplemented
        return _laid_out(draw(x, *args, **kwargs).to(x.dtype), x)

    return rule


def _bernoulli(x: Tensor, p: Any = None) -> Tensor:
    """Ones with probability ``p``, a number or a tensor (by default ``x`` itself)."""
    return _drawn(x) < (x if p is None else p)


def _by_elements(x: Tensor, generator: Any = None) -> Any:
    """``bernoulli`` with a probability in each element: always a new tensor, in order."""
    made = _in_place(_bernoulli, whole=True)(x, generator=generator)
    return made if made is NotImplemented else made.contiguous()


def _between(x: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform numbers in [low, high)."""
    return _uniform(x.shape, x.dtype, x.device) * (high - low) + low


def _around(x: Tensor, mean: Any = 0.0, std: Any = 1.0) -> Tensor:
    return _normal(x.shape, x.dtype, x.device) * std + mean


def normal_around(mean: Any, std: Any = 1.0, generator: Any = None) -> Any:
    """Normal numbers for the elements of ``mean`` and ``std``, tensors or numbers."""
    like = mean + std  # for its sizes and its type
    return _in_place(_around)(like, mean, std, generator=generator)


def _normal_of_size(mean: float, std: float, size: Sequence[int], **where: Any) -> Any:
    drawn = _factory(_normal)(size, **where)
    return drawn if drawn is NotImplemented else drawn * std + mean


def _exponential(x: Tensor, rate: float = 1.0) -> Tensor:
    """Never zero."""
    drawn = _drawn(x)
    above = torch.clamp_min(drawn, 2.0**-54 if drawn.dtype is torch.float64 else 2.0**-25)
    return torch.log1p(-above) * (-1.0 / rate)


def _geometric(x: Tensor, p: float) -> Tensor:
    """How many trials of probability ``p`` until the first success."""
    trials = torch.ceil(torch.log1p(-_drawn(x)) / math.log1p(-p)) if p < 1 else _drawn(x)
    return torch.clamp_min(trials, 1.0)


def rrelu_with_noise_functional(
    x: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """``x`` with its negative part scaled by random factors, and the factors."""
    if generator is not None or x.dtype not in _DIGITS:
        return NotImplemented
    if not training:
        return _aten.leaky_relu(x, (lower + upper) / 2), noise.clone()
    factors = torch.where(x <= 0, _laid_out(_between(x, lower, upper), x), 1.0)
    return x * factors, factors


def gather_seeds(gm: fx.GraphModule) -> None:
    """Draw all seeds of a graph at once, where the first is drawn."""
    nodes = [n for n in gm.graph.nodes if n.target is _own.seeds.default]
    for first, *others in grouped(nodes, lambda node: node.kwargs["device"]).values():
        values, count = list(first.meta["val"]), len(first.meta["val"])
        for node in others:
            for part in list(node.users):
                assert part.target is operator.getitem, "seeds are used one by one"
                part.args = (first, count + int(str(part.args[1])))
            values += node.meta["val"]
            count = len(values)
            gm.graph.erase_node(node)
        first.args, first.meta["val"] = (count,), values
