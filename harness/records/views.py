"""How records look in a notebook: the table of kernels, by the metrics that have a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.records import metrics
from harness.records.names import short
from harness.table import Column, Table, html


def kernels_html(graphs: Iterable[tuple[str, Iterable[Any]]]) -> str:
    """Each graph's ``KernelRecord``s as a table below the graph's name."""
    columns = (
        Column("kernel", lambda row: short(row["kernel"].name)),
        Column("launches", lambda row: str(row["kernel"].launches)),
        *(_figure(metric) for metric in metrics.shown()),
        Column("check", lambda row: row["kernel"].check.value),
    )
    return html([Table(columns, [{"kernel": k} for k in known], name) for name, known in graphs])


def _figure(metric: metrics.Metric) -> Column:
    return Column(metric.head, lambda row: metric.text(metric.of(row["kernel"])))
