"""A comparison in the words of a night: what changed, with its cause, and what it was measured
with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.history import schema
from harness.history.nights import Change, Count, Finding, Night, NightCommit, Toolchain, Trust
from harness.measure.noise.judge import Effect, Verdict
from harness.records.names import short
from harness.records.run import KernelRecord, Run, fields
from harness.verdicts.causes import settings
from harness.verdicts.comparing import Comparison, Row
from harness.verdicts.pairing import Match
from harness.verdicts.totals import Rollup
from harness.verdicts.why import Label, explain

Names: TypeAlias = Mapping[tuple[str, str], tuple[str, str]]
"""Series and label of a run's kernels (graph, name)."""


def usual_change(row: Row) -> Change | None:
    """What became of a kernel between two runs; None if it executes the same."""
    return None if row.identical else Change.RETUNED if row.retuned else Change.CHANGED


def night_of(
    found: Comparison,
    commits: Sequence[NightCommit],
    change: Callable[[Row], Change | None] = usual_change,
) -> Night:
    """A comparison of two runs as a night: nothing in it was confirmed by fresh processes.
    ``commits`` are those after A's, newest first; ``change`` says what became of a kernel."""
    a, b = found.a.run, found.b.run
    same = [row for row in found.rows if row.identical]
    names = _names(a), _names(b)
    changed = [(row, kind) for row in found.rows if (kind := change(row))]
    findings = [_finding(found, row, kind, names[1]) for row, kind in changed]
    findings += [_lone(*one, Change.NEW, names[1]) for one in found.appeared]
    findings += [_lone(*one, Change.ENDED, names[0]) for one in found.vanished]
    shift = None if found.noise is None else found.noise.shift
    trust = Trust(
        b.machine.gpu or "",
        b.machine.gpu_uuid or "",
        sum(row.effect is not None for row in same),
        tuple(f"{row.match.graph}/{short(row.match.b[0].name)}" for row in found.machine),
        None if shift is None else math.expm1(shift),
    )
    return Night(
        **fields(b, "id created commit dirty suite complete"),
        machine=b.machine.key,
        run=b.id,
        baseline=a.id,
        baseline_commit=a.commit,
        commits=tuple(commits),
        toolchain=toolchain(b),
        baseline_toolchain=toolchain(a),
        trust=trust,
        findings=tuple(findings),
        counts={"same": len(same), **Counter(one.change.value for one in findings)},
        library_calls=tuple(_new_calls(a, b)),
        spills=tuple(_new_spills(row.match for row in found.rows)),
        broken=found.broken,
        notes=(*found.notes, *found.problems),
        resolved=found.resolution,
        suite_us=suite_us(b),
    )


def as_judged(found: Comparison, night: Night) -> Comparison:
    """``found`` with what ``night`` measured of both sides, interleaved, where it is of these two
    runs: their records, which were not made side by side, say less."""
    if (night.baseline, night.run) != (found.a.run.id, found.b.run.id):
        return found
    known = {(one.graph, one.old_kernel, one.kernel): one for one in night.findings}

    def judged(row: Row) -> Row:
        a, b = (" + ".join(k.name for k in side) for side in row.match.sides)
        one = known.get((row.match.graph, a, b))
        if one is None or one.ratio is None or one.low is None or one.high is None:
            return row
        verdict = Verdict(one.verdict)
        p = 0.0 if verdict in (Verdict.SLOWER, Verdict.FASTER) else 1.0
        effect = Effect(one.ratio, one.low, one.high, p, p, one.high / one.low - 1, verdict)
        a_ms, b_ms = (None if us is None else us / 1000 for us in (one.old_us, one.new_us))
        row = replace(row, verdict=verdict, effect=effect, a_ms=a_ms, b_ms=b_ms)
        return replace(row, processes=(one.processes, one.processes))

    return replace(found, rows=tuple(map(judged, found.rows)))


def toolchain(run: Run) -> Toolchain:
    """What made and ran the binaries of ``run``."""
    of = run.machine
    return Toolchain(of.triton, of.torch, of.driver or "", run.target, of.python)


def _names(run: Run) -> Names:
    both = ((g, zip(g.kernels, schema.identities(g), strict=True)) for g in run.graphs)
    return {(graph.name, kernel.name): one for graph, each in both for kernel, one in each}


def _finding(found: Comparison, row: Row, change: Change, names: Names) -> Finding:
    match, effect = row.match, row.effect
    old, new, single = match.a[0], match.b[0], match.single
    suspicious = row.verdict is Verdict.UNSURE and effect is not None and effect.low > 1
    known = suspicious or (effect is not None and effect.low > 0 and not effect.unknown)
    cause, evidence = "; ".join(row.causes), row.causes
    if suspicious or row.verdict in (Verdict.SLOWER, Verdict.FASTER):
        why = explain(found, row)
        label = "cause unsure" if why.label is Label.UNSURE else why.label.value
        cause, evidence = f"{label}: {cause}", why.evidence
    return Finding(
        match.graph,
        *names[match.graph, new.name],
        change=change,
        kernel=" + ".join(k.name for k in match.b),
        old_kernel=" + ".join(k.name for k in match.a),
        region=match.region,
        module=" ".join(k.code_hash for k in match.b),
        old_module=" ".join(k.code_hash for k in match.a),
        old_us=None if row.a_ms is None else 1000 * row.a_ms,
        new_us=None if row.b_ms is None else 1000 * row.b_ms,
        ratio=effect.ratio if effect else None,
        **(fields(effect, "low high") if known else {}),
        launches=match.launches[1],
        old_launches=match.launches[0],
        change_us=row.change_us,
        verdict=row.verdict.value,
        processes=min(row.processes),
        cause=cause,
        evidence=evidence,
        config=settings(new) if single else None,
        old_config=settings(old) if single else None,
        reason=row.reason,
    )


def _lone(graph: str, kernel: KernelRecord, change: Change, names: Names) -> Finding:
    """A kernel that one of the runs alone has."""
    us = None if kernel.ms is None else 1000 * kernel.ms
    cost = None if us is None else us * kernel.launches
    found = Finding(graph, *names[graph, kernel.name], change, region=kernel.region)
    name, code, launches = kernel.name, kernel.code_hash, kernel.launches
    if change is Change.NEW:
        new = replace(found, kernel=name, module=code, new_us=us, change_us=cost)
        return replace(new, launches=launches, old_launches=0)
    saved = None if cost is None else -cost
    old = replace(found, old_kernel=name, old_module=code, old_us=us, change_us=saved)
    return replace(old, launches=0, old_launches=launches)


def sum_finding(one: Rollup) -> Finding:
    """A graph that launches other kernels: what was timed of it, as a whole."""
    effect = one.effect
    return Finding(
        one.name,
        "",
        f"{one.name} (sum)",
        Change.LAUNCHES,
        old_us=1000 * one.a_ms,
        new_us=1000 * one.b_ms,
        **fields(effect, "ratio low high"),
        change_us=1000 * one.a_ms * (effect.ratio - 1),
        verdict=one.verdict.value,
        cause="; ".join(one.work[:2]) or "launches other kernels",
        evidence=one.work,
        reason=one.reason,
    )


def _new_calls(before: Run, after: Run) -> Iterator[Count]:
    known = {graph.name: graph.calls for graph in before.graphs}
    for graph in after.graphs:
        reasons = {call.operator: call.reason for call in graph.library_calls}
        for name, count in graph.calls.items() if graph.name in known else ():
            old = known[graph.name][name]
            if count > old:
                yield Count(graph.name, name, old, count, reasons[name])


def _new_spills(matches: Iterable[Match]) -> Iterator[Count]:
    for match in matches:
        a, b = (max(k.metrics.get("spills", 0) for k in side) for side in match.sides)
        if b > a:
            yield Count(match.graph, short(match.b[0].name), a, b)


def suite_us(run: Run) -> float | None:
    """Microseconds of all kernels that were timed, launches counted; None if none was."""
    timed = [kernel.ms * kernel.launches for kernel in run.kernels if kernel.ms is not None]
    return 1000 * sum(timed) if timed else None
