"""Which values two commits have in common: those of the same work.

A kernel goes on under the name of the last graph node that it computes, whatever else comes to
share it: with another fusion its time and GB/s are those of other work, and so are a graph's GB/s
once its kernels move other bytes (fewer bytes in a little less time are fewer GB/s). What was moved
is tracked, so it can be seen: such values are shown and not judged. Nothing is lost by that: the
graph's bytes and time are judged in any case.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from asv.results import iter_results, iter_results_for_machine_and_hash

Labelled = tuple[str, str]
"""A table of the suite (``graphs``, ``kernels``) and a row of it as asv writes it: ``('gpt2')``."""


def needs_same_work(entry: Mapping[str, Any] | None) -> bool:
    """Whether values of a benchmark (its entry in ``benchmarks.json``) are only comparable while
    the bytes of their row stay."""
    told = entry or {}
    table, metric = told.get("table"), told.get("metric")
    return metric == "gbps" or (table == "kernels" and metric == "seconds")


def row_of(label: str, name: str) -> str:
    """The row in a label that asv made of benchmark ``name`` and its parameters."""
    return label.removeprefix(name)


def moved(
    benchmarks: Mapping[str, Mapping[str, Any]], results: Iterable[Any], unroll: Callable[..., Any]
) -> dict[Labelled, float]:
    """Bytes of each row in ``results`` of one commit; ``unroll`` is asv's."""
    found: dict[Labelled, float] = {}
    for result in results:
        for name, entry in benchmarks.items():
            if entry.get("metric") != "bytes" or name not in result.get_all_result_keys():
                continue
            params = result.get_result_params(name)
            values = result.get_result_value(name, params)
            for label, value, *_ in unroll(name, params, values, None, None):
                if value is not None and value == value:
                    found[entry["table"], row_of(label, name)] = value
    return found


def changed(
    conf: Any,
    benchmarks: Mapping[str, Mapping[str, Any]],
    machine: str | None,
    commits: Iterable[str],
    unroll: Callable[..., Any],
) -> set[Labelled]:
    """The rows that move other bytes in one of two ``commits`` than in the other."""
    if machine is None or not any(needs_same_work(entry) for entry in benchmarks.values()):
        return set()
    one, other = (
        moved(benchmarks, iter_results_for_machine_and_hash(conf.results_dir, machine, c), unroll)
        for c in commits
    )
    return {row for row in one.keys() & other.keys() if one[row] != other[row]}


class Work:
    """The bytes of every row along the history, read once, for the published pages."""

    def __init__(
        self, conf: Any, revisions: Mapping[str, int], benchmarks: Mapping[str, Any]
    ) -> None:
        self._conf, self._revisions, self._benchmarks = conf, revisions, benchmarks
        self._read: dict[tuple[str, str, str], dict[int, float]] | None = None

    def since(self, machine: str, table: str, row: str) -> int:
        """The first revision from which the row moves the bytes that it moves last."""
        if self._read is None:
            self._read = dict(self._history())
        along = sorted(self._read.get((machine, table, row), {}).items())
        first = 0
        for place, (_, value) in enumerate(along):
            if value != along[-1][1]:
                first = place + 1
        return along[first][0] if first else 0

    def _history(self) -> dict[tuple[str, str, str], dict[int, float]]:
        from asv.commands.compare import unroll_result

        found: dict[tuple[str, str, str], dict[int, float]] = {}
        for result in iter_results(self._conf.results_dir):
            revision = self._revisions.get(result.commit_hash)
            if revision is None:
                continue
            machine = result.params["machine"]
            for (table, row), value in moved(self._benchmarks, [result], unroll_result).items():
                found.setdefault((machine, table, row), {})[revision] = value
        return found


def clipped(steps: Iterable[Any], first: int) -> list[Any]:
    """The parts of ``steps`` (left, right, …) from revision ``first`` on."""
    return [(max(left, first), right, *rest) for left, right, *rest in steps if right > first]


def note(rows: Collection[Labelled]) -> str:
    """The sentence about rows that are shown and not judged; empty if there are none."""
    if not rows:
        return ""
    named = ", ".join(row.strip("()'") for _, row in sorted(rows)[:4])
    more = ", …" if len(rows) > 4 else ""
    return (
        f"Not judged, because other bytes are moved in the two commits ({len(rows)}): "
        f"{named}{more}. Time and GB/s of such kernels and GB/s of such graphs are those of other "
        "work; the graphs' time and bytes are judged"
    )


def replayed(results: Iterable[Any] | None) -> list[Any] | None:
    """``results`` so that they can be read twice."""
    return None if results is None else list(results)


def machine_of(given: Mapping[str, Any]) -> str | None:
    """The machine whose results ``Compare.print_table`` is given."""
    for results in (given.get("resultset_1"), given.get("resultset_2")):
        for entry in results or ():
            return str(entry[6])
    machine = given.get("machine")
    return None if machine is None else os.fspath(machine)


def entries(benchmarks: Any) -> dict[str, Mapping[str, Any]]:
    """What asv knows of its benchmarks (``Benchmarks``), as plain entries by name."""
    return {name: entry for name, entry in benchmarks.items() if isinstance(entry, Mapping)}
