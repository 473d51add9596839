"""A night: generate, compare with the accepted run by what executes, look at what is new, time old
against new, confirm what looks slower, keep everything. ``harness nightly`` prints what comes back.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import NoDevice, RecordError, UnknownName, UsageError
from harness.files import readable
from harness.history import nights, store
from harness.history.changes.waivers import Waiver
from harness.history.commits import order
from harness.history.journal import Journal, Memory
from harness.history.nights import Change, Finding, Night, NightCommit
from harness.history.renaming import aligned
from harness.measure.jobs import Effort, Follow, PairSamples
from harness.measure.noise.judge import Rules, Verdict
from harness.measure.pairs import MOVED
from harness.options import Options
from harness.records.lines import Kept
from harness.records.names import short, some
from harness.records.run import GraphRecord, KernelRecord, Run, one_line
from harness.session.ahead import recorded, shared
from harness.session.entries import Entry, corpus_folder, find_graphs, is_file, part_of
from harness.session.model import BoardLost, GraphDone, GraphStarted, KernelDone
from harness.session.plan import Plan, Request, prepare
from harness.table import plural
from harness.verdicts import generating, night_plan
from harness.verdicts.comparing import WAIVED, Comparison, Side, assemble
from harness.verdicts.confirming import LOST, NOT_REACHED, Workplace, time_matches
from harness.verdicts.night_plan import CONFIRM, DETECT, Sorting, key_of
from harness.verdicts.night_record import night_of, suite_us, sum_finding, toolchain
from harness.verdicts.pairing import Match
from harness.verdicts.problems import broken_in
from harness.verdicts.totals import Rollup, Scope, scopes

FINE, REGRESSED, UNUSABLE, BROKEN, NOTHING_JUDGED, STATIC = range(6)
"""Exit statuses: those of ``harness compare``, and that of a night without a GPU in which something
changed."""
CONFIRMING = Rules(alpha=0.005)
"""A night in which nothing changed its speed is red once in 200 nights at most: what is SLOWER is
so by fresh processes alone, which did not choose it."""
_LACKING = "the binary that the earlier Triton compiled is not in the cache"
_NO_GPU = "no GPU here: compared by text and binary, nothing is timed"
_EXAMINING, _DETECTING = 0.6, 0.9
"""Shares of the budget: when no more new kernels are looked at, and when no more pairs are timed
for the first time. What is left confirms."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a night is asked for. ``baseline``: a run instead of the accepted one; ``minutes``: the
    budget; ``waivers`` are known changes; ``accept_green``: a night in which nothing became slower
    moves the baseline, for ``who``."""

    request: Request
    baseline: str | None = None
    minutes: float | None = None
    waivers: tuple[Waiver, ...] = ()
    accept_green: bool = False
    who: str = ""


def nightly(
    options: Options, ask: Ask, say: Callable[[str], None], follow: Follow
) -> tuple[Night, Comparison]:
    """Make a night and keep it; what was not the same comes with it as a comparison. ``say`` hears
    sentences. A GPU that is lost, a disk that is full or a budget that is used up on the way is
    said in the night, which holds what was measured; Ctrl-C leaves a run from which the next night
    goes on.

    Raises ``UsageError`` for names that are not there, a baseline without modules and a night in
    progress; ``RecordError`` where nothing can be recorded."""
    return _Night(options, ask, say, follow).run()


@dataclass(eq=False, slots=True)
class _Night:
    """A night in progress. ``trouble`` says what ended a part of it early, ``left`` what was not
    reached, or not examined, ``alike`` which graphs may be one, ``before`` what renamed ones were
    called in the baseline; ``apart`` counts the baseline's graphs that were not asked for;
    ``lacking``: kernels whose binary of the earlier Triton is gone."""

    options: Options
    ask: Ask
    say: Callable[[str], None]
    follow: Follow
    trouble: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    alike: list[str] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    confirmed: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    apart: int = 0
    began: float = field(default_factory=time.monotonic)
    kept: Kept[PairSamples] | None = None

    def run(self) -> tuple[Night, Comparison]:
        """From the graphs to the night's file."""
        with contextlib.ExitStack() as stack:
            request = replace(self.ask.request, patient=True)
            plan = stack.enter_context(prepare(self.options, request))
            if not plan.session.entries:
                remedy = "declare some, or name another: --suite"
                raise UsageError("the suite has no graphs", where=request.suite, remedy=remedy)
            self.notes += [*plan.notes, *([] if plan.timed else [_NO_GPU])]
            results, machine = self.options.results, plan.run.machine
            folder = results / machine.key
            with nights.one_at_a_time(folder):
                where = (results, machine, plan.run.target, self.ask.baseline)
                base, note = nights.find_baseline(*where)
                self.notes += [note] if note else []
                if base.graphs and not any(kernel.module for kernel in base.kernels):
                    raise UsageError(
                        "the baseline has no modules: nothing can be compared with it",
                        where=base.id,
                        expected="a run of harness run or harness nightly",
                        remedy="accept another run: harness accept RUN --why …",
                    )
                with self._phase("generate"):
                    run, made = self._generated(plan)
                base = self._asked(base, run)
                a = night_plan.with_known_times(base, results)
                sorting = night_plan.sort(a, night_plan.carried_over(base, run), timed=plan.timed)
                sink = stack.enter_context(Journal(results, run, self.say))
                with self._phase("examine"):
                    run = self._examined(sorting, made, plan, sink)
                if plan.timed:
                    self.kept = stack.enter_context(nights.kept_pairs(folder, run, toolchain(run)))
                found = self._judged(night_plan.sort(a, run, timed=plan.timed), plan, sink, stack)
                if self.kept is not None and not self.trouble:
                    self.kept.clear()
                return found

    def _judged(
        self, sorting: Sorting, plan: Plan, sink: Memory, held: contextlib.ExitStack
    ) -> tuple[Night, Comparison]:
        found = self._timed(sorting, plan) if plan.timed else None
        for graph in sorting.b.graphs:
            sink.add_graph(graph)
        sink.update(plan.ended(sink.run))
        sink.finish()
        held.close()  # gives the GPU back, makes the run's file
        if not sorting.b.kernels:
            self.trouble.append("no graph has a kernel")
        if sink.refused:
            self.trouble.append("not everything could be written")
        self.seconds["all"] = round(time.monotonic() - self.began, 3)
        night, whole = self._night(sorting, found, plan, sink)
        return self._kept(night), whole

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 3)

    def _remaining(self, share: float = 1.0) -> float:
        """Seconds until this share of the budget is used up."""
        return max(0.0, self.began + 60 * share * (self.ask.minutes or math.inf) - time.monotonic())

    def _generated(self, plan: Plan) -> tuple[Run, dict[str, Entry]]:
        """What the compiler makes of the suite."""
        entries, made = plan.session.entries, dict[str, Entry]()
        jobs = self.ask.request.jobs or self.options.jobs
        self.follow("generating", 0, len(entries))
        cache = None if self.options.verify else self.options.kept_cache
        graphs, known = dict[int, GraphRecord](), 0
        for entry, record, done in recorded(entries, jobs, cache, plan.run.suite):
            if done is not None:
                less = replace(done, failures=(), regions=())
                made |= shared([entry], iter([(entry, less)]))
            known += done is None and not record.failed
            graphs[id(entry)] = record
            self.follow(f"generating, last {entry.name}", len(graphs), len(entries))
        if known:
            same = f"{known} of {plural(len(entries), 'graph')} not generated again"
            self.notes.append(f"{same}: the compiler and their texts are as they were")
        return replace(plan.run, graphs=tuple(graphs[id(entry)] for entry in entries)), made

    def _asked(self, base: Run, run: Run) -> Run:
        """The baseline, its graphs called as they are now, without those that nobody asked for:
        they have not ended."""
        request = self.ask.request
        found = aligned(base, run, self._declared() if request.names else ())
        called, self.alike = found.called, found.doubts
        self.before = {new: old for old, new in called.items() if old not in called.values()}
        self.notes += found.notes
        mine = {graph.name for graph in run.graphs} if request.names else None
        asked = tuple(g for g in found.run.graphs if mine is None or g.name in mine)
        self.apart = len(base.graphs) - len(asked)
        if self.apart:
            self.notes.append(f"{plural(self.apart, 'graph')} of the baseline not asked for")
        return replace(base, graphs=asked)

    def _declared(self) -> list[str] | None:
        """The graphs of the suite, if some of its names are asked for; None: nobody knows."""
        names, suite = self.ask.request.names, self.ask.request.suite
        if any(map(is_file, names)) or corpus_folder(self.options, suite) is not None:
            return None
        with contextlib.suppress(UnknownName):
            return [graph.name for graph in find_graphs(self.options, suite, ())]
        return None

    def _examined(self, sorting: Sorting, made: dict[str, Entry], plan: Plan, sink: Memory) -> Run:
        """Tonight's run, what is new checked, tuned and compiled for its static metrics. What an
        interrupted night of the commit found out about the same text is known."""
        wanted = night_plan.to_examine(sorting, timed=plan.timed)
        known = self._before(sorting, timed=plan.timed) if wanted else {}
        keys = ((graph, k.name, k.module) for graph, k in wanted)
        found = {key[:2]: known[key] for key in keys if key in known}
        configs: dict[str, dict[str, Any]] = {}
        before = {(m.graph, m.b[0].name): m.a[0].config for m, _ in sorting if m.single}
        todo = [(graph, k) for graph, k in wanted if (graph, k.name) not in found]
        for graph, kernel in todo:
            old = before.get((graph, kernel.name))
            configs.setdefault(graph, {})[kernel.name] = (kernel.config, old)
        session = plan.session
        whole = {entry.name: entry for entry in session.entries} | made
        session.entries = [part_of(whole[name], only) for name, only in configs.items()]
        session.processes = 1 if sorting.a.graphs else DETECT
        session.until = until = time.monotonic() + self._remaining(_EXAMINING)
        if session.entries:
            self.follow("taking the GPU" * plan.timed or "compiling", len(found), len(wanted))
        try:
            with contextlib.closing(session.events()) as events:
                for event in events if session.entries else ():
                    match event:
                        case GraphStarted():
                            self.follow(f"checking {event.name}", len(found), len(wanted))
                        case KernelDone(graph, kernel):
                            found[graph, kernel.name] = kernel
                            sink.add_kernel(graph, kernel)
                            said = f"examining, last {short(kernel.name)}"
                            self.follow(said, len(found), len(wanted))
                        case BoardLost():
                            self.notes.append(str(event))
                        case GraphDone(record):
                            found |= {(record.name, k.name): k for k in record.kernels}
                        case _:
                            pass
                    if not plan.timed and time.monotonic() > until:
                        break  # what was timed waits for its static metrics instead
        except NoDevice as error:
            self.trouble.append(f"{LOST} while new kernels were examined: {one_line(error)}")
        self.left += [f"{graph}/{k.name}" for graph, k in todo if (graph, k.name) not in found]
        return sorting.b.mapped(lambda graph, k: found.get((graph, k.name), k))

    def _before(self, sorting: Sorting, *, timed: bool) -> dict[tuple[str, str, str], KernelRecord]:
        """What the machine's newest run, and interrupted nights of the same commit, found out about
        the same text. The newest run's times are not tonight's, so what has no other, because
        nothing in the baseline does its work, is examined again; and what failed there."""
        run, alone = sorting.b, {(g, k.name) for g, k in sorting.pairing.appeared if timed}
        mine = store.runs(self.options.results, run.machine.key)
        tried = store.of_commit(self.options.results, run.commit) if run.commit else []
        known: dict[bool, dict[tuple[str, str, str], KernelRecord]] = {False: {}, True: {}}
        paths = dict.fromkeys([*mine[-1:], *(path for path in tried if path in mine)])
        for one in readable(
            store.load, paths, lambda why: self.notes.append(f"passed over: {why}")
        ):
            resumed = not one.complete and one.commit == run.commit
            for graph in one.graphs if toolchain(one) == toolchain(run) else ():
                for k in graph.kernels:
                    if (k.config or not timed) and (k.metrics or k.failed):
                        known[resumed][graph.name, k.name, k.module] = k
        if known[True]:
            said = plural(len(known[True]), "kernel")
            self.say(f"{said} known from a night that was interrupted")
        return {
            key: replace(k, ms=None, low=None, high=None, gbps=None, fraction=None, sets=())
            for key, k in known[False].items()
            if not k.failed and key[:2] not in alone
        } | known[True]

    def _timed(self, sorting: Sorting, plan: Plan) -> Comparison | None:
        """Old against new, and once more what looks slower. None where nothing was timed."""
        old = sorting.a.machine.triton
        triton = old if old != sorting.b.machine.triton else ""
        here = Workplace(self.options.cache, self.options.jobs, triton=triton, kept=self.kept)
        place = replace(here, target=plan.session.target, devices=plan.devices)
        controls, wanted = night_plan.to_time(sorting)
        matches = sorting.pairing.matches
        if triton:  # what the earlier Triton compiled is known by its binary alone
            gone = {n for n in wanted if not all(map(place.keeps, matches[n].a))}
            self.lacking = frozenset(key_of(matches[n]) for n in gone)
            wanted = [n for n in wanted if n not in gone]
        fits = night_plan.within(len(controls) + len(wanted), self._remaining(_DETECTING))
        wanted = wanted[: max(0, fits - len(controls))]
        if not wanted:
            return None
        effort = Effort(DETECT, seconds=self._remaining(_DETECTING), seed=DETECT)
        first = self._interleaved("time", sorting, controls + wanted, replace(place, effort=effort))
        suspects = first and night_plan.doubted(sorting, first, wanted)
        if first is None or not suspects:
            return first
        effort = Effort(CONFIRM, seconds=self._remaining(), seed=CONFIRM)
        chosen = controls[: (len(controls) + 1) // 2] + suspects
        confirming = replace(place, effort=effort, rules=CONFIRMING)
        again = self._interleaved("confirm", sorting, chosen, confirming)
        found, self.confirmed = night_plan.after_confirming(first, again, sorting.restructured)
        return found

    def _interleaved(
        self, phase: str, sorting: Sorting, chosen: Sequence[int], place: Workplace
    ) -> Comparison | None:
        said = {"time": "timing", "confirm": "confirming"}[phase]
        place = replace(place, follow=lambda done, total: self.follow(said, done, total))
        self.follow(f"compiling before {said}", 0, len(chosen) * place.effort.processes)
        matches = tuple(sorting.pairing.matches[n] for n in chosen)
        pairing = replace(sorting.pairing, matches=matches)
        with self._phase(phase):
            try:
                found = time_matches(_sides(sorting), pairing, place)
            except NoDevice as error:
                self.trouble.append(f"{LOST} before anything was timed: {one_line(error)}")
                return None
        self.trouble += [note for note in found.notes if note.startswith(LOST)]
        self.notes += [note for note in found.notes if MOVED in note]
        if any(note.startswith("interrupted") for note in found.notes):
            raise KeyboardInterrupt
        return found

    def _night(
        self, sorting: Sorting, found: Comparison | None, plan: Plan, sink: Memory
    ) -> tuple[Night, Comparison]:
        """Everything as one record, and what was not the same as a comparison."""
        a, b = _sides(sorting)
        changes = {key_of(match): change for match, change in sorting}
        timed = {key_of(row.match) for row in found.rows} if found else set()
        rest = [m for m, change in sorting if change and key_of(m) not in timed]
        reasons = [
            _LACKING if key_of(m) in self.lacking else _untimed(m, changes[key_of(m)], plan.timed)
            for m in rest
        ]
        pairing = replace(sorting.pairing, matches=tuple(rest))
        bare = assemble(a, b, pairing, reasons, Rules(), paired=True)
        whole = replace(found or bare, rows=(*(found.rows if found else ()), *bare.rows))
        whole = replace(whole, notes=(), broken=broken_in(a, b, sorting.pairing.matches))
        commits = self._commits(a.run.commit, b.run.commit or "no commit")
        night = night_of(whole, commits, lambda row: changes[key_of(row.match)])
        findings = [self._finding(one) for one in night.findings if night.baseline]
        sums = [r for r in found.rollups if r.level == "graph"] if found else []
        of_graphs = [sum_finding(r) for r in sums if r.name in sorting.restructured]
        findings += [replace(f, confirmed=f.graph in self.confirmed) for f in of_graphs]
        self.left += [f"{f.graph}/{f.kernel}" for f in findings if f.reason == NOT_REACHED]
        waived = list(self._waived(findings, [c.sha for c in commits] or [b.run.commit]))
        times = [(m, m.a[0].ms) for m in sorting.pairing.matches]
        times += [(row.match, row.b_ms) for row in whole.rows if row.b_ms]
        known = {(m.graph, m.b[0].name): ms for m, ms in times if len(m.b) == 1}
        timed_before = sorting.b.mapped(lambda g, k: replace(k, ms=k.ms or known.get((g, k.name))))
        judged = {f"{f.graph}/{f.kernel}" for f in findings if f.ratio is not None}
        left = tuple(name for name in dict.fromkeys(self.left) if name not in judged)
        unchecked = tuple(name for name in self.left if name in judged)
        counts = {**night.counts, "same": sorting.changes.count(None), "not measured": len(left)}
        counts["not examined"] = len(unchecked)
        bad = [(g, k) for g, k in pairing.appeared if k.failed]
        new = (f"{g}: {k.name} {k.reason or 'fails its check'}" for g, k in bad)
        night = replace(
            night,
            run=sink.run.id if sink.path else "",
            findings=tuple(waived),
            counts={name: number for name, number in counts.items() if number},
            not_measured=left,
            unexamined=unchecked,
            alike=(*self.alike, *sorting.pairing.alike),
            broken=(*night.broken, *new),
            notes=(*self.notes, *self.trouble),
            seconds=self.seconds,
            suite_us=suite_us(timed_before),
            static=not plan.timed,
            complete=not self.trouble,
        )
        night = replace(night, status=self._status(night, found))
        return night, replace(_without_waived(whole, waived), broken=night.broken)

    def _commits(self, old: str, new: str) -> list[NightCommit]:
        """What came after the baseline, newest first; where git does not know, that is a note."""
        try:
            found = generating.commits(Path.cwd(), old, new)[1:] if old and new != old else []
        except UsageError as error:
            self.notes.append(f"the commits since the baseline are not known: {error.got}")
            found = []
        return [NightCommit(one.commit, one.title, one.author) for one in reversed(found)]

    def _finding(self, one: Finding) -> Finding:
        sure = one.verdict == Verdict.SLOWER.value and f"{one.graph}/{one.kernel}" in self.confirmed
        return replace(one, confirmed=sure)

    def _status(self, night: Night, found: Comparison | None) -> int:
        if night.regressions:
            return REGRESSED
        if night.broken:
            return BROKEN
        if self.trouble:
            return UNUSABLE
        if night.static:
            return STATIC if any(one.change is not Change.ENDED for one in night.findings) else FINE
        decided = found is not None and any(r.effect and not r.identical for r in found.rows)
        unknown = night.unjudged or night.not_measured or night.alike
        return NOTHING_JUDGED if unknown and not decided else FINE

    def _waived(self, found: Sequence[Finding], commits: Sequence[str]) -> Iterator[Finding]:
        today = dt.datetime.now(dt.UTC).date()
        places, _ = order.read_line(Path.cwd()) if self.ask.waivers else ({}, "")
        for one in found:
            earlier = replace(one, graph=self.before.get(one.graph, one.graph))
            names = {one.waivable, earlier.waivable}
            about = "ms", names, commits, places
            waivers = self.ask.waivers if one.verdict == Verdict.SLOWER.value else ()
            first = (w for w in waivers if w.covers(*about) and w.allows(one.ratio, today))
            yield replace(one, waived=next((waiver.reason for waiver in first), ""))

    def _kept(self, night: Night) -> Night:
        """Write the night; where that fails, below the temporary folder."""
        try:
            nights.save(self.options.results, night)
        except RecordError as error:
            spare = Path(tempfile.mkdtemp(prefix="harness-night-"))
            self.say(f"{error.where}: {error.what}; the night is in {spare}")
            night = replace(night, complete=False, status=night.status or UNUSABLE)
            nights.save(spare, night)
            return night
        whole = not (night.unknown or self.apart)
        green = self.ask.accept_green and night.status == FINE and whole
        if night.run and night.counts and not night.dirty and (green or not night.baseline):
            reason = "nothing became slower" if night.baseline else "the machine's first night"
            about = (night.run, night.commit, self.ask.who, night.created, reason, night.id)
            nights.accept(self.options.results / night.machine, nights.Accepted(*about))
        elif night.run and night.dirty and not night.baseline:
            self.say("the tree differs from its commit: tonight's run is no baseline")
        return night


def _sides(sorting: Sorting) -> tuple[Side, Side]:
    a, b = (replace(run, complete=True) for run in (sorting.a, sorting.b))
    return Side("baseline", a, a.id), Side("tonight", b, b.id)


def _without_waived(found: Comparison, findings: Sequence[Finding]) -> Comparison:
    """``found``, in which what is waived is not SLOWER, nor a sum that is for its sake: that names
    what in it is waived, and what else looks slower."""
    kernels = {f"{one.graph}/{one.kernel}" for one in findings if one.waived}
    said: dict[Scope, dict[str, list[str]]] = {}
    for one in findings:
        doubted = one.verdict == Verdict.UNSURE.value and (one.low or 0.0) > 1
        if one.waived or doubted or one.regressed:
            what = WAIVED if one.waived else "regressed" if one.regressed else "not confirmed"
            for scope in scopes(one.graph, one.region):
                said.setdefault(scope, {}).setdefault(what, []).append(short(one.name))

    def told(one: Rollup) -> Rollup:
        by = said.get((one.level, one.name), {})
        if one.verdict is not Verdict.SLOWER or WAIVED not in by or "regressed" in by:
            return one
        work = (f"{what}: {some(by[what])}" for what in (WAIVED, "not confirmed") if what in by)
        effect = replace(one.effect, verdict=Verdict.UNSURE)
        return replace(one, effect=effect, work=(*work, *one.work))

    rows = (
        replace(row, verdict=Verdict.UNSURE, reason=WAIVED) if key_of(row.match) in kernels else row
        for row in found.rows
    )
    return replace(found, rows=tuple(rows), rollups=tuple(map(told, found.rollups)))


def _untimed(match: Match, change: Change | None, timed: bool) -> str:
    """Why there is no time of a match tonight."""
    if (failed := next((k for k in match.b if k.failed), None)) is not None:
        return failed.reason or "fails its check"
    if change is Change.NEW:
        return "the baseline has no time of it"
    return NOT_REACHED if timed else _NO_GPU
