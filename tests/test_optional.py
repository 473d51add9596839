"""Every test module can be collected with any optional package absent: it skips, with a reason."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    "asv",
    "diffusers",
    "duckdb",
    "hypothesis",
    "importlinter",
    "matplotlib",
    "pynvml",
    "pytest_benchmark",
    "ruptures",
    "timm",
    "torchvision",
    "transformers",
)
HIDE = """
import importlib, sys
from pathlib import Path

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
sys.path.insert(0, {root!r})
import pytest
from _pytest.outcomes import Skipped
import tests.conftest
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except Skipped as skipped:
        print("skipped", name, skipped)
    except BaseException as error:
        print("FAILED", name, repr(error))
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


def reaching(package: str) -> list[str]:
    """The test modules that import ``package``, themselves or through others of this repository."""
    files = [p for folder in ("tests", "harness", "suites") for p in (ROOT / folder).rglob("*.py")]
    files = [path for path in files if "graphs" not in path.parts]
    names = {p: ".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files}
    imports = {names[path]: imported(path) for path in files}
    reached = {n for n, used in imports.items() if any(u.split(".")[0] == package for u in used)}
    while more := {n for n, used in imports.items() if used & reached} - reached:
        reached |= more
    return sorted(n for n in reached if n.rpartition(".")[2].startswith("test_"))


@pytest.mark.parametrize("package", OPTIONAL)
def test_a_package_that_is_absent_fails_no_collection(package: str) -> None:
    modules = reaching(package)
    if not modules:
        return
    code = HIDE.format(package=package, root=str(ROOT), modules=modules)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert not failed, "\n".join(failed)
