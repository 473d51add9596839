"""Suites: which graphs, at which sizes, and the graph files beside them.

A suite is a Python file of declarations, ``suites/<name>.py`` with ``ENTRIES``. The
graph files lie in ``suites/graphs`` (real sizes) and ``suites/graphs/small`` (the
same structure, tiny). Reading a suite imports neither torch nor a model library.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.dtypes import DType
from harness.errors import CaptureFailed, UsageError, nearest, unknown

if TYPE_CHECKING:
    from harness.graph.model import Graph  # a list of names needs no sympy

FOLDER = Path(__file__).resolve().parents[2] / "suites"
"""Where the suites that come with the harness lie."""

_PARTS = {"inference": ("forward",), "training": ("forward", "backward"), "optimizer": ("step",)}


@dataclass(frozen=True)
class Entry:
    """One declaration of a suite: what is captured, how, and at which sizes.

    ``target`` and ``mode`` are those of ``harness.graph.capture.capture``; ``real`` and ``small``
    are the target's options at either size; ``origin`` says where the code and the sizes come from,
    ``libraries`` which packages besides torch and the target's provider the code is from. The suite
    lies in ``folder``, with the graph files, which are read when first asked for.
    """

    name: str
    title: str
    origin: str
    target: str
    mode: Literal["inference", "training", "optimizer"]
    dtype: DType
    real: Mapping[str, Any]
    small: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    folder: Path = FOLDER

    @property
    def graph_names(self) -> tuple[str, ...]:
        """Names of the entry's graphs: ``<entry>_forward``, ``_backward`` or ``_step``."""
        return tuple(f"{self.name}_{part}" for part in _PARTS[self.mode])

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs at real sizes."""
        from harness.graph.text import load

        return tuple(load(self.path(name)) for name in self.graph_names)

    def path(self, graph_name: str, small: bool = False) -> Path:
        """The file of one graph."""
        folder = self.folder / "graphs"
        return (folder / "small" if small else folder) / f"{graph_name}.py"


@dataclass(frozen=True)
class Suite:
    """A named list of entries."""

    name: str
    entries: tuple[Entry, ...]

    def entry(self, name: str, more: Iterable[str] = ()) -> Entry:
        """The entry called ``name``, or that has a graph called so. ``UnknownName`` carries the
        nearest names, of ``more`` where none of the suite's is near."""
        known = {called: one for one in self.entries for called in (one.name, *one.graph_names)}
        if name in known:
            return known[name]
        what, remedy = f"suite {self.name} has no graph {name}", "harness list, or name its file"
        names = [*known, *(() if nearest(name, known) else more)]
        raise unknown(what, name, names, remedy=remedy, most=len(known))


def load_suite(name: str = "default", folder: Path = FOLDER) -> Suite:
    """The suite ``name``: ``<folder>/<name>.py``. Graph files are read lazily."""
    path = folder / f"{name}.py"
    plain, colon, query = name.partition(":")
    if colon and (folder / f"{plain}.py").is_file():
        raise UsageError(
            "only the patterns of a corpus can be asked for like this",
            where=f"suite {plain}",
            got=query,
            expected="--suite corpus",
            remedy="name graphs, or patterns of their names: harness run 'llama*'",
        )
    if not path.is_file():
        files = sorted(folder.glob("*.py"))
        stems = [file.stem for file in files if "ENTRIES" in file.read_text(encoding="utf-8")]
        stems += [corpus.parent.name for corpus in folder.glob("*/captures.parquet")]
        remedy = "a suite is a file SUITE.py in that folder; HARNESS_SUITES names another"
        raise unknown(f"no suite {name}", name, stems, str(folder), remedy, most=None)
    declared = runpy.run_path(str(path)).get("ENTRIES")
    if not isinstance(declared, tuple | list) or not all(isinstance(e, Entry) for e in declared):
        raise UsageError(
            "a file declares no suite", where=str(path), expected="ENTRIES = (Entry(...), ...)"
        )
    entries = tuple(replace(entry, folder=folder) for entry in declared)
    names = [e.name for e in entries]
    for position, entry_name in enumerate(names):
        if entry_name in names[:position]:
            raise UsageError(f"suite {name} declares {entry_name} twice", where=str(path))
    return Suite(name, entries)


def capture_entry(
    entry: Entry, follow: Callable[[str], None] = lambda _: None
) -> tuple[list[Graph], list[Graph]]:
    """Capture an entry at its real and at its small sizes, with the same structure. The small
    capture keeps for its backward graph what the real one keeps. Raises ``CaptureFailed`` if
    operators or names differ between the two."""
    from harness.graph.capture.capture import CaptureOptions, capture

    options = CaptureOptions(
        entry.mode, entry.dtype, entry.name, entry.real, None, entry.libraries, follow
    )
    real = capture(entry.target, options)
    saved = None
    if entry.mode == "training":
        saved = tuple(i.name for i in real[1].inputs if i.role != "gradient")
    options = replace(options, follow=lambda what: follow(f"{what}, small sizes"))
    small = capture(entry.target, replace(options, options=entry.small, saved=saved))
    for one, other in zip(real, small, strict=True):
        _require_same_structure(one, other)
    facts = (("title", entry.title), ("origin", entry.origin))
    return (
        [replace(g, facts=facts + g.facts) for g in real],
        [replace(g, facts=(*facts, ("sizes", "small"), *g.facts)) for g in small],
    )


def _require_same_structure(real: Graph, small: Graph) -> None:
    one = [(n.name, n.op, tuple(n.refs())) for n in real.nodes]
    other = [(n.name, n.op, tuple(n.refs())) for n in small.nodes]
    if one == other and [i.name for i in real.inputs] == [i.name for i in small.inputs]:
        return
    first = next((a, b) for a, b in zip([*one, None], [*other, None], strict=False) if a != b)
    raise CaptureFailed(
        "the small capture differs in structure from the real one",
        where=real.name,
        got=str(first[1]),
        expected=str(first[0]),
        remedy="choose small sizes that leave every dimension above one",
    )
