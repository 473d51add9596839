"""False verdicts between whole measurements of the same code: other processes, hours, boards.

What two neighbouring measurements of a machine, by one method, hold of the same code in the same
configuration did not change. One kernel in ten is taken for one that may have, and judged as
``harness compare`` judges it, the others being its controls; so ten tables come of each pair. A
table is false in which any kernel is SLOWER or FASTER. Runs of ``harness run`` and calibrations of
one commit count alike, whichever board they were made on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.calibration import record as calibrations
from harness.calibration.judging import GROUPS, share
from harness.calibration.record import Share
from harness.files import readable
from harness.history import store
from harness.measure.noise.controls import LEAST
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Rules, Verdict, judge
from harness.records.run import Machine, Run

_FEWEST = 2 * LEAST
"""Kernels of the same code that two measurements need to have in common."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A whole measurement: kernels by graph, name, code and configuration."""

    id: str
    created: str
    environment: tuple[str, ...]
    board: str
    kernels: dict[tuple[str, ...], Times]


@dataclass(frozen=True, slots=True)
class Between:
    """Pairs of neighbouring measurements, on one board or ``apart``: how many of their ``tables``
    are false (``kernels`` of the share are tables), how many of the ``pairs`` hold a false one, and
    what was called SLOWER or FASTER in them."""

    apart: bool
    pairs: Share
    tables: Share
    alarmed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sessions:
    """What all recorded measurements say. ``boards`` counts the boards, ``measurements`` those that
    have a partner."""

    measurements: int
    boards: int
    between: tuple[Between, ...]


def rehearsed(results: Path, rules: Rules) -> Sessions:
    """The false verdicts between all neighbouring measurements below ``results``."""
    every = sorted(recorded(results), key=lambda one: (one.environment, one.created, one.id))
    neighbours = [
        (a, b)
        for a, b in zip(every, every[1:], strict=False)
        if a.environment == b.environment and len(a.kernels.keys() & b.kernels.keys()) >= _FEWEST
    ]
    used = {one.id: one for pair in neighbours for one in pair}
    found = []
    for apart in (False, True):
        mine = [(a, b) for a, b in neighbours if (not a.board or a.board != b.board) is apart]
        tables = [list(_tables(a, b, rules)) for a, b in mine]
        found.append(
            Between(
                apart,
                share(sum(any(each) for each in tables), len(mine)),
                share(sum(bool(one) for each in tables for one in each), GROUPS * len(mine)),
                tuple(name for each in tables for one in each for name in one),
            )
        )
    return Sessions(len(used), len({one.board for one in used.values()}), tuple(found))


def _tables(a: Measurement, b: Measurement, rules: Rules) -> Iterator[list[str]]:
    """For each table of a pair the kernels that it wrongly calls SLOWER or FASTER."""
    common = sorted(a.kernels.keys() & b.kernels.keys())
    for group in range(GROUPS):
        held = range(group, len(common), GROUPS)
        pairs = [
            Pair(a.kernels[key], b.kernels[key], identical=n not in held)
            for n, key in enumerate(common)
        ]
        found, _ = estimate(pairs, paired=False)
        yield [
            f"{': '.join(common[n][:2])} ({a.id}, {b.id})"
            for n, effect in zip(held, judge([found[n] for n in held], rules), strict=True)
            if effect.verdict in (Verdict.SLOWER, Verdict.FASTER)
        ]


def recorded(results: Path) -> Iterator[Measurement]:
    """Every whole measurement of several processes below ``results``; what cannot be read or was
    made elsewhere is left out."""
    ours = (path for path in store.runs(results) if not store.is_imported(path))
    for run in readable(store.load, ours):
        kernels = _of_run(run)
        if not run.dirty and kernels:
            where = _environment(run.machine, run.method)
            yield Measurement(run.id, run.created, where, run.machine.gpu_uuid or "", kernels)
    name = f"{calibrations.PREFIX}*{calibrations.SUFFIX}"
    every = (*results.glob(f"*/{name}"), *results.glob(f"*/{calibrations.SESSIONS}/{name}"))
    for found in readable(calibrations.load, sorted(every)):
        # Another commit may choose other configurations for the same code.
        where = (*_environment(found.machine, found.method), found.commit)
        times: dict[tuple[str, ...], Times] = {
            (m.graph, m.name, m.key, ""): Times(m.ms, m.errors)
            for m in found.medians
            if len(m.ms) > 1
        }
        yield Measurement(found.id, found.created, where, found.machine.gpu_uuid or "", times)


def _environment(machine: Machine, method: str) -> tuple[str, ...]:
    return machine.key, machine.driver or "", machine.triton or "", method


def _of_run(run: Run) -> dict[tuple[str, ...], Times]:
    found: dict[tuple[str, ...], Times] = {}
    for graph in run.graphs:
        for kernel in graph.kernels:
            sets = [s for s in kernel.sets if s.ms and s.median > 0 and not s.disturbed]
            if len(sets) < 2 or kernel.failed or kernel.problem:
                continue
            config = json.dumps(kernel.config, sort_keys=True)
            found[graph.name, kernel.name, kernel.code_hash, config] = Times.of(
                [s.ms for s in sets], processes=tuple(s.process for s in sets)
            )
    return found


def sentences(found: Sessions, rules: Rules) -> Sequence[str]:
    """What they come to."""
    lines = [
        f"{found.measurements} whole measurements on {found.boards} boards; neighbours in time, "
        f"{GROUPS} tables each, in which one kernel in {GROUPS} may have changed and none did"
    ]
    for one in found.between:
        if not one.pairs.kernels:
            continue
        where = "on different boards" if one.apart else "on one board"
        lines.append(
            f"{where}: {one.tables.found} of {one.tables.kernels} tables hold a false SLOWER or "
            f"FASTER ({100 * one.tables.low:.1f} to {100 * one.tables.high:.1f} %, if tables of a "
            f"pair were independent); {one.pairs.found} of {one.pairs.kernels} pairs do in any "
            f"({100 * one.pairs.low:.0f} to {100 * one.pairs.high:.0f} %). Promised: "
            f"{100 * rules.alpha:g} % of tables"
        )
        lines += [f"  {name}" for name in one.alarmed]
    if len(lines) == 1:
        lines.append("no two of them have enough kernels of the same code in common")
    return lines
