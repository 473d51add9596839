from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.history.changes import waivers
from harness.history.changes.waivers import Waiver


def read(tmp_path: Path, reason: str) -> Waiver:
    path = tmp_path / waivers.FILE
    path.write_text(f"abcdef1  ms  g/k  {reason}\n")
    (found,) = waivers.read(path)
    return found


@pytest.mark.parametrize(
    ("reason", "bound", "until"),
    [
        ("on purpose, up-to=5% or so", None, None),
        ("up-to=5% on purpose, up-to=5% or so", 0.05, None),
        ("until=2026-12-31 on purpose, up-to=5% or so", None, dt.date(2026, 12, 31)),
        ("up-to=2.5%  until=2026-12-31  on purpose, up-to=5% or so", 0.025, dt.date(2026, 12, 31)),
    ],
)
def test_a_reason_may_begin_with_limits(
    tmp_path: Path, reason: str, bound: float | None, until: dt.date | None
) -> None:
    found = read(tmp_path, reason)
    assert (found.bound, found.until) == (bound, until)
    assert found.reason == "on purpose, up-to=5% or so"


@pytest.mark.parametrize(
    "reason", ["up-to=5%", "up-to=much why", "until=tomorrow why", "up-to=1.2.3% why"]
)
def test_limits_that_cannot_be_read_are_said(tmp_path: Path, reason: str) -> None:
    with pytest.raises(UsageError, match="limit that cannot be read, or no reason") as caught:
        read(tmp_path, reason)
    assert caught.value.where.endswith(":1")


def test_a_waiver_holds_up_to_its_bound_and_last_day(tmp_path: Path) -> None:
    found = read(tmp_path, "up-to=5% until=2026-12-31 why")
    last = dt.date(2026, 12, 31)
    assert found.allows(1.05, last)
    assert not found.allows(1.051, last)
    assert not found.allows(None, last)
    assert not found.allows(1.0, dt.date(2027, 1, 1))
    assert read(tmp_path, "why").allows(None, last)
