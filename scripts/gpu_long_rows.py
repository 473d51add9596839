"""Reductions over long rows, every configuration against a copy (docs/measurements/long-rows.md).

    python scripts/gpu_long_rows.py --out long-rows.json [--columns 65536 ...] [--seconds 170]

Tensors have 2**28 elements of bfloat16. Every kernel runs in its own candidates and in a table of
others; results are compared with those of the first. Kernels are compiled ahead in parallel. Times
are medians of five launches between events; inputs of 512 MiB leave nothing of the last launch in
the L2 cache.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "scripts"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from harness.dtypes import DType  # noqa: E402
from harness.errors import HarnessError  # noqa: E402
from harness.graph.capture.capture import CaptureOptions, capture  # noqa: E402
from harness.heuristics.cooperative import PROGRAMS, RSPLIT  # noqa: E402
from harness.heuristics.facts import Config  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.runtime import module as modules  # noqa: E402
from harness.runtime.compile.static import CompileJob, CompilePool  # noqa: E402
from harness.runtime.launch.launcher import Launcher  # noqa: E402
from harness.target import H200  # noqa: E402

ELEMENTS = 1 << 28
COLUMNS = (16384, 32768, 65536, 131072, 262144)
ALONE = ((16384, 32), (16384, 16), (8192, 32), (8192, 16), (8192, 8), (4096, 32), (4096, 16))
SHARED = ((16384, 32, 1), (8192, 32, 1), (8192, 16, 2), (16384, 8, 4), (8192, 8, 4), (8192, 4, 8))
"""Block and warps, and programs a multiprocessor."""

Example = tuple[Any, tuple[torch.Tensor, ...]]


def _rows(rows: int, columns: int) -> torch.Tensor:
    return torch.randn(rows, columns).requires_grad_()


def softmax(m: int, n: int) -> Example:
    """Softmax."""
    return (lambda x: torch.softmax(x, -1)), (_rows(m, n),)


def rms_norm(m: int, n: int) -> Example:
    """RMS norm."""
    return nn.RMSNorm(n), (_rows(m, n),)


def layer_norm(m: int, n: int) -> Example:
    """Layer norm."""
    return nn.LayerNorm(n), (_rows(m, n),)


def cross_entropy(m: int, n: int) -> Example:
    """Cross entropy by row."""
    target = torch.randint(0, n, (m,))
    loss = functional.cross_entropy
    return (lambda x, t: loss(x.float(), t, reduction="none")), (_rows(m, n), target)


def quantised(m: int, n: int) -> Example:
    """Bytes scaled by row."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scale = x.abs().amax(-1, keepdim=True).float() / 127.0
        return torch.round(x.float() / scale).to(torch.int8), scale

    return function, (torch.randn(m, n),)


PIECES = (softmax, rms_norm, layer_norm, cross_entropy, quantised)


@dataclass(frozen=True)
class Case:
    """A kernel that reduces along rows, and what it is run in."""

    graph: str
    columns: int
    loaded: modules.LoadedModule
    configs: tuple[Config, ...]


def cases(columns: int, cache: Path) -> Iterator[Case]:
    """Every piece's kernels whose rows have ``columns`` elements."""
    for piece in PIECES:
        mode = "inference" if piece is quantised else "training"
        options = CaptureOptions(mode=mode, dtype=DType.BF16)  # type: ignore[arg-type]
        target = f"gpu_long_rows:{piece.__name__}?m={ELEMENTS // columns}&n={columns}"
        for graph in capture(target, options):
            for kernel in compile_graph(graph, H200).kernels:
                facts = kernel.module.facts
                if facts is not None and facts.reduced == columns:
                    loaded = modules.load(kernel.module.text, cache)
                    yield Case(graph.name, columns, loaded, tuple(_configs(loaded, columns)))


def _configs(loaded: modules.LoadedModule, columns: int) -> list[Config]:
    found = list(loaded.configs)
    if loaded.category == "per":
        found += [Config((("XBLOCK", 1), ("R0_BLOCK", columns)), w) for w in (4, 8, 16, 32)]
        return list(dict.fromkeys(found))
    is_shared = any(name == RSPLIT for name, _ in found[0].blocks)
    for block, warps in ALONE:
        extra = ((RSPLIT, 1), (PROGRAMS, 132)) if is_shared else ()
        found.append(Config((("XBLOCK", 1), ("R0_BLOCK", block), *extra), warps))
    for block, warps, programs in SHARED if is_shared else ():
        for split in (4, 8, 16):
            parts = ((RSPLIT, split), (PROGRAMS, 132 * programs))
            sizes = (("XBLOCK", 1), ("R0_BLOCK", block), *parts)
            found.append(Config(sizes, warps, 1, (("maxnreg", 64),) if warps < 32 else ()))
    return list(dict.fromkeys(found))


def median(launch: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of a launch."""
    launch()
    found = []
    for _ in range(times):
        event: Any = torch.cuda.Event
        first, last = event(enable_timing=True), event(enable_timing=True)
        first.record()
        launch()
        last.record()
        torch.cuda.synchronize()
        found.append(first.elapsed_time(last))
    return sorted(found)[times // 2]


def copied() -> float:
    """GB/s of a copy."""
    x = torch.randn(ELEMENTS, device="cuda").to(torch.bfloat16)
    y = torch.empty_like(x)
    return 4 * ELEMENTS / median(lambda: y.copy_(x), 15) / 1e6


def _agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_floating_point():
        return bool(torch.allclose(one, other, rtol=2e-2, atol=1e-3))
    return bool((one != other).float().mean() < 1e-3)


def measured(case: Case, copy: float, cache: Path, until: float) -> Iterator[dict[str, Any]]:
    """A row for each configuration; ``copy`` is a copy's GB/s."""
    args, first = case.loaded.get_args("cuda"), None
    for config in case.configs:
        if time.monotonic() > until:
            return
        launcher = Launcher(case.loaded, config, H200, cache)
        for at in case.loaded.outputs:
            args[at].fill_(float("nan") if args[at].is_floating_point() else 77)
        try:
            launcher(args)
        except HarnessError as error:
            print(case.graph, case.columns, modules.config_text(config), error.args[0])
            continue
        outputs = [args[at].clone() for at in case.loaded.outputs]
        first = outputs if first is None else first
        agree = all(_agree(*pair) for pair in zip(outputs, first, strict=True))
        ms = median(lambda launch=launcher: launch(args))  # type: ignore[misc]
        share = case.loaded.bytes_moved / ms / 1e6 / copy
        what = modules.config_text(config)
        print(f"{case.graph:24s} {case.columns:7d} {share:.2f} {'' if agree else 'WRONG '}{what}")
        yield {
            "graph": case.graph,
            "columns": case.columns,
            "config": modules.config_dict(config),
            "ms": ms,
            "share": share,
            "agree": agree,
            "default": config == case.configs[0],
        }


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--seconds", type=float, default=170.0)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    cache = Path(tempfile.mkdtemp(prefix="long-rows-"))
    every = [case for columns in options.columns for case in cases(columns, cache)]
    jobs = [CompileJob(c.loaded.text, H200, config) for c in every for config in c.configs]
    print(f"{len(every)} kernels, {len(jobs)} configurations")
    if not torch.cuda.is_available():
        return 2
    with CompilePool(len(os.sched_getaffinity(0)), cache) as pool:
        pool.all(jobs)
    copy = copied()
    rows = [row for case in every for row in measured(case, copy, cache, until)]
    head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "copy_gbps": copy}
    options.out.write_text(json.dumps({**head, "rows": rows}, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
