"""Small counterparts of patterns: found by a search over sizes, or, where that finds none, cut from
the model captured anew with the options that its catalogue calls ``small``.

What is cut has the pattern's calls on values of the same types, ranks and layouts, and the same
dimensions in them. Only numbers differ: sizes, and limits of positions, which a search cannot know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from harness.corpus.model import Pattern
from harness.devices.job import Context, Device, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from suites.building.catalogue import Planned

if TYPE_CHECKING:
    from harness.graph.model import Graph, Input, Node, ValueType

_DIMENSIONS = frozenset(
    "permute squeeze unsqueeze sum mean var_mean amax amin cat cumsum gather embedding".split()
)
"""Calls whose numbers are dimensions and counts: the same at any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkJob(Job):
    """Make the small counterpart of a graph's text: the answer is that text and the reason why
    there is none, one of them empty."""

    handler: ClassVar[str] = "suites.building.counterparts:shrink_job"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CutJob(Job):
    """Capture a model with its small options. The answer has the counterparts that were found
    there, by the ``texts`` of their patterns."""

    handler: ClassVar[str] = "suites.building.counterparts:cut_job"
    planned: Planned
    texts: tuple[str, ...]


def shrink_job(_context: Context, job: ShrinkJob) -> tuple[str, str]:
    """Do a ``ShrinkJob``."""
    from harness.graph.shrinking import shrunk
    from harness.graph.text import dumps, loads
    from suites.building.agreeing import told_apart

    small, why = shrunk(loads(job.text), told_apart)
    return ("" if small is None else dumps(small)), why


def cut_job(_context: Context, job: CutJob) -> dict[str, str]:
    """Do a ``CutJob``."""
    from harness.graph.capture.capture import CaptureOptions, capture
    from harness.graph.text import dumps, loads

    planned, variant = job.planned, job.planned.variant
    sizes = {**planned.options, **planned.model.small}
    options = CaptureOptions(variant.mode, variant.dtype, "model", sizes)
    graphs = capture(planned.model.target, options)
    found = {text: counterpart(loads(text), graphs) for text in job.texts}
    return {text: dumps(graph) for text, graph in found.items() if graph is not None}


def counterpart(pattern: Graph, graphs: Iterable[Graph]) -> Graph | None:
    """The smallest region of ``graphs`` that is alike ``pattern``, small enough for the interpreter
    and runs on random inputs."""
    from harness.graph.model import tensors_of
    from harness.graph.partition.regions import partition
    from harness.graph.shrinking import FAILURES, MOST_ELEMENTS, tried
    from suites.building.structure import canonical

    found: list[tuple[int, Graph]] = []
    for region in (region for graph in graphs for region in partition(graph).regions):
        plain = canonical(region.graph)
        if alike(pattern, plain):
            kinds = tensors_of(*plain.types().values())
            elements = max((int(kind.numel) for kind in kinds), default=0)
            found.append((elements, plain))
    for elements, plain in sorted(found, key=lambda one: one[0]):
        if elements <= MOST_ELEMENTS:
            try:
                return tried(replace(plain, name=pattern.name, facts=(("sizes", "small"),)))
            except FAILURES:
                continue  # an index out of range, say: another region may have none
    return None


def alike(one: Graph, other: Graph) -> bool:
    """Whether two canonical graphs differ in nothing but sizes and other numbers."""
    if len(one.nodes) != len(other.nodes) or len(one.inputs) != len(other.inputs):
        return False
    return (
        (one.outputs, one.mutations) == (other.outputs, other.mutations)
        and all(map(_same_input, one.inputs, other.inputs))
        and all(map(_same_call, one.nodes, other.nodes))
    )


def _same_input(one: Input, other: Input) -> bool:
    named, bounded = one.name == other.name, (one.bound is None) == (other.bound is None)
    return named and bounded and _same_kind(one.type, other.type)


def _same_call(one: Node, other: Node) -> bool:
    if (one.name, one.op) != (other.name, other.op) or not _same_kind(one.type, other.type):
        return False
    if one.packet in _DIMENSIONS:
        return (one.args, one.kwargs) == (other.args, other.kwargs)
    return _same_but_numbers((one.args, one.kwargs), (other.args, other.kwargs))


def _same_kind(one: ValueType, other: ValueType) -> bool:
    from harness.graph.model import TensorType
    from suites.building.structure import layout

    match one, other:
        case TensorType(), TensorType():
            same = one.dtype == other.dtype and one.rank == other.rank
            return same and layout(one) == layout(other)
        case tuple(), tuple():
            return len(one) == len(other) and all(map(_same_kind, one, other))
        case _:
            return one == other


def _same_but_numbers(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same_but_numbers, one, other))
    return one == other or (_is_number(one) and _is_number(other))


def _is_number(arg: object) -> bool:
    import sympy

    return isinstance(arg, int | float | sympy.Integer) and not isinstance(arg, bool)


Known: TypeAlias = "Mapping[str, tuple[str, str]]"
"""Small counterparts by the text of their pattern, and why there is none."""


def with_small(
    patterns: Sequence[Pattern],
    workers: int,
    known: Known | None = None,
    planned: Sequence[Planned] = (),
) -> Iterator[Pattern]:
    """``patterns`` with their small counterparts, in order; those that are known are not made
    again. Where a search finds none, those of the captures ``planned`` are looked at that say how
    they are made small."""
    made = dict(known or {})
    todo = [pattern.text for pattern in patterns if pattern.text not in made]
    with Pool(cores(workers, Device("", (("OMP_NUM_THREADS", "1"),))), seconds=300.0) as pool:
        for index, answer in pool.each([ShrinkJob(text=text) for text in todo]):
            failed = isinstance(answer, HarnessError)
            made[todo[index]] = ("", answer.what) if failed else answer
        jobs = list(_cuts([p for p in patterns if not made[p.text][0]], planned))
        for _, answer in pool.each(jobs):
            if not isinstance(answer, HarnessError):
                made |= {text: (small, "") for text, small in answer.items()}
    for pattern in patterns:
        small, why = made[pattern.text]
        yield replace(pattern, small=small, without_small=why)


def _cuts(patterns: Iterable[Pattern], planned: Sequence[Planned]) -> Iterator[CutJob]:
    """Captures at small options that may have counterparts of ``patterns``."""
    texts: dict[str, list[str]] = {}
    for pattern in patterns:
        for use in pattern.uses:
            texts.setdefault(use.capture, []).append(pattern.text)
    for one in planned:
        if one.model.small and one.name in texts:
            wanted = tuple(dict.fromkeys(texts[one.name]))
            yield CutJob(planned=one, texts=wanted, seconds=2 * one.model.seconds)
