"""How long ``harness report`` takes over 2,000 series and 200 commits, and how heavy its pages are.

    python scripts/site_reach.py FOLDER [KERNELS] [COMMITS]

Writes run files of copies of a recorded run's kernels into ``FOLDER/results``, if there are none,
then makes the site in ``FOLDER/site``: at first, again, with an index that is up to date, and with
a night beside the runs, whose newest is then not compared with the one before. Five
in a hundred kernels change their text at some commit; one becomes slower. Figures:
docs/measurements/report.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import nights, schema, store
from harness.history.nights import Night
from harness.records.run import GraphRecord, KernelRecord, Run

RECORDED = "results/nvidia-h200-580.159.04/20261122-043256-fe055bcec26f.parquet"


def base(kernels: int) -> Run:
    """The recorded run's graphs, copied under other names until there are ``kernels``."""
    recorded = store.load(RECORDED)
    graphs: list[GraphRecord] = []
    left = kernels
    while left > 0:
        number = len(graphs) // len(recorded.graphs)
        graph = recorded.graphs[len(graphs) % len(recorded.graphs)]
        mine = tuple(_light(kernel, number) for kernel in graph.kernels[:left])
        graphs.append(replace(graph, name=f"{graph.name}{number or ''}", kernels=mine))
        left -= len(mine)
    return replace(recorded, graphs=tuple(graphs), complete=True)


def _light(kernel: KernelRecord, number: int) -> KernelRecord:
    sets = tuple(replace(one, ms=one.ms[:25]) for one in kernel.sets)
    trials = tuple(replace(one, samples_ms=one.samples_ms[:3]) for one in kernel.trials)
    return replace(kernel, sets=sets, trials=trials, region=f"{kernel.region}.{number}")


def write_history(results: Path, commits: Sequence[str], kernels: int) -> None:
    """A run file for each of ``commits``."""
    rng = np.random.default_rng(0)
    run = base(kernels)
    table = schema.table(run)
    metadata = dict(table.schema.metadata)
    known = np.array(table["ms"].to_pylist(), float)
    changes = np.where(rng.random(kernels) < 0.05, rng.integers(1, len(commits), kernels), -1)
    folder = results / run.machine.key
    folder.mkdir(parents=True, exist_ok=True)
    hashes, modules = (table[name].to_pylist() for name in ("code_hash", "module"))

    def write(number: int, commit: str, ms: Any) -> None:
        when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        name = f"{when:%Y%m%d-%H%M%S}-{commit[:12]}"
        old = changes > number
        made = {
            "ms": pa.array(ms),
            "run": pa.array([name] * kernels),
            "commit": pa.array([commit] * kernels),
            "created": pa.array([when.isoformat()] * kernels),
            "code_hash": _marked(hashes, old, "0"),
            "module": _marked(modules, old, "# as it was\n"),
        }
        columns = [made.get(field.name, table[field.name]) for field in table.schema]
        whole = json.loads(metadata[schema.RUN_KEY])
        whole |= {"id": name, "commit": commit, "created": when.isoformat(), "dirty": False}
        now = metadata | {schema.RUN_KEY: json.dumps(whole).encode()}
        rows = pa.table(columns, schema=table.schema.with_metadata(now))
        pq.write_table(rows, folder / f"{name}.parquet", compression="zstd")

    with ThreadPoolExecutor() as pool:
        writing = []
        for number, commit in enumerate(commits):
            ms = known * np.exp(0.004 * rng.normal(size=kernels) + 0.002 * rng.normal())
            ms[7] *= 1.1 if number > len(commits) - 6 else 1.0
            writing.append(pool.submit(write, number, commit, ms))
        for one in writing:
            one.result()


def _marked(texts: Sequence[str], old: Any, mark: str) -> pa.Array:
    return pa.array([mark + text if was else text for text, was in zip(texts, old, strict=True)])


def repository(folder: Path, commits: int) -> list[str]:
    """A repository of that many empty commits; their names, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    if not (folder / ".git").exists():
        subprocess.run([*git, "init", "-q"], check=True)
        for n in range(commits):
            said = f"commit {n}"
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", said], check=True)
    log = subprocess.run([*git, "log", "--reverse", "--format=%H"], check=True, capture_output=True)
    return log.stdout.decode().split()


def main() -> None:
    """Make what is missing, then time the command."""
    folder = Path(sys.argv[1])
    kernels, count = (int(text) for text in (*sys.argv[2:], *("2000", "200")[len(sys.argv) - 2 :]))
    commits = repository(folder / "repository", count)
    if not (folder / "results").exists():
        write_history(folder / "results", commits, kernels)
    given = ["report", str(folder / "results"), "-o", str(folder / "site")]
    given += ["--repository", str(folder / "repository")]
    newest = store.load(str(max((folder / "results").glob("*/*.parquet"))))
    beside = Night(newest.id[:15], newest.machine.key, newest.created, newest.id)
    for what in ("index and pages made", "nothing changed", "pages made", "a night, pages made"):
        if "pages made" in what:
            shutil.rmtree(folder / "site", ignore_errors=True)
        if what.startswith("a night"):
            nights.save(folder / "results", beside)
        wall, before = time.perf_counter(), os.times()
        start = "from harness.cli.main import main; main()"
        subprocess.run([sys.executable, "-c", start, *given], check=True)
        cpu = sum(os.times()[2:4]) - sum(before[2:4])
        seconds, load = time.perf_counter() - wall, os.getloadavg()[0]
        print(f"{what}: {seconds:.1f} s, of a processor {cpu:.1f} s, load {load:.0f}", flush=True)
    pages = sorted((folder / "site").rglob("*.html"), key=lambda page: -page.stat().st_size)
    for page in (folder / "site/index.html", *pages[:3]):
        print(f"{page.relative_to(folder / 'site')}: {page.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
