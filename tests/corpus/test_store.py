from __future__ import annotations

import dataclasses
import shutil
import time

import pyarrow as pa
import pytest
from pyarrow import parquet

from harness.corpus import store
from harness.errors import DamagedCorpus, UnknownName
from harness.graph.text import dumps, loads
from suites.building import writing
from suites.building.writing import save


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "corpus")


def part(folder, number):
    return folder / f"patterns-{number}-of-4.parquet"


def test_what_was_saved_is_read(whole, shards):
    corpus = store.load(whole)
    assert not corpus.notes
    assert len(corpus.captures) == len(shards) + 1
    names = [p.name for p in corpus.patterns]
    for name, (text, small) in corpus.texts(names).items():
        assert dumps(loads(text)) == text and dumps(loads(small)) == small
        assert loads(text).name == name


@pytest.mark.parametrize(
    "harm", "cut flipped missing version foreign empty column null digest facts".split()
)
def test_a_file_that_cannot_be_used_is_named_and_the_rest_is_read(copy, harm, monkeypatch):
    path, everything = part(copy, 2), len(store.load(copy).patterns)
    data = path.read_bytes()
    if harm == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif harm == "flipped":
        at = len(data) // 3
        path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
    elif harm == "missing":
        path.unlink()
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "column":
        parquet.write_table(parquet.read_table(path).drop_columns(["small"]), path)
    elif harm == "null":
        table = parquet.read_table(path)
        about = pa.nulls(table.num_rows, pa.binary())
        parquet.write_table(table.set_column(1, "about", about), path)
    elif harm in ("digest", "facts"):
        said = b"[1]" if harm == "facts" else f'{{"version": {store.VERSION}}}'.encode()
        table = parquet.read_table(path).replace_schema_metadata({store.KEY: said})
        parquet.write_table(table, path)
    elif harm == "foreign":
        path.write_bytes((copy / "captures.parquet").read_bytes())
    else:
        monkeypatch.setattr(writing, "VERSION", store.VERSION + 1)
        other = copy.parent / "other"
        save(other, [], [])
        path.write_bytes(part(other, 2).read_bytes())
    corpus = store.load(copy)
    (note,) = corpus.notes
    assert note.where == str(path)
    assert (note.got == "there is no such file") == (harm == "missing")
    assert 0 < len(corpus.patterns) < everything
    assert corpus.texts(p.name for p in corpus.patterns)


def test_a_file_that_lacks_a_pattern_is_named_and_the_rest_of_it_is_read(copy):
    path, everything = part(copy, 2), len(store.load(copy).patterns)
    table = parquet.read_table(path)
    parquet.write_table(table.slice(1), path)
    corpus = store.load(copy)
    (note,) = corpus.notes
    rows = table.num_rows
    assert (note.where, note.got) == (str(path), f"{rows - 1} rows")
    assert note.expected == f"{rows} rows" and len(corpus.patterns) == everything - 1
    with pytest.raises(UnknownName):
        corpus.texts([table["name"][0].as_py()])


def test_no_file_says_what_it_is(copy):
    nothing = {store.KEY: f'{{"version": {store.VERSION}}}'.encode()}
    for path in copy.glob("*.parquet"):
        parquet.write_table(parquet.read_table(path).replace_schema_metadata(nothing), path)
    with pytest.raises(DamagedCorpus):
        store.load(copy)


def test_an_older_build_beside_a_newer_one_is_named(copy, shards):
    path = part(copy, 3)
    old = path.read_bytes()
    corpus = store.load(copy)
    texts = corpus.texts(p.name for p in corpus.patterns)
    changed = [dataclasses.replace(p, text=texts[p.name][0]) for p in corpus.patterns]
    save(copy, corpus.captures, changed)
    path.write_bytes(old)
    (note,) = store.load(copy).notes
    assert note.where == str(path) and "used with the others" in note.what
    assert note.got == corpus.digest and len(store.load(copy).patterns) == len(corpus.patterns)


def test_a_pattern_that_is_not_there_is_named(whole):
    corpus = store.load(whole)
    with pytest.raises(UnknownName) as caught:
        corpus.texts([corpus.patterns[0].name[:-1] + "_"])
    assert corpus.patterns[0].name in caught.value.expected


def test_nothing_that_can_be_used(tmp_path):
    (tmp_path / "captures.parquet").write_bytes(b"x")
    with pytest.raises(DamagedCorpus):
        store.load(tmp_path)


def test_a_command_reads_the_files_once_and_again_when_they_change(copy, monkeypatch):
    read = []
    one = store._read
    monkeypatch.setattr(store, "_read", lambda path: read.append(path.name) or one(path))
    known = store.load(copy)
    assert store.load(copy) is known and len(read) == len({*read})
    path = next(copy.glob("patterns-*.parquet"))
    path.write_bytes(path.read_bytes()[:-10])
    assert len(store.load(copy).notes) == len(known.notes) + 1


def test_the_corpus_is_read_quickly():
    from harness.graph.suite import FOLDER

    began = time.process_time()
    corpus = store.load(FOLDER / "corpus")
    assert not corpus.notes
    assert time.process_time() - began < 20  # 0.8 alone


def test_a_pattern_is_named_in_any_suite(tmp_path, monkeypatch):
    """asv asks for graphs of the default suite by name, and keeps their files."""
    from harness import options as settings
    from harness.graph.suite import FOLDER
    from suites.tracking.measure import graph_files

    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    name = store.load(FOLDER / "corpus").patterns[0].name
    files = graph_files(settings.current(), ["adamw_step", name])
    assert list(files) == ["adamw_step", name]
    assert loads(files[name].read_text()).name == name
