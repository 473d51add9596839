"""What two commits have in common, without running asv's commands."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("asv")

from suites.tracking import direction
from suites.tracking import plugin as asv_plugin

BENCHMARKS: dict[str, dict[str, Any]] = {
    "s.G.gbps": {"table": "graphs", "metric": "gbps", "better": "higher"},
    "s.G.seconds": {"table": "graphs", "metric": "seconds"},
    "s.K.seconds": {"table": "kernels", "metric": "seconds"},
    "s.K.bytes": {"table": "kernels", "metric": "bytes"},
    "other.time": {},
}


class Results:
    """Bytes by kernel as asv's results have them."""

    def __init__(self, commit: str, machine: str = "box", **moved: float) -> None:
        self.commit_hash, self.params = commit, {"machine": machine}
        self._moved = moved

    def get_all_result_keys(self) -> list[str]:
        return ["s.K.bytes"]

    def get_result_params(self, name: str) -> list[list[str]]:
        return [[f"'{kernel}'" for kernel in self._moved]]

    def get_result_value(self, name: str, params: Any) -> list[float]:
        return list(self._moved.values())


def test_a_graphs_time_is_compared_whatever_it_moves() -> None:
    needs = {name for name, entry in BENCHMARKS.items() if direction.needs_same_work(entry)}
    assert needs == {"s.G.gbps", "s.K.seconds"}
    assert not direction.needs_same_work({})


def test_bytes_are_read_by_row_and_gaps_are_none() -> None:
    result = Results("c", a=100.0, b=float("nan"))
    assert direction.moved(BENCHMARKS, [result]) == {("kernels", "('a')"): 100.0}


@given(st.lists(st.sampled_from([100.0, 200.0]), min_size=1, max_size=12))
def test_a_kernels_history_begins_where_its_work_did(levels: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        along = [Results(f"c{i}", a=level) for i, level in enumerate(levels)]
        others = [Results("c0", machine="another", a=1.0), Results("not published", a=7.0)]
        patch.setattr(direction, "iter_results", lambda _: [*reversed(along), *others])
        patch.setattr(direction, "_entries", lambda _: BENCHMARKS)
        conf = SimpleNamespace(results_dir="")
        revisions = {f"c{i}": 10 * i for i in range(len(levels))}
        work = direction.work_history(conf, revisions)
        first = direction.since(work, ("box", "kernels", "('a')"))
    assert all(level == levels[-1] for level in levels[first // 10 :])
    assert first == 0 or levels[first // 10 - 1] != levels[-1]
    assert direction.since(work, ("box", "kernels", "('unknown')")) == 0


def test_steps_are_cut_where_the_work_changed() -> None:
    steps = [(0, 10, 5.0, 5.0, 0.1), (10, 30, 9.0, 9.0, 0.1), (30, 40, 8.0, 8.0, 0.1)]
    assert direction.clipped(steps, 0) == steps
    assert direction.clipped(steps, 10) == steps[1:]
    assert direction.clipped(steps, 20) == [(20, 30, 9.0, 9.0, 0.1), steps[2]]


def test_a_table_of_asvs_counts_the_rows_without_a_value() -> None:
    def details(*rows: str) -> str:
        rule = "========== ====="
        return "\n".join([rule, "   graph        ", "---------- -----", *rows, rule])

    shown = asv_plugin.without_gaps(lambda _, rows: ("ok", details(*rows)), {})
    _, some = shown(None, ["  gpt2      7  ", "  bert     n/a ", "  wrong failed "])
    assert "gpt2" in some and "wrong" in some and "bert" not in some
    assert some.endswith("\n1 rows n/a")
    assert shown(None, ["  bert     n/a ", "  vit      n/a "]) == ("ok", "2 rows n/a")
    assert shown(None, ["  gpt2      7  "]) == ("ok", details("  gpt2      7  "))
    assert asv_plugin.without_gaps(lambda *_: ("ok", None), {})(None, None) == ("ok", None)


def test_an_interrupted_run_ends_with_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped, asv_plugin.stoppable():
        raise KeyboardInterrupt
    assert stopped.value.code == 130
    assert "what was measured before it is kept" in caplog.text
