"""How a calibration looks: false alarms, a power curve, what can be detected."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.calibration.record import LEVELS, Calibration, Detectable, Mode, Power, size_class
from harness.calibration.sessions import Sessions, sentences
from harness.ir.reach import gathered
from harness.measure.noise.judge import Rules
from harness.records.names import is_chosen, short
from harness.records.run import to_json
from harness.report.output import Report
from harness.table import NOTHING, Block, Column, Fit, Row, Table, Text, number, paragraphs

TITLES = {"long": "over 20 µs", "medium": "3 to 20 µs", "short": "under 3 µs"}


def calibration_report(
    found: Calibration, path: Path, *, everything: bool, only: Sequence[str]
) -> Report:
    """A calibration; of each kernel with ``everything``, of those that ``only`` chooses."""
    kept = tuple(k for k in found.kernels if is_chosen(only, k.graph, k.name))
    everything = everything or bool(only)
    return Report(
        lambda: list(_blocks(found, kept, path, everything)),
        lambda: {**to_json(replace(found, kernels=kept)), "file": str(path)},
        lambda: to_json(kept),
    )


def sessions_report(found: Sessions, rules: Rules) -> Report:
    """The false verdicts between whole measurements."""
    return Report(
        lambda: paragraphs(sentences(found, rules)),
        lambda: to_json(found),
        lambda: to_json(found.between),
    )


def _blocks(
    found: Calibration, kernels: Sequence[Detectable], path: Path, everything: bool
) -> Iterator[Block]:
    gpu = found.machine.gpu or found.machine.key
    yield Text(
        f"{gpu}, {found.method}, {found.processes} processes, {len(found.kernels)} distinct kernels"
    )
    if not found.complete:
        yield Text("not complete: what had been measured is here; go on with --resume")
    for mode in found.modes:
        yield from _mode(mode)
    yield from paragraphs(_truths(found.modes[:1]))
    if found.kernels:
        yield from paragraphs(_detectable(found.kernels, found.margin))
    if everything and kernels:
        yield Table(_KERNELS, sorted(to_json(tuple(kernels)), key=lambda row: -row["ms"]))
    yield from paragraphs([f"left out: {name}: {why}" for name, why in found.failed.items()])
    yield Text()
    yield Text(
        f"Verdicts as harness compare gives them: {100 * found.alpha:g} % chance of any false one "
        f"in a table, changes within {100 * found.margin:g} % are SAME (so a slowdown of that size "
        "need not be found). Slowdowns are shares of the kernel's own time, made by a spin "
        "behind it. Two runs are this session's even and odd processes; two days differ by more.",
        wrapped=True,
    )
    yield Text(f"calibration {found.id}  {path}")


_KERNELS = (
    Column("kernel", lambda row: f"{row['graph']}: {short(row['name'])}", fit=Fit.SHORTEN),
    Column("ms", lambda row: number(row["ms"], 4), right=True, least=8),
    Column("mde, two runs", lambda row: f"{row['two_runs']:.1%}", right=True),
    Column("mde, interleaved", lambda row: f"{row['in_turns']:.1%}", right=True),
)


def _mode(mode: Mode) -> Iterator[Block]:
    alarms = mode.false_alarms
    name = mode.name.replace("in turns", "interleaved")
    yield Text()
    yield Text(
        f"{name}: {alarms.found} of {alarms.kernels} unchanged "
        f"kernels called SLOWER or FASTER ({100 * alarms.value:.1f} %, at most "
        f"{100 * alarms.high:.1f} % with 97.5 % confidence)"
    )
    yield from (Text(f"  {name}") for name in mode.alarmed)
    power = gathered((p.size, (p.level, p)) for p in mode.power)
    named = ((title, power[size]) for size, title in TITLES.items() if size in power)
    if rows := [{"title": title, "found": dict(levels)} for title, levels in named]:
        yield Table(_POWER, rows)


def _found(level: float) -> Column:
    def text(row: Row) -> str:
        power: Power | None = row["found"].get(level)
        if power is None:
            return NOTHING
        wrong = f", {power.wrong} FASTER" if power.wrong else ""
        return f"{100 * power.share.value:.0f}% found{wrong}"

    return Column(f"+{level:.0%}", text, right=True, least=14)


_POWER = (
    Column("", lambda row: row["title"], least=12),
    Column(
        "kernels", lambda row: str(max(p.share.kernels for p in row["found"].values())), right=True
    ),
    *(_found(level) for level in LEVELS),
)


def _truths(modes: Sequence[Mode]) -> Iterator[str]:
    """What the timer saw of the injected time, by size."""
    cells = [
        f"{TITLES[p.size]} +{p.level:.0%}: {p.effect:.2f}"
        for mode in modes
        for p in mode.power
        if p.effect is not None
    ]
    if cells:
        yield ""
        yield (
            "injected time as the timer saw it, over what the device's own clocks counted (median; "
            f"1 is right): {'; '.join(cells)}"
        )


def _detectable(kernels: Sequence[Detectable], margin: float) -> Iterator[str]:
    yield from ("", "minimum detectable effect, with 95 % probability (median by size; range)")
    for size, title in TITLES.items():
        if mine := [k for k in kernels if size_class(k.ms) == size]:
            yield (
                f"  {title:12} two runs {_range([k.two_runs for k in mine])}, "
                f"interleaved {_range([k.in_turns for k in mine])}"
            )
    if bands := [k.blind for k in kernels if k.blind is not None and k.blind[1] > margin]:
        yield (
            f"in {len(bands)} kernels two runs have an undetectable band, of a median "
            f"{statistics.median(low for low, _ in bands):.1%} to "
            f"{statistics.median(high for _, high in bands):.1%}: these kernels are bimodal, a "
            "process at a time, and their modes lie that far apart"
        )


def _range(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2%} ({min(values):.2%} to {max(values):.2%})"
