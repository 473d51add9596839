"""``harness compare`` and ``harness confirm``: what is different about B next to A, with an error
rate and a cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from harness.cli.arguments import Alpha, Everything, Margin
from harness.cli.command import BROKEN, FINE, NOTHING_JUDGED, REGRESSED, UNUSABLE, Answer, command
from harness.errors import UsageError
from harness.history.between import learn
from harness.measure.jobs import Effort
from harness.measure.noise.judge import Rules
from harness.options import project_root
from harness.report.comparison import View, chosen, comparison_report
from harness.report.static import chosen as chosen_binaries
from harness.report.static import static_report
from harness.runtime.compile.static import CompilePool
from harness.session.entries import find_graphs
from harness.target import find_target
from harness.verdicts import comparing, confirming
from harness.verdicts.comparing import Comparison, Side
from harness.verdicts.confirming import Workplace, sides_in_configs_of
from harness.verdicts.sides import commit_side, find_side, find_sides, find_static_side
from harness.verdicts.static_comparing import compare_static

Sorted: TypeAlias = Annotated[
    Literal["us", "ratio"], "What comes first: most microseconds of all launches, or most %."
]
_ConfigsFrom: TypeAlias = Annotated[
    str,
    "Time both sides now, in the configurations that this one recorded: what the tuner "
    "chose anew is left out.",
    typer.Option(metavar="A|B|RUN"),
]
_SIDE = (
    "`latest`, a run file, the beginning of a run's name, a commit, an emitted module or a "
    "folder of them, or a compiler (harness, inductor, eager …)."
)


@command(table=True, only=True, cases=True, gate=True)
def compare(
    answer: Answer,
    a: Annotated[str, _SIDE, typer.Argument(metavar="A")],
    b: Annotated[str, "The same, compared with A.", typer.Argument(metavar="B")],
    run: Annotated[str, "The run from which two compilers are taken."] = "latest",
    static: Annotated[
        bool, "Compare binaries, without times or a GPU; commits (and `worktree`) are compiled."
    ] = False,
    configs_from: _ConfigsFrom = "",
    everything: Everything = False,
    sort: Sorted = "us",
    alpha: Alpha = 0.05,
    margin: Margin = 0.01,
) -> int:
    """Compare B with A: kernels matched by what they compute, verdicts, causes.

    SAME, FASTER, SLOWER, RETUNED, UNSURE or INCOMPARABLE with its reason; the error rate is the
    whole table's. Exit status 1: something is SLOWER (--static: worse by the rules in
    docs/comparing.md); 3: broken in B; 2: unusable files, errors; 4: nothing could be judged.

    \b
    harness compare 20260102 latest
    harness compare HEAD~1 HEAD -k var_mean
    harness compare harness inductor --run latest
    harness compare --static main worktree
    harness compare HEAD~1 HEAD --configs-from A
    """
    if static:
        return _compare_statically(answer, (a, b), everything)
    rules = Rules(alpha=alpha, margin=margin)
    if configs_from:
        found = _remeasured(answer, (a, b), (), rules, Effort(), everything, configs_from)
    else:
        answer.recover()
        with answer.progress("reading both sides") as bar:
            one, other = find_sides(answer.options.results, [a, b], run)
            bar.update("learning the machine's noise", 1, 3)
            earlier = learn(answer.options.results, one.run, other.run)
            bar.update("comparing", 2, 3)
            found = comparing.compare(one, other, rules, earlier)
    return _tell(answer, found, everything, sort)


@command(table=True, only=True, cases=True, gate=True)
def confirm(
    answer: Answer,
    a: Annotated[str, "What `harness compare` takes.", typer.Argument(metavar="RUN_A")],
    b: Annotated[str, "The same, compared with RUN_A.", typer.Argument(metavar="RUN_B")],
    kernels: Annotated[
        list[str] | None,
        "Kernels by name or pattern ('*var_mean*'), or graphs. Default: all whose code or "
        "configuration differs, and some that do not as controls.",
        typer.Argument(metavar="KERNEL"),
    ] = None,
    processes: Annotated[int, "Fresh processes to time in.", typer.Option(min=1, max=100)] = 5,
    budget: Annotated[
        float, "Milliseconds for a pair of kernels in a process, at most.", typer.Option(min=1.0)
    ] = 150.0,
    configs_from: _ConfigsFrom = "",
    everything: Everything = False,
    sort: Sorted = "us",
    alpha: Alpha = 0.05,
    margin: Margin = 0.01,
) -> int:
    """Time the modules stored in two runs against each other, interleaved, in fresh processes.

    Each kernel runs with its recorded configuration; nothing is checked out, tuned or recorded.
    Needs a GPU. Exit status as of `harness compare`; 2 if nothing could be measured.

    \b
    harness confirm 20260102 latest
    harness confirm 20260102 latest '*var_mean*' --processes 8
    """
    rules, effort = Rules(alpha=alpha, margin=margin), Effort(processes, budget)
    found = _remeasured(answer, (a, b), kernels or (), rules, effort, everything, configs_from)
    return _tell(answer, found, everything, sort)


def _tell(answer: Answer, found: Comparison, everything: bool, sort: Sorted) -> int:
    """Print a comparison; its exit status: the worst of it."""
    kept = chosen(found, answer.only)
    answer.tell(comparison_report(kept, View(len(found.rows), everything, sort)))
    if kept.regressed:
        return REGRESSED
    if kept.broken:
        return BROKEN
    if kept.problems:
        return UNUSABLE
    return FINE if kept.judged else NOTHING_JUDGED


def _remeasured(
    answer: Answer,
    names: tuple[str, str],
    kernels: Sequence[str],
    rules: Rules,
    effort: Effort,
    everything: bool,
    configs_from: str,
) -> Comparison:
    """Time two sides against each other. Raises ``NoDevice`` before anything else without a GPU."""
    options = answer.options
    answer.recover()
    with answer.cache() as cache, answer.progress("starting") as bar:
        from harness.runtime.device import require  # torch, for seconds

        sides = find_sides(options.results, names)
        if sides[0].compiler:
            raise UsageError(
                "compilers are timed against each other by a run",
                got=" ".join(names),
                remedy=f"harness run --against COMPILER, then harness compare {' '.join(names)}",
            )
        notes: list[str] = []
        if configs_from:
            named = {"a": sides[0], "b": sides[1]}.get(configs_from.lower())
            source = named or find_side(options.results, configs_from)
            sides, notes = sides_in_configs_of(source, sides)
        require()
        bar.update("taking the GPU, then compiling")
        place = Workplace(cache, options.jobs, rules, effort, partial(bar.update, "timing"))
        found = confirming.confirm(sides[0], sides[1], kernels, place, everything=everything)
        return replace(found, notes=(*notes, *found.notes))


def _compare_statically(answer: Answer, names: Sequence[str], everything: bool) -> int:
    """Compare two sides by their binaries and print it; the exit status."""
    import triton

    options, root = answer.options, project_root(Path.cwd())
    target = find_target(options.target)

    def compile_at(commit: str | None, label: str) -> Side:
        return commit_side(root, commit, label, find_graphs(options, "default", []), options.target)

    with answer.cache() as cache, answer.progress("compiling") as bar:
        sides = [find_static_side(options.results, name, compile_at) for name in names]
        a, b = (side() for side in sides)
        with CompilePool(options.jobs, cache) as pool:
            compiled = partial(pool.metrics, follow=partial(bar.update, "compiling"))
            found = compare_static(a, b, target, triton.__version__, compiled)
    found = chosen_binaries(found, answer.only)
    answer.tell(static_report(found, everything=everything))
    return REGRESSED if found.worse else FINE
