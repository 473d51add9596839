"""A table of winners given ahead of time: which configuration a kernel's source is to have.

The table is a JSON file that people may keep under version control: one entry a kernel,
found by its source with the name and white space taken out, on whatever device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RecordError
from harness.files import write_atomically
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.tune.winners import source_hash

FORMAT = 1


@dataclass(frozen=True, slots=True)
class LookupTable:
    """Configurations by source hash; ``where`` is the file, for messages."""

    entries: Mapping[str, Mapping[str, int]]
    where: str = ""

    @classmethod
    def load(cls, path: Path) -> LookupTable:
        """Read a table. Raises ``RecordError`` for a file that is none."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                raise ValueError(f"format {document['format']}")
            entries = {
                str(key): {str(n): int(v) for n, v in config.items()}
                for key, config in document["kernels"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordError(
                "a lookup table of configurations cannot be read",
                where=str(path),
                got=f"{type(error).__name__}: {error}",
                expected=f'JSON: {{"format": {FORMAT}, "kernels": {{source hash: configuration}}}}',
                remedy="write it with `harness tune GRAPH --save-table FILE`",
            ) from error
        return cls(entries, str(path))

    def get(self, loaded: modules.LoadedModule) -> Config | None:
        """The configuration for ``loaded``; None if the table has none. Raises ``RecordError`` for
        one with other fields than the kernel's."""
        values = self.entries.get(source_hash(loaded.text, loaded.name))
        if values is None:
            return None
        names = list(modules.config_dict(loaded.configs[0]))
        if sorted(values) != sorted(names):
            raise RecordError(
                "a lookup table's configuration does not fit its kernel",
                where=f"{self.where}: {loaded.name}",
                got=", ".join(values),
                expected=", ".join(names),
                remedy="take the entry out, or tune the kernel again",
            )
        return modules.config_from_dict({n: values[n] for n in names})

    def save(self, path: Path) -> None:
        """Write the table, entries in the order of their hashes. Raises ``RecordError``."""
        kernels = {key: dict(self.entries[key]) for key in sorted(self.entries)}
        text = json.dumps({"format": FORMAT, "kernels": kernels}, indent=1)
        write_atomically(path, text.encode() + b"\n", own=False)
