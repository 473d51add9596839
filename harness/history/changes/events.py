"""Events: what the steps of a series amount to. Steps the same way, one after the other, are a ramp
and one event; two or three fast runs followed by normal ones are none. A level that the series had
before and left again may be a mode that a kernel keeps for some runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.history.changes.fitting import Settings, Step
from harness.history.changes.structures import RAMP

BRIEF = 3
"""A level of so few points is brief: coming back from it is no change."""
BACK = 0.001
"""A step that is not certain counts against an earlier one from this p on: modes lie far off."""


@dataclass(frozen=True, slots=True)
class Event:
    """One or more steps of a series in one direction. ``returns``: it only takes the series back
    from a brief level. ``seen``: the last point at which the series was at the level that this
    leads to, before; None for a new level. ``again``: so it is, and the level that it leaves was no
    new one either when it began. ``later`` are the events after it, ``before`` the earlier ones the
    same way that stood when it came."""

    steps: tuple[Step, ...]
    returns: bool = False
    seen: int | None = None
    again: bool = False
    later: tuple[Event, ...] = ()
    before: tuple[Event, ...] = ()

    @property
    def first(self) -> Step:
        """Where it begins."""
        return self.steps[0]

    @property
    def last(self) -> Step:
        """Where it ends."""
        return self.steps[-1]

    @property
    def size(self) -> float:
        """The relative change from the level before it to that after it."""
        return float(np.expm1(sum(np.log1p(step.size) for step in self.steps)))

    @property
    def variance(self) -> float:
        """A squared half width of the interval of the logarithm of its size. Levels that
        neighbouring steps share cancel, so that the sum is an upper bound."""
        halves = [np.log1p(step.high) - np.log1p(step.low) for step in self.steps]
        return float(sum(half**2 for half in halves) / 4)

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval of its size."""
        return float(np.expm1(np.log1p(self.size) - np.sqrt(self.variance)))

    @property
    def high(self) -> float:
        """The upper end."""
        return float(np.expm1(np.log1p(self.size) + np.sqrt(self.variance)))

    @property
    def p(self) -> float:
        """At most the chance of its most certain step in a flat series."""
        return min(step.p for step in self.steps)

    @property
    def certain(self) -> bool:
        """Whether the level changed: any of its steps is confirmed."""
        return any(step.confirmed for step in self.steps)

    @property
    def together(self) -> bool:
        """Whether that takes the other series of their commits."""
        return self.certain and all(step.together for step in self.steps if step.confirmed)

    def recovered(self, settings: Settings, *, sure: bool = True) -> int | None:
        """The point from which what is left of it is too small to be reported, or within the
        uncertainty of the steps themselves; None if it stands. Of the end of a few unusual runs
        that is where it lies. What takes back one of two events that stand, by its size, and leads
        to a level of neither, leaves the other. Not ``sure``: from which that may be so, by a
        single point there, the newest one alone, or another step that is not certain."""
        if self.returns:
            return self.last.position
        for n, each in enumerate(self.later, start=1):
            if not each.certain and (sure or each.p > BACK):
                continue
            since = self.later[:n]
            left, limit = _left(self, since, settings)
            older = any(_instead(one, self, since, settings) for one in self.before)
            newer = any(
                _instead(self, one, self.later[at:n], settings)
                for at, one in enumerate(since, start=1)
                if any(earlier.steps == self.steps for earlier in one.before)
            )
            if newer or (left * np.sign(self.size) < limit and not older):
                return each.last.position
        return None if sure else self.first.back


def events(steps: Sequence[Step], settings: Settings) -> list[Event]:
    """What the ``steps`` of one series, in order, amount to."""
    groups: list[list[Step]] = []
    for step in steps:
        before = groups[-1][-1] if groups else None
        same = before is not None and (before.size > 0) == (step.size > 0)
        if before is not None and same and step.position - before.position <= RAMP:
            groups[-1].append(step)
        else:
            groups.append([step])
    made = [Event(tuple(group)) for group in groups]
    for n in range(len(made)):
        if n and _returns(made[n - 1], made[n], settings):
            made[n] = replace(made[n], returns=True)
        seen = _seen(made[: n + 1], settings)
        again = n > 0 and seen is not None and made[n - 1].seen is not None
        made[n] = replace(made[n], seen=seen, again=again)
    for n, new in enumerate(made):
        earlier = (replace(one, later=tuple(made[at + 1 : n])) for at, one in enumerate(made[:n]))
        stood = (one for one in earlier if one.recovered(settings) is None)
        made[n] = replace(new, before=tuple(one for one in stood if one.size * new.size > 0))
    return [replace(one, later=tuple(made[n + 1 :])) for n, one in enumerate(made)]


def _left(event: Event, since: Sequence[Event], settings: Settings) -> tuple[float, float]:
    """What is left of ``event`` after those ``since`` (log), and how much that has to be."""
    every = (event, *since)
    left = float(sum(np.log1p(one.size) for one in every))
    return left, _limit(sum(one.variance for one in every), settings)


def _instead(older: Event, newer: Event, since: Sequence[Event], settings: Settings) -> bool:
    """Whether those ``since`` both take back what ``older`` was, and not what ``newer`` was."""
    (one, near), (other, far) = (_left(each, since, settings) for each in (older, newer))
    return abs(one) < near and abs(other) >= far


def _returns(brief: Event, back: Event, settings: Settings) -> bool:
    """Whether ``back`` ends a brief level that ``brief`` began, where it began."""
    if brief.returns or back.first.position - brief.last.position > BRIEF:
        return False
    left, limit = _left(brief, (back,), settings)
    return brief.size * back.size < 0 and abs(left) < limit


def _seen(made: Sequence[Event], settings: Settings) -> int | None:
    """The last point before the newest of the events ``made`` of a level like that behind it; one
    that is nearer to the level which it leaves is not like it."""
    *earlier, new = made
    away = float(np.log1p(new.size))
    for place in range(len(earlier) - 1, -1, -1):
        left = earlier[place]
        away += float(np.log1p(left.size))
        limit = _limit(left.variance + new.variance, settings)
        if abs(away) < min(limit, abs(np.log1p(new.size)) / 2):
            return left.first.position - 1
    ago = new.last.ago  # a point between the steps of a ramp is a part of it
    return ago if ago is None or ago < new.first.position else None


def _limit(variance: float, settings: Settings) -> float:
    """How far apart levels have to be to be two: enough to be reported, and certain (99.9 %: 1.7
    times the half width of 95 % whose square is ``variance``)."""
    return float(max(np.log1p(settings.smallest), 1.7 * np.sqrt(variance)))
