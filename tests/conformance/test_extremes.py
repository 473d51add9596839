"""Every row of the operator table on the extremes of an element type, against eager mode.

One tensor holds NaN, infinities, both zeros, subnormal, smallest and largest numbers (two operands
hold all pairs); many rows are one compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from tests import operator_rows_elementwise, operator_rows_reduction, operator_rows_scan
from tests.operator_cases import Case, Tensor, call, tensors_of

INF, NAN = float("inf"), float("nan")
ELEMENTWISE = [
    case
    for family in operator_rows_elementwise.FAMILIES
    for case in family()
    if "dtype" not in dict(case.kwargs)
]
REDUCTIONS = [case for family in operator_rows_reduction.FAMILIES for case in family()]
SCANS = [
    case
    for family in operator_rows_scan.FAMILIES
    for case in family()
    if case.op.startswith("aten")  # a user's function is its rows'
]
_QUICK = torch.float32, torch.int8
_SLOW = torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8
every_type = pytest.mark.parametrize(
    "dtype", (*_QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in _SLOW)), ids=str
)


def _huge(*operands: torch.Tensor) -> torch.Tensor:
    return torch.stack([t.double().abs() > torch.finfo(t.dtype).max / 4 for t in operands]).any(0)


def _alike(rows: torch.Tensor) -> torch.Tensor:
    a, b = rows.double().unbind(1)
    near = (a - b).abs() <= 4 * torch.finfo(rows.dtype).eps * a.abs()
    return near | _huge(rows).any(1)


OPEN: dict[str, Callable[..., torch.Tensor]] = {
    # How a processor takes the larger of two zeros.
    "relu_": lambda x: x == 0,
    "fmax_": lambda x, y: (x == 0) & (y == 0),
    "fmin_": lambda x, y: (x == 0) & (y == 0),
    # Product and sum may be one operation: huge products overflow then only at the end.
    "alpha": lambda x, y: _huge(x, y) | (x.sign() != y.sign()),
    # A power, or a square root.
    "pow_Tensor_Scalar": lambda x: x == -INF,
    # Infinity times 0 beside the first term; terms that cancel (as in the next two).
    # Of NaN in orders above 1: eager mode returns a variable that it has not set.
    "polynomial": lambda x, *n: x.isnan() & (n[0] > 1 if n else True),
    # Beyond the largest number infinities are subtracted, and eager mode's sign may be the other.
    "hermite_polynomial_h_default": lambda x, n: (
        torch.special.hermite_polynomial_h(x.double(), n.double()).abs() > torch.finfo(x.dtype).max
    ),
    "zeta_default": lambda s, q: (s > 1e9) & (q > 1) | (q < -9),
    "zeta_other_scalar": lambda s: s > 1e9,
    # The sine of a rounded multiple of pi is not zero.
    "trigamma": lambda x: (x < 0) & (x == x.floor()),
    # Of what is left of terms that cancel, rounding is a large part, whatever the order.
    "polygamma_default-negative": lambda x: x < -9,
    "zeta_self_scalar": lambda x: x < -9,
    # Eager mode subtracts from 1 what differs from 1 by less than rounding.
    "igammac": lambda a, x: a < 1e-6,
    # Numbers that rounding makes one; sums that overflow, which eager mode does not form.
    "var_": _alike,
}
"""By a part of a row's name: on which of floating operands eager mode's result is no rule."""


def extremes(dtype: torch.dtype) -> torch.Tensor:
    """The values that are tried, in one row."""
    if dtype.is_floating_point:
        kind = torch.finfo(dtype)
        least = 2 * kind.smallest_normal * kind.eps  # below the normal numbers
        some = [INF, 0.0, kind.smallest_normal, least, kind.max, kind.max / 2, 1.0, 0.5, 1.5, 2.0]
        some += [2.5, 3.0, 1e-3, 12.0, 88.5, kind.eps, 1 - kind.eps / 2]
        return torch.tensor([NAN, *some, *(-number for number in some)]).double().to(dtype)
    limits = torch.iinfo(dtype)
    wanted = (-100, -9, -2, -1, 0, 1, 2, 3, 7, 31, 33, 63, 64, 100)
    inside = {n for n in wanted if limits.min <= n <= limits.max}
    some = sorted(inside | {limits.min, limits.min + 1, limits.max - 1, limits.max})
    return torch.tensor(some, dtype=dtype)


def operands(case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
    """What the row is tried on. Left out is what eager mode does not define: integers divided by
    0 (and, on some processors, by -1), negative powers of 0."""
    row = extremes(dtype)
    # Orders of polynomials that end: eager mode takes a step for each up to 2^63.
    second = row[(row >= -100) & (row <= 100)] if "polynomial" in case.op else row
    if len(tensors_of(case)) == 1:
        return [second if "x_scalar" in case.op else row]
    left, right = row.repeat_interleave(len(second)), second.repeat(len(row))
    if "where" in case.op:
        return [torch.arange(len(left)) % 3 > 0, left, right]
    divides = any(name in case.op for name in ("div", "remainder", "fmod"))
    if not dtype.is_floating_point and (divides or "pow" in case.op):
        defined = (right > 0) | (right < -1) if divides else (right >= 0) | (left != 0)
        left, right = left[defined], right[defined]
    if "lcm" in case.op:  # of the smallest number
        defined = (left > row.min()) & (right > row.min())
        left, right = left[defined], right[defined]
    return [left, right]


def pairs(case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
    """Rows of two elements: no order of adding them matters."""
    row = extremes(dtype)
    return [torch.cartesian_prod(row, row)]


def orders(case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
    """All values, in several orders."""
    row = extremes(dtype)
    return [torch.stack([row, row.flip(0), row.roll(7)])]


def wrong(
    wanted: torch.Tensor, found: torch.Tensor, wide: torch.Tensor | None
) -> Iterator[tuple[int, Any, Any]]:
    """Where ``found`` is neither what eager mode gives, nor as near as that to float64."""
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        yield -1, (wanted.dtype, wanted.shape), (found.dtype, found.shape)
        return
    if not wanted.is_floating_point():
        right = wanted == found
    else:
        a, b = found.double(), wanted.double()
        signs = torch.signbit(a) == torch.signbit(b)
        right = (a == b) & signs | a.isnan() & b.isnan()
        if wide is not None and wide.is_floating_point():
            kind, w = torch.finfo(wanted.dtype), wide.double()
            error = (a - w).abs()
            step = 16 * kind.eps * w.abs().clamp_min(kind.smallest_normal)
            right |= (error <= 8 * (b - w).abs() + step) & ((a != 0) | (b != 0) | signs)
            right |= a == wide.to(wanted.dtype).double()
    for n in (~right).flatten().nonzero().flatten().tolist():
        yield n, wanted.flatten()[n].item(), found.flatten()[n].item()


def different(
    cases: Sequence[Case], dtype: torch.dtype, given: Any, devices: Devices
) -> Iterator[str]:
    """What the compiled rows have otherwise than eager mode, a line each."""
    tried: dict[str, tuple[Case, list[torch.Tensor], Any, Any]] = {}
    for case in cases:
        form = [None if isinstance(a, Tensor) else a for a in case.args]
        name = f"{case.op} {form} {dict(case.kwargs)}"
        args = given(case, dtype)
        try:
            wanted = call(case, args)
        except (RuntimeError, IndexError):
            continue  # eager mode does not take the type, or the dimension
        try:
            wide = call(case, [a if a.dtype is torch.bool else a.double() for a in args])
        except (RuntimeError, IndexError):
            wide = None
        tried[name] = case, args, wanted, wide
    assert tried
    found_at = {}
    for first, last in pairwise([*range(0, len(tried), 40), len(tried)]):
        part = list(tried)[first:last]

        def function(*operands: list[torch.Tensor]) -> list[Any]:
            return [call(tried[n][0], o) for n, o in zip(part, operands, strict=True)]  # noqa: B023

        torch.compiler.reset()
        compiler = Compiler(devices=devices)
        run = torch.compile(function, backend=compiler)
        found_at.update(zip(part, run(*(tried[n][1] for n in part)), strict=True))
        yield from (str(r.failures or r.eager) for r in compiler.reports if r.failures or r.eager)
    for name, found in found_at.items():
        case, args, wanted, wide = tried[name]
        kinds = [[t] if isinstance(t, torch.Tensor) else t for t in (wanted, found)]
        widened = [wide] if isinstance(wide, torch.Tensor) else wide or [None] * len(kinds[0])
        tests = [test for part, test in OPEN.items() if part in case.name]
        floats = [a if a.is_floating_point() else a.float() for a in args]
        ruled = [test(*floats).tolist() for test in tests]
        for one, other, w in zip(*kinds, widened, strict=True):
            for n, eager, ours in wrong(one, other, w):
                if any(test[n] for test in ruled):
                    continue
                at = [a.flatten()[n].item() for a in args if a.numel() == one.numel()]
                yield f"{name}: {at or n}: {ours} instead of {eager}"


@every_type
def test_elementwise_operators(devices: Devices, dtype: torch.dtype) -> None:
    assert list(different(ELEMENTWISE, dtype, operands, devices)) == []


@every_type
def test_reductions_scans_and_sorts(devices: Devices, dtype: torch.dtype) -> None:
    bits = not dtype.is_floating_point  # a hash of floats is an exclusive or of their bits
    reductions = [case for case in REDUCTIONS if bits or "xor_sum" not in case.op]
    assert list(different([*reductions, *SCANS], dtype, pairs, devices)) == []
    sorts = [case for case in SCANS if "sort" in case.op]
    assert list(different(sorts, dtype, orders, devices)) == []


@pytest.mark.parametrize("columns", [5, 80, 20000])
def test_a_mean_is_finite_where_the_sum_is_not(devices: Devices, columns: int) -> None:
    """Whole rows at once, and in a loop: a norm of such a row is 0, not NaN."""
    x = torch.where(torch.arange(columns) % 7 < 4, 3e38, torch.rand(2, columns))

    def function(x: torch.Tensor) -> Any:
        return torch.var_mean(x, 1), F.layer_norm(x, (columns,))

    torch.compiler.reset()
    (spread, mean), normed = torch.compile(function, backend=Compiler(devices=devices))(x)
    assert spread.isinf().all() and normed.count_nonzero() == 0
    torch.testing.assert_close(mean.double(), x.double().mean(1), rtol=1e-6, atol=0)
