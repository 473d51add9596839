"""Which patterns of the corpus are meant: ``model=llama* kind=reduction bytes>1MB sample=200``.

Terms stand side by side and all have to hold. ``=`` and ``!=`` take patterns, several with
commas; numbers take ``< <= > >=`` too, bytes with KB, MB, GB, TB. A pattern has several captures,
operators and types: one of them has to fit, of captures one all of what is asked of them with
``=``. ``sample=N`` and ``seed=K`` pick N, spread over kinds, sizes and families, ``weighted=N`` the
heavy ones more often.
"""

from __future__ import annotations

import operator as op
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from harness.corpus.model import Capture, Pattern
from harness.corpus.store import Corpus
from harness.errors import UnknownName, UsageError, nearest

_TERM = re.compile(r"^(?P<key>\w+)(?P<sign>!=|<=|>=|=|<|>)(?P<value>.+)$")
_NUMBER = re.compile(r"^(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)(?P<unit>|[KMGT]B)$", re.IGNORECASE)
_UNITS = {"": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_COMPARED: Mapping[str, Callable[[float, float], bool]] = dict(
    zip("= != < <= > >=".split(), (op.eq, op.ne, op.lt, op.le, op.gt, op.ge), strict=True)
)
Words: TypeAlias = "Callable[[Pattern, Mapping[str, Capture]], Sequence[str]]"

_OF_CAPTURES = ("model", "family", "mode", "size", "target")


def _of_captures(name: str) -> Words:
    return lambda p, known: [getattr(known[u.capture], name) for u in p.uses if u.capture in known]


_WORDS: Mapping[str, Words] = {
    "name": lambda p, _: [p.name],
    "kind": lambda p, _: [p.kind],
    "op": lambda p, _: p.operators,
    "dtype": lambda p, _: p.dtypes,
    "small": lambda p, _: ["yes" if not p.without_small else "no"],
    **{name: _of_captures(name) for name in _OF_CAPTURES},
}
_NUMBERS: Mapping[str, Callable[[Pattern], float]] = {
    "bytes": lambda p: p.bytes,
    "rank": lambda p: p.rank,
    "nodes": lambda p: p.nodes,
    "weight": lambda p: p.weight,
    "calls": lambda p: sum(use.calls for use in p.uses),
    "models": lambda p: len({use.capture.partition("/")[0] for use in p.uses}),
}
_SAMPLE, _WEIGHTED, _SEED = _PICKS = ("sample", "weighted", "seed")
_NEVER, _MOMENT = 365.0, 1 / 24
"""Days: what counts for a pattern that was never measured, and at least for one that was."""
_FIRST_SECONDS, _AGAIN_SECONDS = 0.6, 0.4
"""What a pattern takes on a GPU in the first process, tuning included, and in each further one:
with 1.6 kernels on average, 0.25 s for each kernel and process once it is tuned."""


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    key: str
    sign: str
    value: str

    def holds(self, pattern: Pattern, known: Mapping[str, Capture]) -> bool:
        """Whether the term holds of a pattern."""
        if self.key in _NUMBERS:
            return _COMPARED[self.sign](_NUMBERS[self.key](pattern), _number(self))
        return self.fits(_WORDS[self.key](pattern, known))

    def fits(self, words: Sequence[str]) -> bool:
        """Whether one of ``words`` is asked for; with ``!=`` whether none is excluded."""
        wanted = self.value.lower().split(",")
        return any(fnmatchcase(w.lower(), v) for w in words for v in wanted) is (self.sign == "=")


def select(corpus: Corpus, query: str) -> tuple[Pattern, ...]:
    """The patterns that ``query`` means, heaviest first (a sample in a random order); all for an
    empty one. Raises ``UsageError`` for a query that makes no sense, ``UnknownName`` for one that
    nothing fits."""
    terms = [_parsed(text) for text in query.split()]
    pick = {t.key: _natural(t) for t in terms if t.key in _PICKS}
    terms = [term for term in terms if term.key not in _PICKS]
    known = {capture.name: capture for capture in corpus.captures}
    if not (found := [p for p in corpus.patterns if _fits(p, terms, known)]):
        raise _nothing(corpus, terms, known)
    count, draw = pick.get(_SAMPLE), random.Random(pick.get(_SEED, 0))
    if _WEIGHTED in pick:
        # Sequential Poisson sampling (Ohlsson 1998): the first N, for any N, are a sample in which
        # each pattern is as likely as it is heavy.
        found.sort(key=lambda pattern: -pattern.weight / (1 - draw.random()))
        del found[pick[_WEIGHTED] :]
    return tuple(found if count is None else sampled(found, known, count, draw))


def captures(corpus: Corpus, query: str) -> list[Capture]:
    """The captures that ``query`` means, failed ones too; if it says something of patterns, those
    that have one of them. Raises as ``select`` does."""
    terms = [_parsed(text) for text in query.split()]
    mine = [term for term in terms if term.key in _OF_CAPTURES]
    found = [c for c in corpus.captures if all(t.fits([getattr(c, t.key)]) for t in mine)]
    if not found or len(mine) < len(terms):
        used = {use.capture for pattern in select(corpus, query) for use in pattern.uses}
        found = [capture for capture in found if capture.name in used]
    return found


def _fits(pattern: Pattern, terms: Sequence[_Term], known: Mapping[str, Capture]) -> bool:
    if not all(term.holds(pattern, known) for term in terms):
        return False
    joint = [term for term in terms if term.key in _OF_CAPTURES and term.sign == "="]
    uses = (known[use.capture] for use in pattern.uses if use.capture in known)
    return len(joint) < 2 or any(all(t.fits([getattr(c, t.key)]) for t in joint) for c in uses)


def sampled(
    patterns: Sequence[Pattern], known: Mapping[str, Capture], count: int, draw: random.Random
) -> list[Pattern]:
    """``count`` of ``patterns`` at random, spread over kinds, families and decades of bytes in
    proportion: laid out in that order, every so many-th is taken. The same for the same ``draw``,
    in an order that is random too, so that a run of it that is cut short is a sample as well."""

    def place(pattern: Pattern) -> tuple[str, str, int, float]:
        main = known.get(max(pattern.uses, key=lambda use: use.bytes).capture)
        family = "" if main is None else main.family
        return pattern.kind, family, len(str(pattern.bytes)), draw.random()

    laid_out = sorted(patterns, key=place)
    count, offset = min(count, len(laid_out)), draw.random()
    places = (int((n + offset) * len(laid_out) / count) for n in range(count))
    chosen = [laid_out[at] for at in places]
    draw.shuffle(chosen)
    return chosen


def most_telling(
    patterns: Sequence[Pattern], days: Mapping[str, float], seconds: float, processes: int
) -> list[Pattern]:
    """Those of ``patterns`` to run when there are so many ``seconds``: by weight times the days
    since each was last measured (``days``; one that never was counts as ``_NEVER``). In the order
    that they had, and at least one."""

    def tells(pattern: Pattern) -> tuple[float, str]:
        return -pattern.weight * max(days.get(pattern.name, _NEVER), _MOMENT), pattern.name

    most = int(seconds / (_FIRST_SECONDS + _AGAIN_SECONDS * (processes - 1)))
    chosen = {pattern.name for pattern in sorted(patterns, key=tells)[: max(1, most)]}
    return [pattern for pattern in patterns if pattern.name in chosen]


def _parsed(text: str) -> _Term:
    match = _TERM.match(text)
    keys = [*_WORDS, *_NUMBERS, *_PICKS]
    if match is None:
        raise UsageError(
            "not a term of a query",
            got=text,
            expected="KEY=VALUE, KEY!=VALUE, or KEY>NUMBER",
            remedy=f"keys: {', '.join(keys)}",
        )
    term = _Term(text, match["key"], match["sign"], match["value"])
    if term.key not in keys:
        near = nearest(term.key, keys)
        raise UsageError(f"patterns have no {term.key}", got=text, expected=", ".join(near or keys))
    if term.key in _NUMBERS:
        _number(term)
    elif term.sign not in ("=", "!="):
        raise UsageError(f"{term.key} is no number", got=text, expected=f"{term.key}=WORD")
    elif re.search("[=<>]", term.value):
        expected = "commas between values, spaces between terms"
        raise UsageError("two terms in one", got=text, expected=expected)
    return term


def _number(term: _Term) -> float:
    match = _NUMBER.match(term.value)
    if match is None:
        raise UsageError(
            f"{term.key} is a number",
            got=term.text,
            expected=f"{term.key}>1000, {term.key}>1MB (KB, MB, GB, TB)",
        )
    return float(match["number"]) * _UNITS[match["unit"].lower()]


def _natural(term: _Term) -> int:
    if term.sign != "=" or not term.value.isdigit() or (term.key != _SEED and term.value == "0"):
        raise UsageError(f"{term.key} is a whole number", got=term.text, expected=f"{term.key}=200")
    return int(term.value)


def _nothing(corpus: Corpus, terms: Sequence[_Term], known: Mapping[str, Capture]) -> UnknownName:
    """Why nothing fits: which term is to blame, and what there is near it."""
    near: list[str] = []
    for term in terms:
        rest = [t for t in terms if t is not term]
        if not (left := [p for p in corpus.patterns if _fits(p, rest, known)]):
            continue
        there = f"{len(left)} patterns without {term.text}"
        if term.key in _WORDS:
            words = sorted({w for p in left for w in _WORDS[term.key](p, known)})
            part = term.value.strip("*").lower()
            alike = [w for w in words if part in w.lower()][:5] or nearest(part, words) or words[:5]
            there += f" ({term.key}: {', '.join(alike)})"
        else:
            numbers = [_NUMBERS[term.key](p) for p in left]
            there += f" ({term.key}: {min(numbers):.3g} to {max(numbers):.3g})"
        near.append(there)
    return UnknownName(
        "no pattern of the corpus is like that",
        where=str(corpus.folder),
        got=" ".join(term.text for term in terms),
        expected="; ".join(near) or "fewer terms",
        remedy="harness list --suite corpus --csv has all patterns",
    )
