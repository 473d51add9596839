"""The corpus as tables: its patterns, its captures, what it covers, and a run of it summed up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from harness.corpus.model import Capture, Pattern
from harness.corpus.rollup import Standing
from harness.corpus.store import Corpus
from harness.measure.peers.ratios import Ratio
from harness.records.run import fields
from harness.report.output import Report
from harness.table import NOTHING, Column, Fit, Row, Table, Text, columns

_PATTERNS = (
    *columns("name", "kind"),
    *columns("nodes", "MB", "models", "calls", right=True),
    *columns("weight", right=True, text="{:.3%}".format),
)
_CAPTURES = (
    *columns("name", "family"),
    *columns("regions", "calls", "GB", right=True),
    Column("reason", lambda row: str(row["reason"]), fit=Fit.BELOW),
)
_SHOWN = 200  # patterns that a reader sees: of more the first scroll away
_COVERAGE = (
    *columns("what", "value"),
    *columns("patterns", right=True),
    *columns("weight", right=True, text="{:.2%}".format),
)


def _interval(row: Row) -> str:
    if row["low"] is None:
        return NOTHING
    return f"{row['low']:.3f} to {row['high']:{'.3f' if row['high'] < 1000 else '.1e'}}"


_STANDINGS = (
    *columns("group"),
    *columns("patterns", "failed", "compared", right=True),
    *columns("covered", right=True, text="{:.1%}".format),
    *columns("ms", right=True, text="{:.4g}".format),
    *columns("of peak", right=True, text="{:.0%}".format),
    *columns("mean", "score", right=True, text="{:.3f}".format),
    Column("interval", _interval, right=True),
    *columns("verdict"),
)


def _report(
    shown: tuple[Column, ...], rows: Sequence[Row], total: str, document: dict[str, Any]
) -> Report:
    blocks: list[Table | Text] = [Table(shown, rows), Text(), Text(total, wrapped=True)]
    return Report(lambda: blocks, lambda: document, lambda: rows)


def patterns_report(corpus: Corpus, patterns: Sequence[Pattern]) -> Report:
    """Patterns, heaviest first, and how many the corpus holds."""
    rows: list[dict[str, Any]] = [
        {
            **fields(pattern, "name kind nodes weight without_small"),
            "MB": round(pattern.bytes / 1e6, 3),
            "models": len({use.capture.partition("/")[0] for use in pattern.uses}),
            "calls": sum(use.calls for use in pattern.uses),
            "dtypes": " ".join(pattern.dtypes),
            "operators": " ".join(pattern.operators),
        }
        for pattern in patterns
    ]
    models = {use.capture.partition("/")[0] for p in patterns for use in p.uses}
    small = sum(1 for p in patterns if not p.without_small)
    whole = len(corpus.patterns)
    more = f" (above the first {_SHOWN}, --csv and --json have all)" * (len(rows) > _SHOWN)
    total = (
        f"{len(patterns)} of {whole} patterns{more}, from {len(models)} models; weight "
        f"{sum(p.weight for p in patterns):.1%}; {small} with a small counterpart; "
        f"corpus {corpus.digest}"
    )
    document = {"corpus": corpus.digest, "of": whole, "patterns": rows}
    return replace(_report(_PATTERNS, rows[:_SHOWN], total, document), rows=lambda: rows)


def captures_report(corpus: Corpus, shown: Sequence[Capture]) -> Report:
    """Captures of ``corpus``, failed ones with their reason."""
    rows: list[Row] = [
        {**asdict(one), "calls": one.library_calls, "GB": round(one.bytes / 1e9, 3)}
        for one in shown
    ]
    failed = sum(1 for one in shown if one.reason)
    models = len({one.model for one in shown if not one.reason})
    total = f"{models} models, {len(shown)} captures, of which {failed} failed"
    return _report(_CAPTURES, rows, total, {"corpus": corpus.digest, "captures": rows})


def coverage_report(
    corpus: Corpus, patterns: Sequence[Pattern], supported: Iterable[str]
) -> Report:
    """What patterns hold, by kind, type, layout, rank, size and operator; and which of the
    ``supported`` operators (those with a lowering) none of them has."""
    texts = corpus.texts(pattern.name for pattern in patterns)
    found: dict[str, Counter[Any]] = {}
    weights: dict[tuple[str, Any], float] = {}
    for pattern in patterns:
        traits: dict[str, Iterable[Any]] = {
            "kind": [pattern.kind],
            "type": pattern.dtypes,
            "layout": sorted(_layouts(texts[pattern.name][0])),
            "rank": [pattern.rank],
            "bytes": [len(str(pattern.bytes))],
            "operator": pattern.operators,
        }
        for what, values in traits.items():
            for value in values:
                found.setdefault(what, Counter())[value] += 1
                weights[what, value] = weights.get((what, value), 0.0) + pattern.weight
    rows: list[dict[str, Any]] = []
    for what, counts in found.items():
        for value in sorted(counts) if what in ("rank", "bytes") else dict(counts.most_common()):
            said = str(value)
            if what == "bytes":  # of so many digits
                unit = ("bytes", "kB", "MB", "GB", "TB")[value // 3]
                said = f"up to {10 ** (value % 3)} {unit}"
            about = {"patterns": counts[value], "weight": weights[what, value]}
            rows.append({"what": what, "value": said, **about})
    missing = sorted(set(supported) - set(found.get("operator", ())))
    rows += [{"what": "missing", "value": op, "patterns": 0, "weight": None} for op in missing]
    total = f"{len(found.get('operator', ()))} operators; {len(missing)} with a rule are missing"
    return _report(_COVERAGE, rows, total, {"coverage": rows, "missing": missing})


def _layouts(text: str) -> set[str]:
    """How the values of a graph lie in memory, where that is not row by row."""
    found: set[str] = set()
    for shape, stride in re.findall(r"\[([\d, ]+)\]\{([\d, ]+)\}", text):
        sizes, steps = ([int(n) for n in one.split(",")] for one in (shape, stride))
        reach = 1 + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
        repeated, gaps = reach < math.prod(sizes), reach > math.prod(sizes)
        found.add("repeated" if repeated else "with gaps" if gaps else "transposed")
    return found or {"row by row alone"}


def _verdict(score: Ratio) -> str:
    return "faster" if score.low > 1 else "slower" if score.high < 1 else "undecided"


def standings_report(rows: Sequence[Standing], by: str, baseline: str) -> Report:
    """A run of the corpus by model, family or kind."""
    shown = [
        {
            **fields(row, "group patterns failed compared covered ms mean"),
            "of peak": row.fraction,
            **dict(zip(("score", "low", "high"), row.score or (None,) * 3, strict=True)),
            "verdict": "" if row.score is None else _verdict(row.score),
        }
        for row in rows
    ]
    said = (
        f"by {by}; covered: share of the modelled bytes that was timed; ms: of all calls of the "
        "timed patterns; mean and score: geometric means of "
        + (f"{baseline}'s time over ours" if baseline else "nothing (name a --baseline)")
        + ", over patterns and weighted by the models' bytes; the intervals of a table all hold "
        "with 95 %"
    )
    return _report(_STANDINGS, shown, said, {"by": by, "baseline": baseline, "groups": shown})
