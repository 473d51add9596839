"""A made-up history of real kernels: a recorded run, night after night, with planted changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from harness.history import store
from harness.records.run import (
    Check,
    GraphRecord,
    KernelRecord,
    LibraryCall,
    RegionRecord,
    Run,
    StateSummary,
)
from harness.records.timing import Samples
from tests.history.histories import git

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "results/nvidia-h200-580.159.04/20261122-043256-fe055bcec26f.parquet"
SLOWER = ("llama_block_forward", 5, 0.25)
"""Graph, number of the kernel in it and relative size of the planted regression."""
FASTER = ("llama_block_forward", 1, -0.08)
SUBJECTS = (
    "Heuristics: wider blocks for pointwise kernels",
    "Scheduler: a reduction keeps its own loop",
    "Split reductions write partial sums in f32",
    "Emit: one name a value",
    "Tuner: races end when one configuration is ahead",
)


def repository(folder: Path, commits: int) -> list[str]:
    """A repository with commits that have subjects; their names, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        subject = SUBJECTS[number % len(SUBJECTS)]
        author = f"--author={('Ada L.', 'Grace H.', 'Kurt G.')[number % 3]} <a@b.c>"
        git(folder, "commit", "-q", "--allow-empty", author, "-m", subject)
    return git(folder, "log", "--reverse", "--format=%H").splitlines()


def plant(
    results: Path,
    commits: Sequence[str],
    *,
    graphs: Sequence[str] = (),
    at: int = -2,
    seed: int = 0,
    slower: bool = True,
) -> list[Run]:
    """A run at each commit, a day apart: the recorded kernels with the noise of a machine; from
    the commit ``at`` on (the last two by default) one is slower and one faster, and the last night
    adds a library call and a spill."""
    base = store.load(RECORDED)
    wanted = [g for g in base.graphs if not graphs or g.name in graphs]
    rng = np.random.default_rng(seed)
    made = []
    start = datetime(2026, 10, 1, 3, 0, tzinfo=UTC)
    for number, commit in enumerate(commits):
        when = start + timedelta(days=number)
        moved = 1 + 0.002 * rng.normal()
        late = number >= (at if at >= 0 else len(commits) + at)
        last = number == len(commits) - 1
        run = replace(
            base,
            complete=True,
            id=f"{when:%Y%m%d-%H%M%S}-{commit[:12]}",
            created=when.isoformat(),
            commit=commit,
            dirty=False,
            graphs=tuple(_graph(g, rng, moved, late and slower, last) for g in wanted),
            state=StateSummary(900, 1965.0, 1980.0, 1980.0, 3201.0, 54.0, 402.0, {}),
        )
        store.save(results, run)
        made.append(run)
    return made


def _graph(
    graph: GraphRecord, rng: np.random.Generator, moved: float, late: bool, last: bool
) -> GraphRecord:
    kernels = [_timed(kernel, moved * (1 + 0.003 * rng.normal()), rng) for kernel in graph.kernels]
    for name, number, size in (SLOWER, FASTER) if late else ():
        if graph.name == name:
            kernels[number] = _changed(kernels[number], size)
    if last:
        kernels[-1] = replace(kernels[-1], metrics={**kernels[-1].metrics, "spills": 16})
    calls = (LibraryCall("aten.cumsum.default", 2, "a scan over a dimension that is not the last"),)
    return replace(
        graph,
        kernels=tuple(kernels),
        library_calls=(*graph.library_calls, *(calls if last else ())),
        regions=_regions(graph.name, kernels),
    )


def _timed(kernel: KernelRecord, factor: float, rng: np.random.Generator) -> KernelRecord:
    ms = (kernel.ms or 0.01) * factor
    sets = tuple(
        Samples(
            tuple((ms * (1 + 0.002 * rng.normal(size=9))).tolist()),
            process=n,
            low=ms * 0.998,
            high=ms * 1.002,
            clock_mhz=1980.0,
            launches=32,
        )
        for n in range(3)
    )
    trials = tuple(replace(t, samples_ms=t.samples_ms[:3]) for t in kernel.trials)
    more = {"low": ms * 0.997, "high": ms * 1.003, "gbps": kernel.bytes / ms / 1e6}
    return replace(kernel, ms=ms, sets=sets, trials=trials, **more)


def _changed(kernel: KernelRecord, size: float) -> KernelRecord:
    """Another text and configuration, and the time that this takes."""
    text = kernel.module.replace("tmp0", "value0").replace("None).to", "xindex < xnumel).to")
    text = text.replace('CODE_HASH = "', 'CODE_HASH = "0')
    config = {**(kernel.config or {}), "num_warps": 16}
    sets = tuple(replace(s, ms=tuple(ms * (1 + size) for ms in s.ms)) for s in kernel.sets)
    metrics = {**kernel.metrics, "registers": kernel.metrics["registers"] + 16}
    more = {"metrics": metrics, "config": config, "sets": sets}
    times = {name: (getattr(kernel, name) or 0) * (1 + size) for name in ("ms", "low", "high")}
    rates = {name: (getattr(kernel, name) or 0) / (1 + size) for name in ("gbps", "fraction")}
    return replace(kernel, module=text, **more, **times, **rates)


def _regions(graph: str, kernels: Sequence[KernelRecord]) -> tuple[RegionRecord, ...]:
    """Our kernels as regions, and another compiler's."""
    found = []
    for number, kernel in enumerate(kernels[:3]):
        for compiler, factor in (("harness", 1.0), ("inductor", 1.05 + 0.1 * number)):
            sets = tuple(replace(s, ms=tuple(m * factor for m in s.ms)) for s in kernel.sets)
            ms = (kernel.ms or 0) * factor
            row = RegionRecord(kernel.region, compiler, ms, ms * 0.99, ms * 1.01, 1, sets)
            found.append(replace(row, check=Check.PASSED))
    return tuple({(row.region, row.compiler): row for row in found}.values())
