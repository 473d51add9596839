"""A function compiled by the backend against the same function in eager mode.

Everything a caller can see counts: values with signed zeros and NaN, element types, sizes,
strides, which tensors share memory, what became of the arguments, and whether it raises.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from harness.backend import Compiler

Function = Callable[..., Any]


def differences(
    function: Function, args: Sequence[Any], compiler: Compiler, *, signed_zeros: bool = True
) -> list[str]:
    """What differs between ``function(*args)`` in eager mode and compiled by ``compiler``, a line
    for each; none if nothing does. ``args`` stay as they are.

    Floats may differ by rounding: more than ``torch.testing`` allows only where eager mode is
    that far from float64 itself. Signs of zeros count unless ``signed_zeros`` is False. Where
    eager mode raises, the compiled function has to. Gradients of all results with respect to the
    arguments that require them are results too.
    """
    torch.compiler.reset()
    with _Narrow() as seen:
        wanted, given = outcome(function, args)
    compiled = torch.compile(function, backend=compiler)
    found, taken = outcome(compiled, args)
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        if isinstance(wanted, Exception) and isinstance(found, Exception):
            return []
        return [f"eager: {_brief(wanted)}; compiled: {_brief(found)}"]
    eager, ours = _tensors((wanted, given)), _tensors((found, taken))
    shared = _sharing(eager)
    if len(eager) != len(ours):
        return [f"{len(ours)} results instead of {len(eager)}"]
    if not signed_zeros:
        eager, ours = ([_unsigned(t) for t in leaves] for leaves in (eager, ours))
    lines = [f"{n}: {line}" for n, line in _unequal(eager, ours, function, args, seen.types)]
    if shared != _sharing(_tensors((found, taken))):
        lines.append("other tensors share memory")
    return lines


def _unsigned(value: Any) -> Any:
    """``value`` with every zero positive."""
    floats = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    if not floats or value.dtype.itemsize < 2:
        return value
    with torch.no_grad():
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        return made.copy_(torch.where(value == 0, 0.0, value)).requires_grad_(value.requires_grad)


class _Narrow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Takes down the floating types of 16 and 8 bits that are computed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.types: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in _tensors((made, args)):
            narrow = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
            if narrow and leaf.dtype.itemsize < 4:
                self.types.add(leaf.dtype)
        return made


def outcome(function: Function, args: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The result (or exception) and the arguments afterwards; a copy is used up."""
    own = copy.deepcopy(list(args))
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
    weights = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape) for t in made]
    return torch.autograd.grad(made, leaves, weights, allow_unused=True)


def _brief(outcome: Any) -> str:
    if isinstance(outcome, Exception):
        return f"{type(outcome).__name__}: {str(outcome)[:600]}"
    return "a result"


def _tensors(tree: Any) -> list[Any]:
    return list(pytree.tree_leaves(tree))


def _unequal(
    eager: Sequence[Any],
    ours: Sequence[Any],
    function: Function,
    args: Sequence[Any],
    narrow: Collection[torch.dtype],
) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    wide: Sequence[Any] | None = None
    for number, (wanted, found) in enumerate(zip(eager, ours, strict=True)):
        line = _unlike(wanted, found)
        if not line and not _equal(wanted, found):
            wide = wide or _widened(function, args, len(eager))
            if not _as_good(wanted, found, wide[number], narrow):
                line = f"{_values(found)} instead of {_values(wanted)}"
        if line:
            lines.append((number, line))
    return lines


def _unlike(wanted: Any, found: Any) -> str:
    """How two results differ in anything but their values."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(found, torch.Tensor):
        return "" if type(wanted) is type(found) else f"{found!r} instead of {wanted!r}"
    for name in ("dtype", "shape", "requires_grad"):
        if getattr(wanted, name) != getattr(found, name):
            return f"{name} {getattr(found, name)} instead of {getattr(wanted, name)}"
    strides = [
        [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (wanted, found)
    ]
    if wanted.numel() and strides[0] != strides[1]:
        return f"stride {found.stride()} instead of {wanted.stride()}"
    return ""


def _equal(wanted: Any, found: Any) -> bool:
    if not isinstance(wanted, torch.Tensor):
        return bool(wanted == found or wanted != wanted)
    if not wanted.is_floating_point():
        return torch.equal(wanted, found) or (
            wanted.is_complex() and torch.allclose(wanted, found, equal_nan=True)
        )
    zeros = (wanted == 0) & (found == 0)
    signs = torch.signbit(wanted) == torch.signbit(found)
    return _close(wanted, found) and bool((signs | ~zeros).all())


def _close(wanted: torch.Tensor, found: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(found, wanted, equal_nan=True)
    except AssertionError:
        return False
    return True


def _as_good(wanted: Any, found: Any, wide: Any, narrow: Collection[torch.dtype]) -> bool:
    """Whether ``found`` is as near to the result in float64 as eager mode's is. A number that
    is not floating may differ only where the one computed in float64 does. Kernels compute on
    with what eager mode rounds to the ``narrow`` types on the way: such a rounding is allowed
    for, and may decide what is not floating."""
    if not isinstance(wide, torch.Tensor) or wide.shape != wanted.shape:
        return False
    if not wanted.is_floating_point():
        return bool(narrow or ((wanted == found) | (wanted != wide)).all())
    a, b, w = (t.detach().double() for t in (found, wanted, wide))
    same = (a == b) | ((a != a) & (b != b))
    # A sign of zero, an infinity or NaN that rounding decides is not decided in eager mode.
    undecided = ~torch.isfinite(b) & torch.isfinite(w)
    error, allowed = (a - w).abs(), (b - w).abs()
    slack = 8 * allowed.nan_to_num(0, 0, 0).max() if allowed.numel() else 0.0
    step = torch.finfo(wanted.dtype).eps * 16
    for dtype in narrow:
        slack += 32 * torch.finfo(dtype).eps * w.abs().nan_to_num(0, 0, 0).max()
        undecided |= ~torch.isfinite(b) | ~torch.isfinite(w)
    near = error <= slack + step * w.abs().clamp_min(torch.finfo(wanted.dtype).tiny)
    return bool((same | near | undecided).all()) and _signs_follow(wanted, found, wide)


def _signs_follow(wanted: torch.Tensor, found: torch.Tensor, wide: torch.Tensor) -> bool:
    """Whether zeros have eager mode's signs, wherever float64 has a zero of that sign too."""
    zeros = (wanted == 0) & (found == 0) & (wide == 0)
    sure = torch.signbit(wanted) == torch.signbit(wide)
    return bool((~zeros | ~sure | (torch.signbit(wanted) == torch.signbit(found))).all())


def _widened(function: Function, args: Sequence[Any], count: int) -> Sequence[Any]:
    """The results with floating arguments in float64; Nones if that cannot be had."""

    def widen(value: Any) -> Any:
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.detach().double().requires_grad_(value.requires_grad) if floats else value

    result, own = outcome(function, pytree.tree_map(widen, list(args)))
    leaves = [] if isinstance(result, Exception) else _tensors((result, own))
    return leaves if len(leaves) == count else [None] * count


def _sharing(leaves: Sequence[Any]) -> list[tuple[int, ...]]:
    """For each tensor the earlier ones in the same memory."""
    places = [
        t.untyped_storage().data_ptr() if isinstance(t, torch.Tensor) and t.numel() else None
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
