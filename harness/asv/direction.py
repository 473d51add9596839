"""Which way is worse: asv takes lower for better everywhere, GB/s are the other way round.

A benchmark function with the attribute ``better = "higher"`` is judged by it in ``compare``,
``continuous`` (and its exit status), ``find`` and on the published pages; one with ``better =
"neither"`` (more registers may be the faster kernel) is shown and not judged. asv's own tests of
significance and its thresholds stay what they are; only the roles of before and after, or the
sign, are exchanged. Values are shown as they were measured; rows without a value on either side
are not. Values of other work (``asv_work``) are shown and not judged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from asv import util
from asv.commands import compare, find
from asv.console import log
from asv.plugins import regressions

from harness.asv import work as asv_work

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"


class Rate(float):
    """A value of which more is better."""


class Fact:
    """A value that is not judged."""


class FactInt(Fact, int):
    """A whole number that is not judged."""


class FactFloat(Fact, float):
    """A number that is not judged."""


class RateSteps(list[Any]):
    """The steps of a series of which more is better."""


def better_of(benchmark: Mapping[str, Any] | None) -> str:
    """Which way is better for what ``benchmark`` tracks."""
    return str((benchmark or {}).get("better", LOWER))


def marked_value(value: Any, better: str) -> Any:
    """``value`` as a number that knows which way is better."""
    if better == HIGHER and isinstance(value, int | float):
        return Rate(value)
    if better == NEITHER and isinstance(value, int | float):
        return FactInt(value) if isinstance(value, int) else FactFloat(value)
    return value


@contextlib.contextmanager
def replaced(owner: Any, **attributes: Any) -> Iterator[None]:
    """``owner`` with other ``attributes`` for a while. Raises ``AttributeError`` for one that
    it does not have: then asv is not the version that this was written for."""
    kept = {name: owner.__dict__[name] for name in attributes if name in owner.__dict__}
    missing = sorted(set(attributes) - set(kept))
    if missing:
        raise AttributeError(f"asv has no {', '.join(missing)} in {owner!r}")
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(owner, name, value)


def directed_table(original: Callable[..., Any], load: Callable[[Any], Any]) -> Callable[..., Any]:
    """``Compare.print_table`` that knows directions. ``load`` reads the benchmarks of a
    configuration."""
    unroll, is_better = compare.unroll_result, compare._is_result_better

    def print_table(cls: Any, conf: Any, old: str, new: str, *args: Any, **kwargs: Any) -> Any:
        benchmarks = asv_work.entries(load(conf))
        for given in ("resultset_1", "resultset_2"):
            kwargs[given] = asv_work.replayed(kwargs.get(given))
        machine = asv_work.machine_of(kwargs)
        other_work = asv_work.changed(conf, benchmarks, machine, (old, new), unroll)

        def marked(name: str, params: Any, values: Any, *rest: Any) -> Iterator[Any]:
            entry = benchmarks.get(name, {})
            better, table = better_of(entry), str(entry.get("table"))
            works = asv_work.needs_same_work(entry)
            for label, value, *others in unroll(name, params, values, *rest):
                row = (table, asv_work.row_of(label, name))
                judged = NEITHER if works and row in other_work else better
                # What neither commit has would only be rows of n/a.
                if value is None or value == value:
                    yield (label, marked_value(value, judged), *others)

        mine = {"unroll_result": marked, "_is_result_better": directed(is_better)}
        with replaced(compare, **mine, human_value=short_value(compare.human_value)):
            done = original(cls, conf, old, new, *args, **kwargs)
        if said := asv_work.note(other_work):
            log.flush()
            print(said)  # noqa: T201 - below the table that asv prints
        return done

    return print_table


def short_value(original: Callable[..., str]) -> Callable[..., str]:
    """``util.human_value`` with five digits of a number whose unit asv does not know: GB/s."""

    def human_value(value: Any, unit: str, err: float | None = None) -> str:
        if unit in ("seconds", "bytes") or not isinstance(value, float) or value != value:
            return original(value, unit, err=err)
        return f"{value:.5g}" + ("" if err is None else f"±{err:.2g}")

    return human_value


def directed(is_better: Callable[..., bool]) -> Callable[..., bool]:
    """``is_better(a, b, …)`` for times, and for rates with the two exchanged."""

    def better(
        a: float, b: float, a_ss: Any, b_ss: Any, factor: float, use_stats: bool = True
    ) -> bool:
        if isinstance(a, Fact):
            return False
        if isinstance(a, Rate):
            # a > b · factor  is  b < a ÷ factor
            return is_better(b, a, b_ss, a_ss, factor, use_stats=use_stats)
        return is_better(a, b, a_ss, b_ss, factor, use_stats=use_stats)

    return better


class Turned:
    """Results of a commit as ``find`` reads them: rates with their sign turned, so that less
    is more. Raises ``UserError`` where the commit has no value at all."""

    def __init__(self, results: Any, benchmarks: Mapping[str, Any]) -> None:
        self._results = results
        self._benchmarks = benchmarks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._results, name)

    def get_result_value(self, name: str, params: Any) -> list[float | None]:
        """The values, n/a as None, so that ``find`` passes over the commit."""
        values = [
            None if v is None or v != v else v for v in self._results.get_result_value(name, params)
        ]
        skipped = any(
            v is not None and v != v for v in self._results.get_result_value(name, params)
        )
        if skipped and all(v is None for v in values):
            raise util.UserError(
                f"{name} was not measured on {self._results.commit_hash[:8]}: there is nothing to "
                "search for. Times and GB/s need a GPU; static metrics, kernel counts and code "
                "generation time can be searched without one."
            )
        sign = -1.0 if better_of(self._benchmarks.get(name)) == HIGHER else 1.0
        return [None if v is None else sign * v for v in values]


def turned_runner(run: Callable[..., Any]) -> Callable[..., Any]:
    """``runner.run_benchmarks`` for ``find``."""

    def run_benchmarks(benchmarks: Any, *args: Any, **kwargs: Any) -> Turned:
        return Turned(run(benchmarks, *args, **kwargs), benchmarks)

    return run_benchmarks


def directed_filter(original: Callable[..., Any], load: Callable[[Any], Any]) -> Callable[..., Any]:
    """``_GraphDataFilter.get_graph_data`` that marks the steps of rates and leaves out what is
    not judged."""

    def get_graph_data(self: Any, graph: Any, benchmark: Any) -> Iterator[Any]:
        better = better_of(benchmark)
        if better == NEITHER:
            return
        works = asv_work.needs_same_work(benchmark)
        if works and "work" not in vars(self):
            known = asv_work.entries(load(self.conf))
            self.work = asv_work.Work(self.conf, self.revisions, known)
        for index, name, found, threshold in original(self, graph, benchmark):
            steps = found
            if works:
                row = asv_work.row_of(name, benchmark["name"])
                machine = graph.params.get("machine", "")
                steps = asv_work.clipped(found, self.work.since(machine, benchmark["table"], row))
            yield index, name, RateSteps(steps) if better == HIGHER else steps, threshold

    return get_graph_data


def directed_detector(original: Callable[..., Any]) -> Callable[..., Any]:
    """``step_detect.detect_regressions``; for rates on time per amount, told as rates."""

    def detect(steps: Sequence[Any], threshold: float = 0, min_size: int = 2) -> Any:
        if not isinstance(steps, RateSteps):
            return original(steps, threshold, min_size)
        inverse = [_inverted(step) for step in steps if step[2]]
        last, best, jumps = original(inverse, threshold, min_size)
        if last is None:
            return last, best, jumps
        back = [(before, after, 1 / old, 1 / new) for before, after, old, new in jumps]
        return 1 / last, 1 / best, back

    return detect


def _inverted(step: Sequence[Any]) -> tuple[Any, ...]:
    left, right, value, _, error = step
    return left, right, 1 / value, 1 / value, error / value**2


def install(load: Callable[[Any], Any]) -> None:
    """Make asv's commands judge by direction."""
    table = directed_table(compare.Compare.print_table.__func__, load)
    compare.Compare.print_table = classmethod(table)
    find.run_benchmarks = turned_runner(find.run_benchmarks)
    data = regressions._GraphDataFilter
    data.get_graph_data = directed_filter(data.get_graph_data, load)
    regressions.detect_regressions = directed_detector(regressions.detect_regressions)
