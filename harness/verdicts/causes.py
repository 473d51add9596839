"""What is different about two kernels, from their text and their binaries: facts, no noise.

A verdict says that something changed; this says what could have changed it.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from harness.records import metrics, modules
from harness.records.causes import clock_change, metric_changes, setting_changes, version_changes
from harness.records.metrics import Metric
from harness.records.run import KernelRecord, Run, fields
from harness.table import plural
from harness.target import TARGETS
from harness.verdicts.pairing import Match

SAME_CODE = "same code and configuration: noise or the machine"


def is_identical(match: Match, a: Run, b: Run) -> bool:
    """Whether both sides run the same instructions on the same kind of arguments: the same code
    (whatever its variables are called), configuration and arguments, compiled by the same version
    of Triton for the same target."""
    return has_same_code(match, a, b) and settings(match.a[0]) == settings(match.b[0])


def is_retuned(match: Match, a: Run, b: Run) -> bool:
    """Whether both sides are the same code, with the same configurations to choose from, and the
    tuner chose another one."""
    if not has_same_code(match, a, b) or match.a[0].config is None or match.b[0].config is None:
        return False
    ours, theirs = (modules.candidates(k.module) for k in (match.a[0], match.b[0]))
    return match.a[0].config != match.b[0].config and ours == theirs


def has_same_code(match: Match, a: Run, b: Run) -> bool:
    """Whether both sides are one kernel each, of the same code on the same kind of arguments, for
    the same target and Triton: in one configuration they are the same binary."""
    if not match.single or a.machine.triton != b.machine.triton or _device(a) != _device(b):
        return False
    return match.a[0].executes_as(match.b[0])


def is_alike(match: Match) -> bool:
    """Whether both sides, one kernel each, run in one configuration and compiled to the same
    registers, memory and instructions by group, by whatever version of Triton: hardly ever another
    time, and no proof of it."""
    one, other = match.a[0], match.b[0]
    if not match.single or not one.mix or not one.metrics or one.config is None:
        return False
    alike = ("mix", "metrics", "config", "bytes")
    return all(getattr(one, name) == getattr(other, name) for name in alike)


def settings(kernel: KernelRecord) -> dict[str, int] | None:
    """The configuration the kernel runs with: the recorded one, else its module's best guess."""
    return kernel.config or modules.facts(kernel.module).best


def _device(run: Run) -> object:
    """What a run's kernels were compiled for: targets of one capability run the same binaries."""
    target = TARGETS.get(run.target)
    return run.target if target is None else (target.backend, target.capability)


def causes(match: Match, a: Run, b: Run) -> list[str]:
    """What differs, most telling first; one entry if nothing does. Empty if nothing is known: the
    figures were imported, without code."""
    found = [SAME_CODE] if is_identical(match, a, b) else _differences(match, a, b)
    found += launch_change(match)
    return [*found, *clock_change(clock(match.a), clock(match.b))]


def _differences(match: Match, a: Run, b: Run) -> list[str]:
    found = []
    if (len(match.a), len(match.b)) != (1, 1):
        found.append(f"{plural(len(match.a), 'kernel')} → {len(match.b)}")
    # A configuration is chosen: the figures of the binary follow from it.
    found += configuration(match)
    found += static_differences(match.a, match.b)
    if match.single:
        found += text_changes(match)
    found += version_changes(*(fields(run.machine, "triton torch") for run in (a, b)))
    if _device(a) != _device(b):
        found.append(f"target {a.target} → {b.target}")
    known = any(kernel.module for kernel in (*match.a, *match.b))
    return found or (["nothing that is recorded"] if known else [])


def launch_change(match: Match) -> list[str]:
    """How often a kernel is launched, if that differs."""
    before, after = match.launches
    return [f"launches {before} → {after}"] if before != after else []


def static_differences(a: Sequence[KernelRecord], b: Sequence[KernelRecord]) -> list[str]:
    """Static figures that differ (``registers 32 → 40``), groups of kernels summed up."""
    figures = ({m.column: figure(k, m) for m in metrics.by_rank()} for k in (a, b))
    before, after = Counter(mix(a)), Counter(mix(b))
    changes = {group: after[group] - before[group] for group in before | after if before and after}
    # The groups of instructions that changed, largest change first.
    order = sorted((g for g in changes if changes[g]), key=lambda g: (-abs(changes[g]), g))
    mixes = [f"{group} {before[group]:,} → {after[group]:,}" for group in order]
    return metric_changes(*figures) + mixes


def figure(kernels: Sequence[KernelRecord], metric: Metric) -> int | None:
    """The figure of one kernel, or of a group: what adds up is summed, launches counted, of the
    rest the worst kernel counts. None if it is not known of every kernel."""
    values = [metric.of(kernel) for kernel in kernels]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if len(kernels) > 1 and metric.adds_up:
        return int(sum(value * k.launches for value, k in zip(known, kernels, strict=True)))
    return int(max(known) if metric.lower_is_better else min(known))


def mix(kernels: Sequence[KernelRecord]) -> dict[str, int]:
    """Instructions by group, of several kernels with launches counted; empty if not known of
    every kernel."""
    if not all(kernel.mix for kernel in kernels):
        return {}
    total = Counter[str]()
    for kernel in kernels:
        weight = kernel.launches if len(kernels) > 1 else 1
        total.update({group: number * weight for group, number in (kernel.mix or {}).items()})
    return dict(total)


def configuration(match: Match) -> list[str]:
    """What differs between the launch configurations of one kernel and another."""
    return setting_changes(*map(settings, (match.a[0], match.b[0]))) if match.single else []


def default_configuration(match: Match) -> list[str]:
    """What differs between the configurations that both modules take untuned."""
    bests = (modules.facts(kernel.module).best for kernel in match.kernels)
    return setting_changes(*bests) if match.single else []


def code_diff(match: Match) -> str:
    """The difference of the code as a unified diff; empty where it is the same, or where several
    kernels became several."""
    if not match.single or match.a[0].code_hash == match.b[0].code_hash:
        return ""
    a, b = match.a[0], match.b[0]
    ours, theirs = (modules.code(kernel.module).split("\n") for kernel in (a, b))
    return "\n".join(difflib.unified_diff(ours, theirs, a.name, b.name, n=2, lineterm=""))


def text_changes(match: Match) -> list[str]:
    """How many lines of the code of one kernel and another differ, else whether the arguments
    do."""
    a, b = match.a[0], match.b[0]
    if not a.module or not b.module:
        return []
    if a.code_hash == b.code_hash:
        ours, theirs = (modules.facts(kernel.module).arguments for kernel in match.kernels)
        return ["arguments"] if ours != theirs else []
    first = Counter(line[:1] for line in code_diff(match).split("\n")[2:])
    return [f"code −{first['-']} +{first['+']} lines"]


def clock(kernels: Sequence[KernelRecord]) -> float | None:
    """Mean SM clock in MHz while the kernels were sampled; None if it was not read."""
    seen = [s.clock_mhz for k in kernels for s in k.sets if s.clock_mhz]
    return sum(seen) / len(seen) if seen else None
