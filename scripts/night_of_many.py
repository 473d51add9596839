"""A night in which ten of several thousand kernels changed.

    python scripts/night_of_many.py prepare FOLDER [PATTERN…]        generates; no GPU is used
    python scripts/night_of_many.py spend FOLDER [WORDS OF nightly]  on a machine with a GPU
    python scripts/night_of_many.py table FOLDER                     the night that was spent

``prepare`` makes a run of the corpus (patterns of graphs; default: 2,900 of them, about 6,300
kernels), each kernel in its first configuration, without a time, and accepts it as the baseline of
the machine at hand. ``FOLDER/other`` is this package, whose compiler writes something more into ten
of the kernels: into eight a statement that Triton drops (other text, the same instructions), into
two so many sines that they become slower and compute the same. ``spend`` is ``harness nightly`` of
that package: the two must be red, the eight not.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.errors import HarnessError
from harness.history import nights, store
from harness.options import current
from harness.records import modules
from harness.records.machine import fingerprint
from harness.records.run import GraphRecord, KernelRecord, Run
from harness.session.ahead import all_generated
from harness.session.entries import find_entries
from harness.session.model import blank
from harness.target import H200, Target

HERE = Path(__file__).resolve().parent.parent
PATTERNS = ("*0", "*1", "*2", "*[0-4]3")
SLOWER, CHANGED = 2, 10
_LEAST, _MOST = 4e6, 4e8
"""Bytes of a kernel that is changed: some microseconds, and not so many that tuning it is all."""
_FUNCTION = re.compile(r"^@triton\.jit[^\n]*\ndef (\w+)(\(.*?\n)\n", re.MULTILINE | re.DOTALL)
_LOAD = re.compile(r"(?m)^( +)(tmp\d+)( = tl\.load\(.*)\n")
_RENDERED = "    helpers, tail = function(plan)\n"
_MORE = "    tail = _planted(tail)\n"
_PLANTED = '''

def _planted(tail: str) -> str:
    """``tail`` with something more, if it is one of those that change."""
    slower = _CHANGED.get(hashlib.sha256(tail.encode()).hexdigest())
    if slower is None:
        return tail
    more = r"\\1\\2\\3\\n\\1dropped = \\2 == \\2\\n"
    if slower:
        sines = "tl.sin(" * 12 + r"\\2" + " * 1.5)" * 12
        more = rf"\\1\\2\\3\\n\\1\\2 = tl.where({sines} > 2.0, 1.0, \\2)\\n"
    return re.sub(r"(?m)^( +)(tmp\\d+)( = tl\\.load\\(.*)\\n", more, tail, count=1)
'''


def machine_target() -> Target:
    """The GPU at hand, else an H200."""
    from harness.runtime import device

    return device.current_target() if device.is_available() else H200


def prepare(folder: Path, patterns: Sequence[str]) -> None:
    """The baseline, and the other package."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    options, target = current(), machine_target()
    entries = find_entries(options, "corpus", patterns, target)
    graphs = []
    for entry, made in all_generated(entries, options.jobs, None):
        if isinstance(made, HarnessError):
            graphs.append(GraphRecord(entry.name, reason=str(made)))
            continue
        kernels = [blank(kernel) for kernel in made.kernels]
        kernels = [replace(k, config=modules.facts(k.module).best) for k in kernels]
        graphs.append(GraphRecord(entry.name, made.library_calls, (*kernels, *made.failures)))
    graphs.sort(key=lambda graph: graph.name)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    about = (f"{now:%Y%m%d-%H%M%S}-{'a' * 12}", now.isoformat(), fingerprint())
    run = Run(*about, f"sm_{target.capability}", suite="corpus", commit="a" * 40)
    run = replace(run, graphs=tuple(graphs))
    store.save(folder / "results", run)
    baseline = nights.Accepted(run.id, run.commit, "the script", run.created, "start")
    nights.accept(folder / "results" / run.machine.key, baseline)
    chosen = planted(run)
    other_package(folder / "other", chosen)
    kept = {"patterns": list(patterns), "planted": {k.name: s for k, s in chosen}}
    (folder / "prepared.json").write_text(json.dumps(kept))
    took = time.monotonic() - began
    print(f"{len(run.graphs)} graphs, {len(run.kernels)} kernels, {took:.1f} s; changed:")
    for kernel, slower in chosen:
        print(f"  {kernel.bytes / 1e6:8.1f} MB {'slower' if slower else 'as fast'}  {kernel.name}")


def planted(run: Run) -> list[tuple[KernelRecord, bool]]:
    """Kernels that change, spread evenly over the suite, and whether they become slower: those
    whose text the suite has once, which load float32, and are neither tiny nor huge."""
    texts = Counter(body for k in run.kernels if (body := body_of(k)))
    fitting = [
        kernel
        for kernel in run.kernels
        if kernel.launches == 1
        and _LEAST <= kernel.bytes <= _MOST
        and (body := body_of(kernel))
        and texts[body] == 1
        and _LOAD.search(body)
        and set(re.findall(r'"\*(\w+)"', _line(kernel.module, "SIGNATURE"))) == {"fp32"}
    ]
    step = len(fitting) / CHANGED
    chosen = [fitting[int(step * (n + 0.5))] for n in range(min(CHANGED, len(fitting)))]
    return [(kernel, n % (CHANGED // SLOWER) == 0) for n, kernel in enumerate(chosen)]


def _line(text: str, name: str) -> str:
    found = re.search(rf"^{name} = (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def body_of(kernel: KernelRecord) -> str:
    """A kernel's own function from its parameters on; empty where it is not written like that."""
    return next(
        (body for name, body in _FUNCTION.findall(kernel.module) if name == kernel.name), ""
    )


def other_package(folder: Path, chosen: Sequence[tuple[KernelRecord, bool]]) -> None:
    """A copy of this package, with a compiler that changes the ``chosen`` kernels."""
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE / "harness", folder / "harness", ignore=hidden)
    path = folder / "harness/codegen/kernel.py"
    text = path.read_text()
    assert text.count(_RENDERED) == 1
    known = {hashlib.sha256(body_of(k).encode()).hexdigest(): slower for k, slower in chosen}
    text = text.replace(_RENDERED, _RENDERED + _MORE) + _PLANTED + f"\n\n_CHANGED = {known!r}\n"
    path.write_text(text)


def spend(folder: Path, words: Sequence[str]) -> None:
    """The night, its progress beside the seconds since its start."""
    known = json.loads((folder / "prepared.json").read_text())
    main = "from harness.cli.main import main; main()"
    command = [sys.executable, "-P", "-c", main, "nightly", "--suite", "corpus", *known["patterns"]]
    path = os.pathsep.join([str(folder / "other"), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {
        "PYTHONPATH": path,
        "HARNESS_SUITES": str(HERE / "suites"),
        "HARNESS_RESULTS": str(folder / "results"),
        "HARNESS_CACHE": str(folder / "cache"),
        "HARNESS_COMMIT": "b" * 40,
    }
    began = time.monotonic()
    with (folder / "night.txt").open("w") as out, (folder / "progress.txt").open("w") as log:
        process = subprocess.Popen(
            [*command, "-v", *words],
            env={**os.environ, **given},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            log.write(f"{time.monotonic() - began:7.2f} {line}")
            log.flush()
        status = process.wait()
    took = time.monotonic() - began
    (folder / "took.json").write_text(json.dumps({"status": status, "seconds": took}))


def table(folder: Path) -> None:
    """What the night says, and its phases."""
    took = json.loads((folder / "took.json").read_text())
    print((folder / "night.txt").read_text()[:6000])
    for path in nights.nights(folder / "results")[-1:]:
        one = nights.load(path)
        print("| phase | seconds |\n|---|---|")
        for name, seconds in one.seconds.items():
            print(f"| {name} | {seconds:.1f} |")
        print(f"| command | {took['seconds']:.1f} |")
        print(f"counts {one.counts}, {one.trust}")
        for found in one.findings:
            ratio = "–" if found.ratio is None else f"{found.ratio:.4f}"
            words = (found.change.value, found.verdict, ratio, found.old_us, found.new_us)
            print(*words, found.kernel, found.reason)
    print(f"exit status {took['status']}")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("prepare", "spend", "table"))
    parser.add_argument("folder", type=Path)
    asked, words = parser.parse_known_args()
    folder = asked.folder.resolve()
    if asked.what == "prepare":
        prepare(folder, words or PATTERNS)
        return
    if asked.what == "spend":
        spend(folder, words)
    table(folder)


if __name__ == "__main__":
    main()
