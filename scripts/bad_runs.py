"""What `harness compare` and `harness changes` say of run files that hold what they should not.

Prints the table of docs/measurements/verdicts.md, *Bad input*:

    python scripts/bad_runs.py [RUN]       a recorded run with several processes and many kernels

B is a copy of RUN, half an hour later, in which one thing was changed; A is RUN itself. *Judged*:
kernels with a verdict other than INCOMPARABLE. `changes` sees twelve such runs an hour apart, whose
last six hold a step of 20 % of one kernel; the ninth is the changed one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.history import store
from harness.records.run import KernelRecord, Run

ROOT = Path(__file__).resolve().parent.parent
RUN = "results/nvidia-h200-580.159.04/20261122-121348-2209802d7eef.parquet"
WHICH, STEPPING = 4, 9
"""Of the run's kernels, counted through: the one that is changed, the one that steps."""
NAN, INF = float("nan"), float("inf")
MAIN = "from harness.cli.main import main; main()"

Change = Callable[[Run], Run]


def numbered(run: Run, which: int, change: Callable[[KernelRecord], Any]) -> Run:
    """``run`` with what ``change`` makes of its kernel ``which``: one, or several."""
    number, graphs = -1, []
    for graph in run.graphs:
        made: list[KernelRecord] = []
        for kernel in graph.kernels:
            number += 1
            new = change(kernel) if number == which else kernel
            made += new if isinstance(new, tuple) else [new]
        graphs.append(replace(graph, kernels=tuple(made)))
    return replace(run, graphs=tuple(graphs))


def one(change: Callable[[KernelRecord], Any]) -> Change:
    """A run with one kernel changed."""
    return lambda run: numbered(run, WHICH, change)


def sample(ms: float) -> Change:
    """One sample of one process of one kernel is ``ms``."""

    def changed(kernel: KernelRecord) -> KernelRecord:
        first, *rest = kernel.sets
        return replace(kernel, sets=(replace(first, ms=(*first.ms[:-1], ms)), *rest))

    return one(changed)


def every(ms: Callable[[float], float]) -> Callable[[KernelRecord], KernelRecord]:
    """A kernel of whose times each is what ``ms`` makes of it."""

    def changed(kernel: KernelRecord) -> KernelRecord:
        sets = tuple(replace(s, ms=tuple(map(ms, s.ms))) for s in kernel.sets)
        return replace(kernel, sets=sets, ms=None if kernel.ms is None else ms(kernel.ms))

    return changed


def first_set(**values: Any) -> Change:
    """The first process of one kernel has these ``values``."""

    def changed(kernel: KernelRecord) -> KernelRecord:
        first, *rest = kernel.sets
        return replace(kernel, sets=(replace(first, **values), *rest))

    return one(changed)


def only_first(kernel: KernelRecord) -> KernelRecord:
    """One sample is left."""
    return replace(kernel, sets=(replace(kernel.sets[0], ms=kernel.sets[0].ms[:1]),))


def machine(**values: Any) -> Change:
    """The run's machine has these ``values``."""
    return lambda run: replace(run, machine=replace(run.machine, **values))


CASES: dict[str, Change] = {
    "nothing": lambda run: run,
    "a sample is NaN": sample(NAN),
    "a sample is infinite": sample(INF),
    "a sample is zero": sample(0.0),
    "a sample is negative": sample(-0.01),
    "a sample is 1e300 ms": sample(1e300),
    "a sample is 1e-12 ms": sample(1e-12),
    "the kernel's time is NaN": one(lambda k: replace(k, ms=NAN)),
    "all of a kernel's samples are NaN": one(every(lambda _: NAN)),
    "every sample of every kernel is NaN": lambda run: run.mapped(
        lambda _, k: every(lambda _: NAN)(k)
    ),
    "one sample of a kernel": one(only_first),
    "one sample of every kernel": lambda run: run.mapped(lambda _, k: only_first(k)),
    "no samples, but a time": one(lambda k: replace(k, sets=())),
    "90 equal samples": one(every(lambda _: 0.0183775)),
    "a kernel twice": one(lambda k: (k, k)),
    "a graph twice": lambda run: replace(run, graphs=(run.graphs[0], *run.graphs)),
    "a process of a kernel by another method": first_set(method="events"),
    "a kernel launched -3 times": one(lambda k: replace(k, launches=-3)),
    "a kernel launched 0 times": one(lambda k: replace(k, launches=0)),
    "a clock of NaN": first_set(clock_mhz=NAN),
    "a clock of 0": first_set(clock_mhz=0),
    "cycles of NaN": first_set(cycles=NAN),
    "cycles below 0": first_set(cycles=-1.0),
    "bytes below 0": one(lambda k: replace(k, bytes=-1)),
    "a time that is not its samples'": one(lambda k: replace(k, ms=7 * (k.ms or 1))),
    "no code (empty module)": one(lambda k: replace(k, module="")),
    "a module that is no Python": one(lambda k: replace(k, module="def (:")),
    "the run by another method": lambda run: replace(run, method="events"),
    "another suite": lambda run: replace(run, suite="corpus"),
    "no graphs": lambda run: replace(run, graphs=()),
    "graphs without kernels": lambda run: replace(
        run, graphs=tuple(replace(g, kernels=()) for g in run.graphs)
    ),
    "another GPU than its folder's": machine(gpu="NVIDIA A100-SXM4-80GB"),
    "another driver than its folder's": machine(driver="535.00"),
    "no commit": lambda run: replace(run, commit=""),
    "a date that is none": lambda run: replace(run, created="yesterday"),
}
"""What is changed."""
FILES: dict[str, Callable[[bytes], bytes]] = {
    "the file cut short": lambda data: data[: len(data) // 2],
    "an empty file": lambda _: b"",
    "a text in its place": lambda _: b"hello\n",
}
"""What is changed of the file's bytes."""


def called(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Status, output and errors of the command line."""
    known = {"HARNESS_RESULTS": str(folder / "results"), "HARNESS_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=ROOT,
        env={**os.environ, **known, "COLUMNS": "400", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def at(run: Run, number: int, minutes: int) -> Run:
    """``run`` as another, of its own commit, so many minutes past midnight."""
    when = f"20261122-{minutes // 60:02d}{minutes % 60:02d}00"
    commit = f"{number:04x}" * 10
    created = f"2026-11-22T{minutes // 60:02d}:{minutes % 60:02d}:00+00:00"
    return replace(run, id=f"{when}-{commit[:12]}", commit=commit, created=created)


def saved(folder: Path, run: Run, made: Callable[[bytes], bytes] | None = None) -> Path:
    """Where the run lies, in the folder of the machine that recorded it."""
    path = store.save(folder / "results", run)
    if made is not None:
        path.write_bytes(made(path.read_bytes()))
    return path


def said(out: str, errors: str) -> tuple[dict[str, Any], str]:
    """The JSON document, and its sentences about files, without their folders."""
    document = json.loads(out) if out.startswith("{") else {}
    lines = document.get("problems") or [errors.strip().split("\n")[0]]
    text = " / ".join(lines[:2]) + (f" / {len(lines) - 2} more" if len(lines) > 2 else "")
    return document, re.sub(r"/\S*/(?=\d{8})", "", text).replace("|", "\\|")


def compared(run: Run, change: Change, made: Callable[[bytes], bytes] | None) -> list[str]:
    """What `compare` says, its status, and how many kernels were judged."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = saved(folder, at(run, 1, 10)), saved(folder, change(at(run, 2, 40)), made)
        status, out, errors = called(folder, "compare", *map(str, paths), "--json", "-q")
    document, text = said(out, errors)
    counts = document.get("counts", {})
    judged = sum(counts.values()) - counts.get("INCOMPARABLE", 0)
    return [text or document.get("headline", ""), str(status), str(judged)]


def stepped(run: Run) -> Run:
    """``run`` with one kernel of other code, and 20 % slower."""

    def slower(kernel: KernelRecord) -> KernelRecord:
        code = re.sub(r"^CODE_HASH = .*\n", "", kernel.module, flags=re.MULTILINE)
        begins = code.index("\n    ", code.index("@triton.jit"))
        module = code[:begins] + "\n    more = 1" + code[begins:]
        return replace(every(lambda ms: 1.2 * ms)(kernel), module=module)

    return numbered(run, STEPPING, slower)


def followed(run: Run, change: Change, made: Callable[[bytes], bytes] | None) -> list[str]:
    """What `changes` says, its status, and whether the step is found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(12):
            each = at(run, number + 1, 60 * number + 10)
            each = stepped(each) if number >= 6 else each
            saved(folder, *((change(each), made) if number == 8 else (each, None)))
        status, out, errors = called(folder, "changes", "--order", "time", "--json", "-q")
    document, text = said(out, errors)
    found = [one for one in document.get("changes", []) if abs(one.get("size", 0) - 0.2) < 0.02]
    return [text, str(status), "found" if found else "not found"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", default=str(ROOT / RUN))
    parser.add_argument("--case", nargs="+", choices=[*CASES, *FILES], default=[*CASES, *FILES])
    parser.add_argument("--changes", action="store_true", help="what `changes` says as well")
    asked = parser.parse_args()
    run = store.load(asked.run)
    print("| in B | `compare` says | status | judged | `changes` says | status | step |")
    print("|---|---|---|---|---|---|---|")
    for case in asked.case:
        changed = CASES.get(case, CASES["nothing"]), FILES.get(case)
        cells = compared(run, *changed)
        cells += followed(run, *changed) if asked.changes else ["", "", ""]
        print(f"| {case} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
