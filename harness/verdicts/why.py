"""Why a kernel takes another time: one cause, with the figures that it rests on.

What differs between the two sides is a fact (``causes``); whether the time moved, beyond what moved
every kernel, is a verdict with an error rate (``comparing``). A cause is named where the time moved
and one difference alone, or figures that separate several, can have done it. Where that is open
the answer is ``UNSURE``, never a guess. docs/why.md has the rules.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.measure.noise.judge import Verdict
from harness.records import modules, names
from harness.records.causes import clock_change, version_changes
from harness.records.run import GraphRecord, KernelRecord, Run, fields, region_of
from harness.records.trials import Trial, standard_error
from harness.verdicts import causes
from harness.verdicts.comparing import Comparison, Row
from harness.verdicts.pairing import Match, all_nodes, named, nodes_of

_MOVED = 0.01
"""Chance that a kernel which did not change is said to have moved. One kernel is asked about, so
this is no family's rate, as the table's 5 % is."""
_WIDER = 1.6
"""A 99 % interval by one of 95 %: Student's t with 5 degrees of freedom (4.03 ÷ 2.57)."""
_FAR = math.log(1.1)
"""A change that counts although the noise between processes or runs had to be assumed: beyond the
largest difference (7.3 %) of recorded runs of the same code, as ``Rules.tuning``."""
_TOGETHER, _SURELY = 0.0025, 3.0
"""What moved all kernels is a cause from 0.25 % and three standard errors: the steps by which
boards of one kind differ begin at 0.4 % (docs/measurements/verdicts.md)."""
_MOST = 2 / 3
"""Share of a change that the one of two differences must account for to be its cause."""
_TRIAL_ERROR = 0.005
"""Least relative standard error of a difference between trials of two tunings, which ran in two
processes, some of them on two boards (0.4 to 0.8 % a kernel)."""


class Label(enum.Enum):
    """What made a kernel take another time."""

    SOURCE = "source changed"
    FUSION = "fused differently"
    CONFIGURATION = "configuration changed"
    TOOLCHAIN = "toolchain changed"
    MACHINE = "clocks or machine"
    NOISE = "noise"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Why:
    """The cause of a kernel's other time in B, or why none can be named.

    ``evidence`` are sentences with figures, most telling first; ``commands`` look further;
    ``differs`` is everything that could be a cause, whether it is or not. ``ratio`` is B ÷ A with
    its 95 % interval, without what moved every kernel (None: not judged). ``diff`` is the code's.
    ``commit`` is the first one between A and B with another text (identifier, subject, author) and
    ``stage`` the first stage of the compiler that makes something else there, where they were
    looked for."""

    graph: str
    kernel: str
    label: Label
    evidence: tuple[str, ...]
    commands: tuple[str, ...] = ()
    differs: tuple[Label, ...] = ()
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    diff: str = ""
    commit: str = ""
    stage: str = ""


def of_kernel(found: Comparison, name: str) -> list[Why]:
    """The causes for every kernel that ``name`` (or pattern) means on either side, a graph's name
    for all of its kernels. Raises ``UnknownName``."""
    lone = [("B", *item) for item in found.vanished] + [("A", *item) for item in found.appeared]
    wanted = named([row.match for row in found.rows], name, *(kernel for _, _, kernel in lone))
    answers = [explain(found, found.rows[n]) for n in wanted]
    alone = [one for one in lone if names.is_named(name, one[2].name) or name == one[1]]
    return answers + [_lone(found, *one) for one in alone]


def explain(found: Comparison, row: Row) -> Why:
    """The cause of the change of ``row``, a row of ``found``."""
    facts = _facts(found, row)
    moved = _movement(found, row)
    label, reasons = _label(row, facts, moved)
    told = [*moved.said, *reasons, *facts.get(label, ())]
    for other, lines in facts.items():
        told += [f"also: {line}" for line in lines if other is not label]
    told += causes.launch_change(row.match)
    first, graph = row.match.a[0], row.match.graph
    commands = tuple(_commands(label, found, graph, first))
    why = Why(graph, first.name, label, tuple(told), commands, tuple(facts))
    interval = {} if row.effect is None else fields(row.effect, "ratio low high")
    return replace(why, diff=causes.code_diff(row.match), **interval)


def _facts(found: Comparison, row: Row) -> dict[Label, list[str]]:
    """What differs, by what it would be called as a cause."""
    a, b, match = found.a.run, found.b.run, row.match
    facts: dict[Label, list[str]] = {}
    if match.how == "work":
        facts[Label.FUSION] = list(_fusion(match))
    elif match.single and not row.identical:
        one, other = match.a[0], match.b[0]
        configured = causes.configuration(match)
        if one.module and other.module and not one.executes_as(other):
            facts[Label.SOURCE] = causes.text_changes(match)
        if configured:
            facts[Label.CONFIGURATION] = [", ".join(configured), *_tunings(one, other)]
    if a.machine.triton != b.machine.triton and not row.identical:
        versions = (fields(run.machine, "triton torch") for run in (a, b))
        facts[Label.TOOLCHAIN] = version_changes(*versions)
    figures = causes.static_differences(match.a, match.b)
    if facts and figures:
        next(iter(facts.values())).append(", ".join(figures))
    machine = list(_machine(a, b)) + clock_change(causes.clock(match.a), causes.clock(match.b))
    if machine:
        facts[Label.MACHINE] = machine
    return facts


def _fusion(match: Match) -> Iterator[str]:
    """Which kernels became which, and which nodes moved."""
    a, b = (", ".join(names.short(k.name) for k in side) for side in match.sides)
    yield f"{a} → {b}"
    ours, theirs = map(all_nodes, match.sides)
    for said, nodes in (("came", theirs - ours), ("went", ours - theirs)):
        if nodes:
            yield f"nodes that {said}: {', '.join(sorted(nodes))}"
    launches = [sum(k.launches for k in side) for side in match.sides]
    yield f"launches {launches[0]} → {launches[1]} in {region_of(match.a[0])}"


def _machine(a: Run, b: Run) -> Iterator[str]:
    one, other = a.machine, b.machine
    if one.gpu != other.gpu:
        yield f"GPU {one.gpu} → {other.gpu}"
    elif one.gpu_uuid and other.gpu_uuid and one.gpu_uuid != other.gpu_uuid:
        yield f"another GPU of the same kind ({one.gpu_uuid[:12]} → {other.gpu_uuid[:12]})"
    if one.driver != other.driver:
        yield f"driver {one.driver or '?'} → {other.driver or '?'}"


def _tunings(one: KernelRecord, other: KernelRecord) -> Iterator[str]:
    """What each side's tuner saw of both choices, and whether it could have chosen otherwise."""
    for side, kernel in (("A", one), ("B", other)):
        seen = [_trial(kernel, choice) for choice in (one.config, other.config)]
        times = [None if trial is None else trial.time for trial in seen]
        if any(time is not None for time in times):
            told = (f"{_us(time)} for {whose}'s" for time, whose in zip(times, "AB", strict=True))
            yield f"{side}'s tuner measured {' and '.join(told)} choice"
    if modules.candidates(one.module) != modules.candidates(other.module):
        yield "the candidates to choose from differ"
    elif one.executes_as(other):
        yield "same code and candidates: the tuner chose differently"


def _trial(kernel: KernelRecord, config: Mapping[str, int] | None) -> Trial | None:
    return next((t for t in kernel.trials if t.config == config and t.time is not None), None)


def _us(ms: float | None) -> str:
    return "no time" if ms is None else f"{1000 * ms:.4g} µs"


@dataclass(frozen=True, slots=True)
class _Movement:
    """How the time moved, as logarithms: ``own`` beside all other kernels, and ``together`` with
    them (0: not surely). ``moved`` is None where it cannot be said of the kernel's own; ``raw`` is
    what both sides recorded."""

    moved: bool | None
    raw: float | None
    own: float = 0.0
    together: float = 0.0
    said: tuple[str, ...] = ()


def _movement(found: Comparison, row: Row) -> _Movement:
    effect = row.effect
    before, after = row.a_ms, row.b_ms
    if effect is None:
        before, after = _recorded(row.match.a), _recorded(row.match.b)
    raw = math.log(after / before) if before and after else None
    times = "" if raw is None else f"{_us(before)} → {_us(after)}"
    if effect is None:
        reason = f"not compared: {row.reason}" if row.reason else "not timed"
        return _Movement(None, raw, said=(f"{times}; {reason}" if times else reason,))
    own = math.log(effect.ratio)
    clear = abs(own) > _WIDER * math.log(effect.high / effect.low) / 2
    # The verdict allows a tuner its luck; here that is one of the causes.
    moved = clear and (row.retuned or (effect.p <= _MOVED and effect.verdict is not Verdict.SAME))
    moved = moved or row.verdict in (Verdict.SLOWER, Verdict.FASTER)
    interval = f"B÷A {effect.ratio:.3f} ({effect.low:.3f} … {effect.high:.3f})"
    said = [f"{times}, {interval}" if times else interval]
    together = 0.0
    noise = found.noise
    if noise and (offset := noise.offset) and raw is not None and before and after:
        place = np.array([math.sqrt(before * after)])
        error = math.sqrt(float(offset.variance(place)[0]))
        moves = raw - own
        if abs(moves) > max(_TOGETHER, _SURELY * error):
            together = moves
        said.append(
            f"{offset.kernels} {'alike' if noise.alike else 'unchanged'} kernels moved by "
            f"{100 * math.expm1(moves):+.2f} % at this duration; the ratio is corrected for it"
        )
    unknown = bool(effect.unknown) and not (moved and abs(own) > _FAR)
    if effect.unknown:
        said.append(effect.unknown)
    return _Movement(None if unknown else moved, raw, own, together, tuple(said))


def _recorded(kernels: Sequence[KernelRecord]) -> float | None:
    """The recorded times of all launches, of one launch of a single kernel; None: not known."""
    if any(kernel.ms is None for kernel in kernels):
        return None
    alone = len(kernels) == 1
    return sum((k.ms or 0.0) * (1 if alone else k.launches) for k in kernels)


def _label(
    row: Row, facts: Mapping[Label, Sequence[str]], moved: _Movement
) -> tuple[Label, list[str]]:
    """The cause, and in sentences why it is that one."""
    code = [label for label in facts if label is not Label.MACHINE]
    if moved.moved is None:
        return _without_verdict(row, code, moved)
    if moved.moved:
        if not code and not row.match.a[0].module:
            return Label.UNSURE, ["no code is recorded, so what differs is unknown"]
        if not code:
            return Label.MACHINE, ["the same instructions: it cannot be the code"]
        if len(code) == 1:
            return code[0], []
        return _separated(row.match, code, moved)
    if moved.together and abs(moved.together) >= 0.5 * abs(moved.raw or 0.0):
        return Label.MACHINE, ["this kernel moved as the unchanged ones did"]
    if row.identical:
        return Label.NOISE, ["same code and configuration, and no more than the noise"]
    if row.verdict is Verdict.SAME:
        return Label.NOISE, ["the change is within the margin"]
    return Label.UNSURE, ["it is open whether the time moved; the differences are listed below"]


def _without_verdict(row: Row, code: Sequence[Label], moved: _Movement) -> tuple[Label, list[str]]:
    """The cause where the times could not be judged: by what differs, if that is one thing."""
    if not code and row.identical:
        before, after = causes.clock(row.match.a), causes.clock(row.match.b)
        if before and after and moved.raw is not None:
            expected = math.log(before / after)
            if abs(expected) >= _TOGETHER and 0.25 <= moved.raw / expected <= 1.3:
                return Label.MACHINE, ["same code, and the time follows the clock"]
        if row.effect is None and moved.raw is not None and abs(moved.raw) > _FAR:
            return Label.MACHINE, ["the same instructions: it cannot be the code"]
        one, other = (modules.candidates(side[0].module) for side in row.match.sides)
        more = "" if one == other else ", other candidates for a tuner"
        return Label.UNSURE, [f"same code and configuration{more}; the time cannot be judged"]
    if len(code) == 1 and moved.raw is None:
        return code[0], ["nothing else differs; no times show what it costs"]
    return Label.UNSURE, ["the times cannot be judged; the differences are listed below"]


def _separated(match: Match, code: Sequence[Label], moved: _Movement) -> tuple[Label, list[str]]:
    """Which of several differences did it: what the tuner saw of A's choice in B tells the code's
    (or the toolchain's) share from that of the other choice."""
    others = [label for label in code if label is not Label.CONFIGURATION]
    if Label.CONFIGURATION not in code or len(others) != 1:
        return Label.UNSURE, ["several things changed at once, and nothing recorded separates them"]
    one, other = match.a[0], match.b[0]
    ours, theirs = modules.offered(one.module), modules.offered(other.module)
    if one.config in ours and one.config not in theirs:
        return others[0], ["B's module does not offer A's configuration: it needs another"]
    pinned, then, now = (
        _trial(*x) for x in ((other, one.config), (one, one.config), (other, other.config))
    )
    if pinned is None or then is None or now is None:
        return Label.UNSURE, [
            "no tuner timed A's configuration in B: code and choice cannot be told apart"
        ]
    by_code = math.log((pinned.time or 0.0) / (then.time or 0.0)) - moved.together
    by_choice = math.log((now.time or 0.0) / (pinned.time or 0.0))
    said = [
        f"B in A's configuration: {100 * math.expm1(by_code):+.1f} %; from there to B's own: "
        f"{100 * math.expm1(by_choice):+.1f} %"
    ]
    error = max(_TRIAL_ERROR, math.hypot(*(_error(trial) for trial in (pinned, then, now))))
    for share, rest, label in (
        (by_code, by_choice, others[0]),
        (by_choice, by_code, Label.CONFIGURATION),
    ):
        main = share * moved.own > 0 and abs(share) >= _MOST * abs(share + rest)
        if main and abs(share) - abs(rest) > error:
            return label, said
    return Label.UNSURE, [*said, "neither accounts for it alone"]


def _error(trial: Trial) -> float:
    """The relative standard error of a trial's time."""
    if trial.error is not None and trial.time:
        return trial.error / trial.time
    found = standard_error(trial.samples_ms)
    return found / trial.time if trial.time and math.isfinite(found) else _TRIAL_ERROR


def _lone(found: Comparison, missing_in: str, graph: str, kernel: KernelRecord) -> Why:
    """A kernel that only one side has: where its nodes are on the other."""
    side = found.b if missing_in == "B" else found.a
    there = next((g for g in side.run.graphs if g.name == graph), GraphRecord(graph))
    holders = [k for k in there.kernels if nodes_of(k) & nodes_of(kernel)]
    said = [f"{missing_in} has no kernel of these nodes: {', '.join(sorted(nodes_of(kernel)))}"]
    said += [
        f"{', '.join(sorted(nodes_of(k) & nodes_of(kernel)))} in {names.short(k.name)}"
        for k in holders
    ]
    label = Label.FUSION if holders or there.library_calls else Label.UNSURE
    if not holders:
        calls = ", ".join(f"{call.operator} ×{call.count}" for call in there.library_calls)
        said.append(f"library calls there: {calls or 'none recorded'}")
    if there.reason:
        label = Label.UNSURE
        said.append(f"{graph} was not generated in {missing_in}: {there.reason}")
    commands = tuple(_commands(label, found, graph, kernel))
    return Why(graph, kernel.name, label, tuple(said), commands, (label,))


def _commands(label: Label, found: Comparison, graph: str, kernel: KernelRecord) -> Iterator[str]:
    """What to ask next."""
    name = names.short(kernel.name)
    a, b = found.a.label, found.b.label
    node = min(nodes_of(kernel), default="")
    match label:
        case Label.SOURCE:
            yield f"harness bisect {name} {a} {b}"
            yield f"harness compare --static {a} {b} -k {name}"
        case Label.FUSION:
            yield f"harness explain {graph}" + (f" --node {node}" if node else "")
            yield f"harness bisect {name} {a} {b}"
        case Label.CONFIGURATION:
            yield f"harness tune {graph} -k {name}"
        case Label.TOOLCHAIN:
            yield f"harness bisect {name} OLD NEW --environment OLD=PYTHON --environment NEW=PYTHON"
        case Label.MACHINE | Label.NOISE | Label.UNSURE:
            pass
    yield f"harness confirm {a} {b} {name}"
