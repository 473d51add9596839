"""What is in memory while steps run one after another, and the order of them that needs least."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.ir.reach import grouped, in_order


@dataclass(frozen=True, slots=True)
class Traffic:
    """Buffers a step touches in memory, in order of first use (internal ones left out)."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Residents:
    """Bytes in memory while steps run, which touch ``touched``: of the buffers in ``sizes`` from
    their first use to their last, or to the end if they are ``kept``, of those already ``here``
    from the beginning. ``reused`` are, for each step, outputs that get the memory of an input;
    steps ``in_place`` write into that of any that they are the last to read."""

    def __init__(
        self,
        touched: Sequence[Traffic],
        sizes: Mapping[str, int],
        kept: Collection[str],
        reused: Sequence[Mapping[str, str]] | None = None,
        in_place: Collection[int] = (),
        here: Iterable[str] = (),
    ) -> None:
        self.sizes, self.kept, self.in_place = sizes, kept, in_place
        self.reused = reused or [{}] * len(touched)
        self.made = [[n for n in dict.fromkeys(one.writes) if n in sizes] for one in touched]
        both = [dict.fromkeys((*one.reads, *one.writes)) for one in touched]
        self.touched = [[n for n in names if n in sizes] for names in both]
        self.uses = Counter(name for names in self.touched for name in names)
        self.here = set(here)
        self.live = self.peak = sum(map(sizes.__getitem__, self.here))

    def change(self, step: int) -> tuple[int, int]:
        """Bytes that have to be allocated before ``step``, and those that nobody needs once it
        has run."""
        reused, given_on = self.reused[step], self.reused[step].values()
        here = (n for n in self.made[step] if n not in self.here and n not in reused)
        last = (n for n in self.touched[step] if self.uses[n] == 1 and n not in self.kept)
        arriving = sum(self.sizes[n] for n in here)
        return arriving, sum(self.sizes[n] for n in last if n not in given_on)

    def run(self, step: int) -> None:
        """Run ``step``."""
        arriving, leaving = self.change(step)
        self.peak = max(self.peak, self.live + arriving - leaving * (step in self.in_place))
        self.live += arriving - leaving
        self.here.update(self.made[step], self.reused[step])
        self.uses.subtract(self.touched[step])

    def peak_of(self, order: Iterable[int]) -> int:
        """The most at once if the steps run in this ``order``."""
        for step in order:
            self.run(step)
        return self.peak


def greedy(
    before: Mapping[int, Iterable[int]], residents: Residents, place: Callable[[int], Any]
) -> list[int]:
    """An order of steps, each after those ``before`` it, which always runs the ready one that
    frees most, the first by ``place`` of equals."""

    known: dict[int, tuple[int, Any]] = {}
    users = grouped(
        ((name, step) for step, names in enumerate(residents.touched) for name in names),
        operator.itemgetter(0),
    )

    def key(step: int) -> tuple[int, Any]:
        if step not in known:
            arriving, leaving = residents.change(step)
            known[step] = arriving - leaving, place(step)
        return known[step]

    order = []
    for step in in_order(before, key):
        residents.run(step)
        order.append(step)
        for _, other in (pair for name in residents.touched[step] for pair in users[name]):
            known.pop(other, None)
    return order


def lowest(
    before: Mapping[int, Iterable[int]],
    place: Callable[[int], Any],
    models: Sequence[Callable[[], Residents]],
) -> list[int]:
    """The order by ``place`` or, if it needs less memory by one of ``models`` and not more by any,
    one that is greedy by one of them."""
    orders = [list(in_order(before, place)), *(greedy(before, make(), place) for make in models)]
    peaks = [[make().peak_of(order) for make in models] for order in orders]
    fine = [n for n, p in enumerate(peaks) if all(map(int.__le__, p, peaks[0]))]
    return orders[min(fine, key=lambda n: (sum(peaks[n]), n))]
