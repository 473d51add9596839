"""Which candidate is probably the fastest: a score learnt from recorded tunings.

A score is a weighted sum of features of a configuration on a kernel, one set of weights for
each kind of kernel (``learned.py``, written by ``scripts/learn_heuristics.py`` from files of
tunings). Only differences between configurations of one kernel matter, so nothing in here
predicts a time. Features are relative to the device (programs a multiprocessor), so that
what one device taught is of use on another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import block_name, cdiv, is_reduction
from harness.target import Target

Weights = Mapping[str, Sequence[float]]
"""Weights by kind of kernel, in the order of ``FEATURES``."""


def kind_of(facts: Facts) -> str:
    """The kind of kernel whose weights apply: tiles, whether a reduction loops, its direction."""
    if facts.family is Family.POINTWISE:
        return f"pointwise {len(facts.sizes)}"
    looped = "looped" if facts.family is Family.REDUCTION else "persistent"
    direction = {Hint.OUTER_TINY: Hint.OUTER, Hint.DEFAULT: Hint.INNER}.get(facts.hint, facts.hint)
    return f"{looped} {direction.value}"


FEATURES = (
    "elements a thread",
    "elements a thread, squared",
    "warps",
    "warps, squared",
    "elements a thread x warps",
    "elements a thread x loads",
    "elements a thread x bytes an element",
    "elements a thread x work",
    "warps x loads",
    "warps x bytes an element",
    "warps x work",
    "idle multiprocessors",
    "uneven last round",
    "resident warps",
    "resident warps, squared",
    "narrow rows",
    "wide rows",
    "loops",
    "loops x work",
    "padding",
    "block along r",
    "block along r, squared",
    "columns x loads",
    "bytes in flight",
    "bytes in flight, squared",
)


def features(facts: Facts, config: Config, target: Target) -> tuple[float, ...]:
    """What the score of ``config`` is a weighted sum of: logarithms to base 2, or shares."""
    blocks = {p: config.block(block_name(p)) for p, _ in facts.sizes}
    numels = dict(facts.sizes)
    elements = math.prod(blocks.values())
    threads = config.num_warps * target.warp_size
    each = math.log2(elements / threads)
    warps = math.log2(config.num_warps)
    parallel = [p for p in blocks if not is_reduction(p)]
    programs = math.prod(cdiv(numels[p], blocks[p]) for p in parallel)
    points = facts.parallel * facts.reduced
    loads = math.log2(1 + facts.loads)
    width = math.log2(max(0.25, facts.bytes / max(1, points)))
    work = min(12.0, math.log2(max(1.0, points / target.multiprocessors)) - 8) / 4
    share = programs / target.multiprocessors
    room = max(1, target.threads_per_multiprocessor // threads)
    rounds = share / room
    resident = math.log2(min(share, room) * config.num_warps)
    inner = blocks[parallel[-1]] if parallel else 1
    along = [p for p in blocks if is_reduction(p)]
    loops = math.prod(cdiv(numels[p], blocks[p]) for p in along)
    padded = math.prod(cdiv(n, blocks[p]) * blocks[p] / max(1, n) for p, n in numels.items())
    r = math.log2(math.prod(blocks[p] for p in along))
    flight = resident + math.log2(target.warp_size) + each + width
    return (
        each,
        each * each,
        warps,
        warps * warps,
        each * warps,
        each * loads,
        each * width,
        each * work,
        warps * loads,
        warps * width,
        warps * work,
        max(0.0, -math.log2(share)),
        math.ceil(rounds) / rounds - 1 if rounds > 1 else 0.0,
        resident,
        resident * resident,
        max(0.0, 5 - math.log2(inner)),
        max(0.0, math.log2(inner) - 5),
        math.log2(loops),
        math.log2(loops) * work,
        math.log2(padded),
        r,
        r * r,
        math.log2(inner) * loads,
        flight,
        flight * flight,
    )


def score(facts: Facts, config: Config, target: Target, weights: Sequence[float]) -> float:
    """Lower is better; only differences within one kernel mean anything."""
    return sum(w * f for w, f in zip(weights, features(facts, config, target), strict=True))


def ranked(
    facts: Facts, configs: Iterable[Config], target: Target, weights: Weights
) -> tuple[Config, ...]:
    """``configs`` with the probably fastest first, ties in the order given; the order given
    for kinds of kernels that nothing has been learnt about."""
    own = weights.get(kind_of(facts))
    if own is None:
        return tuple(configs)
    return tuple(sorted(configs, key=lambda c: score(facts, c, target, own)))
