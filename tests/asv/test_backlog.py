"""What asv and ``harness changes`` say of the backlog in ``results/asv``, measured on an H100.

Its truth is known: which commits emit the same kernels with the same candidates is a matter of
text (``docs/measurements/asv.md``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("asv")

from tests.asv.test_asv import marks

ROOT = Path(__file__).resolve().parents[2]
MACHINE = "nvidia-h100-80gb-hbm3-580.159.04-1980mhz-2619mhz"
COMMITS = (
    "a599e9fb 0ef74d4d a1210584 6e3fc08b 80119762 6ffa7ad2 5bac9dcf 27fff16f 95fa2c24 2572f105 "
    "5cb33e83 645e4b94"
).split()
HARNESS = "import sys; from harness.cli.main import main; sys.exit(main())"
SUM_3, SUM_5 = "bert_layer_backward/sum_3_partial", "bert_layer_backward/sum_5_partial"

history = subprocess.run(
    ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", COMMITS[0], "HEAD"],
    capture_output=True,
    check=False,
)
pytestmark = pytest.mark.skipif(
    history.returncode != 0, reason="this checkout lacks the history that was measured"
)


def run(folder: Path, *command: str) -> str:
    """What a command says, in a folder of its own on this checkout's history and results."""
    configured = {
        **json.loads((ROOT / "asv.conf.json").read_text()),
        "repo": str(ROOT),
        "results_dir": str(ROOT / "results" / "asv"),
        "html_dir": str(folder / "html"),
        "env_dir": str(folder / "env"),
    }
    (folder / "asv.conf.json").write_text(json.dumps(configured))
    environ = os.environ | {
        "PYTHONPATH": str(ROOT),
        "HARNESS_RESULTS": str(folder / "results"),
        "COLUMNS": "200",
    }
    program = {"asv": ["-m", "asv"], "harness": ["-c", HARNESS]}[command[0]]
    done = subprocess.run(
        [sys.executable, *program, *command[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def compared(folder: Path, before: str, after: str) -> tuple[dict[str, str], str]:
    """Marks of time and GB/s by series, and all that was said."""
    said = run(folder, "asv", "compare", "-f", "1.03", before, after)
    found = {line.split("|")[5].strip(): mark for mark, line in marks(said)}
    return {name: m for name, m in found.items() if "seconds" in name or "gbps" in name}, said


def test_every_commit_is_there_whole_and_every_kernel_listed() -> None:
    listed = set((ROOT / "results/asv/kernels.txt").read_text().split())
    for commit in COMMITS:
        (path,) = (ROOT / "results" / "asv" / MACHINE).glob(f"{commit}-*.json")
        document = json.loads(path.read_text())
        columns = document["result_columns"]
        row = dict(zip(columns, document["results"]["fused.Kernel.track_seconds"], strict=False))
        assert row["version"] == "graph-cold-l2/2+race/1"
        assert {label.strip("'") for label in row["params"][0]} <= listed
        assert None not in row["result"], "a failure would be one"


def test_commits_that_emit_the_same_are_told_to_be_the_same(tmp_path: Path) -> None:
    found, said = compared(tmp_path, COMMITS[6], COMMITS[7])
    assert len(found) > 40
    assert set(found.values()) == {""}, said


def test_a_faster_configuration_is_found_in_time_and_gbps(tmp_path: Path) -> None:
    found, said = compared(tmp_path, "80119762", "6ffa7ad2")
    for metric in ("seconds", "gbps"):
        assert found[f"fused.Kernel.track_{metric}('{SUM_3}')"] == "-", said
        assert found[f"fused.Graph.track_{metric}('bert_layer_backward')"] == "-"
    assert "2258.9±2" in said, "GB/s in five digits"
    assert f"results of {MACHINE}; -m chooses another machine: amd-epyc" in said


def test_another_fusion_is_no_regression_of_the_kernel_that_took_over(tmp_path: Path) -> None:
    found, said = compared(tmp_path, "a599e9fb", "0ef74d4d")
    assert "3.43" in said, "35 us of one kernel, then 121 us of that and another one's work"
    assert "+" not in found.values(), said
    for graph in ("bert_layer_backward", "llama_block_forward"):
        assert found[f"fused.Graph.track_seconds('{graph}')"] == "-"
    assert "other bytes are moved in the two commits (6): bert_layer_backward" in said


def test_the_pages_show_the_loss_of_bandwidth_and_no_gain(tmp_path: Path) -> None:
    run(tmp_path, "asv", "publish")
    regressions = json.loads((tmp_path / "html/regressions.json").read_text())["regressions"]
    of_gpu = {r[0]: r for r in regressions if "gbps" in r[0] or "seconds" in r[0]}
    names = {f"fused.Kernel.track_{metric}('{SUM_5}')" for metric in ("seconds", "gbps")}
    assert of_gpu.keys() == names
    ((_, _, before, after),) = of_gpu[f"fused.Kernel.track_gbps('{SUM_5}')"][6]
    assert (round(before), round(after)) == (2503, 2286)


def test_changes_finds_the_loss_in_what_was_imported(tmp_path: Path) -> None:
    imported = run(tmp_path, "harness", "import", str(ROOT / "results" / "asv" / MACHINE))
    assert imported.count("run 20261121") == len(COMMITS)
    said = run(tmp_path, "harness", "changes", "--json", "--repository", str(ROOT))
    found = {(c["graph"], c["kernel"], c["commit"][:8]): c for c in json.loads(said)["changes"]}
    loss = found["fused.Kernel.track_seconds", f"'{SUM_5}'", "6e3fc08b"]
    assert loss["worse"]
    assert not found["fused.Kernel.track_seconds", f"'{SUM_3}'", "6ffa7ad2"]["worse"]
