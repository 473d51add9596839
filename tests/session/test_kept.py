"""What was generated before, by what it depends on."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.records.run import GraphRecord, KernelRecord
from harness.session import kept
from harness.session.entries import FileEntry, GraphFile, UserEntry
from harness.target import H100, H200

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_above_code_generation_is_above_this_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [
        one.strip("()").removeprefix("harness.") for one in contracts["contracts"][0]["layers"]
    ]
    above = layers[: layers.index("session")]
    assert sorted(name.removesuffix(".py") for name in kept.ABOVE) == sorted(above)


def test_a_graph_is_known_by_its_text_and_by_what_is_asked_of_it(tmp_path: Path) -> None:
    path = tmp_path / "g.py"
    path.write_text("x\n")
    entry = FileEntry(GraphFile("g", path, None), H100)
    known = kept.key(entry)
    assert known == kept.key(FileEntry(GraphFile("g", path, None), H100))
    assert known != kept.key(replace(entry, target=H200)) != kept.key(replace(entry, only=("k",)))
    path.write_text("y\n")
    assert known != kept.key(entry)
    assert not kept.key(replace(entry, decides=True)), "times decide"
    assert not kept.key(UserEntry(path)), "it may import anything"
    path.unlink()
    assert not kept.key(entry)


def test_what_a_compiler_made_is_known_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = GraphRecord(
        "g", kernels=(KernelRecord("k", "poi", 8, origins=("add_0",), module="x"),)
    )
    with kept.kept_graphs(tmp_path, "corpus:kind=scatter") as graphs:
        graphs["a"] = record
    with kept.kept_graphs(tmp_path, "corpus") as graphs:
        assert graphs["a"] == record
    with kept.kept_graphs(tmp_path, "default") as graphs:
        assert "a" not in graphs
    monkeypatch.setattr(kept, "generator", lambda: "another")
    with kept.kept_graphs(tmp_path, "corpus") as graphs:
        assert "a" not in graphs
    (left,) = tmp_path.glob("generated/corpus-*")
    assert "another" in left.name, "one compiler's graphs are kept"


def test_every_file_that_generates_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("codegen/body.py", "heuristics/learned.json", "report/night.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("1\n")
    monkeypatch.setattr(kept.harness, "__path__", [str(tmp_path)])
    seen = [kept.generator()]
    for name in ("codegen/body.py", "heuristics/learned.json"):
        (tmp_path / name).write_text("2\n")
        seen.append(kept.generator())
    (tmp_path / "codegen/body.py").rename(tmp_path / "codegen/other.py")
    seen.append(kept.generator())
    assert len(set(seen)) == 4
    (tmp_path / "report/night.py").write_text("2\n")
    assert kept.generator() == seen[-1]
