"""Add what `harness fuzz --journal` wrote to the log of random programs.

    python scripts/fuzz_log.py JOURNAL --commit COMMIT --where "cpu, torch 2.11, triton 3.6"
    python scripts/fuzz_log.py          # a row of each batch that the log has

A line of the log is a program: commit, where it ran, seed, kernels, library calls, whether torch
itself differs; of one that is wrong also what is, and a small program that shows it. Programs of
this commit and place that the log has already stay as they are. Prints the row for the page.
A batch is the programs of one commit and place.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LOG = Path(__file__).resolve().parent.parent / "docs" / "measurements" / "fuzz-log.jsonl.gz"
_CACHE = re.compile(r"/\S*?/\.cache/harness/")
_PACKAGES = re.compile(r"/[^\s:\"']*?/site-packages/")

Line = dict[str, Any]


def line(trial: Line, commit: str, where: str) -> Line:
    """A line of the log for a line of a journal, without the paths of a machine."""
    kept: Line = {"commit": commit, "where": where}
    kept |= {name: trial[name] for name in ("seed", "kernels", "library_calls")}
    kept |= {"torchs": bool(trial["torchs"])}
    if trial["faults"]:
        told = [
            _PACKAGES.sub("", _CACHE.sub("~/.cache/harness/", text)) for text in trial["faults"]
        ]
        kept |= {"faults": told, "program": trial["program"]}
    return kept


def add(journal: Path, log: Path, commit: str, where: str) -> Sequence[Line]:
    """The lines of this ``commit`` and place that ``log`` has afterwards, by seed. Text of the
    same lines is the same file, byte by byte."""
    old = gzip.decompress(log.read_bytes()).decode() if log.exists() else ""
    known = [json.loads(text) for text in old.splitlines()]
    here = {one["seed"]: one for one in known if (one["commit"], one["where"]) == (commit, where)}
    told = [json.loads(text) for text in journal.read_text().splitlines()]
    new = {one["seed"]: line(one, commit, where) for one in told if one.get("seed") not in here}
    added = [new[seed] for seed in sorted(new)]
    text = old + "".join(json.dumps(one) + "\n" for one in added)
    log.write_bytes(gzip.compress(text.encode(), mtime=0))
    return sorted([*here.values(), *added], key=lambda one: int(one["seed"]))


def row(lines: Sequence[Line]) -> str:
    """The row of the page's table: commit, programs, right, wrong, torch's own, kernels, calls."""
    wrong = sum("faults" in one for one in lines)
    sums = [sum(one[name] for one in lines) for name in ("torchs", "kernels", "library_calls")]
    seeds = f"{lines[0]['seed']} to {lines[-1]['seed']}"
    cells = [lines[0]["commit"], seeds, f"{len(lines) - wrong} of {len(lines)}", wrong, *sums]
    return f"| {' | '.join(map(str, cells))} |"


def batches(log: Path) -> Iterator[str]:
    """The row of each batch of ``log``, in the order of their first seeds."""
    lines = [json.loads(text) for text in gzip.decompress(log.read_bytes()).decode().splitlines()]
    lines.sort(key=lambda one: int(one["seed"]))
    kept: dict[tuple[str, str], list[Line]] = {}
    for one in lines:
        kept.setdefault((one["commit"], one["where"]), []).append(one)
    for (_, where), batch in kept.items():
        yield f"{row(batch)} {where} |"


def main() -> None:
    """Read the command line, add to the log."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("journal", type=Path, nargs="?")
    parser.add_argument("--commit", help="what the programs ran on")
    parser.add_argument("--where", help="the device and the versions")
    parser.add_argument("--log", type=Path, default=LOG)
    given = parser.parse_args()
    if given.journal is None:
        print(*batches(given.log), sep="\n")
        return
    if not (given.commit and given.where):
        parser.error("a journal needs --commit and --where")
    print(row(add(given.journal, given.log, given.commit, given.where)))


if __name__ == "__main__":
    main()
