"""What hangs together, and what comes before what."""

from __future__ import annotations

from harness.ir.reach import in_order, joined


def test_groups_that_share_something_are_one() -> None:
    found = joined([[1, 2], [3], [4, 5], [5, 2], []])
    assert sorted(map(sorted, found)) == [[1, 2, 4, 5], [3]]
    assert joined([["a"], ["b"], ["a", "b"], ["c", "c"]]) == [["a", "b"], ["c"]]


def test_of_what_is_ready_the_least_comes_first() -> None:
    before = {0: [2], 1: [], 2: [], 3: [0, 1]}
    assert list(in_order(before, lambda n: n)) == [1, 2, 0, 3]
    assert list(in_order(before, lambda n: -n)) == [2, 1, 0, 3]


def test_what_has_become_less_comes_sooner_and_once() -> None:
    keys, fallen = {0: 0, 1: 5, 2: 3, 3: 9}, set[int]()
    order = in_order({n: [] for n in keys}, lambda n: keys[n], lambda: fallen)
    found = [next(order)]
    keys[1], fallen = 1, {1}
    found.append(next(order))
    fallen = set()
    assert [*found, *order] == [0, 1, 2, 3]
