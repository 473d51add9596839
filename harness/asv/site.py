"""The published page: which changes are bad, and everything it needs beside it.

asv's page loads its libraries from other hosts, so on a machine without a network it stays
empty. The same libraries lie in ``vendor`` and are put beside the page.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from asv import util

VENDOR = Path(__file__).resolve().parent / "vendor"

_LIBRARIES = {
    "jquery-3.3.1.min.js": "jquery-3.3.1.min.js",
    "jquery.flot.min.js": "jquery.flot.js",
    "jquery.flot.time.min.js": "jquery.flot.time.js",
    "jquery.flot.selection.min.js": "jquery.flot.selection.js",
    "jquery.flot.categories.min.js": "jquery.flot.categories.js",
    "jquery.flot.orderBars.js": "jquery.flot.orderBars.js",
    "stupidtable.min.js": "stupidtable.min.js",
    "md5.min.js": "md5.min.js",
    "bootstrap.min.js": "bootstrap.min.js",
    "bootstrap.min.css": "bootstrap.min.css",
}
"""File names at the end of the page's addresses, and the files here that stand for them."""

_REMOTE = re.compile(r'(src|href)="https?://[^"]*/([^"/]+\.(?:js|css))"[^>]*>')

_EDITS = {
    # A loss of GB/s is bad news, a gain good; of registers more is neither.
    "summarylist.js": (
        ("if (change > 5) {", "if (worse * change > 5) {"),
        ("else if (change < -5) {", "else if (worse * change < -5) {"),
        (
            "var unit = $.asv.main_json.benchmarks[row.name].unit;\n                change_str",
            "var unit = $.asv.main_json.benchmarks[row.name].unit;\n"
            "                var better = $.asv.main_json.benchmarks[row.name].better;\n"
            "                var worse = {higher: -1, neither: 0}[better] ?? 1;\n"
            "                change_str",
        ),
        # What this machine never measured is counted, not listed.
        (
            "$.each(data, function(row_idx, row) {\n            var tr",
            "var without_value = 0;\n"
            "        $.each(data, function(row_idx, row) {\n            var tr",
        ),
        (
            "var tr = $('<tr/>');",
            "if (row.last_value === null) { without_value += 1; return; }\n"
            "            var tr = $('<tr/>');",
        ),
        (
            "/* Finalize */",
            "if (without_value) {\n"
            "            table_body.append($('<tr/>').append($('<td colspan=\"4\"/>').text(\n"
            "                without_value + ' series without a value here')));\n"
            "        }\n\n        /* Finalize */",
        ),
    ),
    # A line for what was measured; the machine's name says its GPU, driver and clocks.
    "graphdisplay.js": (
        (
            "orig_graphs.push({\n                        data: series,",
            "if (!series.some(function (p) { return p[1] !== null && p[1] !== undefined; })) {\n"
            "                        return;\n"
            "                    }\n"
            "                    orig_graphs.push({\n                        data: series,",
        ),
        (
            "'ram': null\n",
            "'ram': null,\n                    'gpu': null,\n                    'driver': null,\n"
            "                    'sm_clock_mhz': null,\n"
            "                    'memory_clock_mhz': null,\n"
            "                    'python': null\n",
        ),
        # From zero, as times are; "zoom y axis" is there for the rest.
        (
            "unit_name = unit;\n                }\n                multiplier = 1.0;",
            "unit_name = unit;\n                }\n"
            "                if (unit == 'GB/s' && !zoom_y_axis) {\n"
            "                    options.yaxis.min = 0.0;\n"
            "                    options.yaxis.max = max * 1.3;\n                }\n"
            "                multiplier = 1.0;",
        ),
        (
            "return (v / multiplier).toPrecision(3);",
            "var shown = v / multiplier;\n"
            "                    return Math.abs(shown) < 1000 ? shown.toPrecision(3)"
            " : shown.toFixed(0);",
        ),
    ),
    # The factor says how many times slower, so that the worst of both kinds sort together.
    "regressions.js": (
        (
            "var factor = new_value / old_value;",
            "var factor = new_value / old_value;\n"
            "                if (benchmark.better === 'higher') { factor = 1 / factor; }",
        ),
        (
            "text(factor.toFixed(2) + 'x'));",
            "text(isFinite(factor) ? factor.toFixed(2) + 'x' : 'from 0'));",
        ),
        (
            "var factor = last_value / best_value;",
            "var factor = last_value / best_value;\n"
            "            if (benchmark.better === 'higher') { factor = 1 / factor; }",
        ),
    ),
    # 1667 GB/s and 3 kernels instead of 1.67e+3 and 3.00.
    "asv.js": (
        (
            "return '' + x.toPrecision(3) + ' ' + unit;",
            "return '' + (Number.isInteger(x) ? x : Math.abs(x) < 1000 ? x.toPrecision(3) "
            ": x.toFixed(0)) + ' ' + unit;",
        ),
    ),
}


def finish(site: Path) -> None:
    """Do to the pages in ``site`` what ``asv publish`` leaves to do. Raises asv's ``UserError``
    where they are not those that this was written for."""
    for name, edits in _EDITS.items():
        _edit(site / name, edits)
    _bring_libraries(site)


def _edit(page: Path, edits: Sequence[tuple[str, str]]) -> None:
    text = page.read_text(encoding="utf-8")
    for old, new in edits:
        if text.count(old) != 1:
            raise _unknown(page, "directions and units cannot be shown as they are")
        text = text.replace(old, new)
    page.write_text(text, encoding="utf-8")


def _bring_libraries(site: Path) -> None:
    page = site / "index.html"
    text = page.read_text(encoding="utf-8")
    missing = {name for _, name in _REMOTE.findall(text)} - _LIBRARIES.keys()
    if missing:
        raise _unknown(page, f"it loads {', '.join(sorted(missing))} from another host")
    shutil.copytree(VENDOR, site / "vendor", dirs_exist_ok=True)

    def local(found: re.Match[str]) -> str:
        # What is left of the tag are checksums of the remote file and what follows a failure.
        return f'{found[1]}="vendor/{_LIBRARIES[found[2]]}">'

    page.write_text(_REMOTE.sub(local, text), encoding="utf-8")


def _unknown(page: Path, so: str) -> util.UserError:
    return util.UserError(f"{page} is not asv 0.6's: {so} (asv<0.7 is needed)")
