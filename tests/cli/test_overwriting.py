"""What a user has is not overwritten: sources by graphs, kernels by others of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

MODEL = """import torch
def example(rows=4):
    return (lambda x: torch.tanh(x) * 2), (torch.randn(rows, 8),)
"""


def graph(name: str, scale: float) -> str:
    return f"""# harness graph 1
def {name}(
    x: "f32[64, 8]",
):
    mul: "f32[64, 8]" = aten.mul.Tensor(x, {scale})
    return (mul,)
"""


def test_capture_does_not_replace_what_is_not_a_graph(
    harness: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "mymodel_of_a_user.py"
    model.write_text(MODEL)
    target = f"{model.stem}:example"
    answer = harness("capture", target, "-o", model)
    assert answer.status == 2
    assert "would be replaced" in answer.err and "--force" in answer.err
    assert model.read_text() == MODEL
    (tmp_path / "small").mkdir()
    beside = tmp_path / "small" / "out.py"
    beside.write_text(MODEL)
    answer = harness("capture", target, "-o", tmp_path / "out.py", "--small", "rows=2")
    assert answer.status == 2 and beside.read_text() == MODEL
    assert not (tmp_path / "out.py").exists()
    for extra in ((), (), ("--force",)):  # a graph is replaced by a graph
        assert harness("capture", target, "-o", tmp_path / "out.py", *extra).status == 0
    answer = harness(
        "capture", target, "-o", tmp_path / "both.py", "-v", "--force", "--small", "rows=2"
    )
    steps = [line.partition("] ")[2] for line in answer.err.splitlines() if "] " in line]
    once = ["building example", "tracing example", "converting example_forward"]
    assert steps == [*once, *(f"{step}, small sizes" for step in once)]
    assert harness("capture", target, "-o", model, "--force").status == 0
    assert model.read_text().startswith("# harness graph 1")


def test_emitting_two_graphs_into_a_folder_loses_no_kernel(
    harness: Command, tmp_path: Path
) -> None:
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    folder = tmp_path / "kernels"
    for file, scale in zip(files, (2.0, 3.0), strict=True):
        file.write_text(graph("g", scale))
    assert harness("emit", files[0], "-o", folder).status == 0
    (first,) = folder.iterdir()
    text = first.read_text()
    answer = harness("emit", files[1], "-o", folder, "--json")
    second = folder / f"{first.stem}_2.py"
    assert [row["file"] for row in answer.json()["kernels"]] == [str(second)]
    assert f"{first.name} is there with another text: written as {second.name}" in answer.err
    assert first.read_text() == text != second.read_text()
    again = harness("emit", files[0], "-o", folder)
    assert sorted(folder.iterdir()) == [first, second] and not again.err
    assert harness("emit", files[1], "-o", folder).status == 0
    assert len(list(folder.iterdir())) == 2
