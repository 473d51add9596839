"""The operator table itself: every row of every family; see ``tests.operator_cases``."""

from __future__ import annotations

from tests import (
    operator_rows_elementwise,
    operator_rows_reduction,
    operator_rows_scan,
    operator_rows_shape,
)
from tests.operator_cases import Case


def build() -> tuple[Case, ...]:
    """Every row, names unique."""
    files = (
        operator_rows_elementwise,
        operator_rows_shape,
        operator_rows_reduction,
        operator_rows_scan,
    )
    rows = [case for file in files for family in file.FAMILIES for case in family()]
    names = [case.name for case in rows]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"operator cases with the same name: {twice}")
    return tuple(rows)


CASES = build()
