"""Whole nights (``harness nightly``) of a commit that changed texts and no speed, as many as fit.

    python scripts/repeat_nights.py prepare FOLDER                 anywhere; no GPU is used
    python scripts/repeat_nights.py spend FOLDER [--seconds 120]   on a machine with one GPU or more
    python scripts/repeat_nights.py table FOLDER…                  nights that were spent

``FOLDER/other`` is this package, whose compiler gives every second kernel a statement more that
Triton drops: other text, the same instructions. ``prepare`` records what both compilers make.
``spend`` makes two runs of that on the machine at hand, each kernel in its first configuration, and
accepts the first; then ``harness nightly`` of the other package follows on itself until the time is
used up, on each GPU by itself. Nothing may be red. A few nights of this package, in which
nothing at all changed, come last.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.history import nights, store
from harness.history.nights import Night
from harness.records import modules
from harness.records.machine import fingerprint
from harness.records.run import Check, KernelRecord, Run

HERE = Path(__file__).resolve().parent.parent
GRAPHS = ("unet_up_block_forward",)
_RENDERED = "    helpers, tail = function(plan)\n"
_MORE = """\
    if number % 2 == 0:
        again = r"\\1\\2\\n\\1dropped = tmp0 == tmp0\\n"
        tail = re.sub(r"(?m)^( +)(tmp0 = .*)\\n", again, tail, count=1)
"""
_MAIN = "from harness.cli.main import main; main()"
_UNCHANGED = 3


def harness(package: Path, words: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ``package``."""
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {"PYTHONPATH": path, "HARNESS_SUITES": str(HERE / "suites"), **settings}
    command = [sys.executable, "-P", "-c", _MAIN, *words]
    return subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, check=False
    )


def prepare(folder: Path) -> None:
    """The other package, and what both make."""
    other = folder / "other"
    shutil.rmtree(folder, ignore_errors=True)
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE / "harness", other / "harness", ignore=hidden)
    rendering = other / "harness/codegen/kernel.py"
    text = rendering.read_text()
    assert text.count(_RENDERED) == 1
    rendering.write_text(text.replace(_RENDERED, _RENDERED + _MORE))
    for name, package in (("a", HERE), ("b", other)):
        made = folder / name
        where = {"HARNESS_RESULTS": str(made), "HARNESS_CACHE": str(folder / "cache")}
        words = ["run", *GRAPHS, "--no-timing", "--target", "h200"]
        done = harness(package, words, **where, HARNESS_COMMIT=(name * 40))
        print(done.stdout[-600:], done.stderr[-600:])
        (path,) = made.glob("*/*.parquet")
        path.rename(folder / f"{name}.parquet")
        shutil.rmtree(made)
    shutil.rmtree(folder / "cache")


def recorded(path: Path, number: int) -> Run:
    """A prepared run as one of this machine."""

    def known(_: str, kernel: KernelRecord) -> KernelRecord:
        best = modules.facts(kernel.module).best
        return replace(kernel, config=dict(best) if best else None, check=Check.PASSED)

    run = store.load(path)
    machine = fingerprint()
    name = f"20260101-00000{number}-{run.commit[:12]}"
    return replace(run, id=name, machine=machine, suite="default").mapped(known)


def spend(folder: Path, seconds: float) -> None:
    """Nights on every GPU."""
    import torch

    until = time.monotonic() + seconds
    runs = [recorded(folder / f"{name}.parquet", n) for n, name in enumerate("ab")]
    count = max(1, torch.cuda.device_count())
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(lambda gpu: chain(folder, gpu, runs, until), range(count)))


def chain(folder: Path, gpu: int, runs: list[Run], until: float) -> None:
    """One night after the other on a GPU."""
    results = folder / f"gpu{gpu}"
    for run in runs:
        store.save(results, run)
    baseline = nights.Accepted(runs[0].id, runs[0].commit, "the script", runs[0].created, "start")
    nights.accept(results / runs[0].machine.key, baseline)
    took, number, stop, kept = 0.0, 0, 200, 6.0 * _UNCHANGED
    package = folder / "other"
    while number < stop:
        left = until - time.monotonic()
        if package != HERE and left < kept + 1.2 * took:
            package, took, stop = HERE, 0.0, number + _UNCHANGED
        if package == HERE and left < 1.2 * took:
            break
        began = time.monotonic()
        done = harness(
            package,
            ["nightly", *GRAPHS, "--jobs", "8"],
            CUDA_VISIBLE_DEVICES=str(gpu),
            HARNESS_RESULTS=str(results),
            HARNESS_CACHE=str(folder / f"cache{gpu}"),
            HARNESS_COMMIT=hashlib.sha1(f"{gpu} {number}".encode()).hexdigest(),
        )
        number, took = number + 1, time.monotonic() - began
        said = done.stdout if done.returncode in (0, 1, 4) else done.stdout + done.stderr
        with (results / "log.txt").open("a") as log:
            log.write(f"exit {done.returncode} after {took:.1f} s\n{said[-3000:]}\n")


def table(folders: list[Path]) -> None:
    """A row a night."""
    print("| night | GPU | status | changed | controls | flagged | offset % | seconds: generate,")
    print("examine, time, confirm | of the command |")
    for folder in folders:
        for results in sorted(folder.glob("gpu*")):
            log = (results / "log.txt").read_text()
            walls = re.findall(r"^exit (\d+) after ([\d.]+) s", log, re.MULTILINE)
            spent = [nights.load(path) for path in nights.nights(results)]
            for one, (status, wall) in zip(spent, walls, strict=False):
                print(_row(one, results.name, status, wall))


def _row(one: Night, gpu: str, status: str, wall: str) -> str:
    trust, phases = one.trust, ("generate", "examine", "time", "confirm")
    seconds = ", ".join(f"{one.seconds[p]:.1f}" if p in one.seconds else "–" for p in phases)
    offset = "–" if trust.offset is None else f"{100 * trust.offset:+.2f}"
    changed = sum(n for what, n in one.counts.items() if what != "same")
    flagged = ", ".join(trust.flagged) or "0"
    cells = (one.id, gpu, status, changed, trust.controls, flagged, offset, seconds, wall)
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("prepare", "spend", "table"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    if asked.what == "prepare":
        prepare(asked.folders[0].resolve())
    elif asked.what == "spend":
        spend(asked.folders[0].resolve(), asked.seconds)
    table(asked.folders if asked.what != "prepare" else [])


if __name__ == "__main__":
    main()
