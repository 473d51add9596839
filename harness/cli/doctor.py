"""``harness doctor``: what works on this machine and what to do about the rest."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.guard import FAILED, FINE, guarded
from harness.report import output

if TYPE_CHECKING:
    from harness.doctor import Finding


@guarded
def doctor(as_json: AsJson = False, debug: Debug = False) -> int:
    """Say what works on this machine, what does not and why, and what to do.

    Exit status 1 if something without which nothing works is missing.

    \b
    harness doctor
    harness doctor --json
    """
    from harness.doctor import Level, examine

    options = settings.current()
    with output.progress("looking", options, quiet=as_json):
        findings = examine(options)
    if as_json:
        output.emit_json({"findings": [_document(finding) for finding in findings]})
    else:
        for finding in findings:
            for line in _lines(finding):
                output.emit(line)
    return FAILED if any(f.level is Level.BROKEN for f in findings) else FINE


def _document(finding: Finding) -> dict[str, str]:
    return {
        "subject": finding.subject,
        "level": finding.level.value,
        "found": finding.found,
        "effect": finding.effect,
        "remedy": finding.remedy,
    }


def _lines(finding: Finding) -> list[str]:
    first = f"{finding.level.value:<8} {finding.subject:<18} "
    rest = " " * len(first)
    lines = _wrapped(finding.found, first, rest)
    if finding.effect:
        lines += _wrapped(finding.effect, rest, rest)
    if finding.remedy:
        lines += _wrapped(f"→ {finding.remedy}", rest, rest)
    return lines


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        output.width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
