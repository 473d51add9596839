"""Every test module can be collected with any optional package absent: it skips, with a reason."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    "asv",
    "diffusers",
    "duckdb",
    "hypothesis",
    "importlinter",
    "junitparser",
    "matplotlib",
    "playwright",
    "plotly",
    "pynvml",
    "pytest_benchmark",
    "timm",
    "torchvision",
    "transformers",
)
HIDE = """
import gc
gc.disable()  # modules are no garbage
import importlib, json, os, sys
import numpy, pandas, pyarrow, pytest, scipy.stats, sympy, torch, triton
from _pytest.outcomes import Skipped

class Hidden:
    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def try_without(package, modules):
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        del sys.modules[name]
    sys.meta_path.insert(0, Hidden(package))
    import tests.conftest
    for name in modules:
        try:
            importlib.import_module(name)
        except Skipped as skipped:
            print("skipped", package, name, skipped)
        except BaseException as error:
            print("FAILED", package, name, repr(error))

shared, by_package = json.loads(sys.stdin.read())
for name in shared:
    importlib.import_module(name)
for package, modules in by_package.items():
    child = os.fork()
    if child == 0:
        try:
            try_without(package, modules)
        finally:
            sys.stdout.flush()
            os._exit(0)
    if os.waitpid(child, 0)[1]:
        print("FAILED", package, "its process died")
    print("tried", package)
"""


def imported(path: Path) -> set[str]:
    """The packages that the module at ``path`` imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                found |= {f"{node.module}.{alias.name}" for alias in node.names} | {
                    str(node.module)
                }
    return found


def reaching(packages: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """By package the test modules that import it, themselves or through others of this
    repository. Before them the package's modules that they import and that reach none of it."""
    files = [p for folder in ("tests", "harness", "suites") for p in (ROOT / folder).rglob("*.py")]
    files = [path for path in files if "graphs" not in path.parts]
    names = {p: ".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files}
    imports = {names[path]: imported(path) for path in files}
    found, unsure = {}, set()
    for package in packages:
        reached = {
            n for n, used in imports.items() if any(u.split(".")[0] == package for u in used)
        }
        while more := {n for n, used in imports.items() if used & reached} - reached:
            reached |= more
        unsure |= reached
        found[package] = sorted(n for n in reached if n.rpartition(".")[2].startswith("test_"))
    wanted = {name for modules in found.values() for name in modules}
    while more := {used for name in wanted for used in imports[name] & imports.keys()} - wanted:
        wanted |= more
    shared = sorted(name for name in wanted - unsure if name.startswith("harness."))
    return shared, {package: modules for package, modules in found.items() if modules}


def tried(shared: Sequence[str], modules: Mapping[str, Sequence[str]]) -> list[str]:
    """What became of importing ``modules``, each list with its package hidden, after ``shared``."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", HIDE],
        input=json.dumps([shared, modules]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_package_that_is_absent_fails_no_collection() -> None:
    """One that a module cannot do without does."""
    shared, modules = reaching(OPTIONAL)
    assert len(shared) > 100
    lines = tried(shared, modules | {"suites": ["tests.corpus.test_interpreted"]})
    tries = [line for line in lines if line.startswith("tried")]
    assert tries == [f"tried {package}" for package in (*modules, "suites")]
    failed = [line for line in lines if line.startswith("FAILED")]
    assert len(failed) == 1, "\n".join(failed)
    assert failed[0].startswith("FAILED suites") and "No module named 'suites" in failed[0]
