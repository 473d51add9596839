"""The cache folder as commands use it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report import output

if TYPE_CHECKING:
    from harness.options import Options


@contextlib.contextmanager
def cache_folder(options: Options) -> Iterator[Path]:
    """The cache folder; a temporary one where HARNESS_NO_CACHE asks for none, or where it cannot
    be written, which is said."""
    from harness.runtime.compile.cache import usable

    with usable(options.kept_cache) as (folder, note):
        if note:
            output.note(note)
        yield folder
