"""Which commit made a kernel slower: the history searched by halves, with a stated error.

First the text: who generates the same has the same time (``generating``). Then what is left is
measured against the good end, interleaved, and called bad where it is nearer to the bad end: by a
repeated interval, whose error is shared out over all looks at all steps, so that the answer is
wrong with at most the chance that was asked for. docs/bisect.md has the formulae.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from harness.errors import CommitUnusable, HarnessError, NoDevice, UsageError
from harness.history.commits import tree
from harness.measure.jobs import Follow
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Effect, Rules, Verdict
from harness.records.metrics import StaticMetrics
from harness.records.run import GraphRecord, KernelRecord, Machine, Run, from_json, one_line
from harness.session.session import with_metrics
from harness.verdicts.comparing import Side, compare
from harness.verdicts.generating import Kernel, Subject, changes
from harness.verdicts.why import Why, explain

Kernels = Sequence[KernelRecord]


@dataclass(frozen=True, slots=True)
class Made:
    """A subject and the kernels that it generates."""

    subject: Subject
    kernels: Kernels


PairTimes = Sequence[tuple[float, float]]
"""Milliseconds of both sides in each process."""

LOOKS = (3, 5, 8, 12)
"""Processes after which a step is looked at. Three differences with the prior's degrees of freedom
decide on a change of 3 % among noise of 0.15 %; twelve resolve one of 0.5 %."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A subject measured: its ``value`` (B ÷ good), the bounds that the step's error allows, and
    whether it is bad (None: it cannot be told, for ``reason``)."""

    subject: Subject
    bad: bool | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    processes: int = 0
    reason: str = ""


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


def bisect(kernel: Kernel, judge: ByTime | None, follow: Follow) -> Bisected:
    """Find the first bad subject of ``kernel``'s, of which the first is good and the last bad;
    without a ``judge``, only where the text changes. Raises ``UsageError`` where the ends generate
    the same, where one cannot be used, or where the last is not worse than the first."""
    last = len(kernel.subjects) - 1
    found = _text_changes(kernel)
    places = [0, *(after for _, after in found)]
    if judge is None:
        return _answer(kernel, found, found, ())
    made = [Made(kernel.subjects[n], kernel.at(n)) for n in places]
    most = most_steps(len(found))
    follow("measuring both ends", 0, most)
    steps = [judge.ends(made[0], made[-1], most)]
    if not steps[0].bad:
        measured = steps[0].value is not None
        raise UsageError(
            "BAD is not worse than GOOD" if measured else "an end cannot be measured",
            where=f"{kernel.subjects[0]}, {kernel.subjects[last]}",
            got=told(steps[0]),
            expected="a BAD end that is surely worse",
            remedy="exchange them if it is better; else measure again: harness confirm"
            if measured
            else "fix what the line above says, or choose other ends",
        )
    start = Judged(kernel.subjects[0], bad=False)
    known: dict[Hashable, Judged] = {kernel.version(last): steps[0], kernel.version(0): start}
    good, bad = 0, len(places) - 1
    open_ = set(range(1, bad))
    while open_:
        middle = min(open_, key=lambda n: (abs(n - (good + bad) / 2), n))
        open_.remove(middle)
        key, place = kernel.version(places[middle]), places[middle]
        if key not in known:
            follow(f"measuring {kernel.subjects[place].name}", len(steps), most)
            known[key] = judge.judge(made[middle])
            steps.append(known[key])
        if (is_bad := known[key].bad) is not None:
            good, bad = (good, middle) if is_bad else (middle, bad)
            open_ &= set(range(good + 1, bad))
    judge.kept.clear()
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
    if not (found := list(changes(0, last, kernel.version))):
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
    return (
        f"{found.value:.4f} ({found.low:.4f} … {found.high:.4f}, {found.processes} processes)"
        + (f"; {found.reason}" if found.reason else "")
    )


TimePairs = Callable[[Made, Made, int, int], PairTimes]
"""Times what the good end makes against what another subject does, interleaved, in the processes
numbered from the one to before the other. Raises ``HarnessError`` where that cannot be run, and
``NoDevice`` where nothing can."""


@dataclass(slots=True)
class ByTime:
    """Judges by times, with at most ``error`` chance that any step of a search goes wrong. What was
    measured is ``kept`` by subject."""

    time: TimePairs
    error: float
    method: str = ""
    kept: MutableMapping[str, PairTimes] = field(default_factory=dict)
    _good: Made | None = None
    _middle: float = 0.0
    _share: float = 0.0

    def ends(self, good: Made, bad: Made, steps: int) -> Judged:
        """Whether the bad end is slower at all. By how much decides where the middle is."""
        self._good, self._middle = good, 0.0
        self._share = self.error / steps / len(LOOKS)
        found = self.judge(bad)
        if found.bad and found.value is not None:
            self._middle = math.log(found.value) / 2
        return found

    def judge(self, made: Made) -> Judged:
        """Measure until the interval is on one side of the middle, twelve processes at most."""
        assert self._good is not None
        subject = made.subject
        name = subject.commit or subject.name
        times = list(self.kept.get(name, ()))
        found = Judged(subject, None, reason="not measured")
        for look in LOOKS:
            if len(times) < look:
                try:
                    times += self.time(self._good, made, len(times), look)
                except (NoDevice, UsageError):  # no fault of the subject's
                    raise
                except HarnessError as error:
                    return Judged(subject, None, reason=one_line(error))
                self.kept[name] = tuple(times)
            if not times:
                return Judged(subject, None, reason="every process was disturbed")
            found = self._look(subject, times)
            if found.bad is not None:
                return found
        return replace(found, reason=f"not told from {math.exp(self._middle):.4f}")

    def _look(self, subject: Subject, times: PairTimes) -> Judged:
        a, b = (Times(tuple(side)) for side in zip(*times, strict=True))
        (one,), _ = estimate([Pair(a, b)], paired=True, method=self.method)
        reach = float(scipy.special.stdtrit(min(one.df, 1e6), 1 - self._share / 2)) * one.error
        low, high = one.log_ratio - reach, one.log_ratio + reach
        bad = True if low > self._middle else False if high < self._middle else None
        ratio, least, most = np.exp([one.log_ratio, low, high]).tolist()
        return Judged(subject, bad, ratio, least, most, len(times))


def causes(
    found: Bisected,
    graph: str,
    machines: Callable[[Subject], Machine],
    figures: Callable[[Made], Kernels],
) -> list[Why]:
    """What differs between the kernels on both sides of the answer, with their ``figures`` and what
    was timed of them, as the cause; ``machines`` says what a subject was compiled by. Several are
    timed together: of those that are the same nothing is said."""
    sides = []
    for made in (Made(found.last_good, found.good), Made(found.candidates[-1], found.bad)):
        record = GraphRecord(graph, kernels=tuple(figures(made)))
        run = Run("", "", machines(made.subject), "", graphs=(record,))
        sides.append(Side(made.subject.name, run))
    compared = compare(sides[0], sides[1], Rules())
    timed = [step for step in found.steps if step.bad and step.processes]
    together = f"timed with the other kernels of the same nodes, {len(found.bad)} together"
    evidence = (together,) if timed and len(found.bad) > 1 else ()
    answers = []
    for row in [row for row in compared.rows if not row.identical] or compared.rows:
        for step in timed[-1:]:
            ratio, low, high = step.value or 1.0, step.low or 1.0, step.high or 1.0
            effect = Effect(ratio, low, high, 0.0, 0.0, 0.0, Verdict.SLOWER)
            row = replace(row, verdict=Verdict.SLOWER, effect=effect)
        why = explain(compared, row)
        answers.append(replace(why, commands=(), evidence=(*why.evidence, *evidence)))
    return answers


@dataclass(frozen=True, slots=True)
class Environments:
    """Kernels in other interpreters: what their triton compiles, and how long it takes there. Asks
    them with the package in ``root``, for ``target``."""

    root: Path
    target: str

    def machine(self, subject: Subject) -> Machine:
        """The versions of torch and triton. Raises ``CommitUnusable``."""
        found = self._ask(Made(subject, ()), "versions")
        return Machine("", torch=found["torch"], triton=found["triton"])

    def figures(self, made: Made) -> tuple[KernelRecord, ...]:
        """The kernels with what their binaries say; none of one that does not compile."""
        try:
            found = self._ask(made, "figures")["figures"]
        except CommitUnusable as error:
            found = [{"error": one_line(error)}] * len(made.kernels)
        return tuple(_with(k, figures) for k, figures in zip(made.kernels, found, strict=True))

    def time(self, good: Made, other: Made, start: int, end: int) -> PairTimes:
        """Times both sides in processes of their own, one after the other in a random order, each
        in its configuration or its module's default."""
        found = []
        for process in range(start, end):
            order = -1 if random.Random(process).random() < 0.5 else 1
            ms = [float(self._ask(side, "ms")["ms"]) for side in (good, other)[::order]]
            found.append((ms[::order][0], ms[::order][1]))
        return found

    def _ask(self, made: Made, wanted: str) -> dict[str, Any]:
        modules = [
            {"text": k.module, "config": k.config, "launches": k.launches} for k in made.kernels
        ]
        request = {"modules": modules, "wanted": wanted, "target": self.target}
        subject = made.subject
        return tree.answered(request, [str(self.root)], subject.python, subject.name)


def _with(kernel: KernelRecord, figures: dict[str, Any]) -> KernelRecord:
    bare = replace(kernel, metrics={}, mix=None)
    if "error" in figures:
        return replace(bare, reason=figures["error"])
    return with_metrics(bare, from_json(StaticMetrics, figures, kernel.name))
