"""The log of random programs: what a journal adds to it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from scripts.fuzz_log import add, batches, row


def trial(seed: int, **given: Any) -> dict[str, Any]:
    right = {"kernels": 2, "library_calls": 1, "faults": [], "torchs": [], "program": ""}
    return {"seed": seed, **right, **given}


def test_a_journal_is_added_to_the_log_once(tmp_path: Path) -> None:
    log, journal = tmp_path / "log.jsonl.gz", tmp_path / "journal.jsonl"
    told = "see its text in /root/.cache/harness/modules/kernel.py, /usr/site-packages/torch/x.py"
    journal.write_text(
        json.dumps(trial(8, faults=[told], program="def f(): ..."))
        + "\n"
        + json.dumps(trial(7, torchs=["0: a stride"]))
        + "\n"
    )
    lines = add(journal, log, "abc", "cpu")
    assert row(lines) == "| abc | 7 to 8 | 1 of 2 | 1 | 1 | 4 | 2 |"
    first = log.read_bytes()
    kept = [json.loads(text) for text in gzip.decompress(first).splitlines()]
    assert kept[0] == {
        "commit": "abc",
        "where": "cpu",
        "seed": 7,
        "kernels": 2,
        "library_calls": 1,
        "torchs": True,
    }
    assert kept[1]["faults"] == ["see its text in ~/.cache/harness/modules/kernel.py, torch/x.py"]
    assert row(add(journal, log, "abc", "cpu")).startswith("| abc | 7 to 8 |")
    assert log.read_bytes() == first
    assert len(add(journal, log, "def", "cpu")) == 2
    assert len(gzip.decompress(log.read_bytes()).splitlines()) == 4
    assert list(batches(log)) == [
        f"| {commit} | 7 to 8 | 1 of 2 | 1 | 1 | 4 | 2 | cpu |" for commit in ("abc", "def")
    ]
