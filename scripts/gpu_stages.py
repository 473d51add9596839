"""A ``harness`` command with the seconds of its stages: what its processes did on GPUs, and when.

    python scripts/gpu_stages.py FILE run --suite corpus --sample 20 --against inductor,eager
    STAGES_STACKS=no python scripts/gpu_stages.py FILE run --suite corpus --sample 20
    python scripts/gpu_stages.py FILE

The first appends to FILE a line of JSON for each job of a process, and for each list of jobs of
several processes: what, where, when it began (seconds from the start of the command), what it took.
Steps of a comparison have lines of their own, and so have what is tuning of a timing and the whole
command. All end with (the last one only prints) seconds by stage, and what each process that times
was idle for. Beside FILE, ``FILE.stacks`` has where the processes that time were, looked at every
few milliseconds: what they wait for on the host is not the device. The second one does not look.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE, BEGAN, STACKS = "STAGES_FILE", "STAGES_BEGAN", "STAGES_STACKS"
"""Variables that worker processes are told by."""
_LOOK_SECONDS = 0.004
_FRAMES, _PLACES = 30, 40


def keep(what: str, began: float, **more: object) -> None:
    """Append a line for what began at that moment and ends now."""
    took, at = time.monotonic() - began, began - float(os.environ[BEGAN])
    line = json.dumps({"what": what, "at": round(at, 4), "s": round(took, 4), **more})
    with open(os.environ[FILE], "a") as lines:
        lines.write(line + "\n")


@contextmanager
def looked_at(what: str) -> Iterator[None]:
    """Look where this thread is every few milliseconds; add a line for each place, the innermost
    frame last, with how often that was."""
    if os.environ.get(STACKS) == "no":
        yield
        return
    found, over, me = Counter[str](), threading.Event(), threading.get_ident()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            frame, frames = sys._current_frames().get(me), list[str]()
            while frame is not None and len(frames) < _FRAMES:
                code = frame.f_code
                frames.append(f"{Path(code.co_filename).stem}.{code.co_name}:{frame.f_lineno}")
                frame = frame.f_back
            found[";".join(reversed(frames))] += 1

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        with open(f"{os.environ[FILE]}.stacks", "a") as lines:
            lines.writelines(f"{what};{place} {count}\n" for place, count in found.items())


def compared(context: Any, job: Any) -> Any:
    """``compare_region``, its steps kept: takes the place of that handler in a worker."""
    from harness.measure.peers.worker import compare_region

    inner, now, began = context.step, "inputs and float64", time.monotonic()

    def step(name: str) -> None:
        nonlocal now, began
        keep(f"  {now}", began)
        now, began = name, time.monotonic()
        inner(name)

    context.step = step
    try:
        with looked_at("compare"):
            return compare_region(context, job)
    finally:
        context.step = inner
        keep(f"  {now}", began)


def checked(context: Any, job: Any) -> Any:
    """``check``, looked at."""
    from harness.measure import worker

    with looked_at("check"):
        return worker.check(context, job)


def timed(context: Any, job: Any) -> Any:
    """``time``, its tuning kept: takes the place of that handler in a worker."""
    from harness.measure import worker
    from harness.runtime.tune.autotune import CachingAutotuner

    tune = CachingAutotuner.tune

    @functools.wraps(tune)
    def noted(*given: Any, **named: Any) -> Any:
        began = time.monotonic()
        try:
            return tune(*given, **named)
        finally:
            keep("  tuning", began)

    setattr(CachingAutotuner, "tune", noted)  # noqa: B010 - mypy knows no other way
    try:
        with looked_at("time"):
            return worker.time(context, job)
    finally:
        setattr(CachingAutotuner, "tune", tune)  # noqa: B010


def watch() -> None:
    """Have every pool of this process keep what its jobs take."""
    from harness.devices.pool import Pool
    from harness.measure.jobs import CheckKernel, TimeKernel
    from harness.measure.peers.jobs import CompareJob

    CompareJob.handler, TimeKernel.handler = f"{_NAME}:compared", f"{_NAME}:timed"
    CheckKernel.handler = f"{_NAME}:checked"

    def noted(inner: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(pool: Any, given: Any) -> Any:
            began, jobs = time.monotonic(), given if name == "all" else [given]
            try:
                return inner(pool, given)
            finally:
                if jobs:
                    place = pool._places[0].device.name if name == "run" else "several"
                    keep(type(jobs[0]).__name__, began, where=place, jobs=len(jobs))

        return call

    for name in ("run", "all"):
        setattr(Pool, name, noted(getattr(Pool, name), name))


_NAME = "scripts.gpu_stages"


def summary(file: Path) -> str:
    """Seconds by stage and idle seconds by process."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    stages, places = defaultdict(list), defaultdict(list)
    for row in rows:
        stages[row["what"]].append(row["s"])
        if row.get("where", "several") != "several":
            places[row["where"]].append(row)
    lines = [f"{'':24}{'times':>7}{'sum':>9}{'mean':>8}{'median':>8}{'most':>8}"]
    for what, s in stages.items():
        figures = f"{sum(s):9.1f}{statistics.mean(s):8.3f}{statistics.median(s):8.3f}{max(s):8.2f}"
        lines.append(f"{what:24}{len(s):7}{figures}")
    for place, own in sorted(places.items()):
        own.sort(key=lambda row: row["at"])
        ends = [row["at"] + row["s"] for row in own]
        gaps = [row["at"] - end for row, end in zip(own[1:], ends, strict=False)]
        kernels = [row for row in own if row["what"] == "TimeKernel"]
        first = min((row["at"] for row in kernels), default=float("nan"))
        late = sorted((g for g in gaps if g > 0.5), reverse=True)[:5]
        waits = ", ".join(f"{gap:.1f}" for gap in late)
        lines.append(
            f"{place[:20]}: first kernel timed at {first:.1f} s, last job ended at {max(ends):.1f},"
            f" idle between jobs {sum(g for g in gaps if g > 0):.1f} s (longest {waits or 'none'})"
        )
    return "\n".join(lines)


def places(file: Path) -> str:
    """Where the processes that time were, by kind of job: the innermost three frames."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line in file.read_text().splitlines() if file.exists() else ():
        stack, _, count = line.rpartition(" ")
        kind, *frames = stack.split(";")
        found[kind][" < ".join(reversed(frames[-3:]))] += int(count)
    lines = []
    for kind, counts in found.items():
        whole = sum(counts.values())
        lines.append(f"{kind}: {whole} looks")
        lines += [f"{n / whole:8.1%}  {place}" for place, n in counts.most_common(_PLACES)]
    return "\n".join(lines)


def main() -> None:
    """Run the command, if there is one, and print what is in the file."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    file = Path(sys.argv[1]).resolve()
    file.touch()
    root, began = str(Path(__file__).resolve().parent.parent), time.monotonic()
    try:
        if command := sys.argv[2:]:
            sys.path.insert(0, root)
            os.environ.update({FILE: str(file), BEGAN: str(began)})
            watch()
            from harness.cli.app import app

            app(command, prog_name="harness")
    finally:
        if BEGAN in os.environ:
            keep("the command", began)
        print(summary(file))
        print(places(Path(f"{file}.stacks")))


if __name__ == "__main__":
    main()
