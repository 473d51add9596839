"""What is in memory while steps run one after another, and the order of them that needs least."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.ir.reach import in_order


@dataclass(frozen=True, slots=True)
class Traffic:
    """Buffers a step touches in memory, in order of first use (internal ones left out)."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Residents:
    """Bytes in memory while steps run, which touch ``touched``: of the buffers in ``sizes`` from
    their first use to their last, or to the end if they are ``kept``, of those already ``here``
    from the beginning. ``reused`` are, for each step, outputs that get the memory of an input;
    steps ``in_place`` write into that of any that they are the last to read. ``cheaper`` are steps
    that allocate less, or free more, since the last one ran."""

    def __init__(
        self,
        touched: Sequence[Traffic],
        sizes: Mapping[str, int],
        kept: Collection[str],
        reused: Sequence[Mapping[str, str]] | None = None,
        in_place: Collection[int] = (),
        here: Iterable[str] = (),
    ) -> None:
        self.sizes, self.kept, self.in_place = sizes, frozenset(kept), in_place
        self.reused = reused or [{}] * len(touched)
        self.touched, self.here = touched, set(here)
        self.live = self.peak = sum(map(sizes.__getitem__, self.here))
        self.users: dict[str, set[int]] = {name: set() for name in sizes}
        self.names = [sizes.keys() & {*one.reads, *one.writes} for one in touched]
        for step, names in enumerate(self.names):
            for name in names:
                self.users[name].add(step)
        self._changes: dict[int, tuple[int, int]] = {}
        self.cheaper = set[int]()

    def change(self, step: int) -> tuple[int, int]:
        """Bytes that have to be allocated before ``step``, and those that nobody needs once it
        has run."""
        if step not in self._changes:
            one, reused = self.touched[step], self.reused[step]
            new = {*one.writes} - self.here - reused.keys()
            old = self.names[step] - self.kept - {*reused.values()}
            arriving = sum(self.sizes[n] for n in new if n in self.sizes)
            leaving = sum(self.sizes[n] for n in old if len(self.users[n]) == 1)
            self._changes[step] = arriving, leaving
        return self._changes[step]

    def run(self, step: int) -> None:
        """Run ``step``."""
        one, (arriving, leaving) = self.touched[step], self.change(step)
        self.peak = max(self.peak, self.live + arriving - leaving * (step in self.in_place))
        self.live += arriving - leaving
        new = {*one.writes, *self.reused[step]} - self.here
        self.here |= new
        self.cheaper.clear()
        for name in self.names[step]:
            self.users[name].remove(step)
            if name in new or len(self.users[name]) == 1:
                self.cheaper |= self.users[name]
        for user in self.cheaper:
            self._changes.pop(user, None)

    def peak_of(self, order: Iterable[int]) -> int:
        """The most at once if the steps run in this ``order``."""
        for step in order:
            self.run(step)
        return self.peak


def lowest(
    before: Mapping[int, Iterable[int]],
    place: Callable[[int], Any],
    models: Sequence[Callable[[], Residents]],
    gain: int = 1,
) -> list[int]:
    """An order of steps, each after those ``before`` it: that by ``place`` or, if it needs ``gain``
    bytes less by ``models`` together and not more by any, one which always runs the ready step that
    frees most by one of them."""

    def greedy(residents: Residents) -> Iterator[int]:
        def key(step: int) -> tuple[int, Any]:
            arriving, leaving = residents.change(step)
            return arriving - leaving, place(step)

        for step in in_order(before, key, lambda: residents.cheaper):
            residents.run(step)
            yield step

    orders = [list(in_order(before, place)), *(list(greedy(make())) for make in models)]
    peaks = [[make().peak_of(order) for make in models] for order in orders]
    fine = [n for n, p in enumerate(peaks) if all(map(int.__le__, p, peaks[0]))]
    best = min(fine, key=lambda n: (sum(peaks[n]), n))
    return orders[best if sum(peaks[0]) - sum(peaks[best]) >= gain else 0]
