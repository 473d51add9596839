"""How often change-points are found in histories whose truth is known, and how fast.

Prints the tables of docs/measurements/changes.md:

    python scripts/changes_table.py            rates, seeded: the same each time
    python scripts/changes_table.py --speed    2,000 series of 200 commits: load, detect
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.track.changepoints import detect
from harness.track.fitting import Settings

Block = NDArray[np.float64]
ALONE = Settings(family=1e9)
POINTS = 30


def autoregression(rng: np.random.Generator, rows: int, points: int, phi: float) -> Block:
    """Rows of unit variance whose neighbours correlate by ``phi``."""
    drawn = rng.normal(size=(rows, points + 60)) * np.sqrt(1 - phi * phi)
    for i in range(1, points + 60):
        drawn[:, i] += phi * drawn[:, i - 1]
    return drawn[:, 60:]


def white(rng: np.random.Generator, rows: int) -> Block:
    """Independent normal noise."""
    return rng.normal(size=(rows, POINTS))


def heavy(rng: np.random.Generator, rows: int) -> Block:
    """Student's t with 4 degrees of freedom, scaled to unit variance."""
    return rng.standard_t(4, size=(rows, POINTS)) / np.sqrt(2)


def strays(rng: np.random.Generator, rows: int) -> Block:
    """Normal noise in which each 20th point is ten deviations too slow."""
    block = rng.normal(size=(rows, POINTS))
    return block + 10 * (rng.random(block.shape) < 0.05)


def bimodal(rng: np.random.Generator, rows: int) -> Block:
    """Two modes, three deviations apart, a third of the points in the upper one."""
    block = rng.normal(size=(rows, POINTS)) + 3 * (rng.random((rows, POINTS)) < 1 / 3)
    return block / np.sqrt(3)


def correlated(phi: float) -> Callable[[np.random.Generator, int], Block]:
    """Noise of that correlation."""
    return lambda rng, rows: autoregression(rng, rows, POINTS, phi)


def flagged(block: Block, group: int, rules: Settings) -> float:
    """Per cent of rows with a confirmed step; groups of that many rows share a machine."""
    found = detect(list(block), [i // group for i in range(len(block))], rules)
    return 100 * float(np.mean([any(s.confirmed for s in judged.steps) for judged in found]))


def flat_table(rows: int) -> None:
    """False alarms of flat series."""
    print(f"\nFlat series of {POINTS} points flagged, per cent of {rows:,}; 1 % noise\n")
    print("| noise | 1,000 series a machine | 100 | one alone |")
    print("|---|---|---|---|")
    kinds = (
        ("white", white),
        ("correlation 0.3", correlated(0.3)),
        ("correlation 0.6", correlated(0.6)),
        ("correlation 0.8", correlated(0.8)),
        ("Student's t, 4 degrees of freedom", heavy),
        ("5 % stray points of 10 deviations", strays),
        ("two modes, 3 deviations apart", bimodal),
    )
    for name, make in kinds:
        block = 0.01 * make(np.random.default_rng(1), rows)
        cells = [f"{flagged(block, group, ALONE):.2f}" for group in (1000, 100)]
        cells.append(f"{flagged(block[:2000], 1, ALONE):.2f}")
        print(f"| {name} | {' | '.join(cells)} |")


def step_table() -> None:
    """Steps found."""
    print(
        f"\nSteps found within 2 points, per cent of 1,000 series of {POINTS} points; white noise\n"
    )
    print("| step | where | all of 1,000 step | of 100 | one alone | 5 % of 1,000 | with Holm |")
    print("|---|---|---|---|---|---|---|")
    cases = (
        (0.03, 10, 20, 0.01),
        (0.03, 5, 25, 0.01),
        (0.05, 5, 25, 0.01),
        (0.10, 5, 25, 0.01),
        (0.05, POINTS - 2, POINTS - 2, 0.01),
        (0.03, 5, 25, 0.02),
        (0.05, 5, 25, 0.02),
        (0.10, 5, 25, 0.02),
    )
    for size, first, last, deviation in cases:
        cells = [f"{_found(size, first, last, deviation, g, ALONE):.1f}" for g in (1000, 100, 1)]
        for rules in (ALONE, Settings()):
            cells.append(f"{_found(size, first, last, deviation, 1000, rules, share=0.05):.1f}")
        where = "2 points before the end" if first == POINTS - 2 else f"points {first} to {last}"
        name = f"{100 * size:.0f} %, noise {100 * deviation:.0f} %"
        print(f"| {name} | {where} | {' | '.join(cells)} |")


def _found(
    size: float,
    first: int,
    last: int,
    deviation: float,
    group: int,
    rules: Settings,
    share: float = 1.0,
) -> float:
    rng = np.random.default_rng(2)
    hits = steps = 0
    for _ in range(1 if share == 1.0 else 5):
        at = rng.integers(first, last + 1, 1000)
        has = rng.random(1000) < share
        block = deviation * rng.normal(size=(1000, POINTS))
        block += ((np.arange(POINTS) >= at[:, None]) & has[:, None]) * np.log1p(size)
        found = detect(list(block), [i // group for i in range(1000)], rules)
        for judged, place in zip(
            [f for f, h in zip(found, has, strict=True) if h], at[has], strict=True
        ):
            hits += any(s.confirmed and abs(s.position - place) <= 2 for s in judged.steps)
        steps += int(has.sum())
    return 100 * hits / steps


def speed(series: int, commits: int) -> None:
    """Load and judge run files of a large history."""
    from harness.track import index
    from harness.track.changes import find
    from harness.track.series import METRICS, arrange, series_of

    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder)
        _write(results, series, commits)
        for what in ("run files, index made", "index up to date"):
            start = time.perf_counter()
            known = arrange(index.refresh(results), results)
            print(f"load {len(known.frame):,} rows ({what}): {time.perf_counter() - start:.2f} s")
        start = time.perf_counter()
        every = series_of(known, METRICS["ms"])
        arranged = time.perf_counter()
        detect([s.values for s in every], [s.environment for s in every])
        print(
            f"{len(every):,} series: arranged in {arranged - start:.2f} s, "
            f"judged in {time.perf_counter() - arranged:.2f} s"
        )
        start = time.perf_counter()
        report = find(known, [METRICS["ms"]], Settings())
        print(f"all of harness changes: {time.perf_counter() - start:.2f} s", len(report.changes))


def _write(results: Path, series: int, commits: int) -> None:
    """Run files of ``series`` kernels, the first made in full, the others with other times."""

    import pyarrow as pa
    import pyarrow.parquet as pq

    from harness.bench.record import GraphRecord, KernelRecord, Machine, Run, SampleSet
    from harness.track import schema

    body = (
        "SIGNATURE = {}\n@triton.jit\ndef k(): pass  # " + 200 * "some code " + "\ndef reference("
    )
    kernels = [
        KernelRecord(
            f"triton_poi_{i}",
            "poi",
            bytes=1 << 20,
            ms=1.0,
            registers=32,
            sets=(SampleSet(0, (1.0,) * 25),),
            module=body + str(i),
        )
        for i in range(series)
    ]
    graphs = tuple(
        GraphRecord(f"graph_{g}", kernels=tuple(kernels[g::20])) for g in range(min(20, series))
    )
    run = Run("", "", Machine("gpu-1"), "sm_90", method="1", graphs=graphs)
    table = schema.table(run)
    rng = np.random.default_rng(3)
    times = 0.02 * np.exp(0.01 * rng.normal(size=(series, commits)))
    times[: series // 40, commits // 2 :] *= 1.03
    (results / "gpu-1").mkdir()
    whole = json.loads(table.schema.metadata[schema.RUN_KEY])
    for c in range(commits):
        whole.update(id=f"20260101-{c:06d}-{c:07x}", created=f"{c:06d}", commit=f"{c:040x}")
        place = table.schema.get_field_index("ms")
        metadata = {**table.schema.metadata, schema.RUN_KEY: json.dumps(whole).encode()}
        now = table.set_column(place, "ms", pa.array(times[:, c])).replace_schema_metadata(metadata)
        pq.write_table(now, results / "gpu-1" / f"{whole['id']}.parquet", compression="zstd")


def main() -> None:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="time 2,000 series of 200 commits")
    parser.add_argument("--rows", type=int, default=10_000, help="flat series per kind of noise")
    arguments = parser.parse_args()
    if arguments.speed:
        speed(2000, 200)
    else:
        flat_table(arguments.rows)
        step_table()


if __name__ == "__main__":
    main()
