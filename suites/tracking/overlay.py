"""What asv's environment tells the processes that it starts, and what the user asks of asv."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

_OVERLAY = "HARNESS_ASV"
GRAPHS = "HARNESS_ASV_GRAPHS"
"""Names the graphs to measure, where time does not allow for all that are declared."""
QUERY = "HARNESS_ASV_QUERY"
"""Says which patterns of the corpus are declared as well, and measured where no graph is named."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A commit laid over the working tree.

    ``commit`` is what is measured; ``tree`` the folder with its package, ``exported`` the file
    with what its compiler emitted (both empty before a commit is chosen). ``series`` is the
    file that lists the kernels to track, ``target`` the device kind compiled for, ``method``
    the way of measuring, ``series_of`` names machine, versions and method: what has to agree
    for two numbers to be of one series. ``folder`` is the checkout that asv was started in,
    ``search`` what else Python searches for packages before its own folders (``PYTHONPATH``).
    ``metrics`` are those that are asked for (``asv run --bench``); empty: all.
    """

    folder: str
    series: str
    target: str
    method: str
    series_of: str = ""
    search: tuple[str, ...] = ()
    commit: str = ""
    tree: str = ""
    exported: str = ""
    metrics: tuple[str, ...] = ()

    def wants(self, *metrics: str) -> bool:
        """Whether one of ``metrics`` is asked for."""
        return not self.metrics or not set(self.metrics).isdisjoint(metrics)

    def to_environment(self) -> dict[str, str]:
        """The variables that ``overlay`` reads."""
        return {_OVERLAY: json.dumps(asdict(self))}


def overlay(environ: Mapping[str, str] = os.environ) -> Overlay | None:
    """The overlay that asv's environment has set, None outside asv."""
    text = environ.get(_OVERLAY)
    return msgspec.json.decode(text, type=Overlay) if text else None


def asked_graphs() -> tuple[str, ...]:
    """The graphs that the user names; empty: all."""
    return tuple(os.environ.get(GRAPHS, "").replace(",", " ").split()) or asked_patterns()


def asked_patterns() -> tuple[str, ...]:
    """The patterns of the corpus that the user's query means, by name; none without one. Raises
    ``UsageError`` and ``UnknownName`` as ``corpus.selecting.select`` does."""
    query = os.environ.get(QUERY, "")
    if not query:
        return ()
    from harness.corpus import selecting, store

    folder = Path(__file__).parent.parent / "corpus"
    return tuple(sorted(p.name for p in selecting.select(store.load(folder), query)))


def search_path() -> tuple[str, ...]:
    """The folders of ``PYTHONPATH``, absolute."""
    listed = os.environ.get("PYTHONPATH", "")
    return tuple(str(Path(p).resolve()) for p in listed.split(os.pathsep) if p)
