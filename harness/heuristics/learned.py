"""Decision trees of fast configurations, by kind of kernel: ``learned.json``.

They were grown from recorded tunings (``scripts/learn_heuristics.py`` writes the file) and lead
to configuration templates, which say how a configuration follows from a kernel's sizes: fixed
blocks (``xr``, ``xy``), or elements a block and elements a thread along rows that are held whole.
So a template means the same for kernels of any size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import Proposal, finish, last_power_of_two, next_power_of_two
from harness.target import Target

_MAX_WARPS = 32


class ConfigTemplate(msgspec.Struct, frozen=True, array_like=True):
    """``x`` and ``other`` (y, or r) are block sizes, ``share`` is the number of warps. Where whole
    rows are in a block (``other`` = 0), ``share`` is elements a thread instead; ``x`` is rows
    if the rows lie across memory, and elements a block if they lie along it."""

    x: int
    other: int
    share: int


Leaf: TypeAlias = tuple[ConfigTemplate, ...]
"""Templates that were fast on kernels of one sort, the best first."""


class Split(msgspec.Struct, frozen=True):
    """Kernels whose ``trait`` is at most ``limit`` go ``low``, the others ``high``."""

    trait: str
    limit: float
    low: Split | Leaf
    high: Split | Leaf


Tree: TypeAlias = "Split | Leaf"
TREES = Path(__file__).with_name("learned.json")


@functools.cache
def trees() -> Mapping[str, Tree]:
    """The trees by kind of kernel."""
    return msgspec.json.decode(TREES.read_bytes(), type=dict[str, Split | Leaf])


def traits(facts: Facts, target: Target) -> dict[str, float]:
    """What sorts of kernels are told apart by. Sizes are logarithms to base 2, relative to the
    device where its size matters."""
    points = facts.parallel * facts.reduced
    return {
        "loads": facts.loads,
        "stores": facts.stores,
        "full stores": max(0, facts.stores - facts.reductions),
        "reductions": facts.reductions,
        "reduced": math.log2(facts.reduced),
        "parallel per multiprocessor": math.log2(facts.parallel / target.multiprocessors),
        "points per multiprocessor": math.log2(points / target.multiprocessors),
        "loops": facts.loops,
        "remainder of 8": facts.reduced % 8,
        "bytes per point": math.log2(max(0.125, facts.bytes / points)),
    }


def chosen(tree: Tree, facts: Facts, target: Target) -> tuple[ConfigTemplate, ...]:
    """The templates of the leaf that ``facts`` lead to."""
    known = traits(facts, target)
    while isinstance(tree, Split):
        tree = tree.low if known[tree.trait] <= tree.limit else tree.high
    return tree


def kind_of(facts: Facts) -> str:
    """The kind of kernel that shares templates: tiles, whether a reduction loops, its direction."""
    if facts.family is Family.POINTWISE:
        return f"pointwise {len(facts.sizes)}"
    looped = "looped" if facts.family is Family.REDUCTION else "persistent"
    direction = Hint.INNER if facts.hint is Hint.DEFAULT else facts.hint
    return f"{looped} {direction.value}"


def config_of(template: ConfigTemplate, facts: Facts, target: Target) -> Config:
    """The configuration that ``template`` means for a kernel on ``target``."""
    if facts.family is Family.PERSISTENT:
        row = next_power_of_two(facts.reduced)
        x = template.x if kind_of(facts) != "persistent inner" else max(1, template.x // row)
        warps = max(1, last_power_of_two(x * row // (32 * template.share)))
        return finish(facts, Proposal((("x", x),), warps=warps, max_warps=_MAX_WARPS), target)
    others = [(prefix, template.other) for prefix, _ in reversed(facts.sizes) if prefix != "x"]
    blocks = (("x", template.x), *others[:1])
    return finish(facts, Proposal(blocks, warps=template.share, max_warps=_MAX_WARPS), target)
