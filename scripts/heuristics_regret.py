"""How far the heuristics' first choice is from the best, on recorded tunings.

    python scripts/heuristics_regret.py FILE… [--worst N] [--accidents]

A FILE is a run file (``results/…/*.parquet``; of older ones the ``.regions.json.gz`` beside it),
or what ``scripts/gpu_tuning.py`` wrote (``tunings.jsonl.gz``: every kernel with what the heuristics
know of it, and all trials). Prints, per kind of kernel, the geometric mean of regret: the time
of a choice over that of the fastest configuration timed on the same kernel. *first then* is what
the heuristics preferred when the file was made, *first now* what they prefer today (which may
not have been timed), *best listed* the fastest of today's candidates that was.

A trial that took more than three times the median of its kernel's nearest configurations
is left out: such a time is an accident of the machine, not of the configuration.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.graph.text import load  # noqa: E402
from harness.heuristics.facts import Config, Facts, Family, Hint  # noqa: E402
from harness.heuristics.learned import kind_of  # noqa: E402
from harness.heuristics.registry import candidates  # noqa: E402
from harness.history import store  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.runtime.module import config_dict, config_from_dict  # noqa: E402
from harness.target import H100, Target  # noqa: E402

ACCIDENT = 3.0
"""Times the median of a configuration's neighbours beyond which its own time is left out."""


@dataclass(frozen=True)
class Tuning:
    """One kernel and how long its configurations took (milliseconds); ``first`` is what the
    heuristics of the time preferred."""

    graph: str
    name: str
    facts: Facts
    times: Mapping[Config, float]
    first: Config | None

    @property
    def model(self) -> str:
        """The model that the kernel comes from: its forward and backward graphs are one."""
        return re.sub(r"_(forward|backward|step)$", "", self.graph)

    @property
    def best(self) -> float:
        """The fastest time."""
        return min(self.times.values())

    def regret(self, config: Config | None) -> float | None:
        """Time of ``config`` over the fastest; None if it was not timed."""
        found = None if config is None else self.times.get(config)
        return None if found is None else found / self.best


def read(path: Path, target: Target) -> list[Tuning]:
    """The tunings in a file; kernels with fewer than two timed configurations are left out."""
    if path.suffix == store.SUFFIX:
        rows = _from_run(path, target)
    elif path.name.endswith(".regions.json.gz"):
        rows = _from_regions(path, target)
    else:
        rows = _from_trials(path)
    return [t for t in rows if len(t.times) > 1]


def _from_trials(path: Path) -> Iterator[Tuning]:
    """Kernels of a file of trials; several searches of one kernel are put together."""
    found: dict[tuple[str, str], tuple[Facts, dict[Config, list[float]], list[Config]]] = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            row = json.loads(line)
            key = (row["graph"], row["name"])
            facts, times, order = found.setdefault(key, (_facts(row["facts"]), {}, []))
            for trial in row["trials"]:
                config = config_from_dict(trial["config"])
                if trial["origin"] == "heuristics":
                    order.append(config)
                if trial["ms"]:
                    times.setdefault(config, []).append(trial["ms"])
    for (graph, name), (facts, times, order) in found.items():
        medians = {config: statistics.median(ms) for config, ms in times.items()}
        yield Tuning(graph, name, facts, medians, order[0] if order else None)


def _facts(row: Mapping[str, Any]) -> Facts:
    return Facts(
        family=Family(row["family"]),
        sizes=tuple(row["sizes"].items()),
        hint=Hint(row["hint"].removesuffix("_tiny")),
        loads=row["loads"],
        stores=row["stores"],
        reductions=row["reductions"],
        bytes=row["bytes"],
        loops=row.get("loops", 0),
        min_elements_per_thread=row["min_elements_per_thread"],
        fixed_blocks=tuple(row["pinned"].items()),
    )


def _from_run(path: Path, target: Target) -> Iterator[Tuning]:
    """Kernels of a run file. It does not say what the heuristics knew of them: today's compiler
    does, of those that it still writes the same way."""
    run = store.load(path)
    for graph in run.graphs:
        known = _known(graph.name, target)
        for kernel in graph.kernels:
            facts = known.get(kernel.code_hash)
            if facts is not None and kernel.trials:
                rows = [(config_from_dict(t.config), t.ms) for t in kernel.trials]
                times = {config: ms for config, ms in rows if ms}
                yield Tuning(graph.name, kernel.name, facts, times, rows[0][0])


def _from_regions(path: Path, target: Target) -> Iterator[Tuning]:
    """Kernels of ``<run>.regions.json.gz``, which kept trials before run files did; their text is
    in the run file beside it."""
    run = store.load(path.with_name(path.name.removesuffix(".regions.json.gz") + store.SUFFIX))
    kernels = json.loads(gzip.decompress(path.read_bytes()))["kernels"]
    trials = {(k["name"], k["ms"]): k["trials"] for k in kernels}
    for graph in run.graphs:
        known = _known(graph.name, target)
        for kernel in graph.kernels:
            facts, found = known.get(kernel.code_hash), trials.get((kernel.name, kernel.ms))
            if facts is not None and found:
                rows = [(config_from_dict(t["config"]), t["ms"]) for t in found]
                times = {config: ms for config, ms in rows if ms}
                yield Tuning(graph.name, kernel.name, facts, times, rows[0][0])


def _known(graph: str, target: Target) -> dict[str, Facts]:
    """Facts by kernel code of a graph of the suite; nothing of one that is not there any more."""
    file = ROOT / "suites" / "graphs" / f"{graph}.py"
    if not file.is_file():
        return {}
    made = [kernel.module for kernel in compile_graph(load(file), target).kernels]
    modules = [(module, module.facts) for module in made if module.facts is not None]
    return {m.code_hash: facts for m, facts in modules}


def without_accidents(tuning: Tuning) -> tuple[Tuning, list[str]]:
    """``tuning`` without times far beyond those of similar configurations, and a line for each."""
    kept: dict[Config, float] = {}
    lines: list[str] = []
    for config, ms in tuning.times.items():
        near = sorted(tuning.times, key=lambda c: _distance(c, config))[1:6]
        usual = statistics.median([tuning.times[c] for c in near]) if near else ms
        if ms > ACCIDENT * usual:
            values = " ".join(f"{k}={v}" for k, v in config_dict(config).items())
            lines.append(
                f"{tuning.graph} {tuning.name} {values}: {ms * 1e3:.1f} µs, "
                f"neighbours {usual * 1e3:.1f} µs"
            )
        else:
            kept[config] = ms
    return Tuning(tuning.graph, tuning.name, tuning.facts, kept, tuning.first), lines


def _distance(a: Config, b: Config) -> tuple[float, int]:
    """Steps by a factor of two between two configurations."""
    values = [(*dict(c.blocks).values(), c.num_warps) for c in (a, b)]
    steps = [abs(math.log2(x / y)) for x, y in zip(*values, strict=True)]
    return sum(steps), len(steps)


Choice = Callable[[Tuning], Config | None]


def geometric(values: Sequence[float]) -> float:
    """Geometric mean; NaN of nothing."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


@dataclass
class Row:
    """Regrets of one kind of kernel: of the first choice then and now, and of the best of all
    candidates now."""

    kernels: int = 0
    then: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    unknown: int = 0


def table(tunings: Sequence[Tuning], target: Target) -> str:
    """Regret by kind of kernel."""
    rows: dict[str, Row] = defaultdict(Row)
    for tuning in tunings:
        for name in (kind_of(tuning.facts), "all"):
            _add(rows[name], tuning, target)
    head = (
        "kind                  kernels   first then   first now (worst)   best listed   not timed"
    )
    lines = [head]
    for name in sorted(rows, key=lambda n: (n == "all", n)):
        row = rows[name]
        lines.append(
            f"{name:22}{row.kernels:7}{geometric(row.then):13.3f}{geometric(row.now):12.3f}"
            f"{f'({max(row.now, default=math.nan):.2f})':>8}{geometric(row.listed):14.3f}"
            f"{row.unknown:12}"
        )
    return "\n".join(lines)


def _add(row: Row, tuning: Tuning, target: Target) -> None:
    row.kernels += 1
    configs = candidates(tuning.facts, target)
    then, now = tuning.regret(tuning.first), tuning.regret(configs[0])
    if then is not None:
        row.then.append(then)
    if now is None:
        row.unknown += 1
    else:
        row.now.append(now)
    listed = [r for r in map(tuning.regret, configs) if r is not None]
    if listed:
        row.listed.append(min(listed))


def worst(tunings: Sequence[Tuning], target: Target, count: int) -> list[str]:
    """The kernels with the largest regret of today's first choice."""
    found: list[tuple[float, Tuning, Config]] = []
    for tuning in tunings:
        first = candidates(tuning.facts, target)[0]
        regret = tuning.regret(first)
        if regret is not None:
            found.append((regret, tuning, first))
    found.sort(key=lambda item: (-item[0], item[1].graph, item[1].name))
    return [_line(*item) for item in found[:count]]


def _line(regret: float, tuning: Tuning, first: Config) -> str:
    best = min(tuning.times, key=lambda c: tuning.times[c])
    facts = tuning.facts
    sizes = " x ".join(f"{p.rstrip('_')}={n}" for p, n in facts.sizes)
    return (
        f"{regret:5.2f}  {tuning.graph} {tuning.name[:48]}\n       {kind_of(facts)} {sizes}, "
        f"{facts.loads} loads, {facts.stores} stores, {facts.bytes / 1e6:.2f} MB: "
        f"{_short(first)} {tuning.times[first] * 1e3:.1f} µs, "
        f"best {_short(best)} {tuning.best * 1e3:.1f} µs"
    )


def _short(config: Config) -> str:
    blocks = "x".join(str(size) for _, size in config.blocks)
    return f"{blocks}/{config.num_warps}w"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Regret of the heuristics on recorded tunings.")
    parser.add_argument("files", nargs="+", type=Path, help="run files, tunings.jsonl.gz")
    parser.add_argument("--worst", type=int, default=10, help="kernels to list")
    parser.add_argument("--accidents", action="store_true", help="list the trials left out")
    given = parser.parse_args()
    cleaned = [without_accidents(t) for file in given.files for t in read(file, H100)]
    tunings = [tuning for tuning, _ in cleaned]
    accidents = [line for _, lines in cleaned for line in lines]
    print(table(tunings, H100))
    print(f"\n{len(accidents)} trials left out as accidents")
    if given.accidents:
        print("\n".join(accidents))
    print("\nfurthest from the best:")
    print("\n".join(worst(tunings, H100, given.worst)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
