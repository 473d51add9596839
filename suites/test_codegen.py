"""pytest benchmarks: what the compiler itself costs, graph by graph; needs no GPU."""

from __future__ import annotations

from typing import Any

import pytest

from harness.session.entries import FileEntry
from suites.benchmarking import benchmark_codegen


@pytest.mark.benchmark(group="code generation")
def test_codegen(benchmark: Any, suite_graph: FileEntry) -> None:
    """Graph to emitted modules."""
    benchmark_codegen(benchmark, suite_graph)
