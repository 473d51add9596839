"""Compiled kernels next to emitted modules (``harness emit --binaries``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.caching import cache_folder
from harness.report import output

if TYPE_CHECKING:
    from harness.options import Options
    from harness.target import Target


def write_binaries(
    folder: Path, texts: Mapping[str, str], target: Target, options: Options, quiet: bool
) -> list[dict[str, str]]:
    """Write ``NAME.kernel`` for every module text: its best guess compiled for ``target``, with
    what is needed to launch it. What does not compile is answered with its reason.

    Raises ``RecordError`` when the folder cannot be written.
    """
    from harness.runtime import module
    from harness.runtime.compile import binary as binaries
    from harness.runtime.compile.compiling import CompileJob, CompilePool

    failed = []
    names = list(texts)
    jobs = [CompileJob(texts[name], target) for name in names]
    with (
        cache_folder(options) as place,
        CompilePool(min(options.jobs, max(1, len(jobs))), place) as pool,
        output.progress("compiling", options, quiet=quiet) as bar,
    ):
        for done, (index, error) in enumerate(pool.warm_each(jobs)):
            bar.update(f"compiling {names[index]}", done, len(jobs))
            loaded = module.load(texts[names[index]], place)
            name = binaries.artifact(loaded.text, loaded.configs[0], target)
            found = None if error is not None else binaries.find(place, name)
            if found is None:
                failed.append({"kernel": names[index], "reason": str(error)})
                continue
            binaries.save(folder / f"{names[index]}{binaries.SUFFIX}", found)
    return failed
