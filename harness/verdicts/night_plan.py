"""What a night has to do: which kernels execute the same as in the baseline, which have to be
looked at, which are timed, and in what order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.history import index
from harness.history.nights import Change
from harness.measure.noise.judge import Verdict
from harness.records import modules
from harness.records.run import Check, KernelRecord, Run, fields
from harness.verdicts.causes import has_same_code, settings
from harness.verdicts.comparing import Comparison, Row
from harness.verdicts.night_record import toolchain
from harness.verdicts.pairing import Match, Pairing, pair
from harness.verdicts.totals import Rollup, scopes

CONTROLS = 24
"""Unchanged kernels that are timed all the same: they show the noise of the night, and whether the
machine can be trusted."""
DETECT, CONFIRM = 3, 8
"""Fresh processes in which every pair is timed, and in which what looks slower is timed once more
(docs/measurements/nightly.md has the rates)."""
UNCONFIRMED = "looks slower; no further processes confirmed it"
_START_S, _PAIR_S = 5.0, 0.25
"""Seconds by estimate: a fresh process; a pair in one (150 ms of samples at most, and what
docs/measurements/timer.md gives for loading and arguments)."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """Tonight's run ``b`` next to the baseline ``a``: what became of each match (None: it executes
    the same)."""

    a: Run
    b: Run
    pairing: Pairing
    changes: tuple[Change | None, ...]

    @property
    def restructured(self) -> frozenset[str]:
        """The graphs that launch other kernels than before, or kernels more or less often."""
        found = {graph for graph, _ in (*self.pairing.vanished, *self.pairing.appeared)}
        found |= {match.graph for match, change in self if change is Change.LAUNCHES}
        return frozenset(found & {g.name for g in self.a.graphs} & {g.name for g in self.b.graphs})

    def __iter__(self) -> Iterator[tuple[Match, Change | None]]:
        return zip(self.pairing.matches, self.changes, strict=True)


def sort(a: Run, b: Run, *, timed: bool) -> Sorting:
    """Tonight's kernels by what became of them. Where nothing is ``timed`` texts alone count: what
    compiles them here is not what did there."""
    pairing = pair(a.graphs, b.graphs)
    differs = timed and bool(toolchain(a).differences(toolchain(b)))
    return Sorting(a, b, pairing, tuple(_change(match, a, differs) for match in pairing.matches))


def _change(match: Match, a: Run, differs: bool) -> Change | None:
    if not has_same_code(match, a, a):
        return Change.CHANGED
    old, new = match.a[0], match.b[0]
    if old.config is None and new.config is not None:
        return Change.NEW  # the baseline knows its text alone
    if differs:
        return Change.TOOLCHAIN
    if settings(old) != settings(new):
        return Change.RETUNED
    return None if old.launches == new.launches else Change.LAUNCHES


def carried_over(a: Run, b: Run) -> Run:
    """``b`` with what the baseline knows of kernels that are the same code with the same
    configurations to choose from: the configuration, and, under the same toolchain, what was found
    out about the binary. Its times stay the baseline's."""
    same = not toolchain(a).differences(toolchain(b))
    known: dict[int, KernelRecord] = {}
    for match in pair(a.graphs, b.graphs).matches:
        old, new = match.a[0], match.b[0]
        alike = modules.candidates(old.module) == modules.candidates(new.module)
        if alike and has_same_code(match, a, a):
            found = replace(new, config=old.config)
            if same:
                note = "" if old.check is Check.SKIPPED else f"in run {a.id}"
                kept = fields(old, "metrics mix check max_error allowed reason")
                found = replace(found, check_note=old.check_note or note, **kept)
            known[id(new)] = found
    return b.mapped(lambda _, kernel: known.get(id(kernel), kernel))


def to_examine(sorting: Sorting, *, timed: bool) -> list[tuple[str, KernelRecord]]:
    """Tonight's kernels that nothing is known of (graph, kernel), those first whose predecessors
    cost most. ``timed``: a GPU is there to choose configurations."""
    found = [
        (cost(match.a), match.graph, kernel)
        for match, change in sorting
        for kernel in match.b
        if change not in (None, Change.LAUNCHES) or (timed and kernel.config is None)
    ]
    found += [(cost([kernel]), graph, kernel) for graph, kernel in sorting.pairing.appeared]
    found.sort(key=lambda one: (-one[0], one[1], one[2].name))
    return [(graph, kernel) for _, graph, kernel in found if kernel.module]


def cost(kernels: Sequence[KernelRecord]) -> float:
    """Milliseconds of all launches as recorded; where not, a guess from the bytes (at 2 TB/s)."""
    return sum((k.ms or k.bytes / 2e9) * k.launches for k in kernels)


def to_time(sorting: Sorting) -> tuple[list[int], list[int]]:
    """Positions of the matches to time: a random few controls, by the commit; and, likely worst
    first, what changed and everything in graphs that launch other kernels."""
    whole = sorting.restructured
    same: list[int] = []
    wanted: list[int] = []
    for n, (match, change) in enumerate(sorting):
        if any(not k.module or k.failed for k in (*match.a, *match.b)) or change is Change.NEW:
            continue
        (wanted if change is not None or match.graph in whole else same).append(n)
    few = min(CONTROLS, len(same)) if wanted else 0
    controls = sorted(random.Random(sorting.b.commit).sample(same, few))
    matches = sorting.pairing.matches
    loss = {n: cost(matches[n].b) - cost(matches[n].a) for n in wanted}
    return controls, sorted(wanted, key=lambda n: (-loss[n], n))


def within(pairs: int, seconds: float) -> int:
    """How many of ``pairs`` can be timed in ``seconds``."""
    return int(max(0.0, min(pairs, (seconds / DETECT - _START_S) / _PAIR_S)))


def with_known_times(run: Run, results: Path) -> Run:
    """``run``, kernels that it has no time of with the newest one that its machine has of the same
    code and configuration."""
    known = index.refresh(results)
    mine = [n for n, one in enumerate(known.runs) if one.machine == run.machine.key]
    frame = known.rows.select(["run", "code", "config", "ms"]).to_pandas()
    frame = frame[frame["run"].isin(mine) & (frame["ms"] > 0)].astype({"config": str, "code": str})
    newest = frame.sort_values("run").drop_duplicates(["code", "config"], keep="last")
    times = {(code, config): ms for _, code, config, ms in newest.itertuples(index=False)}

    def timed(_: str, kernel: KernelRecord) -> KernelRecord:
        key = (kernel.code_hash, json.dumps(kernel.config))
        return kernel if kernel.ms else replace(kernel, ms=times.get(key))

    return run.mapped(timed)


def key_of(match: Match) -> str:
    """What tells a match from the others, whatever was measured of it."""
    return f"{match.graph}/{' + '.join(kernel.name for kernel in match.b)}"


def _looks_slower(row: Row) -> bool:
    decided = row.identical or row.verdict is Verdict.SAME
    return row.effect is not None and row.effect.low > 1 and not decided


def doubted(sorting: Sorting, found: Comparison, wanted: Sequence[int]) -> list[int]:
    """Which matches look slower by their own interval, and everything in a graph whose sum does."""
    slower = {key_of(row.match) for row in found.rows if _looks_slower(row)}
    sums = [one for one in found.rollups if one.level == "graph" and one.effect.low > 1]
    graphs = {one.name for one in sums if one.verdict is not Verdict.SAME} & sorting.restructured
    matches = sorting.pairing.matches
    return [n for n in wanted if key_of(matches[n]) in slower or matches[n].graph in graphs]


def after_confirming(
    first: Comparison, again: Comparison | None, restructured: frozenset[str]
) -> tuple[Comparison, frozenset[str]]:
    """``first``, what looked slower as fresh processes say it (UNSURE without them), and what they
    were asked about. Of the graphs that are ``restructured`` all was timed again."""
    rows = {key_of(row.match): row for row in (again.rows if again else ()) if row.effect}
    sums = {one.name: one for one in (again.rollups if again else ()) if one.level == "graph"}
    told = (
        rows.get(key_of(row.match), replace(row, verdict=Verdict.UNSURE, reason=UNCONFIRMED))
        if _looks_slower(row)
        else row
        for row in first.rows
    )
    slower = [row.match for row in rows.values() if row.verdict is Verdict.SLOWER]
    held = {scope for match in slower for scope in scopes(match.graph, match.region)}

    def summed(one: Rollup) -> Rollup:
        """As fresh processes say it; a sum is slower, too, where they say so of a kernel in it."""
        if one.verdict is not Verdict.SLOWER:
            return one
        if (one.level, one.name) in held and one.name not in restructured:
            return one
        return sums.get(one.name, replace(one, reason=UNCONFIRMED))

    rollups = map(summed, first.rollups)
    return replace(first, rows=tuple(told), rollups=tuple(rollups)), frozenset({*rows, *sums})
