"""A function repeated with other roundings: what results may be in a kernel, which rounds elsewhere
than eager mode."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from harness.graph.capture.strides import UNTAGGED

T = TypeVar("T")
_REPEATS = 61
_AS_BITS = ("aten::set_", "aten::view.dtype")
TIED = ("kthvalue", "median", "mode", "nanmedian", "topk")
"""Packets of ``aten`` that name any of the elements that are equal."""
_UNROUNDED, _STORED = (3, 7), 3
"""Repeats, by the last digit of their number, that compute in wider types than 16 bits; the one
that stores what is not computed element by element."""
_IN_STEPS, _COARSE = 60, {50: 0, 55: 1}
"""The repeat that computes elementwise operators one operation after the other; those that leave
out the last bit, of which numbers first: what a unit tells apart is equal in one of them."""
_ADDING, _ONE_BY_ONE = ("cumsum", "mean", "sum"), 4
"""Sums; the repeats, by the last digit, that add row after row: more off than operands moved."""
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_ASSERTING = (
    "bernoulli bincount cross_entropy embedding gather index multinomial nll_loss put scatter take"
).split()
"""In what operators are called whose kernels on a GPU assert which values they are given."""
_COUNTS = ("count_nonzero", "cumsum", "sum")
_OF_COUNTS = "add cat clone constant_pad_nd neg sub _to_copy".split()
"""Packets of ``aten`` that count, if their results are integers; those that keep an order, of
counts alone: the place of an element is none."""
_NORMS = ("batch_norm", "group_norm", "layer_norm")
"""How packets end that subtract a row's mean: rounded, it moves all of the row alike."""
_MOVES = ("abs", "clone", "copy", "fill", "where")
"""Elementwise packets of ``aten`` that keep the bits of a NaN but for its sign. (``neg`` of 16 bits
does on a CPU; what a GPU's instruction makes of them is not specified.)"""
_UNSIGNED_ZEROS = (
    "max min relu clamp hardtanh reduce softshrink sort cum batch_norm layer_norm group_norm"
).split()
"""In what eager mode's zeros have a sign that depends on the order in memory, or of operations."""


def repeats(run: Callable[[], T], first: int = 0, counts: set[int] | None = None) -> Iterator[T]:
    """``run()`` with other roundings each time, beginning with the repeat of that number. Which of
    its results are counts is added to ``counts``: of what rounding tells apart one by one, any
    number may be counted between those of two repeats."""
    for seed in range(first, _REPEATS):
        with _Moved(seed) if seed % 10 not in _UNROUNDED and seed else _Unrounded(seed) as mode:
            made = run()
        if counts is not None and isinstance(made, Sequence):
            counts.update(n for n, one in enumerate(made) if mode.is_count(one))
        yield made


class _Repeat(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Carries operators out otherwise, those in a branch of a condition too."""

    supports_higher_order_operators = True
    carried_out: Callable[..., Any]

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed, self.rng = seed, torch.Generator().manual_seed(seed)
        self.counts: dict[int, torch.UntypedStorage] = {}  # (kept: none comes in its place)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.higher_order.cond:
            with self:
                return args[1 if args[0] else 2](*args[3])
        made = self.carried_out(func, args, kwargs or {})
        name = func._overloadpacket.__name__
        known = (self.is_count(x) for x in _leaves(args) if x.dtype is not torch.bool)
        counts = name in _COUNTS or (name in _OF_COUNTS and all(known))
        # An exponent tells a size: it may be any between those of two repeats, too.
        for one in _leaves(made) if counts or name == "frexp" else ():
            if not _is_float(one):
                self.counts[one.untyped_storage()._cdata] = one.untyped_storage()
        return made

    def is_count(self, value: Any) -> bool:
        """Whether ``value`` is a sum of integers, or such a one moved, or added to others."""
        return isinstance(value, Tensor) and value.untyped_storage()._cdata in self.counts


class _Unrounded(_Repeat):  # type: ignore[no-untyped-call]
    """Operators get one element after the other (3e38 % 0.5 is NaN in a vector), and what 16 bits
    were before they were rounded, as inside a kernel; results have their types. With a ``seed``
    each reader has something in between, or of the backward pass alone, which computes values anew;
    or what is not computed element by element is stored, where most kernels end."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        # Each memory (kept, so that none comes in its place), its numbers as they were last known
        # to be stored, and in a wider type. A view of it reads and changes those of the whole.
        self.known: dict[Any, tuple[torch.UntypedStorage, Tensor, Tensor]] = {}

    def carried_out(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.apart = self.seed % 20 == 17 and torch._C._current_graph_task_id() < 0
        given = pytree.tree_map_only(Tensor, self._before_rounding, (args, kwargs))
        schema = func._schema
        if schema.is_mutable:
            given = pytree.tree_map_only(Tensor, torch.clone, given)
        made = _result(func, args, kwargs)
        floats = [one for one in _leaves(made) if _is_float(one)]
        viewed = any(one.alias_info and not one.alias_info.is_write for one in schema.returns)
        viewed |= func is torch.ops.aten._unsafe_view.default or func.name().startswith(_AS_BITS)
        if not floats or viewed or _is_zero(floats):
            return made
        wide: Any = floats
        if not (_draws(func) or _is_written(func, args, floats[0])):
            double = any(one.dtype is torch.float64 for one in floats)
            wide = _again(func, given, torch.float64 if double else torch.float32, apart=True)
        stored = self.seed == _STORED and torch.Tag.pointwise not in func.tags
        for one, better in zip(floats, filter(_is_float, wide or ()), strict=False):
            if one.shape == better.shape:
                if not self.apart:
                    one.copy_(better)
                for known, new in zip(self._known_of(one), (one, better), strict=False):
                    known.copy_(one if stored else new)
        return made

    def _known_of(self, value: Tensor) -> Sequence[Tensor]:
        """What is known to be stored where ``value`` lies, and that in a wider type; nothing where
        there is no such memory."""
        strided = _is_float(value) and value.layout is torch.strided
        if not strided or value.is_neg() or _is_zero([value]):
            return ()
        memory = value.untyped_storage()
        key = memory._cdata, value.dtype, memory.nbytes()
        if key not in self.known:
            whole = torch.empty(0, dtype=value.dtype, device=value.device).set_(memory)
            wide = whole.to(torch.promote_types(value.dtype, torch.float32), copy=True)
            self.known[key] = memory, whole.clone(), wide
        place = value.shape, value.stride(), value.storage_offset()
        return [one.as_strided(*place) for one in self.known[key][1:]]

    def _before_rounding(self, value: Tensor) -> Tensor:
        if not (known := self._known_of(value)):
            return value
        stored, wide = known
        # (What other operators, or other views of the bits, have written is what it is.)
        better = torch.where(same(stored, value), wide, value.to(wide.dtype))
        if self.seed in (0, _STORED) or self.apart:
            return better
        share = torch.rand((), generator=self.rng).mul(3).sub(1).clamp(0, 1)  # or an end
        between = better.lerp(value.to(better.dtype), share.to(better))
        # (Between a number and the infinity that it was rounded to lies none.)
        between = torch.where(value.isfinite(), between, value if share > 0.5 else better)
        # (Between two zeros lies one without their sign.)
        return torch.where(value != better, between, better)


class _Moved(_Repeat):  # type: ignore[no-untyped-call]
    """Moves the results that were rounded by up to two units of the last place, or twice what was
    lost; among equal elements it names another."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.turn = sum(n % 10 not in _UNROUNDED for n in range(1, seed))
        # Some repeats move little: what depends on equality meets it. Some compute in a wider type.
        self.widely = seed % 4 == 1
        # Some move all by as many units: any bits beside eager mode's are those of one of them.
        self.units = (0, 1, -1, 2, -2, 3, -3, 4, -4)[seed // 5 % 9] * (seed % 5 == 0)
        self.share = 1.0 if self.widely or self.units else (0.15, 0.5, 1.0)[seed % 3]

    def carried_out(self, func: Any, args: Any, kwargs: Any) -> Any:
        given, schema = (args, kwargs), func._schema
        before = pytree.tree_map_only(Tensor, torch.clone, given) if schema.is_mutable else given
        name = func._overloadpacket.__name__
        tied = name in (*TIED, "sort") and len(schema.returns) == 2
        if tied and not kwargs:
            return self._another_of_equals(func, *args)
        if name.endswith(_NORMS) and func in decomposition_table and self._by_chance(0.5):
            with self:
                return decomposition_table[func](*args, **kwargs)
        made = _result(func, args, kwargs)
        computes = schema.is_mutable or all(one.alias_info is None for one in schema.returns)
        computes &= schema.name != "aten::set_"
        if self.seed == _IN_STEPS:
            for one, other in zip(_leaves(made), _leaves(_in_steps(func, *before)), strict=False):
                one.copy_(other)
        elif computes and not _draws(func) and self._by_chance():
            self._move(func, before, _leaves(made))
        return made

    def _by_chance(self, most: float = 1.0) -> bool:
        return float(torch.rand((), generator=self.rng)) < min(self.share, most)

    def _steps(self, like: Tensor, *, alike: bool = False) -> Tensor:
        """-2 … 2 for each element; ``alike``: equal ones have the same."""
        if alike:
            salt = int(torch.randint(1 << 40, (), generator=self.rng)) * 2 + 1
            return (like.double().view(torch.int64) * salt >> 40) % 5 - 2
        return torch.randint(-2, 3, like.shape, generator=self.rng).to(like.device)

    def _another_of_equals(self, func: Any, x: Tensor, *args: Any) -> Any:
        """The value and index along a dimension of an operator that may name any of those that
        are equal: one of them after the other, from repeat to repeat."""
        # (Eager mode's is wrong along a dimension whose elements are in one place.)
        x = x.contiguous()
        values, indices = func(x, *args)
        place = [one.name for one in func._schema.arguments].index("dim") - 1
        dim = args[place] if place < len(args) else -1
        if not x.numel() or not x.dim():
            return values, indices
        if (name := func._overloadpacket.__name__) in ("sort", "topk"):
            descending = args[place + 1] if place + 1 < len(args) else name == "topk"
            turned = x.roll(self.turn, dim)  # as they come in the first of these repeats
            turned = turned.argsort(dim=dim, descending=descending, stable=True)
            places = (turned.narrow(dim, 0, values.shape[dim]) - self.turn) % x.shape[dim]
            return x.gather(dim, places), places  # of zeros of either sign, too
        equal = same(x, values if values.dim() == x.dim() else values.unsqueeze(dim))
        number = self.turn % equal.sum(dim, keepdim=True).clamp_min(1) + 1
        named = (equal & (equal.cumsum(dim) == number)).byte().argmax(dim, keepdim=True)
        return x.gather(dim, named).reshape(values.shape), named.reshape(indices.shape)

    def _move(self, func: Any, given: Any, made: Sequence[Tensor]) -> None:
        made = list(map(real, () if _is_zero(made) else made))
        if not any(map(_is_float, made)):
            return
        given = _as_added(given, made[0].dtype)
        double = any(one.dtype is torch.float64 for one in made)
        # What a recurrence rounds at each step grows with the steps after it.
        pointwise = torch.Tag.pointwise in func.tags and "_polynomial_" not in func._schema.name
        other = _again(func, given, torch.float32 if double else torch.float64) or ()
        nearby = () if pointwise else self._nearby(func, given) or ()
        others = (list(map(real, found)) or made for found in (other, nearby))
        for one, better, near in zip(made, *others, strict=True):
            if not _is_float(one) or not better.shape == one.shape == near.shape:
                continue  # (how many values ``unique`` finds may be what rounding decides)
            found, before = _found_among(func, one, given), one.clone()
            _move_bits(func, given, one, near, found, self.seed)
            exact = same(one, better) & (better is not one)
            exact &= (one.abs() != 1) | (func is not torch.ops.aten.erf.default)  # it is beside 1
            if double or not pointwise:
                # Distances of equal points are nothing in any type, or what cancelling leaves.
                spreads = func._overloadpacket.__name__.startswith(("std", "var"))
                # A mean in the same type is rounded, and so is what cancels in another order.
                sure = pointwise or (
                    not spreads and exact.all() and _adds_exactly(func, given, one)
                )
                copied = found if double or better is one else found & exact
                # What goes farther than operands did is computed: a variance of 0 beside a 0.
                copied &= (near.double() - one).abs() <= 32 * torch.finfo(one.dtype).eps * one.abs()
                exact = copied | exact & (sure | same(one, near))
                exact |= ~(one.isfinite() | same(one, before))
            if any(word in func._schema.name for word in _UNSIGNED_ZEROS):
                one.copy_(torch.where((one == 0) & (self._steps(one) > 0), -one, one))
            exact &= given[1].get("alpha", 1) == 1  # its product is rounded, too
            exact &= ~_is_estimate(func, given, one)
            exact |= _is_written(func, given[0], one)
            if exact.all():
                continue
            if self.units and one.itemsize > 2:
                rests = exact | (one == 0) | one.isinf()
                one.copy_(torch.where(rests, one, self._by_units(one)))
                continue
            value, moved = one.double(), near.double()
            lost = torch.zeros_like(value) if double else (better.double() - value).abs()
            # Half of the smallest number, or twice the largest, may be another one in a kernel.
            kind = torch.finfo(one.dtype)
            size = torch.maximum(lost, value.abs() * kind.eps).clamp_min(kind.tiny * kind.eps)
            noise = 16 * (value - moved).abs().nan_to_num(0, 0, 0)
            # Equal operands have equal results; what rounding alone made equal may differ.
            like = value if double else better
            moved = moved + self._steps(like, alike=pointwise) * size.nan_to_num(0, 0, 0)
            if not pointwise and self._by_chance(0.5):
                # What cancelling leaves may as well be nothing, or not.
                moved = torch.where(value.abs() <= noise, 0.0, moved)
            moved = better.double() if self.widely and not double else moved
            if self._by_chance():
                moved = torch.where(torch.isfinite(better), moved.clamp(kind.min, kind.max), moved)
            one.copy_(torch.where(exact, one, moved.to(one.dtype)))

    def _by_units(self, one: Tensor) -> Tensor:
        """All numbers as many units off, or without the last bit."""
        bits, odd = one.view(_BITS[one.itemsize]), _COARSE.get(self.seed)
        bits = bits + self.units if odd is None else (bits + odd) // 2 * 2 - odd
        return bits.view(one.dtype)

    def _nearby(self, func: Any, given: Any) -> Sequence[Tensor] | None:
        """The results of operands that are moved a little: sums in another order."""
        size = 8 if self._by_chance() else 1
        x: Any = given[0][0] if func._overloadpacket.__name__ in _ADDING else None
        if self.seed % 10 == _ONE_BY_ONE and _is_float(x) and x.dim() and x.numel():
            return [self._added(func, *given[0], **given[1])]
        if func is torch.ops.aten._euclidean_dist.default:  # of squares, which cancel
            x, y = (one.double().square().sum(-1) for one in given[0])
            lost = torch.finfo(given[0][0].dtype).eps * (x.unsqueeze(-1) + y.unsqueeze(-2))
            square = func(*given[0]).double().square() + lost * self._steps(lost).abs()
            return [square.sqrt()]

        def moved(leaf: Any) -> Any:
            kind = getattr(leaf, "dtype", torch.bool)
            if kind.itemsize == 1 or not (kind.is_floating_point or kind.is_complex):
                return leaf  # torch promotes no floats of 8 bits
            eps = torch.finfo(torch.promote_types(kind, torch.float32)).eps
            return leaf * (1 + size * eps * self._steps(leaf).double())

        if "_polynomial_" in func._schema.name:  # its order would be the whole number below
            return _again(func, ((moved(given[0][0]), *given[0][1:]), given[1]), torch.float64)
        return _again(func, pytree.tree_map(moved, given), torch.float64)

    def _added(self, func: Any, x: Tensor, *rest: Any, **kwargs: Any) -> Tensor:
        """A sum, mean or running sum to which one row after the other was added, from any on."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        if (name := func._overloadpacket.__name__) == "cumsum":
            return torch.stack([*itertools.accumulate(wide.unbind(rest[0]))], rest[0])
        parts = torch.split(wide, 1, rest[0][0] if rest and rest[0] else 0)
        at = int(torch.randint(len(parts), (), generator=self.rng))
        turned = ((one, *rest) for one in (*parts[at:], *parts[:at]))
        sums = (_again(func, (one, kwargs), wide.dtype)[0] for one in turned)
        return functools.reduce(torch.add, sums) / (len(parts) if name == "mean" else 1)


def _draws(func: Any) -> bool:
    """Whether an operator draws random numbers."""
    seeded = torch.Tag.nondeterministic_seeded in func.tags
    return seeded and "attention" not in func._schema.name


def _is_written(func: Any, args: Any, made: Tensor) -> bool:
    """Whether a program converts to 16 bits, where kernels round as well."""
    at = {"_to_copy": 0, "copy_": 1}.get(func._overloadpacket.__name__)
    return at is not None and made.itemsize == 2 and args[at].dtype is not made.dtype


def _is_estimate(func: Any, given: Any, made: Tensor) -> Tensor:
    """Where a quotient may be off that is exact: a GPU divides to within two units of the last
    place, but by powers of two."""
    others = made.itemsize == 8 or given[1] or any(map(torch.is_complex, _leaves(given)))
    if func._schema.name not in ("aten::div", "aten::div_") or others:
        return torch.zeros_like(made, dtype=torch.bool)
    divisor = torch.as_tensor(given[0][1], dtype=torch.float64)
    return (torch.frexp(divisor).mantissa.abs() != 0.5) & made.isfinite() & (made != 0)


def _result(func: Any, args: Any, kwargs: Any) -> Any:
    """``func(*args, **kwargs)``. A CPU is asked before: it raises where a GPU, given operands that
    were moved out of range, would stop for good."""
    leaves = _leaves((args, kwargs))
    asserts = any(word in func._schema.name for word in _ASSERTING)
    if asserts and any(leaf.device.type != "cpu" for leaf in leaves):
        with contextlib.suppress(NotImplementedError):  # a kernel of a GPU alone
            own = pytree.tree_map_only(Tensor, lambda one: one.to("cpu", copy=True), (args, kwargs))
            func(*own[0], **own[1])
    return func(*args, **kwargs)


def _as_added(given: Any, dtype: torch.dtype) -> Any:
    """Operands as they are added up: integers alone, as the floats that they become."""
    if any(leaf.is_floating_point() or leaf.is_complex() for leaf in _leaves(given)):
        return given
    return pytree.tree_map_only(Tensor, lambda leaf: leaf.to(dtype), given)


def _adds_exactly(func: Any, given: Any, made: Tensor) -> bool:
    """Whether sums of the operands round in no order: all are multiples of what the last place of
    the sum of their magnitudes stands for."""
    sizes = pytree.tree_map_only(Tensor, lambda x: x if x.dtype is torch.bool else x.abs(), given)
    sums = filter(_is_float, _again(func, sizes, torch.float64) or ())
    most = max((float(one.max()) for one in sums if one.numel()), default=0.0)
    last = 2.0 ** (math.frexp(most * torch.finfo(made.dtype).eps)[1] - 1)
    return not most or all((x % last == 0).all() for x in _leaves(sizes) if _is_float(x))


def _again(func: Any, given: Any, dtype: torch.dtype, apart: bool = False) -> Any:
    """The results of copies of the operands in ``dtype``; ``apart``: with gaps between elements."""

    def cast(leaf: Any) -> Any:
        if isinstance(leaf, torch.dtype):
            return dtype if leaf.is_floating_point else leaf
        if not isinstance(leaf, Tensor):
            return leaf
        wanted = dtype.to_complex() if leaf.is_complex() else dtype
        made = leaf.to(wanted) if _is_float(leaf) or leaf.is_complex() else leaf
        return torch.stack([made, made], -1)[..., 0] if apart else made.clone()

    args, kwargs = pytree.tree_map(cast, given)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # of what is made of integers
    try:
        return _leaves(_result(func, args, kwargs))
    except Exception:  # noqa: BLE001 - an operator may not take this type
        return None
    finally:
        torch.set_default_dtype(before)


def _in_steps(func: Any, args: Any, kwargs: Any) -> Any:
    """An elementwise operator of several operations, each of them rounded: a kernel may do them in
    one (``addcmul``); or a norm, of rounded magnitudes. None of an operator that is one itself."""
    packet = getattr(torch.ops.aten, func._overloadpacket.__name__.removesuffix("_"), None)
    functional: Any = getattr(packet, func._overloadname, None)
    rule = decomposition_table.get(functional)
    fits = torch.Tag.pointwise in func.tags and not _draws(func)
    fits |= functional is torch.ops.aten.linalg_vector_norm.default
    return rule(*args, **kwargs) if rule and fits else None


def _move_bits(func: Any, given: Any, made: Tensor, near: Tensor, found: Tensor, seed: int) -> None:
    """A NaN that is computed, not only moved, may have other bits; products that are 0 or too large
    in one order may be anything in another, sums too (on a CPU ``cumsum`` has its parts in float64)
    and deviations whose squares nearly are, with what rounds their mean (as in ``near``)."""
    x: Any = given[0][0] if given[0] else None
    name = func._overloadpacket.__name__
    if _is_float(x) and name.rstrip("_").endswith(("prod", "sum")):
        one = int("prod" in name)
        size, rest = torch.where(x.isfinite(), x.abs(), one), given[0][1:]
        lost = func(size.clamp_min(one), *rest, **given[1]).isinf()
        if one:
            lost |= (func(size.clamp_max(1), *rest, **given[1]) == 0) & (made != 0)
        made.masked_fill_(lost, torch.nan)
    if name == "polygamma" and given[0][0] == 1 and seed % 2:
        at = given[0][1]  # eager mode's sine of a pole is not 0
        made.masked_fill_((at < 0) & (at == at.floor()), torch.inf)
    if name.startswith("gelu"):  # 1 + tanh and 1 + erf are 0 of all types, a kernel's are not
        least = torch.finfo(made.dtype).tiny * torch.finfo(made.dtype).eps * (-1) ** seed
        made.masked_fill_((made == 0) & (given[0][-1] != 0), least)
    none = made.isnan()
    if name.startswith(("std", "var")):
        kind = torch.finfo(torch.promote_types(made.dtype, torch.float32))
        power = 0.5 if name.startswith("std") else 1.0
        lost = torch.fmax(made.abs().double(), near.abs()) > (kind.max / 1e6) ** power
        made.masked_fill_(lost, torch.inf if seed % 2 else torch.nan)
        squares = made.abs() < (kind.tiny * kind.eps) ** power  # a CPU has them in float64
        made.masked_fill_(squares & bool(seed % 2), 0.0)
    if "batch_norm" in name and made.shape == x.shape:  # a CPU adds them up in float64
        spread = x.var([d for d in range(x.dim()) if d != 1], keepdim=True)
        made.masked_fill_(~spread.isfinite(), torch.nan if seed % 2 else 0.0)
    pointwise = torch.Tag.pointwise in func.tags or name.rstrip("_") in UNTAGGED
    computes = pointwise and not any(word in name for word in _MOVES)
    floats = list(filter(_is_float, _leaves(given)))
    computes |= any(leaf.itemsize > made.itemsize for leaf in floats)
    computes |= not any(leaf.isnan().any() for leaf in floats)
    computes |= "max" in name or "min" in name  # eager mode's vectors give one of their own
    if none.any() and (computes or not (found | none).all()):
        bits = torch.full_like(made, torch.nan)
        if seed % 3:  # all ones, of either sign
            whole = bits.view(_BITS[made.itemsize])
            whole.fill_(torch.iinfo(whole.dtype).max if seed % 3 == 1 else -1)
        if seed % 4 == 3 and getattr(x, "dtype", None) is made.dtype and x.shape == made.shape:
            bits = torch.where(x.isnan(), x, bits)  # eager mode's vectors set a bit of them
        made.copy_(torch.where(none, bits, made))


def _leaves(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def _is_zero(made: Sequence[Tensor]) -> bool:
    """Whether autograd's zeros, which have no memory that could be moved, are among them."""
    return any(map(torch._is_zerotensor, made))


def _is_float(value: Any) -> bool:
    """(Torch has nothing but conversions of those of 8 bits.)"""
    return isinstance(value, Tensor) and value.is_floating_point() and value.itemsize > 1


def _found_among(func: Any, value: Tensor, given: Any) -> Tensor:
    """Where a number is one of the operands', but for its sign, and no sum of several, nor a mean,
    that happens to be one."""
    mean = func.name().startswith(("aten::mean", "aten::var_mean", "aten::std_mean"))
    if mean and value.numel() < given[0][0].numel():
        return torch.zeros_like(value, dtype=torch.bool)
    floats = [leaf.to(value.device) for leaf in map(real, _leaves(given)) if _is_float(leaf)]
    known = [value.new_empty(0).double(), *(leaf.abs().flatten() for leaf in floats)]
    found = torch.isin(value.abs(), torch.cat(known)) & torch.isfinite(value)
    if func._overloadpacket.__name__ in _ADDING and _is_float(x := given[0][0]):
        found &= func((x != 0).double(), *given[0][1:], **given[1]) <= 1
    return found


def real(value: Any) -> Any:
    """A complex tensor as one of pairs; without its gradient."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def same(left: Tensor, right: Tensor) -> Tensor:
    """Where both are equal, or NaN."""
    return (left == right) | ((left != left) & (right != right))
