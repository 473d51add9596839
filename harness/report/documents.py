"""The JSON of comparisons: what ``compare``, ``confirm`` and ``compare --static`` answer for
programs, and what their tables are made of (docs/json.md)."""

from __future__ import annotations

from typing import Any

from harness.measure.noise.estimate import Noise
from harness.measure.noise.judge import Effect
from harness.records import metrics
from harness.records.run import KernelRecord, fields
from harness.verdicts import comparing
from harness.verdicts.causes import clock, figure, mix
from harness.verdicts.comparing import Side
from harness.verdicts.pairing import Match
from harness.verdicts.totals import Rollup


def side_document(side: Side) -> dict[str, Any]:
    """The JSON of A or B."""
    run = side.run
    return {
        "name": side.label,
        "origin": side.origin,
        "run": run.id,
        "machine": run.machine.key,
        "driver": run.machine.driver,
        **fields(run, "commit dirty method processes"),
        "pooled": list(side.pool.runs),
    }


def noise_document(noise: Noise) -> dict[str, Any]:
    """The JSON of what the table says of noise."""
    return {
        "source": "processes" if noise.prior.kernels else "stated default",
        "kernels": noise.prior.kernels,
        "prior_df": noise.prior.df,
        "between_runs": noise.session.variance**0.5,
        "between_runs_us": 1000 * noise.session.absolute**0.5,
        "identical_shift": noise.shift,
        "controls": 0 if noise.offset is None else noise.offset.kernels,
        "odd_controls": noise.odd.share,
    }


def match_document(match: Match) -> dict[str, Any]:
    """The JSON of what is compared with what; figures of several kernels are sums or the worst."""
    found: dict[str, Any] = {"graph": match.graph, "region": match.region, "matched_by": match.how}
    for name, kernels in (("a", match.a), ("b", match.b)):
        found[name] = {
            "kernels": [kernel.name for kernel in kernels],
            "launches": [kernel.launches for kernel in kernels],
            "config": [kernel.config for kernel in kernels],
            **{metric.column: figure(kernels, metric) for metric in metrics.by_rank()},
            "mix": mix(kernels),
            "clock_mhz": clock(kernels),
        }
    return found


def row_document(row: comparing.Row) -> dict[str, Any]:
    """The JSON of a match and what is said of it."""
    match = match_document(row.match)
    for side, ms, processes in zip("ab", (row.a_ms, row.b_ms), row.processes, strict=True):
        match[side] |= {"ms": ms, "processes": processes}
    return {
        "graph": row.match.graph,
        "verdict": row.verdict.value,
        "causes": list(row.causes),
        **fields(row, "reason identical retuned"),
        "machine": row.identical and row.moved,
        **match,
        **_effect_document(row.effect),
        **fields(row, "change_us cycles_ratio"),
    }


def _effect_document(effect: Effect | None) -> dict[str, Any]:
    names = ("ratio", "low", "high", "p", "adjusted", "mde", "undetectable")
    keys = {"mde": "detectable", "undetectable": "blind"}
    told = () if effect is None or not effect.unknown else ("mde", "low", "high", "p", "adjusted")
    return {
        keys.get(name, name): None if effect is None or name in told else getattr(effect, name)
        for name in names
    }


def rollup_document(rollup: Rollup) -> dict[str, Any]:
    """The JSON of a sum."""
    return {
        **fields(rollup, "level name kernels a_ms b_ms covered lone work reason"),
        "verdict": rollup.verdict.value,
        **_effect_document(rollup.effect),
    }


def lone_document(graph: str, kernel: KernelRecord) -> dict[str, Any]:
    """The JSON of a kernel without a partner."""
    return {"graph": graph, "kernel": kernel.name, **fields(kernel, "region launches ms bytes")}
