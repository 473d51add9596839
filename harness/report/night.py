"""A night: its answer in one line and what it was made with, then the comparison of what was timed;
and its figures for a monitoring system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.history.nights import Change, Light, Night, cost
from harness.records.names import launched, short
from harness.report.comparison import View, comparison_report
from harness.report.output import Case, Report
from harness.table import MOST, Block, Row, Text, paragraphs, plural
from harness.verdicts.comparing import Comparison

_STYLES = {Light.GREEN: "bold green", Light.AMBER: "bold yellow", Light.RED: "bold red"}


def night_report(night: Night, found: Comparison) -> Report:
    """The whole answer; ``found`` is what was not the same, as it was timed."""
    compared = comparison_report(found, View(len(found.rows), more=""))
    said = {"light": night.light.value, "headline": headline(night)}
    untimed = night.static or not night.findings
    return Report(
        lambda: [*_blocks(night), *(() if untimed else list(compared.blocks())[1:])],
        lambda: {**said, **msgspec.to_builtins(night)},
        lambda: [*_rows(night, found)],
        lambda: [*_cases(night, found, compared.cases())],
        compared.most,
    )


def _cases(night: Night, found: Comparison, timed: Sequence[Case]) -> Iterator[Case]:
    """What was ``timed``, and a test for every other kernel, skipped if nothing is known of it: of
    a file without tests many a CI service says that nothing ran."""
    yield from timed
    said = {(row.match.graph, kernel.name) for row in found.rows for kernel in row.match.b}
    left = set(night.not_measured)
    for graph, k in ((g.name, k) for g in found.b.run.graphs for k in g.kernels):
        if (graph, k.name) not in said:
            why = "not measured" if f"{graph}/{k.name}" in left else ""
            why = (k.reason or "fails its check") if k.failed else why
            yield Case(graph, launched(k.name, k.launches), skipped=why)


def _rows(night: Night, found: Comparison) -> Iterator[Row]:
    """The findings, then the kernels that are none: what a green night consists of."""
    yield from (msgspec.to_builtins(one) for one in night.findings)
    said = {(one.graph, name) for one in night.findings for name in one.kernel.split(" + ")}
    before = {(g.name, k.name): k.ms for g in found.a.run.graphs for k in g.kernels}
    for graph, k in ((g, k) for g in found.b.run.graphs for k in g.kernels):
        if (graph.name, k.name) not in said:
            times = {"old": before.get((graph.name, k.name)), "new": k.ms}
            yield {
                "graph": graph.name,
                "label": short(k.name),
                "change": "same" if night.baseline else Change.NEW.value,
                "kernel": k.name,
                "region": k.region,
                "module": k.code_hash,
                **{f"{side}_us": ms and 1000 * ms for side, ms in times.items()},
                "launches": k.launches,
            }


def headline(night: Night) -> str:
    """The answer in one line: its light, and what it comes to."""
    said = []
    if found := night.regressions:
        us, suite = cost(found), night.suite_us
        share = f", {100 * us / suite:.2g} % of the suite" if suite else ""
        said.append(f"{plural(len(found), 'confirmed regression')}, {us:+.4g} µs{share}")
    if night.broken:
        said.append(f"{len(night.broken)} broken")
    if not said:
        judged = "nothing was timed" if night.static else "no confirmed regression"
        changed = judged if night.findings else "nothing changed"
        changed = changed if night.baseline else "the machine's first night"
        said.append(changed if night.counts else "there are no kernels to compare")
    said += [f"{plural(len(night.unjudged), 'kernel')} undecided"] * bool(night.unjudged)
    said += [f"{len(night.not_measured)} not measured"] * bool(night.not_measured)
    said += [f"{len(night.unexamined)} not checked"] * bool(night.unexamined)
    said += [one.partition(":")[0] for one in night.alike[:1]]
    said += [f"{len(night.alike) - 1} more look alike"] * (len(night.alike) > 1)
    return f"{night.light.name}: {', '.join(said)}"


def _blocks(night: Night) -> Iterator[Block]:
    yield Text(headline(night), wrapped=True, style=_STYLES[night.light])
    yield from paragraphs(_lines(night))
    calls = [f"{c.graph}: {c.name} {c.before} → {c.after} {c.reason}" for c in night.library_calls]
    spills = [f"{c.graph}: {c.name} {c.before} → {c.after} bytes" for c in night.spills]
    commits = [f"{c.sha[:10]} {c.subject} ({c.author})" for c in night.commits]
    waived = [f"{f.graph}/{f.label}: {f.waived}" for f in night.findings if f.waived]
    # Those whose own interval leaves out 1 stand in the comparison's table.
    rest = [f for f in night.unjudged if (f.low or 0) <= 1 <= (f.high or 2)]
    for title, sentences in (
        ("broken", night.broken),
        ("undecided", [f"{f.graph}/{short(f.kernel)}: {f.cause or f.reason}" for f in rest]),
        ("not compared, because it is not certain which became which", night.alike),
        ("not measured", night.not_measured),
        ("timed in their default configuration, not checked", night.unexamined),
        ("waived", waived),
        ("new library calls", calls),
        ("new spills", spills),
        ("commits", commits),
    ):
        more = [f"  and {len(sentences) - MOST} more"] * (len(sentences) > MOST)
        if sentences:
            yield from (Text(), Text(f"{title}:", style="bold"))
            yield from paragraphs([*(f"  {one}" for one in sentences[:MOST]), *more])
    yield Text()


def _lines(night: Night) -> Iterator[str]:
    counted = ", ".join(f"{number} {name}" for name, number in night.counts.items())
    yield f"{night.machine}: {counted or 'no kernels'}"
    if differs := night.baseline_toolchain.differences(night.toolchain):
        counts = "only texts are compared" if night.static else "everything counts as changed"
        yield f"the toolchain changed, so {counts}: {', '.join(differs)}"
    yield ", ".join(f"{name} {seconds:.0f} s" for name, seconds in night.seconds.items())
    yield from (f"note: {note}" for note in night.notes)
    if night.static and night.baseline and night.findings:
        yield f"static figures: harness compare --static {night.baseline} {night.run}"
    if night.regressions:
        worst = night.regressions[0]
        yield f"why: harness why {worst.name} {night.baseline} {night.run} --graph {worst.graph}"
        if line := worst.waiver(night.commit):
            yield f"waive, in acknowledged.txt: {line}"


def openmetrics(night: Night) -> str:
    """The night in OpenMetrics' text format: counts, and what each regression costs."""
    from prometheus_client import CollectorRegistry, Gauge
    from prometheus_client.openmetrics import exposition

    known, own = CollectorRegistry(), (night.machine, night.suite)

    def gauge(name: str, what: str, values: Mapping[str, float | None], *labels: str) -> None:
        made = Gauge(f"harness_night_{name}", what, ("machine", "suite", *labels), registry=known)
        for key, value in values.items():
            if value is not None:
                made.labels(*own, *key.split("/", len(labels) - 1)[: len(labels)]).set(value)

    found = night.regressions
    of = {f"{'graph' if f.is_sum else 'kernel'}/{f.waivable}": f.change_us or 0.0 for f in found}
    costs = {key: us / 1e6 for key, us in of.items()}
    suite = None if night.suite_us is None else night.suite_us / 1e6
    gauge("status", "Exit status of harness nightly", {"": night.status})
    gauge("kernels", "Kernels by what became of them", {**night.counts}, "change")
    gauge("regressions", "Confirmed slowdowns that nobody waived", {"": len(found)})
    what = "What each costs, launches counted; a graph's holds its kernels'"
    gauge("slower_seconds", what, {**costs}, "of", "graph", "kernel")
    gauge("regression_seconds", "What they cost together", {"": cost(found) / 1e6})
    gauge("suite_seconds", "What all kernels take, launches counted", {"": suite})
    gauge("resolved_ratio", "Relative slowdown that would have been found", {"": night.resolved})
    gauge("phase_seconds", "Wall clock of the night's phases", {**night.seconds}, "phase")
    return exposition.generate_latest(known).decode()  # type: ignore[no-untyped-call]
