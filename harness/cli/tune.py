"""``harness tune``: what was tried on every kernel of a graph, and what that says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from harness.cli.arguments import GraphName, Jobs, Suite, TargetName, Timing
from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.errors import HarnessError, NoDevice, unknown
from harness.files import readable
from harness.history import store
from harness.measure.jobs import TuneKernel
from harness.measure.tuning import KernelTuning, chosen_before, tunings_of
from harness.options import Options
from harness.records import modules
from harness.records.names import find, is_chosen, short
from harness.records.run import Run
from harness.report import output
from harness.report.tuning import tuning_report
from harness.runtime.tune.tuning_cache import TABLE_FORMAT, LookupTable
from harness.session.entries import find_graphs
from harness.session.plan import Request
from harness.session.tune_session import open_session
from harness.target import Target, find_target

NO_TIMES = (
    "no GPU here: candidates are compiled for {target}, with registers, spills, shared memory and "
    "modelled occupancy; nothing is timed, so nothing is chosen. A tuning that was recorded on a "
    "GPU can be shown here with --run RUN."
)


@command(table=True, only=True)
def tune(
    answer: Answer,
    graph: GraphName,
    suite: Suite = "default",
    search: Annotated[
        str,
        "How to go on from the best candidate: guided, descent, descent-all, descent-2 or none.",
    ] = "guided",
    run: Annotated[str | None, "Show what this recorded run's tunings tried; tune nothing."] = None,
    fresh: Annotated[bool, "Tune again what is in the tuning cache."] = False,
    deterministic: Annotated[bool, "No search for reductions."] = False,
    check_writes: Annotated[bool, "Catch writes outside a kernel's outputs."] = False,
    save_table: Annotated[
        Path | None, "Write the choices as a table for HARNESS_TUNING_TABLE."
    ] = None,
    target: TargetName = None,
    jobs: Jobs = None,
    timing: Timing = None,
) -> int:
    """Tune the kernels of a graph, and show everything that was tried.

    The fastest are cached, so that later runs neither compile the other candidates nor time. A
    kernel's regret is the time of the heuristics' first choice over the best time found; the
    configuration of the latest recorded run of this machine is timed beside the candidates.
    Without a GPU the candidates are compiled and nothing is timed; that is not a failure
    unless --timing demands times. Kernels named with -k are shown with every trial. Exit status 1
    if a kernel could not be tuned.

    \b
    harness tune llama_block_forward
    harness tune llama_block_forward --search descent --fresh
    harness tune llama_block_forward --run latest --kernel poi_fused_add_6
    """
    if run is not None:
        return _recorded(answer, graph, suite, run)
    request = Request(suite, (graph,), target, jobs, timing)
    how = TuneKernel("", search, fresh=fresh, debug=check_writes, deterministic=deterministic)
    return _live(answer, request, how, save_table)


def _chosen(patterns: Sequence[str], names: Sequence[str]) -> set[str]:
    """Those of ``names`` that are asked for. Raises ``UnknownName`` if a pattern fits none."""
    found: set[str] = set()
    for pattern in patterns or ("*",):
        mine = find(pattern, names) or [name for name in names if is_chosen([pattern], name)]
        found.update(mine)
        if not mine and names:
            remedy = "leave --kernel out to see all of them"
            raise unknown("the graph has no such kernel", pattern, names, "--kernel", remedy)
    return found


def _live(answer: Answer, request: Request, how: TuneKernel, table: Path | None) -> int:
    options, (graph,) = answer.options, request.names
    with (
        answer.progress("starting") as bar,
        open_session(options, request, how, bar.update) as session,
    ):
        answer.note(*session.notes)
        chosen = _chosen(answer.only, [module.name for module in session.modules])
        modules = tuple(module for module in session.modules if module.name in chosen)
        session = replace(session, modules=modules)
        if session.device is None:
            answer.note(NO_TIMES.format(target=session.target.name))
            if table is not None:
                raise NoDevice(
                    "this needs times, and there is no GPU to take them",
                    where="--save-table",
                    got="no GPU",
                    expected="a GPU, or a recorded tuning",
                    remedy="add --run RUN to use a recorded run, or run on a machine with a GPU",
                )
        earlier = _latest(options, session.device.facts.machine.key) if session.device else None
        found: list[KernelTuning] = []
        interrupted = False
        steps = [*(f"tuning {short(module.name)}" for module in modules), "tuning"]
        bar.update("compiling", 0, len(modules))
        try:
            for tuning in session.tunings(chosen_before(earlier)):
                found.append(tuning)
                bar.update(steps[len(found)], len(found), len(modules))
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        left = len(modules) - len(found)
        output.note(f"interrupted: {left} kernels are left; what was tuned stays in the cache")
    output.note(*(f"not generated: {failure}" for failure in session.failures))
    if table is not None:
        _save_table(table, found, {m.name: m.text for m in modules})
    _show(answer, graph, found, session.target, "timed" if session.device else "static", earlier)
    failed = session.failures or any(t.reason for t in found)
    return INTERRUPTED if interrupted else FAILED if failed else FINE


def _recorded(answer: Answer, graph: str, suite: str, name: str) -> int:
    """Show the tunings of a recorded run."""
    options = answer.options
    path = store.find(options.results, name)
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
    chosen = _chosen(answer.only, [t.name for t in tunings])
    tunings = [t for t in tunings if t.name in chosen]
    _show(answer, graph, tunings, find_target(run.target), "recorded", earlier)
    return FAILED if any(t.reason for t in tunings) else FINE


def _graphs_of(options: Options, graph: str, suite: str, run: Run) -> set[str]:
    recorded = [g.name for g in run.graphs]
    if graph in recorded:
        return {graph}
    if named := {file.name for file in find_graphs(options, suite, [graph])} & set(recorded):
        return named
    remedy = "see its graphs: harness show RUN"
    raise unknown("the run has no such graph", graph, recorded, run.id, remedy)


def _latest(options: Options, machine: str, before: str = "") -> Run | None:
    """The newest run of this machine that can be read, of those whose file name comes
    ``before`` another's (empty: of all)."""
    mine = [p for p in store.runs(options.results, machine) if not before or p.name < before]
    return next(
        readable(store.load, reversed(mine), lambda why: output.note(f"not used: {why}")), None
    )


def _save_table(path: Path, tunings: list[KernelTuning], texts: dict[str, str]) -> None:
    chosen = {
        modules.facts(texts[t.name]).launch_hash: dict(t.chosen)
        for t in tunings
        if t.chosen is not None
    }
    LookupTable(TABLE_FORMAT, chosen).save(path)
    output.note(f"{len(chosen)} configurations in {path}; use them: HARNESS_TUNING_TABLE={path}")


def _show(
    answer: Answer,
    graph: str,
    tunings: list[KernelTuning],
    target: Target,
    status: str,
    earlier: Run | None,
) -> None:
    head = {
        "graph": graph,
        "status": status,
        "message": "" if status != "static" else NO_TIMES.format(target=target.name),
        "target": target.name,
        "earlier": earlier.id if earlier else None,
    }
    trials = bool(answer.only) or status == "static"
    answer.tell(tuning_report(tunings, target, head, earlier, trials=trials))
