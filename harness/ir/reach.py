"""All that can be reached from somewhere, what hangs or belongs together, and what comes before
what."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any, TypeVar

T = TypeVar("T", bound=Hashable)
K = TypeVar("K")
I = TypeVar("I")


def reached(starts: Iterable[T], near: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """``starts``, what is ``near`` one of them, and so on: each once."""
    found = dict.fromkeys(starts)
    left = list(found)
    while left:
        new = [one for one in near(left.pop()) if one not in found]
        found.update(dict.fromkeys(new))
        left += new
    return found


def joined(groups: Iterable[Iterable[T]]) -> list[list[T]]:
    """``groups`` that share something as one."""
    home: dict[T, list[T]] = {}
    for group in groups:
        members = list(dict.fromkeys(group))
        found = {id(home[one]): home[one] for one in members if one in home}
        whole = max(found.values(), key=len, default=[])
        for other in (*found.values(), [one for one in members if one not in home]):
            if other is not whole:
                whole += other
                home.update(dict.fromkeys(other, whole))
    return list({id(whole): whole for whole in home.values()}.values())


def gathered(pairs: Iterable[tuple[K, I]]) -> dict[K, list[I]]:
    """The second of ``pairs`` by the first, in their order."""
    found: dict[K, list[I]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


def grouped(items: Iterable[I], key: Callable[[I], K]) -> dict[K, list[I]]:
    """``items`` by what ``key`` says of each, in their order."""
    return gathered((key(item), item) for item in items)


def in_order(
    before: Mapping[int, Iterable[int]],
    key: Callable[[int], Any],
    fallen: Callable[[], Iterable[int]] = tuple,
) -> Iterator[int]:
    """Numbers after those that are ``before`` them; of what is ready, the least by ``key``. A key
    may only fall; ``fallen`` are the numbers for which it did since the last one was given."""
    sorter, ready, queue = TopologicalSorter(before), set[int](), list[tuple[Any, int]]()
    sorter.prepare()
    while sorter.is_active():
        new = sorter.get_ready()
        ready.update(new)
        for one in {*new, *ready.intersection(fallen())}:
            heapq.heappush(queue, (key(one), one))
        while (chosen := heapq.heappop(queue)[1]) not in ready:
            pass  # it had a lower key, too
        ready.remove(chosen)
        yield chosen
        sorter.done(chosen)
