"""The corpus on disk: a few compressed Parquet files with checksums, read without torch.

``captures.parquet`` has one row per capture, ``patterns-<k>-of-<n>.parquet`` one per pattern: what
is known of it as JSON, and its graphs as text. Every file says its version, how many rows it has
and the corpus's digest. A file that cannot be used is named, and the others are read; one that
lacks rows is named, and the rest of it is read.
``suites.building`` writes them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from harness.corpus.model import Capture, Pattern
from harness.errors import DamagedCorpus, unknown

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
KEY = b"harness corpus"
CAPTURES = "captures.parquet"
_REMEDY = "make it again: python -m suites.building build; or take the file of the commit"


@dataclass(frozen=True, slots=True)
class Corpus:
    """All patterns, heaviest first and without their texts (those stand in ``tables``), and all
    captures. ``notes`` are the files that could not be used."""

    folder: Path
    digest: str
    patterns: tuple[Pattern, ...]
    captures: tuple[Capture, ...]
    notes: tuple[DamagedCorpus, ...] = ()
    tables: tuple[pa.Table, ...] = ()

    def texts(self, names: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The graphs of patterns as text, and their small counterparts (empty: none). Raises
        ``UnknownName`` for a pattern that the corpus does not hold."""
        wanted = dict.fromkeys(names)
        found: dict[str, tuple[str, str]] = {}
        for table in self.tables:
            for row, name in enumerate(table.column("name").to_pylist()):
                if name in wanted:
                    text, small = (table.column(key)[row].as_py() for key in ("text", "small"))
                    found[name] = text, small
        for name in wanted.keys() - found:
            what, known = "the corpus holds no such pattern", (p.name for p in self.patterns)
            remedy = "all: harness list --suite corpus --csv"
            raise unknown(what, name, known, str(self.folder), remedy)
        return {name: found[name] for name in wanted}


def is_corpus(folder: Path) -> bool:
    """Whether a folder holds a corpus."""
    return (folder / CAPTURES).is_file() or any(folder.glob("patterns-*.parquet"))


def load(folder: Path) -> Corpus:
    """The corpus in ``folder``, read once as long as its files stay as they are. Raises
    ``DamagedCorpus`` if none of them can be used."""
    known = ((path.name, path.stat()) for path in sorted(folder.glob("*.parquet")))
    return _loaded(folder, tuple((name, s.st_size, s.st_mtime_ns, s.st_ino) for name, s in known))


@functools.lru_cache(maxsize=1)
def _loaded(folder: Path, _: tuple[tuple[str, int, int, int], ...]) -> Corpus:
    notes: list[DamagedCorpus] = []
    captures: list[Capture] = []
    patterns: list[Pattern] = []
    tables: list[pa.Table] = []
    seen: dict[str, list[str]] = {}
    for path in (folder / CAPTURES, *_expected(folder)):
        try:
            table = _read(path)
            digest, rows = (_facts(table)[key] for key in ("digest", "rows"))
            about = table.column("about").to_pylist()
            if path.name == CAPTURES:
                captures += [msgspec.json.decode(row, type=Capture) for row in about]
            else:
                tables.append(table.select(["name", "text", "small"]))
                patterns += [msgspec.json.decode(row, type=Pattern) for row in about]
            seen.setdefault(digest, []).append(path.name)
            if table.num_rows != rows:
                what = "a file of the corpus lacks rows, the rest of it is used"
                found = str(path), f"{table.num_rows} rows", f"{rows} rows", _REMEDY
                notes.append(DamagedCorpus(what, *found))
        except DamagedCorpus as error:
            notes.append(error)
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            notes.append(_damaged(path, str(error)))
    if not patterns:
        raise notes[0] if notes else _damaged(folder, "no patterns")
    patterns.sort(key=lambda p: (-p.weight, p.name))
    main = max(seen, key=lambda key: len(seen[key]))
    for key in seen.keys() - {main}:
        what = "files of another build of the corpus are used with the others"
        notes.append(DamagedCorpus(what, str(folder / ", ".join(seen[key])), key, main, _REMEDY))
    return Corpus(folder, main, tuple(patterns), tuple(captures), tuple(notes), tuple(tables))


def _read(path: Path) -> pa.Table:
    """A file, its checksums and its version compared. Raises ``DamagedCorpus``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        version = _facts(table)["version"]
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise _damaged(path, said if path.is_file() else "there is no such file") from error
    if version != VERSION:
        raise _damaged(path, f"version {version}", f"version {VERSION}")
    return table


def _facts(table: pa.Table) -> dict[str, Any]:
    return json.loads(table.schema.metadata[KEY])


def _expected(folder: Path) -> list[Path]:
    """The files of patterns that there should be: those of one division into parts."""
    found = sorted(folder.glob("patterns-*.parquet"))
    parts = {path.stem.rpartition("-")[2] for path in found}
    whole = max((int(n) for n in parts if n.isdigit()), default=0)
    return [folder / f"patterns-{k + 1}-of-{whole}.parquet" for k in range(whole)] or found


def _damaged(path: Path, got: str, expected: str = "a whole file of this version") -> DamagedCorpus:
    return DamagedCorpus("a file of the corpus cannot be used", str(path), got, expected, _REMEDY)
