"""Shapes of launch configurations that learning chooses among, a few dozen per kind of kernel.

A form says how a configuration is derived from a kernel's sizes, so that one form means the
same for kernels of any size: fixed blocks (``xr``, ``xy``), or elements a block and elements a
thread along rows that are held whole. Each was within a few per cent of the fastest
configuration of some kernel (docs/measurements/heuristics.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import Draft, finish, last_power_of_two, next_power_of_two
from harness.target import Target

_MAX_WARPS = 32


@dataclass(frozen=True, slots=True)
class Form:
    """``x`` and ``other`` (y, or r) are block sizes, ``share`` is the number of warps. Where whole
    rows are in a block (``other`` = 0), ``share`` is elements a thread instead; ``x`` is rows
    if the rows lie across memory, and elements a block if they lie along it."""

    x: int
    other: int
    share: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """Forms that were fast on kernels of one sort, the best first."""

    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Kernels whose ``trait`` is at most ``limit`` go ``low``, the others ``high``."""

    trait: str
    limit: float
    low: Split | Leaf
    high: Split | Leaf


def traits(facts: Facts, target: Target) -> dict[str, float]:
    """What sorts of kernels are told apart by. Sizes are logarithms to base 2, relative to the
    device where its size matters."""
    points = facts.parallel * facts.reduced
    each = facts.bytes / points
    return {
        "loads": facts.loads,
        "stores": facts.stores,
        "full stores": max(0, facts.stores - facts.reductions),
        "reductions": facts.reductions,
        "reduced": math.log2(facts.reduced),
        "parallel per multiprocessor": math.log2(facts.parallel / target.multiprocessors),
        "points per multiprocessor": math.log2(points / target.multiprocessors),
        "bytes per point": math.log2(max(0.125, each)),
    }


def chosen(tree: Split | Leaf, facts: Facts, target: Target) -> tuple[Form, ...]:
    """The forms of the leaf that ``facts`` lead to."""
    known = traits(facts, target)
    while isinstance(tree, Split):
        tree = tree.low if known[tree.trait] <= tree.limit else tree.high
    return tree.forms


def kind_of(facts: Facts) -> str:
    """The kind of kernel that shares forms: tiles, whether a reduction loops, its direction."""
    if facts.family is Family.POINTWISE:
        return f"pointwise {len(facts.sizes)}"
    looped = "looped" if facts.family is Family.REDUCTION else "persistent"
    direction = {Hint.OUTER_TINY: Hint.OUTER, Hint.DEFAULT: Hint.INNER}.get(facts.hint, facts.hint)
    return f"{looped} {direction.value}"


def draft(form: Form, facts: Facts) -> Draft:
    """What ``form`` means for a kernel, before the rules that hold for every one."""
    names = [prefix for prefix, _ in facts.sizes]
    if facts.family is Family.PERSISTENT:
        row = next_power_of_two(facts.reduced)
        across = kind_of(facts) != "persistent inner"
        x = form.x if across else max(1, form.x // row)
        warps = max(1, last_power_of_two(x * row // (32 * form.share)))
        return Draft((("x", x),), warps=warps, max_warps=_MAX_WARPS)
    second = next((p for p in names if p != "x"), None)
    blocks = (("x", form.x),) if second is None else (("x", form.x), (second, form.other))
    return Draft(blocks, warps=form.share, max_warps=_MAX_WARPS)


def config_of(form: Form, facts: Facts, target: Target) -> Config:
    """The configuration that ``form`` means for a kernel on ``target``."""
    return finish(facts, draft(form, facts), target)


def _forms(*rows: tuple[int, int, int]) -> tuple[Form, ...]:
    return tuple(Form(*row) for row in rows)


FORMS: Mapping[str, tuple[Form, ...]] = {
    "pointwise 1": _forms(
        *((x, 0, warps) for x in (256, 512, 1024, 2048, 4096) for warps in (1, 2, 4, 8, 16)),
        (128, 0, 1),
        (128, 0, 4),
    ),
    "pointwise 2": _forms(
        *(
            (32, 32, 4),
            (32, 32, 8),
            (32, 64, 4),
            (64, 32, 4),
            (64, 32, 8),
            (64, 64, 4),
            (64, 64, 8),
        ),
        *((32, 64, 16), (32, 128, 8), (128, 32, 8), (256, 32, 8), (256, 16, 8), (16, 256, 8)),
    ),
    "looped inner": _forms(
        *((1, 512, 4), (1, 512, 8), (1, 256, 8), (1, 1024, 2), (1, 1024, 4), (1, 1024, 8)),
        *((1, 1024, 16), (1, 2048, 2), (1, 2048, 4), (1, 2048, 8), (1, 2048, 16), (1, 2048, 32)),
        *((1, 4096, 4), (1, 4096, 8), (1, 4096, 16), (1, 4096, 32), (2, 2048, 16)),
    ),
    "looped outer": _forms(
        *((32, 64, 4), (2, 32, 1), (64, 64, 4), (64, 64, 32), (32, 8, 4), (32, 32, 2), (16, 32, 8)),
        *((8, 64, 16), (64, 64, 8), (16, 32, 4), (8, 32, 1), (64, 64, 16), (4, 128, 16)),
        *((64, 4, 4), (32, 256, 2), (64, 32, 8), (32, 64, 2), (4, 8, 1), (64, 32, 4), (32, 32, 4)),
        *(
            (64, 8, 4),
            (64, 8, 8),
            (32, 128, 4),
            (16, 64, 8),
            (32, 32, 8),
            (64, 32, 16),
            (32, 64, 16),
        ),
        *((8, 64, 8), (16, 128, 4), (64, 128, 8), (32, 16, 4), (8, 128, 8), (16, 64, 2)),
    ),
    "looped mixed": _forms(
        *((1, 1024, 1), (1, 2048, 1), (1, 2048, 2), (8, 128, 2), (32, 64, 2), (64, 32, 16)),
        *((32, 32, 1), (32, 128, 8), (32, 128, 4), (16, 128, 1), (16, 128, 8), (64, 64, 4)),
        *((32, 32, 4), (8, 128, 4), (16, 128, 2), (4, 256, 4), (1, 1024, 4)),
    ),
    "persistent inner": _forms(
        *((256, 0, 2), (256, 0, 4), (256, 0, 8), (256, 0, 16), (256, 0, 32), (256, 0, 64)),
        *((512, 0, 2), (512, 0, 4), (512, 0, 8), (512, 0, 16), (512, 0, 32), (1024, 0, 4)),
        *((1024, 0, 8), (1024, 0, 16), (2048, 0, 2), (2048, 0, 8), (2048, 0, 16), (4096, 0, 16)),
    ),
    "persistent outer": _forms(
        *(
            (2, 0, 4),
            (4, 0, 4),
            (4, 0, 2),
            (8, 0, 2),
            (8, 0, 4),
            (8, 0, 16),
            (16, 0, 2),
            (16, 0, 4),
        ),
        *((16, 0, 8), (16, 0, 16), (16, 0, 32), (32, 0, 4), (32, 0, 8), (32, 0, 16), (32, 0, 32)),
        *(
            (32, 0, 64),
            (64, 0, 4),
            (64, 0, 8),
            (64, 0, 16),
            (64, 0, 32),
            (128, 0, 32),
            (128, 0, 64),
        ),
    ),
    "persistent mixed": _forms(
        *((16, 0, 16), (16, 0, 32), (16, 0, 64), (32, 0, 8), (32, 0, 16), (32, 0, 32), (32, 0, 64)),
        *((64, 0, 16), (64, 0, 32), (64, 0, 64), (8, 0, 16), (8, 0, 32), (8, 0, 64)),
    ),
}
"""Forms by kind of kernel."""


def menu(facts: Facts, target: Target) -> dict[Form, Config]:
    """Every form of the kernel's kind with its configuration; nothing for other kinds."""
    return {form: config_of(form, facts, target) for form in FORMS.get(kind_of(facts), ())}
