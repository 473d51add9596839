"""Tunings as tables and as JSON."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from harness.measure.tuning import KernelTuning, totals
from harness.records.run import Run, TrialRecord, to_json
from harness.records.trials import Resources, standard_error
from harness.report import output
from harness.runtime.module import config_from_dict
from harness.runtime.tune.scaling import occupancy
from harness.target import Target


def kernel_table(tunings: list[KernelTuning]) -> str:
    """One row a kernel: first choice, best, regret, and what was chosen."""
    table = Table(box=None, pad_edge=False, header_style="")
    compared = any(t.verdict for t in tunings)
    table.add_column("kernel", no_wrap=True)
    for title in ("trials", "first µs", "best µs", "regret"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("configuration", no_wrap=True)
    table.add_column("found by", overflow="fold")
    if compared:
        table.add_column("last run's", overflow="fold")
    room = output.width() - (82 if compared else 64)
    for t in tunings:
        best = t.best
        chosen = next((x.origin for x in t.trials if x.config == t.chosen), t.source)
        found = t.reason or chosen
        pinned = f" {t.pinned:.3f}" if t.verdict == "slower" and t.pinned else ""
        cells = [output.shorten(t.name.removeprefix("triton_"), room), str(len(t.trials))]
        cells += [_us(t.first), _us(best), "–" if t.regret is None else f"{t.regret:.3f}"]
        cells += [config_text(t.chosen), found]
        table.add_row(*cells, *([t.verdict + pinned] if compared else []))
    return _text(table)


def trial_table(tuning: KernelTuning, target: Target) -> str:
    """One row a trial, in the order tried; those without a time say why."""
    timed = bool(tuning.timed)
    table = Table(box=None, pad_edge=False, header_style="", title_justify="left")
    table.title = tuning.name + (f"  {tuning.reason}" if tuning.reason else "")
    table.title_style = ""
    table.add_column("configuration", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for title in ("µs", "±", "over best") if timed else ():
        table.add_column(title, justify="right")
    for title in ("registers", "spills", "shared", "occupancy"):
        table.add_column(title, justify="right")
    table.add_column("", overflow="fold")
    best = tuning.best
    for trial in tuning.trials:
        cells = [config_text(trial.config), trial.origin]
        if timed:
            over = f"{trial.time / best.time:.3f}" if best and trial.time and best.time else "–"
            cells += [_us(trial), _doubt(trial), over]
        share = _occupancy(trial, target)
        cells += [_count(trial.registers), _count(trial.spills), _count(trial.shared)]
        cells.append("–" if share is None else f"{share:.0%}")
        mark = "chosen" if tuning.chosen == trial.config else ""
        table.add_row(*cells, trial.reason[:60] or mark)
    return _text(table)


def summary_lines(tunings: list[KernelTuning], earlier: Run | None) -> list[str]:
    """What all kernels say together."""
    sums = totals(tunings)
    lines = [f"{sums.kernels} kernels, {sums.trials} trials"]
    if sums.seconds is not None:
        lines[0] += f", {sums.seconds:.1f} s of tuning"
    if sums.regret is not None:
        lines.append(f"regret of the first choice, geometric mean: {sums.regret:.3f}")
        if sums.worst is not None:
            lines[-1] += f"; worst {sums.worst[1]:.3f} ({sums.worst[0]})"
    if sums.candidates_regret is not None:
        lines.append(f"best candidate over the best found: {sums.candidates_regret:.3f}")
    if earlier is not None and sums.pinned is not None:
        lines.append(
            f"configurations of run {earlier.id} on today's code over the best: {sums.pinned:.3f} "
            f"({sums.pinned_kernels} kernels)"
        )
    lines.append(
        "times: medians with a cold L2, drift taken out; regret: first choice over best; "
        "w: warps; s: stages"
    )
    return lines


def document(tunings: list[KernelTuning], target: Target) -> dict[str, Any]:
    """The same as JSON values: ``kernels`` and ``totals``."""
    sums = totals(tunings)
    return {
        "kernels": [_kernel(t, target) for t in tunings],
        "totals": {
            "kernels": sums.kernels,
            "trials": sums.trials,
            "seconds": sums.seconds,
            "regret": sums.regret,
            "candidates_regret": sums.candidates_regret,
            "pinned": sums.pinned,
            "pinned_kernels": sums.pinned_kernels,
        },
    }


def _kernel(t: KernelTuning, target: Target) -> dict[str, Any]:
    return {
        "name": t.name,
        "config": t.chosen,
        "first_ms": None if t.first is None else t.first.time,
        "best_ms": None if t.best is None else t.best.time,
        "regret": t.regret,
        "candidates_regret": t.candidates_regret,
        "earlier_config": t.earlier,
        "pinned": t.pinned,
        "verdict": t.verdict,
        "seconds": t.seconds,
        "source": t.source,
        "reason": t.reason,
        "trials": [
            {**to_json(trial), "ms": trial.time, "occupancy": _occupancy(trial, target)}
            for trial in t.trials
        ],
    }


def config_text(config: Mapping[str, int] | None) -> str:
    """A configuration in few characters: ``X 1 R0 2048 w8``, warps last."""
    if config is None:
        return "–"
    blocks = [
        f"{name.removesuffix('BLOCK').rstrip('_') or name} {value}"
        for name, value in config.items()
        if name not in ("num_warps", "num_stages")
    ]
    stages = config.get("num_stages", 1)
    more = f" s{stages}" if stages != 1 else ""
    return f"{' '.join(blocks)} w{config['num_warps']}{more}"


def _occupancy(trial: TrialRecord, target: Target) -> float | None:
    if trial.registers is None:
        return None
    needs = Resources(trial.registers, trial.spills, trial.shared)
    return occupancy(config_from_dict(trial.config), needs, target)


def _us(trial: TrialRecord | None) -> str:
    return "–" if trial is None or trial.time is None else f"{trial.time * 1000:.2f}"


def _doubt(trial: TrialRecord) -> str:
    if len(trial.samples_ms) < 3:
        return "–"
    return f"{1.96 * standard_error(trial.samples_ms) * 1000:.2f}"


def _count(number: int | None) -> str:
    return "–" if number is None else str(number)


def _text(table: Table) -> str:
    """The table as plain lines, as wide as the terminal."""
    stream = io.StringIO()
    Console(file=stream, width=output.width(), no_color=True, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))
