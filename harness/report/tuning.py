"""Tunings as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.measure.tuning import KernelTuning, totals
from harness.records.names import short
from harness.records.run import Run, fields, to_json
from harness.records.trials import Trial, standard_error
from harness.report.output import Report
from harness.runtime.module import config_from_dict
from harness.runtime.tune.space import resident
from harness.table import NOTHING, Block, Column, Fit, Row, Table, Text, columns, paragraphs, plural
from harness.target import Target


def tuning_report(
    tunings: Sequence[KernelTuning],
    target: Target,
    head: Mapping[str, Any],
    earlier: Run | None,
    *,
    trials: bool,
) -> Report:
    """A row a kernel, or with ``trials`` a row a trial; ``head`` begins the document."""
    kernels = [_kernel(tuning, target) for tuning in tunings]
    each = [{"kernel": k["name"], **trial} for k in kernels for trial in k["trials"]]
    sums = {name: v for name, v in totals(tunings).items() if name != "worst"}
    return Report(
        lambda: [*_trials(kernels)] if trials else _kernels(kernels, tunings, earlier),
        lambda: {**head, "kernels": kernels, "totals": sums},
        lambda: each if trials else kernels,
    )


def _kernels(
    kernels: Sequence[Row], tunings: Sequence[KernelTuning], earlier: Run | None
) -> list[Block]:
    shown = _KERNELS if any(k["verdict"] for k in kernels) else _KERNELS[:-1]
    return [Table(shown, kernels), *paragraphs(_summary(tunings, earlier))]


def _us(ms: float | None) -> str:
    return NOTHING if ms is None else f"{ms * 1000:.2f}"


def _found_by(row: Row) -> str:
    origin = next((t["origin"] for t in row["trials"] if t["config"] == row["config"]), None)
    return str(row["reason"] or origin or row["source"])


def _earlier(row: Row) -> str:
    slower = row["verdict"] == "slower" and row["pinned"]
    return f"{row['verdict']} {row['pinned']:.3f}" if slower else str(row["verdict"])


_KERNELS = (
    Column("kernel", lambda row: short(row["name"]), fit=Fit.SHORTEN),
    Column("trials", lambda row: str(len(row["trials"])), right=True),
    Column("first µs", lambda row: _us(row["first_ms"]), right=True),
    Column("best µs", lambda row: _us(row["best_ms"]), right=True),
    *columns("regret", right=True, text="{:.3f}".format),
    Column("configuration", lambda row: config_text(row["config"])),
    Column("found by", _found_by),
    Column("last run's", _earlier),
)


def _trials(kernels: Sequence[Row]) -> Iterator[Block]:
    """One row a trial, in the order tried; those without a time say why."""
    timed = any(trial["ms"] is not None for k in kernels for trial in k["trials"])
    shown = _TRIALS if timed else tuple(c for c in _TRIALS if c not in _TIMES)
    for place, k in enumerate(kernels):
        best = k["best_ms"]
        rows = [
            {
                **trial,
                "over best": trial["ms"] / best if best and trial["ms"] else None,
                "mark": trial["reason"] or ("chosen" if trial["config"] == k["config"] else ""),
            }
            for trial in k["trials"]
        ]
        if place:
            yield Text()
        yield Table(shown, rows, f"{k['name']}  {k['reason']}".rstrip())


def _error(row: Row) -> str:
    samples = row["samples_ms"]
    return _us(None if len(samples) < 3 else 1.96 * standard_error(samples))


_TIMES = (
    Column("µs", lambda row: _us(row["ms"]), right=True),
    Column("±", _error, right=True),
    *columns("over best", right=True, text="{:.3f}".format),
)
_TRIALS = (
    Column("configuration", lambda row: config_text(row["config"])),
    Column("from", lambda row: row["origin"]),
    *_TIMES,
    *columns("registers", "spills", "shared", right=True),
    *columns("occupancy", right=True, text="{:.0%}".format),
    Column("", lambda row: row["mark"], fit=Fit.BELOW),
)


def _summary(tunings: Sequence[KernelTuning], earlier: Run | None) -> Iterator[str]:
    """What all kernels say together."""
    sums = totals(tunings)
    tuned = "" if sums["seconds"] is None else f", {sums['seconds']:.1f} s of tuning"
    yield f"{plural(sums['kernels'], 'kernel')}, {plural(sums['trials'], 'trial')}{tuned}"
    if sums["regret"] is not None:
        worst = "" if sums["worst"] is None else "; worst {1:.3f} ({0})".format(*sums["worst"])
        yield f"regret of the first choice, geometric mean: {sums['regret']:.3f}{worst}"
    if earlier is not None and sums["pinned"] is not None:
        yield (
            f"configurations of run {earlier.id} on today's code over the best: "
            f"{sums['pinned']:.3f} ({sums['pinned_kernels']} kernels)"
        )
    yield (
        "times: medians with a cold L2, corrected for drift; regret: first choice over best; "
        "w: warps; s: stages"
    )


def _kernel(t: KernelTuning, target: Target) -> dict[str, Any]:
    return {
        "name": t.name,
        "config": t.chosen,
        "first_ms": None if t.first is None else t.first.time,
        "best_ms": None if t.best is None else t.best.time,
        "earlier_config": t.earlier,
        **fields(t, "regret pinned verdict seconds source reason"),
        "trials": [
            {**to_json(trial), "ms": trial.time, "occupancy": _occupancy(trial, target)}
            for trial in t.trials
        ],
    }


def config_text(config: Mapping[str, int] | None) -> str:
    """A configuration in few characters: ``X 1 R0 2048 w8``, warps last."""
    if config is None:
        return NOTHING
    blocks = [
        f"{name.removesuffix('BLOCK').rstrip('_') or name} {value}"
        for name, value in config.items()
        if name not in ("num_warps", "num_stages")
    ]
    stages = config.get("num_stages", 1)
    more = f" s{stages}" if stages != 1 else ""
    return f"{' '.join(blocks)} w{config['num_warps']}{more}"


def _occupancy(trial: Trial, target: Target) -> float | None:
    """Threads that one multiprocessor holds at a time over the most it can hold (0 to 1)."""
    if trial.registers is None:
        return None
    config = config_from_dict(trial.config)
    threads = resident(config, trial, target) * config.num_warps * target.warp_size
    return threads / target.threads_per_multiprocessor
