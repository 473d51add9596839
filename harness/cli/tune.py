"""``harness tune``: what was tried on every kernel of a graph, and what that says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug, GraphName, Jobs, Suite, TargetName, Timing
from harness.cli.guard import FAILED, FINE, INTERRUPTED, guarded
from harness.errors import HarnessError, NoDevice, UnknownName, UsageError, nearest
from harness.report import output

if TYPE_CHECKING:
    from harness.measure.tuning import KernelTuning
    from harness.options import Options
    from harness.records.run import Run
    from harness.session.tune_session import TuneRequest
    from harness.target import Target

NO_TIMES = (
    "no GPU here: candidates are compiled for {target}, with registers, spills, shared memory and "
    "modelled occupancy; nothing is timed, so nothing is chosen. A tuning that was recorded on a "
    "GPU can be shown here with --run RUN."
)


SearchName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--search",
        help="How to go on from the best candidate: guided, descent, descent-all, descent-2, "
        "exhaustive or none.",
    ),
]
KernelName: TypeAlias = Annotated[
    str | None, typer.Option("--kernel", help="Every trial of this kernel alone.")
]
RunName: TypeAlias = Annotated[
    str | None,
    typer.Option("--run", help="Show what this recorded run's tunings tried; tune nothing."),
]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Tune again what is in the cache of winners.")
]
Deterministic: TypeAlias = Annotated[
    bool, typer.Option("--deterministic", help="No search for reductions.")
]
CheckWrites: TypeAlias = Annotated[
    bool, typer.Option("--check-writes", help="Catch writes outside a kernel's outputs.")
]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", help="Draw every trial to this file (png, svg, pdf).")
]
SaveTable: TypeAlias = Annotated[
    Path | None,
    typer.Option("--save-table", help="Write the choices as a table for HARNESS_TUNING_TABLE."),
]


@guarded
def tune(
    graph: GraphName,
    suite: Suite = "default",
    search: SearchName = "guided",
    kernel: KernelName = None,
    run: RunName = None,
    fresh: Fresh = False,
    deterministic: Deterministic = False,
    check_writes: CheckWrites = False,
    plot: Plot = None,
    save_table: SaveTable = None,
    target: TargetName = None,
    jobs: Jobs = None,
    timing: Timing = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Tune the kernels of a graph, and show everything that was tried.

    Winners are cached, so that later runs neither compile the other candidates nor time. A
    kernel's regret is the time of the heuristics' first choice over the best time found; the
    configuration of the latest recorded run of this machine is timed beside the candidates.
    Without a GPU the candidates are compiled and nothing is timed; that is not a failure
    unless --timing demands times. Exit status 1 if a kernel could not be tuned.

    \b
    harness tune llama_block_forward
    harness tune llama_block_forward --search descent --fresh --plot tuning.png
    harness tune llama_block_forward --run latest --kernel triton_per_fused_mul_0
    """
    options = settings.current()
    if run is not None:
        return _recorded(options, graph, suite, run, Wanted(kernel, plot, as_json))
    from harness.session.tune_session import TuneRequest

    request = TuneRequest(
        graph, suite, target, jobs, timing, search, fresh, deterministic, check_writes
    )
    return _live(options, request, Wanted(kernel, plot, as_json, save_table))


class Wanted:
    """What the user wants to see of tunings."""

    def __init__(
        self, kernel: str | None, plot: Path | None, as_json: bool, table: Path | None = None
    ) -> None:
        """The options of the same names."""
        self.kernel, self.plot, self.as_json, self.table = kernel, plot, as_json, table
        if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise UsageError(
                "a picture of this kind cannot be drawn",
                where="--plot",
                got=plot.name,
                expected="a file name that ends in .png, .svg or .pdf",
                remedy="change the ending",
            )


def _live(options: Options, request: TuneRequest, wanted: Wanted) -> int:
    from harness.session.tune_session import open_session

    with open_session(options, request) as session:
        for note in session.notes:
            output.note(note)
        if not session.timed:
            output.note(NO_TIMES.format(target=session.target.name))
            if wanted.plot is not None or wanted.table is not None:
                raise _needs_times("--plot" if wanted.plot is not None else "--save-table")
        earlier = _latest(options, session.device.machine.key) if session.device else None
        found = []
        from harness.measure.tuning import chosen_before

        interrupted = False
        with output.progress("tuning", options, quiet=wanted.as_json) as bar:
            try:
                for tuning in session.tunings(chosen_before(earlier)):
                    found.append(tuning)
                    bar.update(f"tuning {request.graph}", len(found), len(session.modules))
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:
            left = len(session.modules) - len(found)
            output.note(f"interrupted: {left} kernels are left; what was tuned stays in the cache")
        for failure in session.failures:
            output.note(f"not generated: {failure}")
        if wanted.table is not None:
            _save_table(wanted.table, found, {m.name: m.text for m in session.modules})
        status = "timed" if session.timed else "static"
        _show(request.graph, found, session.target, status, wanted, earlier)
        if interrupted:
            return INTERRUPTED
        failed = session.failures or any(t.reason for t in found)
        return FAILED if failed else FINE


def _recorded(options: Options, graph: str, suite: str, name: str, wanted: Wanted) -> int:
    """Show the tunings of a recorded run."""
    from harness.history import lookup, store
    from harness.measure.tuning import tunings_of
    from harness.target import find_target

    path = lookup.find(options.results, name)
    run = store.load(path)
    earlier = _latest(options, run.machine.key, before=path.name)
    names = _graphs_of(options, graph, suite, run)
    kernels = [k for g in run.graphs if g.name in names for k in g.kernels]
    tunings = [t for t in tunings_of(kernels, earlier) if t.trials or t.reason]
    if not any(t.trials for t in tunings):
        raise HarnessError(
            "the run holds no tuning of the graph",
            where=run.id,
            got="records without trials (made without a GPU, or before trials were kept)",
            expected="a run made on a machine with a GPU",
            remedy="list the runs: harness list --runs",
        )
    _show(graph, tunings, find_target(run.target), "recorded", wanted, earlier)
    return FAILED if any(t.reason for t in tunings) else FINE


def _graphs_of(options: Options, graph: str, suite: str, run: Run) -> set[str]:
    recorded = [g.name for g in run.graphs]
    if graph in recorded:
        return {graph}
    from harness.session.entries import find_graphs

    named = {file.name for file in find_graphs(options, suite, [graph])} & set(recorded)
    if named:
        return named
    near = nearest(graph, recorded) or recorded[:3]
    raise UnknownName(
        "the run has no such graph",
        where=run.id,
        got=graph,
        expected=", ".join(near),
        remedy="see its graphs: harness show RUN",
    )


def _latest(options: Options, machine: str, before: str = "") -> Run | None:
    """The newest run of this machine that can be read, of those whose file name comes
    ``before`` another's (empty: of all)."""
    from harness.history import lookup, store

    mine = [p for p in lookup.runs(options.results) if p.parent.name == machine]
    mine = [p for p in mine if not before or p.name < before]
    for path in reversed(mine):
        try:
            return store.load(path)
        except HarnessError as error:
            output.note(f"{path}: not used: {error.what}")
    return None


def _needs_times(option: str) -> NoDevice:
    return NoDevice(
        "this needs times, and there is no GPU to take them",
        where=option,
        got="no GPU",
        expected="a GPU, or a recorded tuning",
        remedy="add --run RUN to use a recorded run, or run on a machine with a GPU",
    )


def _save_table(path: Path, tunings: list[KernelTuning], texts: dict[str, str]) -> None:
    from harness.runtime.tune.lookup_table import LookupTable
    from harness.runtime.tune.winners import source_hash

    chosen = {
        source_hash(texts[t.name], t.name): dict(t.chosen) for t in tunings if t.chosen is not None
    }
    LookupTable(chosen).save(path)
    output.note(f"{len(chosen)} configurations in {path}; use them: HARNESS_TUNING_TABLE={path}")


def _show(
    graph: str,
    tunings: list[KernelTuning],
    target: Target,
    status: str,
    wanted: Wanted,
    earlier: Run | None,
) -> None:
    from harness.report import tuning_tables as tables

    chosen = _only(tunings, wanted.kernel)
    if wanted.plot is not None:
        from harness.report.tuning_plot import draw

        draw(chosen, wanted.plot, f"{graph} on {target.name}")
        output.note(f"plot: {wanted.plot}")
    if wanted.as_json:
        message = "" if status != "static" else NO_TIMES.format(target=target.name)
        document: dict[str, Any] = tables.document(chosen, target)
        first = {"graph": graph, "status": status, "message": message, "target": target.name}
        output.emit_json({**first, "earlier": earlier.id if earlier else None, **document})
        return
    if wanted.kernel is not None or status == "static":
        for tuning in chosen:
            output.emit(tables.trial_table(tuning, target))
        return
    output.emit(tables.kernel_table(chosen))
    for line in tables.summary_lines(chosen, earlier):
        output.emit(line)


def _only(tunings: list[KernelTuning], kernel: str | None) -> list[KernelTuning]:
    if kernel is None:
        return tunings
    found = [t for t in tunings if t.name == kernel]
    if found:
        return found
    names = [t.name for t in tunings]
    raise UnknownName(
        "the graph has no such kernel",
        where="--kernel",
        got=kernel,
        expected=", ".join(nearest(kernel, names) or names[:3]),
        remedy="leave --kernel out to see all of them",
    )
