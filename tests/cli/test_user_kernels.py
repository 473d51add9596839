from __future__ import annotations

import subprocess
from pathlib import Path

from harness.history import store
from tests.cli.conftest import Command
from tests.fork_server import FILE
from tests.handwritten.files import HEAD, OUTSIDE, SCALE, write


def test_a_file_of_kernels_is_run_recorded_and_printed(
    harness: Command, tmp_path: Path, results: Path
) -> None:
    bad = OUTSIDE[len(HEAD) :] + SCALE[len(HEAD) :].replace('["out"]', '["nil"]').replace(
        "def scale", "def unfit"
    )
    path = write(tmp_path, SCALE + bad, "my_kernels")
    answer = harness("run", path, "--no-timing", "--jobs", "1")
    assert answer.status == 1, answer.err
    lines = answer.out.splitlines()
    assert "my_kernels  3 kernels, 2 launches, 0 library calls" in answer.out
    (good,) = (line for line in lines if line.startswith("scale "))
    assert " ok 0 " in good or " ok " in good
    (wrong,) = (line for line in lines if line.startswith("sloppy "))
    assert "FAILED" in wrong
    assert "x was changed, which is not among the outputs" in answer.out
    assert "an output is no argument; nil" in answer.out
    (file,) = results.rglob("*.parquet")
    (graph,) = store.load(file).graphs
    assert [k.name for k in graph.kernels] == ["scale", "sloppy", "unfit"]
    assert graph.kernels[0].kind == "user"
    assert graph.kernels[0].metrics["registers"]


def test_kernels_of_a_file_can_be_emitted(
    harness: Command, tmp_path: Path, interpreting: list[str]
) -> None:
    path = write(tmp_path, SCALE)
    answer = harness("emit", path, "-o", tmp_path / "out", "--small")
    assert answer.status == 0, answer.err
    (file,) = (tmp_path / "out").iterdir()
    assert file.name == "scale.py"
    done = subprocess.run(
        [*interpreting, FILE, file, "--check"],
        env={"TRITON_INTERPRET": "1", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("passed"), done.stderr
