from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from harness.session.session import match_small

CAPTURED = frozenset("abcdefgh")


def match(full: list[str], small: list[str], captured: frozenset[str] = CAPTURED) -> object:
    """Kernels with one launch each, a node a letter."""
    found = match_small([[tuple(k)] for k in full], [[tuple(k)] for k in small], captured)
    return list(found)


def test_equal_work_is_one_kernel_whatever_the_order() -> None:
    assert match(["ab", "c"], ["c", "ba"]) == [(1,), (0,)]


def test_an_exact_counterpart_wins_over_a_larger_one() -> None:
    assert match(["ab"], ["abc", "ab"]) == [(1,)]


def test_divided_work_is_covered_by_as_few_as_possible() -> None:
    assert match(["abcd"], ["a", "ab", "b", "cd"]) == [(1, 3)]


def test_a_captured_node_that_nobody_computes_leaves_the_kernel_unmatched() -> None:
    assert match(["ab"], ["a"]) == [()]


def test_a_node_the_compiler_made_may_be_missing() -> None:
    assert match(["aX"], ["a"]) == [(0,)]
    assert match(["aX"], ["a", "aX"]) == [(1,)], "but counts where it exists"


def test_any_launch_of_a_kernel_will_do() -> None:
    full = [[("a", "b"), ("c", "d")]]
    assert match_small(full, [[("c", "d")], [("a",)], [("b",)]], CAPTURED) == ((0,),)


def test_a_kernel_launched_several_times_at_small_sizes() -> None:
    assert match_small([[("c",)]], [[("a",), ("b",)], [("d",), ("c",)]], CAPTURED) == ((1,),)


@given(
    st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1), min_size=1, max_size=6), st.data()
)
def test_what_is_found_covers_the_work(small: list[set[str]], data: st.DataObject) -> None:
    computed = set(itertools.chain(*small))
    wanted = data.draw(st.sets(st.sampled_from("abcdefgh"), min_size=1))
    (found,) = match_small([[tuple(sorted(wanted))]], [[tuple(sorted(s))] for s in small], CAPTURED)
    if wanted <= computed:
        assert wanted <= set(itertools.chain(*(small[p] for p in found)))
    else:
        assert found == ()
