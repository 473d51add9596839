from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.track import journal, store
from harness.track.journal import Journal
from tests.track.examples import KERNEL, failed, run


def stored(results: Path) -> list[Path]:
    return sorted(results.rglob("*.parquet"))


def test_a_finished_journal_is_a_complete_run(tmp_path: Path) -> None:
    with Journal(tmp_path, run()) as kept:
        for graph in run().graphs:
            kept.add_graph(graph)
        kept.finish()
    assert kept.path is not None
    assert store.load(kept.path) == run()
    assert not kept.journal.exists()


def test_an_exception_keeps_what_was_measured(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Journal(tmp_path, run()) as kept:
        kept.add_graph(run().graphs[0])
        kept.add_kernel("second", KERNEL)
        kept.add_kernel("second", failed())
        raise KeyboardInterrupt
    assert kept.path is not None
    loaded = store.load(kept.path)
    assert not loaded.complete
    assert loaded.graphs[0] == run().graphs[0]
    assert loaded.graphs[1].kernels == (KERNEL, failed())


def test_an_exception_before_anything_was_measured_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Journal(tmp_path, run()):
        raise KeyboardInterrupt
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_facts_learnt_late_are_kept(tmp_path: Path) -> None:
    with Journal(tmp_path, run(copy_gbps=None)) as kept:
        kept.add_graph(run().graphs[0])
        kept.update(run(copy_gbps=7.0))
        kept.finish()
    assert kept.path is not None
    assert store.load(kept.path).copy_gbps == 7.0


def crash(results: Path, text: str = "os._exit(1)") -> None:
    """Another process writes two entries and dies without saying goodbye."""
    code = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tests.track.examples import KERNEL, run
from harness.track.journal import Journal
kept = Journal(Path({str(results)!r}), run())
kept.add_graph(run().graphs[0])
kept.add_kernel("second", KERNEL)
print("written", flush=True)
{text}
"""
    subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL)


def test_a_killed_run_becomes_a_run_file_on_the_next_command(tmp_path: Path) -> None:
    crash(tmp_path)
    assert stored(tmp_path) == []
    (path,) = journal.recover(tmp_path)
    loaded = store.load(path)
    assert not loaded.complete
    assert [graph.name for graph in loaded.graphs] == ["block", "second"]
    assert loaded.graphs[1].kernels == (KERNEL,)
    assert journal.recover(tmp_path) == []
    assert not list(tmp_path.rglob("*.journal"))


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    path.write_bytes(path.read_bytes()[:-20])
    (recovered,) = journal.recover(tmp_path)
    assert [graph.name for graph in store.load(recovered).graphs] == ["block"]


def test_a_damaged_line_before_the_last_is_an_error_and_the_journal_stays(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:30]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match="damaged line") as caught:
        journal.recover(tmp_path)
    assert caught.value.where == f"{path}:2"
    assert path.exists()


def test_a_journal_of_a_newer_harness_stays(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    path.write_text(path.read_text().replace('{"schema":1', '{"schema":2', 1))
    with pytest.raises(RecordError, match="newer harness"):
        journal.recover(tmp_path)
    assert path.exists()


def test_a_run_in_progress_is_not_touched(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _HOLD.format(root=str(Path(__file__).parents[2]), out=str(tmp_path)),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        assert journal.recover(tmp_path) == []
        assert stored(tmp_path) == []
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(journal.recover(tmp_path)) == 1


_HOLD = """
import sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.track.examples import run
from harness.track.journal import Journal
kept = Journal(Path({out!r}), run())
kept.add_graph(run().graphs[0])
print("written", flush=True)
time.sleep(60)
"""


def test_a_full_disk_says_where_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync
    with pytest.raises(RecordError) as caught, Journal(tmp_path, run()) as kept:
        kept.add_graph(run().graphs[0])

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
    assert "disk is full" in caught.value.what
    assert str(kept.journal) in caught.value.remedy
    monkeypatch.setattr("os.fsync", real)
    (path,) = journal.recover(tmp_path)
    assert store.load(path).graphs == run().graphs[:1]


def test_an_unwritable_folder_fails_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    started = time.monotonic()
    with pytest.raises(RecordError, match="cannot be recorded"):
        Journal(tmp_path / "results", run())
    assert time.monotonic() - started < 5
