"""Run files of every version can be read, by the harness and by others."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from harness.errors import RecordError
from harness.history import index, journal, schema, store
from harness.history.journal import Journal
from harness.records.run import SCHEMA_VERSION, KernelRecord
from tests.history.examples import KERNEL, run

FIXTURES = Path(__file__).parent / "fixtures"


def test_every_old_version_has_a_step_and_a_file() -> None:
    assert sorted(schema.UPGRADES) == list(range(1, SCHEMA_VERSION))
    assert sorted(path.name for path in FIXTURES.glob("schema-*.parquet")) == [
        f"schema-{version}.parquet" for version in range(1, SCHEMA_VERSION)
    ]


def test_the_page_of_results_names_every_column() -> None:
    text = (Path(__file__).parents[2] / "results" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))
    assert set(schema.columns().names) <= set(named)


def test_a_run_of_version_1() -> None:
    path = FIXTURES / "schema-1.parquet"
    assert pq.read_schema(path).metadata[schema.VERSION_KEY] == b"1"
    found = store.load(path)
    assert found.machine.gpu == "NVIDIA H100 80GB HBM3"
    first, second = found.graphs[0].kernels
    assert first.name == "triton_poi_fused_mul_cat_cos_sin_0"
    (samples,) = first.sets
    assert samples.process == 0
    assert first.samples_ms == samples.ms
    assert samples.median == first.ms
    assert first.trials == ()
    assert second.config == {"XBLOCK": 1, "R0_BLOCK": 4096, "num_warps": 16, "num_stages": 1}


def test_a_run_of_version_1_stored_again_is_one_of_this_version(tmp_path: Path) -> None:
    old = store.load(FIXTURES / "schema-1.parquet")
    path = store.save(tmp_path, old)
    assert pq.read_schema(path).metadata[schema.VERSION_KEY] == str(SCHEMA_VERSION).encode()
    assert schema.known(store.load(path))[0].equals(schema.known(old)[0], check_metadata=True)


def test_the_index_reads_version_1(tmp_path: Path) -> None:
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "old.parquet").write_bytes((FIXTURES / "schema-1.parquet").read_bytes())
    found = index.refresh(tmp_path)
    rows = found.rows.to_pylist()
    loaded = store.load(tmp_path / "gpu" / "old.parquet").graphs[0].kernels
    assert [row["code"] for row in rows] == [k.code_hash if k.module else "" for k in loaded]
    assert [row["ms"] for row in rows] == [kernel.ms for kernel in loaded]


def test_a_journal_of_version_1(tmp_path: Path) -> None:
    with Journal(tmp_path, run()) as kept:
        kept.add_graph(run().graphs[0])
        kept.add_kernel("second", KERNEL)
        lines = [json.loads(line) for line in kept.journal.read_text().splitlines()]
    lines[0]["schema"] = 1
    for kernel in [*lines[1]["graph"]["kernels"], lines[2]["kernel"]]:
        for name in ("sets", "trials"):
            del kernel[name]
        kernel["samples_ms"] = [1.0, 2.0]
    path = tmp_path / "old.journal"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    found = journal.read(path)
    assert [k.samples_ms for g in found.graphs for k in g.kernels] == [(1.0, 2.0)] * 3


@pytest.mark.parametrize("version", [0, 99, -1, "2", True])
def test_a_journal_of_a_version_that_is_none(tmp_path: Path, version: object) -> None:
    path = tmp_path / "x.journal"
    path.write_text(json.dumps({"schema": version}) + "\n{}\n")
    with pytest.raises(RecordError, match=r"newer harness|does not say|which run"):
        journal.read(path)


def test_loading_executes_nothing(tmp_path: Path) -> None:
    """Module texts are data, whatever they would do."""
    trap = tmp_path / "trap"
    text = f"open({str(trap)!r}, 'w')"
    kernel = KernelRecord(text, text, 0, module=text, origins=(text,), reason=text)
    graph = run().graphs[0].__class__(text, kernels=(kernel,))
    path = store.save(tmp_path / "results", run(graphs=(graph,), suite=text))
    assert store.load(path).graphs[0].kernels[0].module == text
    index.refresh(tmp_path / "results")
    assert not trap.exists()


def test_pandas_reads_a_folder_of_runs(tmp_path: Path) -> None:
    store.save(tmp_path, run())
    store.save(tmp_path, run("20260103-000000-bbbbbbb", commit="bbbbbbb"))
    index.refresh(tmp_path)  # its files must not be in the way
    frame = pd.concat(pd.read_parquet(path) for path in sorted(tmp_path.glob("*/*.parquet")))
    assert len(frame) == 4
    assert frame.groupby("commit")["ms"].median()["bbbbbbb"] == KERNEL.ms
    samples = frame.explode("sets")["sets"].map(lambda each: list(each["ms"]))
    assert samples.iloc[0] == list(KERNEL.samples_ms)


def test_duckdb_reads_a_folder_of_runs(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    store.save(tmp_path, run())
    store.save(tmp_path, run("20260103-000000-bbbbbbb", commit="bbbbbbb"))
    index.refresh(tmp_path)
    query = f"""
        select run, count(*), max(ms), max(len(sets[1].ms)), max(config->>'$.XBLOCK')
        from '{tmp_path}/*/*.parquet' group by run order by run
    """
    rows = duckdb.sql(query).fetchall()
    assert [row[1:] for row in rows] == [(2, KERNEL.ms, 3, "1")] * 2


def test_duckdb_reads_old_and_new_versions_together(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    store.save(tmp_path, run())
    query = f"""
        select count(*), count(ms) from read_parquet(
            ['{next(tmp_path.glob("*/*.parquet"))}', '{FIXTURES}/schema-1.parquet'],
            union_by_name=true)
    """
    assert duckdb.sql(query).fetchall() == [(4, 4)]


def test_a_run_of_version_2(tmp_path: Path) -> None:
    """Its regions are in the metadata; stored again they are a column."""
    path = FIXTURES / "schema-2.parquet"
    assert pq.read_schema(path).metadata[schema.VERSION_KEY] == b"2"
    found = store.load(path)
    (graph,) = found.graphs
    assert [(r.region, len(r.sets[0].ms)) for r in graph.regions if r.sets]
    assert graph.kernels[0].sets[0].ms
    assert graph.kernels[0].mix
    again = store.save(tmp_path, found)
    assert schema.known(store.load(again))[0].equals(schema.known(found)[0], check_metadata=True)
    metadata = json.loads(pq.read_schema(again).metadata[schema.RUN_KEY])
    assert "regions" not in metadata["graphs"][0]
    column = pq.read_table(again).column("regions").to_pylist()
    assert [each["compiler"] for each in column[0]] == [r.compiler for r in graph.regions]
    assert column[1] == []


def test_regions_can_be_queried(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = store.save(tmp_path, run())
    query = f"select graph, unnest(regions, recursive := true) from '{path}'"
    frame = duckdb.sql(query).df()
    assert list(frame["compiler"]) == ["inductor"]
    assert list(frame["kernels"]) == [2]


def test_a_graph_without_kernels_keeps_its_regions(tmp_path: Path) -> None:
    (block, broken) = run().graphs
    graphs = (dataclasses.replace(block, kernels=()), broken)
    assert store.load(store.save(tmp_path, run(graphs=graphs))).graphs == graphs


def test_a_mapping_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = store.save(tmp_path, run())
    table = pq.read_table(path)
    place = table.schema.get_field_index("config")
    pq.write_table(table.set_column(place, "config", [["{", "{}"]]), path)
    with pytest.raises(RecordError, match="row is damaged") as caught:
        store.load(path)
    assert caught.value.where == f"{path}: row 0"


def test_labels_stay_when_names_change() -> None:
    before = [("poi_mul_0", ("mul",)), ("red_sum_1", ("mul", "sum")), ("poi_2", ())]
    after = [("poi_mul_0", ("mul",)), ("poi_new_1", ("new",)), ("red_sum_add_2", ("add", "sum"))]
    assert schema.labels(before) == ["mul", "sum", "poi_2"]
    assert schema.labels(after) == ["mul", "new", "sum"]
    assert schema.labels([("a", ("x",)), ("b", ("y", "x")), ("c", ("x",))]) == ["x", "x+2", "x+3"]
