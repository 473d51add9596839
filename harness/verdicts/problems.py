"""What recorded runs should not hold: each a sentence that names file and kernel. The rest of a run
is judged without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.records.run import EMPTY, Check, GraphRecord, KernelRecord, Run
from harness.verdicts.pairing import Match

if TYPE_CHECKING:
    from harness.verdicts.comparing import Side

_ALONE = "there is one sample: nothing is known of its noise"


def untimed(kernel: KernelRecord) -> str:
    """Why the times of ``kernel`` cannot be used; empty if they can."""
    if kernel.check is Check.FAILED:
        return "computes something else (check failed)"
    if kernel.reason:
        return f"did not run ({kernel.reason})"
    if kernel.problem or _is_alone(kernel):
        return kernel.problem or _ALONE
    if not any(s.ms for s in kernel.sets):
        return "throttled throughout" if any(s.excluded for s in kernel.sets) else "not timed"
    if all(s.disturbed for s in kernel.sets):
        return "throttled, or at another launch interval, most of the time"
    return ""


def _is_alone(kernel: KernelRecord) -> bool:
    """Whether there is one sample, though no other was left out."""
    few = sum(len(one.ms) for one in kernel.sets) == 1 and not kernel.problem
    return few and not any(one.excluded or one.disturbed for one in kernel.sets)


def problems_of(a: Side, b: Side) -> tuple[str, ...]:
    """Everything that is wrong with the records of two sides."""
    found = [*_of_side(a), *_of_side(b)]
    if a.run.suite and b.run.suite and a.run.suite != b.run.suite:
        found.append(
            f"{_name(a)} and {_name(b)} are runs of different suites, {a.run.suite} and "
            f"{b.run.suite}: what both have is compared"
        )
    return tuple(dict.fromkeys(found))


def _of_side(side: Side) -> Iterator[str]:
    run, name = side.run, _name(side)
    if run.empty:
        yield f"{name} {EMPTY}"
    if run.machine.problem:
        yield f"{name} {run.machine.problem}"
    for graph in run.graphs:
        for kernel, why in zip(graph.kernels, graph.problems, strict=True):
            if why or _is_alone(kernel):
                yield f"{name}: kernel {kernel.name} of {graph.name}: {why or _ALONE}"


def _name(side: Side) -> str:
    return side.origin or side.label


def without_duplicates(graphs: Sequence[GraphRecord]) -> list[GraphRecord]:
    """``graphs`` with each kernel once."""
    each = ((graph, zip(graph.kernels, graph.repeated, strict=True)) for graph in graphs)
    return [replace(g, kernels=tuple(k for k, again in known if not again)) for g, known in each]


def broken_in(a: Side, b: Side, matches: Sequence[Match]) -> tuple[str, ...]:
    """A sentence for each graph or kernel that A could compile and run, and B cannot."""
    before = {graph.name for graph in a.run.graphs if graph.reason}
    graphs = (graph for graph in b.run.graphs if graph.reason and graph.name not in before)
    found = [f"{graph.name} does not compile in B: {graph.reason}" for graph in graphs]
    for match in matches:
        was = _failure(match.a)
        if (now := _failure(match.b)) and not was:
            found.append(f"{match.graph}: {match.b[0].name} {now} in B")
    return tuple(found)


def _failure(kernels: Sequence[KernelRecord]) -> str:
    for kernel in kernels:
        if kernel.check is Check.FAILED:
            error = "" if kernel.max_error is None else f" (error {kernel.max_error:.3g})"
            return f"fails its check{error}"
        if kernel.reason:
            return f"does not run: {kernel.reason}"
    return ""


def limits(label: str, run: Run) -> Iterator[str]:
    """What a reader has to know of a run as a whole."""
    if not run.complete:
        yield f"{label} was interrupted: what it had measured is compared"
    if run.dirty:
        yield f"{label} was made from a tree that differs from its commit"


def unlike_reason(a: Run, b: Run) -> str:
    """Why no times of the two runs can be compared; empty if they can."""
    one, other = a.machine, b.machine
    differs = (
        ("machines", one.gpu or one.key, other.gpu or other.key),
        ("drivers", one.driver or "unknown", other.driver or "unknown"),
        ("machines", one.key, other.key),
        ("methods of measuring", a.method or "none", b.method or "none"),
    )
    return next((f"different {what}: {x} and {y}" for what, x, y in differs if x != y), "")
