"""A run on one GPU and the same run on several: seconds by stage, medians, clocks and power.

    python scripts/gpu_boards.py run --devices 0 --processes 3 --out one.json gpt2_forward …
    python scripts/gpu_boards.py run --devices all --processes 3 --out two.json gpt2_forward …
    python scripts/gpu_boards.py compare one.json two.json

Nothing is recorded but FILE. What has to be compiled is compiled by whichever run comes first: with
a cache of its own (HARNESS_CACHE) and one run before, the others time and nothing else. The boards'
shares are kept in HARNESS_RESULTS, so that two runs on the same boards share graphs alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

BEGAN = time.monotonic()


def run(graphs: list[str], devices: str, processes: int, out: Path) -> None:
    """One run, written to ``out``."""
    from harness import options
    from harness.measure.timer.state import summary
    from harness.records.run import to_json
    from harness.session.plan import Request, prepare
    from harness.session.spread import Fleet

    moments = {"imported": _now()}
    request = Request(names=tuple(graphs), timing=True, processes=processes, devices=devices)
    with prepare(options.current(), request) as plan:
        moments["set up"] = _now()
        records = _followed(plan.session.events(), moments)
        moments["end"] = _now()
        session, gpu = plan.session, plan.ended(plan.run).machine.gpu_uuid
        boards = session.boards if isinstance(session, Fleet) else [session.device]
        homes = session.homes.read()[1] if isinstance(session, Fleet) else {}
        states = {b.name: to_json(summary(list(b.readings))) for b in boards if b is not None}
    moments["GPUs given back"] = _now()
    kernels = {
        f"{graph.name}/{kernel.name}": [s.median for s in kernel.sets]
        for graph in records.values()
        for kernel in graph.kernels
    }
    failed = [name for name, graph in records.items() if graph.failed]
    document = {"moments": moments, "kernels": kernels, "states": states, "failed": failed}
    document |= {"gpu": gpu, "devices": devices, "homes": homes}
    out.write_text(json.dumps(document, indent=1))
    print(f"{devices}: {len(kernels)} kernels, {len(failed)} graphs with failures")
    for name, at in moments.items():
        print(f"  {at:7.2f} s  {name}")
    for name, state in states.items():
        print(f"  {name}: {state}")


def _now() -> float:
    return time.monotonic() - BEGAN


def _followed(events: Iterable[Any], moments: dict[str, float]) -> dict[str, Any]:
    """The graphs' records as they are at the end."""
    from harness.session import model

    records: dict[str, Any] = {}
    for event in events:
        match event:
            case model.GraphCompiled():
                moments.setdefault("code generated", _now())
            case model.KernelDone():
                moments.setdefault("first kernel", _now())
                moments["last kernel"] = _now()
            case model.ProcessStarted():
                moments[f"process {event.process} begun"] = _now()
            case model.TimedAgain():
                moments.setdefault("first kernel again", _now())
            case model.BoardLost():
                print(event, file=sys.stderr)
            case model.GraphDone():
                records[event.record.name] = event.record
            case _:
                pass
    return records


def compare(one: Path, other: Path) -> None:
    """Throughputs and medians of two runs."""
    a, b = (json.loads(path.read_text()) for path in (one, other))
    print(f"{'seconds':32}{a['devices']:>10}{b['devices']:>10}  times")
    spans = [
        ("all", None, "GPUs given back"),
        ("set up to end", "set up", "end"),
        ("first check to end", "code generated", "end"),
        ("first kernel to end", "first kernel", "end"),
        ("first kernel to last, process 0", "first kernel", "last kernel"),
        ("process 1 to end", "process 1 begun", "end"),
    ]
    for what, start, end in spans:
        if all((start is None or start in x["moments"]) and end in x["moments"] for x in (a, b)):
            first, second = (
                x["moments"][end] - (x["moments"][start] if start else 0.0) for x in (a, b)
            )
            print(f"{what:32}{first:10.2f}{second:10.2f}{first / second:7.2f}")
    times = {
        name: (ms, b["kernels"][name])
        for name, ms in a["kernels"].items()
        if b["kernels"].get(name)
    }
    both = {
        name: one and statistics.median(other) / statistics.median(one) - 1
        for name, (one, other) in times.items()
        if one
    }
    for board in sorted({*b["homes"].values()}) or [b["gpu"]]:
        mine = [r for name, r in both.items() if b["homes"].get(name.split("/")[0], board) == board]
        _print(f"{board} over {a['gpu']}, less 1", mine)
    for run in (a, b):
        each = [max(ms) / min(ms) - 1 for ms in run["kernels"].values() if len(ms) > 1]
        _print(f"slowest over fastest process, {run['devices']}, less 1", each)


def _print(what: str, found: list[float]) -> None:
    if len(found) > 1:
        quarters = " ".join(f"{100 * q:+.3f} %" for q in statistics.quantiles(found, n=4))
        ends = f"{100 * min(found):+.3f} to {100 * max(found):+.3f} %"
        print(f"{what}: {len(found)} kernels, quartiles {quarters}, from {ends}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run")
    running.add_argument("graphs", nargs="*")
    running.add_argument("--devices", default="all")
    running.add_argument("--processes", type=int, default=3)
    running.add_argument("--out", type=Path, required=True)
    comparing = commands.add_parser("compare")
    comparing.add_argument("one", type=Path)
    comparing.add_argument("other", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.graphs, given.devices, given.processes, given.out)
    else:
        compare(given.one, given.other)


if __name__ == "__main__":
    main()
