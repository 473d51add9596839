"""Asking git: one way to run it, a sentence where it does not answer."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SECONDS = 60


def ask(folder: Path, *arguments: str, given: str = "") -> tuple[str, str]:
    """What git prints when run in ``folder`` with ``given`` on its standard input, and why it did
    not answer if it did not. Status 1 without a word, by which ``grep`` and ``rev-parse --quiet``
    say that there is nothing, is an empty answer."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            input=given,
        )
    except FileNotFoundError:
        return "", "there is no git"
    except OSError as error:
        return "", f"git cannot be run: {error.strerror or error}"
    except subprocess.TimeoutExpired:
        return "", f"git did not answer within {_SECONDS} s"
    if done.returncode == 0:
        return done.stdout, ""
    said = done.stderr.strip().splitlines()
    if done.returncode == 1 and not said:
        return "", ""
    return "", said[0].removeprefix("fatal: ") if said else "git failed"
