"""A compiled region as a provider: its kernels in order, through compiled launchers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledRegion
from harness.errors import HarnessError
from harness.executor import LaunchKernel, prepare_region
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.launch.launcher import LauncherCache

Region = Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor | None]]


def compiled_launch(
    launchers: LauncherCache, configs: Mapping[str, Config], cache: Path | None
) -> LaunchKernel:
    """Launch compiled kernels. ``configs`` are tuned configurations by module text; a kernel
    that has none gets its best guess. Module files go to ``cache``."""
    loaded: dict[str, Callable[[Sequence[Any]], None]] = {}

    def launch(module: EmittedModule, args: list[Any]) -> None:
        run = loaded.get(module.text)
        if run is None:
            made = modules.load(module.text, cache)
            run = loaded[module.text] = launchers.get(made, configs.get(module.text))
        run(args)

    return launch


def region_provider(region: CompiledRegion, launch: LaunchKernel, device: torch.device) -> Region:
    """``region`` as a function of its inputs. Raises ``HarnessError`` for one that has no
    kernels: running torch in their place would be another provider's time."""
    if not region.complete or region.program is None:
        raise HarnessError(
            "a region has no kernels to run",
            where=region.region.name,
            got="; ".join(str(f.error) for f in region.failures)[:500],
            expected="every kernel of the region generated",
            remedy="see the compile report",
        )
    run = prepare_region(region, lambda module: functools.partial(launch, module), device)
    return lambda tensors: run(list(tensors))
