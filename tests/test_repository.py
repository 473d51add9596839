"""What holds for the repository as a whole."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "harness").rglob("*.py"))
sys.path.insert(0, str(ROOT / "scripts"))

import size_budget  # noqa: E402


def tracked() -> list[Path]:
    """Files under version control; every file of the checkout where there is no git."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name]


def texts() -> Iterator[tuple[Path, str]]:
    for path in tracked():
        if path.is_file() and path.suffix not in (".parquet", ".png", ".gz"):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_files_and_functions_stay_within_the_size_budget() -> None:
    found = [
        line
        for path in size_budget.python_files(ROOT)
        for line in size_budget.offences(path, path.relative_to(ROOT).as_posix())
    ]
    assert not found, "\n".join(found)


def test_the_size_budget_finds_what_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    x = 1\n" * 59 + "\n" * 440)
    found = size_budget.offences(path, "long.py")
    assert found == [
        "long.py: 500 lines, expected fewer than 500",
        "long.py:1: f has 60 lines, expected fewer than 60",
    ]
    path.write_text("def f():\n" + "    x = 1\n" * 58)
    assert size_budget.offences(path, "long.py") == []


def test_the_package_stays_within_the_size_budget() -> None:
    assert size_budget.package_offences(size_budget.folders(ROOT)) == []


def test_the_size_budget_finds_a_full_folder_and_a_package_that_grew() -> None:
    most = size_budget.MAX_PACKAGE_LINES
    assert size_budget.package_offences({"harness": (17, 10), "harness/ir": (16, most)}) == [
        "harness: 17 Python files, expected at most 16",
        f"harness: {most + 10} lines, expected at most {most}",
    ]


MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE
}


def imported(path: Path, *, inside: bool = True) -> set[str]:
    """The modules that ``path`` imports, but for types; ``inside`` functions too."""
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.FunctionDef) and not inside:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
            names.add(node.module)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not from inside a function either."""
    graph = {
        name: {found for found in imported(path) if found in MODULES and found != name}
        for name, path in MODULES.items()
        if path.name != "__init__.py"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_a_function_imports_only_what_brings_a_library_along() -> None:
    """Torch takes seconds, and a command that does without starts sooner. All else stands at the
    top once, but in what another commit's package runs and in what every pytest loads."""
    top = {name: imported(path, inside=False) for name, path in MODULES.items()}

    def libraries(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [*top.get(name, ()), *filter(None, [name.rpartition(".")[0]])]
        roots = {name.partition(".")[0] for name in seen}
        return roots - {"harness"} - sys.stdlib_module_names

    for name, path in MODULES.items():
        inner = (imported(path) - top[name]) & MODULES.keys()
        for other in inner if path.name not in ("export.py", "plugin.py") else ():
            if MODULES[other].name != "__init__.py":
                assert libraries(other) - libraries(name), f"{path} imports {other} in a function"


def test_every_module_has_lazy_annotations() -> None:
    for path in PACKAGE:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(not isinstance(n, ast.Expr | ast.Assign) for n in tree.body):
            names = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
            assert "annotations" in names, path


def test_only_options_reads_the_environment() -> None:
    """Worker processes set theirs before they import torch; setting is not reading."""
    for path in PACKAGE:
        if path.name == "options.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            reads = isinstance(node, ast.Attribute) and (
                node.attr == "getenv"
                or (
                    isinstance(node.value, ast.Attribute)
                    and node.value.attr == "environ"
                    and node.attr in ("get", "items", "copy", "keys", "values")
                )
            )
            assert not reads, f"{path}:{node.lineno} reads the environment"


def test_nothing_is_built_on_another_compiler() -> None:
    for path in PACKAGE:
        if path.stem == "peers" or "peers" in path.parts:
            continue
        assert not any(name.startswith("torch._inductor") for name in imported(path)), path


def test_the_design_names_what_uses_private_parts_of_torch() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(r"Private parts of torch are\nused in (.*?)\n\n", text, re.DOTALL)
    named = tuple(re.findall(r"`([\w/]+(?:/|\.py))`", paragraph))
    users = [
        path.relative_to(ROOT / "harness").as_posix()
        for path in PACKAGE
        if any(name.startswith("torch._") for name in imported(path))
    ]
    assert len(users) > 10
    assert [name for name in users if not name.startswith(named)] == []


def test_torch_is_pinned_in_one_place() -> None:
    pattern = re.compile(r"torch\s*==\s*\d")
    pinned = [str(path) for path, text in texts() if pattern.search(text)]
    assert [name for name in pinned if name != "docs/design.md"] == ["constraints.txt"]


def test_no_host_of_a_registry_is_named() -> None:
    hosts = ("py" + "pi.org", "python" + "hosted", "download.py" + "torch", "regis" + "try.npm")
    for path, text in texts():
        assert not any(host in text for host in hosts), path


def test_continuous_integration_runs_exactly_what_a_contributor_types() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line.startswith("make")] == ["make check", "make test"]


def test_scripts_can_be_executed() -> None:
    for name in ("scripts/setup", "scripts/check", ".ci/run"):
        assert (ROOT / name).stat().st_mode & 0o111, name


def test_entry_points_exist() -> None:
    from importlib import import_module

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    targets = [project["scripts"]["harness"]]
    if (ROOT / "harness" / "backend.py").exists():
        targets.append(project["entry-points"]["torch_dynamo_backends"]["harness"])
    for target in targets:
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))


def test_asv_configuration_is_json() -> None:
    assert json.loads((ROOT / "asv.conf.json").read_text())["project"] == "harness"


def test_readme_names_commands_that_exist() -> None:
    from harness.cli.app import COMMANDS

    named = set(re.findall(r"\bharness ([a-z][a-z-]+)\b", (ROOT / "README.md").read_text()))
    known = {name for name, _, _ in COMMANDS}
    assert named & known >= {"run", "list", "emit", "show", "doctor", "capture", "explain"}
    targets = set(re.findall(r"^make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in targets)


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("results", "suites", "scripts")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in listed, page.name


def test_the_pages_name_commands_that_exist() -> None:
    """What a code block types at the beginning of a line."""
    from harness.cli.app import COMMANDS

    known = {name for name, _, _ in COMMANDS}
    for page in PAGES:
        for block in re.findall(r"```\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for name in re.findall(r"^(?:\$ )?harness ([a-z][a-z-]*)\b", block, re.MULTILINE):
                assert name in known, f"{page.name}: harness {name}"


def test_the_tests_that_guard_features_exist() -> None:
    text = (ROOT / "docs" / "spec-coverage.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+|\*)`", text)
    assert len(named) == text.count("| `tests/")
    for file, name in named:
        assert (ROOT / file).is_file(), file
        assert name == "*" or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), name


def test_every_script_is_listed() -> None:
    listed = (ROOT / "scripts" / "README.md").read_text(encoding="utf-8")
    scripts = [p.name for p in tracked() if p.parent == ROOT / "scripts"]
    missing = [name for name in scripts if f"`{name}`" not in listed and name != "README.md"]
    assert scripts
    assert not missing, f"scripts/README.md does not name {', '.join(missing)}"


def resolved(name: str, near: str = "") -> tuple[str, object] | None:
    """The module of the package that has ``name`` (``graph.text.load``, or ``load`` beside what
    the module ``near`` has), and the thing itself."""
    from importlib import import_module

    for path in (name, f"{near}.{name}", f"{near.rpartition('.')[0]}.{name}"):
        parts = path.removeprefix("harness.").strip(".").split(".")
        for known in range(len(parts), -1, -1):
            try:
                found: object = import_module(".".join(["harness", *parts[:known]]))
            except ModuleNotFoundError:
                continue
            try:
                for part in parts[known:]:
                    found = getattr(found, part)
            except AttributeError:
                break
            return ".".join(parts[:known]), found
    return None


def test_the_design_names_what_there_is() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [a-z][\w ,-]* \| (`.*?) \| ", text, re.MULTILINE)
    assert len(rows) > 30
    for row in rows:
        near = ""
        for token in re.findall(r"`([\w.]+)", row):
            found = resolved(token, near)
            assert found is not None, f"docs/design.md names {token}: {row}"
            near = found[0]


def test_what_tests_start_finds_no_terminal_and_can_be_interrupted() -> None:
    """Whatever started pytest: readline leaves a width in the environment, nohup and a shell's &
    leave signals ignored."""
    code = (
        "import os, signal\n"
        "assert not {'COLUMNS', 'LINES'} & set(os.environ)\n"
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGINT) == signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
