"""Runs of one commit as one side: what is pooled, what is left out, and what it is worth."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from harness.history import store
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.judge import Rules, judge
from harness.records.run import KernelRecord, Run
from harness.records.timing import Samples
from harness.verdicts.comparing import Pool, Side, compare
from harness.verdicts.sides import find_side, pool
from tests.history.examples import KERNEL, MACHINE, run

COMMIT = "abcdef123456" + "0" * 28


def measured(hour: int, *processes: float, **changes: object) -> Run:
    """A run of one kernel, a set of samples for each process."""
    sets = tuple(
        Samples(process=n, ms=(ms, ms * 1.001, ms * 0.999)) for n, ms in enumerate(processes)
    )
    kernel = dataclasses.replace(KERNEL, sets=sets)
    graph = dataclasses.replace(run().graphs[0], kernels=(kernel,))
    made = {"graphs": (graph,), "commit": COMMIT, "dirty": False, "processes": len(sets), **changes}
    return run(f"20260102-{hour:02}0000-{COMMIT[:12]}", **made)


def kernel_of(found: Run) -> KernelRecord:
    return found.graphs[0].kernels[0]


def test_processes_of_all_runs_are_numbered_on() -> None:
    merged, made = pool(measured(3, 1.0, 1.1), [measured(2, 1.2, 1.3), measured(1, 1.4)])
    assert [s.process for s in kernel_of(merged).sets] == [0, 1, 2, 3, 4]
    assert made.starts == (0, 2, 4)
    assert merged.processes == 5
    assert merged.id == made.runs[0] == measured(3).id


def test_what_cannot_be_pooled_is_left_out_with_the_reason() -> None:
    other = dataclasses.replace(MACHINE, driver="9.9")
    merged, made = pool(
        measured(5, 1.0),
        [
            measured(4, 1.0, dirty=True),
            measured(3, 1.0, machine=other),
            measured(2, 1.0, method="by hand/1"),
            measured(1),
        ],
    )
    assert len(kernel_of(merged).sets) == 1
    assert made.runs == (merged.id,)
    reasons = ("a changed tree", "another driver", "another method", "without times")
    assert len(made.left_out) == len(reasons)
    assert all(why in said for why, said in zip(reasons, made.left_out, strict=True))


def test_a_kernel_with_another_configuration_is_not_pooled() -> None:
    older = measured(1, 1.0)
    tuned = dataclasses.replace(kernel_of(older), config={"XBLOCK": 2, "num_warps": 8})
    graph = dataclasses.replace(older.graphs[0], kernels=(tuned,))
    merged, _ = pool(measured(2, 1.0), [dataclasses.replace(older, graphs=(graph,))])
    assert len(kernel_of(merged).sets) == 1


def test_a_commit_is_all_of_its_runs_and_a_run_only_itself(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for hour in (1, 2):
        store.save(results, measured(hour, 1.0, 1.01, 0.99))
    torn = next(results.glob("*/20260102-01*"))
    whole = find_side(results, COMMIT[:12])
    assert len(kernel_of(whole.run).sets) == 6
    found = compare(whole, whole, Rules())
    assert any(note.startswith("A is 2 runs of the commit pooled") for note in found.notes)
    assert len(kernel_of(find_side(results, "20260102-02").run).sets) == 3
    torn.write_bytes(b"torn")
    (left,) = find_side(results, COMMIT[:12]).pool.left_out
    assert torn.name in left


def test_the_rows_know_whose_run_a_process_is() -> None:
    side = Side("a", *_pooled((1.0, 1.001, 0.999), (1.05, 1.051, 1.049)))
    row = compare(side, side, Rules()).rows[0]
    assert row.processes == (6, 6)


def _pooled(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[Run, str, str, Pool]:
    merged, made = pool(measured(2, *one), [measured(1, *other)])
    return merged, "", "", made


def _tables(chance: np.random.Generator, runs: int) -> list[Pair]:
    """250 kernels with 0.4 % between runs and 0.05 % between processes, three of each run."""
    pairs = []
    for ms in np.exp(chance.uniform(np.log(0.003), np.log(1.0), 250)):
        sides = []
        for _ in range(2):
            run = np.repeat(chance.normal(0, 0.004, runs), 3)
            times = ms * np.exp(run + chance.normal(0, 0.0005, 3 * runs))
            which = tuple(np.repeat(np.arange(runs), 3).tolist())
            sides.append(Times(tuple(times), runs=which))
        pairs.append(Pair(*sides, identical=bool(chance.random() < 0.8)))
    return pairs


def _coverage(runs: int) -> tuple[float, float]:
    chance, inside, width = np.random.default_rng(7), [], []
    for _ in range(12):
        found = judge(estimate(_tables(chance, runs), paired=False)[0], Rules())
        inside += [e.low <= 1 <= e.high for e in found]
        width += [e.high / e.low - 1 for e in found]
    return float(np.mean(inside)), float(np.median(width))


def test_intervals_hold_what_they_state_when_runs_are_pooled() -> None:
    one, wide = _coverage(1)
    three, narrow = _coverage(3)
    assert abs(one - 0.95) <= 0.01
    assert abs(three - 0.95) <= 0.01
    # Three runs a side: the variance between runs is a third.
    assert 0.5 < narrow / wide < 0.66


def test_a_table_of_one_and_of_several_runs_shares_what_moves_between_runs() -> None:
    """Half the kernels were measured in one run a side, half in three: each has its own error."""
    chance, inside = np.random.default_rng(8), ([], [])
    for _ in range(12):
        mixed = [*_tables(chance, 1)[:125], *_tables(chance, 3)[:125]]
        found = judge(estimate(mixed, paired=False)[0], Rules())
        for n, effect in enumerate(found):
            inside[n // 125].append(effect.low <= 1 <= effect.high)
    assert abs(np.mean(inside[0]) - 0.95) <= 0.015
    assert abs(np.mean(inside[1]) - 0.95) <= 0.015
