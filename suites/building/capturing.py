"""From the catalogue to patterns: models captured by processes that may crash or hang.

Each capture leaves a file of its own below a working folder, so that an interrupted build goes
on where it was. A model that its library cannot build leaves the library's sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from harness.corpus.model import Capture, Pattern, Use, digest
from harness.devices.job import Context, Device, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.files import write_atomically
from suites.building.catalogue import Planned

if TYPE_CHECKING:
    from harness.corpus.store import Corpus
    from harness.graph.model import Graph


@dataclass(frozen=True, slots=True)
class Shard:
    """A capture and its patterns, each with its one use."""

    capture: Capture
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureJob(Job):
    """Capture one model. The answer is a ``Shard``."""

    handler: ClassVar[str] = "suites.building.capturing:capture_job"
    planned: Planned


def capture_job(_context: Context, job: CaptureJob) -> Shard:
    """Do a ``CaptureJob``."""
    import time

    from harness.graph.capture.capture import CaptureOptions, capture

    began = time.perf_counter()
    planned, variant = job.planned, job.planned.variant
    options = CaptureOptions(variant.mode, variant.dtype, "model", planned.options)
    graphs = capture(planned.model.target, options)
    shard = cut(blank(planned), graphs)
    return replace(shard, capture=replace(shard.capture, seconds=time.perf_counter() - began))


def blank(planned: Planned, reason: str = "") -> Capture:
    """A capture of which nothing is known yet, or which failed."""
    model, variant = planned.model, planned.variant
    return Capture(
        planned.name,
        model.name,
        model.family,
        model.target,
        model.origin,
        variant.mode,
        variant.dtype.short,
        variant.size,
        {key: str(value) for key, value in planned.options.items()},
        reason=reason,
    )


def cut(capture: Capture, graphs: Sequence[Graph]) -> Shard:
    """The patterns of a model's graphs; regions of unknown sizes take no part."""
    from harness.graph.partition.regions import partition
    from harness.graph.text import dumps
    from suites.building.structure import pattern_of

    found: dict[tuple[str, tuple[int, ...]], Pattern] = {}
    regions = calls = 0
    for graph in graphs:
        cut = partition(graph)
        calls += len(cut.library_calls)
        for region in cut.regions:
            regions += 1
            if _is_undefined(region.graph):
                continue
            pattern, plain, sizes = pattern_of(region.graph)
            before = found.get((pattern.name, sizes))
            use = Use(capture.name, 1, pattern.bytes, sizes)
            if before is not None:
                (old,) = before.uses
                use = replace(use, calls=old.calls + 1, bytes=old.bytes + pattern.bytes)
                pattern = before
            else:
                pattern = replace(pattern, text=dumps(plain))
            found[pattern.name, sizes] = replace(pattern, uses=(use,))
    total = sum(use.bytes for pattern in found.values() for use in pattern.uses)
    versions = dict(graphs[0].facts).get("versions", "")
    done = replace(capture, versions=versions, regions=regions, library_calls=calls, bytes=total)
    return Shard(done, tuple(found.values()))


def _is_undefined(graph: Graph) -> bool:
    """Whether something is computed from memory that nobody wrote: a model that fills all of it
    by a permutation of indices cannot be told from one that does not."""
    return any(node.op.startswith(("aten.empty", "aten.new_empty")) for node in graph.nodes)


def earlier(corpus: Corpus) -> dict[str, Shard]:
    """The captures that a corpus was built of, by name. Of a pattern's sizes the corpus keeps the
    text of one: at others it has none here."""
    patterns: dict[str, list[Pattern]] = {}
    texts = corpus.texts(pattern.name for pattern in corpus.patterns)
    for pattern in corpus.patterns:
        main = _main(pattern.uses)
        for use in pattern.uses:
            text = texts[pattern.name][0] if use.sizes == main else ""
            one = replace(pattern, text=text, without_small="", weight=0.0, uses=(use,))
            patterns.setdefault(use.capture, []).append(one)
    return {c.name: Shard(c, tuple(patterns.get(c.name, ()))) for c in corpus.captures}


def _main(uses: Iterable[Use]) -> tuple[int, ...]:
    """The sizes at which most bytes are moved."""
    moved: dict[tuple[int, ...], int] = {}
    for use in uses:
        moved[use.sizes] = moved.get(use.sizes, 0) + use.bytes
    return max(moved, key=lambda sizes: (moved[sizes], sizes))


def shards(
    planned: Sequence[Planned],
    folder: Path,
    workers: int,
    tell: Callable[[Shard, int, int], None] = lambda *_: None,
    before: Mapping[str, Shard] | None = None,
) -> list[Shard]:
    """Every capture, in order: from ``folder`` where it is known there, else from ``before``, by
    name, else made by ``workers`` processes (with none it is left out) and kept there. A
    declaration that changed is another capture.
    """
    paths = [folder / f"{digest(repr(one))}.json" for one in planned]
    known = [_kept(path) for path in paths]
    for n, one in enumerate(planned):
        there = (before or {}).get(one.name)
        if known[n] is None and there is not None and _declares(one) == _declared(there.capture):
            known[n] = there
    todo = [n for n, shard in enumerate(known) if shard is None and workers]
    alike = Device("", (("OMP_NUM_THREADS", "1"), ("TRANSFORMERS_VERBOSITY", "error")))
    with Pool(cores(min(workers, max(1, len(todo))), alike), seconds=120.0) as pool:
        jobs = [CaptureJob(planned=planned[n], seconds=planned[n].model.seconds) for n in todo]
        for done, (index, answer) in enumerate(pool.each(jobs), start=1):
            at = todo[index]
            failed = isinstance(answer, HarnessError)
            shard = Shard(_failed(planned[at], answer)) if failed else answer
            write_atomically(paths[at], msgspec.json.encode(shard), mode=0o644)
            known[at] = shard
            tell(shard, done, len(todo))
    return [shard for shard in known if shard is not None]


def _declares(planned: Planned) -> tuple[object, ...]:
    return _declared(blank(planned))


def _declared(capture: Capture) -> tuple[object, ...]:
    return capture.target, capture.mode, capture.dtype, capture.size, capture.options


def _kept(path: Path) -> Shard | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Shard)
    except (OSError, msgspec.DecodeError):
        return None  # not made yet, or damaged: it is made again


def _failed(planned: Planned, error: HarnessError) -> Capture:
    said = " ".join(f"{error.what}: {error.got}".split()) if error.got else error.what
    said = re.sub(r"(?<![^\s\"'(])(?:/[^\s/]+)+/", "", said)  # a file's name tells enough
    return blank(planned, said[:300])


def merged(found: Sequence[Shard]) -> list[Pattern]:
    """The patterns of all captures: each once, at the sizes that move most bytes, with all its
    uses and its weight. Heaviest first."""
    variants: dict[str, list[Pattern]] = {}
    for shard in found:
        for pattern in shard.patterns:
            variants.setdefault(pattern.name, []).append(pattern)
    totals = {shard.capture.name: shard.capture.bytes for shard in found}
    captures = sum(1 for total in totals.values() if total)

    def one(same: Sequence[Pattern]) -> Pattern:
        uses = tuple(pattern.uses[0] for pattern in same)
        written = {pattern.uses[0].sizes for pattern in same if pattern.text}
        main = _main(use for use in uses if use.sizes in written)
        shown = min((p for p in same if p.text and p.uses[0].sizes == main), key=lambda p: p.text)
        weight = sum(use.bytes / totals[use.capture] for use in uses) / captures
        return replace(shown, uses=uses, weight=weight)

    return sorted((one(same) for same in variants.values()), key=lambda p: (-p.weight, p.name))
