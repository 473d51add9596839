"""The first page: what a person has to do this morning, and whether the figures can be believed.

It shows a ``Night``: that of ``harness nightly``, or where there is none the same statements made
of the comparison of a machine's two newest runs (``night_of``). What the history adds: since when,
and what became slower in earlier nights and still is.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.history.changes.changes import Change
from harness.history.nights import Change as Why
from harness.history.nights import Finding, Light, Night, NightCommit, cost
from harness.ir.reach import grouped
from harness.measure.noise.judge import Verdict
from harness.records import modules
from harness.records.causes import setting_changes
from harness.records.names import short
from harness.records.run import Run
from harness.report.site.data import Kernel, Site
from harness.table import plural
from harness.verdicts.night_record import suite_us
from harness.verdicts.totals import model_of


@dataclass(frozen=True, slots=True)
class Action:
    """Something to act on: ``kind`` is ``broken``, ``confirmed``, ``slower`` (not confirmed by
    fresh processes), ``suspected`` or, among the improvements, ``faster``. ``since`` is the first
    commit that shows it, ``last_good`` the one measured before; ``new``: it is tonight's.
    ``confirm`` is the command that settles it, ``waive`` the line of the waivers' file that accepts
    it, empty for a run of no commit."""

    kind: str
    finding: Finding
    kernel: Kernel | None = None
    since: NightCommit | None = None
    last_good: NightCommit | None = None
    new: bool = True
    confirm: str = ""
    waive: str = ""


@dataclass(frozen=True, slots=True)
class Tonight:
    """The first page. ``light`` is ``red``, ``amber``, ``green``, or ``grey`` where there was
    nothing to judge; ``defaults`` are kernels whose default configuration is another one;
    ``since_last`` is by model what changed kernels take more since the baseline, in µs."""

    light: str
    headline: str
    detail: str
    night: Night
    actions: tuple[Action, ...] = ()
    better: tuple[Action, ...] = ()
    defaults: tuple[tuple[Kernel, str], ...] = ()
    since_last: dict[str, float] = field(default_factory=dict)


def first_page(site: Site, night: Night | None) -> Tonight:
    """What there is to say this morning: of the ``night``, of what the history shows, and of the
    newest run, which alone is there on a machine's first night."""
    newest, (actions, better) = site.newest, _actions(site, night)
    suite = (night.suite_us if night else None) or suite_us(newest)
    light, headline = _headline(actions, better, night, suite)
    kernels = newest.counts()["total"]
    detail = f"{plural(kernels, 'kernel')} in {plural(len(newest.graphs), 'graph')}"
    if night is not None:
        detail = ", ".join(f"{number} {what}" for what, number in night.counts.items() if number)
        if night.resolved is not None:
            detail += f"; tonight could resolve about ±{100 * night.resolved:.2g} %"
    number, of = newest.id, newest.machine.key
    shown = night or Night(
        number, of, newest.created, number, newest.commit, complete=newest.complete
    )
    defaults = tuple(_defaults(site, night)) if night else ()
    since = _since_last(night, newest)
    return Tonight(light, headline, detail, shown, actions, better, defaults, since)


_ORDER = ("broken", "confirmed", "slower", "suspected", "faster")


def _actions(site: Site, night: Night | None) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """What is worse and what is better: tonight's findings, each with the commit at which the
    history sees it, and what the history shows besides."""
    stands = {
        (kernel.graph, kernel.key): (change, kernel)
        for kernel in site.kernels
        for change in kernel.line.changes
        if _kind_of_change(site, change)
    }
    found = [] if night is None else [_broken(sentence) for sentence in night.broken]
    for finding in night.findings if night else ():
        if (kind := _kind(finding)) and night is not None:
            known = stands.pop((finding.graph, finding.series), None)
            found.append(_tonights(site, night, finding, kind, known and known[0]))
    found += [_standing(site, change, kernel) for change, kernel in stands.values()]
    found.sort(key=lambda one: (_ORDER.index(one.kind), -abs(one.finding.change_us or 0.0)))
    worse = tuple(one for one in found if one.kind != "faster")
    return worse, tuple(one for one in found if one.kind == "faster")


def _kind(finding: Finding) -> str:
    """What is to be done about a finding; empty if nothing, as where all launches take less."""
    if finding.waived:
        return ""
    if finding.verdict == Verdict.SLOWER.value:
        return "confirmed" if finding.confirmed else "slower"
    less = (finding.change_us or 0.0) < 0
    if finding.verdict == Verdict.UNSURE.value and (finding.low or 0) > 1 and not less:
        return "suspected"
    return "faster" if finding.verdict == Verdict.FASTER.value else ""


def _kind_of_change(site: Site, change: Change) -> str:
    if change.regression or change.suspected:
        return "confirmed" if change.regression else "suspected"
    fine = change.confirmed and not (change.worse or change.recovered or change.machine)
    return "faster" if fine and site.is_newest(change) else ""


def _tonights(
    site: Site, night: Night, finding: Finding, kind: str, change: Change | None
) -> Action:
    """A finding; ``change``: what the history knows of it."""
    kernel = site.called.get((finding.graph, finding.series))
    if change is not None and change.regression and kind in ("slower", "suspected"):
        kind = "confirmed"
    since, good = night.commit or night.run, night.baseline_commit or night.baseline
    if change is not None:
        since, good = change.commit, change.before
    sides = [night.baseline_commit[:12], night.commit[:12]]
    if not all(sides) or sides[0] == sides[1]:
        sides = [night.baseline, night.run]
    confirm = shlex.join(["harness", "confirm", *sides, short(finding.name)])
    commits = site.commit(since), site.commit(good)
    return Action(kind, finding, kernel, *commits, confirm=confirm, waive=finding.waiver(since))


def _standing(site: Site, change: Change, kernel: Kernel) -> Action:
    """What the history shows and tonight's comparison does not."""
    launches, size = kernel.record.launches, change.size or 0.0
    finding = Finding(
        kernel.graph,
        kernel.key,
        kernel.label,
        Why.CHANGED,
        kernel.record.name,
        old_us=1000 * change.old,
        new_us=1000 * change.new,
        ratio=1 + size,
        low=None if change.low is None else 1 + change.low,
        high=None if change.high is None else 1 + change.high,
        launches=launches,
        change_us=1000 * (change.new - change.old) * launches,
        cause="; ".join(change.causes),
    )
    confirm = ["harness", "confirm", change.before[:12], change.commit[:12], kernel.name]
    said = shlex.join(confirm), finding.waiver(change.commit)
    commits = site.commit(change.commit), site.commit(change.before)
    kind, new = _kind_of_change(site, change), site.is_newest(change)
    return Action(kind, finding, kernel, *commits, new, *said)


def _broken(sentence: str) -> Action:
    place, _, rest = sentence.partition(" ")
    graph, _, name = place.partition("/")
    return Action("broken", Finding(graph, "", name, Why.CHANGED, cause=rest or sentence))


def _headline(
    actions: Sequence[Action], better: Sequence[Action], night: Night | None, suite: float | None
) -> tuple[str, str]:
    by = Counter(action.kind for action in actions)
    words = {
        "confirmed": plural(by["confirmed"], "confirmed regression"),
        "slower": plural(by["slower"], "regression") + " to confirm",
        "broken": f"{by['broken']} broken",
    }
    said = [text for kind, text in words.items() if by[kind]]
    counted = [one for one in actions if one.kind != "suspected" or not said]
    us = sum(cost(one.finding for one in counted if one.new is new) for new in (True, False))
    share = f", {100 * us / suite:.2g} % of the suite" if suite else ""
    if said:
        return "red", ", ".join(said) + (f", {_us(us)}{share}" if us else "")
    if by["suspected"]:
        return "amber", f"{plural(by['suspected'], 'suspected regression')}, {_us(us)}{share}"
    if suite is None:
        return "grey", "Nothing was timed"
    if night is None:
        return "grey", "First measurement: nothing to compare with yet"
    faster = f", {plural(len(better), 'improvement')}" if better else ""
    if night.light is Light.AMBER:
        left = len(night.unjudged) + len(night.unknown)
        return "amber", f"No regression found{faster}; {left} could not be judged"
    return "green", f"No regression found{faster}"


def _us(value: float) -> str:
    return f"{value:+.0f} µs" if abs(value) >= 100 else f"{value:+.2g} µs"


def _defaults(site: Site, night: Night) -> Iterator[tuple[Kernel, str]]:
    """Kernels whose module has another first choice since the baseline, and which."""
    tonight = {commit.sha for commit in night.commits} | {night.commit}
    for kernel in site.kernels:
        if kernel.recoded is not None and kernel.recoded.until in tonight:
            texts = (kernel.recoded.record.module, kernel.record.module)
            if changed := setting_changes(*(modules.facts(text).best for text in texts)):
                yield kernel, ", ".join(changed)


def _since_last(night: Night | None, newest: Run) -> dict[str, float]:
    """By model of the newest run, the microseconds that its kernels take more than in the baseline:
    those that are the same take the same, whatever the machine made of them. A model of which the
    baseline lacks a graph is left out."""
    if night is None or not night.baseline:
        return {}
    new = Counter(one.graph for one in night.findings if one.change is Why.NEW)
    every = [(model_of(graph.name), graph) for graph in newest.graphs]
    lacking = {model for model, graph in every if 0 < len(graph.kernels) == new[graph.name]}
    by_model = grouped(night.findings, lambda one: model_of(one.graph))
    return {model: cost(by_model.get(model, ())) for model, _ in every if model not in lacking}
