"""How a calibration looks: false alarms, a power curve, what can be detected."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence

from harness.calibration.measure import size_class
from harness.calibration.record import LEVELS, Calibration, Detectable, Mode, Power, Share
from harness.report.output import Column, heading, number, row, width

TITLES = {"long": "over 20 µs", "medium": "3 to 20 µs", "short": "under 3 µs"}
_POWER = (
    Column("", 12),
    Column("kernels", 7, right=True),
    *(Column(f"+{level:.0%}", 14, right=True) for level in LEVELS),
)
_KERNELS = (
    Column("kernel", 0),
    Column("ms", 8, right=True),
    Column("two runs", 9, right=True),
    Column("in turns", 9, right=True),
)


def lines(found: Calibration, *, everything: bool) -> list[str]:
    """The report."""
    gpu = found.machine.gpu or found.machine.key
    printed = [
        f"{gpu}, {found.method}, {found.processes} processes, "
        f"{len(found.kernels)} distinct kernels",
    ]
    if not found.complete:
        printed.append("not complete: what had been measured is here; go on with --resume")
    for mode in found.modes:
        printed.extend(_mode(mode))
    printed.extend(_truths(found.modes[:1]))
    printed.extend(_detectable(found.kernels, everything, found.margin))
    for name, why in found.failed.items():
        printed.append(f"left out: {name}: {why}")
    note = (
        f"Verdicts as harness compare gives them: {100 * found.alpha:g} % chance of any false one "
        f"in a table, changes within {100 * found.margin:g} % are SAME (so a slowdown of that size "
        "need not be found). Slowdowns are shares of the kernel's own time, made by a spin "
        "behind it."
    )
    return [*printed, "", *textwrap.wrap(note, width(), break_on_hyphens=False)]


def _mode(mode: Mode) -> list[str]:
    alarms = mode.false_alarms
    head = (
        f"{mode.name}: {alarms.found} of {alarms.kernels} unchanged kernels called SLOWER or "
        f"FASTER ({_percent(alarms)})"
    )
    printed = ["", head, *(f"  {name}" for name in mode.alarmed)]
    if mode.power:
        printed.append(heading(_POWER))
    for size, title in TITLES.items():
        mine = {p.level: p for p in mode.power if p.size == size}
        if mine:
            count = max(p.share.kernels for p in mine.values())
            cells = [_found(mine.get(level)) for level in LEVELS]
            printed.append(row(_POWER, [title, str(count), *cells]))
    return printed


def _found(power: Power | None) -> str:
    if power is None:
        return "–"
    wrong = f", {power.wrong} FASTER" if power.wrong else ""
    return f"{100 * power.share.value:.0f}% found{wrong}"


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f} %, at most {100 * share.high:.1f} % with 97.5 % confidence"


def _truths(modes: Sequence[Mode]) -> list[str]:
    """What the timer saw of the injected time, by size."""
    cells = [
        f"{TITLES[p.size]} +{p.level:.0%}: {p.effect:.2f}"
        for mode in modes
        for p in mode.power
        if p.effect is not None
    ]
    if not cells:
        return []
    text = (
        "injected time as the timer saw it, over what the device's own clocks counted (median; "
        f"1 is right): {'; '.join(cells)}"
    )
    return ["", *textwrap.wrap(text, width(), break_on_hyphens=False)]


def _detectable(kernels: Sequence[Detectable], everything: bool, margin: float) -> list[str]:
    if not kernels:
        return []
    printed = ["", "smallest slowdown found with 95 % probability (median by size; range)"]
    for size, title in TITLES.items():
        mine = [k for k in kernels if size_class(k.ms) == size]
        if mine:
            printed.append(
                f"  {title:12} two runs {_range([k.two_runs for k in mine])}   "
                f"in turns {_range([k.in_turns for k in mine])}"
            )
    printed.extend(_blind(kernels, margin))
    if everything:
        printed.append(heading(_KERNELS))
        for one in sorted(kernels, key=lambda k: -k.ms):
            cells = [number(one.ms, 4), f"{one.two_runs:.1%}", f"{one.in_turns:.1%}"]
            printed.append(row(_KERNELS, [f"{one.graph}: {one.name}", *cells]))
    return printed


def _blind(kernels: Sequence[Detectable], margin: float) -> list[str]:
    """In how many kernels two runs find small and large slowdowns, but not some between."""
    bands = [k.blind for k in kernels if k.blind is not None and k.blind[1] > margin]
    if not bands:
        return []
    text = (
        f"in {len(bands)} kernels two runs cannot tell some larger slowdowns (of a median "
        f"{statistics.median(low for low, _ in bands):.1%} to "
        f"{statistics.median(high for _, high in bands):.1%}): kernels were seen at two speeds so "
        "far apart, a process at a time"
    )
    return textwrap.wrap(text, width(), break_on_hyphens=False)


def _range(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2%} ({min(values):.2%} to {max(values):.2%})"
