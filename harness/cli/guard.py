"""What a command does with an error: one clear sentence and an exit status.

0    fine
1    a kernel failed its check or its compile, or the command could not be carried out
2    wrong usage: the command line, a name in it, or a damaged graph file
130  interrupted
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import typer

from harness.errors import GraphError, HarnessError, UsageError

FINE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

P = ParamSpec("P")


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """``command``, ending the process with the status it returns (None: 0) or the one
    its error means.

    The command's own options ``debug`` (let the traceback through) and ``as_json`` (print the
    error as JSON on standard output as well) are honoured where it has them.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            status = command(*args, **kwargs) or FINE
            sys.stdout.flush()
        except HarnessError as error:
            if kwargs.get("debug"):
                raise
            status = report(error, as_json=bool(kwargs.get("as_json")))
        except KeyboardInterrupt:
            # Commands that keep something say so themselves.
            print("interrupted", file=sys.stderr)  # noqa: T201
            status = INTERRUPTED
        except BrokenPipeError:
            # The reader went away (a pager, head): python would complain once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = FAILED
        except (MemoryError, Exception) as error:
            if kwargs.get("debug") or _is_for_typer(error):
                raise
            status = _refused(error) if isinstance(error, OSError) else _unexpected(error)
        raise typer.Exit(status)

    return run


def report(error: HarnessError, *, as_json: bool) -> int:
    """Print ``error``; the exit status it means."""
    print(f"error: {error}", file=sys.stderr)  # noqa: T201
    if as_json:
        print(json.dumps({"error": describe(error)}, indent=2))  # noqa: T201
    return WRONG_USAGE if isinstance(error, UsageError | GraphError) else FAILED


def describe(error: HarnessError) -> dict[str, Any]:
    """``error`` as JSON values."""
    return {
        "condition": type(error).__name__,
        "what": error.what,
        "where": error.where,
        "got": error.got,
        "expected": error.expected,
        "remedy": error.remedy,
    }


def _is_for_typer(error: BaseException) -> bool:
    """Whether the command-line library raised ``error`` and knows what to do with it."""
    if isinstance(error, typer.Exit | typer.Abort | SystemExit):
        return True
    return hasattr(error, "exit_code") and hasattr(error, "show")


def _refused(error: OSError) -> int:
    """The system's own words about a file or the standard output."""
    if error.filename is None:  # writing the answer: python would complain once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    name = error.filename or "standard output"
    print(  # noqa: T201
        f"error: {name}: {error.strerror or error}\n"
        "  what to do: check the space, the permissions and the name; --debug shows where",
        file=sys.stderr,
    )
    return FAILED


def _unexpected(error: Exception) -> int:
    text = " ".join(str(error).split())[:300]
    print(  # noqa: T201
        f"error: the harness met something it does not expect: {type(error).__name__}: {text}\n"
        "  what to do: run it again with --debug for the traceback, and report that",
        file=sys.stderr,
    )
    return FAILED
