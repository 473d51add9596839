"""Make this checkout importable in the running environment, without pip or network.

Run with the environment's own python. Writes a ``.pth`` file, the metadata that
entry points are found by, and the ``harness`` command, all read off
``pyproject.toml``.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def entry_points(project: dict[str, Any]) -> str:
    """The text of ``entry_points.txt``."""
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    blocks = []
    for group, entries in groups.items():
        lines = [f"{name} = {target}" for name, target in entries.items()]
        blocks.append("\n".join([f"[{group}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def source_version() -> str:
    """The version that the package states."""
    text = (ROOT / "harness" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("harness/__init__.py states no __version__")
    return found.group(1)


def write_metadata(project: dict[str, Any], packages: Path) -> None:
    """Write the ``.pth`` file and the ``dist-info`` folder into ``packages``."""
    name, version = project["name"], source_version()
    # Read before the borrowed packages, which may hold another checkout of the same.
    (packages / f"00-{name}-source.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    (info / "INSTALLER").write_text("scripts/link.py\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points(project), encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")


BESIDE = {"pytest": "pytest:main", "asv": "asv.main:main"}
"""Commands of borrowed packages that README names: another environment's would not know ours."""


def write_commands(project: dict[str, Any], folder: Path) -> None:
    """Write an executable per console script into ``folder``, and those of ``BESIDE`` there are."""
    beside = {
        name: target
        for name, target in BESIDE.items()
        if importlib.util.find_spec(target.partition(":")[0].partition(".")[0])
    }
    for name, target in {**project["scripts"], **beside}.items():
        module, _, function = target.partition(":")
        # A shebang line cannot hold a path with a space, so the shell starts python;
        # to python the shell's line is a string without effect.
        text = (
            "#!/bin/sh\n"
            f"'''exec' \"$(dirname \"$0\")/python\" \"$0\" \"$@\"\n' '''\n"
            f"import sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def main() -> None:
    """Link this checkout into the running environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    write_metadata(project, Path(sysconfig.get_path("purelib")))
    write_commands(project, Path(sys.prefix) / "bin")


if __name__ == "__main__":
    main()
