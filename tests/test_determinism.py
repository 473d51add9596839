"""The default suite is compiled to the same text whatever order sets and hashes have, and so are
host functions and looped kernels, what is explained of programs, and candidates; its kernels are
the same binaries every time."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from harness.graph.text import load
from harness.pipeline import compile_graph
from harness.records.metrics import StaticMetrics
from harness.runtime.compile.static import CompileJob, measure
from harness.target import H100

ROOT = Path(__file__).resolve().parent.parent
GRAPHS = ROOT / "suites" / "graphs"

DIGESTS = """
import gc, hashlib, sys
gc.set_threshold(50_000, 20, 50)
from pathlib import Path
from harness.executor import prepare_graph
from harness.graph.text import load
from harness.heuristics.registry import candidates
from harness.pipeline import compile_graph
from harness.target import H100
from tests.codegen.graphs import GRAPHS
from tests.codegen.kernels import modules
from tests.heuristics.test_candidates import BEST
from tests.running import NOT_LAUNCHED
from tests.schedule.test_explain import everything
from tests.test_pipeline import train_graph

def said(text, *what):
    print(*what, len(text.splitlines()), hashlib.sha256(text.encode()).hexdigest())

said(everything(), "explained")
said(repr([candidates(row[0], H100) for row in BEST]), "candidates")
trained = compile_graph(train_graph(8192, 768), H100)
said(prepare_graph(trained, NOT_LAUNCHED, "cpu").text, "host function")
for number, graph in enumerate(GRAPHS):
    for looped in (True, False):
        for module in modules(graph, looped):
            said(module.text, number, looped, module.name)
folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.py")):
    full = compile_graph(load(path), H100)
    small = compile_graph(load(folder / "small" / path.name), H100, full.decisions)
    for size, compiled in (("full", full), ("small", small)):
        for kernel in compiled.kernels:
            said(kernel.module.text, path.stem, size, kernel.name)
"""


def digests(seed: str) -> list[str]:
    """A line for every text: those that the default suite is compiled to among others."""
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS, str(GRAPHS)],
        # Other tests verify the programs.
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "HARNESS_VERIFY": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_text_is_the_same_for_any_hash_seed() -> None:
    first, second = digests("1"), digests("4711")
    assert len(first) > 400
    assert first == second
    lines = sorted(int(line.split()[-2]) for line in first if " full " in line)
    assert lines[len(lines) // 2] <= 260, "what a module has no use for is left out of it"


@pytest.mark.slow
def test_static_metrics_of_two_compilations_are_equal(tmp_path: Path) -> None:
    """Nothing is taken from a cache: each has a folder of its own."""
    texts = []
    for name in ("llama_block_forward", "bert_layer_backward", "moe_router_forward"):
        texts += [k.module.text for k in compile_graph(load(GRAPHS / f"{name}.py"), H100).kernels]
    texts.sort(key=lambda text: hashlib.sha256(text.encode()).digest())
    sample = random.Random(7).sample(texts, 8)
    jobs = [CompileJob(text, H100) for text in sample]
    first, second = (measure(jobs, tmp_path / folder) for folder in ("one", "two"))
    assert all(isinstance(found, StaticMetrics) for found in first), first
    assert first == second
