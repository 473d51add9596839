"""A small git repository that asv measures with a fake GPU: the harness itself and a few commits.

The commits are the package as it is now, with changes to what the compiler writes: the fake
reads in a module's text what it costs. Environment variables choose what befalls the fake.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests import fork_server
from tests.asv.asv_fake import GRAPHS

ROOT = Path(__file__).resolve().parent.parent.parent
GRAPH, OTHER = GRAPHS
KNOWN = """if __name__ == "__main__":
    from hashlib import sha256
    from pathlib import Path

    timer = Path("harness/records/timing.py").read_bytes()
    known = Path(".asv", f"machine-{sha256(timer).hexdigest()}")
    if known.is_file():
        raise SystemExit(print(known.read_text()))
"""
ONCE = """if __name__ == "__main__":
    known.parent.mkdir(exist_ok=True)
    known.write_text(json.dumps(describe()))
    print(known.read_text())
"""
FORKED = """\
import os, runpy, sys
given = sys.argv[1:]
safe = given[0] == "-P"
sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
sys.executable = os.environ["FORKING_PYTHON"]
sys.argv = given[safe:]
if sys.argv[0] == "-m":
    sys.path.insert(0, os.getcwd())
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""What ``python [-P] -m MODULE`` and ``python [-P] FILE`` do, with arguments behind."""


@contextlib.contextmanager
def python(folder: Path) -> Iterator[Path]:
    """A Python in ``folder`` for asv, the commits that it measures and asv's own processes: forked
    from one that has imported torch, which takes each of them longer than what it does. Worker
    processes, which look for their parent, are started."""
    imports = ("torch", "triton.language", "triton.compiler", "sympy", "asv_runner.run")
    with fork_server.python(folder, imports, {}) as command:
        program = folder / "python"
        forks = shlex.join([*command, FORKED])
        starts = shlex.join([sys.executable])
        worker = f'[ "$1 $2" = "-P -c" ] && exec {starts} "$@"'
        program.write_text(f'#!/bin/sh\n{worker}\nexec {forks} "$@"\n')
        program.chmod(0o755)
        yield program


@dataclass(frozen=True)
class Project:
    """The checkout, where asv runs, and what runs it."""

    folder: Path
    python: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def asv(self, *arguments: str, fake: str = "", folder: Path | None = None) -> tuple[int, str]:
        """Exit status and all output of one asv command."""
        environ = os.environ | {
            "PYTHONPATH": "",
            "HARNESS_CACHE": str(self.folder.parent / "cache"),
            "HARNESS_JOBS": "1",  # starting a worker costs more than compiling two kernels in it
            "HOME": str(self.folder.parent),
            "FORKING_PYTHON": str(self.python),
            "FAKE": fake,
            "FAKE_LOG": str(self.folder.parent / "fake.log"),
        }
        done = subprocess.run(
            [str(self.python), "-m", "asv", *arguments],
            cwd=folder or self.folder,
            capture_output=True,
            text=True,
            env=environ,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def writes(self, line: str) -> None:
        """Let the compiler put ``line`` above every kernel's reference."""
        path = self.folder / "harness" / "codegen" / "module.py"
        original = (ROOT / "harness" / "codegen" / "module.py").read_text()
        path.write_text(
            original + f"\n\n_emit = emit\n\n\ndef emit(*args):\n    import dataclasses\n"
            f"    made = _emit(*args)\n    return dataclasses.replace(made, text="
            f"made.text.replace('\\ndef reference(', '\\n{line}\\ndef reference('))\n"
        )


def make(folder: Path, python: Path) -> Project:
    """The repository with its first commit."""
    project = Project(folder, python)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "harness", folder / "harness", ignore=skip)
    for name in ("asv", "tracking"):
        shutil.copytree(ROOT / "suites" / name, folder / "suites" / name, ignore=skip)
    machine = folder / "suites" / "tracking" / "machine.py"  # asking torch takes seconds
    described, _, _ = machine.read_text().partition('if __name__ == "__main__":')
    machine.write_text(described.replace("import json\n", f"import json\n{KNOWN}", 1) + ONCE)
    shutil.copy(Path(__file__).parent / "asv_fake.py", folder / "suites" / "asv" / "declared.py")
    (folder / "suites" / "graphs").mkdir()
    for name in (GRAPH, OTHER):
        shutil.copy(ROOT / "suites" / "graphs" / f"{name}.py", folder / "suites" / "graphs")
    for name in ("suites/default.py", "asv.conf.json", "pyproject.toml", ".gitignore"):
        shutil.copy(ROOT / name, folder / name)
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "Test")
    project.git("config", "user.email", "test@example.org")
    project.git("commit", "-q", "--allow-empty", "-m", "Nothing yet")
    return project
