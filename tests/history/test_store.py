from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.errors import RecordError, UnknownName, UsageError
from harness.history import index, schema, store
from harness.records.run import GraphRecord, RegionRecord, Run
from harness.records.timing import Samples
from harness.records.trials import Trial
from tests.history.examples import KERNEL, run


def test_every_field_of_a_run_survives_a_round_trip(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    assert path == tmp_path / "testgpu-1.2" / "20260102-030405-abcdef123456.parquet"
    assert store.load(path) == run()
    for field in dataclasses.fields(Run):
        if field.default is not dataclasses.MISSING and field.name != "complete":
            assert getattr(run(), field.name) != field.default, f"{field.name} is not exercised"


def test_a_run_without_kernels_keeps_its_graphs(tmp_path: Path) -> None:
    empty = run(graphs=run().graphs[1:])
    assert store.load(store.save(tmp_path, empty)) == empty


def test_pandas_reads_a_run_in_one_line(tmp_path: Path) -> None:
    frame = pd.read_parquet(store.save(tmp_path, run()))
    assert list(frame["name"]) == ["triton_per_fused_mul_0", "triton_poi_fused_add_1"]
    assert list(frame["graph"]) == ["block", "block"]
    assert list(frame["sets"][0][0]["ms"]) == list(KERNEL.samples_ms)
    assert set(frame["commit"]) == {"abcdef1234567890"}
    assert frame["module"][0] == KERNEL.module
    assert frame.loc[0, "gbps"] == KERNEL.gbps


def test_a_second_run_of_the_same_name_replaces_nothing(tmp_path: Path) -> None:
    first = store.save(tmp_path, run())
    before = first.read_bytes()
    second = store.save(tmp_path, run(suite="other"))
    assert second != first
    assert first.read_bytes() == before
    assert store.load(second).suite == "other"
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    first = store.save(tmp_path, run())
    second = store.save(tmp_path, run(suite="other"))
    assert store.load(first) == run()
    assert store.load(second).suite == "other"
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("kept", [0, 3, 100, -1, -9])
def test_a_torn_file_is_one_clear_error(tmp_path: Path, kept: int) -> None:
    path = store.save(tmp_path, run())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(RecordError, match="cannot be read") as caught:
        store.load(path)
    assert str(path) in str(caught.value)
    assert "what to do" in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such run file"):
        store.load(tmp_path / "none.parquet")


def rewrite(path: Path, change: dict[bytes, bytes | None]) -> None:
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, **change}
    kept = {key: value for key, value in metadata.items() if value is not None}
    pq.write_table(table.replace_schema_metadata(kept), path)


def test_a_future_schema_version(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    rewrite(path, {b"harness.schema": b"99"})
    with pytest.raises(RecordError, match="newer harness") as caught:
        store.load(path)
    assert caught.value.got == "schema version 99"


def test_somebody_elses_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(RecordError, match="not a run of the harness"):
        store.load(path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (b"{", "no JSON"),
        (b"[]", "does not hold what it should"),
        (b'{"id": "x"}', "does not hold what it should"),
    ],
)
def test_edited_metadata(tmp_path: Path, metadata: bytes, message: str) -> None:
    path = store.save(tmp_path, run())
    rewrite(path, {b"harness.run": metadata})
    with pytest.raises(RecordError, match=message):
        store.load(path)


def test_a_wrong_type_in_metadata_is_named(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    whole = json.loads(pq.read_table(path).schema.metadata[b"harness.run"])
    whole["machine"]["cores"] = "two"
    rewrite(path, {b"harness.run": json.dumps(whole).encode()})
    with pytest.raises(RecordError) as caught:
        store.load(path)
    assert caught.value.where.endswith(".machine.cores")
    assert "int" in caught.value.expected


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    whole = json.loads(pq.read_table(path).schema.metadata[b"harness.run"])
    whole["colour"] = "blue"
    rewrite(path, {b"harness.run": json.dumps(whole).encode()})
    assert store.load(path) == run()


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("not a folder")
    with pytest.raises(RecordError, match="cannot be recorded") as caught:
        store.save(tmp_path / "results", run())
    assert "HARNESS_RESULTS" in caught.value.remedy


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RecordError, match="disk is full"):
        store.save(tmp_path, run())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_reading_and_judging_runs_need_neither_torch_nor_triton(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    code = (
        "import sys; from pathlib import Path; from harness.history import store;"
        f"store.load(Path({str(path)!r})); import harness.verdicts.nightly; "
        "sys.exit(bool({'torch', 'triton', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_text_that_is_not_utf_8_is_a_damaged_file(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    table = pq.read_table(path)
    bad = pa.array([b"\xff\xfe"] * table.num_rows, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(bad), bad.buffers())
    pq.write_table(table.set_column(table.schema.get_field_index("name"), "name", text), path)
    with pytest.raises(RecordError, match="cannot be read"):
        store.load(path)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/tmp/x", "a\\b", "a\0b", ".x"])
@pytest.mark.parametrize("part", ["machine", "run"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str, part: str) -> None:
    """A journal or a foreign file may say anything; nothing is written outside the results."""
    results = tmp_path / "a" / "results"
    bad = run(name)
    if part == "machine":
        bad = run(machine=dataclasses.replace(run().machine, key=name))
    with pytest.raises(RecordError, match="leads out of the results"):
        store.save(results, bad)
    assert list(tmp_path.iterdir()) == []


def test_a_row_of_a_graph_that_is_not_in_the_run(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    table = pq.read_table(path)
    place = table.schema.get_field_index("graph")
    others = pa.array(["another"] * table.num_rows)
    pq.write_table(table.set_column(place, "graph", others), path)
    with pytest.raises(RecordError, match="belongs to no graph") as caught:
        store.load(path)
    assert caught.value.got == "another"


def test_the_folder_is_flushed_after_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a loss of power could take the name back after ``save`` has returned."""
    flushed = []
    flush = os.fsync

    def noted(handle: int) -> None:
        flushed.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        flush(handle)

    monkeypatch.setattr("os.fsync", noted)
    store.save(tmp_path, run())
    assert flushed == ["file", "folder"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not be written"),
        (errno.ENOTDIR, "a file stands"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_why_a_folder_refuses_is_said(number: int, said: str) -> None:
    error = store.write_error(Path("results"), OSError(number, os.strerror(number)))
    assert said in error.what
    assert error.remedy


def test_figures_are_kept_as_far_as_they_are_known(tmp_path: Path) -> None:
    random = np.random.default_rng()
    ms = random.lognormal(-4, 3, 500).tolist()
    odd = (ms[0], 0.0, math.inf, -ms[1], sys.float_info.max)
    trial = Trial({"XBLOCK": 1}, samples_ms=tuple(ms), level=ms[2], error=ms[3])
    made = dataclasses.replace(
        KERNEL, ms=ms[4], sets=(Samples(tuple(ms)), Samples(odd)), trials=(trial,)
    )
    other = RegionRecord("r0", "inductor", ms[5], sets=(Samples(tuple(ms), cycles=None),))
    path = store.save(tmp_path, run(graphs=(GraphRecord("g", (), (made,), regions=(other,)),)))
    [graph] = store.load(path).graphs
    found = graph.kernels[0]
    assert found.sets[0].ms == graph.regions[0].sets[0].ms == pytest.approx(ms, rel=7.7e-6, abs=0)
    assert found.sets[1].ms == pytest.approx(odd, rel=7.7e-6, abs=0)
    assert found.trials[0].samples_ms == pytest.approx(ms, rel=6.2e-5, abs=0)
    assert found.trials[0].level == pytest.approx(ms[2], rel=7.7e-6)
    assert found.trials[0].error == pytest.approx(ms[3], rel=4e-3)
    assert (found.ms, graph.regions[0].ms) == pytest.approx((ms[4], ms[5]), rel=7.7e-6)
    assert graph.regions[0].sets[0].cycles is None
    # What is written again is the same to the letter.
    again = store.save(tmp_path / "again", store.load(path))
    assert again.read_bytes() == path.read_bytes()


def test_samples_and_similar_modules_take_little_room(tmp_path: Path) -> None:
    random = np.random.default_rng()
    noise, text = random.normal(1, 1e-3, (200, 100)), random.bytes(6000).hex()
    kernels = [
        dataclasses.replace(
            KERNEL, name=f"k{n}", sets=(Samples(tuple(row)),), trials=(), module=f"{n % 2}{text}{n}"
        )
        for n, row in enumerate(noise.tolist())
    ]
    path = store.save(tmp_path, run(graphs=(GraphRecord("g", (), tuple(kernels)),)))
    # 10 bits of a sample are noise; the text stands there twice, for each way that it begins once.
    assert path.stat().st_size < 20_000 * 2 + 2 * 12_000
    metadata = pq.read_metadata(path).metadata
    assert {*metadata} == {schema.RUN_KEY, schema.VERSION_KEY}


NAMES = ("20260101-000000-aaaaaaa", "20260102-000000-bbbbbbb", "20260102-120000-aaaaaaa")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in reversed(NAMES):
        store.save(tmp_path, run(name))
    return tmp_path


def test_runs_are_listed_oldest_first(results: Path) -> None:
    assert [path.stem for path in store.runs(results)] == list(NAMES)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("latest", NAMES[2]),
        (NAMES[0], NAMES[0]),
        ("20260101", NAMES[0]),
        ("20260102-12", NAMES[2]),
        ("bbbbbbb", NAMES[1]),
    ],
)
def test_find(results: Path, name: str, found: str) -> None:
    assert store.find(results, name).stem == found


def test_a_run_of_a_clock_that_was_ahead_is_no_latest_one(results: Path) -> None:
    ahead = f"{datetime.now(UTC) + timedelta(days=3):%Y%m%d-%H%M%S}-ccccccc"
    store.save(results, run(ahead))
    assert [path.stem for path in store.runs(results)] == [ahead, *NAMES]
    assert store.find(results).stem == NAMES[2]
    assert store.find(results, "ccccccc").stem == ahead
    known = index.refresh(results)
    assert [(one.id, bool(one.created)) for one in known.runs][:2] == [
        (ahead, False),
        (NAMES[0], True),
    ]
    (note,) = known.notes
    assert note.startswith("1 run dated later than now, by a clock that was wrong")
    assert ahead in note


def test_a_run_made_in_another_time_zone_is_not_ahead(results: Path) -> None:
    soon = f"{datetime.now(UTC) + timedelta(hours=12):%Y%m%d-%H%M%S}-ccccccc"
    store.save(results, run(soon))
    assert store.find(results).stem == soon


def test_find_a_path(results: Path) -> None:
    path = store.runs(results)[0]
    assert store.find(Path("/nowhere"), str(path)) == path


def test_an_exact_name_wins_over_a_longer_one(tmp_path: Path) -> None:
    store.save(tmp_path, run("20260101"))
    store.save(tmp_path, run("20260101-2"))
    assert store.find(tmp_path, "20260101").stem == "20260101"


def test_an_ambiguous_beginning_names_the_candidates(results: Path) -> None:
    with pytest.raises(UsageError, match="2 runs begin like that") as caught:
        store.find(results, "20260102")
    assert NAMES[1] in caught.value.expected
    assert NAMES[2] in caught.value.expected


def test_of_several_nights_none_is_taken_by_itself() -> None:
    nights = [Path("x/nights/20260102-1.json"), Path("x/nights/20260102-2.json")]
    assert store.the_one(nights[1:], "2026", "nights") == nights[1]
    with pytest.raises(UsageError, match="2 nights begin like that"):
        store.the_one(nights, "2026", "nights")


def test_an_unknown_name_gets_the_nearest(results: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        store.find(results, "20260101-000000-aaaaaab")
    assert NAMES[0] in caught.value.expected


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no runs yet"):
        store.find(tmp_path)
