"""Captures entries of the default suite again.

``python -m suites.recapture [NAME …]`` writes their graph files and the list of operators in
``suites/README.md``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.errors import HarnessError
from harness.graph.suite import FOLDER, Suite, capture_entry, load_suite
from harness.graph.text import save


def recapture(suite: Suite, names: Sequence[str] = ()) -> list[Path]:
    """Capture entries again (all by default) and write their files; the paths written."""
    chosen = [suite.entry(name) for name in names] if names else list(suite.entries)
    written = []
    for item in chosen:
        real, small = capture_entry(item)
        for graphs, is_small in ((real, False), (small, True)):
            for graph in graphs:
                path = item.path(graph.name, is_small)
                path.parent.mkdir(parents=True, exist_ok=True)
                save(graph, path)
                written.append(path)
    return written


def document_operators(suite: Suite) -> None:
    """Write which operators the suite holds, how often, into ``README.md`` beside it."""
    counts = Counter(n.op for e in suite.entries for g in e.graphs for n in g.nodes)
    lines = [f"`{op}` {count}  \n" for op, count in sorted(counts.items())]
    path = FOLDER / "README.md"
    before, rest = path.read_text().split("<!-- operators -->\n")
    after = rest.split("<!-- /operators -->")[1]
    text = "".join((before, "<!-- operators -->\n", *lines, "<!-- /operators -->", after))
    path.write_text(text)


def main(names: Sequence[str]) -> str | None:
    """Capture, name the files written; the error's text where one ends it."""
    try:
        for file in recapture(load_suite(), names):
            sys.stdout.write(f"{file.relative_to(FOLDER.parent)}\n")
        document_operators(load_suite())
    except HarnessError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
