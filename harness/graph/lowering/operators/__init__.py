"""All lowering rules, one file per family."""

from __future__ import annotations

from harness.graph.lowering.operators import (
    creation,
    indexing,
    joining,
    pointwise,
    reductions,
    resampling,
    scanning,
    scattering,
    special,
    views,
)
from harness.graph.lowering.rule import Rules

RULES: Rules = {
    **pointwise.RULES,
    **views.RULES,
    **creation.RULES,
    **indexing.RULES,
    **reductions.RULES,
    **joining.RULES,
    **scanning.RULES,
    **scattering.RULES,
    **resampling.RULES,
    **special.RULES,
}
