"""Learn which configurations are fast from recorded tunings, and say how well that carries over.

    python scripts/learn_heuristics.py FILE… [--extra FILE…] [--write]

FILEs hold the tunings of a suite, ``--extra`` files those of other kernels (both as for
``heuristics_regret.py``). For every kind of kernel a small decision tree over the kernel's traits
is grown (``harness/heuristics/learned.py``), with a list of configuration templates at every leaf:
the first has the least mean regret there, each further one helps most beside those before.
Regret is capped, so that one accident of the machine teaches little.

Prints the regret of the first choice on the suite's kernels, geometric mean and worst: of the
rules alone; of trees that have seen the kernels (*seen*); of trees that have seen neither the
kernel's model nor, with ``--extra``, anything but the other models and the extra kernels
(*held out*); of trees that have seen the extra kernels alone (*extra alone*). ``--write`` keeps
trees grown from everything in ``harness/heuristics/learned.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from config_templates import TEMPLATES
from heuristics_regret import Tuning, geometric, read, without_accidents
from numpy.typing import NDArray

from harness.heuristics.learned import (
    TREES,
    ConfigTemplate,
    Split,
    Tree,
    chosen,
    config_of,
    kind_of,
    traits,
)
from harness.heuristics.registry import by_rules
from harness.target import H100, Target

Floats = NDArray[np.float64]
CAP = math.log(1.5)
UNKNOWN = 0.2
"""Regret (logarithm) taken for a template that was not timed on a kernel: some 20 per cent."""
DEPTH = 3
LEAST = 5
"""Kernels at a leaf, at least."""
WORTH = 0.08
"""What a split must save, in regret (logarithms) summed over its kernels."""
LISTED = 4


@dataclass(frozen=True)
class Kind:
    """Kernels of one kind: regret (logarithm, capped) of each template, and their traits."""

    name: str
    tunings: tuple[Tuning, ...]
    templates: tuple[ConfigTemplate, ...]
    costs: Floats
    traits: tuple[dict[str, float], ...]

    @classmethod
    def of(cls, name: str, tunings: Sequence[Tuning], target: Target) -> Kind:
        """The kind as numbers."""
        templates = TEMPLATES[name]
        costs = np.full((len(tunings), len(templates)), UNKNOWN)
        for row, tuning in enumerate(tunings):
            for column, template in enumerate(templates):
                regret = tuning.regret(config_of(template, tuning.facts, target))
                if regret is not None:
                    costs[row, column] = min(CAP, math.log(regret))
        sorts = tuple(traits(t.facts, target) for t in tunings)
        return cls(name, tuple(tunings), templates, costs, sorts)

    def grow(self, rows: Sequence[int], depth: int = DEPTH) -> tuple[Tree, float]:
        """A tree for the kernels ``rows``, and the regret of its first choices, summed."""
        costs = self.costs[list(rows)]
        leaf: tuple[Tree, float] = self._listed(costs), float(costs.sum(0).min())
        cuts = [c for c in self._cuts(rows) if min(len(c[2]), len(c[3])) >= LEAST]
        if depth == 0 or not cuts:
            return leaf
        trait, limit, low, high = min(cuts, key=lambda c: self._best(c[2]) + self._best(c[3]))
        left, below = self.grow(low, depth - 1)
        right, above = self.grow(high, depth - 1)
        if below + above + WORTH < leaf[1]:
            return Split(trait, limit, left, right), below + above + WORTH
        return leaf

    def _best(self, rows: Sequence[int]) -> float:
        return float(self.costs[list(rows)].sum(0).min())

    def _cuts(self, rows: Sequence[int]) -> list[tuple[str, float, list[int], list[int]]]:
        found = []
        for trait in self.traits[0]:
            values = sorted({self.traits[r][trait] for r in rows})
            for a, b in zip(values, values[1:], strict=False):
                limit = float(f"{(a + b) / 2:.4g}")
                low = [r for r in rows if self.traits[r][trait] <= limit]
                high = [r for r in rows if self.traits[r][trait] > limit]
                found.append((trait, limit, low, high))
        return found

    def _listed(self, costs: Floats) -> tuple[ConfigTemplate, ...]:
        left = np.full(len(costs), np.inf)
        found: list[int] = []
        for _ in range(LISTED):
            # What a further template adds, and, little, how good it is by itself.
            totals = np.minimum(left[:, None], costs).sum(0) + 0.05 * costs.sum(0)
            totals[found] = np.inf
            found.append(int(totals.argmin()))
            left = np.minimum(left, costs[:, found[-1]])
        return tuple(self.templates[at] for at in found)

    def regret(self, tree: Tree, row: int, target: Target) -> float:
        """Regret (a factor) of the tree's first choice on one kernel."""
        first = chosen(tree, self.tunings[row].facts, target)[0]
        return math.exp(self.costs[row, self.templates.index(first)])


@dataclass(frozen=True)
class Result:
    """One kind: a tree grown from everything, and regrets on the suite's kernels by column."""

    kind: str
    tree: Tree
    columns: dict[str, list[float]]


def learn(name: str, suite: Sequence[Tuning], extra: Sequence[Tuning], target: Target) -> Result:
    """Grow and judge one kind."""
    kind = Kind.of(name, [*suite, *extra], target)
    rows, others = range(len(suite)), range(len(suite), len(suite) + len(extra))
    everything = kind.grow([*rows, *others])[0]
    columns: dict[str, list[float]] = {
        "rules": [_rules(t, target) for t in suite],
        "seen": [kind.regret(everything, r, target) for r in rows],
        "held out": [math.nan] * len(suite),
        "extra alone": [],
    }
    for model in {t.model for t in suite}:
        rest = [r for r in rows if suite[r].model != model] + [*others]
        tree = kind.grow(rest)[0] if len(rest) >= LEAST else None
        for r in rows:
            if suite[r].model == model:
                known = columns["rules"][r] if tree is None else kind.regret(tree, r, target)
                columns["held out"][r] = known
    if len(others) >= LEAST:
        alone = kind.grow([*others])[0]
        columns["extra alone"] = [kind.regret(alone, r, target) for r in rows]
    return Result(name, everything, columns)


def _rules(tuning: Tuning, target: Target) -> float:
    """Regret of the rules' first candidate, capped as the others are."""
    regret = tuning.regret(by_rules(tuning.facts, target)[0])
    return math.exp(UNKNOWN) if regret is None else min(math.exp(CAP), regret)


def table(results: Sequence[Result]) -> str:
    """Regret by kind, all kinds together last."""
    names = list(results[0].columns)
    lines = [f"{'kind':20}{'kernels':>8}" + "".join(f"{name:>18}" for name in names)]
    every = {name: [v for r in results for v in r.columns[name]] for name in names}
    for kind, columns in [*((r.kind, r.columns) for r in results), ("all", every)]:
        cells = (f"{geometric(v):.3f} ({max(v):.2f})" if v else "-" for v in columns.values())
        lines.append(f"{kind:20}{len(columns['rules']):8}" + "".join(f"{c:>18}" for c in cells))
    return "\n".join(lines)


def written(results: Sequence[Result]) -> str:
    """The trees as ``learned.json`` holds them."""
    trees = msgspec.to_builtins({result.kind: result.tree for result in results})
    text = json.dumps(trees, indent=1)
    # A template a line.
    return re.sub(r"\[\s+(\d+),\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2, \3]", text) + "\n"


def kinds(files: Sequence[Path]) -> dict[str, list[Tuning]]:
    """The tunings in ``files`` by kind, those of kinds that have templates."""
    found: dict[str, list[Tuning]] = defaultdict(list)
    for file in files:
        for tuning in read(file, H100):
            name = kind_of(tuning.facts)
            if name in TEMPLATES:
                found[name].append(without_accidents(tuning)[0])
    return found


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Learn fast configurations from tunings.")
    parser.add_argument("files", nargs="+", type=Path, help="tunings of a suite")
    parser.add_argument("--extra", nargs="*", type=Path, default=[], help="of other kernels")
    parser.add_argument(
        "--write", action="store_true", help="write harness/heuristics/learned.json"
    )
    given = parser.parse_args()
    suite, extra = kinds(given.files), kinds(given.extra)
    names = [name for name in sorted(TEMPLATES) if len(suite[name]) + len(extra[name]) >= LEAST]
    results = [learn(name, suite[name], extra[name], H100) for name in names]
    print(table(results))
    if given.write:
        TREES.write_text(written(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
