"""Emitted modules in a few lines, for tests of the tuner that never launch a kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.runtime import module as modules
from tests.runtime import emitted


def with_configs(
    folder: Path,
    configs: Sequence[Mapping[str, int]],
    *,
    category: str = "poi",
    points: Mapping[str, int] | None = None,
    extra: str = "",
) -> modules.LoadedModule:
    """A pointwise module with other candidates."""
    text = re.sub(
        r"CONFIGS = \[.*?\n\]", f"CONFIGS = {list(configs)!r}", emitted.POINTWISE, flags=re.DOTALL
    )
    text = text.replace('CATEGORY = "poi"', f'CATEGORY = "{category}"')
    lines = [f"POINTS = {dict(points or {'x': 1 << 20})!r}", extra]
    return modules.load(text + "\n" + "\n".join(lines) + "\n", folder)
