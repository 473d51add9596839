"""Which commit made a kernel slower: the history searched by halves, with a stated error.

First the text: who generates the same has the same time (``generating``). Then what is left is
measured against the good end, interleaved, and called bad where it is nearer to the bad end: by a
repeated interval, whose error is shared out over all looks at all steps, so that the answer is
wrong with at most the chance that was asked for. docs/bisect.md has the formulae.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy import special

from harness.errors import HarnessError, UsageError
from harness.files import write_atomically
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.records.metrics import Metric
from harness.records.run import KernelRecord, one_line
from harness.verdicts.causes import figure
from harness.verdicts.generating import Kernel, Subject, changes

Kernels = Sequence[KernelRecord]
PairTimes = Sequence[tuple[float, float]]
"""Milliseconds of both sides in each process."""

LOOKS = (3, 5, 8, 12)
"""Processes after which a step is looked at. Three differences with the prior's degrees of freedom
decide on a change of 3 % among noise of 0.15 %; twelve resolve one of 0.5 %."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A subject measured: its ``value`` (B ÷ good, or the metric), the bounds that the step's error
    allows (equal for a metric), and whether it is bad (None: it cannot be told, for ``reason``)."""

    subject: Subject
    bad: bool | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    processes: int = 0
    reason: str = ""


class Judge(Protocol):
    """Says whether what a subject generates is bad."""

    def ends(self, good: Kernels, bad: Subject, kernels: Kernels, steps: int) -> Judged:
        """Look at both ends first; ``steps`` is how many will be asked at most, this one included.
        ``bad`` of the answer is False where the bad end is not worse."""
        ...

    def judge(self, subject: Subject, kernels: Kernels) -> Judged:
        """On which side of the middle between the ends a subject is."""
        ...


@dataclass(frozen=True, slots=True)
class Bisected:
    """``candidates``: the first bad subject, or several of which one is it. ``changed`` are the
    subjects that generate something else than the one before, ``skipped`` those that cannot be
    used, and why, ``steps`` what was measured. ``good`` and ``bad`` are the kernels on both sides
    of the answer, and the ``last_good`` subject. ``measured`` is false where there was nothing to
    measure with: then ``candidates`` are all that changed the text."""

    candidates: tuple[Subject, ...]
    last_good: Subject
    good: tuple[KernelRecord, ...]
    bad: tuple[KernelRecord, ...]
    changed: tuple[Subject, ...]
    steps: tuple[Judged, ...]
    skipped: tuple[tuple[Subject, str], ...]
    subjects: int
    generated: int
    measured: bool = True


def bisect(kernel: Kernel, judge: Judge | None, follow: Callable[[str], None] = print) -> Bisected:
    """Find the first bad subject of ``kernel``'s, of which the first is good and the last bad;
    without a ``judge``, only where the text changes.

    Raises ``UsageError`` where the ends generate the same, where one cannot be used, or where the
    last is not worse than the first.
    """
    last = len(kernel.subjects) - 1
    found = _text_changes(kernel)
    places = [0, *(after for _, after in found)]
    if judge is None:
        return _answer(kernel, found, found, ())
    steps = [
        judge.ends(kernel.at(0), kernel.subjects[last], kernel.at(last), most_steps(len(found)))
    ]
    if not steps[0].bad:
        raise UsageError(
            "BAD is not worse than GOOD",
            where=f"{kernel.subjects[0]}, {kernel.subjects[last]}",
            got=told(steps[0]),
            expected="a BAD end that is surely worse",
            remedy="exchange them if it is better; else measure again: harness confirm",
        )
    known: dict[Hashable, Judged] = {kernel.version(last): steps[0]}
    good, bad = 0, len(places) - 1
    open_ = set(range(1, bad))
    while open_:
        middle = min(open_, key=lambda n: (abs(n - (good + bad) / 2), n))
        open_.remove(middle)
        key, place = kernel.version(places[middle]), places[middle]
        if key == kernel.version(0):
            is_bad: bool | None = False
        else:
            if key not in known:
                follow(str(kernel.subjects[place]))
                known[key] = judge.judge(kernel.subjects[place], kernel.at(place))
                steps.append(known[key])
            is_bad = known[key].bad
        if is_bad is not None:
            good, bad = (good, middle) if is_bad else (middle, bad)
            open_ &= set(range(good + 1, bad))
    return _answer(kernel, found[good:bad], found, steps)


def _text_changes(kernel: Kernel) -> list[tuple[int, int]]:
    """Where the text changes. Raises ``UsageError`` where it does not, or an end has none."""
    last = len(kernel.subjects) - 1
    for end in (0, last):
        if not kernel.at(end):
            raise UsageError(
                "an end of the search cannot be used",
                where=str(kernel.subjects[end]),
                got=kernel.skipped[end],
                expected="two ends whose compiler writes the kernel",
                remedy="take a later GOOD or an earlier BAD",
            )
    found = list(changes(0, last, kernel.version))
    if not found:
        raise UsageError(
            "both ends generate the same kernel",
            where=f"{kernel.subjects[0]}, {kernel.subjects[last]}",
            got="the same code, arguments and candidates",
            expected="two ends that generate something else",
            remedy="the code is not the cause: harness why KERNEL A B; for another torch or triton "
            "--environment",
        )
    return found


def most_steps(changed: int) -> int:
    """How many subjects are measured at most where the text changes ``changed`` times and each can
    be told: the bad end, and one for every halving."""
    return 1 + math.ceil(math.log2(changed)) if changed > 1 else 1


def _answer(
    kernel: Kernel,
    chosen: Sequence[tuple[int, int]],
    every: Sequence[tuple[int, int]],
    steps: Sequence[Judged],
) -> Bisected:
    before, after = chosen[0][0], chosen[-1][1]
    # A subject that cannot be used may be the one; one that writes what the one before wrote, not.
    among = [n for start, end in chosen for n in range(start + 1, end + 1)]
    return Bisected(
        tuple(kernel.subjects[n] for n in among),
        kernel.subjects[before],
        kernel.at(before),
        kernel.at(after),
        tuple(kernel.subjects[n] for _, n in every),
        tuple(steps),
        tuple((kernel.subjects[n], why) for n, why in sorted(kernel.skipped.items())),
        len(kernel.subjects),
        kernel.asked,
        bool(steps),
    )


def told(found: Judged) -> str:
    """What was measured, as words."""
    if found.value is None:
        return found.reason
    if found.low == found.high:
        return f"{found.value:g}"
    return (
        f"{found.value:.4f} ({found.low:.4f} … {found.high:.4f}, {found.processes} processes)"
        + (f"; {found.reason}" if found.reason else "")
    )


@dataclass(slots=True)
class ByMetric:
    """Judges by a figure without noise, which ``figures`` adds to kernels: no GPU, no error."""

    metric: Metric
    figures: Callable[[Kernels], Kernels]
    _good: float = 0.0
    _bad: float = 0.0

    def ends(self, good: Kernels, bad: Subject, kernels: Kernels, steps: int) -> Judged:  # noqa: ARG002
        """The metric of both ends. Raises ``UsageError`` where it is not known."""
        values = [figure(self.figures(side), self.metric) for side in (good, kernels)]
        if values[0] is None or values[1] is None:
            raise UsageError(
                "the metric is not known of an end",
                where=str(bad),
                got=self.metric.name,
                expected="a kernel that compiles for the target",
                remedy="take another metric, or another end",
            )
        self._good, self._bad = values[0], values[1]
        worse = self.metric.is_worse(self._good, self._bad)
        said = "" if worse else f"{self.metric.title} {self._good:g} → {self._bad:g}"
        return Judged(bad, worse, self._bad, self._bad, self._bad, reason=said)

    def judge(self, subject: Subject, kernels: Kernels) -> Judged:
        """Which end's figure is nearer."""
        value = figure(self.figures(kernels), self.metric)
        if value is None:
            return Judged(subject, None, reason="does not compile")
        bad = abs(value - self._bad) < abs(value - self._good)
        return Judged(subject, bad, value, value, value)


TimePairs = Callable[[Kernels, Subject, Kernels, int, int], PairTimes]
"""Times the good end's kernels against a subject's, interleaved, in the processes numbered from the
one to before the other. Raises ``HarnessError`` where that subject cannot be run."""


@dataclass(slots=True)
class ByTime:
    """Judges by times, with at most ``error`` chance that any step of a search goes wrong. ``kept``
    holds what was measured, so that a search that was killed goes on where it was."""

    time: TimePairs
    error: float
    method: str = ""
    kept: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    keep: Callable[[], None] = lambda: None
    _good: Kernels = ()
    _middle: float = 0.0
    _share: float = 0.0

    def ends(self, good: Kernels, bad: Subject, kernels: Kernels, steps: int) -> Judged:
        """Whether the bad end is slower at all. By how much decides where the middle is."""
        self._good, self._middle = good, 0.0
        self._share = self.error / steps / len(LOOKS)
        found = self.judge(bad, kernels)
        if found.bad and found.value is not None:
            self._middle = math.log(found.value) / 2
        return found

    def judge(self, subject: Subject, kernels: Kernels) -> Judged:
        """Measure until the interval is on one side of the middle, twelve processes at most."""
        times = self.kept.setdefault(subject.commit or subject.name, [])
        found = Judged(subject, None, reason="not measured")
        for look in LOOKS:
            if len(times) < look:
                try:
                    times += self.time(self._good, subject, kernels, len(times), look)
                except UsageError:
                    raise
                except HarnessError as error:
                    return Judged(subject, None, reason=one_line(error))
                self.keep()
            if not times:
                return Judged(subject, None, reason="every process was disturbed")
            found = self._look(subject, times)
            if found.bad is not None:
                return found
        return replace(found, reason=f"not told from {math.exp(self._middle):.4f}")

    def _look(self, subject: Subject, times: PairTimes) -> Judged:
        a, b = (Times(tuple(side)) for side in zip(*times, strict=True))
        (one,), _ = estimate([Pair(a, b)], paired=True, method=self.method)
        reach = float(special.stdtrit(min(one.df, 1e6), 1 - self._share / 2)) * one.error
        low, high = one.log_ratio - reach, one.log_ratio + reach
        bad = True if low > self._middle else False if high < self._middle else None
        ratio, least, most = np.exp([one.log_ratio, low, high]).tolist()
        return Judged(subject, bad, ratio, least, most, len(times))


def resumed(path: Path | None) -> dict[str, list[tuple[float, float]]]:
    """What an interrupted search left in ``path``; empty if that is nothing, or damaged."""
    try:
        found = {} if path is None else json.loads(path.read_bytes())
        return {str(k): [(float(a), float(b)) for a, b in v] for k, v in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep(path: Path, kept: dict[str, list[tuple[float, float]]]) -> None:
    """Keep what was measured. Raises ``RecordError``."""
    write_atomically(path, json.dumps(kept).encode())
