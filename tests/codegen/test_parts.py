"""Interpolation over channels that lie last, by itself and beside others in one tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.tiling import choose, passes


def wide(x: torch.Tensor, mode: str = "bilinear") -> torch.Tensor:
    return functional.interpolate(x, size=(5, 6), mode=mode)


def joined(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Three pieces, the last as it is."""
    return torch.cat([wide(a), wide(b), c.relu()], 1)


def uneven(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Pieces of other sizes."""
    return torch.cat([wide(a) * 2, wide(b[:, :60]), functional.pad(c, (0, 0, 0, 0, 4, 0))], 1)


def twice(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two results of the same pieces, one of which reads the other's."""
    both = torch.cat([wide(a), wide(b)], 1)
    other = torch.cat([wide(a) + 1, wide(b).exp()], 1)
    return both, other * both.sigmoid(), c


def padded(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """A piece between rows, columns and channels of another number."""
    return functional.pad(wide(a), (1, 0, 0, 2, 64, 0), value=3.0) + wide(b, "bicubic").sum()


FUNCTIONS = (joined, uneven, twice, padded)


def arguments(dtype: torch.dtype, layout: torch.memory_format) -> list[torch.Tensor]:
    sizes = ((2, 64, 2, 3), (2, 64, 3, 2), (2, 64, 5, 6))
    return [torch.randn(s).to(dtype).contiguous(memory_format=layout) for s in sizes]


LAST, FIRST = torch.channels_last, torch.contiguous_format
CASES = [*((function, LAST) for function in FUNCTIONS), (joined, FIRST)]


@pytest.mark.parametrize(("function", "layout"), CASES)
def test_pieces(
    function: Callable[..., object], layout: torch.memory_format, devices: Devices
) -> None:
    torch.manual_seed(0)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, arguments(torch.float32, layout), compiler) == []
    (graph,) = compiler.compiled
    texts = [kernel.module.text for kernel in graph.kernels]
    assert any("if tl.max(" in text for text in texts)


@pytest.mark.parametrize(("width", "many", "branches"), [(7, 3136, 2), (7, 3137, 0), (8, 1, 0)])
def test_channels_of_odd_images_are_a_branch_each(
    width: int, many: int, branches: int, devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MANY", many)

    def both(a: torch.Tensor, b: torch.Tensor, *of_channels: torch.Tensor) -> torch.Tensor:
        m, r, w, c = (v[:, None, None] for v in of_channels)
        return torch.cat([(x - m) * r * w + c for x in (a, b)], 1).relu()

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    given = [torch.randn(2, 16, width, width) for _ in range(2)]
    assert differences(both, [*given, *torch.randn(4, 16)], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert kernel.source.text.count("if tl.max(") == branches
    assert ("< 784" in kernel.source.text) is (width == 7)  # points, of 16 channels


Beside = tuple[int, int, int, torch.dtype, bool, list[str]]
BESIDE: dict[str, Beside] = {  # images of which side, loads at all points of four, of what type
    "four images": (4, 32, 4 * 2 * 16 * 1024, torch.bfloat16, False, ["y", "x"]),
    "two": (2, 32, 4 * 2 * 8 * 1024, torch.bfloat16, False, ["y", "x"]),
    "one": (1, 32, 1, torch.bfloat16, False, ["x"]),
    "short rows": (4, 4, 1, torch.bfloat16, False, ["x"]),
    "rows that end within a vector": (4, 31, 1, torch.bfloat16, False, ["x"]),
    "few points": (4, 32, 4 * 2 * 16 * 1024 + 1, torch.bfloat16, False, ["x"]),
    "a load a byte": (4, 32, 1, torch.float32, False, ["x"]),
    "computed places": (4, 32, 1, torch.bfloat16, True, ["x"]),
}


@pytest.mark.parametrize(
    ("count", "side", "loads", "dtype", "gathered", "tiles"), BESIDE.values(), ids=BESIDE
)
def test_images_beside_each_other_have_rows_of_their_own(
    count: int,
    side: int,
    loads: int,
    dtype: torch.dtype,
    gathered: bool,
    tiles: list[str],
    devices: Devices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose, "ALIKE_ALL", loads)
    order = torch.randperm(side)

    def joined(x: torch.Tensor, *of_channels: torch.Tensor) -> torch.Tensor:
        m, r, w, c = (v[:, None, None] for v in of_channels)
        first, *others = x.chunk(count, 1)
        first = first[..., order] if gathered else first
        return torch.cat([*others, ((first - m) * r * w + c).relu()], 1)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    images, numbers = torch.randn(2, 4 * count, side, side), torch.randn(4, 4)
    given = [images.to(dtype), *numbers.to(dtype)]
    assert differences(joined, given, compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == tiles


def turned(x: torch.Tensor, of: tuple[torch.Tensor, ...]) -> torch.Tensor:
    for v in of:
        x = x * v + v.abs()
    return x


def beside(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, *by: torch.Tensor) -> torch.Tensor:
    """Three pieces, one of which lies across."""
    half = len(by) // 2
    return torch.cat([turned(a, by[:half]), b, turned(c.mT, by[half:])], 1)


def within(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, *by: torch.Tensor) -> torch.Tensor:
    """The same, of which the first has a piece of its own."""
    half = a.shape[1] // 2
    first = functional.pad(turned(a[:, :half], tuple(v[:half] for v in by[:4])), (0, half))
    second = functional.pad(a[:, half:].exp(), (half, 0))
    return torch.cat([first + second, b, turned(c.mT, by[4:])], 1)


@pytest.mark.parametrize(
    ("function", "width", "spared", "many", "branches"),
    [
        (beside, 64, 7.9, 6144, 2),
        (beside, 64, 8.0, 6144, 0),
        (beside, 64, 7.9, 6145, 0),
        (beside, 32, 0.0, 1, 0),  # blocks would meet several
        (within, 64, 7.9, 6144, 3),
    ],
)
def test_pieces_beside_one_that_lies_across_are_a_branch_each(
    function: Callable[..., torch.Tensor],
    width: int,
    spared: float,
    many: int,
    branches: int,
    devices: Devices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In tiles: of 13 loads a point 8 are spared."""
    monkeypatch.setattr(passes, "SPARED", spared)
    monkeypatch.setattr(passes, "SPARED_MANY", many)
    monkeypatch.setattr(passes, "SPARED_RUN", 3 * 64)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    given = [torch.randn(s) for s in ((32, width), (32, width), (width, 32))]
    assert differences(function, [*given, *torch.randn(10, width)], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == ["y", "x"]
    assert kernel.source.text.count("if tl.max(") == branches
    assert ("        if tl.max(" in kernel.source.text) is (function is within)


@pytest.mark.parametrize(
    ("channels", "at", "point"),
    [
        (torch.arange(16), 5, ">= 245"),
        (torch.arange(16), 2**40, "tmp0 * -1.0  # where"),  # which none is: nothing is compared
        (torch.arange(16.0), 4.5, ">= 4.5"),
        (torch.arange(16, dtype=torch.int8), 2, ">= 2"),  # of which most points would be no number
    ],
)
def test_channels_are_compared_as_points_where_that_is_a_number_of_the_kernel(
    channels: torch.Tensor, at: float, point: str, devices: Devices
) -> None:
    def later(x: torch.Tensor) -> torch.Tensor:
        number = torch.arange(16, dtype=channels.dtype)[:, None, None]
        return torch.where(number >= at, x, -x)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(later, [torch.randn(2, 16, 7, 7)], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert point in kernel.source.text


@pytest.mark.parametrize(
    ("function", "what", "times"),
    [
        (lambda a, b, c: torch.cat([x.abs().sqrt() for x in (a, b, c)]), "sqrt_rn(", 1),
        (lambda a, b, c: torch.stack([a.exp() * 2, a.sin().exp() * 2]), "tl.exp(", 1),
        (lambda a, b, c: torch.cat([a.exp() * 2, b.exp() * 3]), "tl.exp(", 2),
        (lambda a, b, c: torch.cat([a.exp(), b, c.exp()]), "tl.exp(", 2),
        (lambda a, b, c: torch.cat([a > 0.25, b > 0.25]), "> 0.25", 1),
        (lambda a, b, c: torch.cat([1 - a, b - 1, c - 1]), " - 1.0", 2),
        (lambda a, b, c: torch.cat([c.exp()]), "tl.exp(", 1),
    ],
)  # fmt: skip
def test_what_is_done_to_every_piece_is_done_once(
    function: Callable[..., object], what: str, times: int, devices: Devices
) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    given = [torch.randn(n, 5) * 3 for n in (3, 4, 1)]
    assert differences(function, given, compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert kernel.source.text.count(what) == times


def stacked(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """Three tensors side by side, two of them computed of four others, and their columns' sums."""
    second, third = turned(first, others[:4]), turned(first.exp(), others[4:])
    whole = torch.stack([first, second, third], 2).flatten(1)
    return [whole, whole.sum(0)]


def chosen(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """The same as a gradient puts them together: each where its place is, else nothing."""
    number = torch.arange(3)[:, None]
    second, third = turned(first, others[:4]), turned(first.exp(), others[4:])
    parts = [torch.where(number == k, x.unsqueeze(2), 0) for k, x in enumerate((second, third))]
    whole = (torch.where(number == 2, first.unsqueeze(2), 0) + parts[0] + parts[1]).flatten(1)
    return [whole, whole.sum(0)]


def nested(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """The same, of which the first two are pieces of one."""
    second, third = turned(first, others[:4]), turned(first.exp(), others[4:])
    whole = torch.cat([torch.stack([second, first], 2).flatten(1), third.flatten(1)], 1)
    return [whole, whole.sum(0)]


def same(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """The last is the same in all rows: it is loaded once, ahead of the loop."""
    second, third = (
        turned(first, others[:4]),
        turned(others[4][:1], tuple(x[:1] for x in others[5:])),
    )
    whole = torch.stack([first, second, third.expand_as(first)], 2).flatten(1)
    return [whole, whole.sum(0)]


AT = (3, 1, 0, 2)


def in_turns(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """Rows of two tensors in turns, which a loop meets both of."""
    second = turned(first, tuple(x[:, torch.tensor(AT)] for x in others))
    whole = torch.stack([first, second], 1).flatten(0, 1)
    return [whole, whole.sum(0)]


def one_after_the_other(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """Rows of one tensor behind those of another: only the loop's turn says whose a row is."""
    whole = torch.cat([turned(first, others), turned(first.exp(), others)])
    return [whole, whole.sum(0)]


def by_chance(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """What is kept numbers say, as of a dropout."""
    found = turned(first, tuple(x[:, torch.tensor(AT)] for x in others))
    kept = torch.where(others[0][0] > 0, found, 0)
    return [kept, kept.sum(0)]


def some(first: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """What is kept places say."""
    found = turned(first, tuple(x[:, torch.tensor(AT)] for x in others))
    kept = torch.where(torch.arange(64) < 20, found, 0)
    return [kept, kept.sum(0)]


@pytest.mark.parametrize(
    ("function", "ahead", "inside"),
    [
        (nested, 2, 1),
        (same, 0, 0),
        (in_turns, 0, 0),
        (one_after_the_other, 0, 0),
        (by_chance, 0, 0),
        (some, 1, 0),
    ],
)
def test_what_a_loop_does_not_ask_or_need_at_every_turn_is_no_branch(
    function: Callable[..., object],
    ahead: int,
    inside: int,
    devices: Devices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A piece of a piece is asked for inside the branch of that, where its condition is known."""
    monkeypatch.setattr(passes, "SPARED", 5.0)
    monkeypatch.setattr(passes, "SPARED_MANY", 1)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    given = [torch.randn(200, 4, 64) for _ in range(9)]
    assert differences(function, given, compiler) == []
    texts = [kernel.source.text for kernel in compiler.compiled[-1].kernels]
    (text,) = (text for text in texts if "for r0_offset" in text)
    before, loop = text.split("for r0_offset")
    assert (before.count("tl.max("), loop.count("if any")) == (ahead, ahead)
    assert loop.count("if tl.max(") == inside


@pytest.mark.parametrize("function", [stacked, chosen])
@pytest.mark.parametrize(("spared", "branches"), [(5.0, 2), (7.0, 0)])
def test_stacked_columns_are_a_branch_each(
    function: Callable[..., object],
    spared: float,
    branches: int,
    devices: Devices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a loop down columns, whose test stands before the loop."""
    monkeypatch.setattr(passes, "SPARED", spared)
    monkeypatch.setattr(passes, "SPARED_MANY", 1)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    given = [torch.randn(200, 4, 64) for _ in range(9)]
    assert differences(function, given, compiler) == []
    texts = [kernel.source.text for kernel in compiler.compiled[-1].kernels]
    (text,) = (text for text in texts if "for r0_offset" in text and "tl.store(out_ptr1" in text)
    before, loop = text.split("for r0_offset")
    assert before.count("tl.max(") == branches and loop.count("if any") == branches
