"""Functions compiled for sizes that are not known, called for several, against eager mode and
float64: what a GPU's assembler makes of kernels shows only there.

    python scripts/gpu_sizes.py --out FILE [--seconds 150] [--jobs 12] [--seed 0] [--device cpu]
                                [--memory 40]

The functions are those of ``tests/ptx/programs.py``, some called with gradients, with up to 16
million elements. FILE has a line of JSON for each; what is wrong is printed with the seed that
makes it again (``--jobs 1 --seconds 1``), and at last how many were tried, wrong, not judged and
ended in the middle: telling rounding from faults takes up to 61 repeats of a function, all of whose
results are kept. So the processes have a share of ``--memory`` (GB) each, and no call begins after
``--seconds``; what is under way then ends within a fifth of them more, or is ended.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
APART = 1_000_000
"""Between the first seeds of two processes."""
CALLS = 6
"""Of a function."""
UNJUDGED = "not judged"
"""How the row of one begins whose comparison itself failed, as a rule for want of memory."""
WANTING = re.compile("out of memory|CUBLAS_STATUS_ALLOC_FAILED", re.IGNORECASE)
GRACE = 0.2
"""Of the seconds, what the last functions have to end by themselves."""


def tried(seed: int, device: str, devices: Any, end: float = math.inf) -> dict[str, Any]:
    """The function of a seed, and how its results differ from eager mode's; no call of it begins
    after ``end``."""
    import torch

    from harness.backend import Compiler
    from harness.conformance.compare import differences
    from tests.ptx.programs import calls

    rng = random.Random(f"gpu sizes {seed}")
    most = rng.choice((200_000, 2_000_000, 16_000_000)) if device != "cpu" else 20_000
    function, (first, *then), what = calls(rng, CALLS, most, device)
    torch.compiler.reset()
    compiler = Compiler(None, devices)
    try:
        timely = (others for others in then if time.monotonic() < end)
        found = differences(function, first, compiler, dynamic=True, then=timely)
    except RuntimeError as error:  # as a rule the GPU's memory, which others use too
        found = [f"{UNJUDGED}: {str(error)[:200]}"]
    if any(map(WANTING.search, found)):  # in one of both ways alone
        found = [f"{UNJUDGED}: {found[0][:200]}"]
    del first, then
    if device != "cpu":
        torch.cuda.empty_cache()  # the other processes' too
    reports = compiler.reports
    told = [text for report in reports for text in (*report.failures, report.eager) if text]
    kernels = sum(report.kernels for report in reports)
    return {"seed": seed, "what": what, "kernels": kernels, "torch": told, "found": [*found]}


def work(given: argparse.Namespace, seed: int, end: float) -> None:
    """Seeds one after the other until the time ``end``."""
    import torch

    from harness.backend import Devices

    warnings.simplefilter("ignore")
    if given.device != "cpu":
        whole = torch.cuda.get_device_properties(0).total_memory
        share = given.memory * 1e9 / given.jobs / whole
        torch.cuda.set_per_process_memory_fraction(min(1.0, share))
    with tempfile.TemporaryDirectory() as folder:
        devices = Devices(cache=Path(folder), jobs=1)
        while time.monotonic() < end:
            row = tried(seed, given.device, devices, end)
            with given.out.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
            seed += 1
        devices.close()


def main() -> None:
    """Several processes, then what they found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="a line of JSON for each function")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--memory", type=float, default=40, help="GB of the GPU's, of all processes"
    )
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    given = parser.parse_args()
    given.out.write_text("")
    fresh, end = multiprocessing.get_context("spawn"), time.monotonic() + given.seconds
    seeds = (given.seed + number * APART for number in range(given.jobs))
    processes = [fresh.Process(target=work, args=(given, seed, end)) for seed in seeds]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(0.0, end + GRACE * given.seconds - time.monotonic()))
    late = [process for process in processes if process.is_alive()]
    for process in late:
        process.terminate()
        process.join()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    for row in rows:
        if row["found"] or row["torch"]:
            print(json.dumps(row)[:700])
    said = [str(row["found"][0]) for row in rows if row["found"]]
    aside = sum(one.startswith(UNJUDGED) for one in said)
    kernels = sum(row["kernels"] for row in rows)
    print(
        f"{len(rows)} functions, {kernels} kernels, {CALLS * len(rows)} calls, "
        f"{len(said) - aside} wrong, {aside} not judged, "
        f"{len(late)} ended in the middle"
    )


if __name__ == "__main__":
    main()
