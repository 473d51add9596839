"""The corpus as tables: its patterns, its captures, and what of torch and of sizes it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report.output import Report
from harness.table import Column, Row, Table, Text

if TYPE_CHECKING:
    from harness.corpus.model import Capture, Pattern
    from harness.corpus.store import Corpus


def _column(key: str, right: bool = False) -> Column:
    return Column(key, lambda row: str(row[key]), right)


_PATTERNS = (
    *(_column(key) for key in ("name", "kind")),
    *(_column(key, right=True) for key in ("nodes", "MB", "models", "calls", "weight")),
)
_CAPTURES = (
    *(_column(key) for key in ("name", "family")),
    *(_column(key, right=True) for key in ("regions", "calls", "GB")),
    _column("reason"),
)


def patterns_report(corpus: Corpus, patterns: Sequence[Pattern]) -> Report:
    """Patterns, heaviest first, and how many the corpus holds."""
    rows = [_pattern(pattern) for pattern in patterns]
    models = {use.capture.partition("/")[0] for p in patterns for use in p.uses}
    small = sum(1 for p in patterns if not p.without_small)
    whole = len(corpus.patterns)
    total = (
        f"{len(patterns)} of {whole} patterns, from {len(models)} models; weight "
        f"{sum(p.weight for p in patterns):.1%}; {small} with a small counterpart; "
        f"corpus {corpus.digest}"
    )
    return Report(
        lambda: [Table(_PATTERNS, rows), Text(), Text(total)],
        lambda: {"corpus": corpus.digest, "of": whole, "patterns": rows},
        lambda: rows,
    )


def _pattern(pattern: Pattern) -> dict[str, Any]:
    return {
        "name": pattern.name,
        "kind": pattern.kind,
        "nodes": pattern.nodes,
        "MB": round(pattern.bytes / 1e6, 3),
        "models": len({use.capture.partition("/")[0] for use in pattern.uses}),
        "calls": sum(use.calls for use in pattern.uses),
        "weight": f"{pattern.weight:.3%}",
        "dtypes": " ".join(pattern.dtypes),
        "operators": " ".join(pattern.operators),
        "without_small": pattern.without_small,
    }


def captures_report(corpus: Corpus, patterns: Sequence[Pattern]) -> Report:
    """The captures that ``patterns`` come from; all of them, failed ones too, for all patterns."""
    used = {use.capture for pattern in patterns for use in pattern.uses}
    everything = len(patterns) == len(corpus.patterns)
    shown = [c for c in corpus.captures if c.name in used or everything]
    rows = [_capture(one) for one in shown]
    failed = sum(1 for one in shown if one.reason)
    models = len({one.model for one in shown if not one.reason})
    total = f"{models} models, {len(shown)} captures, of which {failed} failed"
    return Report(
        lambda: [Table(_CAPTURES, rows), Text(), Text(total)],
        lambda: {"corpus": corpus.digest, "captures": rows},
        lambda: rows,
    )


def _capture(one: Capture) -> Row:
    return {
        "name": one.name,
        "family": one.family,
        "regions": one.regions,
        "calls": one.library_calls,
        "GB": round(one.bytes / 1e9, 3),
        "reason": one.reason,
        "target": one.target,
        "origin": one.origin,
        "options": dict(one.options),
        "versions": one.versions,
    }
