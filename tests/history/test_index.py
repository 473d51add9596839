from __future__ import annotations

import dataclasses
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.history import index, schema, store
from harness.records.run import Check, GraphRecord
from tests.history.examples import KERNEL, failed, run
from tests.history.histories import save_history


def shard(results: Path) -> Path:
    (found,) = (results / index.FOLDER).glob("*.arrow")
    return found


def test_the_index_holds_every_run_and_kernel(tmp_path: Path) -> None:
    first = store.save(tmp_path, run())
    second = store.save(tmp_path, run("20260103-000000-bbbbbbb", commit="bbbbbbb", dirty=False))
    for _ in range(2):  # made, and read
        found = index.refresh(tmp_path)
        assert [entry.file for entry in found.runs] == [
            path.relative_to(tmp_path).as_posix() for path in (first, second)
        ]
        assert [entry.commit for entry in found.runs] == ["abcdef1234567890", "bbbbbbb"]
        assert found.runs[0].codegen_seconds == {"block": 0.25}
        assert found.runs[0].throttled == pytest.approx(1 / 12)
        rows = found.rows.to_pylist()
        assert [row["run"] for row in rows] == [0, 0, 1, 1]
        assert rows[0]["kernel"] == KERNEL.name
        assert rows[0]["ms"] == KERNEL.ms
        assert rows[0]["registers"] == KERNEL.metrics["registers"]
        assert rows[0]["samples"] == len(KERNEL.samples_ms)
        assert rows[0]["code"] == KERNEL.code_hash


def test_failures_are_counted(tmp_path: Path) -> None:
    (block, broken) = run().graphs
    block = dataclasses.replace(block, kernels=(*block.kernels, failed("x")))
    store.save(tmp_path, run(graphs=(block, broken)))
    (entry,) = index.refresh(tmp_path).runs
    assert (entry.graphs, entry.kernels, entry.failed) == (2, 3, 2)


def test_a_check_that_lacked_memory_and_counted_as_failed_is_no_failure(tmp_path: Path) -> None:
    said = "CheckFailed: a kernel could not be run; OutOfMemoryError: CUDA out of memory. Tried"
    lacking = dataclasses.replace(KERNEL, name="a", check=Check.FAILED, check_note=said)
    wrong = dataclasses.replace(KERNEL, name="b", check=Check.FAILED, check_note="it is wrong")
    path = store.save(tmp_path, run(graphs=(GraphRecord("g", kernels=(lacking, wrong)),)))
    first, second = store.load(path).graphs[0].kernels
    assert (first.check, first.check_note, first.ms) == (Check.SKIPPED, said, KERNEL.ms)
    assert second.check is Check.FAILED
    found = index.refresh(tmp_path)
    assert found.runs[0].failed == 1
    assert found.rows.column("check").to_pylist() == ["skipped", "failed"]
    assert found.rows.column("failed").to_pylist() == [False, True]


def test_an_index_that_is_up_to_date_reads_no_run_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(tmp_path, run())
    index.refresh(tmp_path)
    before = shard(tmp_path).stat().st_mtime_ns

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(index, "_read_run", refuse)
    assert len(index.refresh(tmp_path).runs) == 1
    assert shard(tmp_path).stat().st_mtime_ns == before


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [store.save(tmp_path, run(f"2026010{i}-000000-aaaaaaa")) for i in range(1, 5)]
    index.refresh(tmp_path)
    read = []
    real = index._read_run

    def watch(results: Path, name: str, *rest: Any) -> object:
        read.append(Path(name).stem)
        return real(results, name, *rest)

    monkeypatch.setattr(index, "_read_run", watch)
    paths[1].unlink()
    os.utime(paths[2], ns=(1, 1))
    store.save(tmp_path, run("20260109-000000-aaaaaaa"))
    found = index.refresh(tmp_path)
    assert sorted(read) == ["20260103-000000-aaaaaaa", "20260109-000000-aaaaaaa"]
    assert [entry.id[:8] for entry in found.runs] == [
        "20260101",
        "20260103",
        "20260104",
        "20260109",
    ]
    assert sorted(found.rows.column("run").to_pylist()) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("kept", [0, 10, 2000, -1, -300])
def test_a_torn_index_is_made_again_and_said(tmp_path: Path, kept: int) -> None:
    store.save(tmp_path, run())
    expected = index.refresh(tmp_path)
    path = shard(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    found = index.refresh(tmp_path)
    assert found.runs == expected.runs
    assert found.rows.equals(expected.rows)
    (note,) = found.notes
    assert "damaged" in note
    assert index.refresh(tmp_path).notes == ()


def test_flipped_bytes_never_escape(tmp_path: Path) -> None:
    """Whatever becomes of the file, the runs are right or it is made again."""
    store.save(tmp_path, run())
    expected = index.refresh(tmp_path)
    path = shard(tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.integers(0, len(whole), 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        found = index.refresh(tmp_path)
        assert len(found.runs) == len(expected.runs)
        assert found.rows.num_rows == expected.rows.num_rows


def test_an_index_of_another_version_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(tmp_path, run())
    with monkeypatch.context() as patch:
        patch.setattr(index, "VERSION", "0")
        index.refresh(tmp_path)
    assert len(index.refresh(tmp_path).runs) == 1


def test_an_index_that_was_removed_loses_nothing(tmp_path: Path) -> None:
    store.save(tmp_path, run())
    expected = index.refresh(tmp_path)
    shard(tmp_path).unlink()
    assert index.refresh(tmp_path).runs == expected.runs


def test_a_damaged_run_is_listed_with_its_reason(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    other = store.save(tmp_path, run("20260103-000000-bbbbbbb"))
    path.write_bytes(path.read_bytes()[:100])
    for _ in range(2):
        found = index.refresh(tmp_path)
        (damaged,) = found.unreadable
        assert "cannot be read" in damaged.unreadable
        assert str(path) in damaged.unreadable
        assert [entry.file for entry in found.readable] == [other.relative_to(tmp_path).as_posix()]
        assert set(found.rows.column("run").to_pylist()) == {1}


def test_a_folder_that_cannot_be_written_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(tmp_path, run())

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert len(index.refresh(tmp_path).runs) == 1
    assert not list(tmp_path.rglob("*.arrow"))


def test_no_runs_at_all(tmp_path: Path) -> None:
    assert index.refresh(tmp_path / "none").runs == ()
    assert index.refresh(tmp_path).rows.num_rows == 0


def _work(results: Path, number: int) -> None:
    for count in range(4):
        store.save(results, run(f"2026010{number}-00000{count}-aaaaaaa"))
        index.refresh(results)


def test_writers_at_the_same_time_end_with_a_whole_index(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_work, args=(tmp_path, n)) for n in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    found = index.refresh(tmp_path)
    assert found.notes == ()
    assert len(found.runs) == 16
    assert found.rows.num_rows == 32
    assert not list((tmp_path / index.FOLDER).glob(".*.tmp"))


def test_the_index_is_not_under_version_control(tmp_path: Path) -> None:
    store.save(tmp_path, run())
    index.refresh(tmp_path)
    assert (tmp_path / index.FOLDER / ".gitignore").read_text() == "*\n"


def test_many_runs_of_many_kernels(tmp_path: Path) -> None:
    values = np.full((20, 40), 0.01)
    save_history(tmp_path, [f"{i:040x}" for i in range(40)], values)
    found = index.refresh(tmp_path)
    assert found.rows.num_rows == 800
    assert len(set(found.rows.column("kernel").to_pylist())) == 20


def damage_text(path: Path, column: str) -> None:
    """Put bytes that are no UTF-8 into a text column, as a faulty disk would."""
    table = pq.read_table(path)
    bad = pa.array([b"\xff\xfe"] * table.num_rows, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(bad), bad.buffers())
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, text), path)


@pytest.mark.parametrize("column", ["name", "graph", "config", "code_hash", "check"])
def test_text_that_is_not_utf_8_is_a_damaged_run(tmp_path: Path, column: str) -> None:
    path = store.save(tmp_path, run())
    damage_text(path, column)
    (damaged,) = index.refresh(tmp_path).unreadable
    assert "cannot be read" in damaged.unreadable
    assert str(path) in damaged.unreadable


def test_rows_of_no_graph_are_a_damaged_run(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    table = pq.read_table(path)
    names = pa.array(["another"] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("graph"), "graph", names), path)
    (damaged,) = index.refresh(tmp_path).unreadable
    assert damaged.unreadable == f"{path}: a run file's row belongs to no graph of the run"


def test_a_run_of_a_newer_version_is_listed_with_its_reason(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, schema.VERSION_KEY: b"99"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    (newer,) = index.refresh(tmp_path).unreadable
    assert "newer harness" in newer.unreadable
    assert "schema version 99" in newer.unreadable


def test_a_run_file_of_other_columns(tmp_path: Path) -> None:
    """A file with a run's metadata and none of its columns is damaged, not a crash."""
    path = store.save(tmp_path, run())
    metadata = pq.read_schema(path).metadata
    for table in (pa.table({"a": [1]}), pa.table({"graph": [1], "reason": ["x"], "ms": ["fast"]})):
        pq.write_table(table.replace_schema_metadata(metadata), path)
        (damaged,) = index.refresh(tmp_path).unreadable
        assert str(path) in damaged.unreadable


def test_a_folder_in_the_place_of_the_index_is_moved_aside(tmp_path: Path) -> None:
    store.save(tmp_path, run())
    (tmp_path / index.FOLDER / index.FILE).mkdir(parents=True)
    found = index.refresh(tmp_path)
    assert len(found.runs) == 1
    assert "made again" in found.notes[0]
    assert index.refresh(tmp_path).notes == ()
    assert shard(tmp_path).is_file()


def test_a_run_file_without_columns_that_came_later(tmp_path: Path) -> None:
    """What a file of an older version lacks is made of the run, as reading it whole does."""
    path = store.save(tmp_path, run())
    expected = index.refresh(tmp_path).rows.to_pylist()
    pq.write_table(pq.read_table(path).drop_columns(["label", "code_hash", "problem"]), path)
    found = index.refresh(tmp_path)
    assert found.unreadable == ()
    assert found.rows.to_pylist() == expected


def test_kernels_of_one_run_are_not_taken_for_those_of_the_next(tmp_path: Path) -> None:
    """Keys are kept from file to file only while the kernels are the same, in the same order."""
    twins = [dataclasses.replace(KERNEL, name=name, origins=("add", "mul")) for name in "ab"]
    other = dataclasses.replace(KERNEL, name="c", origins=("exp",))
    suites = [twins, twins, [other, *twins], twins[::-1]]
    for number, kernels in enumerate(suites):
        graph = GraphRecord("g", kernels=tuple(kernels))
        store.save(tmp_path, run(f"2026010{number + 1}-000000-aaaaaaa", graphs=(graph,)))
    keys: dict[int, list[str]] = {}
    for row in index.refresh(tmp_path).rows.to_pylist():
        keys.setdefault(row["run"], []).append(row["key"].partition(" ")[2])
    both = ["add mul 1", "add mul 2"]
    assert keys == {0: both, 1: both, 2: ["exp 1", *both], 3: both}
