"""Why captures failed, by cause, and the heads of libraries that were tried. The first two
tables are those of ``docs/measurements/captures.md``; the third has every failure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from harness.corpus.model import Capture
from suites.building.catalogue import Planned

MISSING = "not made yet"
CAUSES = (
    ("needs a package or a download that is not here", r"ImportError|ModuleNotFound|URLError"),
    ("the harness knows no example inputs", r"no example inputs"),
    ("took too long, or its process was lost", r"process was lost"),
    ("the library's configuration does not build", r"could not be built"),
    (
        "control flow or sizes depend on values",
        r"DataDependent|DynamicOutputShape|[Uu]nbacked|data-dependent|\bu\d+\b",
    ),
    ("the library mixes element types", r"dtype|scalar type|[Tt]ype promoti|meta"),
    ("the library rejects the inputs or sizes", r""),
)
"""What a capture's sentence says, the first that fits."""
_HEAD = re.compile(r"(For[A-Z]\w+|LMHead\w*|Model\w*|WithLMHead\w*)$")


def cause(reason: str) -> str:
    """Why a capture failed; empty where it did not."""
    return next(name for name, words in CAUSES if re.search(words, reason)) if reason else ""


def markdown(planned: Sequence[Planned], captures: Iterable[Capture]) -> str:
    """All tables: of causes, of heads, and every failure with its library's sentence."""
    known = {capture.name: capture for capture in captures}
    rows = [(one, known.get(one.name)) for one in planned]
    lines = ["| cause | captures | models |", "|---|---|---|"]
    found = [(MISSING if c is None else cause(c.reason), one.model.name) for one, c in rows]
    named = {name: {model for why, model in found if why == name} for name, _ in found}
    for name, count in Counter(name for name, _ in found).most_common():
        lines.append(f"| {name or 'captured'} | {count} | {len(named[name])} |")
    lines += ["", "| heads of transformers | classes | captured | inference | training |"]
    lines.append("|---|---|---|---|---|")
    heads: dict[str, list[tuple[Planned, Capture | None]]] = {}
    for one, capture in rows:
        if one.model.target.startswith("transformers:"):
            match = _HEAD.search(one.model.target.partition("?")[0])
            heads.setdefault(match[0] if match else "others", []).append((one, capture))
    ordered = sorted(heads.items(), key=lambda item: (-len(item[1]), item[0]))
    everything = [row for _, mine in ordered for row in mine]
    lines += [_head(name, mine) for name, mine in [*ordered, ("all", everything)]]
    lines += ["", "| capture | what the library says |", "|---|---|"]
    failed = [(one.name, c.reason) for one, c in rows if c is not None and c.reason]
    lines += [f"| {name} | {_said(reason)} |" for name, reason in failed]
    return "\n".join(lines) + "\n"


def _head(name: str, rows: Sequence[tuple[Planned, Capture | None]]) -> str:
    cells = [str(len({one.model.name for one, _ in rows}))]
    good = {one.model.name for one, c in rows if c is not None and not c.reason}
    cells.append(str(len(good)))
    for mode in ("inference", "training"):
        mine = [c for one, c in rows if one.variant.mode == mode]
        done = sum(1 for c in mine if c is not None and not c.reason)
        cells.append(f"{done} of {sum(1 for c in mine if c is not None)} tried")
    return f"| {name} | {' | '.join(cells)} |"


def _said(reason: str) -> str:
    short = re.sub(r"^\S+ could not be", "could not be", reason)[:160]
    return short.replace("|", "\\|").replace("<", "&lt;")
