"""Learning from tunings: a planted truth is found, accidents teach nothing, unseen means unseen."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from harness.heuristics.facts import Config, Facts, Family
from harness.heuristics.learned import Leaf, Split, chosen, config_of
from harness.runtime.module import config_dict
from harness.target import H100

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def regret(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("heuristics_regret")


@pytest.fixture
def learning(regret: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    assert regret.__name__ in sys.modules
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("learn_heuristics")


def kernel(loads: int, size: int = 1 << 24) -> Facts:
    return Facts(Family.POINTWISE, (("x", size),), loads=loads, stores=1, bytes=4 * size)


def timed(regret: ModuleType, model: str, loads: int, seed: int) -> object:
    """A kernel on which 2048/8 is the fastest with few loads, and 512/4 with many, by 20 %; other
    configurations are slower by chance."""
    facts = kernel(loads)
    draw = random.Random(seed)
    fast = (2048, 8) if loads < 4 else (512, 4)
    times = {}
    for template in importlib.import_module("config_templates").TEMPLATES["pointwise 1"]:
        found = config_of(template, facts, H100)
        best = (found.block("XBLOCK"), found.num_warps) == fast
        times[found] = 0.01 * (1 if best else 1.2 + 0.2 * draw.random())
    return regret.Tuning(f"{model}_forward", f"k{seed}", facts, times, None)


def planted(regret: ModuleType, models: int = 4) -> list[object]:
    rows = [(m, loads) for m in range(models) for loads in (1, 2, 3, 5, 6, 7)]
    return [timed(regret, f"m{m}", loads, n) for n, (m, loads) in enumerate(rows)]


def test_a_planted_rule_is_found_and_carries_over(learning: ModuleType, regret: ModuleType) -> None:
    result = learning.learn("pointwise 1", planted(regret), [], H100)
    assert isinstance(result.tree, Split)
    assert result.tree.trait == "loads"
    assert 3 < result.tree.limit < 5
    assert max(result.columns["seen"]) == max(result.columns["held out"]) == 1.0
    for loads, expected in ((2, (2048, 8)), (6, (512, 4))):
        first = config_of(chosen(result.tree, kernel(loads), H100)[0], kernel(loads), H100)
        assert (first.block("XBLOCK"), first.num_warps) == expected


def test_held_out_has_not_seen_the_model(learning: ModuleType, regret: ModuleType) -> None:
    """Only one model has kernels with many loads: without it nobody knows of 512/4."""
    rows = [timed(regret, f"m{n % 3}", 2, n) for n in range(12)]
    rows += [timed(regret, "other", 6, n) for n in range(20, 28)]
    columns = learning.learn("pointwise 1", rows, [], H100).columns
    assert max(columns["seen"]) == 1.0
    assert min(columns["held out"][12:]) > 1.1


def test_extra_kernels_teach_what_the_suite_is_judged_on(
    learning: ModuleType, regret: ModuleType
) -> None:
    suite = [timed(regret, "only", loads, loads) for loads in (1, 2, 6, 7)]
    columns = learning.learn("pointwise 1", suite, planted(regret), H100).columns
    assert max(columns["extra alone"]) == max(columns["held out"]) == 1.0


def test_what_is_written_is_what_was_learnt(learning: ModuleType, regret: ModuleType) -> None:
    result = learning.learn("pointwise 1", planted(regret), [], H100)
    text = learning.written([result])
    (tree,) = msgspec.json.decode(text, type=dict[str, Split | Leaf]).values()
    assert tree == result.tree
    assert all(line.count("[") == line.count("]") for line in text.splitlines() if "," in line[:-1])


def test_further_templates_help_beside_the_first(learning: ModuleType, regret: ModuleType) -> None:
    """Kernels that no trait tells apart: both of their fast templates are listed."""
    rows = planted(regret)
    same = [
        regret.Tuning(t.graph, t.name, kernel(2), t.times, None)
        for t in rows  # type: ignore[attr-defined]
    ]
    tree = learning.learn("pointwise 1", same, [], H100).tree
    assert isinstance(tree, tuple)
    listed = {(f.x, f.share) for f in tree[:2]}
    assert listed == {(2048, 8), (512, 4)}


def test_an_accident_is_left_out(regret: ModuleType) -> None:
    tuning = timed(regret, "m", 2, 0)
    times = dict(tuning.times)  # type: ignore[attr-defined]
    odd = Config((("XBLOCK", 1024),), 4)
    times[odd] *= 7
    spoilt = regret.Tuning("m_forward", "k", kernel(2), times, odd)
    kept, lines = regret.without_accidents(spoilt)
    assert odd not in kept.times
    assert len(kept.times) == len(times) - 1
    assert "XBLOCK=1024" in lines[0]


def test_regret_is_read_from_files_of_trials(regret: ModuleType, tmp_path: Path) -> None:
    tuning = timed(regret, "m", 2, 0)
    facts = kernel(2)
    trials = [
        {"config": config_dict(c), "origin": "descent", "ms": ms}
        for c, ms in tuning.times.items()  # type: ignore[attr-defined]
    ]
    trials[0]["origin"] = "heuristics"
    row = {
        "graph": "m_forward",
        "name": "k",
        "trials": trials,
        "facts": {
            "family": "pointwise",
            "sizes": dict(facts.sizes),
            "hint": "default",
            "loads": 2,
            "stores": 1,
            "reductions": 0,
            "bytes": facts.bytes,
            "min_elements_per_thread": 0,
            "pinned": {},
        },
    }
    path = tmp_path / "tunings.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(row).encode() + b"\n"))
    (found,) = regret.read(path, H100)
    assert found.times == tuning.times  # type: ignore[attr-defined]
    assert found.model == "m"
    assert found.regret(found.first) == pytest.approx(found.times[found.first] / 0.01)
    assert "pointwise 1" in regret.table([found], H100)
