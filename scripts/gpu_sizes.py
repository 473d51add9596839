"""Functions compiled for sizes that are not known, called for several, against eager mode and
float64: what a GPU's assembler makes of kernels shows only there.

    python scripts/gpu_sizes.py --out FILE [--seconds 150] [--jobs 12] [--seed 0] [--device cpu]

The functions are those of ``tests/ptx/programs.py``, some called with gradients, with up to 16
million elements. FILE has a line of JSON for each; what is wrong is printed with the seed that
makes it again (``--jobs 1 --seconds 1``), and at last how many were tried and how many were wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
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


def tried(seed: int, device: str, devices: Any) -> dict[str, Any]:
    """The function of a seed, and how its results differ from eager mode's."""
    import torch

    from harness.backend import Compiler
    from harness.conformance.compare import differences
    from tests.ptx.programs import PROGRAMS, matrix, sizes

    rng = random.Random(f"gpu sizes {seed}")
    name, lying = rng.choice([*PROGRAMS]), rng.choice((0, 0, 1, 2, 3))
    dtype = rng.choice((torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64))
    most = rng.choice((200_000, 2_000_000, 16_000_000)) if device != "cpu" else 20_000
    shapes = sorted((sizes(rng, most) for _ in range(6)), key=lambda shape: -min(shape))
    shapes[1:] = rng.sample(shapes[1:], 5)  # a size of 1 would be compiled for itself
    calls = [[matrix(rng, shape, dtype, lying, device)] for shape in shapes]
    gradients = rng.random() < 0.3 and "batches" not in name
    if gradients:
        calls = [[x.detach().requires_grad_()] for (x,) in calls]
    torch.compiler.reset()
    compiler = Compiler(None, devices)
    try:
        found = differences(PROGRAMS[name], calls[0], compiler, dynamic=True, then=calls[1:])
    except RuntimeError as error:  # as a rule the GPU's memory, which others use too
        found = [f"not judged: {str(error)[:200]}"]
    del calls
    if device != "cpu":
        torch.cuda.empty_cache()  # the other processes' too
    row = {"seed": seed, "name": name, "type": str(dtype), "shapes": shapes, "lying": lying}
    kernels = sum(report.kernels for report in compiler.reports)
    told = [
        text for report in compiler.reports for text in (*report.failures, report.eager) if text
    ]
    return {**row, "gradients": gradients, "kernels": kernels, "torch": told, "found": [*found]}


def work(given: argparse.Namespace) -> None:
    """Seeds one after the other until the seconds are over."""
    from harness.backend import Devices

    warnings.simplefilter("ignore")
    end, seed = time.monotonic() + given.seconds, given.seed
    with tempfile.TemporaryDirectory() as folder:
        devices = Devices(cache=Path(folder), jobs=1)
        while time.monotonic() < end:
            row = tried(seed, given.device, devices)
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
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    given = parser.parse_args()
    if given.jobs == 1:
        work(given)
    else:
        common = ["--out", given.out, "--seconds", given.seconds, "--device", given.device]
        started = [
            subprocess.Popen(
                [sys.executable, __file__, *map(str, common), "--jobs", "1"]
                + ["--seed", str(given.seed + number * APART)]
            )
            for number in range(given.jobs)
        ]
        for process in started:
            process.wait()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    if given.jobs > 1 or given.seconds <= 1:
        for row in rows:
            if row["found"] or row["torch"]:
                print(f"{row['seed']}: {json.dumps(row)[:700]}")
        wrong = sum(bool(row["found"]) for row in rows)
        kernels = sum(row["kernels"] for row in rows)
        print(f"{len(rows)} functions, {kernels} kernels, {6 * len(rows)} calls, {wrong} wrong")


if __name__ == "__main__":
    main()
