"""Let a virtual environment import what this python imports.

Run with the python at hand; the argument is the site-packages folder of the
environment. Writes one ``.pth`` file there that lists the folders this python
imports packages from, and takes over their own ``.pth`` files.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def package_folders() -> list[str]:
    """Folders on ``sys.path`` that hold packages, this python's own library left out."""
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    folders = []
    for entry in sys.path[1:]:  # the first is this script's folder
        path = Path(entry)
        if path.is_dir() and entry not in library and path.name != "lib-dynload":
            folders.append(str(path.resolve()))
    return list(dict.fromkeys(folders))


def main(destination: Path) -> None:
    """Write the ``.pth`` file below ``destination``."""
    # addsitedir, unlike a bare line, also reads the .pth files of that folder
    # (editable installs); a repr keeps spaces and quotes in a path harmless.
    lines = [f"import site; site.addsitedir({folder!r})" for folder in package_folders()]
    (destination / "borrowed-packages.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
