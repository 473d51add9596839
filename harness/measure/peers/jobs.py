"""Names of compilers, as ``--against`` takes them and as run files keep them; what can be compared
(the distinct regions of a graph, or a user's kernel), and what the worker that compares compilers
is asked: data without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.devices.job import Job
from harness.errors import UnknownName, UsageError, unknown
from harness.heuristics.facts import Config

if TYPE_CHECKING:
    from harness.compiled import CompiledRegion
    from harness.graph.model import Graph

OURS = "harness"
"""The compiler under test: its kernels in the configurations that tuning chose."""
USER = "user"
"""A user's own kernel, which takes the place of ours."""
EAGER = "eager"
INDUCTOR = "inductor"
TUNED = "inductor-tuned"
"""Inductor with ``max_autotune_pointwise`` and coordinate descent."""
BUILT_IN = (EAGER, INDUCTOR, TUNED)
SUBJECTS = (OURS, USER)
"""What peers are compared with, in a region's records."""


def parse(text: str) -> tuple[str, ...]:
    """The compilers that ``text`` names, commas between them, each once.

    Every name is one of ``BUILT_IN`` or a backend of ``torch.compile`` (torch is asked only if it
    has to be, since that takes a second or two). Raises ``UsageError`` for no name,
    ``UnknownName`` with the nearest names for one that does not exist."""
    names = tuple(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
    if not names:
        raise UsageError(
            "no compiler is named",
            where="--against",
            got=repr(text),
            expected="names with commas between them, such as inductor,eager",
            remedy="name at least one, or leave the option out",
        )
    if not (others := [name for name in names if name not in BUILT_IN]):
        return names
    import torch

    known = [*BUILT_IN, *sorted(torch.compiler.list_backends(exclude_tags=()))]  # to debug, too
    known = [name for name in dict.fromkeys(known) if name not in SUBJECTS]
    for name in others:
        if name in SUBJECTS:
            raise UnknownName(
                "this compiler is the one that is compared with others",
                where="--against",
                got=name,
                expected=", ".join(known),
                remedy="leave it out: it is always there",
            )
        if name not in known:
            remedy = (
                "name eager, inductor, inductor-tuned or a backend that torch.compile has "
                "(torch.compiler.list_backends(exclude_tags=()) lists them)"
            )
            raise unknown("there is no such compiler", name, known, "--against", remedy, most=None)
    return names


TIMING = "timing"
"""The step of a ``CompareJob`` at which all compilers are timed, interleaved."""


@dataclass(frozen=True, eq=False, slots=True)
class CompareJob(Job):
    """Compare ``names`` (what they are compared with among them) on ``work``: a region, or the
    text of a user's kernel. ``configs`` are tuned configurations by module text. Its steps are the
    names that are about to be run, then ``TIMING``. Answers a ``RegionRecord`` for each name, which
    names no region."""

    handler: ClassVar[str] = "harness.measure.peers.worker:compare_region"
    work: CompiledRegion | str
    names: tuple[str, ...]
    configs: dict[str, Config]


@dataclass(frozen=True, eq=False, slots=True)
class WarmJob(Job):
    """Compile ``graph`` with Inductor, ``tuned`` or not, so that it is in the cache; None: a small
    one, as a process's first takes seconds. Answers why not, if it cannot."""

    handler: ClassVar[str] = "harness.measure.peers.worker:warm"
    graph: Graph | None
    tuned: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Comparable:
    """A region, or the text of a user's kernel, as ``work``. ``count`` says how many regions of
    the graph launch the same kernels, ``kernels`` how many one pass launches."""

    name: str
    work: CompiledRegion | str
    count: int = 1
    kernels: int = 1


def comparables(regions: Sequence[CompiledRegion]) -> tuple[Comparable, ...]:
    """The distinct ones of a graph's regions: those that launch other kernels than the ones
    before them. An incomplete one is there too, as a row with the reason."""
    found: dict[tuple[str, ...], list[CompiledRegion]] = {}
    for number, region in enumerate(regions):
        if not region.launches and region.complete:
            continue
        texts = tuple(launch.kernel.module.text for launch in region.launches)
        found.setdefault(texts if region.complete else (str(number),), []).append(region)
    return tuple(
        Comparable(same[0].region.name, same[0], len(same), len(same[0].launches))
        for same in found.values()
    )
