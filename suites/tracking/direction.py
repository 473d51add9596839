"""Which way is worse: asv takes lower for better everywhere, GB/s are the other way round.

It needs nothing but asv: another project takes the file along and names it as a plugin in its
``asv.conf.json``.

A benchmark function with the attribute ``better = "higher"`` is judged by it in ``compare``,
``continuous`` (and its exit status), ``find`` and in the regressions of the published pages; one
with ``better = "neither"`` (more registers may be the faster kernel) is shown and not judged. asv's
own tests of significance and its thresholds stay what they are; only the roles of before and
after, or the sign, are exchanged.

Values of other work are shown and not judged either. A kernel goes on under the name of the last
graph node that it computes, whatever else comes to share it: with another fusion its time and GB/s
are those of other work, and so are a graph's GB/s once its kernels move other bytes. The graph's
bytes and time are judged in any case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import patch

from asv import util
from asv.benchmarks import Benchmarks
from asv.commands import compare, find
from asv.console import log
from asv.plugins import regressions
from asv.results import iter_results, iter_results_for_machine_and_hash

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"

Row = tuple[str, str]
"""A table of the suite (``graphs``, ``kernels``) and a row of it as asv writes it: ``('gpt2')``."""


class Directed(float):
    """A value that knows which way is better."""

    better = LOWER


class RateSteps(list[Any]):
    """The steps of a series of which more is better."""


def better_of(benchmark: Mapping[str, Any] | None) -> str:
    """Which way is better for what ``benchmark`` tracks."""
    return str((benchmark or {}).get("better", LOWER))


def marked_value(value: Any, better: str) -> Any:
    """``value`` as a number that knows which way is better."""
    if better == LOWER or not isinstance(value, int | float):
        return value
    made = Directed(value)
    made.better = better
    return made


def directed_table(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Compare.print_table`` that knows directions. Rows that were not selected (``continuous``
    on some graphs) and rows without a value on either side are left out."""
    unroll = compare.unroll_result

    def print_table(cls: Any, conf: Any, old: str, new: str, *args: Any, **kwargs: Any) -> Any:
        benchmarks = _entries(conf)
        site = getattr(conf, "site", None)
        machine = kwargs.get("machine") or (site and site.machine)
        results = (
            iter_results_for_machine_and_hash(conf.results_dir, machine, commit)
            for commit in (old, new)
        )
        one, other = (moved(benchmarks, each) for each in results)
        other_work = {row for row in one.keys() & other.keys() if one[row] != other[row]}

        def marked(name: str, params: Any, values: Any, *rest: Any) -> Iterator[Any]:
            entry = benchmarks.get(name, {})
            better, works = better_of(entry), needs_same_work(entry)
            selected = site.selection.get(name) if site else None
            for place, (label, value, *others) in enumerate(unroll(name, params, values, *rest)):
                row = (str(entry.get("table")), label.removeprefix(name))
                judged = NEITHER if works and row in other_work else better
                if (selected is None or place in selected) and value == value:
                    yield (label, marked_value(value, judged), *others)

        replaced: dict[str, Any] = {
            "unroll_result": marked,
            "human_value": short_value(compare.human_value),
            "_is_result_better": directed(compare._is_result_better),
        }
        with patch.multiple(compare, **replaced):
            done = original(cls, conf, old, new, *args, **kwargs)
        if said := note(other_work if any(map(needs_same_work, benchmarks.values())) else ()):
            log.flush()
            print(said)  # noqa: T201 - below the table that asv prints
        return done

    return print_table


def short_value(original: Callable[..., str]) -> Callable[..., str]:
    """``util.human_value`` with five digits of a number whose unit asv does not know: GB/s."""

    def human_value(value: Any, unit: str, err: float | None = None) -> str:
        if unit in ("seconds", "bytes") or not isinstance(value, float) or value != value:
            return original(value, unit, err=err)
        shown = f"{value:.0f}" if value.is_integer() else f"{value:.5g}"
        return shown + ("" if err is None else f"±{err:.2g}")

    return human_value


def directed(is_better: Callable[..., bool]) -> Callable[..., bool]:
    """``is_better(a, b, …)`` for times, and for rates with the two exchanged."""

    def better(
        a: float, b: float, a_ss: Any, b_ss: Any, factor: float, use_stats: bool = True
    ) -> bool:
        way = getattr(a, "better", LOWER)
        if way == HIGHER:  # a > b · factor  is  b < a ÷ factor
            a, b, a_ss, b_ss = b, a, b_ss, a_ss
        return way != NEITHER and is_better(a, b, a_ss, b_ss, factor, use_stats=use_stats)

    return better


class Selected:
    """Results of a commit, without the values of rows that were not selected."""

    def __init__(self, results: Any, selection: Mapping[str, Any]) -> None:
        self._results, self._selection = results, selection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._results, name)

    def get_result_value(self, name: str, params: Any) -> list[Any]:
        """The values, n/a where nothing was asked for."""
        every = self._results.get_result_value(name, params)
        chosen = self._selection.get(name) or range(len(every))
        return [value if place in chosen else math.nan for place, value in enumerate(every)]


class Turned(Selected):
    """Results of a commit as ``find`` reads them: rates with their sign turned, so that less is
    more. ``find`` passes over a commit without values."""

    def __init__(self, results: Any, benchmarks: Any) -> None:
        super().__init__(results, benchmarks.benchmark_selection)
        self._benchmarks = benchmarks

    def get_result_value(self, name: str, params: Any) -> list[float | None]:
        """The values, n/a as None. Raises ``UserError`` where the commit has no value at all."""
        found = super().get_result_value(name, params)
        sign = -1.0 if better_of(self._benchmarks.get(name)) == HIGHER else 1.0
        turned = [None if v is None or v != v else sign * v for v in found]
        if any(v is not None for v in found) and all(v is None for v in turned):
            raise util.UserError(
                f"{name} was not measured on {self._results.commit_hash[:8]}: there is nothing to "
                "search for. Times and GB/s need a GPU; static metrics, kernel counts and code "
                "generation time can be searched without one."
            )
        return turned


def turned_runner(run: Callable[..., Any]) -> Callable[..., Any]:
    """``runner.run_benchmarks`` for ``find``."""

    def run_benchmarks(benchmarks: Any, *args: Any, **kwargs: Any) -> Turned:
        return Turned(run(benchmarks, *args, **kwargs), benchmarks)

    return run_benchmarks


def directed_filter(original: Callable[..., Any]) -> Callable[..., Any]:
    """``_GraphDataFilter.get_graph_data`` that marks the steps of rates and leaves out what is
    not judged."""

    def get_graph_data(self: Any, graph: Any, benchmark: Any) -> Iterator[Any]:
        better = better_of(benchmark)
        if better == NEITHER:
            return
        works = needs_same_work(benchmark)
        if works and "work" not in vars(self):
            self.work = work_history(self.conf, self.revisions)
        for index, name, steps, threshold in original(self, graph, benchmark):
            if works:
                row = (benchmark["table"], name.removeprefix(benchmark["name"]))
                steps = clipped(steps, since(self.work, (graph.params.get("machine"), *row)))
            yield index, name, RateSteps(steps) if better == HIGHER else steps, threshold

    return get_graph_data


def directed_detector(original: Callable[..., Any]) -> Callable[..., Any]:
    """``step_detect.detect_regressions``; for rates on time per amount, told as rates."""

    def detect(steps: Sequence[Any], threshold: float = 0, min_size: int = 2) -> Any:
        if not isinstance(steps, RateSteps):
            return original(steps, threshold, min_size)
        inverse = [(*s[:2], 1 / s[2], 1 / s[2], s[4] / s[2] ** 2) for s in steps if s[2]]
        last, best, jumps = original(inverse, threshold, min_size)
        if last is None:
            return last, best, jumps
        back = [(before, after, 1 / old, 1 / new) for before, after, old, new in jumps]
        return 1 / last, 1 / best, back

    return detect


def needs_same_work(entry: Mapping[str, Any]) -> bool:
    """Whether values of a benchmark (its entry in ``benchmarks.json``) are only comparable while
    the bytes of their row stay."""
    table, metric = entry.get("table"), entry.get("metric")
    return metric == "gbps" or (table == "kernels" and metric == "seconds")


def moved(benchmarks: Mapping[str, Any], results: Iterable[Any]) -> dict[Row, float]:
    """Bytes of each row in ``results`` of one commit."""
    tracked = {n: e["table"] for n, e in benchmarks.items() if e.get("metric") == "bytes"}
    found: dict[Row, float] = {}
    for result in results:
        for name in tracked.keys() & result.get_all_result_keys():
            params = result.get_result_params(name)
            values = result.get_result_value(name, params)
            for label, value, *_ in compare.unroll_result(name, params, values, None, None):
                if value is not None and value == value:
                    found[tracked[name], label.removeprefix(name)] = value
    return found


def work_history(conf: Any, revisions: Mapping[str, int]) -> dict[Any, dict[int, float]]:
    """The bytes by revision of every row (machine, table, row) along the history."""
    benchmarks = _entries(conf)
    found: dict[Any, dict[int, float]] = {}
    for result in iter_results(conf.results_dir):
        if result.commit_hash in revisions:
            for row, value in moved(benchmarks, [result]).items():
                along = found.setdefault((result.params["machine"], *row), {})
                along[revisions[result.commit_hash]] = value
    return found


def since(history: Mapping[Any, Mapping[int, float]], row: Any) -> int:
    """The first revision from which the row moves the bytes that it moves last."""
    along = sorted(history.get(row, {}).items())
    others = [place for place, (_, value) in enumerate(along) if value != along[-1][1]]
    return along[others[-1] + 1][0] if others else 0


def clipped(steps: Iterable[Any], first: int) -> list[Any]:
    """The parts of ``steps`` (left, right, …) from revision ``first`` on."""
    return [(max(left, first), right, *rest) for left, right, *rest in steps if right > first]


def note(rows: Collection[Row]) -> str:
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


def _entries(conf: Any) -> dict[str, Mapping[str, Any]]:
    """What asv knows of its benchmarks, as plain entries by name."""
    every = Benchmarks.load(conf)
    return {name: entry for name, entry in every.items() if isinstance(entry, Mapping)}


def setup() -> None:
    """Make asv's commands judge by direction; asv calls it when it has loaded the plugin."""
    table = directed_table(compare.Compare.print_table.__func__)
    compare.Compare.print_table = classmethod(table)
    find.run_benchmarks = turned_runner(find.run_benchmarks)
    data = regressions._GraphDataFilter
    data.get_graph_data = directed_filter(data.get_graph_data)
    regressions.detect_regressions = directed_detector(regressions.detect_regressions)
