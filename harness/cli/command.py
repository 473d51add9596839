"""What all commands share: the forms of an answer, and what an error becomes.

0    fine
1    a kernel failed its check or its compile, or the command could not be carried out
2    wrong usage: the command line, a name in it, or a damaged graph file
130  interrupted
141  the reader of the answer went away (a pager, head)

Those that judge (``gate``: compare, confirm, changes) tell more apart:

1    a regression
2    wrong usage, a file that holds what it should not, or an error of the command itself
3    no regression in what could be judged; something that worked in A is broken in B
4    nothing could be judged
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import json
import os
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from harness import options as settings
from harness.errors import GraphError, HarnessError, UsageError
from harness.options import Options
from harness.records.run import fields
from harness.report import output
from harness.report.output import Form, Progress, Report, Watch
from harness.runtime.compile.cache import usable

FINE, FAILED, WRONG_USAGE, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
REGRESSED, UNUSABLE, BROKEN, NOTHING_JUDGED = 1, 2, 3, 4


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Where a command's answer goes. ``only`` are the patterns of ``-k``; ``whole``: no name is
    cut."""

    options: Options
    form: Form = Form.TEXT
    only: tuple[str, ...] = ()
    whole: bool = False
    watch: Watch = Watch.USUAL

    @property
    def quiet(self) -> bool:
        """Whether nothing but the answer may be printed: it is for a program."""
        return self.form is not Form.TEXT

    def tell(self, report: Report) -> None:
        """Print the answer."""
        output.print_report(report, self.form, self.options, whole=self.whole)

    def note_nothing_like(self, found: object, what: str) -> None:
        """Say that nothing is like the patterns of ``-k``, if nothing is ``found``."""
        if self.only and not found:
            self.note(f"-k: no {what} is like {' '.join(self.only)} (a part of a name, or * and ?)")

    def progress(self, title: str) -> AbstractContextManager[Progress]:
        """A progress bar, where somebody watches, or what -q and -v make of it."""
        usual = self.watch is Watch.USUAL
        watch = Watch.QUIET if usual and self.quiet else self.watch
        return output.progress(title, self.options, watch)

    def note(self, *lines: str) -> None:
        """Say something beside the answer, unless -q asks for the answer alone."""
        if self.watch is not Watch.QUIET:
            output.note(*lines)

    @contextlib.contextmanager
    def cache(self) -> Iterator[Path]:
        """The cache folder; a temporary one where HARNESS_NO_CACHE asks for none, or where it
        cannot be written, which is said."""
        with usable(self.options.kept_cache) as (folder, note):
            if note:
                self.note(note)
            yield folder

    def recover(self) -> None:
        """Make run files of the journals that interrupted runs left, and say so. A journal that
        cannot be finished stays; it must not keep the command from its work."""
        from harness.history import journal

        def warn(error: HarnessError) -> None:
            self.note(f"an interrupted run could not be recorded: {error}")

        for path in journal.recover(self.options.results, warn):
            self.note(f"an interrupted run is now recorded: {path}")


_Flag = inspect.Parameter.KEYWORD_ONLY
_ALWAYS: dict[str, Any] = {
    "debug": typer.Option("--debug", help="Show tracebacks of errors."),
    "quiet": typer.Option("--quiet", "-q", help="Print only the answer and errors, no progress."),
    "verbose": typer.Option("--verbose", "-v", help="A line on standard error for every step."),
}
_FORMS: dict[str, Any] = {
    "as_json": typer.Option("--json", help="Print one JSON document on standard output."),
    "as_csv": typer.Option("--csv", help="Print the table as CSV."),
    "as_markdown": typer.Option("--markdown", help="Print it as Markdown."),
    "as_junit": typer.Option("--junit", help="Print it as JUnit's XML."),
}
_WHOLE = typer.Option("--wide", help="Never shorten names to fit the terminal.")
_ONLY = typer.Option(
    "-k",
    "--kernel",
    "--kernels",
    metavar="PATTERN",
    help="Only graphs or kernels like this: a part of the name, or a pattern with * and ?; "
    "may be repeated.",
)


def command(
    function: Callable[..., int | None] | None = None,
    *,
    table: bool = False,
    only: bool = False,
    cases: bool = False,
    gate: bool = False,
) -> Any:
    """``function`` as a command: it gets an ``Answer`` first and ends the process with the status
    that it returns (None: 0), or the one that its error means.

    Every command has ``--json``, ``-q``, ``-v`` and ``--debug``; one that answers with a ``table``
    also ``--csv``, ``--markdown`` and ``--wide``; ``only``: and ``-k``; ``cases``: and ``--junit``.
    A parameter ``Annotated[type, "sentence"]`` is an option with that help, or what stands behind
    the sentence.
    The status of a ``gate`` says what was found, so that an error has one of its own."""
    if function is None:
        return functools.partial(command, table=table, only=only, cases=cases, gate=gate)
    wanted = function

    @functools.wraps(wanted)
    def run(*args: Any, **given: Any) -> None:
        debug = given.pop("debug", False)
        chosen = {name: given.pop(name, False) for name in _FORMS}
        quiet, verbose = (given.pop(name, False) for name in ("quiet", "verbose"))
        watch = Watch.VERBOSE if verbose else Watch.QUIET if quiet else Watch.USUAL
        more = {"only": tuple(given.pop("only", None) or ()), "whole": given.pop("whole", False)}
        try:
            form = Form((only_one(chosen, "an answer has one form") or "text").removeprefix("as_"))
            answer = Answer(settings.current(), form, **more, watch=watch)
            status = wanted(answer, *args, **given) or FINE
            sys.stdout.flush()
        except (KeyboardInterrupt, MemoryError, Exception) as error:
            if _is_interrupt(error):
                output.note("interrupted")  # commands that keep something say so themselves
                raise typer.Exit(INTERRUPTED) from None
            if debug and not isinstance(error, BrokenPipeError) or _is_for_typer(error):
                raise
            status = _told(error, as_json=chosen["as_json"])
            status = UNUSABLE if gate and status == FAILED else status
        raise typer.Exit(status)

    added = dict(_ALWAYS)
    offered = ("as_json", *(("as_csv", "as_markdown") if table else ()), *(["as_junit"] * cases))
    added |= {name: _FORMS[name] for name in offered} | ({"whole": _WHOLE} if table else {})
    if only:
        added["only"] = _ONLY
    _declare(run, wanted, added)
    return run


def _declare(run: Any, wanted: Callable[..., Any], added: dict[str, Any]) -> None:
    """Give ``run`` the parameters of ``wanted``, less the answer, and the ``added`` options."""
    hints = typing.get_type_hints(wanted, include_extras=True)
    _, *own = inspect.signature(wanted).parameters.values()
    kept = [p.replace(annotation=_option(p, hints[p.name]), kind=_Flag) for p in own]
    shared = []
    for name, option in added.items():
        kind, empty = (list[str] | None, None) if option is _ONLY else (bool, False)
        made = inspect.Parameter(name, _Flag, default=empty)
        shared.append(made.replace(annotation=Annotated[kind, option]))
    run.__signature__ = inspect.Signature([*kept, *shared])
    run.__annotations__ = {p.name: p.annotation for p in (*kept, *shared)}


def _option(parameter: inspect.Parameter, hint: Any) -> Any:
    """``hint`` with its sentence as the help of the option or argument behind it; without one it is
    an option, of which a switch that is off has no opposite."""
    kind, *said = typing.get_args(hint) or (hint,)
    if not said or not isinstance(said[0], str):
        return hint
    help_, *made = said
    switch = [f"--{parameter.name.replace('_', '-')}"] * (parameter.default is False)
    own = copy.copy(made[0]) if made else typer.Option(*switch)
    own.help = help_
    return Annotated[kind, own]


def only_one(chosen: dict[str, bool], what: str) -> str | None:
    """The option that was chosen, if any. Raises ``UsageError``, which says ``what``, for two."""
    named = [name for name, wanted in chosen.items() if wanted]
    if len(named) > 1:
        got = " ".join(f"--{name.removeprefix('as_')}" for name in named)
        raise UsageError(what, got=got, remedy="leave all but one out")
    return named[0] if named else None


def _told(error: BaseException, *, as_json: bool) -> int:
    """Print ``error``; the exit status it means."""
    match error:
        case HarnessError():
            output.note(f"error: {error}")
            if as_json:
                output.emit(json.dumps({"error": describe(error)}, indent=2))
            return WRONG_USAGE if isinstance(error, UsageError | GraphError) else FAILED
        case OSError():  # the system's own words about a file or the standard output
            if error.filename is None:  # else python would complain once more at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                return UNREAD
            output.note(
                f"error: {error.filename or 'some output'}: {error.strerror or error}\n"
                "  what to do: check the space, the permissions and the name; --debug shows where"
            )
        case _:
            text = " ".join(str(error).split())[:300]
            output.note(
                f"error: the harness met something it does not expect: {type(error).__name__}: "
                f"{text}\n  what to do: run it again with --debug for the traceback, and report "
                "that"
            )
    return FAILED


def describe(error: HarnessError) -> dict[str, Any]:
    """``error`` as JSON values."""
    return {"condition": type(error).__name__, **fields(error, "what where got expected remedy")}


def _is_for_typer(error: BaseException) -> bool:
    """Whether the command-line library raised ``error`` and knows what to do with it."""
    own = isinstance(error, typer.Exit | typer.Abort | SystemExit)
    return own or (hasattr(error, "exit_code") and hasattr(error, "show"))


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is what ``error`` began with: libraries make errors of their own of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
