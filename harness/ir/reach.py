"""All that can be reached from somewhere, step by step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], near: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """``starts``, what is ``near`` one of them, and so on: each once."""
    found = dict.fromkeys(starts)
    left = list(found)
    while left:
        new = [one for one in near(left.pop()) if one not in found]
        found.update(dict.fromkeys(new))
        left += new
    return found
