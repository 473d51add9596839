"""How kernels and graphs are named by whoever asks for them. Tables leave ``triton_`` out and may
cut a long name in the middle; what a table prints is accepted wherever a kernel is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

_PREFIX = "triton_"
MOST_NAMED = 3
DIGITS = 10
"""Of a commit's name in a sentence."""


def short(name: str) -> str:
    """A kernel's name as tables print it."""
    return name.removeprefix(_PREFIX)


def launched(name: str, launches: int) -> str:
    """A kernel's name in tables, with its launches if they are several."""
    return f"{short(name)} ×{launches}" if launches > 1 else short(name)


def some(names: Sequence[str]) -> str:
    """The first of ``names``, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def look_alike(what: str, ended: Sequence[str], new: Sequence[str]) -> str:
    """``1 ended and 2 new kernels look alike: a; b, c``."""
    plural = "s" * (len(ended) + len(new) > 2)
    return (
        f"{len(ended)} ended and {len(new)} new {what}{plural} look alike: "
        f"{some(list(ended))}; {some(list(new))}"
    )


def is_named(wanted: str, name: str) -> bool:
    """Whether ``wanted`` is the ``name``, with or without its prefix, cut in the middle by a
    table (``…``), or a pattern of it (``*``, ``?``, ``[…]``)."""
    pattern = short(wanted).replace("…", "*")
    return wanted in (name, short(name)) or any(
        fnmatchcase(known, pattern) for known in (name, short(name))
    )


def find(wanted: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that ``wanted`` means: the one it is, else all that it is a pattern of."""
    known = list(dict.fromkeys(names))
    exact = [name for name in known if short(name) == short(wanted)]
    return exact or [name for name in known if is_named(wanted, name)]


def is_chosen(patterns: Sequence[str], *names: str) -> bool:
    """Whether one of ``patterns`` (none: everything is) is a pattern of one of ``names``, or, if
    it has no ``*``, ``?`` or ``[``, a part of it; either in any case."""
    pairs = ((p.lower(), n.lower()) for p in patterns for n in names)
    return not patterns or any(
        is_named(p, n) or (p in n and not set("*?[…") & set(p)) for p, n in pairs
    )
