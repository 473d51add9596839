"""Configuration templates that learning chooses among, a few dozen per kind of kernel.

Each was within a few per cent of the fastest configuration of some kernel
(docs/measurements/heuristics.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.heuristics.facts import Config, Facts
from harness.heuristics.learned import ConfigTemplate, config_of, kind_of
from harness.target import Target


def _templates(*rows: tuple[int, int, int]) -> tuple[ConfigTemplate, ...]:
    return tuple(ConfigTemplate(*row) for row in rows)


TEMPLATES: Mapping[str, tuple[ConfigTemplate, ...]] = {
    "pointwise 1": _templates(
        *((x, 0, warps) for x in (256, 512, 1024, 2048, 4096) for warps in (1, 2, 4, 8, 16)),
        (128, 0, 1),
        (128, 0, 4),
    ),
    "pointwise 2": _templates(
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
    "looped inner": _templates(
        *((1, 512, 4), (1, 512, 8), (1, 256, 8), (1, 1024, 2), (1, 1024, 4), (1, 1024, 8)),
        *((1, 1024, 16), (1, 2048, 2), (1, 2048, 4), (1, 2048, 8), (1, 2048, 16), (1, 2048, 32)),
        *((1, 4096, 4), (1, 4096, 8), (1, 4096, 16), (1, 4096, 32), (2, 2048, 16)),
    ),
    "looped outer": _templates(
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
    "persistent inner": _templates(
        *((256, 0, 2), (256, 0, 4), (256, 0, 8), (256, 0, 16), (256, 0, 32), (256, 0, 64)),
        *((512, 0, 2), (512, 0, 4), (512, 0, 8), (512, 0, 16), (512, 0, 32), (1024, 0, 4)),
        *((1024, 0, 8), (1024, 0, 16), (2048, 0, 2), (2048, 0, 8), (2048, 0, 16), (4096, 0, 16)),
    ),
    "persistent outer": _templates(
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
    "persistent mixed": _templates(
        *((16, 0, 16), (16, 0, 32), (16, 0, 64), (32, 0, 8), (32, 0, 16), (32, 0, 32), (32, 0, 64)),
        *((64, 0, 16), (64, 0, 32), (64, 0, 64), (8, 0, 16), (8, 0, 32), (8, 0, 64)),
    ),
}
"""Templates by kind of kernel."""


def search_space(facts: Facts, target: Target) -> dict[ConfigTemplate, Config]:
    """Every template of the kernel's kind with its configuration; nothing for other kinds."""
    wanted = TEMPLATES.get(kind_of(facts), ())
    return {template: config_of(template, facts, target) for template in wanted}
