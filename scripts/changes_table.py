"""How often change-points are found in histories whose truth is known, and how fast.

Prints tables of docs/measurements/changes.md:

    python scripts/changes_table.py            rates, seeded: the same each time
    python scripts/changes_table.py --speed    2,000 series of 200 commits: load, detect
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.history.changes.changepoints import detect
from harness.history.changes.fitting import Judged, Settings

if TYPE_CHECKING:
    from harness.history.changes.series import History

Block = NDArray[np.float64]
Noise: TypeAlias = Callable[[np.random.Generator, int], Block]
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


def outliers(rng: np.random.Generator, rows: int) -> Block:
    """Normal noise in which each 20th point is ten deviations too slow."""
    block = rng.normal(size=(rows, POINTS))
    return block + 10 * (rng.random(block.shape) < 0.05)


def bimodal(rng: np.random.Generator, rows: int) -> Block:
    """Two modes, three deviations apart, a third of the points in the upper one."""
    block = rng.normal(size=(rows, POINTS)) + 3 * (rng.random((rows, POINTS)) < 1 / 3)
    return block / np.sqrt(3)


def correlated(phi: float) -> Noise:
    """Noise of that correlation."""
    return lambda rng, rows: autoregression(rng, rows, POINTS, phi)


def uneven(rng: np.random.Generator, rows: int) -> Block:
    """Normal noise of kernels that are not equally noisy (log-normal, spread 0.5)."""
    return rng.normal(size=(rows, POINTS)) * np.exp(0.5 * rng.normal(size=(rows, 1)))


def odd(rng: np.random.Generator, rows: int) -> Block:
    """Normal noise; each 20th kernel is four times as noisy as the others."""
    return rng.normal(size=(rows, POINTS)) * np.where(rng.random((rows, 1)) < 0.05, 4, 1)


KINDS: tuple[tuple[str, Noise], ...] = (
    ("white", white),
    ("correlation 0.3", correlated(0.3)),
    ("correlation 0.6", correlated(0.6)),
    ("correlation 0.8", correlated(0.8)),
    ("Student's t, 4 degrees of freedom", heavy),
    ("5 % outliers of 10 deviations", outliers),
    ("two modes, 3 deviations apart", bimodal),
    ("kernels unequally noisy (log-normal, 0.5)", uneven),
    ("each 20th kernel 4 times as noisy", odd),
)


def flagged(block: Block, group: int, rules: Settings) -> float:
    """Per cent of rows with a confirmed step; groups of that many rows share a machine."""
    found = detect(list(block), [i // group for i in range(len(block))], rules)
    return 100 * float(np.mean([any(s.confirmed for s in judged.steps) for judged in found]))


def flat_table(rows: int) -> None:
    """False alarms of flat series."""
    print(f"\nFlat series of {POINTS} points flagged, per cent of {rows:,}; 1 % noise\n")
    print("| noise | 1,000 series a machine | 100 | 20 | 8 | one alone |")
    print("|---|---|---|---|---|---|")
    for name, make in KINDS:
        block = 0.01 * make(np.random.default_rng(1), rows)
        cells = [f"{flagged(block, group, ALONE):.2f}" for group in (1000, 100)]
        cells += [f"{flagged(block[:2000], group, ALONE):.2f}" for group in (20, 8, 1)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def step_table() -> None:
    """Steps found."""
    print(
        f"\nSteps found within 2 points, per cent of 1,000 series of {POINTS} points; white noise\n"
    )
    print("| step | where | all of 1,000 step | of 100 | of 20 | of 8 | one alone |")
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
        steps = Steps(size, first, last, deviation)
        cells = [f"{_found(steps, group):.1f}" for group in (1000, 100, 20, 8, 1)]
        where = "2 points before the end" if first == POINTS - 2 else f"points {first} to {last}"
        name = f"{100 * size:.0f} %, noise {100 * deviation:.0f} %"
        print(f"| {name} | {where} | {' | '.join(cells)} |", flush=True)


class Steps(NamedTuple):
    """Steps of relative ``size`` at a place from ``first`` to ``last``."""

    size: float
    first: int
    last: int
    deviation: float = 0.01


def _stepped(
    rng: np.random.Generator, steps: Steps, make: Noise, which: NDArray[np.bool_], at: Block
) -> Block:
    block = steps.deviation * make(rng, len(which))
    block += ((np.arange(POINTS) >= at[:, None]) & which[:, None]) * np.log1p(steps.size)
    return block


def _hit(judged: Judged, place: float) -> bool:
    return any(step.confirmed and abs(step.position - place) <= 2 for step in judged.steps)


def _found(steps: Steps, group: int, make: Noise = white) -> float:
    rng = np.random.default_rng(2)
    at = rng.integers(steps.first, steps.last + 1, 1000).astype(float)
    block = _stepped(rng, steps, make, np.ones(1000, bool), at)
    found = detect(list(block), [i // group for i in range(1000)], ALONE)
    return 100 * float(np.mean([_hit(*pair) for pair in zip(found, at, strict=True)]))


def report_table() -> None:
    """What a whole report over 1,000 series finds, and how often it holds a false alarm."""
    print("\nReports over 1,000 series, some of which step (10 reports; 100 without a step)\n")
    print("| steps | noise | at one commit | each at its own | reports with a false alarm |")
    print("|---|---|---|---|---|")
    noises = (("white", white), ("t, 4", heavy), ("5 % outliers", outliers), ("uneven", uneven))
    for name, make in noises:
        _, alarms = _reports(Steps(0, 5, 25), 0, make, True, 100)
        print(f"| none | {name} | | | {100 * alarms:.1f} % |", flush=True)
    _, alarms = _reports(Steps(0, 5, 25), 0, shared, True, 100)
    print(f"| none | white, half of it common to all series | | | {100 * alarms:.1f} % |")
    for size, first, last in ((0.03, 5, 25), (0.05, POINTS - 2, POINTS - 2), (0.1, 5, 25)):
        for number in (1, 50):
            for name, make in noises[: 1 if number == 1 else None]:
                steps = Steps(size, first, last)
                counts = [_reports(steps, number, make, one) for one in (True, False)]
                cells = [f"{100 * found:.1f}" for found, _ in counts]
                wrong = f"{100 * max(alarms for _, alarms in counts):.0f} %"
                where = "2 points before the end" if first == last else f"points {first} to {last}"
                print(
                    f"| {number} of {100 * size:.0f} %, {where} | {name} | "
                    f"{' | '.join(cells)} | {wrong} |",
                    flush=True,
                )


def shared(rng: np.random.Generator, rows: int) -> Block:
    """Normal noise, half of whose variance is the run's and common to all kernels."""
    own, common = rng.normal(size=(rows, POINTS)), rng.normal(size=(1, POINTS))
    return np.asarray(np.sqrt(0.5) * (own + common))


def _reports(
    steps: Steps, number: int, make: Noise, together: bool, reports: int = 10
) -> tuple[float, float]:
    """Share of steps found, and of reports with a step confirmed where there is none."""
    rng = np.random.default_rng(3)
    which = np.arange(1000) < number
    hits = alarms = 0
    for _ in range(reports):
        places = rng.integers(steps.first, steps.last + 1, 1000)
        at = np.full(1000, places[0]) if together else places
        found = detect(list(_stepped(rng, steps, make, which, at.astype(float))))
        hits += sum(_hit(judged, place) for judged, place in zip(found[:number], at, strict=False))
        alarms += any(step.confirmed for judged in found[number:] for step in judged.steps)
    return hits / max(1, number * reports), alarms / reports


def speed(series: int, commits: int) -> None:
    """Load and judge run files of a large history."""
    from harness.history.changes.changes import find
    from harness.history.changes.series import series_of
    from harness.records import metrics

    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder)
        _write(results, series, commits)

        known = _load(results, "run files, index made")
        known = _load(results, "index up to date")
        with _timed("arrange"):
            every = series_of(known, metrics.named("ms"))
        with _timed(f"judge {len(every):,} series, imports included"):
            detect([s.values for s in every], [s.environment for s in every])
        with _timed("all of harness changes after loading"):
            find(known, [metrics.named("ms")], Settings())


def _load(results: Path, what: str) -> History:
    from harness.history import index
    from harness.history.changes.series import arrange

    with _timed(f"load ({what})"):
        return arrange(index.refresh(results), results)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    """Print how long the body took: by the clock, and of processor time (all threads)."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    spent = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what}: {spent[0]:.2f} s, processor {spent[1]:.2f} s", flush=True)


def _write(results: Path, series: int, commits: int) -> None:
    """Run files of ``series`` kernels, the first made in full, the others with other times."""

    import pyarrow as pa
    import pyarrow.parquet as pq

    from harness.history import schema
    from harness.records.run import GraphRecord, KernelRecord, Machine, Run
    from harness.records.timing import Samples

    body = (
        "SIGNATURE = {}\n@triton.jit\ndef k(): pass  # " + 200 * "some code " + "\ndef reference("
    )
    kernels = [
        KernelRecord(
            f"triton_poi_{i}",
            "poi",
            bytes=1 << 20,
            ms=1.0,
            metrics={"registers": 32},
            sets=(Samples((1.0, 1.01) * 13),),  # all equal would be no times
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
    parser.add_argument("--table", choices=("all", "flat", "steps", "reports"), default="all")
    parser.add_argument("--rows", type=int, default=4_000, help="flat series per kind of noise")
    arguments = parser.parse_args()
    if arguments.speed:
        speed(2000, 200)
        return
    if arguments.table in ("flat", "all"):
        flat_table(arguments.rows)
    if arguments.table in ("steps", "all"):
        step_table()
    if arguments.table in ("reports", "all"):
        report_table()


if __name__ == "__main__":
    main()
