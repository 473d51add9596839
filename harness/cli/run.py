"""``harness run``: compile, check and, with a GPU, time graphs; keep what was learnt."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from harness import options as settings
from harness.cli.arguments import (
    AsJson,
    Commit,
    Debug,
    Graphs,
    Jobs,
    KernelSeconds,
    Processes,
    Suite,
    TargetName,
    Timing,
)
from harness.cli.guard import FAILED, FINE, INTERRUPTED, guarded
from harness.errors import NoDevice
from harness.report import output

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cli.following import Keeper
    from harness.records.run import Run


Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="COMPILERS",
        help="Compare with other compilers on the same regions and inputs, commas between them: "
        "eager, inductor, inductor-tuned, or a backend of torch.compile. Needs a GPU.",
        show_default=False,
    ),
]


@guarded
def run(
    graphs: Graphs = None,
    suite: Suite = "default",
    target: TargetName = None,
    jobs: Jobs = None,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Keep the run below the results folder.")
    ] = True,
    timing: Timing = None,
    commit: Commit = None,
    against: Against = None,
    processes: Processes = 3,
    kernel_seconds: KernelSeconds = 180.0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Compile, check and, with a GPU, time the kernels of graphs.

    Without a GPU kernels are checked in Triton's interpreter at small sizes and compiled for
    the target; columns for time say so. Exit status 1 if a kernel failed, something could not
    be recorded or --timing finds no GPU. Ctrl-C keeps what was measured so far.

    \b
    harness run
    harness run llama_block_forward bert_layer_forward
    harness run my_graph.py --target sm_80 --no-record
    harness run --json > run.json
    harness run --timing
    harness run --commit 3f2a91c
    harness run --against inductor,eager
    harness run --processes 5 --kernel-seconds 60
    """
    from harness.cli.following import follow
    from harness.cli.recovery import recover
    from harness.measure.peers.names import parse
    from harness.session.plan import Request, prepare

    options = settings.current()
    if commit is not None:
        options = dataclasses.replace(options, commit=commit)
    others = () if against is None else parse(against)
    if record:
        recover(options.results)
    names = tuple(graphs or ())
    request = Request(suite, names, target, jobs, timing, others, processes, kernel_seconds)
    with prepare(options, request) as plan:
        for note in plan.notes:
            output.note(note)
        with _keeper(options.results if record else None, plan.run) as keeper:
            cause: KeyboardInterrupt | NoDevice | None = None
            try:
                follow(plan, keeper, options, quiet=as_json)
                keeper.finish()
            except (KeyboardInterrupt, NoDevice) as error:
                cause = error
            finally:
                keeper.update(dataclasses.replace(keeper.run, state=plan.state()))
        return _conclude(keeper, cause, as_json)


NOTHING = "nothing had been measured yet"


@contextlib.contextmanager
def _keeper(results: Path | None, run: Run) -> Iterator[Keeper]:
    from harness.history.journal import Journal, Memory

    if results is None:
        yield Memory(run)
    else:
        with Journal(results, run, warn=output.note) as journal:
            yield journal


def _conclude(keeper: Keeper, cause: KeyboardInterrupt | NoDevice | None, as_json: bool) -> int:
    """Print the run; its exit status. ``cause`` is what ended it early."""
    from harness.records.run import one_line
    from harness.report.tables import run_document, summary_lines

    run = keeper.run
    if as_json:
        file = None if keeper.path is None else str(keeper.path)
        output.emit_json({**run_document(run), "file": file})
    else:
        for line in summary_lines(run):
            output.emit(line)
        if keeper.path is not None:
            output.emit(f"run {keeper.path.stem}  {keeper.path}")
    if cause is not None:
        why = "interrupted" if isinstance(cause, KeyboardInterrupt) else one_line(cause)
        kept = f"kept in {keeper.path}" if keeper.path else "not recorded"
        output.note(
            f"{why}; what had been measured is {kept}" if run.graphs else f"{why}; {NOTHING}"
        )
        return INTERRUPTED if isinstance(cause, KeyboardInterrupt) else FAILED
    return FAILED if run.failed or keeper.refused else FINE
