"""What has no figures any more: graphs that stopped compiling, kernels that stopped running or pass
their check no longer, kernels that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.history.changes.series import History

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 3


def broken(known: History) -> list[str]:
    """A sentence for each graph or kernel that fails in a machine's newest run and did not in an
    earlier one."""
    return [each for newest, earlier in _newest(known) for each in _broken(known, newest, earlier)]


def gone(known: History) -> list[str]:
    """A sentence for each machine's newest whole run that lacks kernels which the run before it
    had, in graphs that both have: their work is in other kernels, or in none."""
    found = []
    for newest, earlier in _newest(known):
        whole = [run for run in earlier if known.runs[run].complete]
        if not whole or not known.runs[newest].complete:
            continue
        now, before = _rows(known, newest), _rows(known, whole[-1])
        left = before[before["graph"].isin(set(now["graph"])) & ~_named(before).isin(_named(now))]
        if len(left):
            names = [f"{row.graph}/{row.label}" for row in left.head(_MOST_NAMED).itertuples()]
            more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            found.append(
                f"{len(left)} series ended at {_commit(known, newest)} on "
                f"{known.runs[newest].machine}: no kernel computes the same nodes "
                f"({', '.join(names)}{more}); the graphs' totals go on"
            )
    return found


def _newest(known: History) -> Iterator[tuple[int, list[int]]]:
    """For each machine its newest run and the earlier ones, oldest first."""
    used = [n for n in range(len(known.runs)) if known.position_of_run[n] >= 0]
    order = sorted(used, key=lambda n: (known.position_of_run[n], known.runs[n].created))
    for machine in dict.fromkeys(known.runs[n].machine for n in order):
        mine = [n for n in order if known.runs[n].machine == machine]
        newest = mine[-1]
        at = known.position_of_run[newest]
        yield newest, [n for n in mine if known.position_of_run[n] < at]


def _broken(known: History, newest: int, earlier: list[int]) -> Iterator[str]:
    run, at = known.runs[newest], _commit(known, newest)
    for graph, reason in run.reasons.items():
        if any(graph not in known.runs[n].reasons and _has(known, n, graph) for n in earlier):
            yield f"{graph} does not compile at {at} on {run.machine}: {reason}"
    now = _rows(known, newest)
    failed = now[now["failed"].to_numpy(bool)]
    if not len(failed):
        return
    before = known.frame[known.frame["run"].isin(earlier)]
    ran = before[~before["failed"].to_numpy(bool)]
    for row in failed[_named(failed).isin(_named(ran))].itertuples():
        what = "fails its check" if row.check == "failed" else "does not run"
        yield f"{row.graph}/{row.label} {what} at {at} on {run.machine}: its series ended"


def _has(known: History, run: int, graph: str) -> bool:
    return bool((_rows(known, run)["graph"] == graph).any())


def _rows(known: History, run: int) -> pd.DataFrame:
    return known.frame[known.frame["run"].to_numpy() == run]


def _named(rows: pd.DataFrame) -> pd.Series[str]:
    """What tells kernels apart, in any run."""
    found: pd.Series[str] = rows["graph"].astype(str) + "\n" + rows["key"].astype(str)
    return found


def _commit(known: History, run: int) -> str:
    return known.commits[int(known.position_of_run[run])][:10]
