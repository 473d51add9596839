"""What a comparison comes to, in a few lines: the answer, the suite, how to read the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from harness.measure.noise.estimate import Noise
from harness.measure.noise.judge import Verdict
from harness.table import microseconds, plural, ratio
from harness.verdicts.comparing import Comparison, Row
from harness.verdicts.totals import SUITE, TUNING

_BOUND = 0.03
"""How many kernels are surely not slower by more than this is said in the first lines."""


def headline(found: Comparison) -> str:
    """The answer in one line."""
    count = Counter(row.verdict for row in found.rows)
    parts = [f"{count[Verdict.SLOWER]} slower", f"{count[Verdict.FASTER]} faster"]
    parts += [f"{count[v]} {word(v)}" for v in list(Verdict)[2:] if count[v]]
    sums = sum(rollup.verdict is Verdict.SLOWER for rollup in found.rollups)
    if sums and not count[Verdict.SLOWER]:
        parts.insert(1, f"{plural(sums, 'sum')} slower")
    rest = ""
    if seems := [row for row in found.rows if row.verdict is Verdict.UNSURE and looks(row) > 0]:
        cost = microseconds(sum(row.change_us or 0.0 for row in seems) / 1000)
        look = "looks" if len(seems) == 1 else "look"
        rest = f"; {len(seems)} of the unresolved {look} slower, by {cost} µs together"
    known = found.resolution
    resolved = "" if known is None else f" (this pair resolves about ±{100 * known:.2g} %)"
    return f"{_answer(found)}: {', '.join(parts)}{resolved}{rest}"


def _answer(found: Comparison) -> str:
    if found.a.compiler and found.b.compiler:
        return f"{found.b.label} next to {found.a.label}"
    if found.regressed:
        return "REGRESSION"
    if found.broken:
        return "BROKEN"
    if not found.judged:
        return "NOTHING COULD BE JUDGED"
    return "NO REGRESSION FOUND" + (" IN WHAT COULD BE USED" if found.problems else "")


def word(verdict: Verdict) -> str:
    """A verdict as a sentence has it."""
    return "unresolved" if verdict is Verdict.UNSURE else verdict.value.lower()


def looks(row: Row) -> int:
    """1 where a row's own interval lies above 1, -1 where below: by itself, not in the table."""
    return 0 if row.effect is None else (row.effect.low > 1) - (row.effect.high < 1)


def suite_lines(found: Comparison) -> Iterator[str]:
    """What everything together comes to, and how much slower it may be."""
    levels = ([r for r in found.rollups if r.level == level] for level in (SUITE, "model", "graph"))
    total = next((of_level for of_level in levels if of_level), [])
    for one in total if len(total) == 1 else ():
        name, effect = f"{one.level} {one.name}" if one.level != SUITE else SUITE, one.effect
        if one.reason:
            yield f"{name}: {one.reason}"
            continue
        sums = f"{name}: {microseconds(one.a_ms)} → {microseconds(one.b_ms)} µs, B÷A"
        interval = "" if effect.unknown else f" [{effect.low:.4f}, {effect.high:.4f}]"
        yield f"{sums} {effect.ratio:.4f}{interval}: {one.verdict.value}"
    for one in found.rollups:
        if one.level == TUNING:
            yield (
                f"{plural(one.kernels, 'kernel')} retuned: together B÷A {one.effect.ratio:.4f} "
                f"[{one.effect.low:.4f}, {one.effect.high:.4f}], {one.verdict.value}: the effect "
                "of tuning alone"
            )
    timed = [row for row in found.rows if row.effect is not None]
    below = sum(
        row.identical or (not row.effect.unknown and row.effect.high < 1 + _BOUND)
        for row in timed
        if row.effect
    )
    if timed:
        yield (
            f"same code, or 95 % interval below +{100 * _BOUND:.0f} %: {below} of "
            f"{plural(len(timed), 'kernel')}"
        )


def remarks(found: Comparison) -> Iterator[str]:
    """The error rates, where the noise figures come from, what settles the rest."""
    if found.vanished or found.appeared:
        yield f"only in A: {len(found.vanished)}, only in B: {len(found.appeared)}"
    if found.noise is None:
        yield "nothing could be timed on both sides"
        return
    rules = found.rules
    yield (
        f"SLOWER, FASTER: {100 * rules.alpha:g} % chance of any false one in this table (Holm). "
        f"SAME: within ±{100 * rules.margin:g} %, each wrong with at most "
        f"{100 * rules.same_alpha:g} % chance. change: all launches together"
    )
    yield _noise(found.noise, paired=found.paired)
    same = [row for row in found.rows if row.identical and row.effect is not None]
    if same and found.noise.shift is not None:
        yield (
            f"{plural(len(same), 'kernel has', 'kernels have')} the same code and "
            f"configuration on both sides: {len(found.machine)} of "
            f"them flagged, median B÷A {ratio(math.exp(found.noise.shift))}"
        )
    unsure = sum(
        row.verdict is Verdict.UNSURE and all(k.module for k in (*row.match.a, *row.match.b))
        for row in found.rows
    )
    if unsure and not found.paired:
        yield f"to settle the {unsure} UNSURE: harness confirm {found.a.label} {found.b.label}"


def _noise(noise: Noise, *, paired: bool) -> str:
    spread = [
        100 * float(noise.prior.variance(np.array([us / 1000]))[0]) ** 0.5 for us in (5.0, 50.0)
    ]
    what = "of the difference within a process" if paired else "between processes"
    kernels = noise.prior.kernels
    where = f"learnt from {kernels} kernels" if kernels else "a stated default"
    text = f"noise {what}: {spread[0]:.2g} % at 5 µs, {spread[1]:.2g} % at 50 µs ({where})"
    session = noise.session
    if session.variance or session.absolute:
        source = f"{session.kernels} identical kernels" if session.kernels else "default"
        beside = f" and {1e6 * session.absolute**0.5:.2g} ns" if session.absolute else ""
        moved = f"{100 * session.variance**0.5:.2g} %{beside}"
        text += f"; each kernel by itself moves by {moved} between runs ({source})"
    return text
