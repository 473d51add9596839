"""The size budget: files under 500 lines, functions under 60, folders at most 16 files, and a
ceiling for the package as a whole.

Prints every offender and exits 1 if there is one. Counts physical lines,
docstrings included, because that is what a reader scrolls through.
``size_budget.py --table`` prints lines and files by folder instead.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_FOLDER_FILES = 16
MAX_PACKAGE_LINES = 65_230
"""Of ``harness/``: a feature pays for itself by what it makes unnecessary. The goal is 55,000 with
everything that is planned; lower this number with the package."""
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


def folders(root: Path) -> dict[str, tuple[int, int]]:
    """Files and lines of each folder of the package, without its sub-folders."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted((root / "harness").rglob("*.py")):
        name = path.parent.relative_to(root).as_posix()
        files, lines = found.get(name, (0, 0))
        found[name] = (files + 1, lines + path.read_text(encoding="utf-8").count("\n"))
    return found


def package_offences(found: dict[str, tuple[int, int]]) -> list[str]:
    """Folders with too many files, and a package with too many lines, one sentence each."""
    said = [
        f"{name}: {files} Python files, expected at most {MAX_FOLDER_FILES}"
        for name, (files, _) in found.items()
        if files > MAX_FOLDER_FILES
    ]
    total = sum(lines for _, lines in found.values())
    if total > MAX_PACKAGE_LINES:
        said.append(f"harness: {total} lines, expected at most {MAX_PACKAGE_LINES}")
    return said


def main() -> int:
    """Check the repository this script lies in."""
    if "--table" in sys.argv[1:]:
        for name, (files, lines) in folders(ROOT).items():
            print(f"{name:32} {files:4} files {lines:7} lines")
        return 0
    found = [
        line
        for path in python_files(ROOT)
        for line in offences(path, path.relative_to(ROOT).as_posix())
    ]
    found += package_offences(folders(ROOT))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
