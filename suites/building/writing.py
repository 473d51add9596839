"""The corpus to disk, as ``harness.corpus.store`` reads it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from harness.corpus.model import Capture, Pattern, digest
from harness.corpus.store import CAPTURES, KEY, VERSION
from harness.files import write_atomically

_PARTS = 4


def save(folder: Path, captures: Sequence[Capture], patterns: Sequence[Pattern]) -> str:
    """Write the corpus into ``folder``, in place of what is there; its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = sorted(f"{p.name}\n{p.text}\n{p.small}" for p in patterns)
    key = digest("\n".join(texts))
    parts: list[list[Pattern]] = [[] for _ in range(_PARTS)]
    written: set[Path] = set()
    for pattern in sorted(patterns, key=lambda p: p.name):
        parts[zlib.crc32(pattern.name.encode()) % _PARTS].append(pattern)
    rows: list[dict[str, Any]] = [{"about": msgspec.json.encode(c)} for c in captures]
    _write(folder / CAPTURES, rows, key)
    for number, part in enumerate(parts):
        rows = [
            {
                "name": p.name,
                "about": msgspec.json.encode(replace(p, text="", small="")),
                "text": p.text,
                "small": p.small,
            }
            for p in part
        ]
        path = folder / f"patterns-{number + 1}-of-{_PARTS}.parquet"
        _write(path, rows, key)
        written.add(path)
    for old in set(folder.glob("patterns-*.parquet")) - written:
        old.unlink()
    return key


def _write(path: Path, rows: Sequence[dict[str, Any]], key: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    facts = {"version": VERSION, "digest": key, "rows": len(rows)}
    table = pa.Table.from_pylist(list(rows)).replace_schema_metadata({KEY: json.dumps(facts)})
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=12,
        use_dictionary=False,
        write_page_checksum=True,
        data_page_size=1 << 22,
    )
    write_atomically(path, sink.getvalue().to_pybytes(), mode=0o644)
