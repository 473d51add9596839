"""The emitted module on its own, and what the assembler makes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.graph.model import Graph
from harness.graph.text import load as load_graph
from harness.pipeline import compile_graph
from harness.target import H100
from tests.codegen import graphs
from tests.codegen.kernels import modules
from tests.operator_cases import graph_of
from tests.operator_table import CASES
from tests.runtime.measured import metrics

_ALONE = (
    "import runpy, sys\n"
    "sys.modules['harness'] = None\n"  # importing it now raises ImportError
    "path = sys.argv[1]\n"
    "sys.argv = sys.argv[1:]\n"
    "runpy.run_path(path, run_name='__main__')\n"
)


def run_alone(path: Path, *options: str, interpret: bool) -> subprocess.CompletedProcess[str]:
    """The module as a script, in a process that cannot import this package."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(path.parent), "CUDA_VISIBLE_DEVICES": ""}
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    return subprocess.run(
        [sys.executable, "-I", "-c", _ALONE, str(path), *options],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )


_TWICE = """
import runpy, sys
path = sys.argv[1]
for options in ([], ['--check']):
    sys.argv = [path, *options]
    try:
        runpy.run_path(path, run_name='__main__')
    except SystemExit as ended:
        if options or ended.code:
            raise
    print('timed' if not options else '')
"""
"""A module timed, then checked."""


def written(folder: Path, text: str, name: str = "kernel.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def alone(python: list[str], path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The same in the interpreter, without starting it for each."""
    command = [*python, _ALONE, str(path), *options]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(path.parent), "TRITON_INTERPRET": "1"}
    return subprocess.run(command, env=environment, capture_output=True, check=False, text=True)


def test_a_module_checks_itself_without_this_package(tmp_path: Path) -> None:
    path = written(tmp_path, modules(graphs.BIAS)[0].text)
    answer = run_alone(path, "--check", "--json", interpret=True)
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout)
    assert result["passed"] and result["outside"]
    assert result["max_error"] <= result["allowed"]


SUITE = Path(__file__).parents[2] / "suites" / "graphs"

_EVERY = """
import contextlib, io, pathlib, runpy, sys
for path in map(str, sorted(pathlib.Path(sys.argv[1]).glob('*.py'))):
    said = io.StringIO()
    sys.argv = [path, '--check']
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(path, run_name='__main__')
    except SystemExit as ended:
        print(path, ended.code, said.getvalue().strip())
"""


@pytest.mark.parametrize("name", ["llama_block_forward", "fp8_rowwise_forward"])
def test_every_module_of_a_graph_passes_alone_in_the_interpreter(
    tmp_path: Path, interpreting: list[str], name: str
) -> None:
    """Stores to bfloat16 and 8 bits round to nearest, as on the device."""
    full = compile_graph(load_graph(SUITE / f"{name}.py"), H100)
    small = compile_graph(load_graph(SUITE / "small" / f"{name}.py"), H100, full.decisions)
    folder = tmp_path / "kernels"
    folder.mkdir()
    for kernel in small.kernels:
        (folder / f"{kernel.name}.py").write_text(kernel.module.text)
    answer = alone(interpreting, written(tmp_path, _EVERY), str(folder))
    lines = answer.stdout.splitlines()
    assert len(lines) == len(small.kernels), answer.stderr
    assert all(" 0 passed" in line for line in lines), lines


def test_a_module_calls_the_device_library_alone(tmp_path: Path, interpreting: list[str]) -> None:
    path = written(tmp_path, modules(graphs.LIBRARY)[0].text)
    answer = alone(interpreting, path, "--check")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "create_extern_elementwise" not in modules(graphs.BIAS)[0].text


def test_a_module_compares_numbers_alone(tmp_path: Path, interpreting: list[str]) -> None:
    """Triton's interpreter repeats what comparing two numbers gave as a number."""
    (folder := tmp_path / "kernels").mkdir()
    cases = [case for case in CASES if "zeta" in case.op]
    for case in cases:
        written(folder, modules(graph_of(case))[0].text, f"{case.name}.py")
    answer = alone(interpreting, written(tmp_path, _EVERY), str(folder))
    assert answer.stdout.count(" 0 passed") == len(cases) > 2, answer.stdout + answer.stderr


def test_a_module_asks_once_for_all_points_of_a_program_alone(
    tmp_path: Path, interpreting: list[str]
) -> None:
    """Since Triton 3.8 its interpreter repeats that truth value as bytes, which it masks not by."""
    kernel, *_ = compile_graph(graphs.strips(3), replace(H100, multiprocessors=4)).kernels
    answer = alone(interpreting, written(tmp_path, kernel.module.text), "--check")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_module_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    path = written(tmp_path, modules(graphs.BIAS)[0].text)
    answer = run_alone(written(tmp_path, _TWICE, "twice.py"), str(path), interpret=False)
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout.startswith("no GPU")
    assert "timed" in answer.stdout


def test_a_module_says_where_it_came_from() -> None:
    (module,) = modules(graphs.LAYER_NORM)
    summary = module.text.split('"""')[1]
    assert "rsqrt" in summary
    assert "import harness" not in module.text


@pytest.mark.slow
@pytest.mark.parametrize("graph", [graphs.LAYER_NORM, graphs.LONG_ROWS], ids=lambda g: g.name)
def test_rows_are_read_and_written_16_bytes_at_a_time(graph: Graph) -> None:
    (module,) = modules(graph)
    found = metrics(module.text, H100)
    assert found.widest_load == 16
    assert found.widest_store == 16
    assert found.spills == 0


@pytest.mark.slow
@pytest.mark.parametrize("graph", [graphs.graph_of_size(1 << 16, 1 << 15), graphs.TALL])
def test_kernels_over_more_than_2_31_elements_compile(graph: Graph) -> None:
    (module,) = modules(graph)
    assert "tl.int64" in module.text
    assert metrics(module.text, H100).spills == 0


@pytest.mark.parametrize("graph", [graphs.BIAS, graphs.LAYER_NORM], ids=["pointwise", "reduction"])
def test_arguments_are_random_numbers_and_never_zeros(graph: Graph, tmp_path: Path) -> None:
    """Zeros switch no transistors and compress well: kernels look faster on them."""
    from harness.runtime.module import load

    for emitted in modules(graph):
        loaded = load(emitted.text, tmp_path)
        first, again, other = (loaded.get_args(seed=seed) for seed in (0, 0, 1))
        for a, b, c in zip(first, again, other, strict=True):
            if a.is_floating_point() and a.numel() > 1:
                assert a.count_nonzero() > 0.99 * a.numel()
                assert a.unique().numel() > min(a.numel(), 50) // 2
                assert a.equal(b)
                assert not a.equal(c)
