"""Memory while steps run, and the order that needs least of it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.graph.partition.residents import Residents, Traffic, lowest
from harness.ir.reach import in_order

SIZES = {"a": 10, "b": 10, "c": 1, "d": 1, "x": 5}
STEPS = (
    Traffic((), ("a",)),
    Traffic(("x",), ("b",)),
    Traffic(("a",), ("c",)),
    Traffic(("b",), ("d",)),
)
BEFORE = {0: [], 1: [], 2: [0], 3: [1]}


def own() -> Residents:
    return Residents(STEPS, {n: s for n, s in SIZES.items() if n != "x"}, {"c", "d"})


def with_inputs() -> Residents:
    return Residents(STEPS, SIZES, {"c", "d"}, here=["x"])


def test_bytes_live_from_their_first_use_to_their_last() -> None:
    assert own().peak_of([0, 1, 2, 3]) == 21 and own().peak_of([0, 2, 1, 3]) == 12
    assert with_inputs().peak_of([0, 1, 2, 3]) == 25 and with_inputs().peak_of([1, 3, 0, 2]) == 15


def test_a_step_in_place_writes_into_what_it_is_the_last_to_read() -> None:
    made = Residents(STEPS[::2], SIZES, {"c"}, in_place=[1])
    assert made.peak_of([0, 1]) == 10


def test_what_is_there_or_takes_the_memory_of_another_is_not_made_anew() -> None:
    again = (Traffic((), ("a",)), Traffic(("a",), ("a",)), Traffic(("a",), ("b",)))
    assert Residents(again, SIZES, {"b"}).peak_of([0, 1, 2]) == 20
    reused = [{}, {}, {"b": "a"}, {}]
    made = Residents((*again, Traffic((), ("x",))), SIZES, {"b"}, reused)
    assert made.peak_of([0, 1, 2]) == 10 and made.peak_of([3]) == 15


def test_what_a_step_costs_is_asked_anew_where_others_have_changed_it() -> None:
    again = (Traffic((), ("a",)), Traffic(("a",), ("a",)), Traffic(("a",), ("b",)))
    made = Residents(again, SIZES, {"b"})
    assert [made.change(step) for step in range(3)] == [(10, 0)] * 3
    made.run(0)
    assert [made.change(step) for step in (1, 2)] == [(0, 0), (10, 0)]
    made.run(1)
    assert made.change(2) == (10, 10)


def test_an_order_is_another_only_if_one_needs_less_and_none_more() -> None:
    assert lowest(BEFORE, lambda n: n, [own]) == [0, 2, 1, 3]
    kept = lambda: Residents(STEPS, SIZES, SIZES)  # noqa: E731
    assert lowest(BEFORE, lambda n: n, [kept]) == [0, 1, 2, 3]
    frees, makes, idle = Traffic(("x",), ()), Traffic((), ("b",)), Traffic((), ())
    worse = lambda: Residents((idle, frees, makes, idle), SIZES, "b", here="x")  # noqa: E731
    assert lowest(BEFORE, lambda n: n, [own, worse]) == [0, 1, 2, 3]


class Walked(Collection[str]):
    """Names that count how often one goes through them."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return iter(("c", "d"))

    def __contains__(self, name: object) -> bool:
        return name in ("c", "d")

    def __len__(self) -> int:
        return 2


def test_what_is_kept_is_walked_once_however_many_steps_there_are() -> None:
    kept = Walked()
    assert Residents(STEPS, SIZES, kept, here=["x"]).peak_of([1, 3, 0, 2]) == 15
    assert kept.times == 1


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[int, list[int]], list[Traffic], dict[str, int]]:
    count = draw(st.integers(1, 6))
    before = {
        n: draw(st.lists(st.integers(0, n - 1), unique=True)) if n else [] for n in range(count)
    }
    sizes = {f"v{n}": draw(st.integers(0, 9)) for n in range(count)}
    touched = [Traffic(tuple(f"v{m}" for m in before[n]), (f"v{n}",)) for n in range(count)]
    return before, touched, sizes


@given(programs(), st.sets(st.integers(0, 5)))
@settings(max_examples=100, deadline=None)
def test_orders_are_valid_and_never_need_more(
    program: tuple[dict[int, list[int]], list[Traffic], dict[str, int]], kept: set[int]
) -> None:
    before, touched, sizes = program

    def make() -> Residents:
        return Residents(touched, sizes, {f"v{n}" for n in kept})

    usual = list(in_order(before, lambda n: n))
    found = lowest(before, lambda n: n, [make])
    at = {step: place for place, step in enumerate(found)}
    assert sorted(found) == usual
    assert all(at[first] < at[n] for n, firsts in before.items() for first in firsts)
    assert make().peak_of(found) <= make().peak_of(usual)
    least = min(
        make().peak_of(order)
        for order in itertools.permutations(before)
        if all(order.index(f) < order.index(n) for n, firsts in before.items() for f in firsts)
    )
    assert make().peak_of(found) >= least


def test_work_is_as_much_as_there_are_steps() -> None:
    """An optimizer's: all are ready at once, and all read one number."""
    asked: list[int] = []
    count = 200

    def place(step: int) -> int:
        asked.append(step)
        return step

    touched = [Traffic(("x",), (f"v{n}",)) for n in range(count)]
    sizes = {"x": 5} | {f"v{n}": n % 3 for n in range(count)}
    lowest({n: [] for n in range(count)}, place, [lambda: Residents(touched, sizes, sizes)])
    assert len(asked) <= 3 * count
