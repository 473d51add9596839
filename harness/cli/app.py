"""The command line: every command with its name and its one-line summary."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import harness

HELP = """Benchmarks and regression tracking for fused GPU kernels.

\b
harness run                        compile, check and (with a GPU) time the suite
harness run llama_block_forward    one graph
harness emit GRAPH -o kernels/     one self-contained file per kernel
harness show                       the latest run
harness doctor                     what works on this machine, and what to do about the rest
"""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("run", "run", "Compile, check and, with a GPU, time kernels."),
    ("tune", "tune", "Tune a graph's kernels and show every trial."),
    ("emit", "emit", "Write a graph's kernels, one file each."),
    ("capture", "capture", "Turn a model into graph files."),
    ("list", "show:list_", "List graphs, recorded runs or targets."),
    ("show", "show", "Print a recorded run."),
    ("compare", "compare", "Say what is slower, whether it is real, and why."),
    ("changes", "changes", "Say at which commit a kernel's time changed, and why."),
    ("report", "night.nightly:report", "Write the results as web pages."),
    ("confirm", "compare:confirm", "Time two runs' kernels against each other, today."),
    ("nightly", "night.nightly:nightly", "Time what changed since the accepted run, confirmed."),
    ("accept", "night.nightly:accept", "Make a run the baseline of later nights."),
    ("why", "night.why:why", "Name what made a kernel take another time."),
    ("bisect", "night.why:bisect", "Find the commit, or the triton, that made a kernel slower."),
    ("import", "results:import_", "Make runs of what asv or pytest-benchmark measured."),
    ("gc", "results:gc", "Say what can go from the results, and remove it."),
    ("explain", "emit:explain", "Say what shares a kernel, and why the rest does not."),
    ("calibrate", "calibrate", "Measure this machine's false alarms and what it can detect."),
    ("conformance", "conformance", "Compare torch's operators, compiled, with eager mode."),
    ("fuzz", "conformance:fuzz", "Compare random programs, compiled, with eager mode."),
    ("doctor", "doctor", "Say what works on this machine."),
)
"""Name, where in this package it is (the module, and the function if it has another name), and
what it does."""


class _Group(TyperGroup):
    """Imports a command's module when it is called, not to list it."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Their names."""
        return [name for name, _, _ in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command's name and summary."""
        summary = {name: summary for name, _, summary in COMMANDS}.get(cmd_name)
        return None if summary is None else TyperCommand(cmd_name, short_help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whole."""
        if (place := {name: place for name, place, _ in COMMANDS}.get(args[0])) is None:
            return super().resolve_command(ctx, args)
        module, _, function = place.partition(":")
        found = getattr(importlib.import_module(f"harness.cli.{module}"), function or module)
        alone = typer.Typer(
            pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False
        )
        alone.command(args[0], context_settings=CONTEXT)(found)
        return args[0], typer.main.get_command(alone), args[1:]


app = typer.Typer(
    help=HELP,
    cls=_Group,
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
