"""``harness gc``: what can go from the results folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.changes import AckFile, acknowledgements
from harness.cli.guard import guarded
from harness.report import output

if TYPE_CHECKING:
    from harness.history.collect import Finding


@guarded
def gc(
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it. Without this, say what would be removed.")
    ] = False,
    days: Annotated[
        float,
        typer.Option(
            "--days", min=0, help="Age of interrupted runs and of trees with uncommitted changes."
        ),
    ] = 90,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Runs of one commit that stay, the newest.")
    ] = 5,
    ack: AckFile = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Remove what is of no use from the results: remains of dead writers, old interrupted runs,
    old runs of uncommitted trees, repeats.

    What version control holds or names, and what an acknowledged change speaks of, stays. Without
    --yes nothing is removed.

    \b
    harness gc
    harness gc --days 30 --repeats 3 --yes
    """
    from harness.cli.recovery import recover
    from harness.history import collect, index

    options = settings.current()
    recover(options.results)
    acknowledged = acknowledgements(ack, options.results)
    found = collect.survey(options.results, collect.Rules(days, repeats), acknowledged)
    gone = collect.remove(found) if yes else []
    if gone:
        index.refresh(options.results)
    if as_json:
        output.emit_json(_document(found, gone, removed=yes))
        return
    for finding in found:
        what = finding.keep and f"kept, {finding.keep}"
        verdict = what or ("removed" if yes else "would be removed")
        names = ", ".join(str(file) for file in finding.files)
        output.emit(f"{names}: {finding.reason}: {verdict}")
    going = [finding for finding in found if not finding.keep]
    size = output.count(sum(finding.size for finding in going))
    files = sum(len(finding.files) for finding in going)
    done = "removed" if yes else "can go"
    output.emit(f"{files} files ({size} bytes) {done}")
    if going and not yes:
        output.emit("nothing was removed: harness gc --yes removes it")


def _document(found: list[Finding], gone: list[Path], *, removed: bool) -> dict[str, object]:
    return {
        "removed": removed,
        "files": [str(path) for path in gone],
        "findings": [
            {
                "files": [str(file) for file in each.files],
                "bytes": each.size,
                "reason": each.reason,
                "keep": each.keep,
            }
            for each in found
        ],
    }
