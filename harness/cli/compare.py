"""``harness compare``: what is different about B next to A, with an error rate and a cause."""

from __future__ import annotations

from typing import Annotated

import typer

from harness import options as settings
from harness.cli import output
from harness.cli.arguments import AsJson, Debug
from harness.cli.guard import FAILED, FINE, guarded

_SIDE = (
    "`latest`, a run file, the beginning of a run's name, a commit, an emitted module or a "
    "folder of them, or a compiler (harness, inductor, eager …)."
)


@guarded
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, compared with A.")],
    run: Annotated[
        str, typer.Option("--run", help="The run from which two compilers are taken.")
    ] = "latest",
    everything: Annotated[
        bool, typer.Option("--all", help="Print rows that are SAME too.")
    ] = False,
    alpha: Annotated[
        float,
        typer.Option(min=1e-6, max=0.5, help="Chance of any false SLOWER or FASTER in the table."),
    ] = 0.05,
    margin: Annotated[
        float,
        typer.Option(min=1e-4, max=1.0, help="Relative change that SAME stays within."),
    ] = 0.01,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Compare B with A: kernels matched by what they compute, verdicts, causes.

    SAME, FASTER, SLOWER, UNSURE or INCOMPARABLE with its reason; the error rate is the whole
    table's. Exit status 1 only if something is SLOWER. How: docs/comparing.md.

    \b
    harness compare 20260102 latest
    harness compare HEAD~1 HEAD
    harness compare harness inductor --run latest
    """
    from harness.bench.verdicts import Rules
    from harness.cli.comparison import console, document, print_comparison
    from harness.cli.recovery import recover
    from harness.track.comparing import compare as compare_sides
    from harness.track.sides import find_sides

    options = settings.current()
    recover(options.results)
    one, other = find_sides(options.results, [a, b], run)
    found = compare_sides(one, other, Rules(alpha=alpha, margin=margin))
    if as_json:
        output.emit_json(document(found))
    else:
        print_comparison(found, console(color=options.color), everything=everything)
    return FAILED if found.slower else FINE
