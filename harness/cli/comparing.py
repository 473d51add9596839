"""What ``compare`` and ``confirm`` share: their options, measuring again, telling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from harness.cli import output
from harness.cli.guard import FAILED, FINE

if TYPE_CHECKING:
    from harness.bench.pairs import Effort
    from harness.bench.verdicts import Rules
    from harness.options import Options
    from harness.track.comparing import Comparison

Everything: TypeAlias = Annotated[
    bool,
    typer.Option("--all", help="Print rows that are SAME; time kernels that are equal, too."),
]
Alpha: TypeAlias = Annotated[
    float,
    typer.Option(min=1e-6, max=0.5, help="Chance of any false SLOWER or FASTER in the table."),
]
Margin: TypeAlias = Annotated[
    float, typer.Option(min=1e-4, max=1.0, help="Relative change that SAME stays within.")
]
Processes: TypeAlias = Annotated[
    int, typer.Option(min=1, max=100, help="Fresh processes to time in.")
]
Budget: TypeAlias = Annotated[
    float,
    typer.Option(min=1.0, help="Milliseconds for a pair of kernels in a process, at most."),
]


def remeasured(
    options: Options,
    names: tuple[str, str],
    kernels: Sequence[str],
    rules: Rules,
    effort: Effort,
    *,
    everything: bool,
    quiet: bool,
) -> Comparison:
    """Time two sides against each other. Raises ``NoDevice`` before anything else without a GPU."""
    from harness.cli.recovery import recover
    from harness.runtime.cache import usable
    from harness.runtime.device import require
    from harness.track.confirming import Workplace, confirm
    from harness.track.sides import find_sides

    recover(options.results)
    one, other = find_sides(options.results, names)
    require()
    with (
        usable(options.cache) as (cache, note),
        output.progress("timing in turns", options, quiet=quiet) as bar,
    ):
        if note:
            output.note(note)
        place = Workplace(
            cache,
            options.jobs,
            lambda done, total: bar.update("timing in turns", done, total),
        )
        return confirm(one, other, kernels, rules, effort, place, everything=everything)


def tell(found: Comparison, options: Options, *, everything: bool, as_json: bool) -> int:
    """Print a comparison; its exit status."""
    from harness.cli.comparison import console, document, print_comparison

    if as_json:
        output.emit_json(document(found))
    else:
        print_comparison(found, console(color=options.color), everything=everything)
    return FAILED if found.slower else FINE
