#!/usr/bin/env python
"""Judge calibrations again from their samples, with the verdict rules of this checkout.

    scripts/rejudge_calibration.py results/MACHINE/calibration-*.cells.jsonl.gz

Reads each file of samples (a line for the calibration as it began, for each subject, each cell) and
rewrites ``calibration-ID.json`` beside it.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from harness.calibration.record import Calibration, Cell, Subject, load, save
from harness.calibration.run import conclude
from harness.measure.noise.judge import Rules
from harness.records.run import from_json


def rejudge(path: Path) -> Calibration:
    """Judge the samples at ``path`` and write the calibration beside them."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    start = from_json(Calibration, lines[0]["calibration"], str(path))
    subjects = from_json(tuple[Subject, ...], _those(lines, "subject"), str(path))
    cells = from_json(tuple[Cell, ...], _those(lines, "cell"), str(path))
    rules = Rules(alpha=start.alpha, margin=start.margin)
    by_key = {one.key: one for one in subjects}
    return load(save(path.parent, conclude(start, list(by_key.values()), cells, rules)))


def _those(lines: list[dict[str, Any]], kind: str) -> list[Any]:
    return [line[kind] for line in lines if kind in line]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="+", type=Path)
    chosen = parser.parse_args()
    for path in chosen.cells:
        found = rejudge(path)
        alarms = ", ".join(f"{m.name} {m.false_alarms.found}" for m in found.modes)
        print(f"{path.name}: {len(found.kernels)} kernels; false alarms: {alarms}")


if __name__ == "__main__":
    main()
