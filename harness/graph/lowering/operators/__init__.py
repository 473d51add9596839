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

_FAMILIES = (
    *(pointwise, views, creation, indexing, reductions),
    *(joining, scanning, scattering, resampling, special),
)
RULES: Rules = {op: rule for family in _FAMILIES for op, rule in family.RULES.items()}
