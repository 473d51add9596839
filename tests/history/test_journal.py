from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.history import journal, store
from harness.history.journal import Journal
from harness.records.run import SCHEMA_VERSION, Run
from tests.history.examples import KERNEL, failed, run


def refuse(error: RecordError) -> None:
    raise error


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
from tests.history.examples import KERNEL, run
from harness.history.journal import Journal
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
    (path,) = journal.recover(tmp_path, refuse)
    loaded = store.load(path)
    assert not loaded.complete
    assert [graph.name for graph in loaded.graphs] == ["block", "second"]
    assert loaded.graphs[1].kernels == (KERNEL,)
    assert journal.recover(tmp_path, refuse) == []
    assert not list(tmp_path.rglob("*.journal"))


def test_regions_of_a_graph_in_progress_are_kept(tmp_path: Path) -> None:
    crash(tmp_path, 'kept.add_regions("second", run().graphs[0].regions); os._exit(1)')
    (path,) = journal.recover(tmp_path, refuse)
    assert store.load(path).graphs[1].regions == run().graphs[0].regions


def test_runs_started_in_the_same_second_are_two_runs(tmp_path: Path) -> None:
    with Journal(tmp_path, run()) as first, Journal(tmp_path, run()) as second:
        for one in (first, second):
            one.add_graph(run().graphs[0])
            one.update(run(copy_gbps=7.0))
            one.finish()
    with Journal(tmp_path, run()) as third:
        third.add_graph(run().graphs[0])
    paths = [one.path for one in (first, second, third)]
    found = [store.load(path) for path in paths if path is not None]
    assert [path.stem for path in paths if path is not None] == [one.id for one in found]
    assert len({one.id for one in found}) == 3
    commit = run().id.rpartition("-")[2]
    assert {one.id.rpartition("-")[2] for one in found} == {commit}, "a commit is still read off"
    assert store.runs(tmp_path) == sorted(paths, key=str), "in the order of their start"


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    path.write_bytes(path.read_bytes()[:-20])
    (recovered,) = journal.recover(tmp_path, refuse)
    assert [graph.name for graph in store.load(recovered).graphs] == ["block"]


def test_a_damaged_line_before_the_last_is_an_error_and_the_journal_stays(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:30]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match="damaged line") as caught:
        journal.recover(tmp_path, refuse)
    assert caught.value.where == f"{path}:2"
    assert path.exists()


def test_a_journal_of_a_newer_harness_stays(tmp_path: Path) -> None:
    crash(tmp_path)
    (path,) = tmp_path.rglob("*.journal")
    path.write_text(path.read_text().replace(f'{{"schema":{SCHEMA_VERSION}', '{"schema":99', 1))
    with pytest.raises(RecordError, match="newer harness"):
        journal.recover(tmp_path, refuse)
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
        assert journal.recover(tmp_path, refuse) == []
        assert stored(tmp_path) == []
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(journal.recover(tmp_path, refuse)) == 1


_HOLD = """
import sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.history.examples import run
from harness.history.journal import Journal
kept = Journal(Path({out!r}), run())
kept.add_graph(run().graphs[0])
print("written", flush=True)
time.sleep(3600)
"""


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def fill(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Have writing below ``folder`` fail from now on, as on a full disk."""
    real = os.fsync

    def fsync(handle: int) -> None:
        if str(folder) in os.readlink(f"/proc/self/fd/{handle}"):
            full()
        real(handle)

    monkeypatch.setattr("os.fsync", fsync)


def test_a_disk_full_everywhere_says_where_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync
    said: list[str] = []
    with Journal(tmp_path, run(), said.append) as kept:
        kept.add_graph(run().graphs[0])
        monkeypatch.setattr("os.fsync", full)
    assert kept.refused
    assert kept.path is None
    (sentence,) = said
    assert "disk is full" in sentence
    assert f"what was measured is kept in {kept.journal}" in sentence
    monkeypatch.setattr("os.fsync", real)
    (path,) = journal.recover(tmp_path, refuse)
    assert store.load(path).graphs == run().graphs[:1]


def test_a_disk_that_fills_up_keeps_the_run_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, spare = tmp_path / "results", tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    said: list[str] = []
    with Journal(results, run(), said.append) as kept:
        fill(monkeypatch, results)
        for graph in run().graphs:
            for kernel in graph.kernels:
                kept.add_kernel(graph.name, kernel)
            kept.add_graph(graph)
        kept.finish()
    assert kept.refused
    assert kept.path is not None
    assert spare in kept.path.parents
    assert store.load(kept.path) == run()
    during, after = said
    assert "goes on in memory" in during
    assert "HARNESS_RESULTS=" in during
    assert str(kept.path) in after
    assert not [path for path in results.rglob("*") if path.is_file()]


def test_space_that_is_back_at_the_end_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with Journal(tmp_path, run(), said.append) as kept:
        with monkeypatch.context() as patch:
            fill(patch, tmp_path)
            kept.add_graph(run().graphs[0])
        for graph in run().graphs[1:]:
            kept.add_graph(graph)
        kept.finish()
    assert not kept.refused, "it is all there"
    assert len(said) == 1
    assert kept.path is not None
    assert store.load(kept.path) == run()
    assert not list(tmp_path.rglob("*.journal"))


def test_room_that_the_journal_takes_is_used_for_the_run_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, spare = tmp_path / "results", tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    real = store.save

    def save(folder: Path, kept: Run) -> Path:
        if folder == results and list(results.rglob("*.journal")):
            raise store.write_error(folder, OSError(28, "No space left on device"))
        return real(folder, kept)

    monkeypatch.setattr(store, "save", save)
    with Journal(results, run()) as kept:
        kept.add_graph(run().graphs[0])
    assert kept.path is not None
    assert results in kept.path.parents
    assert not list(spare.iterdir())


def test_a_disk_full_from_the_start_leaves_no_torn_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RecordError, match="disk is full"):
        Journal(tmp_path, run())
    assert not list(tmp_path.rglob("*.journal"))


def test_an_unwritable_folder_fails_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(RecordError, match="cannot be recorded"):
        Journal(tmp_path / "results", run())
