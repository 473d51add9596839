"""The same graph gives the same program, whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
import hashlib, sys
from pathlib import Path
from harness.graph.lowering import lower
from harness.graph.partition.regions import partition
from harness.graph.text import load
from harness.ir.printer import dump

total = hashlib.sha256()
for path in sorted(Path("suites/graphs/small").glob("*.py")):
    for region in partition(load(path)).regions:
        total.update(dump(lower(region.graph)).encode())
print(total.hexdigest())
"""


def test_programs_do_not_depend_on_the_hash_seed() -> None:
    digests = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
