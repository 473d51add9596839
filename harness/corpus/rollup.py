"""From patterns to models: a run of the corpus summed up by model, family or kind of pattern.

A pattern counts with its share of the modelled bytes, so that a mean over patterns speaks of the
models they come from. The score is a weighted geometric mean of ratios to a baseline. Heavy
patterns are run more often than light ones: those that were run speak for the others of like weight
(post-stratification), and the interval takes them for a sample of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from harness.corpus.store import Corpus
from harness.errors import UsageError
from harness.measure.peers.jobs import OURS
from harness.measure.peers.ratios import Ratio
from harness.records.run import Check, GraphRecord, Run

By = Literal["all", "kind", "family", "model", "pattern"]
_ALPHA = 0.05
"""Chance that any interval of a table misses its score."""
_ENOUGH = 8
"""Compared patterns that may speak for others; where fewer are of like weight (within a factor of
four), the next lighter ones join them."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One row: ``covered`` is the share of the group's modelled bytes that was timed, ``ms`` the
    time of all calls of the timed patterns (None: no such), ``fraction`` the mean share of
    what the device allows weighted by time, ``failed`` how many patterns have a kernel that failed,
    ``mean`` the geometric mean over the baseline's ratios, every pattern of the group alike;
    ``compared`` patterns have one."""

    group: str
    patterns: int
    failed: int
    covered: float
    ms: float | None
    fraction: float | None
    score: Ratio | None
    mean: float | None = None
    compared: int = 0


def standings(
    corpus: Corpus, run: Run, by: str, baseline: Run | str | None = None
) -> list[Standing]:
    """The rows of a roll-up, the heaviest group first; patterns by their ratio to the ``baseline``
    (a run, or a compiler of this one), the slowest first. Raises ``UsageError`` without any."""
    timed = {graph.name: graph for graph in run.graphs}
    if not any(pattern.name in timed for pattern in corpus.patterns):
        raise UsageError(
            "the run holds no pattern of the corpus",
            where=run.id,
            expected="a run of harness run --suite corpus",
        )
    logs = {} if baseline is None else _logs(run, baseline)
    weights: dict[str, dict[str, float]] = {}
    calls: dict[tuple[str, str], int] = {}
    known = {capture.name: capture for capture in corpus.captures if capture.bytes}
    for pattern in corpus.patterns:
        own = {"all": "all", "kind": pattern.kind, "pattern": pattern.name}
        for use in pattern.uses:
            if use.capture not in known:
                continue
            group = own.get(by) or str(getattr(known[use.capture], by))
            mine = weights.setdefault(group, {})
            share = use.bytes / known[use.capture].bytes / len(known)
            mine[pattern.name] = mine.get(pattern.name, 0.0) + share
            calls[group, pattern.name] = calls.get((group, pattern.name), 0) + use.calls
    ordered = sorted(weights, key=lambda group: (-sum(weights[group].values()), group))
    shown = [group for group in ordered if not timed.keys().isdisjoint(weights[group])]
    alpha = _ALPHA / max(1, len(shown))
    like = {pattern.name: math.frexp(pattern.weight)[1] // 2 for pattern in corpus.patterns}
    rows = [
        _standing(g, weights[g], calls, timed, _ratios(weights[g], like, logs), alpha)
        for g in shown
    ]
    if by == "pattern":
        rows.sort(key=lambda row: math.inf if row.mean is None else row.mean)
    return rows


def _ratios(
    weights: Mapping[str, float], like: Mapping[str, int], logs: Mapping[str, float]
) -> list[tuple[float, float, float]]:
    """The log ratio of each pattern that was compared, and what weight and how many patterns it
    speaks for. ``weights``, the heaviest first, are a group's; ``like`` are classes of weight."""
    joined: list[list[str]] = [[]]
    for _, alike in groupby(weights, like.__getitem__):
        if len(logs.keys() & joined[-1]) >= _ENOUGH:
            joined.append([])
        joined[-1] += alike
    if len(joined) > 1 and len(logs.keys() & joined[-1]) < _ENOUGH:
        last = joined.pop()
        joined[-1] += last
    found = []
    for names in joined:
        own = [name for name in names if name in logs]
        share = sum(weights[n] for n in names) / (sum(weights[n] for n in own) or 1.0)
        found += [(logs[n], weights[n] * share, len(names) / len(own)) for n in own]
    return found


def _standing(
    group: str,
    weights: Mapping[str, float],
    calls: Mapping[tuple[str, str], int],
    timed: Mapping[str, GraphRecord],
    ratios: Sequence[tuple[float, float, float]],
    alpha: float,
) -> Standing:
    mine = {name: timed[name] for name in weights if name in timed}
    times = {name: ms for name, graph in mine.items() if (ms := milliseconds(graph))}
    known = [n for n in times if all(k.fraction is not None for k in mine[n].kernels)]
    peaks = (
        calls[group, n] * (k.ms or 0.0) * k.launches * (k.fraction or 0.0)
        for n in known
        for k in mine[n].kernels
    )
    spent = {name: times[name] * calls[group, name] for name in times}
    many = sum(count for *_, count in ratios)
    share = sum(spent[name] for name in known)
    return Standing(
        group,
        len(mine),
        sum(graph.failed for graph in mine.values()),
        sum(weights[name] for name in times) / sum(weights.values()),
        sum(spent.values()) or None,
        sum(peaks) / share if share else None,
        score([(log, weight) for log, weight, _ in ratios], alpha),
        math.exp(sum(log * count for log, _, count in ratios) / many) if ratios else None,
        len(ratios),
    )


def milliseconds(graph: GraphRecord) -> float | None:
    """One call of a pattern; None where a kernel is wrong or has no time."""
    if graph.failed or not graph.kernels or any(k.ms is None for k in graph.kernels):
        return None
    return sum((kernel.ms or 0.0) * kernel.launches for kernel in graph.kernels)


def _logs(run: Run, baseline: Run | str) -> dict[str, float]:
    """Logarithms of the baseline's time over ours, by pattern."""
    if isinstance(baseline, Run):
        before = {g.name: ms for g in baseline.graphs if (ms := milliseconds(g))}
        now = {g.name: ms for g in run.graphs if (ms := milliseconds(g))}
        return {name: math.log(before[name] / now[name]) for name in now if name in before}
    found: dict[str, float] = {}
    for graph in run.graphs:
        rows = {(row.region, row.compiler): row for row in graph.regions if row.ms}
        ours, theirs = 0.0, 0.0
        for (region, compiler), row in rows.items():
            other = rows.get((region, baseline))
            right = other is not None and other.check is not Check.FAILED and not other.reason
            if compiler == OURS and row.check is Check.PASSED and right and other is not None:
                ours += (row.ms or 0.0) * row.count
                theirs += (other.ms or 0.0) * row.count
        if ours and theirs:
            found[graph.name] = math.log(theirs / ours)
    return found


def score(found: Sequence[tuple[float, float]], alpha: float = _ALPHA) -> Ratio | None:
    """The weighted geometric mean of a baseline's time over ours (above 1: faster now), of pairs
    (log ratio, weight); None for fewer than two."""
    if len(found) < 2:
        return None
    from scipy.special import stdtrit

    whole = sum(weight for _, weight in found)
    mean = sum(x * weight for x, weight in found) / whole
    count = len(found)
    spread = sum((weight / whole * (x - mean)) ** 2 for x, weight in found)
    reach = float(stdtrit(count - 1, 1 - alpha / 2)) * math.sqrt(spread * count / (count - 1))
    high = math.exp(mean + reach) if mean + reach < 700 else math.inf  # more than a float holds
    return Ratio(math.exp(mean), math.exp(mean - reach), high)
