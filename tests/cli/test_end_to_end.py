"""The whole way, with the real compiler and real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from harness.history import store
from tests import fork_server
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
QUICK = "channels_last_forward"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """``python -c`` that has imported what ``harness`` does."""
    imports = ("harness.cli.app", "harness.graph.capture.aot", "harness.session.session")
    with fork_server.python(tmp_path_factory.mktemp("python"), imports, {}) as made:
        yield made


def start(
    tmp_path: Path, *arguments: str, python: Sequence[str], first: str = ""
) -> subprocess.Popen[str]:
    """The command in a process of its own, which does ``first`` before."""
    environment = {
        **os.environ,
        "HARNESS_RESULTS": str(tmp_path / "results"),
        "HARNESS_CACHE": str(tmp_path / "cache"),
        "HARNESS_JOBS": "1",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.Popen(
        [*python, first + "from harness.cli.main import main; main()", *arguments],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_run_checks_and_measures_a_graph_and_the_second_run_gives_equal_numbers(
    python: list[str], tmp_path: Path
) -> None:
    documents = []
    for _ in range(2):
        process = start(tmp_path, "run", QUICK, "--no-timing", "--json", python=python)
        out, err = process.communicate()
        assert process.returncode == 0, err
        documents.append(json.loads(out))
    first, second = documents
    (kernel,) = first["graphs"][0]["kernels"]
    assert kernel["check"] == "passed"
    assert kernel["registers"] > 0
    assert kernel["instructions"] > 0
    assert kernel["ms"] is None
    assert second["graphs"][0]["kernels"] == first["graphs"][0]["kernels"]
    frame = pd.read_parquet(first["file"])
    assert list(frame["graph"]) == [QUICK]
    assert "import triton" in frame["module"][0]


def test_an_emitted_module_needs_no_harness(
    harness: Command, tmp_path: Path, interpreting: list[str]
) -> None:
    answer = harness("emit", QUICK, "--small", "-o", tmp_path / "kernels", "--json")
    assert answer.status == 0, answer.err
    (row,) = answer.json()["kernels"]
    code = (
        "import runpy, sys; sys.modules['harness'] = None; sys.argv = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [*interpreting, code, row["file"], "--check", "--json"],
        cwd=tmp_path,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"passed": true' in done.stdout.lower()


def test_emit_writes_one_file_per_distinct_kernel(harness: Command, tmp_path: Path) -> None:
    answer = harness("emit", "adamw_step", "-o", tmp_path / "kernels")
    assert answer.status == 0, answer.err
    files = sorted((tmp_path / "kernels").glob("*.py"))
    assert len(files) == len({f.read_text() for f in files})
    for file in files:
        compile(file.read_text(), str(file), "exec")
        assert "import harness" not in file.read_text()


def test_emit_writes_compiled_kernels_that_can_be_launched_again(
    harness: Command, tmp_path: Path
) -> None:
    from harness.runtime.compile.binary import KernelBinary

    folder = tmp_path / "kernels"
    answer = harness("emit", QUICK, "--small", "-o", folder, "--binaries")
    assert answer.status == 0, answer.err
    (module,) = folder.glob("*.py")
    said = [str(module), str(module.with_suffix(".kernel")), "2 files, 1 kernel"]
    assert answer.out.splitlines() == said
    found = KernelBinary.from_bytes(module.with_suffix(".kernel").read_bytes())
    assert found.name == module.stem and found.capability == 90
    assert found.cubin.startswith(b"\x7fELF") and len(found.signature) > 1


def test_explain(harness: Command) -> None:
    answer = harness("explain", "bert_layer_backward", "--json")
    assert answer.status == 0, answer.err
    (graph,) = answer.json()["graphs"]
    assert sum(len(region["kernels"]) for region in graph["regions"]) >= 2
    for region in graph["regions"]:
        assert all(r["reason"] and r["condition"] for r in region["rejections"])
    assert any(region["rejections"] for region in graph["regions"])
    node = next(
        k["origins"][0]
        for region in graph["regions"]
        for k in region["kernels"]
        if k["name"] in {r["first_group"] for r in region["rejections"]}
    )
    (graph,) = harness("explain", "bert_layer_backward", "--node", node, "--json").json()["graphs"]
    for region in graph["regions"]:
        assert region["kernels"], "others are left out"
        names = {kernel["name"] for kernel in region["kernels"]}
        assert all(node in kernel["origins"] for kernel in region["kernels"])
        assert all({r["first_group"], r["second_group"]} & names for r in region["rejections"])
    assert any(region["rejections"] for region in graph["regions"])


def test_explain_names_what_is_left_to_torch(harness: Command) -> None:
    """It is why a graph is in regions; a node's kernels alone are shown without it."""
    (graph,) = harness("explain", "llama_block_forward", "--json").json()["graphs"]
    calls = {call["operator"]: call["count"] for call in graph["library_calls"]}
    assert calls["aten.mm.default"] == 7 and all(c["reason"] for c in graph["library_calls"])
    assert "left to torch, no lowering: " in (out := harness("explain", "llama_block_forward").out)
    assert "aten.mm ×7" in out
    node = graph["regions"][0]["kernels"][0]["origins"][0]
    assert "left to torch" not in harness("explain", "llama_block_forward", "--node", node).out


def test_explain_of_a_node_shows_its_kernels_alone(harness: Command) -> None:
    (graph,) = harness("explain", QUICK, "--json").json()["graphs"]
    origins = [k["origins"] for region in graph["regions"] for k in region["kernels"]]
    assert ", ".join(origins[0]) in harness("explain", QUICK, "--node", origins[0][0]).out
    answer = harness("explain", QUICK, "--node", origins[0][0], "--node", f"{origins[0][0]}x")
    assert answer.status == 2 and "no such node" in answer.err
    assert f"expected: {origins[0][0]}" in answer.err


def test_explain_writes_what_every_stage_made(harness: Command, tmp_path: Path) -> None:
    folder = tmp_path / "stages"
    answer = harness("explain", QUICK, "--stages", folder)
    assert answer.status == 0, answer.err
    names = {path.name for path in folder.rglob("*.*") if path.is_file()}
    assert names >= {
        "0-partition.txt", "1-split.py", "2-lower.txt", "3-schedule.txt",
        "4-plan.txt", "5-render.py", "6-emit.py",
    }  # fmt: skip
    table = answer.out.split("seconds")[-1]
    assert all(stage in table for stage in ("partition", "schedule", "render", "emit"))


def test_capture_then_run_a_model_of_ones_own(python: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "class Gate(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.nn.functional.silu(x) * x.sum(-1, keepdim=True)\n"
        "def example(rows=64):\n"
        "    return Gate(), (torch.randn(rows, 96),)\n"
    )
    arguments = ("capture", "mine:example?rows=4096", "-o", "gate.py", "--json")
    process = start(tmp_path, *arguments, python=python)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)["graphs"][0]["file"] == "gate.py"
    arguments = ("run", "gate.py", "--no-record", "--no-timing", "--json")
    process = start(tmp_path, *arguments, python=python)
    out, err = process.communicate()
    assert process.returncode == 0, err
    kernels = json.loads(out)["graphs"][0]["kernels"]
    assert kernels
    assert all(k["registers"] > 0 and k["check"] == "passed" for k in kernels), "at derived sizes"


def wait_for_rows(results: Path, rows: int) -> Path:
    """The journal, once it has ``rows`` whole lines."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        for journal in results.rglob("*.journal"):
            if journal.read_text().count("\n") >= rows:
                return journal
        time.sleep(0.05)
    raise AssertionError("nothing was measured in time")


WAITS = """
import os, pathlib, time
pathlib.Path("process").write_text(str(os.getpid()))
from harness.history.journal import Journal
add = Journal.add_graph
Journal.add_graph = lambda *given: (add(*given), time.sleep(3600))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_it_had(
    python: list[str], tmp_path: Path, how: signal.Signals
) -> None:
    """It is interrupted in the middle: it waits there."""
    asked = ("run", QUICK, "image_preprocess_forward", "--no-timing")
    process = start(tmp_path, *asked, python=python, first=WAITS)
    results = tmp_path / "results"
    wait_for_rows(results, 3)
    os.kill(int((tmp_path / "process").read_text()), how)
    _, err = process.communicate(timeout=400)
    assert "Traceback" not in err
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; what had been measured is kept in" in err
    else:
        listing = start(tmp_path, "list", "--runs", python=python)
        _, err = listing.communicate()
        assert "an interrupted run is now recorded" in err
    (path,) = results.rglob("*.parquet")
    kept = store.load(path)
    assert not kept.complete
    assert kept.graphs[0].kernels
    assert not list(results.rglob("*.journal"))


def test_a_damaged_graph_file_is_named_with_its_line(harness: Command, tmp_path: Path) -> None:
    source = ROOT / "suites" / "graphs" / f"{QUICK}.py"
    damaged = tmp_path / "damaged.py"
    damaged.write_text(source.read_text().replace("f16[", "f17[", 1))
    answer = harness("run", damaged, "--no-record")
    assert answer.status == 1
    assert "damaged.py:" in answer.out
    assert "expected" in answer.out
    answer = harness("emit", damaged, "-o", tmp_path / "kernels")
    assert answer.status == 2
    assert "damaged.py:" in answer.err
    assert "Traceback" not in answer.err


def test_a_file_that_holds_no_graph_is_no_run(
    harness: Command, results: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os\n")
    for command in (("run", script), ("explain", script), ("run", script, QUICK)):
        answer = harness(*command)
        assert answer.status == 2 and "the file holds no graph" in answer.err
    assert not list(results.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("llama_block_forwrd", "llama_block_forward"), ("missing.py", "harness list")],
)
def test_an_unknown_graph_gets_the_nearest_names(harness: Command, name: str, nearest: str) -> None:
    for command in (["run", name, "--no-record"], ["explain", name]):
        answer = harness(*command)
        assert answer.status == 2
        assert nearest in answer.err


def test_an_unknown_target_or_suite(harness: Command) -> None:
    answer = harness("run", QUICK, "--target", "sm_91", "--no-record")
    assert answer.status == 2
    assert "sm_90" in answer.err
    for command in (
        ["list"],
        ["explain", f"{ROOT}/suites/graphs/{QUICK}.py"],
    ):  # a run records its suite
        answer = harness(*command, "--suite", "defualt")
        assert answer.status == 2
        assert "default" in answer.err


def test_list(harness: Command) -> None:
    document = harness("list", "--json").json()
    graphs = [graph for entry in document["entries"] for graph in entry["graphs"]]
    assert len(graphs) >= 12
    assert all(graph["captured"] for graph in graphs)
    assert all(entry["origin"] and entry["small_sizes"] for entry in document["entries"])
    text = harness("list").out
    assert all(graph["name"] in text for graph in graphs)
