"""``harness confirm``: two runs' kernels against each other on today's machine."""

from __future__ import annotations

from typing import Annotated

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.comparing import Alpha, Budget, Everything, Margin, Processes, remeasured, tell
from harness.cli.guard import guarded


@guarded
def confirm(
    a: Annotated[str, typer.Argument(metavar="RUN_A", help="What `harness compare` takes.")],
    b: Annotated[str, typer.Argument(metavar="RUN_B", help="The same, compared with RUN_A.")],
    kernels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KERNEL",
            help="Kernels by name or pattern ('*softmax*'), or graphs. Default: all whose code or "
            "configuration differs, and some that do not as controls.",
            show_default=False,
        ),
    ] = None,
    processes: Processes = 5,
    budget: Budget = 150.0,
    everything: Everything = False,
    alpha: Alpha = 0.05,
    margin: Margin = 0.01,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Time the modules stored in two runs against each other, in turns, in fresh processes.

    Each kernel runs with its recorded configuration; nothing is checked out, tuned or recorded.
    Needs a GPU. Exit status 1 only if something is SLOWER, or if it could not be measured.

    \b
    harness confirm 20260102 latest
    harness confirm 20260102 latest '*softmax*' --processes 8
    """
    from harness.measure.jobs import Effort
    from harness.measure.noise.judge import Rules

    options = settings.current()
    found = remeasured(
        options,
        (a, b),
        kernels or (),
        Rules(alpha=alpha, margin=margin),
        Effort(processes, budget),
        everything=everything,
        quiet=as_json,
    )
    return tell(found, options, everything=everything, as_json=as_json)
