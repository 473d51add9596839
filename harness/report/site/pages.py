"""Writing the site: templates and records become files, and only what changed is written. A
kernel's page is a record that ``kernel.js`` makes the page of, in a frame that all pages share: two
thousand pages filled from a template took a quarter of the time of a report."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape

from harness.errors import UsageError
from harness.files import holds, write_atomically, write_error
from harness.history.nights import NightCommit, cost
from harness.ir.reach import grouped
from harness.measure.peers.jobs import INDUCTOR
from harness.measure.peers.ratios import by_region, ratios, roll_up
from harness.records import metrics
from harness.records.names import short
from harness.records.run import KernelRecord, fields
from harness.records.trials import Trial
from harness.report.site.data import NOWHERE, Kernel, Line, Site, chart
from harness.report.site.tonight import Tonight
from harness.table import MOST, clean, microseconds, plural, ratio

MANIFEST = ".harness-site.json"
"""The list of the files that are ours: what is in it and no longer made goes."""
_HERE = Path(__file__).parent / "templates"
_ASSETS = ("style.css", "site.js", "kernel.js")
_BUNDLE = "plotly.min.js"
_HOLE = "(the kernel)"
"""Stands in the frame of kernels' pages where title and record go."""


def require() -> None:
    """Raise ``UsageError`` if the library that draws charts is missing."""
    if importlib.util.find_spec("plotly") is None:
        raise UsageError(
            "pages need plotly, which is not installed",
            where=sys.executable,
            remedy="pip install 'harness[report]'",
        )


def write(
    folder: Path, sites: Iterable[tuple[str, Site, Tonight]], step: Callable[[str], None]
) -> dict[str, int]:
    """Write ``sites`` with their first pages, each below the folder that it comes with; how many
    ``files`` there are, were ``written``, were ``removed``. A page that says what it said stays as
    it is; one that is no longer made is removed, anything else in ``folder`` is left alone. Raises
    ``UsageError`` for a folder that holds something else, ``RecordError`` if it cannot be written.
    """
    known, environment = _manifest(folder), _environment()
    if not (folder / MANIFEST).is_file():  # ended halfway, it is a site of ours all the same
        write_atomically(folder / MANIFEST, b"[]", mode=0o644)
    made: dict[str, bool] = {}
    for below, site, tonight in sites:
        place, before = folder / below, "" if below == "." else f"{below}/"
        for name, content in _files(environment, site, tonight, step):
            made[before + name] = new = not holds(place / name, content)
            if new:
                _put(place / name, content)
    removed = _remove(folder, [name for name in known if name not in made])
    if sorted(made) != known:
        write_atomically(folder / MANIFEST, json.dumps(sorted(made), indent=0).encode(), mode=0o644)
    return {"files": len(made), "written": sum(made.values()), "removed": removed}


def _put(path: Path, content: bytes) -> None:
    """Half a page says something else and is written again: no temporary file is needed, which
    would take a second for 2,000 pages."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise write_error(path, error) from error


def _remove(folder: Path, names: Sequence[str]) -> int:
    """Remove files of ours below ``folder``, and the folders that this leaves empty, but nothing
    that a link leads to elsewhere; how many files that were."""
    real = folder.resolve()
    places = {(folder / name).parent for name in names}
    ours = {place for place in places if place.resolve().is_relative_to(real)}
    try:
        gone = [folder / name for name in names if (folder / name).parent in ours]
        for path in gone:
            path.unlink(missing_ok=True)
        for below in sorted(ours - {folder}, reverse=True):
            if below.is_dir() and not any(below.iterdir()):
                below.rmdir()
    except OSError as error:
        raise write_error(
            Path(error.filename or folder), error, "a page that is no longer made cannot be removed"
        ) from error
    return len(gone)


def _manifest(folder: Path) -> list[str]:
    """The files of ours; none that leads out of the folder: nothing else is ours to remove."""
    try:
        listed = [Path(name) for name in json.loads((folder / MANIFEST).read_bytes())]
        inside = (path for path in listed if not path.is_absolute() and ".." not in path.parts)
        return [path.as_posix() for path in inside]
    except FileNotFoundError:
        if not (folder.is_dir() and any(folder.iterdir())):
            return []
    except (OSError, ValueError, TypeError):
        return []
    raise UsageError(
        "the folder holds files that harness report did not write",
        where=str(folder),
        expected="a new or empty folder, or one that harness report wrote",
        remedy="name another one: -o FOLDER",
    )


def _files(
    environment: jinja2.Environment, site: Site, tonight: Tonight, step: Callable[[str], None]
) -> Iterator[tuple[str, bytes]]:
    def page(template: str, depth: int, **more: Any) -> bytes:
        given = {"site": site, "root": "../" * depth, "page": template, **more}
        return environment.get_template(f"{template}.html.j2").render(given).encode()

    yield from ((f"assets/{name}", (_HERE / name).read_bytes()) for name in _ASSETS)
    if not site.first:  # 4.5 MB: once, whatever the number of machines
        (package,) = importlib.util.find_spec("plotly").submodule_search_locations  # type: ignore[union-attr, misc]
        yield f"assets/{_BUNDLE}", (Path(package) / "package_data" / _BUNDLE).read_bytes()
    against = {  # other compilers' geometric mean over ours
        model.name: {one.compiler: one.mean.value for one in roll_up(model.graphs) if one.mean}
        for model in site.models
    }
    peers = {name: found[INDUCTOR] for name, found in against.items() if INDUCTOR in found}
    models = [[one.name, "model", f"models/{one.page}"] for one in site.models]
    named = [[k.name, f"{k.graph} {k.label}", f"kernels/{k.page}"] for k in site.kernels]
    yield "assets/search.js", _script("SEARCH", models + named)
    yield "assets/commits.js", _script("COMMITS", [clean(commit.short) for commit in site.commits])
    yield "index.html", page("index", 0, tonight=tonight, most=MOST, peers=peers)
    yield "kernels.html", page("kernels", 0)
    yield "history.html", page("history", 0)
    yield "roofline.html", page("roofline", 0, points=_points(site))
    yield "compilers.html", page("compilers", 0, **_compilers(site))
    yield "coverage.html", page("coverage", 0)
    for model in site.models:
        yield f"models/{model.page}", page("model", 1, model=model, against=against[model.name])
    step(f"writing {plural(len(site.kernels), 'page')} of kernels")
    neighbours = grouped(site.kernels, lambda kernel: (kernel.graph, kernel.record.region))
    title, inside, end = page("kernel", 1, hole=_HOLE).decode().split(_HOLE)
    rows = environment.get_template("parts.html.j2").make_module(
        {"site": site, "root": "../", "page": "kernel"}
    )
    for kernel in site.kernels:
        others = neighbours[kernel.graph, kernel.record.region]
        found = (*kernel.line.changes, *kernel.exact)
        changes = str(rows.change_rows(found)) if found else ""  # type: ignore[attr-defined]
        shown = script(record(kernel, others, site, changes))
        text = f"{title}{escape(clean(kernel.name))}{inside}{shown}{end}"
        yield f"kernels/{kernel.page}", text.encode()


def _script(name: str, value: Any) -> bytes:
    """A value as a script, which a page opened from disk can load."""
    return f"window.{name}={script(value)};\n".encode()


def _points(site: Site) -> list[list[Any]]:
    """Name, page, bytes, operations, µs, share of peak and its roof of every timed kernel."""
    return [
        [
            f"{clean(k.graph)}/{clean(k.name)}",
            f"kernels/{k.page}",
            k.record.bytes,
            k.flops,
            float(f"{1000 * k.record.ms:.4g}"),
            k.record.fraction and round(k.record.fraction, 3),
            k.record.roof,
        ]
        for k in site.kernels
        if k.record.ms
    ]


def _compilers(site: Site) -> dict[str, Any]:
    graphs = [graph for model in site.models for graph in model.graphs if graph.regions]
    known = ratios(graphs)
    rows = [(graph.name, group) for graph in graphs for group in by_region(graph.regions)]
    sums = roll_up(graphs, known)
    return {"names": [s.compiler for s in sums], "rows": rows, "ratios": known, "sums": sums}


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Control characters of what a file says are shown, not obeyed; markup is ours.
        finalize=lambda v: clean(v) if type(v) is str and not v.isprintable() else v,
        auto_reload=False,
    )
    made.filters |= {"short": short, "change": _change, "cost": cost, "ratio": ratio}
    made.filters |= {
        "us": lambda us: microseconds(None if us is None else us / 1000),
        "plural": plural,
        "spark": lambda y: " ".join(["%.5g"] * len(y[-60:])) % y[-60:],
    }
    made.globals |= {
        "chart": lambda line, site: Markup(script(chart(line, site))),
        "count": Counter,
        "microseconds": microseconds,
        "metric": metrics.named,
    }
    return made


def _change(us: float) -> str:
    """A change in microseconds, three digits of it."""
    return f"{us:+.0f}" if abs(us) >= 100 else f"{us:+.3g}" if abs(us) >= 0.1 else f"{us:+.2f}"


_ESCAPE = "\\u00"
"""How JSON begins a control character."""
_ROOFS = {"copy": "reads and writes", "read": "reads", "write": "writes", "compute": "arithmetic"}


def script(value: Any) -> str:
    """A value as JSON that may stand in a page: control characters of what files say are shown, and
    the end of the script cannot be in it."""
    text = msgspec.json.encode(value).decode()
    if _ESCAPE in text or not text.isprintable():  # seldom: every string is looked at then
        text = msgspec.json.encode(_all_visible(value)).decode()
    return text.replace("<", "\\u003c")


def _all_visible(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _all_visible(one) for name, one in value.items()}
    return [_all_visible(one) for one in value] if isinstance(value, list | tuple) else value


def record(kernel: Kernel, others: Sequence[Kernel], site: Site, changes: str) -> dict[str, Any]:
    """What ``kernel.js`` shows: text and numbers as they are read, ``changes`` as HTML. ``others``
    are the kernels of its region."""
    k, model = kernel.record, site.model(kernel.model)
    earlier = kernel.earlier[0] if kernel.earlier else None
    return {
        **fields(kernel, "name graph figures about"),
        "place": [[model.name, f"../models/{model.page}"], kernel.graph, k.region],
        "tiles": list(_tiles(k)),
        "broken": k.reason,
        "history": _history(kernel.line, site),
        "changes": changes,
        "settings": list(k.config.items()) if k.config else [],
        "since": earlier and [_commit(site.commit(earlier.until)), ", ".join(kernel.settings)],
        "earlier": site.commit(earlier.commit).short if earlier else "",
        "mix": sorted((k.mix or {}).items(), key=lambda one: -one[1]),
        "nodes": k.origins,
        "others": [[one.page, one.name] for one in others if one is not kernel],
        "trials": _trials(k.trials, k.config) if k.trials else None,
        "diff": {"since": _commit(site.commit(kernel.recoded.until)), "lines": kernel.difference}
        if kernel.recoded
        else None,
        "module": kernel.parts,
        "show": f"harness show {kernel.run.id} --module {k.name}",
    }


def _tiles(k: KernelRecord) -> Iterator[tuple[Any, ...]]:
    """Figure, unit, what is said below it, and whether it is bad."""
    text = {name: metrics.named(name).text for name in ("fraction", "gbps", "bytes")}
    between = f"95 %: {microseconds(k.low)} to {microseconds(k.high)}" if k.low and k.high else ""
    yield microseconds(k.ms), "µs", between
    bound = "" if k.fraction is None else f"bound by {_ROOFS.get(k.roof, k.roof)}"
    yield text["fraction"](k.fraction), "of peak", bound
    yield text["gbps"](k.gbps), "GB/s", f"{text['bytes'](k.bytes)} bytes a launch"
    yield f"×{k.launches}", "launches", f"{microseconds(k.ms and k.ms * k.launches)} µs together"
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
