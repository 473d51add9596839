"""Writes at computed positions through torch.compile in the interpreter, against eager mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.backend import Compiler

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.int8)
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _generated(compiler: Compiler, function: Callable[..., Any], *args: Any) -> Any:
    """What the compiled function returns, made by kernels alone, and as in eager mode."""
    torch.compiler.reset()
    got = torch.compile(function, backend=compiler, dynamic=False)(*args)
    report = compiler.reports[-1]
    assert not report.library_calls and not report.fallbacks and not report.failures
    wanted = function(*args)
    for ours, theirs in zip(
        torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(wanted), strict=True
    ):
        assert ours.dtype is theirs.dtype and ours.shape == theirs.shape
        assert ours.stride() == theirs.stride()
        wide = torch.float64 if ours.is_floating_point() else ours.dtype
        tolerance = _rounding(theirs)
        torch.testing.assert_close(ours.to(wide), theirs.to(wide), equal_nan=True, **tolerance)
    return got


def _rounding(result: torch.Tensor) -> dict[str, float]:
    """What sums of a few numbers may differ by: for float32 some units in the last place of the
    largest."""
    if result.dtype is torch.bfloat16:
        return {"rtol": 0.03, "atol": 0.05}
    if result.dtype is torch.float32:
        largest = float(result.nan_to_num(0, 0, 0).abs().max())
        return {"rtol": 0, "atol": 6 * torch.finfo(torch.float32).eps * largest}
    return {}


def _values(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    made = torch.randint(-4, 5, shape, generator=generator).to(dtype)
    if dtype.is_floating_point:
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, 0.5], dtype=dtype)
        drawn = torch.randint(0, 60, shape, generator=generator)
        made = torch.where(drawn < 5, odd[drawn.clamp(max=4)], made)
    return made


def _cached(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held.index_copy_(1, place, keys)
    return keys * 2


def _read_again(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held.index_copy_(1, place, keys)
    return torch.softmax(held, 1)


def _by_a_library(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held.index_copy_(1, place, keys)
    return keys @ held.transpose(1, 2)


def _before_and_after(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> Any:
    before = held.sum(1)
    held.index_copy_(1, place, keys)
    return before, held.sum(1)


def _from_itself(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held.index_copy_(1, place, held[:, : keys.shape[1]] * 2)
    return keys + 1


def _returned(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> Any:
    held.index_add_(1, place, keys)
    copy = held.clone()
    return copy.index_copy_(1, place, keys + 1), held.view(-1)


def _two(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    first, second = held[:1].clone(), keys.clone()
    keys.index_copy_(1, place.clamp(max=keys.shape[1] - 1)[:1], first[:, :1].expand(2, 1, 8))
    held.index_copy_(1, place, second)
    return first


def _a_slice(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held[:, 3:5] = keys
    return held.sum(1)


def _every_third(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held[:, 1:7:3] += keys
    return keys @ held.transpose(1, 2)


def _one_of_them(held: torch.Tensor, place: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    held[1] = 0.5
    return keys.exp()


@pytest.mark.parametrize(
    ("change", "launches"),
    [
        (_cached, 1),
        (_read_again, 2),
        (_by_a_library, 1),
        (_before_and_after, 3),
        (_from_itself, 3),
        (_returned, 4),
        (_two, 3),
        (_a_slice, 1),
        (_every_third, 1),
        (_one_of_them, 1),
    ],
)
def test_an_input_is_scattered_into_in_place(
    compiler: Compiler, change: Callable[..., Any], launches: int
) -> None:
    """As a cache of keys and values is: without a copy of it unless its old contents are read."""
    torch.compiler.reset()
    made = [torch.randn(2, 16, 8), torch.tensor([3, 11]), torch.randn(2, 2, 8)]
    ours, theirs = [x.clone() for x in made], [x.clone() for x in made]
    got = torch.compile(change, backend=compiler, dynamic=False)(*ours)
    wanted = change(*theirs)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(ours, theirs)
    report = compiler.reports[-1]
    assert not report.fallbacks and not report.failures
    assert report.launches == launches


@pytest.mark.parametrize("seed", range(6))
def test_what_meets_in_one_place(compiler: Compiler, seed: int) -> None:
    rng = random.Random(seed)
    dtype = DTYPES[seed % len(DTYPES)]
    shape = tuple(rng.choice((1, 3, 6)) for _ in range(rng.choice((1, 2, 3))))
    dim = rng.randrange(len(shape))
    many = tuple(9 if d == dim else n for d, n in enumerate(shape))
    x, src = _values(shape, dtype, seed), _values(many, dtype, seed + 50)
    if len(shape) > 1:
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    index = torch.randint(0, shape[dim], many, generator=torch.Generator().manual_seed(seed))
    lines = index.select(dim, 0).flatten()[:1].expand(9).contiguous()

    def run(x: torch.Tensor, index: torch.Tensor, lines: torch.Tensor, src: torch.Tensor) -> Any:
        made = [
            x.scatter_reduce(dim, index, src, how, include_self=own)
            for how in REDUCTIONS
            for own in (True, False)
        ]
        for how in ("prod", "mean", "amax", "amin"):
            made.append(x.index_reduce(dim, lines, src, how, include_self=how != "mean"))
        return made

    _generated(compiler, run, x, index, lines, src)


def test_an_index_out_of_range_raises_whatever_is_reduced(compiler: Compiler) -> None:
    x, index = torch.ones(4), torch.tensor([0, 4])
    for how in REDUCTIONS:
        torch.compiler.reset()
        run = torch.compile(lambda x, i, how=how: x.scatter_reduce(0, i, x[:2], how),
                            backend=compiler, dynamic=False)  # fmt: skip
        with pytest.raises((RuntimeError, IndexError)):
            run(x, index)


def test_gradients_of_the_largest(compiler: Compiler) -> None:
    x, index = torch.randn(5, requires_grad=True), torch.tensor([0, 2, 2, 4])
    src = torch.randn(4, requires_grad=True)

    def run(x: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        return x.scatter_reduce(0, index, src, "amax").sin()

    made = torch.compile(run, backend=compiler, dynamic=False)(x, src)
    got = torch.autograd.grad(made.sum(), (x, src))
    wanted = torch.autograd.grad(run(x, src).sum(), (x, src))
    torch.testing.assert_close(got, wanted)


def test_copies_of_views_and_writes_into_views(compiler: Compiler) -> None:
    x = torch.randn(6, 5)

    def copies(x: torch.Tensor) -> Any:
        y = x * 2
        return (
            torch.narrow_copy(y, 1, 1, 3),
            *torch.unbind_copy(y, 1),
            torch.diagonal_scatter(y, x[:4, 0], 1),
            torch.diagonal_scatter(y.t(), x[:4, 0], -1),
            torch.diagonal_scatter(y.view(2, 3, 5), x[:5, :2], 0, 1, 0),
            y.put(torch.tensor([[3, 29], [-1, 0]]), x[:2, :2]),
            y.put(torch.tensor([3, 3]), x[0, :2], accumulate=True),
            torch.dist(y, x, 3), torch.dist(y, x),
            torch.cdist(y, x[:4], 1.0), torch.cdist(y, x[:4]),
            torch.tensor(2.0).index_add(0, torch.tensor(0), x[0, 0]),
        )  # fmt: skip

    _generated(compiler, copies, x)


def test_masked_scatter_takes_the_source_in_order(compiler: Compiler) -> None:
    x, source = torch.randn(7, 40), torch.randn(300)
    mask = torch.rand(40) < 0.4

    def run(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> Any:
        return x.masked_scatter(x > 0.3, source), x.masked_scatter(mask, source) + 1

    _generated(compiler, run, x, mask, source)
    torch.compiler.reset()
    short = torch.compile(lambda x, s: x.masked_scatter(x == x, s), backend=compiler, dynamic=False)
    with pytest.raises((RuntimeError, IndexError)):
        short(x, source[:200])


def _put_by_mask(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    made = x * 2
    made[mask] = value
    return made.square()


@pytest.mark.parametrize(
    ("size", "among"), [((), 1), ((4,), 1), ((1,), 1), ((1, 4), 1), ((1,), 2), ((), 2), ((5, 4), 0)]
)
def test_one_value_where_a_mask_says_has_a_gradient(
    compiler: Compiler, size: tuple[int, ...], among: int
) -> None:
    torch.compiler.reset()
    x = torch.randn(3, 5, 4)
    mask = torch.rand(x.shape[: among + 1]) > 0.5
    given = [(x.clone().requires_grad_(), torch.ones(size, requires_grad=True)) for _ in range(2)]
    before = len(compiler.reports)
    for function, (own, value) in zip(
        (_put_by_mask, torch.compile(_put_by_mask, backend=compiler)), given, strict=True
    ):
        function(own, mask, value).sum().backward()
    for ours, wanted in zip(given[1], given[0], strict=True):
        torch.testing.assert_close(ours.grad, wanted.grad)
    reports = compiler.reports[before:]
    assert [r.library_calls for r in reports] == [(), ()]
    assert not any(r.fallbacks for r in reports)


def _put_in_columns(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    made = x * 2
    made[:, mask] = value
    return made.square()


@pytest.mark.parametrize(
    ("put", "shape", "rows"),
    [
        (_put_by_mask, (6,), (4,)),
        (_put_by_mask, (2, 3), (4,)),
        (_put_by_mask, (6, 3), (4, 3)),
        (_put_by_mask, (6, 3), (4, 1)),
        (_put_in_columns, (2, 6), (2, 4)),
        (_put_in_columns, (2, 6, 3), (4, 3)),
    ],
)
def test_rows_where_a_mask_says_have_a_gradient(
    compiler: Compiler, put: Callable[..., Any], shape: tuple[int, ...], rows: tuple[int, ...]
) -> None:
    torch.compiler.reset()
    mask = torch.tensor([True, False, True, True, False, True])
    mask = mask.view(shape) if shape == (2, 3) else mask
    given = [torch.randn(shape), mask, torch.randn(rows)]
    before, made = len(compiler.reports), []
    for function in (put, torch.compile(put, backend=compiler)):
        x, _, value = args = [t.clone().requires_grad_(t.dtype is not torch.bool) for t in given]
        function(*args).sum().backward()
        made.append((x.grad, value.grad))
    torch.testing.assert_close(made[1], made[0])
    reports = compiler.reports[before:]
    assert len(reports) == 2
    assert not any(r.fallbacks or r.eager for r in reports)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        torch.compile(put, backend=compiler)(given[0], mask.new_ones(mask.shape), given[2])


@pytest.mark.parametrize("value", [torch.ones(3, 4), torch.ones(4, dtype=torch.int32), 0.5])
def test_other_values_where_a_mask_says_are_as_in_eager_mode(
    compiler: Compiler, value: torch.Tensor | float
) -> None:
    torch.compiler.reset()
    x, mask = torch.randn(5, 4), torch.tensor([True, False, True, True, False])
    try:
        wanted = _put_by_mask(x, mask, value)  # type: ignore[arg-type]
    except RuntimeError:  # another type
        with pytest.raises(RuntimeError):
            torch.compile(_put_by_mask, backend=compiler)(x, mask, value)
    else:
        torch.testing.assert_close(
            torch.compile(_put_by_mask, backend=compiler)(x, mask, value), wanted
        )


def test_a_place_among_literals_is_a_literal(compiler: Compiler) -> None:
    """``linspace`` counts from its end, and a ``gather`` at 0 of it knows every number."""

    def losses(x: torch.Tensor) -> torch.Tensor:
        found = (x - torch.linspace(-1, -1, 2)) ** 2
        return found.gather(-1, torch.zeros_like(found, dtype=torch.int64))

    _generated(compiler, losses, torch.tensor([0.5, 2.0]))


@pytest.mark.parametrize("count", [127, 255, 256])
def test_a_mean_of_more_integers_than_their_type_counts(compiler: Compiler, count: int) -> None:
    """Eager mode counts in that type (5401368)."""
    x = torch.arange(count).remainder(10).to(torch.int8).view(1, -1)
    place = torch.zeros_like(x, dtype=torch.int64)
    for include in (True, False):
        _generated(
            compiler,
            lambda x, at, include=include: (
                x.scatter_reduce(1, at, x, "mean", include_self=include),
                x.byte().index_reduce(1, at[0], x.byte(), "mean", include_self=include),
            ),
            x,
            place,
        )


@pytest.mark.parametrize("columns", [32, 200])
def test_a_sum_is_added_as_often_as_its_row_has_elements(compiler: Compiler, columns: int) -> None:
    """By the kernel that adds it up, though nothing of what it then adds differs in the row."""

    def added(x: torch.Tensor, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = x.sum(1)
        every, wide = (one[:, None].expand(x.shape) for one in (place, total))
        return torch.zeros(8).index_put((every,), wide, accumulate=True), total

    # Integers small enough that every order of adding them gives the same number.
    x = torch.randint(-4, 5, (16, columns)).float()
    _generated(compiler, added, x, torch.randint(0, 8, (16,)))
    stores = [s for k in compiler.compiled[-1].kernels for s in k.source.plan.stores]
    assert [s.repeated for s in stores] == [False, False, True]
