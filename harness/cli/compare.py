"""``harness compare``: what is different about B next to A, with an error rate and a cause."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.comparing import Alpha, Everything, Margin, remeasured, tell
from harness.cli.guard import guarded

FromRun: TypeAlias = Annotated[
    str, typer.Option("--run", help="The run from which two compilers are taken.")
]
Remeasure: TypeAlias = Annotated[
    bool,
    typer.Option("--remeasure", help="Time the modules against each other now, as `confirm` does."),
]
Static: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--static",
        help="Compare binaries, without times or a GPU; commits (and `worktree`) are compiled.",
    ),
]
_SIDE = (
    "`latest`, a run file, the beginning of a run's name, a commit, an emitted module or a "
    "folder of them, or a compiler (harness, inductor, eager …)."
)


@guarded
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, compared with A.")],
    run: FromRun = "latest",
    remeasure: Remeasure = False,
    static: Static = False,
    everything: Everything = False,
    alpha: Alpha = 0.05,
    margin: Margin = 0.01,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Compare B with A: kernels matched by what they compute, verdicts, causes.

    SAME, FASTER, SLOWER, UNSURE or INCOMPARABLE with its reason; the error rate is the whole
    table's. Exit status 1 only if something is SLOWER, with --static if something is worse by
    the rules in docs/comparing.md.

    \b
    harness compare 20260102 latest
    harness compare HEAD~1 HEAD
    harness compare harness inductor --run latest
    harness compare --static main worktree
    """
    from harness.cli.recovery import recover
    from harness.measure.noise.judge import Rules
    from harness.verdicts.comparing import compare as compare_sides
    from harness.verdicts.sides import find_sides

    options = settings.current()
    if static:
        from harness.cli.static_comparison import compare_statically

        return compare_statically(options, (a, b), everything=everything, as_json=as_json)
    rules = Rules(alpha=alpha, margin=margin)
    if remeasure:
        from harness.measure.jobs import Effort

        found = remeasured(
            options,
            (a, b),
            (),
            rules,
            Effort(),
            everything=everything,
            quiet=as_json,
            run=run,
        )
    else:
        recover(options.results)
        one, other = find_sides(options.results, [a, b], run)
        found = compare_sides(one, other, rules)
    return tell(found, options, everything=everything, as_json=as_json)
