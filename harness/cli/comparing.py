"""What ``compare`` and ``confirm`` share: their options, measuring again, telling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from harness.cli.caching import cache_folder
from harness.cli.guard import FAILED, FINE
from harness.report import output

if TYPE_CHECKING:
    from harness.measure.jobs import Effort
    from harness.measure.noise.judge import Rules
    from harness.options import Options
    from harness.verdicts.comparing import Comparison
    from harness.verdicts.confirming import Workplace

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
    run: str = "latest",
) -> Comparison:
    """Time two sides against each other. Raises ``NoDevice`` before anything else without a GPU."""
    from harness.cli.recovery import recover
    from harness.runtime.device import require
    from harness.verdicts.confirming import Workplace, confirm
    from harness.verdicts.sides import are_compilers, find_sides

    recover(options.results)
    compilers = are_compilers(options.results, names)
    sides = None if compilers else find_sides(options.results, names, run)
    require()
    with (
        cache_folder(options) as cache,
        output.progress("timing in turns", options, quiet=quiet) as bar,
    ):

        def follow(done: int, total: int) -> None:
            bar.update("timing in turns", done, total)

        place = Workplace(cache, options.jobs, follow)
        if sides is None:
            return _compilers(options, names, kernels, rules, effort, place, run)
        return confirm(sides[0], sides[1], kernels, rules, effort, place, everything=everything)


def _compilers(
    options: Options,
    names: tuple[str, str],
    graphs: Sequence[str],
    rules: Rules,
    effort: Effort,
    place: Workplace,
    run: str,
) -> Comparison:
    """Two compilers on the graphs named, else on those of the run, else on the whole suite."""
    from harness.history import lookup, store
    from harness.measure.pairs import find_device
    from harness.measure.peers.pool import PeerPool
    from harness.records.run import Machine, Run
    from harness.session.entries import find_graphs
    from harness.verdicts.confirming_compilers import confirm_compilers

    known = bool(lookup.runs(options.results))
    recorded = (
        store.load(lookup.find(options.results, run)) if known else Run("", "", Machine(""), "")
    )
    chosen = list(graphs) or [graph.name for graph in recorded.graphs]
    files = find_graphs(options, recorded.suite or "default", chosen)
    return confirm_compilers(
        recorded,
        names,
        files,
        rules,
        effort,
        place,
        find_device(place.cache),
        lambda others: PeerPool(others, place.cache, place.jobs),
    )


def tell(found: Comparison, options: Options, *, everything: bool, as_json: bool) -> int:
    """Print a comparison; its exit status."""
    from harness.report.comparison import console, document, print_comparison

    if as_json:
        output.emit_json(document(found))
    else:
        print_comparison(found, console(color=options.color), everything=everything)
    return FAILED if found.regressed else FINE
