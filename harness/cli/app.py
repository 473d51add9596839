"""The command line: every command with its name and its one-line summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import harness
from harness.cli.calibrate import calibrate
from harness.cli.capture import capture
from harness.cli.changes import changes
from harness.cli.compare import compare, confirm
from harness.cli.conformance import conformance, fuzz
from harness.cli.doctor import doctor
from harness.cli.emit import emit, explain
from harness.cli.results import gc, import_
from harness.cli.run import run
from harness.cli.show import list_, show
from harness.cli.tune import tune

HELP = """Benchmarks and regression tracking for fused GPU kernels.

\b
harness run                        compile, check and (with a GPU) time the suite
harness run llama_block_forward    one graph
harness emit GRAPH -o kernels/     one self-contained file per kernel
harness show                       the latest run
harness doctor                     what works on this machine, and what to do about the rest
"""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    context_settings=CONTEXT,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {harness.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


COMMANDS: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("run", run, "Compile, check and, with a GPU, time kernels."),
    ("tune", tune, "Tune a graph's kernels and show every trial."),
    ("emit", emit, "Write a graph's kernels, one file each."),
    ("capture", capture, "Turn a model into graph files."),
    ("list", list_, "List graphs, recorded runs or targets."),
    ("show", show, "Print a recorded run."),
    ("compare", compare, "Say what is slower, whether it is real, and why."),
    ("changes", changes, "Say at which commit a kernel's time changed, and why."),
    ("confirm", confirm, "Time two runs' kernels against each other, today."),
    ("import", import_, "Make runs of what asv or pytest-benchmark measured."),
    ("gc", gc, "Say what can go from the results, and remove it."),
    ("explain", explain, "Say what shares a kernel, why the rest does not, and how it was made."),
    ("calibrate", calibrate, "Measure this machine's false alarms and what it can detect."),
    ("conformance", conformance, "Compare torch's operators, compiled, with eager mode."),
    ("fuzz", fuzz, "Compare random programs, compiled, with eager mode."),
    ("doctor", doctor, "Say what works on this machine."),
)
for _name, _command, _summary in COMMANDS:
    app.command(_name, context_settings=CONTEXT, short_help=_summary)(_command)
app.command("explain-fusion", context_settings=CONTEXT, hidden=True)(explain)  # its first name
