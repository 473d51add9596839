"""A function compiled by the backend against the same function in eager mode. Everything a caller
can see counts: values with signed zeros and NaN, element types, sizes, strides, which tensors share
memory, what became of the arguments, and whether it raises."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from harness.backend import Compiler

Function = Callable[..., Any]
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


def differences(
    function: Function,
    args: Sequence[Any],
    compiler: Compiler | str,
    *,
    signed_zeros: bool = True,
    dynamic: bool = False,
) -> list[str]:
    """What differs between ``function(*args)`` in eager mode and compiled by ``compiler`` (for any
    sizes, if ``dynamic``), a line for each; none if nothing does. ``args`` stay as they are.

    Floats may differ by rounding: more than ``torch.testing`` allows only where eager mode is
    that far from float64 itself. Signs of zeros count unless ``signed_zeros`` is False. Where
    eager mode raises, the compiled function has to. Gradients of all results with respect to the
    arguments that require them are results too.
    """
    torch.compiler.reset()
    wanted, given = outcome(function, args)
    compiled = torch.compile(function, backend=compiler, dynamic=dynamic or None)
    found, taken = outcome(compiled, args)
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        if isinstance(wanted, Exception) and isinstance(found, Exception):
            return []
        return [f"eager: {_brief(wanted)}; compiled: {_brief(found)}"]
    eager, ours = _tensors((wanted, given)), _tensors((found, taken))
    shared = _sharing(eager)
    if len(eager) != len(ours):
        return [f"{len(ours)} results instead of {len(eager)}"]
    judge = _Judge(function, args, signed_zeros)
    lines = [f"{n}: {line}" for n, line in judge.unequal(eager, ours)]
    if shared != _sharing(_tensors((found, taken))):
        lines.append("other tensors share memory")
    return lines


def torchs_own(
    function: Function,
    args: Sequence[Any],
    lines: Sequence[str],
    *,
    signed_zeros: bool = True,
    dynamic: bool = False,
) -> tuple[str, ...]:
    """Those of ``lines`` (from ``differences``, and why torch ran a graph) that are torch's own:
    ``torch.compile`` with eager mode's kernels (``aot_eager``), or by its tracing alone, differs
    or raises as well, in the same words."""
    if not lines:
        return ()
    own = []
    for backend in ("aot_eager", "eager"):
        own += differences(function, args, backend, signed_zeros=signed_zeros, dynamic=dynamic)
    raised = [_NUMBERS.sub("#", line) for line in own if "; compiled: " in line]
    return tuple(
        line
        for line in lines
        if line in own
        or any(_NUMBERS.sub("#", line.partition("\n")[0][:500]) in text for text in raised)
    )


class _Drawn(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether random numbers are drawn."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def draws(function: Function, args: Sequence[Any]) -> bool:
    """Whether ``function(*args)`` draws random numbers."""
    with _Drawn() as mode:  # type: ignore[no-untyped-call]
        outcome(function, args)
    return mode.seen


class _Narrow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Takes down the floating types under 64 bits that are computed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.types: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in _tensors((made, args)):
            narrow = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
            if narrow and leaf.dtype.itemsize < 8:
                self.types.add(leaf.dtype)
        return made


class _Unrounded(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes in ``dtype`` what would be rounded to 16 or 8 bits; with ``some`` types every other
    result is rounded to one of them, by chance. ``late``: operands are still as narrow as they
    were given. ``bits`` is whether those of a float were looked at, which must be."""

    late = bits = False

    def __init__(self, dtype: torch.dtype, some: Collection[torch.dtype], seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.some = dtype, sorted(some, key=str)
        self.rng = random.Random(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        moves = schema.is_mutable or any(r.alias_info is not None for r in schema.returns)
        self.bits |= func is torch.ops.aten.view.dtype and args[0].is_floating_point()
        if moves and self.late:
            return func(*args, **(kwargs or {}))
        given = pytree.tree_map(self._wide, (args, kwargs or {}))
        made = func(*given[0], **given[1])
        if moves:
            return made
        return pytree.tree_map(self._rounded, made)

    def _rounded(self, value: Any) -> Any:
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        if not floats or not self.some or self.rng.random() < 0.5:
            return value
        return value.to(self.rng.choice(self.some)).to(value.dtype)

    def _wide(self, value: Any) -> Any:
        if self.late and isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.to(torch.promote_types(value.dtype, self.dtype))
        narrow = isinstance(value, torch.dtype) and value.is_floating_point and value.itemsize < 4
        return self.dtype if narrow else value


def outcome(function: Function, args: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The result (or exception) and the arguments afterwards; a copy is used up."""
    memo: dict[int, Any] = {}
    dense = [getattr(a, "layout", torch.strided) is torch.strided for a in args]
    own = [copy.deepcopy(a, memo) if d else a.clone() for a, d in zip(args, dense, strict=True)]
    torch.manual_seed(0)
    try:
        result = function(*own)
        return (result, _gradients(result, own)), own
    except Exception as error:  # noqa: BLE001 - raising is an outcome like any other
        return error, own


def _gradients(result: Any, args: Sequence[Any]) -> Sequence[Any]:
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    made = [t for t in _tensors(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not leaves or not made:
        return ()
    # In the layouts of the results: AOTAutograd copies others, whatever the backend is.
    weights = [torch.empty_like(t, requires_grad=False) for t in made]
    for weight in weights:
        line = torch.linspace(0.5, 1.5, weight.numel(), dtype=weight.dtype, device=weight.device)
        weight.copy_(line.view(weight.shape))
    return torch.autograd.grad(made, leaves, weights, allow_unused=True)


def _brief(outcome: Any) -> str:
    if isinstance(outcome, Exception):
        return f"{type(outcome).__name__}: {str(outcome)[:600]}"
    return "a result"


def _tensors(tree: Any) -> list[Any]:
    return list(pytree.tree_leaves(tree))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Which results of ``function(*args)`` differ. Kernels compute on with what eager mode rounds
    to narrow types on the way: such a rounding is allowed for, and may decide what is not
    floating."""

    function: Function
    args: Sequence[Any]
    signed_zeros: bool

    def narrow(self) -> Collection[torch.dtype]:
        """The floating types under 64 bits that eager mode rounds to."""
        with _Narrow() as seen:
            outcome(self.function, self.args)
        return seen.types

    def unequal(self, eager: Sequence[Any], ours: Sequence[Any]) -> list[tuple[int, str]]:
        """The number of each result that differs, and how."""
        lines: list[tuple[int, str]] = []
        wide: Sequence[Any] | None = None
        others: list[Sequence[Any]] = []
        narrow: Collection[torch.dtype] = ()
        types: Collection[torch.dtype] = ()
        count = len(eager)
        for number, (wanted, found) in enumerate(zip(eager, ours, strict=True)):
            line = _unlike(wanted, found)
            if not line and not self._equal(wanted, found):
                if wide is None:
                    types = self.narrow()
                    narrow = [dtype for dtype in types if dtype.itemsize < 4]
                    wide = _widened(self.function, self.args, count, torch.float64)
                    for seed in range(4 if narrow else 0):
                        some = narrow if seed else ()
                        others.append(
                            _widened(self.function, self.args, count, torch.float32, some, seed)
                        )
                other = [one[number] for one in others]
                single = torch.float32 in types and wanted.dtype is torch.float64
                if not self._as_good(wanted, found, wide[number], narrow, other, single):
                    line = f"{_values(found)} instead of {_values(wanted)}"
            if line:
                lines.append((number, line))
        return lines

    def _equal(self, wanted: Any, found: Any) -> bool:
        if not isinstance(wanted, torch.Tensor):
            return bool(wanted == found or wanted != wanted)
        if not self.signed_zeros or wanted.layout is not torch.strided or wanted.is_complex():
            return _close(wanted, found)
        if not wanted.is_floating_point():
            return torch.equal(wanted, found)
        zeros = (wanted == 0) & (found == 0)
        signs = torch.signbit(wanted) == torch.signbit(found)
        return _close(wanted, found) and bool((signs | ~zeros).all())

    def _as_good(
        self,
        wanted: Any,
        found: Any,
        wide: Any,
        narrow: Collection[torch.dtype],
        others: Sequence[Any],
        single: bool,
    ) -> bool:
        """Whether ``found`` is as near to the result in float64 as eager mode's is. A number that
        is not floating may differ only where the one computed in float64 does. With ``narrow``
        types, what their rounding decides (a comparison of a number with itself rounded) is
        undecided: it differs between eager mode, ``wide`` and ``others`` (in float32, some
        results rounded). So is a result that is not finite where sums of huge numbers may pass
        the largest one, in one order and not in another. ``single``: it is of float64, and some of
        it was computed in float32."""
        if not isinstance(wide, torch.Tensor) or wide.shape != wanted.shape:
            return False
        if not wanted.is_floating_point():
            return bool(narrow or ((wanted == found) | (wanted != wide)).all())
        a, b, w = (t.detach().double() for t in (found, wanted, wide))
        same = (a == b) | ((a != a) & (b != b)) | (a == w) | ((a != a) & (w != w))
        # An infinity or NaN that rounding decides is not decided in eager mode.
        undecided = ~torch.isfinite(b) & torch.isfinite(w)
        if any(_is_huge(arg) for arg in self.args):
            undecided |= ~torch.isfinite(a) | ~torch.isfinite(b)
        error, allowed = (a - w).abs(), (b - w).abs()
        slack = 8 * allowed.nan_to_num(0, 0, 0).max() if allowed.numel() else 0.0
        step = torch.finfo(wanted.dtype).eps * 16
        if single:
            slack += 32 * torch.finfo(torch.float32).eps * w.abs().nan_to_num(0, 0, 0).max()
        for dtype in narrow:
            slack += 32 * torch.finfo(dtype).eps * w.abs().nan_to_num(0, 0, 0).max()
            undecided |= ~torch.isfinite(b) | ~torch.isfinite(w)
            for other in others:
                if isinstance(other, torch.Tensor) and other.shape == w.shape:
                    undecided |= ~((other.detach().double() - w).abs() <= slack)
        near = error <= slack + step * w.abs().clamp_min(torch.finfo(wanted.dtype).tiny)
        right = bool((same | near | undecided).all())
        return right and (not self.signed_zeros or _signs_follow(wanted, found, wide))


def _unlike(wanted: Any, found: Any) -> str:
    """How two results differ in anything but their values."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(found, torch.Tensor):
        kinds = ["a tensor" if isinstance(t, torch.Tensor) else repr(t) for t in (found, wanted)]
        return "" if type(wanted) is type(found) else f"{kinds[0]} instead of {kinds[1]}"
    for name in ("dtype", "shape", "requires_grad"):
        if getattr(wanted, name) != getattr(found, name):
            return f"{name} {getattr(found, name)} instead of {getattr(wanted, name)}"
    if wanted.layout is not torch.strided:
        return "" if wanted.layout is found.layout else f"layout {found.layout}"
    strides = [
        [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (wanted, found)
    ]
    if wanted.numel() and strides[0] != strides[1]:
        return f"stride {found.stride()} instead of {wanted.stride()}"
    return ""


def _close(wanted: torch.Tensor, found: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(found, wanted, equal_nan=True)
    except AssertionError:
        return False
    return True


def _signs_follow(wanted: torch.Tensor, found: torch.Tensor, wide: torch.Tensor) -> bool:
    """Whether zeros have eager mode's signs, wherever float64 has a zero of that sign too."""
    zeros = (wanted == 0) & (found == 0) & (wide == 0)
    sure = torch.signbit(wanted) == torch.signbit(wide)
    return bool((~zeros | ~sure | (torch.signbit(wanted) == torch.signbit(found))).all())


def _is_huge(value: Any) -> bool:
    """Whether a tensor has finite numbers whose squares are out of its type's range."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return False
    most = value.detach().abs().nan_to_num(0, 0, 0)
    return bool((most.double() ** 2 > torch.finfo(value.dtype).max).any())


def _widened(
    function: Function,
    args: Sequence[Any],
    count: int,
    dtype: torch.dtype,
    some: Collection[torch.dtype] = (),
    seed: int = 0,
) -> Sequence[Any]:
    """The results with floating arguments in ``dtype`` or wider, and so what the function itself
    would round to 16 bits, or makes of integers; Nones if that cannot be had. ``some``: see
    ``_Unrounded``."""

    def widen(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        wider = torch.promote_types(value.dtype, dtype)
        return value.detach().to(wider).requires_grad_(value.requires_grad)

    standard = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with _Unrounded(dtype, some, seed) as mode:
            result, own = outcome(function, pytree.tree_map(widen, list(args)))
        if mode.bits:
            mode.late = True

            def run(*own: Any) -> Any:  # copies are taken outside
                with mode:
                    return function(*own)

            result, own = outcome(run, args)
    finally:
        torch.set_default_dtype(standard)
    leaves = [] if isinstance(result, Exception) else _tensors((result, own))
    return leaves if len(leaves) == count else [None] * count


def _sharing(leaves: Sequence[Any]) -> list[tuple[int, ...]]:
    """For each tensor the earlier ones in the same memory."""
    places = [
        t.untyped_storage().data_ptr()
        if isinstance(t, torch.Tensor)
        and t.layout is torch.strided
        and t.numel()
        and not torch._is_zerotensor(t)  # a gradient that is known to be zero
        else None
        for t in leaves
    ]
    return [
        tuple(k for k in range(n) if places[n] is not None and places[k] == places[n])
        for n in range(len(places))
    ]


def _values(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    return f"{value.detach().flatten()[:12].tolist()}"
