"""Copies of arguments: equal, apart, with the same views, restored."""

from __future__ import annotations

import torch

from harness.measure.timer.engine import copy, set_bytes


def test_copies_hold_the_same_and_share_nothing() -> None:
    a, b = torch.randn(100), torch.randint(0, 99, (7, 5), dtype=torch.int16)
    made = copy([a, b, 3, None], 4)
    assert made.words[0].nbytes == set_bytes([a, b]) == 512 + 512
    places = set()
    for x, y, number, nothing in made.sets:
        assert torch.equal(x, a)
        assert torch.equal(y, b)
        assert (number, nothing) == (3, None)
        assert x.data_ptr() % 512 == y.data_ptr() % 512 == made.sets[0][0].data_ptr() % 512
        places |= {x.data_ptr(), y.data_ptr()}
    assert len(places) == 8
    made.sets[1][0].zero_()
    assert torch.equal(made.sets[0][0], a)
    assert torch.equal(made.sets[2][0], a)
    assert float(a.abs().sum()) > 0


def test_layout_and_shared_storage_stay() -> None:
    base = torch.randn(60)
    left, right = base[3:23].view(4, 5).t(), base[10:40:2]
    (x, y), _ = copy([left, right], 2).sets
    assert x.shape == left.shape
    assert x.stride() == left.stride()
    assert torch.equal(x, left)
    assert torch.equal(y, right)
    assert x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    x.fill_(9.0)
    assert 9.0 in y.tolist()
    assert 9.0 not in base.tolist()


def test_types_of_odd_sizes_and_nothing() -> None:
    args = [torch.ones(3, dtype=t) for t in (torch.bool, torch.bfloat16, torch.float8_e4m3fn)]
    made = copy([*args, torch.empty(0)], 3)
    for row in made.sets:
        for x, y in zip(row, args, strict=False):
            assert x.dtype == y.dtype
            assert torch.equal(x.float(), y.float())
        assert row[3].numel() == 0
    assert copy([], 2).sets == ((), ())


def test_restore_gives_every_set_its_contents_back() -> None:
    a = torch.randn(50)
    made = copy([a], 3)
    for (x,) in made.sets:
        x.mul_(7)
    made.restore()
    assert all(torch.equal(x, a) for (x,) in made.sets)
