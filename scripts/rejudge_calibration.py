#!/usr/bin/env python
"""Judge calibrations again from their samples, with the verdict rules of this checkout.

    scripts/rejudge_calibration.py results/MACHINE/calibration-*.cells.jsonl.gz

Reads each journal of samples (``gzip`` of what ``harness calibrate`` writes while it measures) and
rewrites ``calibration-ID.json`` beside it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from harness.calibration.record import Calibration
from harness.calibration.run import conclude
from harness.calibration.store import CalibrationJournal, load
from harness.measure.noise.judge import Rules
from harness.records.run import to_json

_CELLS = ".cells.jsonl.gz"


def _journal(path: Path) -> CalibrationJournal:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "cells.jsonl"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        with CalibrationJournal.open(plain) as journal:
            return journal


def rejudge(path: Path) -> Calibration:
    """Judge the samples at ``path`` and write the calibration beside them."""
    journal = _journal(path)
    rules = Rules(alpha=journal.header.alpha, margin=journal.header.margin)
    found = conclude(journal, len(journal.subjects), rules)
    target = path.with_name(path.name.removesuffix(_CELLS) + ".json")
    target.write_text(json.dumps(to_json(found)) + "\n", encoding="utf-8")
    return load(target)


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
