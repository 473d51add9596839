"""A kernel's page: a record that ``kernel.js`` makes the page of, in a frame that all pages share.

Two thousand pages filled from a template took a quarter of the time of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from harness.records import metrics
from harness.records.night import NightCommit
from harness.report.site.data import NOWHERE, Kernel, Line, Site, chart
from harness.table import clean, microseconds

if TYPE_CHECKING:
    from harness.records.run import KernelRecord
    from harness.records.trials import Trial

_ESCAPE = "\\u00"
"""How JSON begins a control character."""
_ROOFS = {"copy": "reads and writes", "read": "reads", "write": "writes", "compute": "arithmetic"}


def script(value: Any) -> str:
    """A value as JSON that may stand in a page: control characters of what files say are shown, and
    the end of the script cannot be in it."""
    text = msgspec.json.encode(value).decode()
    if _ESCAPE in text or not text.isprintable():  # seldom: every string is looked at then
        text = msgspec.json.encode(_visible(value)).decode()
    return text.replace("<", "\\u003c")


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value


def record(kernel: Kernel, others: Sequence[Kernel], site: Site, changes: str) -> dict[str, Any]:
    """What ``kernel.js`` shows: text and numbers as they are read, ``changes`` as HTML. ``others``
    are the kernels of its region."""
    k, model = kernel.record, site.model(kernel.model)
    earlier = kernel.earlier[0] if kernel.earlier else None
    return {
        "name": kernel.name,
        "place": [[model.name, f"../models/{model.page}"], kernel.graph, k.region],
        "graph": kernel.graph,
        "tiles": list(_tiles(kernel, k)),
        "broken": k.reason,
        "history": _history(kernel.line, site),
        "changes": changes,
        "settings": list(k.config.items()) if k.config else [],
        "since": earlier and [_commit(site.commit(earlier.until)), ", ".join(kernel.settings)],
        "figures": kernel.figures,
        "earlier": site.commit(earlier.commit).short if earlier else "",
        "mix": sorted((k.mix or {}).items(), key=lambda one: -one[1]),
        "nodes": k.origins,
        "about": kernel.about,
        "others": [[one.page, one.name] for one in others if one is not kernel],
        "trials": _trials(k.trials, k.config) if k.trials else None,
        "diff": {"since": _commit(site.commit(kernel.recoded.until)), "lines": kernel.difference}
        if kernel.recoded
        else None,
        "module": kernel.parts,
        "show": f"harness show {kernel.run.id} --module {k.name}",
    }


def _tiles(kernel: Kernel, k: KernelRecord) -> Iterator[tuple[Any, ...]]:
    """Figure, unit, what is said below it, and whether it is bad."""
    text = {name: metrics.named(name).text for name in ("fraction", "gbps", "bytes")}
    known = k.low and k.high
    between = f"95 %: {microseconds(k.low)} to {microseconds(k.high)}" if known else ""
    yield microseconds(k.ms), "µs", between
    yield text["fraction"](k.fraction), "of peak", f"bound by {_ROOFS.get(k.roof, k.roof)}"
    yield text["gbps"](k.gbps), "GB/s", f"{text['bytes'](k.bytes)} bytes a launch"
    together = None if kernel.total_us is None else kernel.total_us / 1000
    yield f"×{k.launches}", "launches", f"{microseconds(together)} µs together"
    said = k.check_note or "not checked"
    if k.max_error is not None:
        allowed = "" if k.allowed is None else f" of {k.allowed:.2g}"
        said = f"error {k.max_error:.2g}{allowed}"
    yield k.check.value, "check", said, k.check.value == "failed"
    if k.detectable:
        yield f"{100 * k.detectable:.2g} %", "detectable", "in two such runs"


def _commit(one: NightCommit) -> list[str]:
    """Name, what is said of it on request, subject, author."""
    about = f"{one.subject} ({one.author}, {one.date})" if one.subject else ""
    return [one.short, about, one.subject, one.author]


def _history(line: Line, site: Site) -> dict[str, Any]:
    points = [place for segment in line.segments for place in segment.x]
    if len(points) > 1:
        return {"chart": chart(line, site)}
    if points:
        return {"one": [microseconds(line.values[0] / 1000), _commit(site.commits[points[0]])]}
    return {"missing": NOWHERE}


def _trials(trials: Sequence[Trial], chosen: Mapping[str, int] | None) -> dict[str, Any]:
    """The tuner's trials, fastest first; a time is None where one was not timed."""
    rows = [
        [
            [one.config.get(name, "–") for name in trials[0].config],
            (one.time, microseconds(one.time), one.reason),
            (one.registers, one.spills, one.shared, one.origin.value, one.config == chosen),
        ]
        for one in sorted(trials, key=lambda one: one.time or math.inf)
    ]
    return {"names": list(trials[0].config), "rows": rows}
