"""Learn which configurations are fast from recorded tunings, and say how well that carries over.

    python scripts/learn_heuristics.py FILE… [--write]

FILEs are as for ``heuristics_regret.py``. For every kind of kernel, weights of the features in
``harness/heuristics/ranking.py`` are fitted so that the configuration of least score has little
regret: the loss is the expected regret of a choice that prefers lower scores (a softmax over
each kernel's configurations), regret capped so that one accident of the machine teaches little.

Prints regret (geometric mean) of: the first candidate of the rules; the choice by weights that
have seen the kernel (*seen*); the choice by weights learnt from all models but the kernel's own
(*held out*), which is what a model that nobody has tuned yet can expect. ``--write`` keeps the
weights of the kinds where held-out regret is better than the rules', in
``harness/heuristics/learned.py``.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from heuristics_regret import ROOT, Tuning, geometric, read, without_accidents
from numpy.typing import NDArray
from scipy.optimize import minimize

from harness.heuristics.facts import Config
from harness.heuristics.ranking import FEATURES, features, kind_of
from harness.heuristics.registry import candidates
from harness.target import H100, Target

Floats = NDArray[np.float64]
CAP = math.log(1.6)
SOFTNESS = 0.04
PENALTY = 3e-3
LEAST_KERNELS = 6
OUTPUT = ROOT / "harness" / "heuristics" / "learned.py"


@dataclass(frozen=True)
class Sample:
    """A kernel for fitting: features and regrets (logarithms) of its configurations, and which
    of them the rules would have preferred (None: it was not timed)."""

    tuning: Tuning
    configs: tuple[Config, ...]
    features: Floats
    regrets: Floats
    first: int | None


def sample(tuning: Tuning, target: Target) -> Sample:
    """``tuning`` as numbers."""
    configs = tuple(tuning.times)
    rows = np.array([features(tuning.facts, c, target) for c in configs])
    times = np.array([tuning.times[c] for c in configs])
    preferred = candidates(tuning.facts, target)[0]
    first = configs.index(preferred) if preferred in tuning.times else None
    return Sample(tuning, configs, rows, np.log(times / times.min()), first)


def fit(samples: Sequence[Sample]) -> Floats:
    """Weights of least expected regret on ``samples``, every kernel counting the same."""
    centred = [s.features - s.features.mean(0) for s in samples]
    scale = np.sqrt(np.mean([np.mean(c * c, axis=0) for c in centred], axis=0))
    scale[scale < 1e-9] = np.inf
    rows = [c / scale for c in centred]
    costs = [np.minimum(s.regrets, CAP) for s in samples]
    start = _ridge(rows, costs)

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = 0.0, np.zeros_like(weights)
        for row, cost in zip(rows, costs, strict=True):
            scores = -row @ weights / SOFTNESS
            chosen = np.exp(scores - scores.max())
            chosen /= chosen.sum()
            expected = float(chosen @ cost)
            total += expected
            slope -= (chosen * (cost - expected)) @ row / SOFTNESS
        count = len(rows)
        return (
            total / count + PENALTY * float(weights @ weights),
            slope / count + 2 * PENALTY * weights,
        )

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x / scale)


def _ridge(rows: Sequence[Floats], costs: Sequence[Floats]) -> Floats:
    """Where to start: weights that predict capped regret itself, every kernel counting the same."""
    a = np.concatenate([row / math.sqrt(len(row)) for row in rows])
    b = np.concatenate([(c - c.mean()) / math.sqrt(len(c)) for c in costs])
    width = a.shape[1]
    return np.asarray(np.linalg.solve(a.T @ a + 0.02 * len(rows) * np.eye(width), a.T @ b))


def choice(one: Sample, weights: Floats) -> float:
    """Regret (logarithm) of the configuration of least score."""
    return float(one.regrets[int(np.argmin(one.features @ weights))])


def held_out(samples: Sequence[Sample]) -> dict[int, float]:
    """Regret by position in ``samples``, chosen by weights that have not seen its model."""
    found: dict[int, float] = {}
    for model in dict.fromkeys(s.tuning.model for s in samples):
        rest = [s for s in samples if s.tuning.model != model]
        if len(rest) < LEAST_KERNELS:
            continue
        weights = fit(rest)
        for at, one in enumerate(samples):
            if one.tuning.model == model:
                found[at] = choice(one, weights)
    return found


@dataclass(frozen=True)
class Result:
    """One kind of kernel: weights, and regrets (factors) of the rules, of weights that have seen
    the kernel, and of weights that have not."""

    kind: str
    weights: Floats
    rules: list[float]
    seen: list[float]
    unseen: list[float]

    @property
    def better(self) -> bool:
        """Whether the weights do better than the rules on models that they have not seen."""
        return bool(self.unseen) and geometric(self.unseen) < geometric(self.rules)


def learn(kind: str, samples: Sequence[Sample]) -> Result:
    """Fit and judge one kind. Kernels whose first candidate was not timed, or that have no other
    model to learn from, are left out of the judgement, so that all columns speak of the same."""
    weights = fit(samples)
    unseen = held_out(samples)
    judged = [at for at in unseen if samples[at].first is not None]
    rules = [math.exp(samples[at].regrets[samples[at].first]) for at in judged]
    seen = [math.exp(choice(samples[at], weights)) for at in judged]
    return Result(kind, weights, rules, seen, [math.exp(unseen[at]) for at in judged])


def table(results: Sequence[Result]) -> str:
    """Regret by kind, all kinds together last."""
    lines = [
        "kind                  kernels   rules (worst)    seen (worst)   held out (worst)   kept"
    ]
    rows = [(r.kind, r.rules, r.seen, r.unseen, "yes" if r.better else "no") for r in results]
    merged = [[v for r in results for v in (r.rules, r.seen, r.unseen)[at]] for at in range(3)]
    kept = [v for r in results for v in (r.unseen if r.better else r.rules)]
    rows.append(("all", *merged, ""))
    for kind, rules, seen, unseen, word in rows:
        cells = [
            f"{geometric(v):7.3f} ({max(v, default=math.nan):.2f})" for v in (rules, seen, unseen)
        ]
        lines.append(f"{kind:22}{len(rules):7}{cells[0]:>18}{cells[1]:>16}{cells[2]:>18}   {word}")
    lines.append(f"what is kept, held out: {geometric(kept):.3f}")
    return "\n".join(lines)


def written(results: Sequence[Result], sources: Sequence[Path]) -> str:
    """``learned.py`` as text."""
    names = ", ".join(path.name for path in sources)
    lines = [
        '"""Weights of ``ranking.FEATURES`` by kind of kernel.',
        "",
        f"Written by ``scripts/learn_heuristics.py`` from {names};",
        "see docs/measurements/heuristics.md. Not to be edited by hand.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "WEIGHTS: dict[str, tuple[float, ...]] = {",
    ]
    for result in results:
        if result.better:
            lines.append(f'    "{result.kind}": (')
            pairs = zip(FEATURES, result.weights, strict=True)
            lines += [f"        {weight:.5g},  # {name}" for name, weight in pairs]
            lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Learn the heuristics' ranking from tunings.")
    parser.add_argument("files", nargs="+", type=Path, help="as for heuristics_regret.py")
    parser.add_argument("--write", action="store_true", help="write harness/heuristics/learned.py")
    given = parser.parse_args()
    kinds: dict[str, list[Sample]] = defaultdict(list)
    for file in given.files:
        for tuning in read(file, H100):
            kinds[kind_of(tuning.facts)].append(sample(without_accidents(tuning)[0], H100))
    results = [learn(k, kinds[k]) for k in sorted(kinds) if len(kinds[k]) >= LEAST_KERNELS]
    print(table(results))
    if given.write:
        OUTPUT.write_text(written(results, given.files))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
