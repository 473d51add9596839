"""The size budget: files under 500 lines, functions under 60.

Prints every offender and exits 1 if there is one. Counts physical lines,
docstrings included, because that is what a reader scrolls through.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("harness", "tests", "scripts", "suites")
DATA = ("suites/graphs",)


def python_files(root: Path) -> list[Path]:
    """All checked Python files below ``root``, in a stable order."""
    found = [path for top in CHECKED for path in sorted((root / top).rglob("*.py"))]
    return [
        path
        for path in found
        if not any(path.relative_to(root).as_posix().startswith(skip) for skip in DATA)
    ]


def offences(path: Path, label: str) -> list[str]:
    """What in ``path`` is over the budget, one sentence each."""
    text = path.read_text(encoding="utf-8")
    found = []
    lines = text.count("\n")
    if lines >= MAX_FILE_LINES:
        found.append(f"{label}: {lines} lines, expected fewer than {MAX_FILE_LINES}")
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length >= MAX_FUNCTION_LINES:
                found.append(
                    f"{label}:{node.lineno}: {node.name} has {length} lines, "
                    f"expected fewer than {MAX_FUNCTION_LINES}"
                )
    return found


def main() -> int:
    """Check the repository this script lies in."""
    found = [
        line
        for path in python_files(ROOT)
        for line in offences(path, path.relative_to(ROOT).as_posix())
    ]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
